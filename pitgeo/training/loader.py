"""Batches in an order that depends on the seed and the epoch alone, and that can be taken up anywhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np
import torch
from lightning.pytorch.callbacks import Callback
from torch_geometric.data import Batch

from pitgeo.data import PointData
from pitgeo.datasets.shared_mesh import SharedMesh
from pitgeo.nn.rollout import check_window


def collate(samples: Sequence[PointData], numbers: Sequence[int] | np.ndarray[Any, np.dtype[np.int64]]) -> PointData:
    """A batch of some samples; those of a shared mesh keep one copy of it."""
    if isinstance(samples, SharedMesh):
        return samples.batch(numbers)
    return cast(PointData, Batch.from_data_list([samples[int(number)] for number in numbers]))


class BatchLoader:
    """Batches of one epoch after another, resumable in the middle of an epoch.

    Iterating goes on where ``epoch`` and ``position`` stand: a loader whose state was loaded gives the batches that
    the saved one would have given. After the last batch of an epoch the next iteration begins the next epoch.

    A batch of several devices is the same as that of one; each device gets its share of it, which differ by one sample
    at most. Shares say how many samples the whole batch has, ``together``, and with what ``weight`` their mean counts,
    so that the mean over the devices is that over the batch. A device for which there is no sample gets one of another,
    of weight zero, since all have to take part in every step.

    Args:
        samples: The samples.
        batch_size: Samples of a batch, on all devices together; the last batch of an epoch may be smaller.
        seed: Orders the samples anew every epoch; ``None`` keeps them in order.
        window: Of time series, how many steps a batch has of each: it has windows in place of samples then, and an
            epoch has all windows of all samples. 0: whole series.

    Raises:
        ValueError: If there is no sample, the batch size is not positive, or windows do not fill the series.
    """

    def __init__(self, samples: Sequence[PointData], batch_size: int, seed: int | None = None, window: int = 0) -> None:
        if len(samples) == 0:
            raise ValueError("Expected at least one sample (got none)")
        if batch_size < 1:
            raise ValueError(f"Expected 'batch_size' to be at least 1 (got {batch_size})")
        self.samples = samples
        self.batch_size = batch_size
        self.seed = seed
        self.window = window
        self._starts = np.zeros(1, np.int64)
        if window:
            steps = samples[0].y.shape[-1]
            check_window(steps, window)
            self._starts = np.arange(0, steps, window)
        self.epoch = 0
        self.position = 0
        self.rank = 0
        self.world = 1

    def shard(self, rank: int, world: int) -> None:
        """Let every batch be shared by ``world`` devices, of which this is number ``rank``."""
        self.rank, self.world = rank, world

    def __len__(self) -> int:
        """Batches of a whole epoch, wherever the loader stands."""
        return -(-self._count // self.batch_size)

    def __iter__(self) -> Iterator[PointData]:
        if self.position >= len(self):
            self.epoch += 1
            self.position = 0
        order = self._order()
        while self.position < len(self):
            numbers = order[self.position * self.batch_size : (self.position + 1) * self.batch_size]
            self.position += 1
            yield self._batch(numbers) if self.world == 1 else self._share(numbers)

    def state_dict(self) -> dict[str, Any]:
        """Where the loader stands."""
        return {"epoch": self.epoch, "position": self.position}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from where another loader stood."""
        self.epoch, self.position = int(state["epoch"]), int(state["position"])

    @property
    def _count(self) -> int:
        """Samples, or windows of them."""
        return len(self.samples) * len(self._starts)

    def _order(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        count = self._count
        return (
            np.arange(count) if self.seed is None else np.random.default_rng((self.seed, self.epoch)).permutation(count)
        )

    def _batch(self, numbers: np.ndarray[Any, np.dtype[np.int64]]) -> PointData:
        sample, place = np.divmod(numbers, len(self._starts))
        batch = collate(self.samples, sample)
        return cut_windows(batch, self._starts[place], self.window) if self.window else batch

    def _share(self, numbers: np.ndarray[Any, np.dtype[np.int64]]) -> PointData:
        own = numbers[self.rank :: self.world]
        batch = self._batch(own if len(own) else numbers[:1])
        batch["together"] = len(numbers)
        batch["weight"] = len(own) * self.world / len(numbers)
        return batch


def cut_windows(batch: PointData, first: np.ndarray[Any, np.dtype[np.int64]], size: int) -> PointData:
    r"""The window of every sample of a batch; ``window`` in the result is its size, for :class:`pitgeo.nn.Rollout`.

    A series of :math:`T` known and :math:`K` wanted values is cut into :math:`K / k` windows of :math:`T + k`, each of
    which begins with true values: so many training steps in place of one, with as many applications of the model
    together. With :math:`k = 1` gradients never go through a roll-out. Validation and tests are of whole series.

    Args:
        batch: Samples with values ``x`` at the known times and ``y`` at the wanted ones.
        first: For every sample, the first step to predict.
        size: How many.
    """
    known = batch.x.shape[-1]
    begin = torch.as_tensor(first, device=batch.x.device)
    begin = begin[batch.points("input")[1]].view(-1, 1) if batch.x.dim() == 2 else begin.view(-1, 1, 1)
    series = torch.cat([batch.x, batch.y], -1)
    place = (begin + torch.arange(known + size, device=begin.device)).expand(*series.shape[:-1], -1)
    window = series.gather(-1, place)
    batch.x, batch.y = window[..., :known], window[..., known:]
    batch["window"] = size
    return batch


class LoaderState(Callback):
    """Keep the loader's epoch and position in the checkpoint.

    Lightning does so by itself, but loads them only when it resumes in the middle of an epoch.

    Args:
        loader: The loader of the training samples.
    """

    def __init__(self, loader: BatchLoader) -> None:
        self.loader = loader

    def state_dict(self) -> dict[str, Any]:
        """Where the loader stands."""
        return self.loader.state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from there."""
        self.loader.load_state_dict(state_dict)
