r"""Weighted sums of values that all heads share, over a graph: for few targets with many sources.

A head's matrix may be applied before the sum or after it, :math:`\sum_j w_{ij} W v_j = W \sum_j w_{ij} v_j`. Where
there are far fewer targets than sources, the second takes fewer operations, and nothing is stored for every source.
With steps :math:`d_{ij}` from target to source along the axes, first moments are sums of the same values with the
weights :math:`w_{ij} d_{ij}`: no value is multiplied with a position.

The gradient of a length scale is that of :mod:`pitgeo.nn.kernels.graph_attention`, the same sums with the derivatives
of the weights in their place.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import torch
from torch import Tensor
from torch.nn.functional import embedding_bag

from pitgeo.graphs.neighborhood import Neighborhood
from pitgeo.nn.kernels.edge_sums import fake_at_sources, index_type, known_width, order_by_source, softmax_by_head
from pitgeo.nn.kernels.segments import segment_sums, times_at_edges

_COPIES = 4  # operations that take as long as the memory that a source's value and one of its factors move
_SHARE = 0.9  # with more of the operations, sums take longer than products


def shared_sums(
    value: Tensor, factors: Tensor, squared_distance: Tensor, scale: Tensor, graph: Neighborhood
) -> tuple[Tensor, Tensor]:
    """Sums over the edges of each target with ``factors`` times the weights ``softmax(-scale * squared_distance)``.

    Args:
        value: ``[N, C]``, or ``[B, N, C]``.
        factors: ``[F, E]``, without a gradient.
        squared_distance: Squared distances ``[E]``, without a gradient.
        scale: ``[heads]``.
        graph: The sources of every target.

    Returns:
        The sums of the values, ``[heads, F, M, C]`` or ``[B, heads, F, M, C]``, and those of 1, ``[heads, F, M]``.
    """
    samples = value if value.dim() == 3 else value.unsqueeze(0)
    width, by_source = known_width(graph), order_by_source(value, graph)
    target = graph.pointer[:0] if width else graph.target
    given = (samples, factors, squared_distance, scale, graph.index, target, graph.pointer, *by_source, width)
    sums, totals = cast(tuple[Tensor, Tensor], _shared_sums(*given)[:2])
    return sums if value.dim() == 3 else sums.squeeze(0), totals


def suits_shared_sums(graph: Neighborhood, in_channels: int, out_channels: int, heads: int, factors: int) -> bool:
    """Whether the sums should come before the matrices, by the number of operations: on CPUs, as measured."""
    if graph.index.device.type != "cpu":
        return False
    matrices_first = graph.num_sources * out_channels * (in_channels + _COPIES * factors)
    sums_first = heads * factors * in_channels * (graph.num_edges + graph.num_targets * out_channels // heads)
    return sums_first < _SHARE * matrices_first


@torch.library.custom_op("pitgeo::shared_sums", mutates_args=())
def _shared_sums(
    value: Tensor,
    factors: Tensor,
    squared_distance: Tensor,
    scale: Tensor,
    source: Tensor,
    target: Tensor,
    pointer: Tensor,
    order: Tensor,
    by_source: Tensor,
    target_by_source: Tensor,
    width: int,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Sums ``[B, heads, F, M, C]``, ``[heads, F, M]``, and what :func:`softmax_by_head` gives."""
    weights, excess = softmax_by_head(squared_distance, scale, target, pointer, width)
    products = weights.unsqueeze(1) * factors
    sums = torch.stack(list(_sums(value, products, source, pointer)))
    return sums, segment_sums(products, pointer, width), weights, excess


