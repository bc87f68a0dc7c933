"""OFormer: linear attention with rotary positions, and a decoder for output points anywhere."""

from __future__ import annotations

import math
from typing import Annotated, cast

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn.functional import gelu

from pitgeo.data import PointData
from pitgeo.models.dense_points import DensePoints, query_points
from pitgeo.models.linear_attention import LinearAttention, SourceSums, rotary_angles
from pitgeo.models.model_options import Count, DataSpec, ModelOptions
from pitgeo.nn.blocks import from_positions
from pitgeo.nn.checks import check_counts, check_lengths
from pitgeo.nn.local_decoder import LocalDecoder, Rows


class OFormer(LocalDecoder):
    r"""OFormer, an operator from values on the input points to values on any output points.

    .. math::
        \text{encoder:} \quad U &= \operatorname{Linear}(p, x), \\
        U &\leftarrow U' + \operatorname{Att}(U', U'), \qquad U' = \operatorname{LN}(U), \\
        U &\leftarrow U' + \operatorname{FFN}(U'), \qquad U' = \operatorname{LN}(U), \\
        \text{decoder:} \quad Z &= \operatorname{MLP}(\sin 2 \pi B p', \cos 2 \pi B p'), \\
        Z &\leftarrow Z + \operatorname{Att}(Z, \operatorname{Linear}(U)), \qquad
        Z \leftarrow Z + \operatorname{FFN}(Z), \\
        y &= \operatorname{MLP}(Z, p')

    with :math:`\operatorname{Att}(q, s) = \frac{1}{N} Q (\tilde{K}^T \tilde{V})`, instance norms of keys and values,
    queries and keys rotated by their positions, and heads as wide as the encoding; :math:`B` is random and fixed; the
    FFN has a GELU gated by a second half of the channels (GEGLU), and a linear layer.

    Simplified: all layers rotate by the same angles, the fastest by one radian over the spacing of the points (in the
    authors' code, the first layers have faster ones); there is no dropout and no latent time stepping; initial matrices
    have Xavier's distribution, an option of their code, not the orthogonal one. Sizes of their code for Darcy2D: width
    96, decoder width 256, 4 heads, 6 layers, frequency 0.5: here 2,556,321 parameters, in the paper 2.51 million.

    Args:
        in_channels: Coordinates and values of an input point together.
        out_channels: Values of an output point.
        dimension: Axes of the positions.
        width: Encoding dimension, and size of a head.
        decoder_width: Encoding dimension of the decoder.
        heads: Number of heads.
        layers: Number of attention layers of the encoder.
        frequency: Standard deviation of the random frequencies of the decoder, in waves over the extent.
        spacing: Distance between neighbouring input points.
        extent: Size of the meshes; the network sees positions divided by it.

    Shapes:
        - **data.pos** ``[N, D]``, **data.x** ``[N, in_channels - D]``, **data.pos_out** ``[M, D]``;
          **output** ``[M, out_channels]``; **data.x** and **output** with ``B`` before these, for samples on one
          shared mesh.

    Raises:
        ValueError: If an option is out of range, a width has fewer than two channels for each axis, or the data has
            other channels.

    Example:
        >>> data = PointData(pos=torch.rand(80, 2), x=torch.rand(80, 3), pos_out=torch.rand(7, 2))
        >>> OFormer(in_channels=5, out_channels=1, dimension=2)(data).shape
        torch.Size([7, 1])

    Reference:
        Li, Meidani and Farimani, "Transformer for Partial Differential Equations' Operator Learning", TMLR 2023,
        section 3.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        dimension: int,
        width: int = 64,
        decoder_width: int = 64,
        heads: int = 2,
        layers: int = 4,
        frequency: float = 1.0,
        spacing: float = 0.02,
        extent: float = 1.0,
    ) -> None:
        super().__init__()
        check_counts(layers=layers)
        for name, size in (("width", width), ("decoder_width", decoder_width)):
            if size < 2 * dimension or size % 2:
                raise ValueError(f"Expected '{name}' to be even and at least {2 * dimension}, two an axis (got {size})")
        check_lengths(frequency=frequency, spacing=spacing, extent=extent)
        self.in_channels, self.spacing, self.extent = in_channels, spacing, extent
        self.width, self.decoder_width = width, decoder_width
        self.lift = nn.Linear(in_channels, width, bias=False)
        self.blocks = nn.ModuleList(_Block(width, heads) for _ in range(layers))
        self.bridge = nn.Linear(width, decoder_width, bias=False)
        self.waves: Tensor
        self.register_buffer("waves", frequency * torch.randn(dimension, decoder_width // 2))
        self.queries = nn.Sequential(
            nn.Linear(decoder_width, decoder_width, bias=False),
            nn.GELU(),
            nn.Linear(decoder_width, decoder_width, bias=False),
        )
        self.attention = _attention(decoder_width, heads)
        self.mlp = _GatedMLP(decoder_width)
        self.head = nn.Sequential(
            nn.Linear(decoder_width + dimension, decoder_width, bias=False),
            nn.GELU(),
            nn.Linear(decoder_width, decoder_width // 2, bias=False),
            nn.GELU(),
            nn.Linear(decoder_width // 2, out_channels),
        )

    def encode(self, data: PointData) -> SourceSums:
        """The sums over the input points that the attention of the decoder reads."""
        points = DensePoints.of(data, self.in_channels, self)
        with torch.autocast(points.pos.device.type, enabled=False):  # positions are among the inputs
            hidden = self.lift(torch.cat([points.pos / self.extent, points.x], -1))
        angles = rotary_angles(points.pos, self.width, self.spacing)
        for block in self.blocks:
            hidden = block(hidden, angles, points.mask)
        angles = rotary_angles(points.pos, self.decoder_width, self.spacing)
        return self.attention.sums(self.bridge(hidden), points.mask, angles)

    def decode(self, data: PointData, code: SourceSums, rows: Rows = None) -> Tensor:
        """Values at some of the output points."""
        place, layout = query_points(data, rows)
        pos = place / self.extent
        with torch.autocast(pos.device.type, enabled=False):
            waves = 2 * math.pi * pos @ self.waves.to(pos.dtype)
            encoded = torch.cat([waves.sin(), waves.cos()], -1)
        query = from_positions(self.queries, encoded)
        query = query + self.attention.read(query, code, rotary_angles(place, self.decoder_width, self.spacing))
        query = query + self.mlp(query)
        pos = pos.expand(len(query), -1, -1)
        values = from_positions(self.head, torch.cat([query.to(pos.dtype), pos], -1))
        return values if layout is None else layout.flat(values)


class _Block(nn.Module):
    """Attention and a feed-forward network, each added to the layer norm of its input, as in the authors' code."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = _attention(width, heads)
        self.mlp = _GatedMLP(width)

    def forward(self, x: Tensor, angles: Tensor, mask: Tensor | None) -> Tensor:
        x = self.before(x)
        x = self.between(x + cast(Tensor, self.attention(x, x, mask, angles, angles)))
        return x + cast(Tensor, self.mlp(x))


