"""The Position-induced Transformer."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, cast

import torch
from torch import Tensor, nn

from pitgeo.data import PointData
from pitgeo.neighborhood import Neighborhood
from pitgeo.nn.blocks import PaperBlock, PaperLayer, ResidualBlock, mlp
from pitgeo.nn.dense import DenseLayout
from pitgeo.nn.global_attention import GlobalPositionAttention
from pitgeo.nn.length_scale import Positivity, length_table
from pitgeo.nn.position_attention import PositionAttention
from pitgeo.nn.self_attention import SelfAttention, SelfPositionAttention
from pitgeo.transforms.attention_graphs import AttentionGraphs

Attention = Literal["position", "self_position", "self"]
_ATTENTION = ("position", "self_position", "self")
_SLACK = 4  # degrees that an expansion in compiled code may have above what it needs


@dataclass(frozen=True)
class Body:
    """What the stages of a :class:`PiT` are made of.

    Args:
        style: ``"paper"``: the paper's layers and blocks; ``"residual"``: pre-norm residual blocks throughout, and a
            skip from the input points to the output points where the sample has no output points of its own. A model
            trained with that skip is less accurate where it is missing.
        layers: Blocks of the processor.
        encoder: ``"layer"``: attention and activation; ``"block"``: a whole block (one point set only). For the
            paper's style.
        decoder: The same for the decoder.
        attention: The attention of encoder, processor and decoder. Others than ``"position"`` are global, and in
            encoder or decoder need latent, input and output points to be the same.
        positivity: How the length scales are kept positive.
        lengths: Point spacing and size of the domain, between which length scales start; ``None``: drawn at random,
            as in the authors' later code.
        latent_spacing: Spacing of the latent points, where the processor's length scales start; ``None``: that of the
            input points.

    Raises:
        ValueError: If an option is not one of those named.
    """

    style: Literal["paper", "residual"] = "paper"
    layers: int = 4
    encoder: Literal["layer", "block"] = "layer"
    decoder: Literal["layer", "block"] = "layer"
    attention: tuple[Attention, Attention, Attention] = ("position", "position", "position")
    positivity: Positivity = "square"
    lengths: tuple[float, float] | None = None
    latent_spacing: float | None = None

    def __post_init__(self) -> None:
        for name, value, allowed in (
            ("style", self.style, ("paper", "residual")),
            ("encoder", self.encoder, ("layer", "block")),
            ("decoder", self.decoder, ("layer", "block")),
            *(("attention", kind, _ATTENTION) for kind in self.attention),
        ):
            if value not in allowed:
                raise ValueError(f"Expected '{name}' to be one of {allowed} (got {value!r})")
        if self.layers < 1:
            raise ValueError(f"Expected 'layers' to be at least 1 (got {self.layers})")


class PiT(nn.Module):
    r"""An operator from values on input points to values on output points, by way of a latent mesh.

    .. math::
        \text{Encoder} &= \sigma \circ \operatorname{LocPosAtt} \circ \, \sigma \circ \operatorname{Linear} \\
        \text{Processor} &= L \times \left[ h = \sigma(\operatorname{PosAtt}(U)), \;
            U \leftarrow \sigma(\operatorname{MLP}(h) + \operatorname{Linear}(U)) \right] \\
        \text{Decoder} &= \operatorname{MLP} \circ \, \sigma \circ \operatorname{LocPosAtt}

    with :math:`\sigma` the GELU. Input channels are the coordinates of a point, then its values. Graphs that the data
    does not carry are built on the way, so any output points can be asked for.

    Args:
        in_channels: Coordinates and values of an input point together.
        out_channels: Values of an output point.
        channels: Encoding dimension; divisible by ``heads``.
        heads: Heads of every attention layer.
        graphs: Quantiles of encoder and decoder, and the metric; a quantile for ``output`` adds one block of local
            attention among the output points, as in the paper's InviscidBurgers and ShockTube.
        body: What the stages are made of.

    Shapes:
        - **data.pos** ``[N, D]``, **data.x** ``[N, in_channels - D]``; ``[B, N, in_channels - D]`` for samples on one
          shared mesh, whose weights are then computed once.
        - **output** ``[M, out_channels]`` (or ``[B, M, out_channels]``), in the order of the output points.

    Raises:
        ValueError: If the data has other channels, or the point sets do not suit the body.

    Example:
        >>> from pitgeo.transforms import LatentMesh
        >>> data = LatentMesh("farthest", number=20)(PointData(pos=torch.rand(80, 2), x=torch.rand(80, 3)))
        >>> PiT(in_channels=5, out_channels=1, channels=16, heads=2)(data).shape
        torch.Size([80, 1])

    Reference:
        Chen and Wu, ICML 2024, section 3.3 and table 9.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        channels: int = 64,
        heads: int = 2,
        graphs: AttentionGraphs | None = None,
        body: Body | None = None,
    ) -> None:
        super().__init__()
        graphs, body = graphs or AttentionGraphs(), body or Body()
        if channels % heads:
            raise ValueError(f"Expected 'heads' to divide the encoding dimension {channels} (got {heads})")
        for stage, kind in (("encoder", body.attention[0]), ("decoder", body.attention[2])):
            if kind == "position" and getattr(graphs, stage) is None:
                raise ValueError(f"Expected a quantile for the {stage}'s position-attention in 'graphs' (got None)")
        self.in_channels, self.out_channels = in_channels, out_channels
        self.body = body
        encoder, processor, decoder = body.attention
        self.graphs = AttentionGraphs(
            graphs.encoder if encoder == "position" else None,
            graphs.decoder if decoder == "position" else None,
            graphs.output if decoder == "position" else None,
            graphs.metric,
        )
        make = _Maker(channels, heads, graphs, body)
        if body.style == "paper":
            self.lift: nn.Module = nn.Sequential(nn.Linear(in_channels, channels), nn.GELU())
            self.head: nn.Module = mlp(channels, channels, out_channels)
        else:
            self.lift = mlp(in_channels, channels, channels)
            self.head = nn.Sequential(nn.LayerNorm(channels), mlp(channels, channels, out_channels))
        self.encoder = make.stage(body.encoder, encoder, graphs.encoder)
        self.processor = nn.ModuleList(make.stage("block", processor, None) for _ in range(body.layers))
        self.decoder = make.stage(body.decoder, decoder, graphs.decoder)
        self.output = None if graphs.output is None else make.stage("block", decoder, graphs.output)
        if body.style == "paper":
            self.apply(_he_normal)

    def forward(self, data: PointData) -> Tensor:
        """Values at the output points."""
        self._check(data)
        data = self.graphs(data)
        code = self._encode(data)
        there = data.points("output")[0]
        skip = code.hidden if data.coincide("latent", "output") else None
        if self.body.style == "residual":
            skip = code.lifted if data.coincide("input", "output") else None
        hood = self._graph(data, 2, "decoder")
        hidden = self._stage(self.decoder, 2, code.hidden, skip, code.where, hood, (code.latent, there))
        if self.output is not None:
            hood = self._graph(data, 2, "output")
            hidden = self._stage(self.output, 2, hidden, hidden, code.where, hood, (there, there))
        return cast(Tensor, self.head(hidden))

    def prepare(self, data: PointData) -> PointData:
        """A copy with all that numbers of points and values decide, which compiled code cannot.

        These are missing graphs, the layout of the latent points and, kept in the layers, the form that each head of
        global attention takes. Call it on every batch, on the device of the model, before a compiled model.

        Args:
            data: The sample or batch.

        Example:
            >>> model = PiT(in_channels=3, out_channels=1, channels=16, heads=2)
            >>> compiled = torch.compile(model, backend="eager", fullgraph=True)
            >>> compiled(model.prepare(PointData(pos=torch.rand(80, 2), x=torch.rand(80, 1)))).shape
            torch.Size([80, 1])
        """
        self._check(data)
        data = copy.copy(self.graphs(data))
        where = self._where(data)
        data.latent_layout = where.layout
        for layer in self.modules():
            if isinstance(layer, (GlobalPositionAttention, SelfPositionAttention)):
                layer.choose(where.pos, where.layout.mask, _SLACK)
        return data

    @property
    def has_local_decoder(self) -> bool:
        """Whether an output point's value depends on no other output point, so that they may be taken in parts."""
        return self.body.attention[2] == "position" and self.body.decoder == "layer" and self.output is None

    def in_chunks(self, data: PointData, size: int, graph: Callable[[slice], Neighborhood]) -> Tensor:
        """Values at the output points of one sample, at most so many points at a time: the same, in less memory.

        Args:
            data: The sample, with its encoder's graph.
            size: Points at a time.
            graph: The decoder's graph for some of the output points.

        Raises:
            ValueError: If output points depend on each other.
        """
        if not self.has_local_decoder:
            raise ValueError(
                "Expected a decoder in which output points do not depend on each other, to take them in parts"
            )
        self._check(data)
        code = self._encode(data)
        there = data.points("output")[0]
        has_skip = self.body.style == "residual" and data.coincide("input", "output")
        parts = []
        for start in range(0, len(there), size):
            rows = slice(start, start + size)
            skip = code.lifted[rows] if has_skip else None
            pos = (code.latent, there[rows])
            parts.append(self.head(self._stage(self.decoder, 2, code.hidden, skip, code.where, graph(rows), pos)))
        return torch.cat(parts)

    def _encode(self, data: PointData) -> _Code:
        """From the input points to the latent ones."""
        here, latent = (data.points(kind)[0] for kind in ("input", "latent"))
        coords = here if data.x.dim() == 2 else here.expand(data.x.shape[0], -1, -1)
        lifted = self.lift(torch.cat([coords, data.x], -1))

        where = self._where(data)
        skip = lifted if data.coincide("input", "latent") else None
        hood = self._graph(data, 0, "encoder")
        hidden = where.dense(self._stage(self.encoder, 0, lifted, skip, where, hood, (here, latent)))
        for block in self.processor:
            hidden = block(hidden, hidden, where.pos, where.layout.mask)
        return _Code(where.flat(hidden), lifted, latent, where)

    def _where(self, data: PointData) -> _Where:
        shared = data.x.dim() == 3
        latent, batch = data.points("latent")
        layout = data.get("latent_layout")
        if not isinstance(layout, DenseLayout):  # none, or those of samples that were batched since
            layout = DenseLayout.of(None if shared else batch, latent.shape[0], None if shared else data.samples)
        return _Where(latent if shared else layout.dense(latent), layout, shared)

    def _graph(self, data: PointData, place: int, graph: str) -> Neighborhood | None:
        return data.graph(graph) if self.body.attention[place] == "position" else None

    def length_scales(self) -> list[tuple[str, Tensor]]:
        r"""Name and length :math:`\sqrt{c / \lambda}` per head of every layer, in the positions' units."""
        return [(name.removesuffix(".attention"), lengths) for name, lengths in length_table(self)]

    def _stage(
        self,
        stage: nn.Module,
        place: int,
        x: Tensor,
        skip: Tensor | None,
        where: _Where,
        hood: Neighborhood | None,
        pos: tuple[Tensor, Tensor],
    ) -> Tensor:
        if self.body.attention[place] == "position":
            return cast(Tensor, stage(x, skip, pos, hood))
        dense_skip = None if skip is None else where.dense(skip)
        return where.flat(cast(Tensor, stage(where.dense(x), dense_skip, where.pos, where.layout.mask)))

    def _check(self, data: PointData) -> None:
        if data.input_dim != self.in_channels:
            raise ValueError(
                f"Expected {self.in_channels} input channels, coordinates and values together "
                f"(got {data.pos.shape[-1]} coordinates and {data.x.shape[-1]} values)"
            )
        dtype = next(self.parameters()).dtype
        if data.pos.dtype != dtype or data.x.dtype != dtype:
            raise ValueError(
                f"Expected positions and values of the model's type {dtype} (got {data.pos.dtype} and {data.x.dtype}); "
                f"convert the sample, as with .float(), or the model, as with .double()"
            )
        if self.body.attention[0] != "position" and not data.coincide("input", "latent"):
            raise ValueError("Expected no latent mesh with self-attention in the encoder (got one)")
        if self.body.attention[2] != "position" and not data.coincide("latent", "output"):
            raise ValueError("Expected the output points to be the latent ones with self-attention in the decoder")


