"""Softmax and weighted sums over the edges of a graph, without a message per edge.

They are used if positions have a gradient, or weights are requested; otherwise the single operator of
:mod:`pitgeo.nn.kernels.graph_attention` is, which has the same sums. All are operators of the library ``pitgeo`` with
derivatives of their own, which the compiler leaves as they are. They have no second derivatives.
:func:`message_softmax` has only torch's own operators, for any derivative and for programs that run without pitgeo.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import torch
from torch import Tensor
from torch.nn.functional import embedding_bag, threshold

from pitgeo.graphs.neighborhood import Neighborhood
from pitgeo.nn.kernels.segments import at_edges, segment_minima, segment_sums

_SMALLEST = 1e-30  # weights below this cannot matter, and denormal numbers are very slow on CPUs
_LOWEST = -80.0  # its exponential is below the smallest weight


def edge_softmax(squared_distance: Tensor, scale: Tensor, graph: Neighborhood) -> Tensor:
    """Softmax of ``-scale * squared_distance`` over the edges of each target: ``[E]``, ``[heads]`` -> ``[E, heads]``.

    The nearest source has the largest logit for every head. So one minimum over distances keeps the exponentials in
    range, instead of a maximum for every head.
    """
    weights, _ = _softmax(squared_distance, scale, graph.target, graph.pointer, known_width(graph))
    return cast(Tensor, weights).t()


def attend(value: Tensor, weights: Tensor, graph: Neighborhood) -> Tensor:
    """Weighted sums over the sources of each target, without holding a message per edge.

    Args:
        value: ``[N, heads * C]``, or ``[B, N, heads * C]``.
        weights: ``[E, heads]``.
        graph: The sources of every target.
    """
    samples = value if value.dim() == 3 else value.unsqueeze(0)
    out = cast(Tensor, _sums(samples, weights.t().to(value.dtype).contiguous(), *graph_tensors(value, graph)))
    return out if value.dim() == 3 else out.squeeze(0)


def known_width(graph: Neighborhood) -> int:
    """How many sources every target has, if all have as many and values may be looked at; else 0."""
    return 0 if torch.compiler.is_compiling() else graph.width


def head_major(weights: Tensor) -> Tensor:
    """``[M, heads, width]`` -> ``[heads, E]``."""
    return weights.transpose(0, 1).reshape(weights.shape[1], -1)


def graph_tensors(value: Tensor, graph: Neighborhood) -> tuple[Tensor, ...]:
    """A graph as arguments of the operators: source, target, pointer, and the order by source.

    Only the gradient of the values needs the last three; they are empty if it is not computed.
    """
    return graph.source, graph.target, graph.pointer, *order_by_source(value, graph)


def order_by_source(value: Tensor, graph: Neighborhood) -> tuple[Tensor, Tensor, Tensor]:
    """What :attr:`Neighborhood.by_source` has, where the values have a gradient, which needs it; else it is empty."""
    if value.requires_grad and torch.is_grad_enabled():
        return graph.by_source
    empty = graph.pointer[:0]
    return empty, empty, empty


def message_softmax(squared_distance: Tensor, scale: Tensor, target: Tensor, num_targets: int) -> Tensor:
    """The result of :func:`edge_softmax` from torch's own operators, for edges in any order."""
    nearest = squared_distance.new_full((num_targets,), torch.inf).scatter_reduce(
        0, target, squared_distance.detach(), "amin"
    )
    excess = squared_distance - nearest[target]
    weights = threshold(torch.exp(-excess.unsqueeze(1) * scale), _SMALLEST, 0.0)
    total = weights.new_zeros(num_targets, weights.shape[1]).index_add(0, target, weights)
    return weights / total[target]


def softmax(
    squared_distance: Tensor, scale: Tensor, target: Tensor, pointer: Tensor, width: int
) -> tuple[Tensor, Tensor]:
    """Weights, and squared distances less that of the nearest source of the target.

    They are ``[heads, E]`` and ``[E]``; ``[M, heads, width]`` and ``[M, 1, width]`` where every target has ``width``
    sources, which takes no reading of a target's values at its edges.
    """
    if width:
        distance = squared_distance.view(-1, 1, width)
        excess = distance - distance.amin(2, keepdim=True)
        weights = exponentials_(excess * -scale.clamp(min=_SMALLEST).view(-1, 1))  # padding is infinitely far
        return weights.div_(weights.sum(2, keepdim=True)), excess
    excess = squared_distance - segment_minima(squared_distance, pointer).index_select(0, target)
    weights = excess.new_empty(len(scale), len(excess))
    for row, steepness in zip(weights, scale, strict=True):  # one head at a time: its row may fit into a cache
        exponentials_(torch.mul(excess, -steepness, out=row))
        row.div_(segment_sums(row, pointer).index_select(0, target))
    return weights, excess


