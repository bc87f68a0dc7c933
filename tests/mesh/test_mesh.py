"""What a mesh is made of."""

import numpy as np
import pytest

from pitgeo.mesh import Mesh
from tests.mesh.zoo import ZOO, plane


def test_meshes_do_not_change():
    mesh = ZOO["quads"]
    more = mesh.with_point_data("p", np.zeros(9))
    assert "p" not in mesh.point_data
    with pytest.raises(ValueError, match="new name"):
        more.with_point_data("p", np.ones(9))
    assert more.with_point_data("p", np.ones(9), "replace").point_data["p"].all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.zeros((0, 2)),), "N at least 1"),
        ((np.zeros(3),), "shape"),
        ((np.array([[0.0, np.inf]]),), "finite"),
        ((plane(), (("triangle", np.array([[0, 1, 9]])),)), "got number 9"),
        ((plane(), (("triangle", np.array([[0, 1, -1]])),)), "got number -1"),
        ((plane(), (), {"p": np.zeros(8)}), "9 values in 'p'"),
        ((plane(), ZOO["mixed"].cells, {}, {"part": (np.zeros(1),)}), r"\[1, 1\] values in the cell data 'part'"),
    ],
)
def test_bad_meshes_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Mesh(*arguments)
