"""Latent points from many points: farthest point sampling, cell means and regular grids."""

from __future__ import annotations

import functools
import importlib
import logging
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pitgeo.graphs.boxes import Boxes, squared_to_boxes
from pitgeo.graphs.checks import check_positions
from pitgeo.graphs.metric import Metric

__all__ = ["farthest_points", "grid_points", "regular_points"]

log = logging.getLogger(__name__)

MANY = 20_000
"""Number of points from which the CPU samples them box by box: the same points, many times faster."""

_BOXES, _SMALLEST_BOX = 1024, 32


def farthest_points(pos: Tensor, number: int, metric: Metric | None = None) -> Tensor:
    """Farthest point sampling: the numbers of the chosen points, ``[number]``, int64.

    The first is the point farthest from the centre of gravity, the lowest number among equals. Each next one is the
    point farthest from all chosen so far. The result is the same in every run. Once only duplicates of chosen points
    are left, points not yet chosen fill up in order.

    Args:
        pos: Positions ``[N, D]``.
        number: How many points to choose, from 1 to N.
        metric: Periods of the domain.

    Raises:
        ValueError: If positions are not finite ``[N, D]``, or ``number`` is not in 1..N.

    Example:
        >>> farthest_points(torch.tensor([[0.0], [1.0], [2.0], [10.0]]), 2).tolist()
        [3, 0]
    """
    check_positions("pos", pos)
    if not 1 <= number <= len(pos):
        raise ValueError(f"Expected the number of points to lie in 1..{len(pos)}, the size of the mesh (got {number})")
    metric = metric or Metric()
    points = pos.detach().double()
    start = int((points - points.mean(0)).square_().sum(1).argmax())
    if metric.is_periodic:
        chosen = _farthest_by_metric(points, start, number, metric)
    else:
        order = torch.arange(len(points), device=points.device)
        order[0], order[start] = start, 0  # sampling starts from the first
        swapped = torch.tensor([0, start], device=points.device)
        points = points.index_copy(0, swapped, points[swapped.flip(0)])
        sample = _farthest_one_by_one
        if points.device.type == "cpu":
            sample = _farthest_in_boxes if len(points) >= MANY else _farthest_in_numpy
        chosen = order[sample(points, number)]
    taken = torch.zeros(len(points), dtype=torch.bool, device=points.device)
    taken[chosen] = True
    missing = number - int(taken.sum())
    if not missing:
        return chosen
    log.info("%d of %d latent points repeat others, since the mesh has duplicated points", missing, number)
    rest = (~taken).nonzero()[:missing, 0]
    distinct = list(dict.fromkeys(chosen.tolist()))  # in the order they were chosen
    return torch.cat([torch.tensor(distinct, device=chosen.device), rest])


def _farthest_by_metric(points: Tensor, start: int, number: int, metric: Metric) -> Tensor:
    chosen = [start]
    nearest = metric.squared_distance(points, points[start])
    for _ in range(number - 1):
        chosen.append(int(nearest.argmax()))
        nearest = torch.minimum(nearest, metric.squared_distance(points, points[chosen[-1]]))
    return torch.tensor(chosen, device=points.device)


def _farthest_one_by_one(points: Tensor, number: int) -> Tensor:
    """Sampling that starts from the first point; on a GPU by torch-cluster where it is installed."""
    cluster = torch_cluster() if points.is_cuda else None
    if cluster is not None:
        ratio = (number - 0.5) / len(points)  # it takes ceil(ratio * N)
        sampled: Tensor = cluster.fps(points, ratio=ratio, random_start=False)
        return sampled[:number]
    axes = points.t().contiguous()
    chosen = torch.zeros(number, dtype=torch.long, device=points.device)
    nearest = torch.full_like(axes[0], torch.inf)
    for place in range(1, number):
        squared_distance = torch.zeros_like(nearest)
        for axis, last in zip(axes, axes[:, chosen[place - 1]], strict=True):
            squared_distance += (axis - last).square_()
        nearest = torch.minimum(nearest, squared_distance)
        chosen[place] = nearest.argmax()
    return chosen


def _farthest_in_numpy(points: Tensor, number: int) -> Tensor:
    """The same points; for few of them, calls of torch take most of the time."""
    axes = np.ascontiguousarray(points.numpy().T)
    chosen = [0]
    nearest, difference = np.full(len(points), np.inf), np.empty_like(axes)
    for _ in range(number - 1):
        np.subtract(axes, axes[:, chosen[-1], None], out=difference)
        np.minimum(nearest, np.square(difference, out=difference).sum(0), out=nearest)
        chosen.append(int(nearest.argmax()))
    return torch.tensor(chosen)


