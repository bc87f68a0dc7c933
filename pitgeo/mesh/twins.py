"""Cells that are listed more than once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]


def first_of(blocks: Sequence[tuple[int, Numbers]]) -> Numbers:
    """For every cell the number of the first cell with the same dimension and nodes, in any order, ``[cells]``.

    Args:
        blocks: Dimension and nodes ``[cells, nodes]`` of the cells of every block.

    Example:
        >>> first_of([(2, np.array([[0, 1, 2], [1, 2, 3]])), (2, np.array([[2, 0, 1]]))])
        array([0, 1, 0])
    """
    sizes = [len(nodes) for _, nodes in blocks]
    starts = np.cumsum([0, *sizes])
    result = np.arange(starts[-1])
    for key in {(axes, nodes.shape[1]) for axes, nodes in blocks if len(nodes)}:
        chosen = [
            (start, nodes)
            for start, (axes, nodes) in zip(starts, blocks, strict=False)
            if len(nodes) and (axes, nodes.shape[1]) == key
        ]
        numbers = np.concatenate([np.arange(start, start + len(nodes)) for start, nodes in chosen])
        rows = np.sort(np.concatenate([nodes for _, nodes in chosen]), axis=1)
        order = np.lexsort(rows.T)  # stable: of equal rows, the first comes first
        changes = np.ones(len(rows), bool)
        changes[1:] = (rows[order[1:]] != rows[order[:-1]]).any(1)
        leaders = order[np.flatnonzero(changes)][np.cumsum(changes) - 1]
        result[numbers[order]] = numbers[leaders]
    return result
