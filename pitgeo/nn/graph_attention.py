r"""Position-attention over a graph as one operator, where positions have no gradient: nearly always.

The gradient of a length scale then needs no gradient of every edge's weight, which is the dearest part of a backward
pass. With :math:`s` the gradient of the output and :math:`\bar D_i = \sum_j w_{ij} D_{ij}`,

.. math::
    \frac{\partial w_{ij}}{\partial \lambda} = -w_{ij} (D_{ij} - \bar D_i), \qquad
    \frac{\partial L}{\partial \lambda} = -\sum_i s_i \cdot \sum_j w_{ij} (D_{ij} - \bar D_i) v_j :

one more weighted sum of the values.
"""

from __future__ import annotations

from typing import Any, cast

import torch
import torch_scatter
from torch import Tensor

from pitgeo.neighborhood import Neighborhood
from pitgeo.nn.edge_sums import bags, each_head, softmax


def graph_attention(value: Tensor, squared: Tensor, scale: Tensor, hood: Neighborhood) -> Tensor:
    """Averages of the sources' values with weights ``softmax(-scale * squared)`` over the edges of each target.

    Args:
        value: ``[N, heads * C]``, or ``[B, N, heads * C]``.
        squared: Squared distances ``[E]``, without a gradient.
        scale: ``[heads]``.
        hood: Who attends to whom.
    """
    heads, shared = len(scale), value.dim() == 3
    if shared:  # the values of all samples beside each other
        batch = value.shape[0]
        value = value.unflatten(-1, (heads, -1)).permute(1, 2, 0, 3).flatten(1)
    nothing = hood.pointer[:0]  # the order by source is for the gradient of the values alone
    order, by_source = hood.by_source if value.requires_grad and torch.is_grad_enabled() else (nothing, nothing)
    out = cast(Tensor, _attention(value, squared, scale, hood.source, hood.target, hood.pointer, order, by_source)[0])
    return out.unflatten(-1, (heads, batch, -1)).permute(2, 0, 1, 3).flatten(2) if shared else out


@torch.library.custom_op("pitgeo::graph_attention", mutates_args=())
def _attention(
    value: Tensor,
    squared: Tensor,
    scale: Tensor,
    source: Tensor,
    target: Tensor,
    pointer: Tensor,
    order: Tensor,
    by_source: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """``[N, heads * C]`` -> ``[M, heads * C]``; also weights ``[heads, E]`` and excess distances ``[E]``."""
    heads = len(scale)
    weights, excess = softmax(squared, scale, target, pointer)
    sums = _sums(value, source * heads + each_head(weights), pointer, weights)
    return sums.transpose(0, 1).reshape(len(pointer) - 1, value.shape[1]), weights, excess


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
    """Gradients of values and scales; that of values is empty without ``order``, zero for scales if not asked for."""
    heads = len(weights)
    to_value, to_scale = value.new_empty(0, value.shape[1]), weights.new_zeros(heads)
    if len(by_source):
        index = target.index_select(0, order) * heads + each_head(weights)
        sums = _sums(slope, index, by_source, weights.index_select(1, order))
        to_value = sums.transpose(0, 1).reshape(value.shape)
    if for_scale:
        rows = pointer.unsqueeze(0)
        moved = weights * excess
        means = torch_scatter.segment_csr(moved, rows, reduce="sum")
        moved = moved - weights * torch_scatter.gather_csr(means, rows)
        sums = _sums(value, source * heads + each_head(weights), pointer, moved)
        each = sums * slope.unflatten(1, (heads, -1)).transpose(0, 1)
        to_scale = -each.sum((1, 2), dtype=weights.dtype)
    return to_value, to_scale


def _sums(value: Tensor, index: Tensor, pointer: Tensor, weights: Tensor) -> Tensor:
    """``[N, heads * C]`` -> ``[heads, M, C]``, for rows ``(point, head)``."""
    heads = len(weights)
    sums = bags(value.reshape(value.shape[0] * heads, -1), index, pointer, weights.to(value.dtype))
    return cast(Tensor, sums.unflatten(0, (heads, -1)))


@_attention.register_fake
def _(
    value: Tensor,
    squared: Tensor,
    scale: Tensor,
    source: Tensor,
    target: Tensor,
    pointer: Tensor,
    order: Tensor,
    by_source: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    out = value.new_empty(pointer.shape[0] - 1, value.shape[1])
    return out, squared.new_empty(scale.shape[0], squared.shape[0]), torch.empty_like(squared)


@_attention_backward.register_fake
def _(
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
    rows = value.shape[0] if by_source.shape[0] else 0
    return value.new_empty(rows, value.shape[1]), weights.new_empty(weights.shape[0])


def _keep(ctx: Any, inputs: tuple[Tensor, ...], output: tuple[Tensor, Tensor, Tensor]) -> None:
    value, _, _, *graph = inputs
    ctx.save_for_backward(value, *output[1:], *graph)
    ctx.mark_non_differentiable(*output[1:])


def _differentiate(ctx: Any, slope: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
    wanted = ctx.needs_input_grad
    to_value, to_scale = _attention_backward(slope.contiguous(), *ctx.saved_tensors, bool(wanted[2]))
    return to_value if wanted[0] else None, None, to_scale if wanted[2] else None, None, None, None, None, None


_attention.register_autograd(_differentiate, setup_context=_keep)
