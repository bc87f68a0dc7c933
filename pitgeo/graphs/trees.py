"""Search trees that can be built whatever the processor does with denormal numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree


def kd_tree(points: NDArray[np.float64], boxsize: NDArray[np.float64] | None = None) -> Any:
    """A :class:`scipy.spatial.cKDTree`.

    Where many coordinates are exactly zero, scipy splits at the number next to zero. To a thread that flushes denormal
    numbers, as training does, that is zero again: the split makes no progress, and the process dies of a full stack.
    So denormal numbers are kept while the tree is built.

    Args:
        points: Positions ``[N, D]``.
        boxsize: Period of every axis; 0 for none.
    """
    if not _flushes():
        return cKDTree(points, boxsize=boxsize)
    import torch  # which has the thread flush them

    torch.set_flush_denormal(False)
    try:
        return cKDTree(points, boxsize=boxsize)
    finally:
        torch.set_flush_denormal(True)


def _flushes() -> bool:
    """Whether this thread takes denormal numbers for zero."""
    return bool(np.multiply(np.array([1e-310]), 1.0)[0] == 0)
