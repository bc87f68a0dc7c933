"""Softmax and weighted sums over the edges of a graph, without a message per edge.

Both are operators of the library ``pitgeo``, with shapes and derivatives of their own, which the compiler takes as they
are; they have no second derivatives. :func:`message_softmax` is made of torch's own operators, for any derivative and
for programs that run where pitgeo is not installed.
"""

from __future__ import annotations

from typing import Any, cast

import torch
import torch_scatter
from torch import Tensor
from torch.nn.functional import embedding_bag, threshold

from pitgeo.neighborhood import Neighborhood

_SMALLEST = 1e-30  # weights below this cannot matter, and denormal numbers are very slow on CPUs


def edge_softmax(squared: Tensor, scale: Tensor, hood: Neighborhood) -> Tensor:
    """Softmax of ``-scale * squared`` over the edges of each target: ``[E]``, ``[heads]`` -> ``[E, heads]``.

    The largest logit of a target is that of its nearest source for every head, so one minimum over distances, and no
    maximum a head, keeps the exponentials in range.
    """
    weights, _ = _softmax(squared, scale, hood.target, hood.pointer)
    return cast(Tensor, weights).t()


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
    nothing = hood.pointer[:0]  # the order by source is for the gradient of the values alone
    order, by_source = hood.by_source if rows.requires_grad and torch.is_grad_enabled() else (nothing, nothing)
    each = weights.t().to(rows.dtype).contiguous()
    sums = cast(Tensor, _sums(rows, each, hood.source, hood.target, hood.pointer, order, by_source))
    if shared:
        return sums.view(heads, hood.num_targets, batch, -1).permute(2, 1, 0, 3).flatten(2)
    return sums.view(heads, hood.num_targets, -1).transpose(0, 1).flatten(1)


def message_softmax(squared: Tensor, scale: Tensor, target: Tensor, num_targets: int) -> Tensor:
    """The same as :func:`edge_softmax` from torch's own operators, for edges in any order."""
    nearest = squared.new_full((num_targets,), torch.inf).scatter_reduce(0, target, squared.detach(), "amin")
    excess = squared - nearest[target]
    weights = threshold(torch.exp(-excess.unsqueeze(1) * scale), _SMALLEST, 0.0)
    total = weights.new_zeros(num_targets, weights.shape[1]).index_add(0, target, weights)
    return weights / total[target]


def softmax(squared: Tensor, scale: Tensor, target: Tensor, pointer: Tensor) -> tuple[Tensor, Tensor]:
    """Weights ``[heads, E]``, as the sums want them, and how much farther than the nearest each source is, ``[E]``."""
    excess = squared - torch_scatter.segment_csr(squared, pointer, reduce="min").index_select(0, target)
    weights = threshold(torch.exp(-scale.unsqueeze(1) * excess), _SMALLEST, 0.0)
    total = torch_scatter.segment_csr(weights, pointer.unsqueeze(0), reduce="sum")
    return weights / torch_scatter.gather_csr(total, pointer.unsqueeze(0)), excess


def each_head(weights: Tensor) -> Tensor:
    """Numbers of the heads of weights ``[heads, E]``, as a column."""
    return torch.arange(len(weights), device=weights.device).unsqueeze(1)


def bags(rows: Tensor, index: Tensor, pointer: Tensor, weights: Tensor) -> Tensor:
    """Sums of ``rows[index]`` between row pointers, for every head: ``index`` and the result are head-major."""
    starts = (pointer[:-1] + each_head(weights) * weights.shape[1]).flatten()
    return embedding_bag(index.flatten(), rows, starts, mode="sum", per_sample_weights=weights.flatten())


@torch.library.custom_op("pitgeo::edge_softmax", mutates_args=())
def _softmax(squared: Tensor, scale: Tensor, target: Tensor, pointer: Tensor) -> tuple[Tensor, Tensor]:
    return softmax(squared, scale, target, pointer)


@torch.library.custom_op("pitgeo::edge_softmax_backward", mutates_args=())
def _softmax_backward(
    slope: Tensor, weights: Tensor, excess: Tensor, scale: Tensor, pointer: Tensor
) -> tuple[Tensor, Tensor]:
    """Gradients of distances ``[E]`` and scales ``[heads]``."""
    slope = slope * weights
    means = torch_scatter.segment_csr(slope, pointer.unsqueeze(0), reduce="sum")
    slope = slope - weights * torch_scatter.gather_csr(means, pointer.unsqueeze(0))
    return -(scale.unsqueeze(1) * slope).sum(0), -(slope * excess).sum(
        1
    )  # no products of matrices: autocast takes those