def softmax_by_head(
    squared_distance: Tensor, scale: Tensor, target: Tensor, pointer: Tensor, width: int
) -> tuple[Tensor, Tensor]:
    """What :func:`softmax` gives, always as ``[heads, E]`` and ``[E]``."""
    weights, excess = softmax(squared_distance, scale, target, pointer, width)
    return (head_major(weights), excess.flatten()) if width else (weights, excess)


def exponentials_(logits: Tensor) -> Tensor:
    """Their exponentials, in place; no exponential becomes a denormal number on the way to zero."""
    return threshold(logits.clamp_(min=_LOWEST).exp_(), _SMALLEST, 0.0, inplace=True)


def index_type(heads: int, points: int) -> torch.dtype:
    """The type of the numbers of the values of all heads: half the memory, where it suffices."""
    return torch.int32 if heads * points < 2**31 else torch.int64


def head_numbers(weights: Tensor) -> Tensor:
    """The head numbers of weights ``[heads, E]``, as a column."""
    return torch.arange(len(weights), device=weights.device).unsqueeze(1)


def head_sums(value: Tensor, index: Tensor, pointer: Tensor, weights: Tensor) -> Iterator[Tensor]:
    """Weighted sums over the points between row pointers, for every head, one sample after the other.

    A single sample may fit into a cache that all samples do not, and needs no copy in another memory order.

    Args:
        value: ``[B, N, heads * C]``.
        index: Point numbers ``[E]``.
        pointer: Row pointers, ``[M + 1]``.
        weights: ``[heads, E]``.

    Yields:
        ``[heads, M, C]``.
    """
    heads, weights = len(weights), weights.to(value.dtype)
    kind = index_type(heads, max(value.shape[1], weights.shape[1]))
    numbers = head_numbers(weights).to(kind)
    places = (index.to(kind) * heads + numbers).flatten()
    starts = (pointer[:-1].to(kind) + numbers * weights.shape[1]).flatten()
    for sample in value:
        rows = sample.reshape(len(sample) * heads, -1)
        sums = embedding_bag(places, rows, starts, mode="sum", per_sample_weights=weights.flatten())
        yield sums.unflatten(0, (heads, -1))


def sums_at_targets(value: Tensor, weights: Tensor, source: Tensor, pointer: Tensor) -> Tensor:
    """``[B, N, heads * C]``, ``[heads, E]`` -> ``[B, M, heads * C]``."""
    return _joined(value, source, pointer, weights)


def sums_at_sources(
    slope: Tensor, weights: Tensor, order: Tensor, by_source: Tensor, target_by_source: Tensor
) -> Tensor:
    """The gradient of the values from that of the sums: ``[B, M, heads * C]`` -> ``[B, N, heads * C]``.

    It is the same sum over the edges sorted by source. The gradient of embedding_bag would sort all ``heads * E`` row
    numbers instead, and scatter. Without an order the result is empty.
    """
    if not len(by_source):
        return slope.new_empty(len(slope), 0, slope.shape[2])
    return _joined(slope, target_by_source, by_source, weights.index_select(1, order))


def _joined(value: Tensor, index: Tensor, pointer: Tensor, weights: Tensor) -> Tensor:
    """The result of :func:`head_sums` as ``[B, M, heads * C]``."""
    out = value.new_empty(len(value), len(pointer) - 1, value.shape[2])
    for sums, sample in zip(head_sums(value, index, pointer, weights), out, strict=True):
        sample.view(sample.shape[0], len(weights), -1).copy_(sums.transpose(0, 1))
    return out


@torch.library.custom_op("pitgeo::edge_softmax", mutates_args=())
def _softmax(
    squared_distance: Tensor, scale: Tensor, target: Tensor, pointer: Tensor, width: int
) -> tuple[Tensor, Tensor]:
    return softmax_by_head(squared_distance, scale, target, pointer, width)


