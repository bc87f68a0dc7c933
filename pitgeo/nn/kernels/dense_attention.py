r"""Global position-attention by all pairs of points, as one operator, for positions without a gradient.

No logit is above 0, so the exponentials need no maximum. With :math:`s` the gradient of the output :math:`y`,
:math:`E_{ij} = e^{-\lambda D_{ij}}` and :math:`n_i = \sum_j E_{ij}`,

.. math::
    \frac{\partial L}{\partial v_j} = \sum_i E_{ij} \frac{s_i}{n_i}, \qquad
    \frac{\partial L}{\partial \lambda} = -\sum_i \frac{s_i}{n_i} \cdot \sum_j E_{ij} D_{ij} (v_j - y_i) .

These are three matrix products, where fused attention takes seven. The pairs go in blocks, and the backward pass
computes the weights :math:`E` again, which takes less time than reading them: memory grows with :math:`N`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, cast

import torch
from torch import Tensor

from pitgeo.graphs.metric import Metric, shortest

_LOWEST = {torch.float32: -72.0, torch.float64: -144.0}  # its power of two is far below rounding and above denormal
_PAIRS_AT_ONCE = 2**20  # weights of a block: 4 MB in single precision


def dense_attention(value: Tensor, pos: Tensor, scale: Tensor, metric: Metric, keys: Tensor | None = None) -> Tensor:
    """Averages of all values with weights ``softmax(-scale * D)``, with ``D`` the metric's squared distances.

    Args:
        value: ``[B, heads, N, C]``.
        pos: ``[B, N, D]``, or ``[N, D]`` for one mesh shared by all samples; without gradient.
        scale: ``[heads]``.
        metric: Periods of the domain and the divisor of squared distances.
        keys: ``[B, N]``, true where a point is, at least once in every sample; ``None`` for everywhere.

    Returns:
        ``[B, heads, N, C]``.
    """
    period, scale = metric.period or (0.0,) * pos.shape[-1], scale / metric.divisor
    if pos.dim() == 2 and keys is not None:
        pos = pos.expand(len(value), -1, -1)
    if pos.dim() == 3:
        return cast(Tensor, _attention(value, pos, scale, keys, period)[0])
    samples = value.permute(1, 2, 0, 3)  # all samples' values side by side
    out = cast(Tensor, _attention(samples.flatten(2).unsqueeze(0), pos.unsqueeze(0), scale, keys, period)[0])
    return out.view(*out.shape[1:3], *samples.shape[2:]).permute(2, 0, 1, 3)


@torch.library.custom_op("pitgeo::dense_attention", mutates_args=())
def _attention(
    value: Tensor, pos: Tensor, scale: Tensor, keys: Tensor | None, period: Sequence[float]
) -> tuple[Tensor, Tensor]:
    """Averages ``[B, heads, N, C]``, and the sums of weights ``[B, heads, N, 1]``."""
    value = value.contiguous()
    out, total = _empty(value, scale)
    for samples, rows in _blocks(value):
        weights = _weights(_squared_distance(pos[samples], rows, period), scale, keys, samples)
        sums = weights.sum(-1, keepdim=True)
        out[samples, :, rows] = (weights.to(value.dtype) @ value[samples]).div_(sums)
        total[samples, :, rows] = sums
    return out, total


@torch.library.custom_op("pitgeo::dense_attention_backward", mutates_args=())
def _attention_backward(
    slope: Tensor,
    value: Tensor,
    pos: Tensor,
    scale: Tensor,
    keys: Tensor | None,
    out: Tensor,
    total: Tensor,
    period: Sequence[float],
    for_scale: bool,
) -> tuple[Tensor, Tensor]:
    """Gradients of values and scales; the latter is zero unless ``for_scale``."""
    slope, value = (slope / total.to(slope.dtype)).contiguous(), value.contiguous()
    to_value, to_scale = torch.zeros_like(value), torch.zeros_like(scale)
    kind = torch.promote_types(value.dtype, torch.float32)  # terms of the latter cancel at every point up to rounding
    for samples, rows in _blocks(value):
        given, squared_distance = slope[samples, :, rows], _squared_distance(pos[samples], rows, period)
        weights = _weights(squared_distance, scale, keys, samples)
        to_value[samples] += weights.to(value.dtype).transpose(-1, -2) @ given
        if for_scale:
            far, given = weights.mul_(squared_distance.unsqueeze(1)).to(kind), given.to(kind)
            moved = far @ value[samples].to(kind)
            moved.addcmul_(out[samples, :, rows].to(kind), far.sum(-1, keepdim=True), value=-1)
            to_scale -= (given * moved).sum((0, 2, 3)).to(scale.dtype)
    return to_value, to_scale


def _blocks(value: Tensor) -> Iterator[tuple[slice, slice]]:
    """Samples and targets of every block of pairs: some whole samples, or some targets of one."""
    samples, heads, points, _ = value.shape
    count = _PAIRS_AT_ONCE // max(1, heads * points**2)
    if count:
        yield from ((slice(start, start + count), slice(None)) for start in range(0, samples, count))
        return
    rows = max(1, _PAIRS_AT_ONCE // (heads * points))
    for sample in range(samples):
        yield from ((slice(sample, sample + 1), slice(start, start + rows)) for start in range(0, points, rows))


def _squared_distance(pos: Tensor, rows: slice, period: Sequence[float]) -> Tensor:
    """Squared distances ``[B, rows, N]`` by one axis after the other, which moves less memory."""
    total: Tensor | None = None
    for coordinate, length in zip(pos.unbind(-1), period, strict=True):
        difference = shortest(coordinate[:, rows].unsqueeze(-1) - coordinate.unsqueeze(-2), length)
        total = difference.square_() if total is None else total.addcmul_(difference, difference)
    return cast(Tensor, total)


def _weights(squared_distance: Tensor, scale: Tensor, keys: Tensor | None, samples: slice) -> Tensor:
    """Weights before their division ``[B, heads, rows, N]``."""
    weights = squared_distance.unsqueeze(1) * (scale.view(-1, 1, 1) * -math.log2(math.e))
    weights.clamp_(min=_LOWEST[weights.dtype]).exp2_()  # a third of the time of exp
    return weights if keys is None else weights.mul_(keys[samples, None, None, :])


def _empty(value: Tensor, scale: Tensor) -> tuple[Tensor, Tensor]:
    return value.new_empty(value.shape), scale.new_empty(*value.shape[:3], 1)


@_attention.register_fake
def _(value: Tensor, pos: Tensor, scale: Tensor, *_: Any) -> tuple[Tensor, Tensor]:
    return _empty(value, scale)


@_attention_backward.register_fake
def _(slope: Tensor, value: Tensor, pos: Tensor, scale: Tensor, *_: Any) -> tuple[Tensor, Tensor]:
    return value.new_empty(value.shape), torch.empty_like(scale)


def _keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    *tensors, ctx.period = inputs
    ctx.save_for_backward(*tensors, *output)
    ctx.mark_non_differentiable(output[1])


def _differentiate(ctx: Any, slope: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
    wanted = ctx.needs_input_grad
    to_value, to_scale = _attention_backward(slope, *ctx.saved_tensors, ctx.period, bool(wanted[2]))
    return to_value if wanted[0] else None, None, to_scale if wanted[2] else None, None, None


_attention.register_autograd(_differentiate, setup_context=_keep)
