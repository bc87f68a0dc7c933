r"""Global position-attention with a matrix of weights, as one operator, for positions without a gradient.

No logit is above 0, so the exponentials need no maximum. With :math:`s` the gradient of the output :math:`y`,
:math:`E_{ij} = e^{-\lambda D_{ij}}` and :math:`n_i = \sum_j E_{ij}`,

.. math::
    \frac{\partial L}{\partial v_j} = \sum_i E_{ij} \frac{s_i}{n_i}, \qquad
    \frac{\partial L}{\partial \lambda} = -\sum_i \frac{s_i}{n_i} \cdot \sum_j E_{ij} D_{ij} (v_j - y_i) .

This takes as many matrix products as the general rule, and far fewer passes over matrices.
"""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor

_LOWEST = {torch.float32: -50.0, torch.float64: -100.0}  # its exponential is far below rounding, and far from denormal


def dense_attention(value: Tensor, squared_distance: Tensor, scale: Tensor, keys: Tensor | None = None) -> Tensor:
    """Averages of all values with weights ``softmax(-scale * squared_distance)``.

    Args:
        value: ``[B, heads, N, C]``.
        squared_distance: ``[B, N, N]``, or ``[N, N]`` for one mesh shared by all samples; without gradient.
        scale: ``[heads]``.
        keys: ``[B, N]``, true where a point is, at least once in every sample; ``None`` for everywhere.

    Returns:
        ``[B, heads, N, C]``.
    """
    if squared_distance.dim() == 2 and keys is not None:
        squared_distance = squared_distance.expand(len(value), -1, -1)
    if squared_distance.dim() == 3:
        return cast(Tensor, _attention(value, squared_distance, scale, keys)[0])
    samples = value.permute(1, 2, 0, 3)  # all samples' values side by side
    out = cast(Tensor, _attention(samples.flatten(2).unsqueeze(0), squared_distance.unsqueeze(0), scale, keys)[0])
    return out.view(*out.shape[1:3], *samples.shape[2:]).permute(2, 0, 1, 3)


@torch.library.custom_op("pitgeo::dense_attention", mutates_args=())
def _attention(
    value: Tensor, squared_distance: Tensor, scale: Tensor, keys: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Averages, weights before their division ``[B, heads, N, N]``, and the sums of these ``[B, heads, N, 1]``."""
    weights = squared_distance.unsqueeze(1) * -scale.view(-1, 1, 1)
    weights.clamp_(min=_LOWEST[squared_distance.dtype]).exp_()
    if keys is not None:
        weights *= keys[:, None, None, :]
    total = weights.sum(-1, keepdim=True)
    return (weights.to(value.dtype) @ value.contiguous()).div_(total), weights, total


@torch.library.custom_op("pitgeo::dense_attention_backward", mutates_args=())
def _attention_backward(
    slope: Tensor,
    value: Tensor,
    squared_distance: Tensor,
    out: Tensor,
    weights: Tensor,
    total: Tensor,
    has_keys: bool,
    for_scale: bool,
) -> tuple[Tensor, Tensor]:
    """Gradients of values and scales; the latter is zero unless ``for_scale``."""
    slope = slope / total.to(slope.dtype)
    square = weights.to(value.dtype)
    to_value = (square.transpose(-1, -2) if has_keys else square) @ slope  # symmetric without keys
    if not for_scale:
        return to_value, weights.new_zeros(weights.shape[1])
    kind = torch.promote_types(value.dtype, torch.float32)  # the terms below cancel at every point up to rounding
    value, slope, out, far = (
        value.to(kind),
        slope.to(kind),
        out.to(kind),
        (weights * squared_distance.unsqueeze(1)).to(kind),
    )
    moved = torch.addcmul(far @ value, out, far.sum(-1, keepdim=True), value=-1)
    return to_value, -(slope * moved).sum((0, 2, 3)).to(weights.dtype)


@_attention.register_fake
def _(value: Tensor, squared_distance: Tensor, scale: Tensor, keys: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    samples, heads, points, _ = value.shape
    weights = squared_distance.new_empty(samples, heads, points, points)
    return value.new_empty(value.shape), weights, squared_distance.new_empty(samples, heads, points, 1)


@_attention_backward.register_fake
def _(
    slope: Tensor, value: Tensor, squared_distance: Tensor, out: Tensor, weights: Tensor, *_: Any
) -> tuple[Tensor, Tensor]:
    return value.new_empty(value.shape), weights.new_empty(weights.shape[1])


def _keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor, Tensor]) -> None:
    value, squared_distance, _, keys = inputs
    ctx.save_for_backward(value, squared_distance, *output)
    ctx.has_keys = keys is not None
    ctx.mark_non_differentiable(*output[1:])


def _differentiate(ctx: Any, slope: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
    wanted = ctx.needs_input_grad
    to_value, to_scale = _attention_backward(slope, *ctx.saved_tensors, ctx.has_keys, bool(wanted[2]))
    return to_value if wanted[0] else None, None, to_scale if wanted[2] else None, None


_attention.register_autograd(_differentiate, setup_context=_keep)
