"""Fields as arrays."""

import numpy as np
import pytest

from pitgeo.mesh import point_fields
from tests.mesh.zoo import ZOO


def test_fields_side_by_side():
    mesh = ZOO["quads"].with_point_data("p", np.arange(9)).with_point_data("v", np.ones((9, 2)))
    assert point_fields(mesh, ["p", "v"]).shape == (9, 3)
    assert point_fields(mesh, []).shape == (9, 0)
    with pytest.raises(ValueError, match=r"'pressure' \(got 'pressur'\); did you mean 'pressur'"):
        point_fields(ZOO["quads"].with_point_data("pressur", np.zeros(9)), ["pressure"])
    with pytest.raises(ValueError, match="at point 4, the first of 1"):
        point_fields(mesh.with_point_data("q", np.where(np.arange(9) == 4, np.nan, 0.0)), ["q"])
    with pytest.raises(ValueError, match="numbers"):
        point_fields(mesh.with_point_data("q", np.array(["a"] * 9)), ["q"])
