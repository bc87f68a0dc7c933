"""Length, area or volume of cells, from their corners."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pitgeo.mesh.cell_types import CORNERS

TETRAHEDRA = {
    "tetra": ((0, 1, 2, 3),),
    "pyramid": ((0, 1, 2, 4), (0, 2, 3, 4)),
    "wedge": ((0, 1, 2, 5), (0, 1, 5, 4), (0, 4, 5, 3)),
    "hexahedron": ((0, 1, 2, 6), (0, 2, 3, 6), (0, 3, 7, 6), (0, 7, 4, 6), (0, 4, 5, 6), (0, 5, 1, 6)),
}
"""Tetrahedra, all turned the same way, that fill a cell."""
FLAT = 1e-10
"""A cell is degenerate below this measure, relative to that of a cube (square, line) of its size."""
CHUNK = 2**18
"""Cells at a time, so that the largest mesh needs little memory."""


@dataclass(frozen=True)
class CellFlaws:
    """Flaws of the cells of a mesh.

    Args:
        degenerate: Cells without length, area or volume.
        turned: Cells whose corners go round the other way than those of most cells of the same type.
    """

    degenerate: int = 0
    turned: int = 0


def family(kind: str) -> str | None:
    """``"triangle"`` for ``"triangle6"``; ``None`` for cells that are not measured here."""
    name = kind.rstrip("0123456789")
    return name if name in ("line", "triangle", "quad", *TETRAHEDRA) else None


def flaws(points: NDArray[np.float64], cells: tuple[tuple[str, NDArray[np.int64]], ...]) -> CellFlaws:
    """Count degenerate and turned cells.

    Example:
        >>> square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
        >>> flaws(square, (("triangle", np.array([[0, 1, 2], [0, 2, 3], [2, 1, 0], [0, 1, 1]])),))
        CellFlaws(degenerate=1, turned=1)
    """
    degenerate, turned = 0, 0
    for kind, nodes in cells:
        name, negative, positive = family(kind), 0, 0
        if name is None or (name in TETRAHEDRA and points.shape[1] < 3):
            continue
        for start in range(0, len(nodes), CHUNK):
            corners = points[nodes[start : start + CHUNK, : CORNERS[name]]]
            values, dimension = measures(name, corners)
            size = np.ptp(corners, axis=1).max(1) ** dimension
            flat = np.abs(values) <= FLAT * size
            degenerate += int(flat.sum())
            negative += int((values[~flat] < 0).sum())
            positive += int((values[~flat] > 0).sum())
        turned += min(negative, positive)
    return CellFlaws(degenerate, turned)


def measures(name: str, corners: NDArray[np.float64]) -> tuple[NDArray[np.float64], int]:
    """Measure of each cell, signed where its direction is defined (areas in 2D, volumes), and the dimension of it."""
    axes = corners.shape[2]
    if name == "line":
        return np.asarray(np.linalg.norm(corners[:, 1] - corners[:, 0], axis=1)), 1
    if name in ("triangle", "quad"):
        first = corners[:, 2] - corners[:, 0] if name == "quad" else corners[:, 1] - corners[:, 0]
        second = corners[:, -1] - corners[:, 1] if name == "quad" else corners[:, 2] - corners[:, 0]
        if axes == 2:
            return 0.5 * (first[:, 0] * second[:, 1] - first[:, 1] * second[:, 0]), 2
        if axes == 1:
            return np.zeros(len(corners)), 2
        return 0.5 * np.asarray(np.linalg.norm(np.cross(first, second), axis=1)), 2
    total = np.zeros(len(corners))
    for a, b, c, d in TETRAHEDRA[name]:
        edges = corners[:, (b, c, d)] - corners[:, a, None]
        total += np.einsum("ij,ij->i", np.cross(edges[:, 0], edges[:, 1]), edges[:, 2]) / 6
    return total, 3
