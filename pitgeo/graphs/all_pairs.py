"""Nearest points by all distances, on the device that holds the points: the search where they are on a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

_AT_ONCE = 2**25  # distances: 256 MB, a few times over


class AllPairs:
    """What :class:`scipy.spatial.cKDTree` answers to ``query``, without a tree.

    Args:
        sources: Positions ``[N, D]``.
        boxsize: Period of every axis, 0 where it does not repeat; ``None`` for none.
        device: Where to compute.
    """

    def __init__(self, sources: NDArray[np.float64], boxsize: Any, device: torch.device) -> None:
        self.sources = torch.from_numpy(sources).to(device)
        self.period = None if boxsize is None else np.broadcast_to(boxsize, sources.shape[1]).tolist()
        self.n = len(sources)

    def query(
        self, targets: NDArray[np.float64], k: NDArray[np.int64], workers: int = 1
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Distances and numbers of the ``k``-th nearest sources of every target, for every ``k``, nearest first.

        Args:
            targets: Positions ``[M, D]``.
            k: Counted from 1: ``1, 2, ..., K``.
            workers: Not used.
        """
        found = [self._nearest(part, len(k)) for part in np.array_split(targets, self._parts(len(targets)))]
        distance, index = (torch.cat(parts).cpu().numpy() for parts in zip(*found, strict=True))
        return distance, index

    def _parts(self, targets: int) -> int:
        return max(1, -(-targets * self.n // _AT_ONCE))

    def _nearest(self, targets: NDArray[np.float64], width: int) -> tuple[torch.Tensor, torch.Tensor]:
        rows = torch.from_numpy(targets).to(self.sources.device)
        squared = rows.new_zeros(len(rows), self.n)
        for axis in range(rows.shape[1]):
            difference = (rows[:, axis, None] - self.sources[:, axis]).abs()
            if self.period is not None and self.period[axis] > 0:
                difference = torch.minimum(difference, self.period[axis] - difference)
            squared += difference.square()
        nearest = squared.topk(width, largest=False, sorted=True)
        return nearest.values.sqrt(), nearest.indices
