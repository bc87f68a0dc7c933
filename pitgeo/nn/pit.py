"""The Position-induced Transformer."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import torch
from torch import Tensor, nn

from pitgeo.data import PointData
from pitgeo.neighborhood import Neighborhood
from pitgeo.nn.blocks import from_positions, mlp
from pitgeo.nn.body import Body, Maker
from pitgeo.nn.checks import check_input
from pitgeo.nn.global_attention import GlobalPositionAttention
from pitgeo.nn.interpolation import NEAREST, interpolate
from pitgeo.nn.latent_code import LatentCode
from pitgeo.nn.latent_points import LatentPoints, middle_of, seen_from
from pitgeo.nn.length_scale import length_table
from pitgeo.nn.local_decoder import LocalDecoder, Rows, in_parts
from pitgeo.nn.recompute import recomputed
from pitgeo.nn.self_attention import SelfPositionAttention
from pitgeo.transforms.attention_graphs import AttentionGraphs

_SLACK = 4  # degrees that an expansion in compiled code may have above what it needs


class PiT(LocalDecoder):
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
            attention among the output points, as in the paper's InviscidBurgers and ShockTube. With ``quadrature``,
            the encoder's averages are over the domain, however dense the input points are where.
        body: What the stages are made of; by default as ``model.pit`` of a configuration, with first moments, for
            positions in the plane. ``Body(moments=3)`` is for those in space, ``Body(moments=0)`` the paper's.

    Attributes:
        checkpoint_activations: Whether training keeps the inputs of stages alone, and computes the rest again in the
            backward pass: the same results in less memory and more time. False unless it is set.

    Shapes:
        - **data.pos** ``[N, D]``, **data.x** ``[N, in_channels - D]``; ``[B, N, in_channels - D]`` for samples on one
          shared mesh, whose weights are then computed once.
        - **output** ``[M, out_channels]`` (or ``[B, M, out_channels]``), in the order of the output points.

    Raises:
        ValueError: If the data has other channels or another type than the model, the model is of half precision, or
            the point sets do not suit the body.

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
        heads: int = 4,
        graphs: AttentionGraphs | None = None,
        body: Body | None = None,
    ) -> None:
        super().__init__()
        graphs = graphs or AttentionGraphs()
        body = (body or Body()).with_moments(graphs.metric)
        if channels % heads:
            raise ValueError(f"Expected 'heads' to divide the encoding dimension {channels} (got {heads})")
        for stage, kind in (("encoder", body.attention[0]), ("decoder", body.attention[2])):
            if kind == "position" and getattr(graphs, stage) is None:
                raise ValueError(f"Expected a quantile for the {stage}'s position-attention in 'graphs' (got None)")
        self.in_channels, self.out_channels = in_channels, out_channels
        self.body = body
        self.checkpoint_activations = False
        encoder, processor, decoder = body.attention
        self.graphs = AttentionGraphs(
            graphs.encoder if encoder == "position" else None,
            graphs.decoder if decoder == "position" else None,
            graphs.output if decoder == "position" else None,
            graphs.metric,
            NEAREST if body.style == "residual" else None,
            graphs.quadrature and encoder == "position",
        )
        make = Maker(channels, heads, graphs, body)
        if body.style == "paper":
            self.lift = nn.Sequential(nn.Linear(in_channels, channels), nn.GELU())
            self.head: nn.Module = mlp(channels, channels, out_channels)
        else:
            self.lift = mlp(in_channels, channels, channels)
            self.head = nn.Sequential(nn.LayerNorm(channels), mlp(channels, channels, out_channels))
        self.encoder = make.stage(body.encoder, encoder, graphs.encoder, about="mean")
        self.processor = nn.ModuleList(make.stage("block", processor, None) for _ in range(body.layers))
        self.decoder = make.stage(body.decoder, decoder, graphs.decoder)
        self.output = None if graphs.output is None else make.stage("block", decoder, graphs.output)
        if body.style == "paper":
            self.apply(_he_normal)

    def forward(self, data: PointData, rows: Tensor | None = None) -> Tensor:
        """Values at the output points.

        Args:
            data: A sample or a batch.
            rows: Numbers ``[m]`` of output points, not decreasing, to have the values of these alone: the decoder then
                takes no more time and memory than they need.

        Raises:
            ValueError: If some output points are asked for, but all depend on each other.
        """
        if rows is not None:
            return super().forward(data, rows)
        self._check(data)
        data = self.graphs(data)
        code = self._encode(data)
        there = seen_from(data, "output", code.middle)
        skip = code.hidden if data.coincide("latent", "output") else None
        if self.body.style == "residual":
            skip = self._skip(data, code)
        hood = self._graph(data, 2, "decoder")
        hidden = self._stage(self.decoder, 2, code.hidden, skip, code.where, hood, (code.latent, there))
        if self.output is not None:
            hood = self._graph(data, 2, "output")
            hidden = self._stage(self.output, 2, hidden, hidden, code.where, hood, (there, there))
        return self._run(self.head, hidden)

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
        where = LatentPoints.of(data)
        data.latent_layout = where.layout
        for layer in self.modules():
            if isinstance(layer, (GlobalPositionAttention, SelfPositionAttention)):
                layer.choose(where.pos, where.layout.mask, _SLACK)
        return data

    @property
    def has_local_decoder(self) -> bool:
        """Whether an output point's value depends on no other output point, so that they may be taken in parts."""
        return self.body.attention[2] == "position" and self.body.decoder == "layer" and self.output is None

    def in_chunks(self, data: PointData, size: int, graph: Callable[[slice], Neighborhood] | None = None) -> Tensor:
        """Values at the output points of one sample, at most so many points at a time: the same, in less memory.

        Args:
            data: The sample.
            size: Points at a time.
            graph: The decoder's graph for some of the output points, if it is not to be the sample's own, or found
                where the points of the sample are.

        Raises:
            ValueError: If output points depend on each other.
        """
        if graph is None:
            return super().in_chunks(data, size)
        code = self.encode(data)
        count = len(data.points("output")[0])
        return in_parts(lambda rows: self._decode(data, code, rows, graph(rows)), count, size)

    def encode(self, data: PointData) -> LatentCode:
        """What the values at all output points are made of.

        Raises:
            ValueError: If output points depend on each other.
        """
        self._check_local()
        self._check(data)
        return self._encode(replace(self.graphs, decoder=None, output=None, skip=None)(data))

    def decode(self, data: PointData, code: LatentCode, rows: Rows = None) -> Tensor:
        """Values at some of the output points, by the decoder's graph of the sample, or one that is made for them."""
        rows = slice(None) if rows is None else rows
        if data.has_graph("decoder"):
            return self._decode(data, code, rows, data.graph("decoder").restricted(rows))
        return self._decode(data, code, rows, self.graphs.find("decoder", data, rows))

    def _decode(self, data: PointData, code: LatentCode, rows: slice | Tensor, hood: Neighborhood) -> Tensor:
        """From the latent points to some of the output points, with their decoder's graph."""
        skip = self._skip(data, code, rows) if self.body.style == "residual" else None
        pos = (code.latent, seen_from(data, "output", code.middle)[rows])
        return self._run(self.head, self._stage(self.decoder, 2, code.hidden, skip, code.where, hood, pos))

    def _skip(self, data: PointData, code: LatentCode, rows: Rows = None) -> Tensor:
        """The lifted coordinates and values of output points; values that are not known there are interpolated."""
        if data.coincide("input", "output"):
            return code.lifted if rows is None else code.lifted[..., rows, :]
        here, there = (data.points(kind)[0] for kind in ("input", "output"))
        there = there if rows is None else there[rows]
        if data.x.shape[-1] == 0:
            return self._lifted(there, data.x.new_zeros(*data.x.shape[:-2], there.shape[0], 0))
        if not data.has_graph("skip"):
            hood = self.graphs.find("skip", data, rows)
        else:
            hood = data.graph("skip") if rows is None else data.graph("skip").restricted(rows)
        return self._lifted(there, interpolate(data.x, here, there, hood, self.graphs.metric)[0])

    def _lifted(self, pos: Tensor, x: Tensor) -> Tensor:
        coords = pos if x.dim() == 2 else pos.expand(x.shape[0], -1, -1)
        return self._run(from_positions, self.lift, torch.cat([coords, x], -1))

    def _encode(self, data: PointData) -> LatentCode:
        """From the input points to the latent ones."""
        middle = middle_of(data) if self.body.moments else None
        here, latent = (seen_from(data, kind, middle) for kind in ("input", "latent"))
        lifted = self._lifted(data.pos, data.x)
        where = LatentPoints.of(data)
        skip = lifted if data.coincide("input", "latent") else None
        hood = self._graph(data, 0, "encoder")
        weights = data.get("quadrature") if self.graphs.quadrature else None
        hidden = where.dense(self._stage(self.encoder, 0, lifted, skip, where, hood, (here, latent), weights))
        for block in self.processor:
            hidden = self._run(block, hidden, hidden, where.pos, where.layout.mask)
        return LatentCode(where.flat(hidden), lifted, latent, where, middle)

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
        where: LatentPoints,
        hood: Neighborhood | None,
        pos: tuple[Tensor, Tensor],
        quadrature: Tensor | None = None,
    ) -> Tensor:
        if self.body.attention[place] == "position":
            return self._run(stage, x, skip, pos, hood, None, quadrature)
        dense_skip = None if skip is None else where.dense(skip)
        return where.flat(self._run(stage, where.dense(x), dense_skip, where.pos, where.layout.mask))

    def _run(self, stage: Callable[..., Any], *inputs: Any) -> Tensor:
        """The result of a stage, its activations kept or not."""
        if self.checkpoint_activations and torch.is_grad_enabled():
            return recomputed(stage, *inputs)
        return cast(Tensor, stage(*inputs))

    def _check_local(self) -> None:
        if not self.has_local_decoder:
            raise ValueError(
                "Expected a decoder in which output points do not depend on each other, to take some of them alone "
                "(got global attention, a whole block or a graph of output points); take position-attention in a "
                "'layer' without an output graph"
            )

    def _check(self, data: PointData) -> None:
        check_input(data, self.in_channels, self)
        if self.body.attention[0] != "position" and not data.coincide("input", "latent"):
            raise ValueError("Expected no latent mesh with self-attention in the encoder (got one)")
        if self.body.attention[2] != "position" and not data.coincide("latent", "output"):
            raise ValueError("Expected the output points to be the latent ones with self-attention in the decoder")


def _he_normal(module: nn.Module) -> None:
    if isinstance(module, nn.Linear):
        nn.init.kaiming_normal_(module.weight)
        nn.init.zeros_(module.bias)
