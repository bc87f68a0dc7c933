"""Closed surfaces of triangles: checked, cut into shells, with the bodies that these enclose."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from pitgeo.geometry.cells import blocks_of, top_blocks
from pitgeo.geometry.distance import simplices_of
from pitgeo.geometry.normals import orientation
from pitgeo.mesh import Mesh

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Surface(NamedTuple):
    """Triangles of a surface.

    Args:
        points: Positions ``[N, 3]``, each once.
        triangles: Corners ``[T, 3]``.
        cells: Number of the cell of the mesh that each triangle is of ``[T]``.
        places: Number of the point that each point of the mesh is ``[mesh points]``; -1 for those on no triangle.
    """

    points: Floats
    triangles: Ints
    cells: Ints
    places: Ints


def closed_surface(mesh: Mesh) -> Surface:
    """The faces of a mesh as triangles, where points at exactly one place are one.

    Faces of high order become triangles between their nodes. Triangles of two corners are left out. Each shell has its
    triangles counterclockwise as seen from outside of it.

    Raises:
        ValueError: If the mesh is no surface in space, or has an edge that does not belong to two triangles.
    """
    space = mesh.points.shape[1]
    dimension, blocks = top_blocks(blocks_of(mesh))
    if (space, dimension) != (3, 2):
        what = "bodies" if dimension == 3 else f"cells of dimension {dimension} in {space}D"
        hint = "predict it as it is" if dimension == 3 else "take the surface of a body in space"
        raise ValueError(f"{mesh.where}Expected a closed surface of faces in space to fill (got {what}); {hint}")
    _, first, places = np.unique(mesh.points, axis=0, return_index=True, return_inverse=True)
    places = places.reshape(-1)
    points = mesh.points[first]
    parts, owners = [], []
    for block in blocks:
        for piece in block.kind.pieces:
            corners = block.nodes[:, piece]
            cut = simplices_of(mesh.points, [corners], 3)
            each = corners.shape[1] - 2
            if len(cut) != each * len(corners):
                raise ValueError(
                    f"{mesh.where}Expected flat polygons without crossing sides to fill the surface (got some that "
                    f"cannot be cut into triangles); triangulate the surface in the program that made it"
                )
            parts.append(places[cut])
            owners.append(np.repeat(block.numbers, each))
    triangles, cells = np.concatenate(parts), np.concatenate(owners)
    real = (triangles != np.roll(triangles, 1, 1)).all(1)
    triangles, cells = triangles[real], cells[real]
    _, uses = np.unique(_edges(triangles, len(points)), return_counts=True)
    open_edges, shared = int((uses == 1).sum()), int((uses > 2).sum())
    if open_edges or shared or not len(triangles):
        got = " and ".join(
            text
            for number, text in ((open_edges, f"{open_edges} open edges"), (shared, f"{shared} edges of more than two"))
            if number
        )
        raise ValueError(
            f"{mesh.where}Expected a closed surface to fill, every edge of which belongs to two triangles (got "
            f"{got or 'no triangles'}, of {len(uses)}); close it, and merge points at one place, in the program that "
            f"made it"
        )
    used, own = np.unique(triangles, return_inverse=True)
    number = np.full(len(points), -1)
    number[used] = np.arange(len(used))
    points, triangles, places = points[used], own.reshape(-1, 3), number[places]
    found = Surface(points, triangles, cells, places)
    centers = points[triangles].mean(1) - points.mean(0)
    is_turned = orientation(mesh, [triangles], normals(found), centers) < 0
    triangles[is_turned] = triangles[is_turned][:, ::-1]
    return found


def refined(points: Floats, triangles: Ints, longest: float) -> tuple[Floats, Ints, Ints]:
    """The same surface in triangles whose edges are no longer than a length, halved where they are.

    Args:
        points: Positions ``[N, 3]``; they stay the first.
        triangles: Corners ``[T, 3]``.
        longest: The length.

    Returns:
        Points, triangles, and the number of the triangle that each is part of.
    """
    parents = np.arange(len(triangles))
    while True:
        ends, sides, too_long = _finer_edges(triangles, points, longest)
        if not too_long.any():
            return points, triangles, parents
        middle = np.full(len(ends), -1)
        middle[too_long] = len(points) + np.arange(too_long.sum())
        points = np.concatenate([points, points[ends[too_long]].mean(1)])
        middles = middle[sides]
        count = (middles >= 0).sum(1)
        parts = [(triangles[count == 0], parents[count == 0])]
        for number in (1, 2, 3):
            rows = np.flatnonzero(count == number)
            cut = middles[rows] >= 0
            first = np.zeros(len(rows), np.int64) if number == 3 else (cut if number == 1 else ~cut).argmax(1)
            turn = (first[:, None] + np.arange(3)) % 3  # the cut edge, or the only whole one, comes first
            corners, halves = (np.take_along_axis(part[rows], turn, 1) for part in (triangles, middles))
            for own in _split(number, corners, halves, points):
                parts.append((own, parents[rows]))
        triangles, parents = (np.concatenate(part) for part in zip(*parts, strict=True))


def _split(number: int, corners: Ints, halves: Ints, points: Floats) -> list[Ints]:
    """Triangles with so many edges halved, cut into one more each."""
    (a, b, c), (ab, bc, ca) = corners.T, halves.T
    if number == 1:
        return [np.stack(own, 1) for own in ((a, ab, c), (ab, b, c))]
    if number == 3:
        return [np.stack(own, 1) for own in ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))]
    across = np.linalg.norm(points[a] - points[bc], axis=1), np.linalg.norm(points[b] - points[ca], axis=1)
    is_first = (across[0] <= across[1])[:, None]  # the shorter diagonal of the quadrangle that is left
    one = np.where(is_first, np.stack([a, b, bc], 1), np.stack([a, b, ca], 1))
    other = np.where(is_first, np.stack([a, bc, ca], 1), np.stack([b, bc, ca], 1))
    return [np.stack([ca, bc, c], 1), one, other]


def bodies(surface: Surface) -> list[list[Ints]]:
    """The bodies that a closed surface encloses: numbers of the triangles of the outer shell, then of each cavity."""
    triangles, count = surface.triangles, len(surface.points)
    ends = triangles[:, [0, 1, 1, 2]].reshape(-1, 2)
    graph = coo_array((np.ones(len(ends), bool), (ends[:, 0], ends[:, 1])), shape=(count, count))
    _, labels = connected_components(graph, directed=False)
    own = labels[triangles[:, 0]]
    shells = [np.flatnonzero(own == label) for label in np.unique(own)]
    if len(shells) == 1:
        return [shells]
    corners = [surface.points[triangles[shell]] for shell in shells]
    low, high = (np.array([end(part.reshape(-1, 3), 0) for part in corners]) for end in (np.min, np.max))
    around: list[list[int]] = []
    for number, part in enumerate(corners):
        at = part[0, 0]
        boxes = np.flatnonzero(((low < at) & (at < high)).all(1))
        around.append([int(other) for other in boxes if other != number and _is_inside(at, corners[other])])
    outer = [number for number, others in enumerate(around) if len(others) % 2 == 0]
    return [
        [
            shells[body],
            *(shells[n] for n, others in enumerate(around) if len(others) == len(around[body]) + 1 and body in others),
        ]
        for body in outer
    ]


def volume(surface: Surface, shells: list[Ints]) -> float:
    """The volume of a body: that within its outer shell, less that of its cavities."""
    centers = surface.points[surface.triangles].mean(1) - surface.points.mean(0)
    cones = (centers * normals(surface)).sum(1) / 6
    outer, *cavities = (float(cones[shell].sum()) for shell in shells)
    return outer - sum(cavities)


def normals(surface: Surface) -> Floats:
    """Normals of the triangles, twice as long as their area, ``[T, 3]``."""
    corners = surface.points[surface.triangles]
    return np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])


def _is_inside(at: Floats, corners: Floats) -> bool:
    """Whether a point lies inside a closed surface of triangles: by solid angles, van Oosterom and Strackee (1983)."""
    a, b, c = (corners - at).transpose(1, 0, 2)
    la, lb, lc = (np.linalg.norm(part, axis=1) for part in (a, b, c))
    dots = [(one * other).sum(1) for one, other in ((a, b), (b, c), (c, a))]
    above = (a * np.cross(b, c)).sum(1)
    angle = 2 * np.arctan2(above, la * lb * lc + dots[0] * lc + dots[1] * la + dots[2] * lb)
    return bool(abs(angle.sum()) > 2 * np.pi)


def _edges(triangles: Ints, count: int) -> Ints:
    ends = np.sort(triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), 1)
    return ends[:, 0] * count + ends[:, 1]


def _finer_edges(triangles: Ints, points: Floats, longest: float) -> tuple[Ints, Ints, NDArray[np.bool_]]:
    """Both ends of every edge, the three edges of every triangle, and which edges are too long."""
    keys = _edges(triangles, len(points))
    edges, number = np.unique(keys, return_inverse=True)
    ends = np.stack([edges // len(points), edges % len(points)], 1)
    too_long = np.linalg.norm(points[ends[:, 0]] - points[ends[:, 1]], axis=1) > longest
    return ends, number.reshape(-1, 3), too_long
