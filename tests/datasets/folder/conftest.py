"""Folders of small mesh files whose fields are known functions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial import Delaunay

from pitgeo.mesh import Mesh, write_mesh

Write = Callable[..., Path]


def small_mesh(number: int, points: int | None = None) -> Mesh:
    """A cloud of triangles; ``u`` and ``q`` are the load times known functions of the place."""
    rng = np.random.default_rng(number)
    count = points or 30 + number
    place = rng.random((count, 2))
    triangles = Delaunay(place).simplices.astype(np.int64)
    load = 1.0 + number / 10
    centre = place[triangles].mean(1)
    return Mesh(
        points=place,
        cells=(("triangle", triangles),),
        point_data={
            "u": load * (1 + place[:, 0]),
            "v": np.stack([place[:, 0] + load, place[:, 1] + load, np.zeros(count)], 1),
            "material": (place[:, 0] > 0.5) * 3 + 4,
        },
        cell_data={"q": (load * (2 + centre[:, 1]),)},
        field_data={"load": np.array([load]), "peak": np.array([2 * load])},
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Ten files ``case_0.vtu`` ... ``case_9.vtu``."""
    for number in range(10):
        write_mesh(tmp_path / "cases" / f"case_{number}.vtu", small_mesh(number))
    return tmp_path / "cases"
