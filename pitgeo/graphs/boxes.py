"""Points sorted into boxes, so that a search passes over most of them at once."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Numbers = NDArray[np.int64]


class Boxes:
    """Points in groups of neighbours, each with the box that it fills.

    All points are halved along the longest axis of their box, the halves likewise, and so on: ``2^m`` groups of about
    as many points, whatever their density; groups of one point keep the order of the points.

    Args:
        points: Positions ``[N, D]``, finite.
        size: Points of a group, at most.

    Attributes:
        number: Numbers of the points of every group, ascending, ``[G, S]``; ``N`` where there is none, at the end.
        low: Lower corners of the boxes, ``[G, D]``.
        high: Upper corners.
        counts: Points of every group, ``[G]``.
        axes: The coordinates along every axis, ``[G, S]`` each; where there is no point, those of the last one.

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
            order = order[order[:, 0] < count]  # what fills up has the largest numbers, so it stands last
            inside = points[order]
        self.total = count
        self.number: Numbers = np.minimum(order, count)
        self.counts: Numbers = (order < count).sum(1)
        self.axes: tuple[Array, ...] = tuple(np.ascontiguousarray(inside[..., axis]) for axis in range(points.shape[1]))
        self.low: Array = inside.min(1)
        self.high: Array = inside.max(1)


def squared_to_boxes(low: Array, high: Array, boxes: Boxes) -> Array:
    """Squares of the least distances from the points of one box ``[D]`` to those of every box, ``[G]``.

    Rounded as :func:`squared_distances`, which never give less for a point of the one and a point of the other.
    """
    total = np.zeros(len(boxes.low))
    for axis in range(boxes.low.shape[1]):
        gap = np.maximum(boxes.low[:, axis] - high[axis], low[axis] - boxes.high[:, axis])
        total += np.square(np.maximum(gap, 0.0, out=gap), out=gap)
    return total


def squared_across_boxes(low: Array, high: Array, boxes: Boxes) -> Array:
    """Squares of the largest distances likewise."""
    total = np.zeros(len(boxes.low))
    for axis in range(boxes.low.shape[1]):
        gap = np.maximum(boxes.high[:, axis] - low[axis], high[axis] - boxes.low[:, axis])
        total += np.square(gap, out=gap)
    return total


def _halved(points: Array, order: Numbers) -> Numbers:
    """Every group in two: ``[G, S]`` -> ``[2 G, S / 2]``."""
    inside = points[order]
    axis = (inside.max(1) - inside.min(1)).argmax(1)
    along = np.take_along_axis(inside, axis[:, None, None], 2)[..., 0]
    half = order.shape[1] // 2
    parted = np.argpartition(along, half, axis=1)
    return np.take_along_axis(order, parted, 1).reshape(-1, half)