@functools.cache
def torch_cluster() -> Any | None:
    """torch-cluster, if it is installed and fits this torch."""
    try:
        return importlib.import_module("torch_cluster")
    except (ImportError, OSError, RuntimeError):  # a broken one: built for another torch or CUDA
        return None


def _farthest_in_boxes(points: Tensor, number: int) -> Tensor:
    """The same points as :func:`_farthest_one_by_one`; boxes too far from a new point are skipped."""
    boxes = Boxes(points.numpy(), max(_SMALLEST_BOX, len(points) // _BOXES))
    inside = np.stack(boxes.axes, 1)
    nearest = np.full(boxes.number.shape, np.inf)
    nearest[boxes.number == boxes.total] = -1.0  # no point
    farthest = np.full(len(nearest), np.inf)
    chosen = [0]
    for _ in range(number - 1):
        last = points[chosen[-1]].numpy()
        near = (squared_to_boxes(last, last, boxes.low, boxes.high) < farthest).nonzero()[0]
        difference = inside.take(near, 0)
        difference -= last[:, None]
        squared_distance = np.square(difference, out=difference).sum(1)
        np.minimum(squared_distance, nearest.take(near, 0), out=squared_distance)
        nearest[near] = squared_distance
        farthest[near] = squared_distance.max(1)
        candidates = (farthest == farthest.max()).nonzero()[0]
        chosen.append(int(boxes.number[candidates, nearest[candidates].argmax(1)].min()))
    return torch.tensor(chosen)


def grid_points(pos: Tensor, cells: tuple[int, ...]) -> Tensor:
    """Mean positions of the points in each occupied cell of a regular grid over the bounding box, ``[L, D]``.

    It pools structured grids, and gives any other mesh a uniform latent mesh.

    Args:
        pos: Positions ``[N, D]``.
        cells: Number of cells along each axis.

    Raises:
        ValueError: If ``cells`` does not have one positive entry per axis.

    Example:
        >>> grid_points(torch.arange(4.0)[:, None], (2,))
        tensor([[0.5000],
                [2.5000]])
    """
    check_positions("pos", pos)
    if len(cells) != pos.shape[1] or min(cells) < 1:
        raise ValueError(f"Expected 'cells' to have one positive entry for each of {pos.shape[1]} axes (got {cells})")
    points = pos.detach().double()
    low, high = points.min(0).values, points.max(0).values
    shape = torch.tensor(cells, device=pos.device)
    scaled = (points - low) / torch.where(high > low, high - low, torch.ones_like(low)) * shape
    place = torch.minimum(scaled.floor().long(), shape - 1)
    key = place[:, 0]
    for axis in range(1, len(cells)):
        key = key * cells[axis] + place[:, axis]
    _, number = torch.unique(key, return_inverse=True)
    count = torch.bincount(number)
    total = points.new_zeros(len(count), points.shape[1]).index_add_(0, number, points)
    return (total / count[:, None]).to(pos.dtype)


def regular_points(pos: Tensor, numbers: tuple[int, ...], metric: Metric | None = None) -> Tensor:
    """A regular grid over the bounding box of the points, ends included, ``[L, D]`` in C order.

    Along a periodic axis, the grid divides the period, starting at the lowest coordinate.

    Args:
        pos: Positions ``[N, D]``.
        numbers: Points along each axis.
        metric: Periods of the domain.

    Raises:
        ValueError: If ``numbers`` does not have one positive entry per axis.

    Example:
        >>> regular_points(torch.tensor([[0.0], [0.3], [1.0]]), (3,)).flatten().tolist()
        [0.0, 0.5, 1.0]
    """
    check_positions("pos", pos)
    if len(numbers) != pos.shape[1] or min(numbers) < 1:
        raise ValueError(f"Expected one positive number of points for each of {pos.shape[1]} axes (got {numbers})")
    period = (metric or Metric()).period or (0.0,) * pos.shape[1]
    axes = []
    for axis, (number, length) in enumerate(zip(numbers, period, strict=True)):
        low, high = float(pos[:, axis].min()), float(pos[:, axis].max())
        if length:
            axes.append(low + length * torch.arange(number, dtype=torch.float64) / number)
        else:
            axes.append(torch.linspace(low, high, number, dtype=torch.float64))
    grid = torch.meshgrid(*axes, indexing="ij")
    return torch.stack([coordinate.flatten() for coordinate in grid], -1).to(pos)
