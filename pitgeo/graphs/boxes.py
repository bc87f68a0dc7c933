"""Points sorted into boxes, and the search for many nearest neighbours, which skips most boxes at once."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from pitgeo.system.processes import cores

Array = NDArray[np.float64]
Numbers = NDArray[np.int64]

_BOXES = 4096  # most boxes of sources where k is a 256th of them: every group of targets is compared with all
_TARGETS, _PAIRS = 256, 2**17  # most targets in a group, and most targets times k
_AT_ONCE = 2**21  # distances held by a thread


class Boxes:
    """Points in groups of neighbours, each with its bounding box.

    All points are halved along the longest axis of their box, then each half, and so on: ``2^m`` groups of nearly the
    same number of points, whatever their density. Groups of one point keep the order of the points.

    Args:
        points: Positions ``[N, D]``, finite.
        size: Largest number of points in a group.

    Attributes:
        number: Point numbers of every group, ascending, ``[G, S]``; padded with ``N`` at the end.
        low: Lower corners of the boxes, ``[G, D]``.
        high: Upper corners.
        counts: Points of every group, ``[G]``.
        axes: The coordinates along every axis, ``[G, S]`` each; padding repeats those of the last point.

    Example:
        >>> boxes = Boxes(np.array([[0.0], [9.0], [1.0], [8.0]]), 2)
        >>> boxes.number.tolist(), boxes.low.tolist()
        ([[0, 2], [1, 3]], [[0.0], [8.0]])
    """

    def __init__(self, points: Array, size: int) -> None:
        count = len(points)
        if size == 1:
            order, inside = np.arange(count)[:, None], points[:, None]
        else:
            levels = max(0, math.ceil(math.log2(count / size)))
            rest = -count % 2**levels
            points = np.concatenate([points, np.broadcast_to(points[-1:], (rest, points.shape[1]))])
            order = np.arange(len(points))[None]
            for _ in range(levels):
                order = _halved(points, order)
            order.sort(1)
            order = order[order[:, 0] < count]  # padding has the largest numbers, so it comes last
            inside = points[order]
        self.total = count
        self.number: Numbers = np.minimum(order, count)
        self.counts: Numbers = (order < count).sum(1)
        self.axes: tuple[Array, ...] = tuple(np.ascontiguousarray(inside[..., axis]) for axis in range(points.shape[1]))
        self.low: Array = inside.min(1)
        self.high: Array = inside.max(1)


def squared_to_boxes(low: Array, high: Array, boxes: Boxes) -> Array:
    """Squares of the least distances from one box ``[D]`` to every box, ``[G]``.

    Rounded as the distances of :func:`nearest_in_boxes`: no pair of points of the two boxes has a smaller one.
    """
    total = np.zeros(len(boxes.low))
    for axis in range(boxes.low.shape[1]):
        gap = np.maximum(boxes.low[:, axis] - high[axis], low[axis] - boxes.high[:, axis])
        total += np.square(np.maximum(gap, 0.0, out=gap), out=gap)
    return total


def squared_across_boxes(low: Array, high: Array, boxes: Boxes) -> Array:
    """Squares of the largest distances from one box ``[D]`` to every box, ``[G]``."""
    total = np.zeros(len(boxes.low))
    for axis in range(boxes.low.shape[1]):
        gap = np.maximum(boxes.high[:, axis] - low[axis], high[axis] - boxes.low[:, axis])
        total += np.square(gap, out=gap)
    return total


def nearest_in_boxes(targets: Array, sources: Array, k: int, slack: float) -> tuple[NDArray[np.int32], Numbers]:
    """The sources within the distance of the ``k``-th nearest one and ``slack``, of every target.

    A tree finds a handful of neighbours fast, but takes them one by one. This search groups near targets, and computes
    the distances of a group to all sources that can matter at once: in numpy, with all cores of the machine.

    Args:
        targets: Positions ``[M, D]``.
        sources: Positions ``[N, D]``.
        k: From 1 to N.
        slack: A length.

    Returns:
        Source numbers, ascending within a target, those of target 0 first; how many sources each target has ``[M]``.
    """
    boxes = Boxes(sources, max(1, min(-(-len(sources) // _BOXES), k // 16)))
    groups = Boxes(targets, max(1, min(_TARGETS, _PAIRS // (4 * k))))
    rows = [number[number < len(targets)] for number in groups.number]
    degree = np.zeros(len(targets), np.int64)

    def search(group: int) -> NDArray[np.int32]:
        neighbors, counts = _search_group(targets[rows[group]], boxes, k, slack)
        degree[rows[group]] = counts
        return neighbors

    with ThreadPoolExecutor(cores()) as pool:
        parts = list(pool.map(search, range(len(rows))))
        start = np.cumsum(degree) - degree
        index = np.empty(int(degree.sum()), np.int32)

        def write(group: int) -> None:
            counts, neighbors = degree[rows[group]], parts[group]
            if len(counts) == 1:
                index[start[rows[group][0]] :][: len(neighbors)] = neighbors
                return
            first = np.cumsum(counts) - counts
            index[np.repeat(start[rows[group]] - first, counts) + np.arange(len(neighbors))] = neighbors

        list(pool.map(write, range(len(rows))))
    return index, degree


def _search_group(targets: Array, boxes: Boxes, k: int, slack: float) -> tuple[NDArray[np.int32], Numbers]:
    """The result of :func:`nearest_in_boxes` for one group of targets."""
    low, high = targets.min(0), targets.max(0)
    across = squared_across_boxes(low, high, boxes)
    nearest = across.argsort()
    enough = np.searchsorted(boxes.counts[nearest].cumsum(), k)  # the first that many boxes hold k sources
    near = np.flatnonzero(squared_to_boxes(low, high, boxes) <= _lengthened(across[nearest[enough]], slack))
    if (
        len(targets) > 1 and len(targets) * len(near) * boxes.number.shape[1] > _AT_ONCE
    ):  # targets far apart, or too many sources
        parts = [_search_group(half, boxes, k, slack) for half in np.array_split(targets, 2)]
        return np.concatenate([neighbors for neighbors, _ in parts]), np.concatenate([counts for _, counts in parts])
    number = boxes.number[near].ravel()
    squared_distance = np.zeros((len(targets), len(number)))
    along_axis = np.empty_like(squared_distance)
    for axis, along in enumerate(boxes.axes):
        np.subtract(targets[:, axis, None], along[near].ravel(), out=along_axis)
        squared_distance += np.square(along_axis, out=along_axis)
    if boxes.counts[near].min() < boxes.number.shape[1]:
        squared_distance[:, number == boxes.total] = np.inf
    kth = np.partition(squared_distance, k - 1, axis=1)[:, k - 1, None]
    inside = squared_distance <= _lengthened(kth, slack)
    counts = inside.sum(1)
    first = np.repeat(np.arange(len(targets)) * len(number), counts)
    neighbors = number[np.flatnonzero(inside) - first]
    if boxes.number.shape[1] > 1:  # sorts the neighbours of each target
        row = np.repeat(np.arange(len(targets)) * boxes.total, counts)
        neighbors += row
        neighbors.sort()
        neighbors -= row
    return neighbors.astype(np.int32), counts


def _lengthened(squared_distance: Array, slack: float) -> Array:
    """Squares of distances made longer by ``slack``; never smaller than before, however the root is rounded."""
    return np.asarray(np.maximum(squared_distance, (np.sqrt(squared_distance) + slack) ** 2))


def _halved(points: Array, order: Numbers) -> Numbers:
    """Every group split in two: ``[G, S]`` -> ``[2 G, S / 2]``."""
    inside = points[order]
    axis = (inside.max(1) - inside.min(1)).argmax(1)
    along = np.take_along_axis(inside, axis[:, None, None], 2)[..., 0]
    half = order.shape[1] // 2
    halves = np.argpartition(along, half, axis=1)
    return np.take_along_axis(order, halves, 1).reshape(-1, half)
