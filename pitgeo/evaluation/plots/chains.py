"""Curves made of line cells, put in order."""

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
    """The curves that segments make, or ``None`` if more than two meet at a point.

    Open curves begin at the end with the lower number, closed ones at their point of lowest number; every curve goes
    on as its first segment does.

    Args:
        segments: Both ends of every segment ``[S, 2]``.
    """
    near: dict[int, list[tuple[int, int]]] = {}
    for number, (start, end) in enumerate(segments.tolist()):
        near.setdefault(start, []).append((end, number))
        near.setdefault(end, []).append((start, number))
    if any(len(others) > 2 for others in near.values()):
        return None
    found, used = [], np.zeros(len(segments), bool)
    for start in sorted(near, key=lambda point: (len(near[point]), point)):  # ends come first
        points, numbers = [start], []
        while (step := next(((other, to) for other, to in near[points[-1]] if not used[to]), None)) is not None:
            used[step[1]] = True
            points.append(step[0])
            numbers.append(step[1])
        if numbers:
            found.append(Chain(np.asarray(points), np.asarray(numbers)))
    return found
