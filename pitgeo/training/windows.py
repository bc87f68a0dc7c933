r"""Windows of time series: a training step predicts a few steps of a series, not all.

A series of :math:`T` known and :math:`K` wanted values is cut into windows of :math:`T + k`, each of which begins with
true values: :math:`\lceil K / k \rceil` training steps in place of one, in about the same time, of which none goes
through more than :math:`k` applications of the model. Short windows first, longer ones later, is a curriculum: at the
start, errors of a long roll-out are those of its first steps many times over.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from pitgeo.data import PointData


def epoch_windows(windows: Sequence[int], epochs: int) -> list[int]:
    """The steps of a window in every epoch: each of the given numbers for an equal share of them, the last at the end.

    Example:
        >>> epoch_windows((1, 4), 5)
        [1, 1, 4, 4, 4]
    """
    return [windows[math.ceil((epoch + 1) * len(windows) / epochs) - 1] for epoch in range(epochs)]


def starts(steps: int, size: int) -> list[int]:
    """Where windows of so many steps begin, that together are all of a series; the last may overlap the one before.

    Raises:
        ValueError: If the series is shorter than a window.

    Example:
        >>> starts(20, 8)
        [0, 8, 12]
    """
    if size > steps:
        raise ValueError(f"Expected training.windows of at most the {steps} steps of a series (got {size})")
    return [min(start, steps - size) for start in range(0, steps, size)]


def cut(batch: PointData, first: Sequence[int] | np.ndarray[Any, np.dtype[np.int64]], size: int) -> PointData:
    """The window of every sample of a batch; ``window`` in the result is its size, for :class:`pitgeo.nn.Rollout`.

    Args:
        batch: Samples with values ``x`` at the known times and ``y`` at the wanted ones.
        first: For every sample, the first step to predict.
        size: How many.
    """
    known = batch.x.shape[-1]
    begin = torch.as_tensor(np.asarray(first), device=batch.x.device)
    begin = begin[batch.points("input")[1]].view(-1, 1) if batch.x.dim() == 2 else begin.view(-1, 1, 1)
    series = torch.cat([batch.x, batch.y], -1)
    place = (begin + torch.arange(known + size, device=begin.device)).expand(*series.shape[:-1], -1)
    window = series.gather(-1, place)
    batch.x, batch.y = window[..., :known], window[..., known:]
    batch["window"] = size
    return batch