@torch.library.custom_op("pitgeo::edge_softmax_backward", mutates_args=())
def _softmax_backward(
    slope: Tensor, weights: Tensor, excess: Tensor, scale: Tensor, pointer: Tensor
) -> tuple[Tensor, Tensor]:
    """Gradients of distances ``[E]`` and scales ``[heads]``."""
    slope = slope * weights
    slope = slope - weights * at_edges(segment_sums(slope, pointer), pointer)
    to_distance, to_scale = (
        (scale.unsqueeze(1) * slope).sum(0),
        (slope * excess).sum(1),
    )  # elementwise products, which autocast leaves in their precision
    return -to_distance, -to_scale


@torch.library.custom_op("pitgeo::edge_sums", mutates_args=())
def _sums(
    value: Tensor,
    weights: Tensor,
    source: Tensor,
    target: Tensor,
    pointer: Tensor,
    order: Tensor,
    by_source: Tensor,
    target_by_source: Tensor,
) -> Tensor:
    return sums_at_targets(value, weights, source, pointer)


@torch.library.custom_op("pitgeo::edge_sums_backward", mutates_args=())
def _sums_backward(
    slope: Tensor,
    value: Tensor,
    weights: Tensor,
    source: Tensor,
    target: Tensor,
    pointer: Tensor,
    order: Tensor,
    by_source: Tensor,
    target_by_source: Tensor,
    for_weights: bool,
) -> tuple[Tensor, Tensor]:
    """Gradients of values and weights; the former is empty without ``order``, the latter unless ``for_weights``."""
    heads = len(weights)
    to_value = sums_at_sources(slope, weights, order, by_source, target_by_source)
    if not for_weights:
        return to_value, weights.new_empty(heads, 0)
    index, bag = ((ends * heads + head_numbers(weights)).flatten() for ends in (source, target))
    to_weights = torch.zeros_like(weights)
    for direction, sample in zip(slope, value, strict=True):
        rows = (part.reshape(len(part) * heads, -1) for part in (direction, sample))
        of_sample = torch.ops.aten._embedding_bag_per_sample_weights_backward(*rows, index, pointer[:-1], bag, 0)
        to_weights += of_sample.view(weights.shape)
    return to_value, to_weights


@_softmax.register_fake
def _(squared_distance: Tensor, scale: Tensor, *_: Any) -> tuple[Tensor, Tensor]:
    return squared_distance.new_empty(scale.shape[0], squared_distance.shape[0]), torch.empty_like(squared_distance)


@_softmax_backward.register_fake
def _(slope: Tensor, weights: Tensor, excess: Tensor, scale: Tensor, pointer: Tensor) -> tuple[Tensor, Tensor]:
    return torch.empty_like(excess), torch.empty_like(scale)


@_sums.register_fake
def _(value: Tensor, weights: Tensor, source: Tensor, target: Tensor, pointer: Tensor, *_: Tensor) -> Tensor:
    return value.new_empty(value.shape[0], pointer.shape[0] - 1, value.shape[2])


@_sums_backward.register_fake
def _(slope: Tensor, value: Tensor, weights: Tensor, *others: Any) -> tuple[Tensor, Tensor]:
    by_source, _, for_weights = others[-3:]
    to_weights = weights.new_empty(weights.shape[0], weights.shape[1] if for_weights else 0)
    return fake_at_sources(value, by_source), to_weights


def fake_at_sources(value: Tensor, by_source: Tensor) -> Tensor:
    """An empty result of :func:`sums_at_sources`, for the compiler."""
    return value.new_empty(value.shape[0], value.shape[1] if by_source.shape[0] else 0, value.shape[2])


def _keep_softmax(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    _, scale, _, pointer, _ = inputs
    ctx.save_for_backward(*output, scale, pointer)
    ctx.mark_non_differentiable(output[1])


def _differentiate_softmax(ctx: Any, slope: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
    weights, excess, scale, pointer = ctx.saved_tensors
    to_distance, to_scale = _softmax_backward(slope.contiguous(), weights, excess, scale, pointer)
    wanted = ctx.needs_input_grad
    return to_distance if wanted[0] else None, to_scale if wanted[1] else None, None, None, None


def _keep_sums(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
    ctx.save_for_backward(*inputs)


def _differentiate_sums(ctx: Any, slope: Tensor) -> tuple[Tensor | None, ...]:
    wanted = ctx.needs_input_grad
    to_value, to_weights = _sums_backward(slope.contiguous(), *ctx.saved_tensors, bool(wanted[1]))
    return to_value if wanted[0] else None, to_weights if wanted[1] else None, *[None] * 6


_softmax.register_autograd(_differentiate_softmax, setup_context=_keep_softmax)
_sums.register_autograd(_differentiate_sums, setup_context=_keep_sums)