@torch.library.custom_op("pitgeo::edge_sums", mutates_args=())
def _sums(
    rows: Tensor, weights: Tensor, source: Tensor, target: Tensor, pointer: Tensor, order: Tensor, by_source: Tensor
) -> Tensor:
    """``[N * heads, C]``, ``[heads, E]`` -> ``[heads * M, C]``."""
    return bags(rows, source * len(weights) + each_head(weights), pointer, weights)


@torch.library.custom_op("pitgeo::edge_sums_backward", mutates_args=())
def _sums_backward(
    slope: Tensor,
    rows: Tensor,
    weights: Tensor,
    source: Tensor,
    target: Tensor,
    pointer: Tensor,
    order: Tensor,
    by_source: Tensor,
    for_weights: bool,
) -> tuple[Tensor, Tensor]:
    """Gradients of rows and weights; that of rows is empty without ``order``, that of weights where not asked for.

    The gradient of the values is the same sum over the edges sorted by source: embedding_bag's own would sort all
    ``heads * E`` row numbers, and scatter.
    """
    heads = len(weights)
    bag = target + each_head(weights) * (len(pointer) - 1)
    to_rows, to_weights = rows.new_empty(0, rows.shape[1]), weights.new_empty(heads, 0)
    if len(by_source):
        sums = bags(slope, bag[:, order], by_source, weights[:, order])  # [heads * N, C]
        to_rows = sums.view(heads, len(by_source) - 1, -1).transpose(0, 1).reshape(rows.shape)
    if for_weights:
        starts = (pointer[:-1] + each_head(weights) * weights.shape[1]).flatten()
        index = (source * heads + each_head(weights)).flatten()
        to_weights = torch.ops.aten._embedding_bag_per_sample_weights_backward(
            slope, rows, index, starts, bag.flatten(), 0
        ).view(weights.shape)
    return to_rows, to_weights


@_softmax.register_fake
def _(squared: Tensor, scale: Tensor, target: Tensor, pointer: Tensor) -> tuple[Tensor, Tensor]:
    return squared.new_empty(scale.shape[0], squared.shape[0]), torch.empty_like(squared)


@_softmax_backward.register_fake
def _(slope: Tensor, weights: Tensor, excess: Tensor, scale: Tensor, pointer: Tensor) -> tuple[Tensor, Tensor]:
    return torch.empty_like(excess), torch.empty_like(scale)


@_sums.register_fake
def _(
    rows: Tensor, weights: Tensor, source: Tensor, target: Tensor, pointer: Tensor, order: Tensor, by_source: Tensor
) -> Tensor:
    return rows.new_empty(weights.shape[0] * (pointer.shape[0] - 1), rows.shape[1])


@_sums_backward.register_fake
def _(
    slope: Tensor,
    rows: Tensor,
    weights: Tensor,
    source: Tensor,
    target: Tensor,
    pointer: Tensor,
    order: Tensor,
    by_source: Tensor,
    for_weights: bool,
) -> tuple[Tensor, Tensor]:
    to_rows = rows.new_empty(rows.shape[0] if by_source.shape[0] else 0, rows.shape[1])
    return to_rows, weights.new_empty(weights.shape[0], weights.shape[1] if for_weights else 0)


def _keep_softmax(ctx: Any, inputs: tuple[Tensor, ...], output: tuple[Tensor, Tensor]) -> None:
    _, scale, _, pointer = inputs
    ctx.save_for_backward(*output, scale, pointer)
    ctx.mark_non_differentiable(output[1])


def _differentiate_softmax(ctx: Any, slope: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
    weights, excess, scale, pointer = ctx.saved_tensors
    to_squared, to_scale = _softmax_backward(slope.contiguous(), weights, excess, scale, pointer)
    wanted = ctx.needs_input_grad
    return to_squared if wanted[0] else None, to_scale if wanted[1] else None, None, None


def _keep_sums(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
    ctx.save_for_backward(*inputs)


def _differentiate_sums(ctx: Any, slope: Tensor) -> tuple[Tensor | None, ...]:
    wanted = ctx.needs_input_grad
    to_rows, to_weights = _sums_backward(slope.contiguous(), *ctx.saved_tensors, bool(wanted[1]))
    return to_rows if wanted[0] else None, to_weights if wanted[1] else None, None, None, None, None, None


_softmax.register_autograd(_differentiate_softmax, setup_context=_keep_softmax)
_sums.register_autograd(_differentiate_sums, setup_context=_keep_sums)
