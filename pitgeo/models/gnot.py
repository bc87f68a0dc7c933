"""GNOT: output points attend to the input function; experts are mixed by position."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn

from pitgeo.data import PointData
from pitgeo.models.dense_points import DensePoints
from pitgeo.models.experts import Experts, PositionGate
from pitgeo.models.linear_attention import LinearAttention, LinearAttentionOptions
from pitgeo.models.model_options import Count, DataSpec
from pitgeo.nn.blocks import from_positions, mlp
from pitgeo.nn.checks import check_counts, check_lengths


class GNOT(nn.Module):
    r"""The General Neural Operator Transformer, from values on the input points to values on any output points.

    .. math::
        U &= \operatorname{MLP}(p'), \qquad S = \operatorname{MLP}(p, x), \\
        U &\leftarrow U + \operatorname{Att}(\operatorname{LN}(U), \operatorname{LN}(S)), \\
        U &\leftarrow U + \operatorname{LN} \Big( \sum_e G_e(p') \, E_e(U) \Big), \\
        U &\leftarrow U + \operatorname{Att}(\operatorname{LN}(U), \operatorname{LN}(U)), \\
        U &\leftarrow U + \operatorname{LN} \Big( \sum_e G_e(p') \, E'_e(U) \Big), \\
        y &= \operatorname{MLP}(U)

    with :math:`p'` the output points, and normalised linear attention: queries and keys have a softmax over their
    channels, the sum is divided by the sum of the weights, and the query is added. Every block has its own gate
    :math:`G` and experts.

    The output points attend to each other, so the value at one of them depends on all others.

    Simplified: there is one input function, the values on the input points; parameters of a whole sample are channels
    of it, where the paper adds them to every query. MLPs at both ends have one hidden layer, and there is no dropout.
    By default, the authors' code has width 64, 2 blocks of 2 experts, and hidden layers 4 times as wide.

    Args:
        in_channels: Coordinates and values of an input point together.
        out_channels: Values of an output point.
        dimension: Axes of the positions.
        width: Encoding dimension.
        heads: Number of heads; divides ``width``.
        layers: Number of blocks, each with two attention layers and two mixtures.
        experts: Number of experts.
        expansion: Width of the hidden layers of experts and gate, in multiples of ``width``.
        extent: Size of the meshes; the network sees positions divided by it.

    Shapes:
        - **data.pos** ``[N, D]``, **data.x** ``[N, in_channels - D]``, **data.pos_out** ``[M, D]``;
          **output** ``[M, out_channels]``; **data.x** and **output** with ``B`` before these, for samples on one
          shared mesh.

    Raises:
        ValueError: If an option is out of range, or the data has other channels.

    Example:
        >>> data = PointData(pos=torch.rand(80, 2), x=torch.rand(80, 3), pos_out=torch.rand(7, 2))
        >>> GNOT(in_channels=5, out_channels=1, dimension=2)(data).shape
        torch.Size([7, 1])

    Reference:
        Hao et al., "GNOT: A General Neural Operator Transformer for Operator Learning", ICML 2023, section 3:
        heterogeneous normalised attention and geometric gating.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        dimension: int,
        width: int = 64,
        heads: int = 4,
        layers: int = 2,
        experts: int = 3,
        expansion: int = 2,
        extent: float = 1.0,
    ) -> None:
        super().__init__()
        check_counts(width=width, layers=layers, expansion=expansion)
        check_lengths(extent=extent)
        self.in_channels, self.extent = in_channels, extent
        self.queries = mlp(dimension, width, width)
        self.sources = mlp(in_channels, width, width)
        self.blocks = nn.ModuleList(_Block(width, heads, dimension, experts, expansion * width) for _ in range(layers))
        self.head = mlp(width, width, out_channels)

    def forward(self, data: PointData) -> Tensor:
        """Values at the output points."""
        points = DensePoints.of(data, self.in_channels, self)
        pos, pos_out = points.pos / self.extent, points.pos_out / self.extent
        sources = from_positions(self.sources, torch.cat([pos, points.x], -1))
        hidden = from_positions(self.queries, pos_out)
        for block in self.blocks:
            hidden = block(hidden, sources, pos_out, points.mask, points.mask_out)
        return points.rows(cast(Tensor, self.head(hidden)))


class _Block(nn.Module):
    """Attention to the input function and to the other output points, each followed by a mixture of experts."""

    def __init__(self, width: int, heads: int, dimension: int, experts: int, hidden: int) -> None:
        super().__init__()
        self.gate = PositionGate(dimension, hidden, experts)
        self.before_cross, self.before_self = nn.LayerNorm(width), nn.LayerNorm(width)
        self.of_sources = nn.LayerNorm(width)
        self.cross_attention = LinearAttention(width, heads, "softmax")
        self.self_attention = LinearAttention(width, heads, "softmax")
        self.first, self.second = Experts(width, hidden, experts), Experts(width, hidden, experts)
        self.after_first, self.after_second = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x: Tensor, sources: Tensor, pos: Tensor, mask: Tensor | None, mask_out: Tensor | None) -> Tensor:
        gates = self.gate(pos)
        x = x + cast(Tensor, self.cross_attention(self.before_cross(x), self.of_sources(sources), mask))
        x = x + cast(Tensor, self.after_first(self.first(x, gates)))
        normal = self.before_self(x)
        x = x + cast(Tensor, self.self_attention(normal, normal, mask_out))
        return x + cast(Tensor, self.after_second(self.second(x, gates)))


class GNOTOptions(LinearAttentionOptions):
    """Options of ``model.name = "gnot"``, see :class:`GNOT`.

    Example:
        >>> from pitgeo.config.config import parse_config
        >>> tables = {"data": {"name": "elasticity"}, "model": {"name": "gnot", "gnot": {"layers": 2}}}
        >>> parse_config(tables).model.options.layers
        2
    """

    layers: Count = 2
    experts: Count = 3
    expansion: Count = 2

    def build(self, spec: DataSpec) -> nn.Module:
        """A new model."""
        return GNOT(spec.in_channels, spec.out_channels, spec.dimension, extent=spec.extent, **self.model_dump())
