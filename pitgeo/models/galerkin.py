"""The Galerkin Transformer: attention as a Petrov-Galerkin projection, without softmax, in linear time."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn

from pitgeo.data import PointData
from pitgeo.models.dense_points import DensePoints
from pitgeo.models.linear_attention import LinearAttention, LinearAttentionOptions
from pitgeo.models.model_options import Count, DataSpec
from pitgeo.nn.checks import check_counts, check_lengths


class GalerkinTransformer(nn.Module):
    r"""The Galerkin Transformer, an operator from values to values on the same points.

    .. math::
        U &= \operatorname{Linear}(p, x), \\
        U &\leftarrow U + \operatorname{Att}(U, p), \qquad
        \operatorname{Att}: \; z^h = \frac{1}{N} Q \, (\tilde{K}^T \tilde{V}), \\
        U &\leftarrow U + \operatorname{Linear}(\operatorname{ReLU}(\operatorname{Linear}(U))), \\
        y &= \operatorname{MLP}(U, p)

    with layer norms of the keys and values of each head and no others (the paper's scale-preserving layer), coordinates
    before the channels of the queries, keys and values of every head, and initial :math:`W_Q, W_K, W_V` that are a
    small multiple of the identity plus noise.

    Simplified: the decoder is the pointwise one of the paper. Its spectral decoder, and its convolutions between fine
    and coarse grids, need a regular grid; the 2.22 million parameters for Darcy2D in the paper include them. There is
    no dropout. Sizes in the authors' code: width 96, 1 head and 4 layers for Burgers; 192, 4 and 6 for the inverse
    Darcy problem, which has the pointwise decoder.

    Args:
        in_channels: Coordinates and values of a point together.
        out_channels: Values of a point of the result.
        dimension: Axes of the positions.
        width: Encoding dimension.
        heads: Number of heads; divides ``width``.
        layers: Number of attention layers.
        extent: Size of the meshes; the network sees positions divided by it.

    Shapes:
        - **data.pos** ``[N, D]``, **data.x** ``[N, in_channels - D]``; **output** ``[N, out_channels]``;
          **data.x** and **output** with ``B`` before these, for samples on one shared mesh.

    Raises:
        ValueError: If an option is out of range, or the data has other channels, or output points that are not the
            input points.

    Example:
        >>> data = PointData(pos=torch.rand(80, 2), x=torch.rand(80, 3))
        >>> GalerkinTransformer(in_channels=5, out_channels=1, dimension=2)(data).shape
        torch.Size([80, 1])

    Reference:
        Cao, "Choose a Transformer: Fourier or Galerkin", NeurIPS 2021, section 3: Galerkin-type attention and the
        scale-preserving layer.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        dimension: int,
        width: int = 64,
        heads: int = 4,
        layers: int = 4,
        extent: float = 1.0,
    ) -> None:
        super().__init__()
        check_counts(width=width, layers=layers)
        check_lengths(extent=extent)
        self.in_channels, self.extent = in_channels, extent
        self.lift = nn.Linear(in_channels, width)
        self.blocks = nn.ModuleList(_Block(width, heads, dimension) for _ in range(layers))
        self.near = nn.Linear(width + dimension, width)
        self.head = nn.Sequential(
            nn.Linear(width, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, out_channels)
        )

    def forward(self, data: PointData) -> Tensor:
        """Values at the points."""
        points = DensePoints.of(data, self.in_channels, self)
        points.require_coincide("a Galerkin Transformer")
        pos = points.pos / self.extent
        with torch.autocast(pos.device.type, enabled=False):  # positions are among the inputs
            hidden = self.lift(torch.cat([pos, points.x], -1))
        for block in self.blocks:
            hidden = block(hidden, pos, points.mask)
        with torch.autocast(pos.device.type, enabled=False):
            hidden = self.near(torch.cat([hidden.to(pos.dtype), pos], -1))
        return points.rows(cast(Tensor, self.head(hidden)))


class _Block(nn.Module):
    """Attention and a feed-forward network, each added to its input."""

    def __init__(self, width: int, heads: int, dimension: int) -> None:
        super().__init__()
        self.attention = LinearAttention(width, heads, "layer", "concatenated", dimension, diagonal=0.01)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.ReLU(), nn.Linear(2 * width, width))

    def forward(self, x: Tensor, pos: Tensor, mask: Tensor | None) -> Tensor:
        x = x + cast(Tensor, self.attention(x, x, mask, pos, pos))
        return x + cast(Tensor, self.mlp(x))


class GalerkinOptions(LinearAttentionOptions):
    """Options of ``model.name = "galerkin"``, see :class:`GalerkinTransformer`.

    Example:
        >>> from pitgeo.config.config import parse_config
        >>> tables = {"data": {"name": "elasticity"}, "model": {"name": "galerkin", "galerkin": {"layers": 2}}}
        >>> parse_config(tables).model.options.layers
        2
    """

    layers: Count = 4

    def build(self, spec: DataSpec) -> nn.Module:
        """A new model."""
        return GalerkinTransformer(
            spec.in_channels, spec.out_channels, spec.dimension, extent=spec.extent, **self.model_dump()
        )
