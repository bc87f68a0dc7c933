"""Unit normals of surfaces in space and curves in the plane, consistently oriented, outward if closed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from pitgeo.geometry.cells import blocks_of, pieces_of, top_blocks, weld
from pitgeo.geometry.fill import fill, means_of_nodes, sums
from pitgeo.mesh import Mesh


def point_normals(mesh: Mesh) -> NDArray[np.float64]:
    """Normals at the points ``[N, D]``, those of the adjacent cells weighted by area."""
    return _normals(mesh)[0]


def cell_normals(mesh: Mesh) -> NDArray[np.float64]:
    """Normals of the cells ``[cells, D]``; a cell of lower dimension gets the mean of its points."""
    return _normals(mesh)[1]


def _normals(mesh: Mesh) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    blocks = blocks_of(mesh)
    space = mesh.points.shape[1]
    dimension, top = top_blocks(blocks)
    if dimension == space:
        raise ValueError(
            f"{mesh.where}Expected a surface in space or a curve in the plane for normals (got cells of dimension "
            f"{dimension} in {space}D, which have none); take boundary_distance"
        )
    if dimension < space - 1:
        raise ValueError(
            f"{mesh.where}Expected a surface in space or a curve in the plane for normals (got a curve in space, "
            f"which has no one normal); take boundary_distance or coordinates"
        )
    points = mesh.points - mesh.points.mean(0)
    top = weld(points, top, "always")
    pieces = pieces_of(top)
    areas = np.concatenate([_area(points[piece]) for piece in pieces])
    centers = np.concatenate([points[piece].mean(1) for piece in pieces])
    signs = orientation(mesh, pieces, areas, centers)
    areas *= signs[:, None]

    cells = np.concatenate([np.arange(len(block.nodes)) + block.first for block in top for _ in block.kind.pieces])
    by_cell = _unit(sums(cells, areas, sum(len(nodes) for _, nodes in mesh.cells)))
    at_points = np.zeros_like(points)
    first = 0
    for piece in pieces:
        part = areas[first : first + len(piece)]
        at_points += sums(piece.ravel(), np.repeat(part, piece.shape[1], 0), len(points))
        first += len(piece)
    _, same, inverse = np.unique(points, axis=0, return_index=True, return_inverse=True)
    at_points = _unit(at_points[same[inverse.reshape(-1)]])
    at_points = fill(at_points, points, np.asarray(at_points.any(1)))
    others = ~by_cell.any(1)
    if others.any():
        by_cell[others] = _unit(means_of_nodes(blocks, at_points)[others])
        by_cell = fill(by_cell, means_of_nodes(blocks, points), np.asarray(by_cell.any(1)))
    return at_points, by_cell


def _area(corners: NDArray[np.float64]) -> NDArray[np.float64]:
    """Normals as long as the area ``[pieces, D]`` of polygons or segments ``[pieces, corners, D]``.

    To the right of a segment, and to where a polygon is seen counterclockwise.
    """
    if corners.shape[2] == 2:
        along = corners[:, 1] - corners[:, 0]
        return np.stack([along[:, 1], -along[:, 0]], 1)
    spokes = corners[:, 1:] - corners[:, :1]
    area: NDArray[np.float64] = np.cross(spokes[:, :-1], spokes[:, 1:]).sum(1) / 2
    return area


def orientation(
    mesh: Mesh, pieces: Sequence[NDArray[np.int64]], areas: NDArray[np.float64], centers: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The sign, 1 or -1, that orients each piece: outward where they are closed.

    Two pieces that share a side, and no third does, are oriented alike if they run through it in opposite directions.
    With every piece standing twice in a graph, as it is and turned over, and edges between the sides of a surface, the
    components of the graph are the two orientations of every part of it. Of these the one is taken with the larger
    volume inside if the part is closed, else that of most of its area in the file.
    """
    count = len(areas)
    piece, side, forward = sides_of(pieces)
    order = np.argsort(side, kind="stable")
    starts = np.flatnonzero(np.diff(side[order], prepend=-1))
    pairs = starts[np.diff(starts, append=len(side)) == 2]
    one, other = order[pairs], order[pairs + 1]
    turned = np.where(forward[one] == forward[other], count, 0)
    rows = np.concatenate([piece[one], piece[one] + count])
    columns = np.concatenate([piece[other] + turned, piece[other] + count - turned])
    graph = coo_array((np.ones(len(rows), bool), (rows, columns)), shape=(2 * count, 2 * count))
    _, labels = connected_components(graph, directed=False)
    kept, flipped = labels[:count], labels[count:]
    if (kept == flipped).any():
        raise ValueError(
            f"{mesh.where}Expected a surface with two sides for normals (got one with a single side, as a Moebius "
            f"strip); take boundary_distance, or cut it in two where it turns"
        )
    _, part = np.unique(np.minimum(kept, flipped), return_inverse=True)
    signs = np.where(kept < flipped, 1.0, -1.0)

    pair, uses = np.unique(part[piece] * (side.max() + 1) + side, return_counts=True)
    closed = np.ones(part.max() + 1, bool)
    closed[pair[uses % 2 == 1] // (side.max() + 1)] = False
    volume = np.bincount(part, signs * (areas * centers).sum(1))
    same = np.bincount(part, signs * np.sqrt((areas**2).sum(1)))
    first = signs[np.unique(part, return_index=True)[1]]
    choice = np.where(closed & (volume != 0), volume, np.where(same != 0, same, first))
    return signs * np.where(choice < 0, -1.0, 1.0)[part]


def sides_of(pieces: Sequence[NDArray[np.int64]]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """The sides of all pieces: owner, number (equal for neighbors) and direction."""
    owners, keys, forwards = [], [], []
    first, points = 0, 1 + max(int(piece.max()) for piece in pieces if piece.size)
    for piece in pieces:
        owner = np.arange(first, first + len(piece))
        first += len(piece)
        if piece.shape[1] == 2:  # the sides of a segment are its ends
            keys.append(piece.ravel())
            forwards.append(np.tile([False, True], len(piece)))
        else:
            ends = np.stack([piece, np.roll(piece, -1, 1)], 2).reshape(-1, 2)
            keys.append(ends.min(1) * points + ends.max(1))
            forwards.append(ends[:, 0] < ends[:, 1])
        owners.append(np.repeat(owner, piece.shape[1]))
    owner, key, forward = np.concatenate(owners), np.concatenate(keys), np.concatenate(forwards)
    if pieces[0].shape[1] > 2:
        real = key // points != key % points  # sides of no length, where points were at one place
        owner, key, forward = owner[real], key[real], forward[real]
    return owner, np.unique(key, return_inverse=True)[1], forward


def _unit(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Vectors of unit length; vectors of zero length up to rounding become zero."""
    lengths = np.sqrt((vectors**2).sum(1, keepdims=True))
    real = lengths > 1e-12 * np.median(lengths[lengths > 0]) if lengths.any() else lengths > 0
    return np.where(real, vectors / np.where(real, lengths, 1.0), 0.0)
