"""The heat equation on random points: an operator that no pointwise network can learn."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn
from torch_geometric.data import Batch

from pitgeo.data import PointData


def smoothed(count: int, seed: int, points: int = 100) -> list[PointData]:
    """Four waves of random size on random points of the unit interval, and what the heat equation makes of them."""
    generator = torch.Generator().manual_seed(seed)
    number = 2 * torch.pi * torch.arange(1, 5)
    samples = []
    for _ in range(count):
        pos, sine, cosine = torch.rand(points, 1, generator=generator), *torch.randn(2, 4, generator=generator)
        waves = (pos * number).sin() * sine + (pos * number).cos() * cosine
        share = torch.exp(-0.01 * number**2)
        samples.append(PointData(pos=pos, x=waves.sum(1, keepdim=True), y=(waves * share).sum(1, keepdim=True)))
    return samples


def heat_error(
    model: nn.Module, transform: Callable[[PointData], PointData], steps: int, learning_rate: float = 0.02
) -> tuple[float, float]:
    """Train a model; its relative error on new samples, and that of the best multiple of the values themselves."""
    data = [transform(one) for one in smoothed(160, seed=0)]
    batches = [Batch.from_data_list(data[first : first + 16]) for first in range(0, 160, 16)]
    optimizer = torch.optim.Adam(model.parameters(), learning_rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    for step in range(steps):
        batch = batches[step % 10]
        loss = (model(batch) - batch.y).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    test = Batch.from_data_list([transform(one) for one in smoothed(50, seed=1)])
    with torch.no_grad():
        error = float((model(test) - test.y).norm() / test.y.norm())
    best = test.x @ torch.linalg.lstsq(test.x, test.y).solution
    return error, float((best - test.y).norm() / test.y.norm())
