"""Search trees that can also be built in threads that flush denormal numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree


def kd_tree(points: NDArray[np.float64], boxsize: NDArray[np.float64] | None = None) -> Any:
    """A :class:`scipy.spatial.cKDTree`, built with denormal numbers enabled.

    Where many coordinates are exactly zero, scipy splits at the number next to zero. In a thread that flushes denormal
    numbers, as in training, that number is zero too: the split makes no progress, and the stack overflows.

    Args:
        points: Positions ``[N, D]``.
        boxsize: Period of every axis; 0 for none.
    """
    if not _flushes():
        return cKDTree(points, boxsize=boxsize)
    import torch  # a thread flushes them only if torch told it to

    torch.set_flush_denormal(False)
    try:
        return cKDTree(points, boxsize=boxsize)
    finally:
        torch.set_flush_denormal(True)


def _flushes() -> bool:
    """Whether this thread treats denormal numbers as zero."""
    return bool(np.multiply(np.array([1e-310]), 1.0)[0] == 0)
