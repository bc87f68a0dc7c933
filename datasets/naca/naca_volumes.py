"""Median-dual volumes of the C-grid: which nodes are neighbours, and the faces between them."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from naca_mesh import GRID, WAKE, Floats, Ints
from numpy.typing import NDArray

T = TypeVar("T", bound=np.generic)


@dataclass(frozen=True, eq=False)
class Topology:
    """What all C-grids have in common; nodes of the wake cut count once.

    Args:
        node: Number of each grid point's node, ``[221, 51]``; columns from the leading edge to the outlets.
        wake: Column of the trailing edge on the upper side.
        edges: Nodes at the ends of each edge, ``[22220, 2]``.
        before: The nodes ahead of an edge's first one on its grid line, ``[22220, 2]``: twice the same, but for the
            wake's first edge, which has the trailing edge's neighbours on both sides; -1 where the line begins.
        after: Those behind its second node.
        start: Where each node's row begins in ``column``, ``[11221]``.
        column: Numbers of a node itself and its neighbours, rising, row by row: the pattern of the Jacobian.
        diagonal: Place of each node itself in ``column``, ``[11220]``.
        upper: Place of each edge's entry (first node, second node) in ``column``, ``[22220]``.
        lower: Place of its entry (second node, first node).
    """

    node: Ints
    wake: int
    edges: Ints
    before: Ints
    after: Ints
    start: Ints
    column: Ints
    diagonal: Ints
    upper: Ints
    lower: Ints


@dataclass(frozen=True, eq=False)
class DualMesh:
    """Dual volumes of one C-grid.

    Args:
        pattern: What is common to C-grids.
        face: Normal of the face across each edge, from the first node to the second, as long as the face,
            ``[22220, 2]``.
        wall: Outward normal of each node's part of the wall, ``[11220, 2]``, zero away from it.
        far: Outward normal of each node's part of the outer boundary, ``[11220, 2]``, zero away from it.
        volume: Size of each node's volume, ``[11220]``.
    """

    pattern: Topology
    face: Floats
    wall: Floats
    far: Floats
    volume: Floats


@functools.cache
def topology(shape: tuple[int, int] = GRID) -> Topology:
    """Nodes, edges and the pattern of the Jacobian.

    Args:
        shape: Points along both directions of the grid: the C-grid, or every second, fourth ... of its lines.
    """
    wake = (shape[0] - 1) * WAKE // (GRID[0] - 1)
    node = _nodes(shape, wake)
    edges, before, after = _edges(node, wake)
    count = node.max() + 1
    rows = np.concatenate([np.arange(count), edges[:, 0], edges[:, 1]])
    columns = np.concatenate([np.arange(count), edges[:, 1], edges[:, 0]])
    order = np.lexsort([columns, rows])
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    start = np.concatenate([[0], np.cumsum(np.bincount(rows))])
    diagonal, upper, lower = np.split(place, [count, count + len(edges)])
    return Topology(node, wake, edges, before, after, start, columns[order], diagonal, upper, lower)


def dual_mesh(points: Floats) -> DualMesh:
    """Median-dual volumes: faces run from the middles of edges to the means of cells' corners.

    Args:
        points: C-grid ``[221, 51, 2]``, see :func:`naca_mesh.grid`, or a part of its lines.
    """
    pattern = topology((points.shape[0], points.shape[1]))
    node, wake, tail = pattern.node, pattern.wake, points.shape[0] - 1 - pattern.wake
    count = node.max() + 1
    centre = (points[:-1, :-1] + points[1:, :-1] + points[1:, 1:] + points[:-1, 1:]) / 4
    along, outward = (points[1:] + points[:-1]) / 2, (points[:, 1:] + points[:, :-1]) / 2  # middles of edges

    inside = along[:, 0].copy()  # what a face begins with: the wall's edge, or beyond the cut the other side's cell
    inside[:wake], inside[tail:] = centre[: tail - 1 : -1, 0], centre[wake - 1 :: -1, 0]
    ends = np.concatenate([inside[:, None], centre, along[:, -1:]], axis=1)
    face = _left(np.diff(ends, axis=1))
    ends = np.concatenate([outward[:1], centre, outward[-1:]])
    face = np.concatenate([_once(face, tail), -_left(np.diff(ends, axis=0)).reshape(-1, 2)])

    wall, far = np.zeros((count, 2)), np.zeros((count, 2))
    _add_halves(wall, node[wake : tail + 1, 0], _left(np.diff(points[wake : tail + 1, 0], axis=0)))
    _add_halves(far, node[:, -1], -_left(np.diff(points[:, -1], axis=0)))
    _add_halves(far, node[0], -_left(np.diff(points[0], axis=0)))
    _add_halves(far, node[-1], _left(np.diff(points[-1], axis=0)))

    volume = np.zeros(count)
    for i, j in ((0, 0), (0, 1), (1, 0), (1, 1)):
        cells = slice(i, points.shape[0] - 1 + i), slice(j, points.shape[1] - 1 + j)
        one, two = outward[cells[0]] - along[:, cells[1]], centre - points[cells]
        area = abs(one[..., 0] * two[..., 1] - one[..., 1] * two[..., 0]) / 2  # half the diagonals' product
        np.add.at(volume, node[cells], area)
    return DualMesh(pattern, face, wall, far, volume)


def _nodes(shape: tuple[int, int], wake: int) -> Ints:
    """Numbers of the nodes, column by column from the leading edge to the outlets."""
    node = np.empty(shape, np.int64)
    last, count = shape[0] - 1, 0
    for column in sorted(range(shape[0]), key=lambda column: (abs(column - last // 2), column)):
        first = 1 if column >= last - wake else 0  # this side of the cut is numbered already
        node[column, first:] = np.arange(count, count + shape[1] - first)
        if first:
            node[column, 0] = node[last - column, 0]
        count += shape[1] - first
    return node


def _edges(node: Ints, wake: int) -> tuple[Ints, Ints, Ints]:
    """Edges along the C, those on the cut once, then outward ones; and the nodes before and after them."""
    columns, rows = node.shape
    tail = columns - 1 - wake
    lines = np.pad(node, ((1, 1), (0, 0)), constant_values=-1)
    before, first, second, after = (np.stack([lines[k : k + columns - 1]] * 2, -1) for k in range(4))
    after[wake - 1, 0] = node[wake + 1, 0], node[tail - 1, 0]  # the wake meets both sides of the airfoil
    ahead = [_once(part, tail) for part in (before, first, second, after)]

    lines = np.pad(node, ((0, 0), (1, 1)), constant_values=-1)
    lines[: wake + 1, 0], lines[tail:, 0] = node[: tail - 1 : -1, 1], node[wake::-1, 1]  # on across the cut
    outward = [np.stack([lines[:, k : k + rows - 1].ravel()] * 2, -1) for k in range(4)]
    before, first, second, after = (np.concatenate(parts) for parts in zip(ahead, outward, strict=True))
    return np.stack([first[:, 0], second[:, 0]], -1), before, after


def _once(values: NDArray[T], tail: int) -> NDArray[T]:
    """Values of the edges along the C in a row, without the cut's other side."""
    keep = np.ones(values.shape[:2], bool)
    keep[tail:, 0] = False
    return values[keep]


def _left(vector: Floats) -> Floats:
    """Vectors turned counter-clockwise by a right angle."""
    return np.stack([-vector[..., 1], vector[..., 0]], -1)


def _add_halves(total: Floats, nodes: Ints, normals: Floats) -> None:
    np.add.at(total, nodes[:-1], normals / 2)
    np.add.at(total, nodes[1:], normals / 2)
