r"""Position-attention over a graph as one operator, for positions without a gradient: nearly always.

The gradient of a length scale then needs no gradient of every edge weight, which is the most expensive part of a
backward pass. With :math:`s` the gradient of the output and :math:`\bar D_i = \sum_j w_{ij} D_{ij}`,

.. math::
    \frac{\partial w_{ij}}{\partial \lambda} = -w_{ij} (D_{ij} - \bar D_i), \qquad
    \frac{\partial L}{\partial \lambda} = -\sum_i s_i \cdot \sum_j w_{ij} (D_{ij} - \bar D_i) v_j ,

which is one more weighted sum of the values.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import torch
from torch import Tensor
from torch.nn.functional import embedding_bag

from pitgeo.graphs.neighborhood import Neighborhood
from pitgeo.nn.kernels.edge_sums import (
    fake_at_sources,
    head_major,
    head_numbers,
    head_sums,
    index_type,
    known_width,
    order_by_source,
    softmax,
    sums_at_sources,
)
from pitgeo.nn.kernels.segments import segment_sums


def graph_attention(value: Tensor, squared_distance: Tensor, scale: Tensor, graph: Neighborhood) -> Tensor:
    """Averages of source values with weights ``softmax(-scale * squared_distance)`` over the edges of each target.

    Args:
        value: ``[N, heads * C]``, or ``[B, N, heads * C]``.
        squared_distance: Squared distances ``[E]``, without a gradient.
        scale: ``[heads]``.
        graph: The sources of every target.
    """
    samples = value if value.dim() == 3 else value.unsqueeze(0)
    width, by_source = known_width(graph), order_by_source(value, graph)
    target = graph.pointer[:0] if width else graph.target
    out = _attention(samples, squared_distance, scale, graph.index, target, graph.pointer, *by_source, width)[0]
    return cast(Tensor, out if value.dim() == 3 else out.squeeze(0))


@torch.library.custom_op("pitgeo::graph_attention", mutates_args=())
def _attention(
    value: Tensor,
    squared_distance: Tensor,
    scale: Tensor,
    source: Tensor,
    target: Tensor,
    pointer: Tensor,
    order: Tensor,
    by_source: Tensor,
    target_by_source: Tensor,
    width: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """Averages ``[B, M, heads * C]``, and what :func:`softmax` gives."""
    weights, excess = softmax(squared_distance, scale, target, pointer, width)
    parts = _sums(value, weights, source, pointer, width)
    if width and len(value) == 1:
        return next(parts).flatten(1).unsqueeze(0), weights, excess
    out = value.new_empty(len(value), len(pointer) - 1, value.shape[2])
    for part, sample in zip(parts, out, strict=True):
        sample.view(part.shape).copy_(part)
    return out, weights, excess


@torch.library.custom_op("pitgeo::graph_attention_backward", mutates_args=())
def _attention_backward(
    slope: Tensor,
    value: Tensor,
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
    heads = weights.shape[1 if width else 0]
    by_head = head_major(weights) if width and len(order) else weights
    to_value, to_scale = sums_at_sources(slope, by_head, order, by_source, target_by_source), weights.new_zeros(heads)
    if for_scale:
        moved = weights * excess
        if width:
            moved -= weights * moved.sum(2, keepdim=True)
        else:
            moved -= segment_sums(moved, pointer).index_select(1, target).mul_(weights)
        if value.element_size() < 4:  # the terms cancel at every target, so rounding must stay small
            value, slope = value.float(), slope.float()
        for part, direction in zip(_sums(value, moved, source, pointer, width), slope, strict=True):
            product = part * direction.view(part.shape)
            to_scale -= product.sum((0, 2), dtype=weights.dtype)
    return to_value, to_scale


def _sums(value: Tensor, weights: Tensor, source: Tensor, pointer: Tensor, width: int) -> Iterator[Tensor]:
    """Weighted sums ``[M, heads, C]``, one sample after the other."""
    if not width:
        yield from (part.transpose(0, 1) for part in head_sums(value, source, pointer, weights))
        return
    heads, kind = weights.shape[1], index_type(weights.shape[1], value.shape[1])
    places = (source.view(-1, 1, width).to(kind) * heads + head_numbers(weights[0]).to(kind)).flatten(0, 1)
    matrix = weights.to(value.dtype).flatten(0, 1)
    for sample in value:
        rows = sample.reshape(len(sample) * heads, -1)
        yield embedding_bag(places, rows, mode="sum", per_sample_weights=matrix).unflatten(0, (-1, heads))


@_attention.register_fake
def _(
    value: Tensor, squared_distance: Tensor, scale: Tensor, source: Tensor, target: Tensor, pointer: Tensor, *rest: Any
) -> tuple[Tensor, Tensor, Tensor]:
    targets, heads, width = pointer.shape[0] - 1, scale.shape[0], rest[-1]
    shape = (targets, heads, width) if width else (heads, squared_distance.shape[0])
    excess = squared_distance.new_empty((targets, 1, width) if width else squared_distance.shape)
    return value.new_empty(value.shape[0], targets, value.shape[2]), excess.new_empty(shape), excess


@_attention_backward.register_fake
def _(slope: Tensor, value: Tensor, weights: Tensor, *rest: Any) -> tuple[Tensor, Tensor]:
    by_source, width = rest[5], rest[7]
    return fake_at_sources(value, by_source), weights.new_empty(weights.shape[1 if width else 0])


def _keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    value, _, _, *graph, ctx.width = inputs
    ctx.save_for_backward(value, *output[1:], *graph)
    ctx.mark_non_differentiable(*output[1:])


def _differentiate(ctx: Any, slope: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
    wanted = ctx.needs_input_grad
    to_value, to_scale = _attention_backward(slope.contiguous(), *ctx.saved_tensors, ctx.width, bool(wanted[2]))
    return to_value if wanted[0] else None, None, to_scale if wanted[2] else None, *[None] * 7


_attention.register_autograd(_differentiate, setup_context=_keep)
