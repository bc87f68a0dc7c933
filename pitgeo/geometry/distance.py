"""Exact distances from points to points, segments and polygons."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pitgeo.geometry.grid import solid
from pitgeo.graphs.trees import kd_tree
from pitgeo.mesh.vtk.pyvista_extra import pyvista

PAIRS = 1_000_000  # of a point and a simplex, at once


def distance_to(
    queries: NDArray[np.float64], points: NDArray[np.float64], pieces: Sequence[NDArray[np.int64]]
) -> NDArray[np.float64]:
    """Euclidean distance from each query ``[Q, D]`` to the nearest of the pieces, ``[Q]``.

    Simplices of about one size share a tree of their centers: the one whose center is nearest bounds the distance from
    above, so that only those within that distance and the radius of the largest have to be looked at.

    Args:
        queries: Where to take the distance.
        points: Positions of the nodes ``[N, D]``.
        pieces: Nodes ``[pieces, corners]`` of points, segments or polygons, at least one.
    """
    queries, points = solid(queries), solid(points)
    best = np.full(len(queries), np.inf)
    for width in (1, 2, 3):
        simplices = _simplices(points, pieces, width)
        if len(simplices):
            corners = points[np.unique(np.sort(simplices, 1), axis=0)]  # [simplices, width, 3]
            centers = corners.mean(1)
            radii = np.sqrt(((corners - centers[:, None]) ** 2).sum(2).max(1))
            classes = np.frexp(np.maximum(radii, radii.max() * 2.0**-20))[1]
            for number in np.unique(classes)[::-1]:
                members = classes == number
                _lower(best, queries, corners[members], centers[members], radii[members])
    return best


def _simplices(points: NDArray[np.float64], pieces: Sequence[NDArray[np.int64]], width: int) -> NDArray[np.int64]:
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
    centers: NDArray[np.float64],
    radii: NDArray[np.float64],
) -> None:
    """Lower the distances found so far where one of these simplices is nearer."""
    largest = float(radii.max())
    tree = kd_tree(centers)
    near, nearest = (np.asarray(found) for found in tree.query(queries))
    rows = np.flatnonzero(near - largest < best)
    best[rows] = np.minimum(best[rows], _simplex_distance(queries[rows], corners[nearest[rows]]))
    if largest == 0.0:  # points
        return
    rows = rows[np.argsort(best[rows])]
    reach = best[rows] + largest
    normals = _unit_normals(corners) if corners.shape[1] == 3 else None
    counts = np.asarray(tree.query_ball_point(queries[rows], reach, return_length=True))
    step = np.stack([np.cumsum(counts) // PAIRS, np.log(reach) // np.log(1.2)])  # few pairs, of about one reach
    for part in np.split(np.arange(len(rows)), np.flatnonzero(np.diff(step).any(0)) + 1):
        some = kd_tree(queries[rows[part]])
        pairs = some.sparse_distance_matrix(tree, reach[part].max(initial=0.0), output_type="ndarray")
        query, which, gap = rows[part][pairs["i"]], pairs["j"], pairs["v"]
        near_enough = gap - radii[which] < best[query]
        query, which, gap = query[near_enough], which[near_enough], gap[near_enough]
        if normals is not None:  # the triangle lies in a disk, to which the distance is easy and no larger
            height = _dot(queries[query] - centers[which], normals[which])
            beside = np.sqrt(np.maximum(gap**2 - height**2, 0.0)) - radii[which]
            near_enough = height**2 + np.maximum(beside, 0.0) ** 2 < best[query] ** 2
            query, which = query[near_enough], which[near_enough]
        np.minimum.at(best, query, _simplex_distance(queries[query], corners[which]))


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


def _unit_normals(corners: NDArray[np.float64]) -> NDArray[np.float64]:
    """Unit normals of triangles; zero where a triangle has no area."""
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    lengths = np.sqrt(_dot(normals, normals))[:, None]
    return np.asarray(normals / np.where(lengths > 0, lengths, 1.0))


def _dot(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    product: NDArray[np.float64] = np.einsum("ij,ij->i", one, other)
    return product
