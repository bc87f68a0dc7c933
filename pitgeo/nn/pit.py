"""The Position-induced Transformer."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import torch
from torch import Tensor, nn

from pitgeo.data import PointData
from pitgeo.data.transforms.attention_graphs import AttentionGraphs
from pitgeo.graphs.neighborhood import Neighborhood
from pitgeo.nn.blocks import from_positions, mlp
from pitgeo.nn.body import BlockFactory, Body
from pitgeo.nn.checks import check_input
from pitgeo.nn.global_attention import GlobalPositionAttention
from pitgeo.nn.latent import LatentCode, LatentPoints, center_of, positions_about
from pitgeo.nn.length_scale import length_table
from pitgeo.nn.local_decoder import LocalDecoder, Rows, in_parts
from pitgeo.nn.recompute import recomputed
from pitgeo.nn.self_attention import SelfPositionAttention

_SLACK = 4  # how far the degree of an expansion in compiled code may be above the necessary one


class PiT(LocalDecoder):
    r"""An operator from values on input points to values on output points, by way of a latent mesh.

    .. math::
        \text{Encoder} &= \sigma \circ \operatorname{LocPosAtt} \circ \, \sigma \circ \operatorname{Linear} \\
        \text{Processor} &= L \times \left[ h = \sigma(\operatorname{PosAtt}(U)), \;
            U \leftarrow \sigma(\operatorname{MLP}(h) + \operatorname{Linear}(U)) \right] \\
        \text{Decoder} &= \operatorname{MLP} \circ \, \sigma \circ \operatorname{LocPosAtt}

    with :math:`\sigma` the GELU, :math:`\operatorname{LocPosAtt}` a :class:`PositionAttention` over a graph, and
    :math:`\operatorname{PosAtt}` a :class:`GlobalPositionAttention`. By default both add first moments to their
    averages (:mod:`pitgeo.nn.moments`); ``Body(moments=0)`` is the paper's network. ``forward``, of
    :class:`LocalDecoder`, is :meth:`encode`, then :meth:`decode`.

    Input channels are the coordinates of a point, then its values. The model builds the graphs that the data lacks, so
    output points may be anywhere.

    Args:
        in_channels: Coordinates and values of an input point together.
        out_channels: Values of an output point.
        channels: Encoding dimension; divisible by ``heads``.
        heads: Heads of every attention layer.
        graphs: Quantiles of encoder and decoder, and the metric; a quantile for ``output`` adds one block of local
            attention among the output points, as in the paper's InviscidBurgers and ShockTube. With ``quadrature``,
            the encoder averages over the domain, whatever the local density of the input points.
        body: Options of the stages. The default is that of ``model.pit`` in a configuration, for positions in the
            plane; ``Body(moments=3)`` is for positions in space.

    Attributes:
        checkpoint_activations: Whether training keeps only the inputs of stages, and computes the rest again in the
            backward pass: the same results in less memory and more time. ``False`` at first.

    Shapes:
        - **data.pos** ``[N, D]``, **data.x** ``[N, in_channels - D]``; ``[B, N, in_channels - D]`` for samples on one
          shared mesh, whose weights are then computed once.
        - **output** ``[M, out_channels]`` (or ``[B, M, out_channels]``), in the order of the output points.

    Raises:
        ValueError: If the data has other channels or another type than the model, the model is of half precision, or
            the point sets do not suit the body.

    Example:
        >>> from pitgeo.data.transforms import LatentMesh
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
        in_encoder, in_processor, in_decoder = body.attention
        self.graphs = AttentionGraphs(
            graphs.encoder if in_encoder == "position" else None,
            graphs.decoder if in_decoder == "position" else None,
            graphs.output if in_decoder == "position" else None,
            graphs.metric,
            graphs.quadrature and in_encoder == "position",
        )
        self._encoder_graphs = replace(self.graphs, decoder=None, output=None)
        self._decoder_graphs = replace(self.graphs, encoder=None, quadrature=False)
        blocks = BlockFactory(channels, heads, graphs, body)
        self.lift = nn.Sequential(nn.Linear(in_channels, channels), nn.GELU())
        self.head = mlp(channels, channels, out_channels)  # here, so that a seed gives the weights it always gave
        self.encoder = blocks.make(body.encoder, in_encoder, graphs.encoder, moments_about="mean")
        self.processor = nn.ModuleList(blocks.make("block", in_processor, None) for _ in range(body.layers))
        self.decoder = blocks.make(body.decoder, in_decoder, graphs.decoder)
        self.output = None if graphs.output is None else blocks.make("block", in_decoder, graphs.output)
        self.apply(_he_normal)

    def encode(self, data: PointData) -> LatentCode:
        """From the input points to the latent points: lift, encoder and processor."""
        self._check(data)
        data = self._encoder_graphs(data)
        latent = LatentPoints.of(data)
        center = center_of(data) if self.body.moments else None
        positions = (positions_about(center, data, "input"), positions_about(center, data, "latent"))
        quadrature = data.get("quadrature") if self.graphs.quadrature else None

        lifted = self._lift(data)
        skip = lifted if data.coincide("input", "latent") else None
        edges = data.graph("encoder") if self.graphs.encoder else None
        hidden = latent.dense(self._attend(self.encoder, lifted, skip, positions, edges, latent, quadrature))
        for block in self.processor:
            hidden = self._run(block, hidden, hidden, latent.pos, latent.layout.mask)
        return LatentCode(latent.flat(hidden), latent, positions[1], center)

    def decode(self, data: PointData, code: LatentCode, rows: Rows = None) -> Tensor:
        """From the latent points to the output points, or some of them: decoder, output block and head.

        Raises:
            ValueError: If some output points are asked for, but all depend on each other.
        """
        if rows is None:
            data = self._decoder_graphs(data)
            return self._decode(data, code, rows, data.graph("decoder") if self.graphs.decoder else None)
        self._check_local()
        if data.has_graph("decoder"):
            return self._decode(data, code, rows, data.graph("decoder").restricted(rows))
        return self._decode(data, code, rows, self.graphs.find("decoder", data, rows))

    def _decode(self, data: PointData, code: LatentCode, rows: Rows, edges: Neighborhood | None) -> Tensor:
        outputs = positions_about(code.center, data, "output")
        outputs = outputs if rows is None else outputs[rows]
        skip = code.hidden if data.coincide("latent", "output") else None
        hidden = self._attend(self.decoder, code.hidden, skip, (code.positions, outputs), edges, code.latent)
        if self.output is not None:
            among = data.graph("output") if self.graphs.output else None
            hidden = self._attend(self.output, hidden, hidden, (outputs, outputs), among, code.latent)
        return self._run(self.head, hidden)

    def _lift(self, data: PointData) -> Tensor:
        pos = data.pos if data.x.dim() == 2 else data.pos.expand(data.x.shape[0], -1, -1)
        return self._run(from_positions, self.lift, torch.cat([pos, data.x], -1))

    def _attend(
        self,
        stage: nn.Module,
        x: Tensor,
        skip: Tensor | None,
        positions: tuple[Tensor, Tensor],
        edges: Neighborhood | None,
        latent: LatentPoints,
        quadrature: Tensor | None = None,
    ) -> Tensor:
        """The result of a stage along the edges of a graph; without a graph, among all latent points.

        ``skip`` is what a block's linear branch takes: the same values, where sources and targets are one point set.
        """
        if edges is not None:
            return self._run(stage, x, skip, positions, edges, None, quadrature)  # None: no weights are returned
        dense_skip = None if skip is None else latent.dense(skip)
        return latent.flat(self._run(stage, latent.dense(x), dense_skip, latent.pos, latent.layout.mask))

    def _run(self, stage: Callable[..., Any], *inputs: Any) -> Tensor:
        """The result of a stage, its activations kept or not."""
        if self.checkpoint_activations and torch.is_grad_enabled():
            return recomputed(stage, *inputs)
        return cast(Tensor, stage(*inputs))

    def prepare(self, data: PointData) -> PointData:
        """A copy that a compiled model can take: everything that depends on positions is decided before the call.

        The copy has the missing graphs and the layout of the latent points; the layers keep the form that each head of
        global attention takes. Call this method for every batch, on the device of the model.

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
        latent = LatentPoints.of(data)
        data.latent_layout = latent.layout
        for layer in self.modules():
            if isinstance(layer, (GlobalPositionAttention, SelfPositionAttention)):
                layer.choose(latent.pos, latent.layout.mask, _SLACK)
        return data

    @property
    def has_local_decoder(self) -> bool:
        """Whether the value at an output point depends on no other output point."""
        return self.body.attention[2] == "position" and self.body.decoder == "layer" and self.output is None

    def in_chunks(self, data: PointData, size: int, graph: Callable[[slice], Neighborhood] | None = None) -> Tensor:
        """Values at the output points of one sample, some points after others: the same result in less memory.

        Args:
            data: The sample.
            size: Largest number of points at a time.
            graph: Gives the decoder's graph for some of the output points; by default the graph of the sample, or a
                new one.

        Raises:
            ValueError: If output points depend on each other.
        """
        if graph is None:
            return super().in_chunks(data, size)
        self._check_local()
        code, count = self.encode(data), len(data.points("output")[0])
        return in_parts(lambda rows: self._decode(data, code, rows, graph(rows)), count, size)

    def length_scales(self) -> list[tuple[str, Tensor]]:
        r"""Name and length :math:`\sqrt{c / \lambda}` per head of every layer, in the positions' units."""
        return [(name.removesuffix(".attention"), lengths) for name, lengths in length_table(self)]

    def _check_local(self) -> None:
        if not self.has_local_decoder:
            raise ValueError(
                "Expected a decoder in which output points do not depend on each other, to compute only some of them "
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
