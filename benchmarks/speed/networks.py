"""The paper's networks, and random data of the sizes of the benchmarks, for timing."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Batch

from pitgeo.data import PointData
from pitgeo.datasets.benchmark import grid_positions
from pitgeo.models.registry import DataSpec, LatentOptions, PiTOptions
from pitgeo.nn import LengthScale, PiT


@dataclass(frozen=True)
class Network:
    """A network of the paper on data of a benchmark's size.

    Args:
        title: Description of network and data.
        options: Options of the model.
        batch: Samples of a step.
        values: Input values of a point, besides its coordinates.
        place: From a random generator to the positions ``[N, 2]`` of one sample.
        shared: Whether all samples lie on one mesh.
        grid: Points along the axes, if the points form a grid.
        largest: Spread the lambda of every layer's heads from 1 to this, instead of drawing them at random.
    """

    title: str
    options: PiTOptions
    batch: int
    values: int
    place: Callable[[torch.Generator], Tensor]
    shared: bool = False
    grid: tuple[int, ...] | None = None
    largest: float | None = None

    def positions(self, seed: int) -> Tensor:
        """Positions of all samples, ``[B, N, 2]``, or ``[N, 2]`` on a shared mesh."""
        generator = torch.Generator().manual_seed(seed)
        if self.shared:
            return self.place(generator)
        return torch.stack([self.place(generator) for _ in range(self.batch)])

    def model(self, points: int) -> PiT:
        """The network, with random length scales or those of ``largest``."""
        model = self.options.build(DataSpec(2 + self.values, 1, 2, 1 / math.sqrt(points), 1.0))
        assert isinstance(model, PiT)
        if self.largest is not None:
            for layer in model.modules():
                if isinstance(layer, LengthScale):  # of the form "square"
                    layer.raw.data.copy_(torch.linspace(1, math.sqrt(self.largest), len(layer.raw)))
        return model

    def data(self, pos: Tensor, x: Tensor) -> PointData:
        """A batch with its graphs, which are built once for each sample, as in training."""
        transform = self.options.transform()
        if self.shared:
            return transform(PointData(pos=pos, x=x, grid=self.grid))
        samples = [transform(PointData(pos=p, x=v, grid=self.grid)) for p, v in zip(pos, x, strict=True)]
        batch: PointData = Batch.from_data_list(samples)
        return batch


def scattered(points: int) -> Callable[[torch.Generator], Tensor]:
    """Random points in the unit square."""
    return lambda generator: torch.rand(points, 2, generator=generator)


def regular(size: int) -> Callable[[torch.Generator], Tensor]:
    """A grid of ``size`` points a side, ends included."""
    axis = np.linspace(0, 1, size)
    return lambda generator: torch.from_numpy(grid_positions(axis, axis)).float()


def lattice(points: int) -> Callable[[torch.Generator], Tensor]:
    """Random points near a grid, about this many, numbered along its rows: near points have near numbers."""
    size = round(math.sqrt(points))

    def place(generator: torch.Generator) -> Tensor:
        number = torch.arange(size * size)
        grid = torch.stack([number // size, number % size], 1)
        return (grid + torch.rand(size * size, 2, generator=generator)) / size

    return place


def c_mesh(around: int = 221, outward: int = 51) -> Callable[[torch.Generator], Tensor]:
    """A mesh around an ellipse of random thickness, by default as large as NACA's; spacing grows away from the wall."""

    def place(generator: torch.Generator) -> Tensor:
        thickness = 0.05 + 0.1 * float(torch.rand(1, generator=generator))
        angle = torch.linspace(0, 2 * math.pi, around + 1)[:-1].unsqueeze(1)
        reach = torch.logspace(-3, 1, outward).unsqueeze(0)
        x, y = (0.5 + reach) * angle.cos(), (thickness + reach) * angle.sin()
        return torch.stack([x, y], -1).flatten(0, 1)

    return place


def elasticity(channels: int, heads: int, batch: int = 10, points: int = 972, largest: float | None = None) -> Network:
    """The paper's Elasticity network: encoder and decoder are blocks on the input points."""
    options = PiTOptions(
        channels=channels, heads=heads, body="paper", encoder="block", decoder="block", encoder_quantile=0.02,
        decoder_quantile=0.02, lengths="random", divisor=2.0, latent=LatentOptions(method="input"),
    )  # fmt: skip
    title = f"Elasticity: {points} points, d = {channels}, {heads} heads, batch {batch}"
    title += "" if largest is None else f", lambda up to {largest:g}"
    return Network(title, options, batch, 42, scattered(points), largest=largest)


def darcy2d(size: int, batch: int = 8) -> Network:
    """The paper's Darcy2D network on a shared grid."""
    options = PiTOptions(
        channels=128, heads=2, body="paper", encoder_quantile=0.02, decoder_quantile=0.05, positivity="tan",
        lengths="random", divisor=2.0, latent=LatentOptions(method="regular", cells=(32, 32)),
    )  # fmt: skip
    title = f"Darcy2D: {size} x {size} points, 1,024 latent, d = 128, 2 heads, batch {batch}, shared mesh"
    return Network(title, options, batch, 1, regular(size), shared=True)


def naca(batch: int = 8) -> Network:
    """The paper's NACA network on a mesh for each sample."""
    options = PiTOptions(
        channels=256, heads=2, body="paper", encoder_quantile=0.005, decoder_quantile=0.02, positivity="tan",
        lengths="random", divisor=2.0, latent=LatentOptions(method="regular", cells=(111, 26)),
    )  # fmt: skip
    title = f"NACA: 11,271 points, 2,886 latent, d = 256, 2 heads, batch {batch}"
    return Network(title, options, batch, 2, c_mesh(), grid=(221, 51))


def growing(points: int) -> Network:
    """A network on any number of points, with a fixed number of latent points."""
    options = PiTOptions(
        channels=64, heads=2, body="paper", encoder_quantile=0.005, decoder_quantile=0.02, lengths="random",
        latent=LatentOptions(method="farthest", number=512),
    )  # fmt: skip
    return Network(f"{points:,} points, 512 latent, d = 64, 2 heads, batch 1", options, 1, 1, lattice(points))
