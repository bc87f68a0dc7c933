"""Transolver: a transformer whose points attend to each other through slices."""

from __future__ import annotations

from typing import cast

import torch
from pydantic import model_validator
from torch import Tensor, nn

from pitgeo.data import PointData
from pitgeo.models.dense_points import DensePoints
from pitgeo.models.model_options import Count, DataSpec, ModelOptions
from pitgeo.models.slice_attention import SliceAttention
from pitgeo.nn.blocks import from_positions, mlp
from pitgeo.nn.checks import check_counts, check_lengths


class Transolver(nn.Module):
    r"""Transolver, from coordinates and values at points to values at the same points.

    .. math::
        U &= \operatorname{MLP}(p, x), \\
        U &\leftarrow U + \operatorname{SliceAttention}(\operatorname{LN}(U)), \qquad
        U \leftarrow U + \operatorname{MLP}(\operatorname{LN}(U)), \\
        y &= \operatorname{Linear}(\operatorname{LN}(U))

    The order of the points does not matter, and samples may have different numbers of points.

    Wu et al. have 8 layers of 128 channels (256 on Navier-Stokes) in 8 heads, with 64 slices (32 on Navier-Stokes), and
    MLPs as wide as the values. With these sizes, on Elasticity without radii, this network has 713,537 parameters; the
    authors' has 128 more, for a constant after the first MLP that duplicates its last bias. Left out: convolutions in
    the attention on regular grids, distances to a reference grid as inputs, and embeddings of time. Initial weights are
    PyTorch's defaults, not small numbers as in the authors' code.

    Args:
        in_channels: Coordinates and values of a point together.
        out_channels: Values of a point of the result.
        channels: Size of the hidden values, divisible by ``heads``.
        heads: Heads of the attention.
        layers: Number of blocks.
        slices: Slices of each head.
        expansion: Width of the MLP in a block, in multiples of ``channels``.
        extent: Size of the meshes; coordinates are divided by it.

    Shapes:
        - **data.pos** ``[N, D]``, **data.x** ``[N, in_channels - D]``; **output** ``[N, out_channels]``;
          **data.x** and **output** with ``B`` before these, for samples on one shared mesh.

    Raises:
        ValueError: If an option is out of range; if the data has other channels, or output points that are not the
            input points.

    Example:
        >>> model = Transolver(in_channels=5, out_channels=1, channels=16, heads=2)
        >>> model(PointData(pos=torch.rand(80, 2), x=torch.rand(80, 3))).shape
        torch.Size([80, 1])

    Reference:
        Wu et al., Transolver: A fast transformer solver for PDEs on general geometries, ICML 2024, section 3.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        channels: int = 64,
        heads: int = 4,
        layers: int = 4,
        slices: int = 32,
        expansion: int = 1,
        extent: float = 1.0,
    ) -> None:
        super().__init__()
        check_counts(layers=layers, expansion=expansion)
        check_lengths(extent=extent)
        self.in_channels = in_channels
        self.extent = extent
        self.lift = mlp(in_channels, 2 * channels, channels)
        self.blocks = nn.ModuleList(_Block(channels, heads, slices, expansion) for _ in range(layers))
        self.head = nn.Sequential(nn.LayerNorm(channels), nn.Linear(channels, out_channels))

    def forward(self, data: PointData) -> Tensor:
        """Values at the points."""
        points = DensePoints.of(data, self.in_channels, self)
        points.require_coincide("a Transolver")
        hidden = from_positions(self.lift, torch.cat([points.pos / self.extent, points.x], -1))
        for block in self.blocks:
            hidden = block(hidden, points.mask)
        return points.rows(self.head(hidden))


class _Block(nn.Module):
    """Attention and an MLP, each with a layer norm before it and a skip connection."""

    def __init__(self, channels: int, heads: int, slices: int, expansion: int) -> None:
        super().__init__()
        self.before = nn.LayerNorm(channels)
        self.attention = SliceAttention(channels, heads, slices)
        self.between = nn.LayerNorm(channels)
        self.mlp = mlp(channels, expansion * channels, channels)

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        x = x + self.attention(self.before(x), mask)
        return x + cast(Tensor, self.mlp(self.between(x)))


class TransolverOptions(ModelOptions):
    """Options of ``model.name = "transolver"``, see :class:`Transolver`.

    Example:
        >>> from pitgeo.config.config import parse_config
        >>> tables = {"data": {"name": "elasticity"}, "model": {"name": "transolver", "transolver": {"layers": 2}}}
        >>> parse_config(tables).model.options.layers
        2
    """

    channels: Count = 64
    heads: Count = 4
    layers: Count = 4
    slices: Count = 32
    expansion: Count = 1

    @model_validator(mode="after")
    def _check(self) -> TransolverOptions:
        if self.channels % self.heads:
            raise ValueError(f"Expected 'heads' to divide 'channels' = {self.channels} (got {self.heads})")
        return self

    def build(self, spec: DataSpec) -> nn.Module:
        """A new model."""
        return Transolver(spec.in_channels, spec.out_channels, extent=spec.extent, **self.model_dump())
