"""The control that looks at no input, on numbers that can be checked by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from pitgeo.data import PointData
from pitgeo.data.fields import FieldTable, MeshField
from pitgeo.workflows.compare.mean_field import mean_field


def sample(*values: Any, **others: Any) -> PointData:
    y = torch.tensor(values, dtype=torch.float32).reshape(len(values), -1)
    made = PointData(pos=torch.rand(len(values), 2), y=y)
    made.update(others)
    return made


def run(training: list[PointData], test: list[PointData], target: MeshField | None = None) -> Any:
    table = FieldTable((), (target or MeshField("u"),), 2)
    options = SimpleNamespace(
        training_parts=lambda: (training, []), test_samples=lambda: test, table=lambda sample: table
    )
    return mean_field(SimpleNamespace(data=SimpleNamespace(options=options)))["errors"]  # type: ignore[arg-type]


def test_numbers() -> None:
    found = run([sample(1, 4), sample(3, 8)], [sample(5, 10)])["u"]  # the mean is (2, 6), the error (3, 4)
    assert found["relative_l1"]["mean"] == pytest.approx(7 / 15)
    assert found["relative_l2"]["mean"] == pytest.approx(5 / 125**0.5)


def test_a_vector_is_measured_as_a_whole_and_its_components_by_their_own_sizes() -> None:
    found = run([sample([0, 0], [0, 0])], [sample([3, 1], [0, 4])], MeshField("v", 2))["v"]
    assert found["relative_l2"]["mean"] == pytest.approx(1)
    found = run([sample([3, 0], [0, 0])], [sample([3, 1], [4, 1])], MeshField("v", 2))["v"]
    assert found["relative_l2"]["mean"] == pytest.approx((18 / 27) ** 0.5)
    components = found["components"]
    assert [components[name]["relative_l2"]["mean"] for name in ("v_x", "v_y")] == pytest.approx([4 / 5, 1])


def test_where_it_has_no_meaning() -> None:
    with pytest.raises(ValueError, match="one number of points"):
        run([sample(1, 2)], [sample(1, 2, 3)])
    with pytest.raises(ValueError, match="belong to the same points"):
        run([sample(1, 2)], [sample(1, 2)], MeshField("drag", place="mesh"))
    with pytest.raises(ValueError, match="belong to the same points"):
        run([sample(1, 2, y_mask=torch.ones(2, 1, dtype=torch.bool))], [sample(1, 2)])
