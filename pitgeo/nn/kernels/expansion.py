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
from collections.abc import Iterable, Sequence
from typing import cast

import torch
from torch import Tensor
from torch.nn.functional import linear

_LARGEST_DEGREE = 40  # e^m stays far from overflow in float32
# Nanoseconds of a head, forward and backward, for a pair of points, and for a point and a term: constant, and for every
# value that is averaged; then what either form takes in addition if any head has it. AMD EPYC, one thread, 2026-11-30:
# `python scripts/benchmark.py --attention-forms --threads 1 --keep-memory`.
_PAIR, _TERM, _START = (2.9, 0.08), (3.4, 0.10), (1.5e6, 1.8e6)


def exponents(degree: int, dimension: int) -> Tensor:
    """All multi-indices of total degree at most ``degree``, ``[terms, dimension]``, those of lower degree first.

    Example:
        >>> exponents(1, 2).tolist()
        [[0, 0], [0, 1], [1, 0]]
    """
    if dimension == 1:
        return torch.arange(degree + 1).unsqueeze(1)
    parts = [(k, exponents(degree - k, dimension - 1)) for k in range(degree + 1)]
    index = torch.cat([torch.cat([rest.new_full((len(rest), 1), k), rest], 1) for k, rest in parts])
    return index[index.sum(1).argsort(stable=True)]


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
    if mean > _LARGEST_DEGREE:
        return None
    above = torch.special.gammainc(
        torch.arange(1, _LARGEST_DEGREE + 2, dtype=torch.float64), torch.tensor(mean, dtype=torch.float64)
    )
    sufficient = (above <= tolerance).nonzero()
    return int(sufficient[0]) if len(sufficient) else None


def fastest_expansion(
    degrees: Sequence[int | None], samples: int, points: int, dimension: int, width: int
) -> list[int]:
    """The heads to expand, so that these and the others, by all pairs of points, take the least time together.

    Args:
        degrees: The necessary degree of every head; ``None`` if it cannot be expanded.
        samples: Number of samples.
        points: Points of a sample.
        dimension: Axes of the positions.
        width: Values that a head averages.

    Example:
        >>> fastest_expansion([4, None, 5], 2, 1000, 2, 32), fastest_expansion([4, None], 2, 50, 2, 32)
        ([0, 2], [])
    """
    pair, term = (samples * points * (constant + rate * width) for constant, rate in (_PAIR, _TERM))

    def time(far: Iterable[int]) -> float:
        expanded = [degree for head in far if (degree := degrees[head]) is not None]
        near = len(degrees) - len(expanded)
        by_terms = _START[1] + len(expanded) * terms(max(expanded), dimension) * term if expanded else 0.0
        return by_terms + (_START[0] + near * points * pair if near else 0.0)

    able = sorted((degree, head) for head, degree in enumerate(degrees) if degree is not None)
    heads = [head for _, head in able]
    return sorted(min((heads[:count] for count in range(len(heads) + 1)), key=time))


def expanded_attention(
    x: Tensor, weight: Tensor, point: Tensor, scale: Tensor, degree: int, mask: Tensor | None, count: int = 0
) -> Tensor:
    """Position-attention by moments.

    Attention and projection are both linear, so they commute: if heads have fewer terms than channels, the moments are
    projected instead of the values of every point. A source's coordinate times its value has the moments of the value
    itself, one degree higher: its averages need no sums over points of their own.

    Args:
        x: Values ``[B, N, in_channels]``.
        weight: Projection of each head, ``[heads, C, in_channels]``.
        point: Centred positions, ``[B, N, D]``, or ``[N, D]`` for one mesh shared by all samples.
        scale: Lambda over the metric's divisor, ``[heads]``.
        degree: Degree of the expansion, see :func:`degree_for`.
        mask: ``[B, N]``, true where a point is, at least once in every sample.
        count: The first projected values that are also averaged times every coordinate of ``point``.

    Returns:
        ``[B, N, heads, C + D * count]``: averages of the values, then of the products by axis.
    """
    heads, channels, in_channels = weight.shape
    dimension = point.shape[-1]
    squared_norm = point.square().sum(-1, keepdim=True)
    reach = squared_norm.detach().amax().clamp(min=torch.finfo(point.dtype).tiny)
    index = exponents(degree + (count > 0), dimension).to(point.device)
    inner = terms(degree, dimension)
    all_monomials = _products(_powers(point / reach.sqrt(), degree + (count > 0)), index)  # [..., N, all terms]
    monomials = all_monomials[..., :inner]  # [..., N, terms]
    order = torch.arange(1, degree + 1, dtype=point.dtype, device=point.device)
    ratios = (2 * reach * scale).unsqueeze(-1) / order
    powers = torch.cat([ratios.new_ones(heads, 1), ratios.cumprod(-1)], -1)  # [heads, degree + 1]: m^k / k!
    factor = _products(powers.unsqueeze(-1).expand(-1, -1, dimension), index[:inner]).t()  # [terms, heads]

    decay = torch.exp(-squared_norm * scale)  # [..., N, heads]
    if mask is not None:
        decay = decay * mask.unsqueeze(-1)
    if heads * len(index) <= in_channels:
        sources = (all_monomials.unsqueeze(-2) * decay.unsqueeze(-1)).flatten(-2)  # [..., N, heads * all terms]
        moments = (sources.transpose(-1, -2) @ x).unflatten(-2, (heads, -1)) @ weight.transpose(-1, -2)
        moments = moments.transpose(-2, -3)  # [B, all terms, heads, C]
    else:
        value = linear(x, weight.flatten(0, 1)).unflatten(-1, (heads, channels))
        moments = (all_monomials.transpose(-1, -2) @ (value * decay.unsqueeze(-1)).flatten(-2)).unflatten(
            -1, (heads, -1)
        )
    parts = [moments[:, :inner]]
    for axis in range(dimension if count else 0):  # the terms with an exponent more along the axis
        raised = index[:inner] + (torch.arange(dimension, device=index.device) == axis)
        chosen = (raised.unsqueeze(1) == index).all(-1).to(moments.dtype) * reach.sqrt()  # [terms, all terms]
        parts.append((chosen @ moments[..., :count].flatten(2)).unflatten(-1, (heads, count)))
    moments = (torch.cat(parts, -1) * factor.unsqueeze(-1)).flatten(2)  # [B, terms, heads * (C + D * count)]
    mass = monomials @ ((monomials.transpose(-1, -2) @ decay) * factor)  # [..., N, heads]
    sums = (monomials @ moments).unflatten(-1, (heads, -1))
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
