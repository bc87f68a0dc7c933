"""Points and cells by the numbers that a file gives them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
Wanted = range | Numbers
"""Numbers of points or cells."""


class Index:
    """Looks up the places of numbers in an array of numbers in any order.

    Args:
        numbers: The array.
    """

    def __init__(self, numbers: NDArray[Any]) -> None:
        self._order = np.argsort(numbers, kind="stable")
        self._sorted = numbers[self._order]

    @property
    def is_repeated(self) -> bool:
        """Whether a number is there more than once."""
        return bool((np.diff(self._sorted) == 0).any())

    def find(self, wanted: NDArray[Any]) -> Numbers:
        """The place of each number, the first of several; -1 where there is none.

        Example:
            >>> Index(np.array([30, 10, 20])).find(np.array([[10, 20], [30, 40]]))
            array([[ 1,  2],
                   [ 0, -1]])
        """
        if not len(self._sorted):
            return np.full(np.shape(wanted), -1)
        near = np.searchsorted(self._sorted, wanted).clip(max=len(self._sorted) - 1)
        return np.where(self._sorted[near] == wanted, self._order[near], -1)

    def places(self, wanted: Wanted) -> Numbers:
        """The places of those numbers that are there."""
        if not isinstance(wanted, range):
            found = self.find(wanted)
            return found[found >= 0]
        wanted = wanted[::-1] if wanted.step < 0 else wanted
        first, last = np.searchsorted(self._sorted, [wanted.start, wanted.stop])
        hits = (self._sorted[first:last] - wanted.start) % wanted.step == 0
        return np.asarray(self._order[first:last][hits])
