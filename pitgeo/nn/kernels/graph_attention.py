r"""Position-attention over a graph as one operator, for positions without a gradient: nearly always.

The gradient of a length scale then needs no gradient of every edge weight, which is the most expensive part of a
backward pass. With :math:`s` the gradient of the output and :math:`\bar D_i = \sum_j w_{ij} D_{ij}`,

.. math::
    \frac{\partial w_{ij}}{\partial \lambda} = -w_{ij} (D_{ij} - \bar D_i), \qquad
    \frac{\partial L}{\partial \lambda} = -\sum_i s_i \cdot \sum_j w_{ij} (D_{ij} - \bar D_i) v_j ,

which is one more weighted sum of the values.
"""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor

from pitgeo.graphs.neighborhood import Neighborhood
from pitgeo.nn.kernels.edge_sums import (
    fake_at_sources,
    graph_tensors,
    head_sums,
    softmax,
    sums_at_sources,
    sums_at_targets,
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
    out = cast(Tensor, _attention(samples, squared_distance, scale, *graph_tensors(value, graph))[0])
    return out if value.dim() == 3 else out.squeeze(0)


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
) -> tuple[Tensor, Tensor, Tensor]:
    """Averages ``[B, M, heads * C]``, weights ``[heads, E]`` and excess squared distances ``[E]``."""
    weights, excess = softmax(squared_distance, scale, target, pointer)
    return sums_at_targets(value, weights, source, pointer), weights, excess


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
    for_scale: bool,
) -> tuple[Tensor, Tensor]:
    """Gradients of values and scales; the former is empty without ``order``, the latter zero unless ``for_scale``."""
    heads = len(weights)
    to_value, to_scale = sums_at_sources(slope, weights, target, order, by_source), weights.new_zeros(heads)
    if for_scale:
        moved = weights * excess
        moved = moved - weights * segment_sums(moved, pointer).index_select(1, target)
        if value.element_size() < 4:  # the terms cancel at every target, so rounding must stay small
            value, slope = value.float(), slope.float()
        sums = head_sums(value, source, pointer, moved)
        for part, direction in zip(sums, slope, strict=True):
            product = part * direction.unflatten(1, (heads, -1)).transpose(0, 1)
            to_scale -= product.sum((1, 2), dtype=weights.dtype)
    return to_value, to_scale


@_attention.register_fake
def _(
    value: Tensor, squared_distance: Tensor, scale: Tensor, source: Tensor, target: Tensor, pointer: Tensor, *_: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    out = value.new_empty(value.shape[0], pointer.shape[0] - 1, value.shape[2])
    return (
        out,
        squared_distance.new_empty(scale.shape[0], squared_distance.shape[0]),
        torch.empty_like(squared_distance),
    )


@_attention_backward.register_fake
def _(slope: Tensor, value: Tensor, weights: Tensor, *others: Any) -> tuple[Tensor, Tensor]:
    return fake_at_sources(value, others[-2]), weights.new_empty(weights.shape[0])


def _keep(ctx: Any, inputs: tuple[Tensor, ...], output: tuple[Tensor, Tensor, Tensor]) -> None:
    value, _, _, *graph = inputs
    ctx.save_for_backward(value, *output[1:], *graph)
    ctx.mark_non_differentiable(*output[1:])


def _differentiate(ctx: Any, slope: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
    wanted = ctx.needs_input_grad
    to_value, to_scale = _attention_backward(slope.contiguous(), *ctx.saved_tensors, bool(wanted[2]))
    return to_value if wanted[0] else None, None, to_scale if wanted[2] else None, None, None, None, None, None


_attention.register_autograd(_differentiate, setup_context=_keep)
