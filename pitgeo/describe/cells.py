"""Length, area or volume and orientation of cells, from their corners."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pitgeo.mesh import Mesh
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
LEANING = 0.3
"""An open surface has a direction if the mean of its normals is at least so long."""
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


@dataclass(frozen=True)
class Orientation:
    """The orientation of most cells.

    Args:
        sign: 1 or -1 for the sign of areas in the plane, of volumes, or of the volume inside a closed surface; 0 for
            others.
        direction: The mean of the normals of an open surface in space, weighted by area; empty for others.
    """

    sign: int = 0
    direction: tuple[float, ...] = ()


def orientation(mesh: Mesh) -> Orientation:
    """The orientation of most cells of the highest dimension.

    Example:
        >>> corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
        >>> [orientation(Mesh(corners, (("triangle", np.array([c])),))).sign for c in ([0, 1, 2], [0, 2, 1])]
        [1, -1]
    """
    blocks = [(name, nodes[:, : CORNERS[name]]) for kind, nodes in mesh.cells if (name := family(kind)) and len(nodes)]
    space = mesh.points.shape[1]
    solids = [block for block in blocks if block[0] in TETRAHEDRA]
    faces = [block for block in blocks if block[0] in ("triangle", "quad")]
    if (space == 3 and solids) or (space == 2 and faces):
        total = sum(float(measures(name, mesh.points[nodes])[0].sum()) for name, nodes in (solids or faces))
        return Orientation(int(np.sign(total)))
    return _of_surface(mesh.points, [nodes for _, nodes in faces]) if space == 3 and faces else Orientation()


def _of_surface(points: NDArray[np.float64], faces: Sequence[NDArray[np.int64]]) -> Orientation:
    points = points - points.mean(0)
    triangles = np.concatenate([nodes[:, [0, k, k + 1]] for nodes in faces for k in range(1, nodes.shape[1] - 1)])
    corners = points[triangles]
    areas = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]) / 2
    if _is_closed(points, faces):
        return Orientation(int(np.sign((areas * corners.mean(1)).sum())))
    whole = float(np.linalg.norm(areas, axis=1).sum())
    mean = areas.sum(0) / whole if whole else np.zeros(3)
    return Orientation(0, tuple(mean.tolist()) if np.linalg.norm(mean) > LEANING else ())


def _is_closed(points: NDArray[np.float64], faces: Sequence[NDArray[np.int64]]) -> bool:
    """Whether every side belongs to an even number of faces, points at one place being one."""
    _, same = np.unique(points, axis=0, return_inverse=True)
    same = same.reshape(-1)
    sides = np.concatenate([np.stack([nodes, np.roll(nodes, -1, 1)], 2).reshape(-1, 2) for nodes in faces])
    sides = np.sort(same[sides], 1)
    _, uses = np.unique(sides[sides[:, 0] != sides[:, 1]], axis=0, return_counts=True)
    return bool((uses % 2 == 0).all())


def turned_over(found: Sequence[Orientation]) -> Iterator[int]:
    """Numbers of the meshes that are oriented unlike most meshes of the same kind."""
    signs = [one.sign for one in found]
    fewer = min((1, -1), key=signs.count)
    if signs.count(-fewer) > signs.count(fewer):
        yield from (number for number, sign in enumerate(signs) if sign == fewer)
    open_ones = [(number, np.array(one.direction)) for number, one in enumerate(found) if one.direction]
    if len(open_ones) < 2:
        return
    axis = np.linalg.eigh(sum(np.outer(mean, mean) for _, mean in open_ones))[1][:, -1]  # whichever way they point
    along = np.array([float(mean @ axis) / float(np.linalg.norm(mean)) for _, mean in open_ones])
    if (np.abs(along) < 0.5).any():
        return  # they look every way anyhow
    side = np.sign(np.sum(np.sign(along)))
    yield from (number for (number, _), cosine in zip(open_ones, along, strict=True) if side and cosine * side < 0)