@dataclass(frozen=True, eq=False)
class _Where:
    """The latent points as dense layers want them."""

    pos: Tensor
    layout: DenseLayout
    shared: bool

    def dense(self, x: Tensor) -> Tensor:
        return x if self.shared else self.layout.dense(x)

    def flat(self, x: Tensor) -> Tensor:
        return x if self.shared else self.layout.flat(x)


@dataclass(frozen=True, eq=False)
class _Code:
    """What the encoder and the processor make of a sample."""

    hidden: Tensor
    lifted: Tensor
    latent: Tensor
    where: _Where


@dataclass(frozen=True)
class _Maker:
    """Makes the stages of one body."""

    channels: int
    heads: int
    graphs: AttentionGraphs
    body: Body
    blocks: dict[str, Any] = field(default_factory=lambda: {"layer": PaperLayer, "block": PaperBlock})

    def stage(self, kind: str, attention: Attention, quantile: float | None) -> nn.Module:
        block = ResidualBlock if self.body.style == "residual" else self.blocks[kind]
        return cast(nn.Module, block(self.attention(attention, quantile), self.channels))

    def attention(self, kind: Attention, quantile: float | None) -> nn.Module:
        c, heads = self.channels, self.heads
        if kind == "self":
            return SelfAttention(c, c, heads)
        positivity, metric = self.body.positivity, self.graphs.metric
        if kind == "self_position":
            return SelfPositionAttention(c, c, heads, positivity, self.lengths(None), metric)
        if quantile is None:
            return GlobalPositionAttention(c, c, heads, positivity, self.lengths(None), metric)
        return PositionAttention(c, c, heads, positivity, self.lengths(quantile), metric)

    def lengths(self, quantile: float | None) -> tuple[float, float] | None:
        """Initial lengths: up to the size of the domain, or of the neighbourhood (as if in the plane)."""
        if self.body.lengths is None:
            return None
        low, high = self.body.lengths
        if quantile is None:
            low = self.body.latent_spacing or low
        return low, max(2 * low, high if quantile is None else high * math.sqrt(quantile))


def _he_normal(module: nn.Module) -> None:
    if isinstance(module, nn.Linear):
        nn.init.kaiming_normal_(module.weight)
        nn.init.zeros_(module.bias)
