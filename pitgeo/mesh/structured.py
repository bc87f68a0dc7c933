"""Cells of structured grids: the one place that makes them, for all formats."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def grid_cells(sizes: Sequence[int]) -> tuple[str, NDArray[np.int64]]:
    """Type and nodes of the cells of a grid, whose points and cells are numbered with the first axis running fastest.

    Axes of a single point count for nothing.

    Args:
        sizes: Points along every axis.

    Example:
        >>> grid_cells([3, 1, 2])
        ('quad', array([[0, 1, 4, 3],
               [1, 2, 5, 4]]))
    """
    own = [size for size in sizes if size != 1]
    numbers = np.arange(np.prod(own, dtype=np.int64)).reshape(own[::-1])
    corners = [numbers]
    for axis in reversed(range(numbers.ndim)):
        low = [np.take(part, range(part.shape[axis] - 1), axis) for part in corners]
        high = [np.take(part, range(1, part.shape[axis]), axis) for part in corners]
        corners = [*low, *(reversed(high) if len(corners) == 2 else high)]
    kind = ("vertex", "line", "quad", "hexahedron")[len(own)]
    return kind, np.stack([part.ravel() for part in corners], 1)
