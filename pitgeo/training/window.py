r"""Windows of time series: a training step predicts a few steps of a series, not all.

A series of :math:`T` known and :math:`K` wanted values is cut into :math:`K / k` windows of :math:`T + k`, each of
which begins with true values: so many training steps in place of one, with as many applications of the model together.
With :math:`k = 1` gradients never go through a roll-out. Validation and tests are of whole series.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from pitgeo.data import PointData


def cut(batch: PointData, first: np.ndarray[Any, np.dtype[np.int64]], size: int) -> PointData:
    """The window of every sample of a batch; ``window`` in the result is its size, for :class:`pitgeo.nn.Rollout`.

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
