"""Position-attention over a graph: the local and the cross form."""

from __future__ import annotations

from functools import partial
from typing import Literal, cast

import torch
from torch import Tensor
from torch.nn.functional import linear
from torch_geometric.nn import MessagePassing

from pitgeo.graphs.metric import Metric
from pitgeo.graphs.neighborhood import Neighborhood
from pitgeo.nn.blocks import HeadProjection
from pitgeo.nn.dense import at_least_single, result_type, wants_gradient
from pitgeo.nn.edges import as_edge_index, as_neighborhood, in_caller_order
from pitgeo.nn.kernels.edge_sums import attend, edge_softmax, known_width, message_softmax
from pitgeo.nn.kernels.graph_attention import graph_attention
from pitgeo.nn.kernels.source_parts import attention_by_sources, suits_source_parts
from pitgeo.nn.length_scale import LengthScale, Positivity
from pitgeo.nn.moments import About, FirstMoments
from pitgeo.nn.source_weights import check_quadrature, domain_averages, domain_means, domain_values, weighted_edges
from pitgeo.nn.sums_first import attention_from_sums, suits_sums

_ALL = slice(None)  # heads
_EDGES_AT_ONCE = 2**20  # without gradients, larger graphs go in parts: the same results in bounded memory


class PositionAttention(MessagePassing):  # type: ignore[misc]
    r"""Average source values with weights that depend on distance alone.

    .. math::
        y_i^h = \sum_{j \in N(i)} \operatorname{softmax}_{j \in N(i)}
                \left(-\lambda_h D(p_i, p_j)\right) W^h x_j

    with :math:`D` the squared distance of the metric. The weights never see the values, so the layer is linear in
    ``x`` and unchanged when all positions are moved rigidly. Heads are concatenated. Local attention is this layer on
    the graph of a point set with itself, cross attention on a graph from one point set to another.

    Args:
        in_channels: Size of each source value.
        out_channels: Size of each target value; divisible by ``heads``.
        heads: Number of length scales.
        positivity: How :math:`\lambda > 0` is kept: ``"square"``, ``"tan"`` or ``"sine_tan"``.
        lengths: Smallest and largest initial length, see :class:`LengthScale`.
        metric: Periods of the domain and the divisor of squared distances; the one the graph was built with.
        backend: ``"fused"`` never materialises messages and sums in place; ``"reference"`` is PyG's message passing,
            slower, for second derivatives, for programs exported by torch, and for PyG's explainers (which switch to
            it by themselves). The compiler takes both as they are.
        moments: Axes of the positions, to add first moments of some of every head's values to the averages
            (:mod:`pitgeo.nn.moments`): the layer can represent gradients, for up to twice the sums. Results then stay
            the same under shifts of all positions, but not under rotations. The samples of a batch should have one
            origin, because single precision loses digits otherwise. 0: no moments, as in the paper.
        moments_about: ``"point"``, or ``"mean"`` for sources at other resolutions than in training: the moment of a
            constant, which depends on the arrangement of the neighbours, is separated, for one more sum an axis.

    Shapes:
        - **x** ``[N, in_channels]``, or ``[B, N, in_channels]`` for ``B`` samples on one shared mesh, whose weights
          are computed once.
        - **pos** ``[N, D]``, or a pair ``([N, D], [M, D])`` for sources and targets.
        - **edge_index** ``[2, E]``: sources, then targets; or a :class:`~pitgeo.graphs.neighborhood.Neighborhood`,
          which needs no sorting.
        - **quadrature** ``[N]``, or ``None``: the share of the domain that each source stands for, positive. Weights
          are then :math:`\propto w_j \exp(-\lambda_h D(p_i, p_j))`, so that averages do not depend on the density of
          points (:func:`~pitgeo.graphs.quadrature.quadrature_weights`).
        - **output** ``[M, out_channels]`` (or ``[B, M, out_channels]``); a target without an edge gets zeros.

    Raises:
        ValueError: If shapes disagree, ``heads`` does not divide ``out_channels``, or positions or periods have
            another number of axes than ``moments``.

    Example:
        >>> from pitgeo.graphs.neighbors import quantile
        >>> x, pos = torch.rand(50, 8), torch.rand(50, 2)
        >>> PositionAttention(8, 16, heads=2)(x, pos, quantile(pos, pos, 0.1)).shape
        torch.Size([50, 16])

    Reference:
        Chen and Wu, ICML 2024, equations (5), (7), (8) and (13).
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        heads: int = 1,
        positivity: Positivity = "square",
        lengths: tuple[float, float] | None = None,
        metric: Metric | None = None,
        backend: Literal["fused", "reference"] = "fused",
        moments: int = 0,
        moments_about: About = "point",
    ) -> None:
        super().__init__(aggr="add", node_dim=-2)
        if backend not in ("fused", "reference"):
            raise ValueError(f"Expected 'backend' to be 'fused' or 'reference' (got {backend!r})")
        if moments_about not in ("point", "mean"):
            raise ValueError(f"Expected 'moments_about' to be 'point' or 'mean' (got {moments_about!r})")
        self.value = HeadProjection(in_channels, out_channels, heads)
        self.metric = metric or Metric()
        self.moments = None if moments == 0 else FirstMoments(out_channels, heads, moments, self.metric, moments_about)
        self.scale = LengthScale(heads, positivity, lengths, self.metric.divisor)
        self.backend = backend

    def reset_parameters(self) -> None:
        """Draw new initial values."""
        super().reset_parameters()
        self.value.reset_parameters()
        self.scale.reset_parameters()
        if self.moments is not None:
            self.moments.reset_parameters()

    def forward(
        self,
        x: Tensor,
        pos: Tensor | tuple[Tensor, Tensor],
        edge_index: Tensor | Neighborhood,
        return_attention_weights: bool | None = None,
        quadrature: Tensor | None = None,
    ) -> Tensor | tuple[Tensor, tuple[Tensor, Tensor]]:
        """Attend; with ``return_attention_weights=True`` also return ``(edge_index, weights [E, heads])``."""
        sources, targets = pos if isinstance(pos, tuple) else (pos, pos)
        heads = self.value.heads
        if not torch.compiler.is_compiling():
            self._check(x, sources, targets, quadrature)
        if self.backend == "reference" or self.explain:
            edges = as_edge_index(edge_index, sources.shape[0], targets.shape[0])
            weights = weighted_edges(self._weights(sources, targets, edges), edges, targets.shape[0], quadrature)
            size, value = (sources.shape[0], targets.shape[0]), self._values(x, sources, _ALL)
            out = self.propagate(edges, x=(value, None), weights=weights, size=size).to(value.dtype)
            out = self._results(out, sources, targets, result_type(x))
            return (out, (edges, weights)) if return_attention_weights else out
        graph, order = as_neighborhood(edge_index, sources.shape[0], targets.shape[0])
        if return_attention_weights:
            weights = self._weights(sources, targets, graph)
            value = self._values(x, sources, _ALL)
            out = domain_averages(lambda value: attend(value, weights, graph), value, heads, quadrature)
            weights = weighted_edges(weights, graph.edge_index, graph.num_targets, quadrature)
            edges_and_weights = in_caller_order(edge_index, graph, order, weights)
            return self._results(out, sources, targets, result_type(x)), edges_and_weights
        if self._goes_in_parts(graph):
            return self._in_parts(x, sources, targets, graph, quadrature)
        if quadrature is None and not wants_gradient(sources, targets) and suits_sums(graph, self.value, self.moments):
            return self._from_sums(x, sources, targets, graph)
        average = partial(self._attend, sources=sources, targets=targets, graph=graph, heads=_ALL)
        out = domain_averages(average, self._values(x, sources, _ALL), heads, quadrature)
        return self._results(out, sources, targets, result_type(x))

    def _from_sums(self, x: Tensor, sources: Tensor, targets: Tensor, graph: Neighborhood) -> Tensor:
        """Results from sums of the values themselves, to which the heads' matrices are then applied."""
        graph, absent = graph.padded
        squared_distance, scale = self._distances(sources, targets, graph, absent)
        ends = (at_least_single(targets), at_least_single(sources), known_width(graph) or graph.target, graph.index)
        given = (self.metric.steps_along_edges(*ends), squared_distance, scale, self.scale.to_lengths(scale))
        return attention_from_sums(x, self.value, self.moments, *given, graph).to(result_type(x))

    def _in_parts(
        self, x: Tensor, sources: Tensor, targets: Tensor, graph: Neighborhood, quadrature: Tensor | None
    ) -> Tensor:
        """Results, some points after others; with moments also head by head, because they multiply the values."""
        if suits_source_parts(graph):
            return self._by_sources(x, sources, targets, graph, quadrature)
        average = partial(self._attend_in_parts, sources=sources, targets=targets, graph=graph)
        if self.moments is None:
            average_all = partial(average, heads=_ALL)
            return domain_averages(average_all, self._values(x, sources, _ALL), self.value.heads, quadrature)
        values, added = [], torch.zeros((), device=x.device)
        for number in range(self.value.heads):
            head = slice(number, number + 1)
            sums = domain_averages(partial(average, heads=head), self._values(x, sources, head), 1, quadrature)
            value, contribution = self._contracted(self.moments, sums, sources, targets, head)
            values.append(value)
            added = added + contribution
        return (torch.cat(values, -1) + added).to(result_type(x))

    def _by_sources(
        self, x: Tensor, sources: Tensor, targets: Tensor, graph: Neighborhood, quadrature: Tensor | None
    ) -> Tensor:
        """Results, some sources after others, whose values are made when they are needed."""
        heads, center = self.value.heads, at_least_single(sources).mean(0)

        def values(columns: slice) -> Tensor:
            value = self._values(x[..., columns, :], sources[columns], _ALL, center)
            value = domain_values(value, heads, None if quadrature is None else quadrature[columns])
            return value if x.dim() == 3 else value.unsqueeze(0)

        def distances(rows: slice, columns: slice, part: Neighborhood) -> Tensor:
            return self._distances(sources[columns], targets[rows], part)[0]

        scale = self.scale().to(center.dtype)
        out = attention_by_sources(values, distances, scale, graph, _EDGES_AT_ONCE)
        kind = self._values(x[..., :1, :], sources[:1], _ALL, center).dtype
        out = domain_means(out if x.dim() == 3 else out[0], heads, quadrature, kind)
        return self._results(out, sources, targets, result_type(x))

    def _values(self, x: Tensor, sources: Tensor, heads: slice, center: Tensor | None = None) -> Tensor:
        """The values that some of the heads average; the moments' are about the mean of all sources."""
        if self.moments is None:
            return cast(Tensor, self.value(x))
        value = linear(x, self.value.weight.unflatten(0, (self.value.heads, -1))[heads].flatten(0, 1))
        sources = at_least_single(sources)
        return self.moments.expand(value, sources - (sources.mean(0) if center is None else center)).flatten(-2)

    def _results(self, sums: Tensor, sources: Tensor, targets: Tensor, dtype: torch.dtype) -> Tensor:
        """Results from averages."""
        if self.moments is None:
            return sums
        value, added = self._contracted(self.moments, sums, sources, targets, _ALL)
        return (value + added).to(dtype)

    def _contracted(
        self, moments: FirstMoments, sums: Tensor, sources: Tensor, targets: Tensor, heads: slice
    ) -> tuple[Tensor, Tensor]:
        sources, targets = at_least_single(sources), at_least_single(targets)
        with torch.autocast(sums.device.type, enabled=False):
            lengths = self.scale.to_lengths(self.scale().to(sources.dtype))
        sums = sums.unflatten(-1, (len(lengths[heads]), -1))
        return moments.contract(sums, targets - sources.mean(0), lengths, heads)

    def message(self, x_j: Tensor, weights: Tensor) -> Tensor:
        """The message of every edge, to be summed in float32 at least; only the reference path uses it."""
        heads = x_j.unflatten(-1, (self.value.heads, -1))
        return cast(Tensor, (heads * weights.unsqueeze(-1)).flatten(-2))

    def attention_weights(
        self,
        pos: Tensor | tuple[Tensor, Tensor],
        edge_index: Tensor | Neighborhood,
        quadrature: Tensor | None = None,
    ) -> Tensor:
        """The weight of every edge and head, ``[E, heads]``, in the order of ``edge_index``; 1 in sum at a target."""
        sources, targets = pos if isinstance(pos, tuple) else (pos, pos)
        check_quadrature(quadrature, sources)
        if self.backend == "reference":
            edges = as_edge_index(edge_index, sources.shape[0], targets.shape[0])
            return weighted_edges(self._weights(sources, targets, edges), edges, targets.shape[0], quadrature)
        graph, order = as_neighborhood(edge_index, sources.shape[0], targets.shape[0])
        weights = weighted_edges(
            self._weights(sources, targets, graph), graph.edge_index, graph.num_targets, quadrature
        )
        return in_caller_order(edge_index, graph, order, weights)[1]

    def _goes_in_parts(self, graph: Neighborhood) -> bool:
        """Whether the layer takes some targets after others."""
        if torch.compiler.is_compiling() or torch.is_grad_enabled():
            return False
        return graph.num_edges > _EDGES_AT_ONCE

    def _attend(self, value: Tensor, sources: Tensor, targets: Tensor, graph: Neighborhood, heads: slice) -> Tensor:
        moves = wants_gradient(sources, targets)
        graph, absent = (graph, None) if moves or torch.compiler.is_compiling() else graph.padded
        squared_distance, scale = self._distances(sources, targets, graph, absent)
        if moves:
            return attend(value, edge_softmax(squared_distance, scale[heads], graph), graph)
        return graph_attention(value, squared_distance, scale[heads], graph)

    def _attend_in_parts(
        self, value: Tensor, sources: Tensor, targets: Tensor, graph: Neighborhood, heads: slice
    ) -> Tensor:
        parts = graph.parts(_EDGES_AT_ONCE)
        return torch.cat([self._attend(value, sources, targets[rows], part, heads) for rows, part in parts], -2)

    def _weights(self, sources: Tensor, targets: Tensor, graph: Tensor | Neighborhood) -> Tensor:
        squared_distance, scale = self._distances(sources, targets, graph)
        if isinstance(graph, Neighborhood):
            return edge_softmax(squared_distance, scale, graph)
        return message_softmax(squared_distance, scale, graph[1], targets.shape[0])

    def _distances(
        self, sources: Tensor, targets: Tensor, graph: Tensor | Neighborhood, absent: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Squared distances ``[E]``, huge for ``absent`` edges, and lambda ``[heads]``; logits are minus products."""
        sources, targets = at_least_single(sources), at_least_single(targets)
        if isinstance(graph, Neighborhood):
            source, target = graph.index, known_width(graph) or graph.target
        else:
            source, target = graph[0], graph[1]
        with torch.autocast(sources.device.type, enabled=False):  # geometry in float32 at least
            squared_distance = self.metric.along_edges(targets, sources, target, source)
            if absent is not None:
                squared_distance.masked_fill_(absent, torch.finfo(squared_distance.dtype).max)
            return squared_distance, self.scale().to(squared_distance.dtype)

    def _check(self, x: Tensor, sources: Tensor, targets: Tensor, quadrature: Tensor | None) -> None:
        channels = self.value.in_channels
        if x.dim() not in (2, 3) or x.shape[-1] != channels:
            raise ValueError(f"Expected 'x' to have shape [N, {channels}] or [B, N, {channels}] (got {list(x.shape)})")
        for name, pos in (("source", sources), ("target", targets)):
            if pos.dim() != 2 or pos.shape[1] != sources.shape[1]:
                raise ValueError(f"Expected {name} positions of shape [N, D] (got {list(pos.shape)})")
        if x.shape[-2] != sources.shape[0]:
            raise ValueError(f"Expected a position for each of {x.shape[-2]} values in 'x' (got {sources.shape[0]})")
        if self.moments is not None:
            self.moments.check_axes(sources)
        check_quadrature(quadrature, sources)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.value.in_channels}, {self.value.out_channels}, heads={self.value.heads})"
