"""Meshes as grids of PyVista."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pitgeo.mesh import Mesh
from pitgeo.mesh.cell_types import CORNERS, VTK_NUMBERS, base
from pitgeo.mesh.vtk.pyvista_extra import pyvista

MAX_ORDER = 10


def grid_of(mesh: Mesh) -> Any:
    """The points and cells of a mesh as a ``pyvista.UnstructuredGrid``, without fields.

    Points keep their numbers; cells are numbered through, block after block. Points get three coordinates, those of
    a planar mesh its plane as the third. A mesh without cells gets a vertex at every point.

    Raises:
        ImportError: If PyVista is missing.
        ValueError: If VTK has no such cells.

    Example:
        >>> import numpy as np
        >>> square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
        >>> float(grid_of(Mesh(square, (("quad", np.array([[0, 1, 2, 3]])),))).area)
        1.0
    """
    points = mesh.points_in_space()
    cells = [(kind, nodes) for kind, nodes in mesh.cells if len(nodes)]
    if not cells:
        cells = [("vertex", np.arange(len(points))[:, None])]
    types, rows = [], []
    for kind, nodes in cells:
        types.append(np.full(len(nodes), _number(mesh, kind, nodes.shape[1]), np.uint8))
        rows.append(np.insert(nodes, 0, nodes.shape[1], axis=1).ravel())
    return pyvista().UnstructuredGrid(np.concatenate(rows), np.concatenate(types), points)


def _number(mesh: Mesh, kind: str, width: int) -> int:
    """VTK's number of a type of cells.

    Raises:
        ValueError: If VTK has no such cells, or their nodes are not in the cell.
    """
    shape = base(kind)
    if kind.startswith("VTK_") and CORNERS[shape] == width:  # of order 1
        return VTK_NUMBERS[shape]
    is_known = kind in VTK_NUMBERS and not kind.startswith(("VTK_BEZIER", "VTK_LAGRANGE_PYRAMID"))
    if not is_known or (kind.startswith("VTK_") and width not in _widths(shape)):
        raise ValueError(
            f"{mesh.where}Expected cells of a type that VTK has, with nodes on the cell, as many in all directions "
            f"(got {kind!r} of {width} nodes); save the mesh with cells of order 1 or 2"
        )
    return VTK_NUMBERS[kind]


def _widths(shape: str) -> set[int]:
    """How many nodes the Lagrange cells of a shape have, by their orders."""
    orders = range(1, MAX_ORDER + 1)
    return {
        "line": {n + 1 for n in orders},
        "triangle": {(n + 1) * (n + 2) // 2 for n in orders} | {7},
        "quad": {(n + 1) ** 2 for n in orders},
        "tetra": {(n + 1) * (n + 2) * (n + 3) // 6 for n in orders} | {15},
        "hexahedron": {(n + 1) ** 3 for n in orders},
        "wedge": {(n + 1) ** 2 * (n + 2) // 2 for n in orders} | {21},
    }[shape]


def solid(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Points with three coordinates, zero where there was none."""
    return np.pad(points, [(0, 0), (0, 3 - points.shape[1])])
