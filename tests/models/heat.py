"""The heat equation on random points: an operator that no pointwise network can learn."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch_geometric.data import Batch

from pitgeo.data import PointData

from .common import fit


def _waves(pos: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    number = 2 * torch.pi * torch.arange(1, 5)
    sine, cosine = torch.randn(2, 4, generator=generator)
    waves = (pos * number).sin() * sine + (pos * number).cos() * cosine
    return waves.sum(1, keepdim=True), (waves * torch.exp(-0.01 * number**2)).sum(1, keepdim=True)


def smoothed(count: int, seed: int, points: int = 100) -> list[PointData]:
    """Four waves of random size on random points of the unit interval, and what the heat equation makes of them."""
    generator = torch.Generator().manual_seed(seed)
    samples = []
    for _ in range(count):
        pos = torch.rand(points, 1, generator=generator)
        x, y = _waves(pos, generator)
        samples.append(PointData(pos=pos, x=x, y=y))
    return samples


def smoothed_on_a_shared_mesh(count: int, seed: int) -> PointData:
    """The same on one set of random points."""
    generator = torch.Generator().manual_seed(seed)
    pos = torch.rand(100, 1, generator=torch.Generator().manual_seed(0))
    x, y = zip(*[_waves(pos, generator) for _ in range(count)], strict=True)
    return PointData(pos=pos, x=torch.stack(x), y=torch.stack(y))


def heat_error(
    model: nn.Module, transform: Callable[[PointData], PointData], steps: int, learning_rate: float = 0.02
) -> tuple[float, float]:
    """Train a model; its relative error on new samples, and that of the best multiple of the values themselves."""
    data = [transform(one) for one in smoothed(160, seed=0)]
    batches = [Batch.from_data_list(data[first : first + 16]) for first in range(0, 160, 16)]
    test = Batch.from_data_list([transform(one) for one in smoothed(50, seed=1)])
    return error_after_training(model, batches, test, steps, learning_rate)


def error_after_training(
    model: nn.Module, batches: list[PointData], test: PointData, steps: int, learning_rate: float = 0.02
) -> tuple[float, float]:
    """The same on these batches."""
    optimizer = torch.optim.Adam(model.parameters(), learning_rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    fit(model, itertools.islice(itertools.cycle(batches), steps), optimizer, schedule)
    with torch.no_grad():
        error = float((model(test) - test.y).norm() / test.y.norm())
    x, y = test.x.reshape(-1, 1), test.y.reshape(-1, 1)
    best = x @ torch.linalg.lstsq(x, y).solution
    return error, float((best - y).norm() / y.norm())
