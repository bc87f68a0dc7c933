"""A mesh as PyVista sees it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pitgeo._vtk import pyvista
from pitgeo.mesh import Mesh


def grid_of(mesh: Mesh) -> Any:
    """The points and cells of a mesh as a ``pyvista.UnstructuredGrid``, without fields.

    Points keep their numbers; cells are numbered through, block after block. Points get three coordinates, those of
    a planar mesh its plane as the third. A mesh without cells gets a vertex at every point.

    Raises:
        ImportError: If PyVista is missing.
        ValueError: If VTK has no such cells.
    """
    points = mesh.points_in_space()
    cells = [SimpleNamespace(type=kind, data=nodes) for kind, nodes in mesh.cells if len(nodes)]
    if not cells:
        cells = [SimpleNamespace(type="vertex", data=np.arange(len(points))[:, None])]
    try:
        return pyvista().from_meshio(
            SimpleNamespace(points=points, cells=cells, cell_sets={}, point_data={}, cell_data={})
        )
    except KeyError as error:
        where = f"{mesh.path}: " if mesh.path else ""
        raise ValueError(
            f"{where}Expected cells of a type that VTK has (got {error.args[0]!r}); save the mesh with cells of order "
            f"1 or 2"
        ) from error


def solid(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Points with three coordinates, zero where there was none."""
    return np.pad(points, [(0, 0), (0, 3 - points.shape[1])])