@torch.library.custom_op("pitgeo::shared_sums_backward", mutates_args=())
def _shared_sums_backward(
    slope: Tensor,
    slope_of_totals: Tensor,
    value: Tensor,
    factors: Tensor,
    weights: Tensor,
    excess: Tensor,
    source: Tensor,
    target: Tensor,
    pointer: Tensor,
    order: Tensor,
    by_source: Tensor,
    target_by_source: Tensor,
    width: int,
    for_scale: bool,
) -> tuple[Tensor, Tensor]:
    """Gradients of values and scales; the former is empty without ``order``, the latter zero unless ``for_scale``."""
    to_value, to_scale = value.new_empty(len(value), 0, value.shape[2]), weights.new_zeros(len(weights))
    if len(order):
        to_value = _sums_at_sources(slope, weights, factors, order, by_source, target_by_source)
    if for_scale:
        moved = weights * excess
        moved -= times_at_edges(segment_sums(moved, pointer, width), weights, target, width)
        moved = moved.unsqueeze(1) * factors
        to_scale -= (segment_sums(moved, pointer, width) * slope_of_totals).sum((1, 2))
        for part, given in zip(_sums(value, moved, source, pointer), slope, strict=True):
            to_scale -= part.mul_(given).flatten(1).sum(1)
    return to_value, to_scale


def _sums(value: Tensor, products: Tensor, source: Tensor, pointer: Tensor) -> Iterator[Tensor]:
    """The sums of a sample after the other, ``[heads, F, M, C]``."""
    heads, count, edges = products.shape
    kind = index_type(heads * count, max(edges, value.shape[1]))
    row = torch.arange(heads * count, dtype=kind, device=source.device).unsqueeze(1)
    places = source.to(kind).expand(heads * count, -1).flatten()
    starts = (pointer[:-1].to(kind) + row * edges).flatten()
    weights = products.to(value.dtype).flatten()
    for sample in value:
        sums = embedding_bag(places, sample, starts, mode="sum", per_sample_weights=weights)
        yield sums.view(heads, count, len(pointer) - 1, -1)


def _sums_at_sources(
    slope: Tensor, weights: Tensor, factors: Tensor, order: Tensor, by_source: Tensor, target_by_source: Tensor
) -> Tensor:
    """The gradient of the values: ``[B, heads, F, M, C]`` -> ``[B, N, C]``.

    Every edge counts once for each head and factor, one after the other.
    """
    _, heads, count, targets, channels = slope.shape
    kind = index_type(heads * count, max(targets, len(order)))
    products = (weights.index_select(1, order).unsqueeze(1) * factors.index_select(1, order)).flatten(0, 1).t()
    row = torch.arange(heads * count, dtype=kind, device=order.device) * targets
    places = (target_by_source.to(kind).unsqueeze(1) + row).flatten()
    starts, ordered = by_source[:-1].to(kind) * (heads * count), products.to(slope.dtype).flatten()
    return torch.stack(
        [
            embedding_bag(places, sample.reshape(-1, channels), starts, mode="sum", per_sample_weights=ordered)
            for sample in slope
        ]
    )


@_shared_sums.register_fake
def _(value: Tensor, factors: Tensor, squared_distance: Tensor, scale: Tensor, *rest: Any) -> tuple[Tensor, ...]:
    heads, count, targets = scale.shape[0], factors.shape[0], rest[2].shape[0] - 1
    excess = torch.empty_like(squared_distance)
    sums = value.new_empty(value.shape[0], heads, count, targets, value.shape[2])
    return sums, excess.new_empty(heads, count, targets), excess.new_empty(heads, excess.shape[0]), excess


@_shared_sums_backward.register_fake
def _(slope: Tensor, totals: Tensor, value: Tensor, factors: Tensor, weights: Tensor, *rest: Any) -> Any:
    return fake_at_sources(value, rest[5]), weights.new_empty(weights.shape[0])


def _keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    value, factors, _, _, *graph, ctx.width = inputs
    ctx.save_for_backward(value, factors, *output[2:], *graph)
    ctx.mark_non_differentiable(*output[2:])


def _differentiate(ctx: Any, slope: Tensor, slope_of_totals: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
    wanted = ctx.needs_input_grad
    given = (slope.contiguous(), slope_of_totals.contiguous(), *ctx.saved_tensors, ctx.width, bool(wanted[3]))
    to_value, to_scale = _shared_sums_backward(*given)
    return to_value if wanted[0] else None, None, None, to_scale if wanted[3] else None, *[None] * 7


_shared_sums.register_autograd(_differentiate, setup_context=_keep)
