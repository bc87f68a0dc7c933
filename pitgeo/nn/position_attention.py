"""Position-attention over a graph: the local and the cross form."""

from __future__ import annotations

from typing import Any, Literal, cast

import torch
import torch_scatter
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import embedding_bag, threshold
from torch_geometric.nn import MessagePassing

from pitgeo.metric import Metric
from pitgeo.neighborhood import Neighborhood
from pitgeo.nn.dense import at_least_single
from pitgeo.nn.length_scale import LengthScale, Positivity
from pitgeo.nn.projection import HeadProjection

_EDGES_AT_ONCE = 2**20  # where no gradient is wanted: results are the same, memory is bounded
_SMALLEST = 1e-30  # weights below this cannot matter, and denormal numbers are very slow on CPUs


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
            slower, for second derivatives and PyG's explainers (which switch to it by themselves).

    Shapes:
        - **x** ``[N, in_channels]``, or ``[B, N, in_channels]`` for ``B`` samples on one shared mesh, whose weights
          are computed once.
        - **pos** ``[N, D]``, or a pair ``([N, D], [M, D])`` for sources and targets.
        - **edge_index** ``[2, E]``: sources, then targets; or a :class:`~pitgeo.neighborhood.Neighborhood`, which
          needs no sorting.
        - **output** ``[M, out_channels]`` (or ``[B, M, out_channels]``); a target without an edge gets zeros.

    Raises:
        ValueError: If shapes disagree, or ``heads`` does not divide ``out_channels``.

    Example:
        >>> from pitgeo.neighbors import quantile
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
    ) -> None:
        super().__init__(aggr="add", node_dim=-2)
        if backend not in ("fused", "reference"):
            raise ValueError(f"Expected 'backend' to be 'fused' or 'reference' (got {backend!r})")
        self.value = HeadProjection(in_channels, out_channels, heads)
        self.metric = metric or Metric()
        self.scale = LengthScale(heads, positivity, lengths, self.metric.divisor)
        self.backend = backend

    def reset_parameters(self) -> None:
        """Draw new initial values."""
        super().reset_parameters()
        self.value.reset_parameters()
        self.scale.reset_parameters()

    def forward(
        self,
        x: Tensor,
        pos: Tensor | tuple[Tensor, Tensor],
        edge_index: Tensor | Neighborhood,
        return_attention_weights: bool | None = None,
    ) -> Tensor | tuple[Tensor, tuple[Tensor, Tensor]]:
        """Attend; with ``return_attention_weights=True`` also return ``(edge_index, weights [E, heads])``."""
        sources, targets = pos if isinstance(pos, tuple) else (pos, pos)
        if not torch.compiler.is_compiling():
            self._check(x, sources, targets)
        hood, order = _sorted(edge_index, sources.shape[0], targets.shape[0])
        value = self.value(x)
        if self.backend == "fused" and not return_attention_weights and self._goes_in_parts(hood):
            parts = [
                attend(value, self._weights(sources, targets[rows], part), part, self.value.heads)
                for rows, part in hood.parts(_EDGES_AT_ONCE)
            ]
            return torch.cat(parts, -2)
        weights = self._weights(sources, targets, hood)
        if self.backend == "fused" and not self.explain:
            out = attend(value, weights, hood, self.value.heads)
        else:
            edges, each = self._as_given(edge_index, hood, order, weights)  # PyG's edge masks are in that order
            out = self.propagate(edges, x=(value, None), weights=each, size=(sources.shape[0], targets.shape[0]))
            out = out.to(value.dtype)
        return (out, self._as_given(edge_index, hood, order, weights)) if return_attention_weights else out

    def message(self, x_j: Tensor, weights: Tensor) -> Tensor:
        """What one source sends to one target, summed in float32 at least; used by the reference path alone."""
        heads = x_j.unflatten(-1, (self.value.heads, -1))
        return cast(Tensor, (heads * weights.unsqueeze(-1)).flatten(-2))

    def attention_weights(self, pos: Tensor | tuple[Tensor, Tensor], edge_index: Tensor | Neighborhood) -> Tensor:
        """The weight of every edge and head, ``[E, heads]``, in the order of ``edge_index``; they sum to 1 a target."""
        sources, targets = pos if isinstance(pos, tuple) else (pos, pos)
        hood, order = _sorted(edge_index, sources.shape[0], targets.shape[0])
        return self._as_given(edge_index, hood, order, self._weights(sources, targets, hood))[1]

    @staticmethod
    def _as_given(
        edge_index: Tensor | Neighborhood, hood: Neighborhood, order: Tensor | None, weights: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Edges and their weights in the order that the caller gave the edges in."""
        if order is None:
            return hood.edge_index, weights
        return cast(Tensor, edge_index), torch.empty_like(weights).index_copy(0, order, weights)

    def _goes_in_parts(self, hood: Neighborhood) -> bool:
        """Whether targets are taken some at a time."""
        if torch.compiler.is_compiling() or torch.is_grad_enabled() or self.explain:
            return False
        return hood.num_edges > _EDGES_AT_ONCE

    def _weights(self, sources: Tensor, targets: Tensor, hood: Neighborhood) -> Tensor:
        sources, targets = at_least_single(sources), at_least_single(targets)
        with torch.autocast(sources.device.type, enabled=False):  # geometry in float32 at least
            squared = self.metric.squared(targets[hood.target], sources[hood.source])
            return cast(Tensor, edge_softmax(squared, self.scale().to(squared.dtype), hood))

    def _check(self, x: Tensor, sources: Tensor, targets: Tensor) -> None:
        channels = self.value.in_channels
        if x.dim() not in (2, 3) or x.shape[-1] != channels:
            raise ValueError(f"Expected 'x' to have shape [N, {channels}] or [B, N, {channels}] (got {list(x.shape)})")
        for name, pos in (("source", sources), ("target", targets)):
            if pos.dim() != 2 or pos.shape[1] != sources.shape[1]:
                raise ValueError(f"Expected {name} positions of shape [N, D] (got {list(pos.shape)})")
        if x.shape[-2] != sources.shape[0]:
            raise ValueError(f"Expected a position for each of {x.shape[-2]} values in 'x' (got {sources.shape[0]})")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.value.in_channels}, {self.value.out_channels}, heads={self.value.heads})"


@torch.compiler.disable  # type: ignore[untyped-decorator]  # torch-scatter's operators do not trace
def edge_softmax(squared: Tensor, scale: Tensor, hood: Neighborhood) -> Tensor:
    """Softmax of ``-scale * squared`` over the edges of each target: ``[E]``, ``[heads]`` -> ``[E, heads]``.

    The largest logit of a target is that of its nearest source for every head, so one minimum over distances, and no
    maximum a head, keeps the exponentials in range.
    """
    nearest = torch_scatter.segment_csr(squared.detach(), hood.pointer, reduce="min")
    excess = squared - nearest[hood.target]
    weights = threshold(torch.exp(-scale.unsqueeze(1) * excess), _SMALLEST, 0.0)  # [heads, E]: as the sums want them
    pointer = hood.pointer.unsqueeze(0)
    total = torch_scatter.segment_csr(weights, pointer, reduce="sum")
    return cast(Tensor, weights / torch_scatter.gather_csr(total, pointer)).t()


@torch.compiler.disable  # type: ignore[untyped-decorator]  # the graph is no tensor
def attend(value: Tensor, weights: Tensor, hood: Neighborhood, heads: int) -> Tensor:
    """Weighted sums over the sources of each target, without holding a message per edge.

    Args:
        value: ``[N, heads * C]``, or ``[B, N, heads * C]``.
        weights: ``[E, heads]``.
        hood: Who attends to whom.
        heads: Number of heads.
    """
    shared = value.dim() == 3
    if shared:  # one row of all samples' values a (point, head)
        batch = value.shape[0]
        rows = value.unflatten(-1, (heads, -1)).permute(1, 2, 0, 3).flatten(2).flatten(0, 1)
    else:
        rows = value.reshape(value.shape[0] * heads, -1)
    sums = cast(Tensor, _WeightedSums.apply(rows, weights.to(rows.dtype), hood))  # type: ignore[no-untyped-call]
    if shared:
        return sums.view(heads, hood.num_targets, batch, -1).permute(2, 1, 0, 3).flatten(2)
    return sums.view(heads, hood.num_targets, -1).transpose(0, 1).flatten(1)


class _WeightedSums(torch.autograd.Function):
    """``[N * heads, C]``, ``[E, heads]`` -> ``[heads * M, C]``.

    The gradient of the values is the same sum over the edges sorted by source: embedding_bag's own would sort all
    ``heads * E`` row numbers, and scatter.
    """

    @staticmethod
    def forward(ctx: Any, rows: Tensor, weights: Tensor, hood: Neighborhood) -> Tensor:
        ctx.hood = hood
        ctx.save_for_backward(rows, weights)
        return _sums(rows, weights, hood)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        rows, weights = ctx.saved_tensors
        hood, heads = ctx.hood, weights.shape[1]
        to_rows = to_weights = None
        if ctx.needs_input_grad[0]:
            order, pointer = hood.by_source
            offset = torch.arange(heads, device=rows.device).unsqueeze(1)
            index = (hood.target[order] + offset * hood.num_targets).flatten()
            to_rows = _bags(slope.contiguous(), index, pointer, weights.t()[:, order].t())  # [heads * N, C]
            to_rows = to_rows.view(heads, hood.num_sources, -1).transpose(0, 1).reshape(rows.shape)
        if ctx.needs_input_grad[1]:
            with torch.enable_grad():
                leaf = weights.detach().requires_grad_()
                (to_weights,) = torch.autograd.grad(_sums(rows.detach(), leaf, hood), leaf, slope)
        return to_rows, to_weights, None


def _sums(rows: Tensor, weights: Tensor, hood: Neighborhood) -> Tensor:
    heads = weights.shape[1]
    index = (hood.source * heads + torch.arange(heads, device=rows.device).unsqueeze(1)).flatten()
    return _bags(rows, index, hood.pointer, weights)


def _bags(rows: Tensor, index: Tensor, pointer: Tensor, weights: Tensor) -> Tensor:
    """Sums of ``rows[index]`` between row pointers, for every head: ``index`` and the result are head-major."""
    edges, heads = weights.shape
    bags = (pointer[:-1] + torch.arange(heads, device=rows.device).unsqueeze(1) * edges).flatten()
    return embedding_bag(index, rows, bags, mode="sum", per_sample_weights=weights.t().flatten())


def _sorted(
    edge_index: Tensor | Neighborhood, num_sources: int, num_targets: int
) -> tuple[Neighborhood, Tensor | None]:
    if isinstance(edge_index, Neighborhood):
        if edge_index.num_sources != num_sources or edge_index.num_targets != num_targets:
            raise ValueError(
                f"Expected a neighborhood from {num_sources} sources to {num_targets} targets, as the positions are "
                f"(got {edge_index.num_sources} to {edge_index.num_targets})"
            )
        return edge_index, None
    return Neighborhood.from_edge_index(edge_index, num_sources, num_targets)
