"""Curves in the order of their points, made of line cells."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Chain(NamedTuple):
    """Points one after the other, and the segments between them.

    Args:
        points: Numbers of points ``[K]``; the first is also the last of a closed curve.
        segments: Numbers of segments ``[K - 1]``.
    """

    points: NDArray[np.int64]
    segments: NDArray[np.int64]


def chains(segments: NDArray[np.int64]) -> list[Chain] | None:
    """The curves that the segments form, or ``None`` if more than two segments meet at a point.

    Open curves begin at the end with the lower number, closed curves at their point of lowest number and with its
    first segment.

    Args:
        segments: Both ends of every segment ``[S, 2]``.
    """
    neighbors: dict[int, list[tuple[int, int]]] = {}
    for number, (start, end) in enumerate(segments.tolist()):
        neighbors.setdefault(start, []).append((end, number))
        neighbors.setdefault(end, []).append((start, number))
    if any(len(ends) > 2 for ends in neighbors.values()):
        return None
    curves, used = [], np.zeros(len(segments), bool)
    for start in sorted(neighbors, key=lambda point: (len(neighbors[point]), point)):  # ends come first
        points, numbers = [start], []
        while (step := next((pair for pair in neighbors[points[-1]] if not used[pair[1]]), None)) is not None:
            used[step[1]] = True
            points.append(step[0])
            numbers.append(step[1])
        if numbers:
            curves.append(Chain(np.asarray(points), np.asarray(numbers)))
    return curves
