"""The slow twins: every formula in its most obvious dense form."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def squared_distances(targets: Tensor, sources: Tensor, period: tuple[float, ...] = ()) -> Tensor:
    """``[M, N]`` of minimum-image distances, by trying the images on either side."""
    difference = targets[:, None] - sources[None]
    if period:
        images = [difference + shift * difference.new_tensor(period) for shift in (-1, 0, 1)]
        difference = torch.stack(images).abs().min(0).values
    return difference.square().sum(-1)


def quantile_mask(squared: Tensor, q: float) -> Tensor:
    """Which sources lie within the q-quantile of each row, ties at the radius among them."""
    distance = squared.double().sqrt()
    k = math.floor(q * (distance.shape[1] - 1) + 1e-9) + 1
    return distance <= distance.sort(1).values[:, k - 1 : k] + 1e-6


def position_attention(
    x: Tensor, scale: Tensor, squared: Tensor, weight: Tensor | None = None, mask: Tensor | None = None
) -> Tensor:
    """``[N, C]`` -> ``[M, heads * c]``: a softmax matrix per head, times that head's share of the values."""
    heads = []
    for head in range(len(scale)):
        logits = -scale[head] * squared
        if mask is not None:
            logits = logits.masked_fill(~mask, -torch.inf)
        values = x if weight is None else x @ weight.chunk(len(scale))[head].T
        heads.append(logits.softmax(-1) @ values)
    return torch.cat(heads, -1)
