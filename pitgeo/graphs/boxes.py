"""Points sorted into boxes, and the search for many nearest neighbours, which skips most boxes at once."""

from __future__ import annotations

import itertools
import math
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pitgeo.system.processes import cores

Array = NDArray[np.float64]
Numbers = NDArray[np.int64]

_BOXES, _SOURCES, _RUN = 4096, 32, 64  # boxes of that many sources at least, of so many points at most; boxes in a run
_TARGETS, _GROUPS, _PAIRS = 32, 8, 2**17  # targets in a group, groups looked at together, and targets times k, at most
_FEW = 4  # groups are not looked at one by one where few more sources than k are near all of them
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
        levels = max(0, math.ceil(math.log2(count / size))) if size > 1 else 0
        order = np.arange(count + -count % 2**levels)  # repeats the last point
        if size == 1:
            order = order[:, None]
        else:
            axes = [points[:, axis].take(order, mode="clip")[None] for axis in range(points.shape[1])]
            order = order[None]
            for _ in range(levels):
                order, axes = _halved(order, axes)
            order.sort(1)
            order = order[order[:, 0] < count]  # padding has the largest numbers, so it comes last
        axes = [points[:, axis].take(order, mode="clip") for axis in range(points.shape[1])]
        self.total = count
        self.number: Numbers = np.minimum(order, count)
        self.counts: Numbers = (order < count).sum(1)
        self.axes: tuple[Array, ...] = tuple(axes)
        self.low: Array = np.array([along.min(1) for along in axes]).T  # those of an axis lie together
        self.high: Array = np.array([along.max(1) for along in axes]).T


def squared_to_boxes(low: Array, high: Array, lows: Array, highs: Array) -> Array:
    """Squares of the least distances from one box ``[D]`` to every other ``[G, D]``, ``[G]``.

    Rounded as the distances of :func:`nearest_in_boxes`: no pair of points of the two boxes has a smaller one.
    """
    gap = np.maximum(lows.T - high[:, None], low[:, None] - highs.T)
    np.maximum(gap, 0.0, out=gap)
    return np.asarray(np.square(gap, out=gap).sum(0))


