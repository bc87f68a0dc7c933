"""Means and counts over the points of every sample of a batch."""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.utils import segment

from pitgeo.data import PointData


def averaged(values: Tensor, data: PointData, scalars: int, rows: Tensor | None) -> Tensor:
    """Numbers of the whole mesh in place of the last channels: means over the points of a sample.

    Args:
        values: ``[M, K]``, or ``[B, M, K]`` on a shared mesh.
        data: The samples.
        scalars: How many channels, the last ones, belong to the mesh as a whole.
        rows: Numbers of the output points that the values are for; ``None`` for all.
    """
    fields, numbers = values[..., :-scalars], values[..., -scalars:]
    batch = None if values.dim() == 3 else data.points("output")[1]
    if batch is None:
        means = numbers.mean(-2, keepdim=True).expand_as(numbers)
    else:
        batch = batch if rows is None else batch[rows]
        counts = torch.bincount(batch, minlength=data.samples)
        pointer = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
        means = segment(numbers, pointer, "mean")[batch]
    return torch.cat([fields, means], -1)


def root_counts(batch: PointData) -> Tensor:
    """The root of how many points each target belongs to, ``[B, K]``, or ``[B, 1]`` if all belong to all points."""
    mask = batch.get("y_mask")
    known = torch.ones_like(batch.y[..., :1], dtype=torch.bool) if mask is None else mask
    numbers = None if batch.y.dim() == 3 else batch.points("output")[1]
    if numbers is None:  # samples on a shared mesh, or a single one
        counts = known.sum(-2).reshape(-1, known.shape[-1]).expand(batch.samples, -1)
    else:
        counts = known.new_zeros((batch.samples, known.shape[-1]), dtype=torch.long)
        counts = counts.index_add(0, numbers, known.long())
    return counts.double().sqrt()
