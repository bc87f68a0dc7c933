"""Many nearest neighbours of many points: whole boxes of sources are passed over for whole boxes of targets."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from pitgeo.graphs.boxes import Array, Boxes, Numbers, squared_across_boxes, squared_to_boxes
from pitgeo.system.processes import cores

_BOXES = 4096  # of sources, at most where k is a 256th of them: every group of targets is compared with all
_TARGETS, _TOGETHER = 256, 2**17  # in a group: at most, and times k
_AT_ONCE = 2**21  # distances held by a thread


def nearest_in_boxes(targets: Array, sources: Array, k: int, slack: float) -> tuple[NDArray[np.int32], Numbers]:
    """The sources within the distance of the ``k``-th nearest one and ``slack``, of every target.

    A tree finds few neighbours fast, but it takes them one by one. Here the distances of a group of near targets to all
    sources that can matter are made at once, in numpy, with the cores of the machine.

    Args:
        targets: Positions ``[M, D]``.
        sources: Positions ``[N, D]``.
        k: From 1 to N.
        slack: A length.

    Returns:
        Numbers of the sources, ascending for every target, those of target 0 first; how many each target has ``[M]``.
    """
    boxes = Boxes(sources, max(1, min(-(-len(sources) // _BOXES), k // 16)))
    groups = Boxes(targets, max(1, min(_TARGETS, _TOGETHER // (4 * k))))
    rows = [number[number < len(targets)] for number in groups.number]
    degree = np.zeros(len(targets), np.int64)

    def search(group: int) -> NDArray[np.int32]:
        found, counts = _search(targets[rows[group]], boxes, k, slack)
        degree[rows[group]] = counts
        return found

    with ThreadPoolExecutor(cores()) as pool:
        parts = list(pool.map(search, range(len(rows))))
        start = np.cumsum(degree) - degree
        index = np.empty(int(degree.sum()), np.int32)

        def place(group: int) -> None:
            counts, found = degree[rows[group]], parts[group]
            if len(counts) == 1:
                index[start[rows[group][0]] :][: len(found)] = found
                return
            first = np.cumsum(counts) - counts
            index[np.repeat(start[rows[group]] - first, counts) + np.arange(len(found))] = found

        list(pool.map(place, range(len(rows))))
    return index, degree


def _search(targets: Array, boxes: Boxes, k: int, slack: float) -> tuple[NDArray[np.int32], Numbers]:
    """The same for one group of targets."""
    low, high = targets.min(0), targets.max(0)
    across = squared_across_boxes(low, high, boxes)
    nearest = across.argsort()
    enough = np.searchsorted(boxes.counts[nearest].cumsum(), k)  # the first that many boxes hold k sources
    near = np.flatnonzero(squared_to_boxes(low, high, boxes) <= _lengthened(across[nearest[enough]], slack))
    if len(targets) > 1 and len(targets) * len(near) * boxes.number.shape[1] > _AT_ONCE:  # far apart, or much there
        parts = [_search(half, boxes, k, slack) for half in np.array_split(targets, 2)]
        return np.concatenate([found for found, _ in parts]), np.concatenate([counts for _, counts in parts])
    number = boxes.number[near].ravel()
    squared = np.zeros((len(targets), len(number)))
    part = np.empty_like(squared)
    for axis, along in enumerate(boxes.axes):
        np.subtract(targets[:, axis, None], along[near].ravel(), out=part)
        squared += np.square(part, out=part)
    if boxes.counts[near].min() < boxes.number.shape[1]:
        squared[:, number == boxes.total] = np.inf
    kth = np.partition(squared, k - 1, axis=1)[:, k - 1, None]
    inside = squared <= _lengthened(kth, slack)
    counts = inside.sum(1)
    first = np.repeat(np.arange(len(targets)) * len(number), counts)
    found = number[np.flatnonzero(inside) - first]
    if boxes.number.shape[1] > 1:  # those of a target in ascending order
        row = np.repeat(np.arange(len(targets)) * boxes.total, counts)
        found += row
        found.sort()
        found -= row
    return found.astype(np.int32), counts


def _lengthened(squared: Array, slack: float) -> Array:
    """Squares of distances that are longer by a length: never less than before, whatever the root's rounding."""
    return np.asarray(np.maximum(squared, (np.sqrt(squared) + slack) ** 2))
