r"""Global position-attention at linear cost, for length scales that are not small relative to the domain.

With :math:`u = p / R`, :math:`p` about the mean, :math:`R` the largest :math:`|p|` and :math:`m = 2 \lambda R^2`,

.. math::
    \operatorname{softmax}_j(-\lambda |p_i - p_j|^2) \propto e^{-\lambda |p_j|^2} e^{2 \lambda p_i \cdot p_j}, \qquad
    e^{2 \lambda p_i \cdot p_j} = \sum_{k \in \mathbb{N}^D} \frac{m^{|k|}}{k_1! \cdots k_D!} \, u_i^k \, u_j^k

separates queries from keys: the values of every sample are summed into moments, one per exponent :math:`k`, and every
point evaluates the series with these moments. Cut off after degree :math:`n`, the remainder is at most
:math:`P(K > n)` times the weight of the point itself, with :math:`K` Poisson-distributed with mean :math:`m`.

Reference:
    Greengard and Strain, The fast Gauss transform, 1991; Yang, Duraiswami and Gumerov, Improved fast Gauss transform,
    2003, for the expansion in this form.
"""

from __future__ import annotations

import functools
import math
from typing import cast

import torch
from torch import Tensor
from torch.nn.functional import linear

_LARGEST_DEGREE = 40  # e^m stays far from overflow in float32


def exponents(degree: int, dimension: int) -> Tensor:
    """All multi-indices of total degree at most ``degree``, ``[terms, dimension]``.

    Example:
        >>> exponents(1, 2).tolist()
        [[0, 0], [0, 1], [1, 0]]
    """
    if dimension == 1:
        return torch.arange(degree + 1).unsqueeze(1)
    parts = [(k, exponents(degree - k, dimension - 1)) for k in range(degree + 1)]
    return torch.cat([torch.cat([rest.new_full((len(rest), 1), k), rest], 1) for k, rest in parts])


def terms(degree: int, dimension: int) -> int:
    """The number of multi-indices of :func:`exponents`."""
    return math.comb(degree + dimension, dimension)


def degree_for(mean: float, tolerance: float) -> int | None:
    r"""The smallest degree whose remainder is at most ``tolerance``; ``None`` above the largest supported degree.

    Args:
        mean: :math:`m = 2 \lambda R^2`.
        tolerance: Error of a weight, relative to the weight of the point itself.

    Example:
        >>> degree_for(1.0, 1e-7)
        10
    """
    above = torch.special.gammainc(
        torch.arange(1, _LARGEST_DEGREE + 2, dtype=torch.float64), torch.tensor(mean, dtype=torch.float64)
    )
    sufficient = (above <= tolerance).nonzero()
    return int(sufficient[0]) if len(sufficient) else None


def expanded_attention(
    x: Tensor, weight: Tensor, point: Tensor, scale: Tensor, degree: int, mask: Tensor | None
) -> Tensor:
    """Position-attention by moments.

    Attention and projection are both linear, so they commute: if heads have fewer terms than channels, the moments are
    projected instead of the values of every point.

    Args:
        x: Values ``[B, N, in_channels]``.
        weight: Projection of each head, ``[heads, C, in_channels]``.
        point: Centred positions, ``[B, N, D]``, or ``[N, D]`` for one mesh shared by all samples.
        scale: Lambda over the metric's divisor, ``[heads]``.
        degree: Degree of the expansion, see :func:`degree_for`.
        mask: ``[B, N]``, true where a point is, at least once in every sample.

    Returns:
        ``[B, N, heads, C]``.
    """
    heads, channels, in_channels = weight.shape
    squared_norm = point.square().sum(-1, keepdim=True)
    reach = squared_norm.detach().amax().clamp(min=torch.finfo(point.dtype).tiny)
    index = exponents(degree, point.shape[-1]).to(point.device)
    monomials = _products(_powers(point / reach.sqrt(), degree), index)  # [..., N, terms]
    order = torch.arange(1, degree + 1, dtype=point.dtype, device=point.device)
    ratios = (2 * reach * scale).unsqueeze(-1) / order
    powers = torch.cat([ratios.new_ones(heads, 1), ratios.cumprod(-1)], -1)  # [heads, degree + 1]: m^k / k!
    factor = _products(powers.unsqueeze(-1).expand(-1, -1, point.shape[-1]), index)  # [heads, terms]

    decay = torch.exp(-squared_norm * scale)  # [..., N, heads]
    if mask is not None:
        decay = decay * mask.unsqueeze(-1)
    if heads * len(index) <= in_channels:
        sources = (monomials.unsqueeze(-2) * decay.unsqueeze(-1)).flatten(-2)  # [..., N, heads * terms]
        moments = (sources.transpose(-1, -2) @ x).unflatten(-2, (heads, -1)) @ weight.transpose(-1, -2)
        moments = (moments * factor.unsqueeze(-1)).transpose(-2, -3).flatten(-2)  # [B, terms, heads * C]
    else:
        value = linear(x, weight.flatten(0, 1)).unflatten(-1, (heads, channels))
        moments = monomials.transpose(-1, -2) @ (value * decay.unsqueeze(-1)).flatten(-2)
        moments = moments * factor.t().repeat_interleave(channels, 1)
    mass = monomials @ ((monomials.transpose(-1, -2) @ decay) * factor.t())  # [..., N, heads]
    sums = (monomials @ moments).unflatten(-1, (heads, channels))
    return cast(Tensor, sums * mass.reciprocal().unsqueeze(-1))  # cheaper in the backward pass than a division


def _powers(base: Tensor, degree: int) -> Tensor:
    """``[..., D]`` -> ``[..., degree + 1, D]``."""
    repeated = base.unsqueeze(-2).expand(*base.shape[:-1], degree, -1)
    return torch.cat([torch.ones_like(base).unsqueeze(-2), repeated.cumprod(-2)], -2)


def _products(table: Tensor, index: Tensor) -> Tensor:
    """Products of ``table[..., k_d, d]`` over dimensions ``d``: ``[..., degree + 1, D]`` -> ``[..., terms]``.

    The factors are selected by a product with zeros and ones: faster than indexing, and compiled correctly.
    """
    numbers = torch.arange(table.shape[-2], device=table.device).unsqueeze(1)
    chosen = [table[..., axis] @ (numbers == index[:, axis]).to(table.dtype) for axis in range(index.shape[1])]
    return functools.reduce(torch.mul, chosen)