class _GatedMLP(nn.Module):
    """Linear, GELU of one half times the other, linear."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(width, 2 * width), nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        inner, gate = cast(Tensor, self.first(x)).chunk(2, -1)
        return cast(Tensor, self.second(gelu(inner) * gate))


def _attention(width: int, heads: int) -> LinearAttention:
    return LinearAttention(width, heads, "instance", "rotated", head_channels=width, diagonal=1 / width)


class OFormerOptions(ModelOptions):
    """Options of ``model.name = "oformer"``, see :class:`OFormer`.

    Example:
        >>> from pitgeo.config.config import parse_config
        >>> tables = {"data": {"name": "elasticity"}, "model": {"name": "oformer", "oformer": {"layers": 2}}}
        >>> parse_config(tables).model.options.layers
        2
    """

    width: Count = 64
    decoder_width: Count = 64
    heads: Count = 2
    layers: Count = 4
    frequency: Annotated[float, Field(gt=0)] = 1.0

    def build(self, spec: DataSpec) -> nn.Module:
        """A new model."""
        spacing = spec.spacing or spec.extent / 100  # it is 0 where all points of most meshes coincide
        shape = spec.in_channels, spec.out_channels, spec.dimension
        return OFormer(*shape, spacing=spacing, extent=spec.extent, **self.model_dump())