def squared_across_boxes(low: Array, high: Array, lows: Array, highs: Array) -> Array:
    """Squares of the largest distances from one box ``[D]`` to every other ``[G, D]``, ``[G]``, rounded likewise."""
    gap = np.maximum(highs.T - low[:, None], high[:, None] - lows.T)
    return np.asarray(np.square(gap, out=gap).sum(0))


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
    boxes = Boxes(sources, max(1, min(-(-len(sources) // _BOXES), k // 16, _SOURCES)))
    starts = np.arange(0, len(boxes.low), _RUN)
    run_low, run_high = np.minimum.reduceat(boxes.low, starts), np.maximum.reduceat(boxes.high, starts)
    runs = _Bounds(run_low, run_high, np.add.reduceat(boxes.counts, starts), k, slack)
    bounds = _Bounds(boxes.low, boxes.high, boxes.counts, k, slack)
    groups = Boxes(targets, max(1, min(_TARGETS, _PAIRS // (4 * k))))
    rows = [number[number < len(targets)] for number in groups.number]
    together = 1 if groups.number.shape[1] == 1 else _GROUPS
    degree = np.zeros(len(targets), np.int64)

    def search(first: int) -> list[tuple[Numbers, NDArray[np.int32]]]:
        some = slice(first, first + together)
        low, high, alone = groups.low[some].min(0), groups.high[some].max(0), rows[some]
        near = np.add.outer(starts[runs.near(low, high)], np.arange(_RUN)).ravel()
        near = bounds.near(low, high, near[near < len(boxes.low)])
        if len(near) * boxes.number.shape[1] < _FEW * k:
            alone = [np.concatenate(alone)]
        found = []
        for group in alone:
            neighbors, degree[group] = _search_group(targets[group], boxes, bounds, near)
            found.append((group, neighbors))
        return found

    with ThreadPoolExecutor(cores()) as pool:
        parts = list(itertools.chain.from_iterable(pool.map(search, range(0, len(rows), together))))
        index, start = np.empty(int(degree.sum()), np.int32), row_starts(degree)
        list(pool.map(lambda part: write_rows(index, start[part[0]], degree[part[0]], part[1]), parts))
    return index, degree


class _Bounds:
    """Boxes of sources, by what is known without their points.

    Args:
        low: Lower corners ``[G, D]``.
        high: Upper corners.
        counts: Sources in each box ``[G]``.
        k: How many neighbours are searched.
        slack: As for :func:`nearest_in_boxes`.
    """

    def __init__(self, low: Array, high: Array, counts: Numbers, k: int, slack: float) -> None:
        self.axes = low.T.copy(), high.T.copy()
        ascending = np.sort(counts)
        self.enough = int(np.searchsorted(ascending.cumsum(), k))  # any one more than that many boxes hold k sources
        self.too_few = int(np.searchsorted(ascending[::-1].cumsum(), k))  # and any that many hold fewer
        self.k, self.slack = k, slack

    def near(self, low: Array, high: Array, boxes: Numbers | slice = slice(None)) -> Numbers:
        """The numbers of those boxes that can hold neighbours of points between ``low`` and ``high``."""
        corners = self._corners(boxes)
        across = squared_across_boxes(low, high, *corners)
        enough = min(self.enough, len(across) - 1)
        limit = _lengthened(np.partition(across, enough)[enough], self.slack)
        near = np.flatnonzero(squared_to_boxes(low, high, *corners) <= limit)
        return near if isinstance(boxes, slice) else boxes[near]

    def within(self, low: Array, high: Array, boxes: Numbers) -> tuple[NDArray[np.bool_], float]:
        """Which boxes hold neighbours alone; a lower bound of the squared distance of the k-th nearest."""
        corners = self._corners(boxes)
        least = np.partition(squared_to_boxes(low, high, *corners), self.too_few)[self.too_few]
        return squared_across_boxes(low, high, *corners) <= least, float(least)

    def _corners(self, boxes: Numbers | slice) -> tuple[Array, Array]:
        low, high = self.axes
        return (low.T, high.T) if isinstance(boxes, slice) else (low.take(boxes, 1).T, high.take(boxes, 1).T)


def _search_group(targets: Array, boxes: Boxes, bounds: _Bounds, near: Numbers) -> tuple[NDArray[np.int32], Numbers]:
    """The result of :func:`nearest_in_boxes` for one group of targets, from boxes that hold all their neighbours."""
    low, high, size = targets.min(0), targets.max(0), boxes.number.shape[1]
    near = bounds.near(low, high, near)
    if len(targets) > 1 and len(targets) * len(near) * size > _AT_ONCE:  # targets far apart, or too many sources
        parts = [_search_group(half, boxes, bounds, near) for half in np.array_split(targets, 2)]
        return np.concatenate([neighbors for neighbors, _ in parts]), np.concatenate([counts for _, counts in parts])
    certain, least = np.zeros(0, np.int64), 0.0
    if size > 1:
        whole, least = bounds.within(low, high, near)
        certain, near = boxes.number[near[whole]].ravel(), near[~whole]
        certain = certain[certain < boxes.total]
    number = boxes.number[near].ravel()
    squared_distance = np.zeros((len(targets), len(number)))
    along_axis = np.empty_like(squared_distance)
    for axis, along in enumerate(boxes.axes):
        np.subtract(targets[:, axis, None], along[near].ravel(), out=along_axis)
        squared_distance += np.square(along_axis, out=along_axis)
    if size > 1:
        squared_distance[:, number == boxes.total] = np.inf
    rest = bounds.k - len(certain)
    kth = np.full((len(targets), 1), least)
    if rest > 0:
        np.maximum(kth, np.partition(squared_distance, rest - 1, axis=1)[:, rest - 1, None], out=kth)
    inside = squared_distance <= _lengthened(kth, bounds.slack)
    counts = inside.sum(1)
    first = np.repeat(np.arange(len(targets)) * len(number), counts)
    neighbors = number.astype(np.int32)[np.flatnonzero(inside) - first]
    if size == 1:
        return neighbors, counts
    found = [np.concatenate([certain.astype(np.int32), some]) for some in np.split(neighbors, counts.cumsum()[:-1])]
    for some in found:
        some.sort()
    return np.concatenate(found), counts + len(certain)


def row_starts(degree: Numbers) -> Numbers:
    """Where the neighbours of every target begin, if those of target 0 come first."""
    return np.asarray(np.cumsum(degree) - degree)


def write_rows(index: NDArray[Any], start: Numbers, degree: Numbers, neighbors: NDArray[Any]) -> None:
    """Write the neighbours of some targets, one target after the other, to where those of each begin in ``index``."""
    if len(start) == 1:
        index[start[0] :][: len(neighbors)] = neighbors
    else:
        index[np.repeat(start - row_starts(degree), degree) + np.arange(len(neighbors))] = neighbors


def _lengthened(squared_distance: Array, slack: float) -> Array:
    """Squares of distances made longer by ``slack``; never smaller than before, however the root is rounded."""
    return np.asarray(np.maximum(squared_distance, (np.sqrt(squared_distance) + slack) ** 2))


def _halved(order: Numbers, axes: list[Array]) -> tuple[Numbers, list[Array]]:
    """Every group of points and coordinates split in two: ``[G, S]`` -> ``[2 G, S / 2]``."""
    size, half = order.shape[1], order.shape[1] // 2
    longest = np.argmax([along.max(1) - along.min(1) for along in axes], axis=0)
    halves = np.empty_like(order)
    for axis, along in enumerate(axes):
        rows = np.flatnonzero(longest == axis)
        halves[rows] = np.argpartition(along[rows], half, axis=1) + rows[:, None] * size
    halves = halves.reshape(-1, half)
    return order.take(halves), [along.take(halves) for along in axes]
