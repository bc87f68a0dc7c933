"""Output points of a batch: drawn at random, averaged over, counted."""

from __future__ import annotations

import torch
from torch import Tensor

from pitgeo.data import PointData
from pitgeo.data.mesh_numbers import means


def draw_query_points(batch: PointData, most: int) -> Tensor | None:
    """Numbers of output points, at most so many of every sample, all subsets of a sample equally likely.

    They come from torch's generator of the CPU, whose state a checkpoint holds. Samples on one shared mesh get the same
    points.

    Args:
        batch: The samples.
        most: Points of a sample; one with no more than these is taken whole, and uses up no random numbers.

    Returns:
        Increasing numbers ``[m]`` among the output points of the batch; ``None`` where all samples are taken whole.

    Example:
        >>> sample = PointData(pos=torch.rand(100, 2))
        >>> draw_query_points(sample, 30).shape, draw_query_points(sample, 100)
        (torch.Size([30]), None)
    """
    pos, numbers = batch.points("output")
    counts = [len(pos)] if numbers is None else torch.bincount(numbers, minlength=batch.samples).tolist()
    if max(counts) <= most:
        return None
    parts, start = [], 0
    for count in counts:
        chosen = torch.arange(count) if count <= most else torch.randperm(count)[:most].sort().values
        parts.append(chosen + start)
        start += count
    return torch.cat(parts).to(pos.device)


def averaged(values: Tensor, data: PointData, scalars: int, rows: Tensor | None) -> Tensor:
    """Numbers of the whole mesh in place of the last channels: means over the points of a sample.

    Args:
        values: ``[M, K]``, or ``[B, M, K]`` on a shared mesh.
        data: The samples.
        scalars: How many channels, the last ones, belong to the mesh as a whole.
        rows: Numbers of the output points that the values are for; ``None`` for all.
    """
    fields, numbers = values[..., :-scalars], values[..., -scalars:]
    return torch.cat([fields, means(numbers, data, rows).expand_as(numbers)], -1)


def known(prediction: Tensor, data: PointData, rows: Tensor | None = None) -> Tensor:
    """Zeros, like the targets have them, where a target does not belong to an output point (one of ``rows``)."""
    mask = data.get("y_mask")
    if mask is None:
        return prediction
    return torch.where(mask if rows is None else mask.index_select(-2, rows), prediction, 0.0)


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
