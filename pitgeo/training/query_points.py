"""Some of the output points of every sample, drawn anew in every step of a training on big meshes."""

from __future__ import annotations

import torch
from torch import Tensor

from pitgeo.data import PointData


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
