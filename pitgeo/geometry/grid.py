"""A mesh as PyVista sees it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pitgeo.mesh import Mesh
from pitgeo.mesh.cell_types import CORNERS, VTK_TYPES, base
from pitgeo.mesh.vtk.pyvista_extra import pyvista

NUMBERS = {kind: number for number, kind in VTK_TYPES.items()}
LINEAR = {"CURVE": "line", "QUADRILATERAL": "quad", "TETRAHEDRON": "tetra"}
"""Names of linear cells that are not those of VTK's cells of any order in small letters."""

MAX_ORDER = 10


def grid_of(mesh: Mesh) -> Any:
    """The points and cells of a mesh as a ``pyvista.UnstructuredGrid``, without fields.

    Points keep their numbers; cells are numbered through, block after block. Points get three coordinates, those of
    a planar mesh its plane as the third. A mesh without cells gets a vertex at every point.

    Raises:
        ImportError: If PyVista is missing.
        ValueError: If VTK has no such cells.
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
    last = base(kind)
    if kind.startswith("VTK_") and CORNERS.get(last) == width:  # of order 1
        return NUMBERS[LINEAR.get(last, last.lower())]
    is_known = kind in NUMBERS and not kind.startswith(("VTK_BEZIER", "VTK_LAGRANGE_PYRAMID"))
    if not is_known or (kind.startswith("VTK_") and width not in _widths(last)):
        raise ValueError(
            f"{mesh.where}Expected cells of a type that VTK has, with nodes on the cell, as many in all directions "
            f"(got {kind!r} of {width} nodes); save the mesh with cells of order 1 or 2"
        )
    return NUMBERS[kind]


def _widths(name: str) -> set[int]:
    """How many nodes the Lagrange cells of a shape have, by their orders."""
    orders = range(1, MAX_ORDER + 1)
    return {
        "CURVE": {n + 1 for n in orders},
        "TRIANGLE": {(n + 1) * (n + 2) // 2 for n in orders} | {7},
        "QUADRILATERAL": {(n + 1) ** 2 for n in orders},
        "TETRAHEDRON": {(n + 1) * (n + 2) * (n + 3) // 6 for n in orders} | {15},
        "HEXAHEDRON": {(n + 1) ** 3 for n in orders},
        "WEDGE": {(n + 1) ** 2 * (n + 2) // 2 for n in orders} | {21},
    }.get(name, set())


def solid(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Points with three coordinates, zero where there was none."""
    return np.pad(points, [(0, 0), (0, 3 - points.shape[1])])
