"""Exact distances from points to points, segments and polygons."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
from numpy.typing import NDArray

from pitgeo.geometry.cylinders import Cylinders, squared_bounds
from pitgeo.geometry.grid import solid
from pitgeo.graphs.trees import kd_tree
from pitgeo.mesh.vtk.pyvista_extra import pyvista
from pitgeo.system.processes import cores

QUERIES = 256  # looked at together
FEW = 16  # of these are no work for another thread
PAIRS = 2**18  # of a point and a cylinder or a simplex, at once


def distance_to(
    queries: NDArray[np.float64], points: NDArray[np.float64], pieces: Sequence[NDArray[np.int64]]
) -> NDArray[np.float64]:
    """Euclidean distance from each query ``[Q, D]`` to the nearest of the pieces, ``[Q]``.

    Groups of simplices lie within :class:`pitgeo.geometry.cylinders.Cylinders`. Queries near each other look at these
    together, from groups of groups down to simplices: a group is left out that is farther from each of them than some
    simplex. The time grows linearly with the queries, unless many simplices are about equally far from most of them.

    Args:
        queries: Where to take the distance.
        points: Positions of the nodes ``[N, D]``.
        pieces: Nodes ``[pieces, corners]`` of points, segments or polygons, at least one.
    """
    largest = max(np.abs(queries).max(initial=0.0), np.abs(points).max(initial=0.0))
    unit = np.ldexp(1.0, int(np.frexp(largest)[1]))  # exact; squares in single precision stay in its range
    queries, points = solid(queries) / unit, solid(points) / unit
    best = np.full(len(queries), np.inf)
    order = np.asarray(kd_tree(queries).indices) if len(queries) > QUERIES else np.arange(len(queries))
    parts = [order[start : start + QUERIES] for start in range(0, len(order), QUERIES)]
    is_corner = np.zeros(len(points), bool)
    for width in (3, 2, 1):
        simplices = np.unique(np.sort(simplices_of(points, pieces, width), 1), axis=0)
        if width == 1:  # where a corner of a triangle or segment is, that is as near
            simplices = simplices[~is_corner[simplices[:, 0]]]
        is_corner[simplices] = True
        if len(simplices):
            lower = partial(_lower, best, queries, points[simplices], Cylinders(points[simplices]))
            with ThreadPoolExecutor(min(cores(), -(-len(parts) // FEW))) as pool:
                list(pool.map(lower, parts))
    best *= unit
    return best


def simplices_of(points: NDArray[np.float64], pieces: Sequence[NDArray[np.int64]], width: int) -> NDArray[np.int64]:
    """All pieces of that many corners; polygons of more are cut into triangles."""
    found = [piece for piece in pieces if piece.shape[1] == width]
    if width == 3:
        polygons = [piece for piece in pieces if piece.shape[1] > 3 and len(piece)]
        if polygons:
            faces = np.concatenate([np.insert(piece, 0, piece.shape[1], axis=1).ravel() for piece in polygons])
            cut = pyvista().PolyData(points, faces=faces).triangulate()
            found.append(np.asarray(cut.faces, np.int64).reshape(-1, 4)[:, 1:])
    return np.concatenate(found) if found else np.empty((0, width), np.int64)


def _lower(
    best: NDArray[np.float64],
    queries: NDArray[np.float64],
    corners: NDArray[np.float64],
    cylinders: Cylinders,
    rows: NDArray[np.int64],
) -> None:
    """Lower the distances found so far of some queries near each other, where one of the simplices is nearer."""
    todo = [(rows, best[rows].astype(np.float32) ** 2, 0, np.arange(len(cylinders.levels[0])))]
    while todo:
        rows, bound, level, near = todo.pop()
        if len(rows) > 1 and len(rows) * len(near) > PAIRS:
            middle = len(rows) // 2
            todo += [(rows[half], bound[half], level, near) for half in (slice(middle), slice(middle, None))]
            continue
        least, most = squared_bounds(queries[rows], cylinders.levels[level][near])
        bound = np.minimum(bound, most)
        inside = least <= bound[:, None]
        if level < len(cylinders.members):
            near = cylinders.members[level][near[inside.any(0)]].ravel()
            todo.append((rows, bound, level + 1, near[near >= 0]))
            continue
        first = least.argmin(1)
        _lower_pairs(best, rows, near[first], queries, corners)
        inside &= least <= best[rows, None].astype(np.float32) ** 2
        inside[np.arange(len(rows)), first] = False
        query, which = np.nonzero(inside)
        for start in range(0, len(query), PAIRS):
            some = slice(start, start + PAIRS)
            _lower_pairs(best, rows[query[some]], near[which[some]], queries, corners)


def _lower_pairs(
    best: NDArray[np.float64],
    rows: NDArray[np.int64],
    which: NDArray[np.int64],
    queries: NDArray[np.float64],
    corners: NDArray[np.float64],
) -> None:
    """The same for pairs of a query and a simplex."""
    np.minimum.at(best, rows, _simplex_distance(queries[rows], corners[which]))


def _simplex_distance(queries: NDArray[np.float64], corners: NDArray[np.float64]) -> NDArray[np.float64]:
    """Distance of each query ``[Q, 3]`` to its own point, segment or triangle ``[Q, 1 to 3, 3]``."""
    start = queries - corners[:, 0]
    if corners.shape[1] == 1:
        return np.sqrt(_dot(start, start))
    along = corners[:, 1] - corners[:, 0]
    if corners.shape[1] == 2:
        length = _dot(along, along)
        share = np.clip(_dot(start, along) / np.where(length > 0, length, 1.0), 0.0, 1.0)
        gap = start - share[:, None] * along
        return np.sqrt(_dot(gap, gap))
    across = corners[:, 2] - corners[:, 0]
    normal = np.cross(along, across)
    square = _dot(normal, normal)
    flat = np.where(square > 0, square, 1.0)
    second, third = _dot(np.cross(start, across), normal) / flat, _dot(np.cross(along, start), normal) / flat
    above = (square > 0) & (second >= 0) & (third >= 0) & (second + third <= 1)  # the foot lies in the triangle
    distance = np.abs(_dot(start, normal)) / np.sqrt(flat)
    rest = np.flatnonzero(~above)
    sides = [_simplex_distance(queries[rest], corners[rest][:, side]) for side in ([0, 1], [1, 2], [2, 0])]
    distance[rest] = np.minimum.reduce(sides)
    return distance


def _dot(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    product: NDArray[np.float64] = np.einsum("ij,ij->i", one, other)
    return product
