"""Small plates with inputs and targets of every kind, and models trained on them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pitgeo.mesh import Mesh, write_mesh
from pitgeo.workflows.run import train
from tests.datasets.folder.conftest import small_mesh
from tests.pictures import without_pictures
from tests.small_runs import small_run


def plate(number: int) -> Mesh:
    """A mesh with a number, a vector, a kind, a number in a set, and fields of points, cells and the whole."""
    mesh = small_mesh(number)
    mesh = mesh.with_point_data("left", (mesh.points[:, 0] < 0.4).astype(np.int64))
    mesh = mesh.with_field_data("wind", np.array([1.0 + number, -0.5 * number]))
    return mesh.with_field_data("kind", np.array([3 + number % 2]))


def write_plates(root: Path) -> None:
    """Eight plates, as files in ``cases/``."""
    for number in range(8):
        write_mesh(root / "cases" / f"case_{number}.vtu", plate(number))


def train_on_plates(root: Path, inputs: Sequence[str], targets: Sequence[str], *changes: str) -> Any:
    """A run on eight plates, in ``out/``, without pictures."""
    write_plates(root)
    with without_pictures():
        return train(small_run(root, "cases/*.vtu", inputs, targets, *changes), root / "out")
