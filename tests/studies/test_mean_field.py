"""The control that looks at no input, on numbers that can be checked by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from pitgeo.data import PointData
from pitgeo.fields import FieldTable, MeshField
from pitgeo.studies.mean_field import mean_field


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
    found = run([sample(1, 4), sample(3, 8)], [sample(5, 10)])["0"]  # the mean is (2, 6), the error (3, 4)
    assert found["relative_l1"]["mean"] == pytest.approx(7 / 15)
    assert found["relative_l2"]["mean"] == pytest.approx(5 / 125**0.5)


def test_components_of_a_vector_are_relative_to_all_of_it() -> None:
    vector = MeshField("v", 2)
    found = run([sample([0, 0], [0, 0])], [sample([3, 0], [0, 4])], vector)
    size = ((9 + 16) / 2) ** 0.5  # root of the mean square of both components' sizes
    assert [found[name]["relative_l2"]["mean"] for name in "01"] == pytest.approx([3 / size, 4 / size])


def test_where_it_has_no_meaning() -> None:
    with pytest.raises(ValueError, match="one number of points"):
        run([sample(1, 2)], [sample(1, 2, 3)])
    with pytest.raises(ValueError, match="belong to the same points"):
        run([sample(1, 2)], [sample(1, 2)], MeshField("drag", place="mesh"))
    with pytest.raises(ValueError, match="belong to the same points"):
        run([sample(1, 2, y_mask=torch.ones(2, 1, dtype=torch.bool))], [sample(1, 2)])
