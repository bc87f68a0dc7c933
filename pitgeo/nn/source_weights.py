"""Averages and edge weights with a quadrature: sources that stand for unequal shares of the domain."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from pitgeo.nn.dense import at_least_single

SMALLEST, LARGEST = 2.0**-100, 2.0**100
"""Weights between these neither vanish nor overflow in single precision."""


def check_quadrature(quadrature: Tensor | None, sources: Tensor) -> None:
    """Raise a ``ValueError`` unless every source has a positive weight within bounds, or ``quadrature`` is ``None``.

    A target whose sources all had weight 0 would divide zero by zero. Compiled code does not check values.
    """
    if quadrature is None:
        return
    if quadrature.shape != sources.shape[:1]:
        raise ValueError(
            f"Expected 'quadrature' to have shape [{sources.shape[0]}], a weight for every source "
            f"(got {list(quadrature.shape)})"
        )
    if torch.compiler.is_compiling():
        return
    good = (quadrature >= SMALLEST) & (quadrature <= LARGEST)
    if not bool(good.all()):
        first = int((~good).nonzero()[0])
        raise ValueError(
            f"Expected 'quadrature' to be positive and finite, from {SMALLEST:.0e} to {LARGEST:.0e} (got "
            f"{float(quadrature[first]):g} of source {first}, {int((~good).sum())} such in all); leave sources "
            f"without a share of the domain out of the graph"
        )


def domain_averages(average: Callable[..., Tensor], value: Tensor, heads: int, quadrature: Tensor | None) -> Tensor:
    """Averages over the domain: the average of ``w v`` over points, divided by that of ``w``; zeros without sources."""
    return domain_means(average(domain_values(value, heads, quadrature)), heads, quadrature, value.dtype)


def domain_values(value: Tensor, heads: int, quadrature: Tensor | None) -> Tensor:
    """What is averaged over points: ``w v`` and ``w`` of each head; the values themselves without weights."""
    if quadrature is None:
        return value
    by_head = at_least_single(value).unflatten(-1, (heads, -1))
    weight = quadrature.to(by_head.dtype).view(-1, 1, 1)
    return torch.cat([by_head * weight, weight.expand(*by_head.shape[:-1], 1)], -1).flatten(-2)


def domain_means(sums: Tensor, heads: int, quadrature: Tensor | None, dtype: torch.dtype) -> Tensor:
    """Averages over the domain from those of :func:`domain_values` over points."""
    if quadrature is None:
        return sums.to(dtype)
    sums = sums.unflatten(-1, (heads, -1))
    means: Tensor = sums[..., :-1] / sums[..., -1:].clamp(min=torch.finfo(sums.dtype).tiny)
    return means.flatten(-2).to(dtype)


def weighted_edges(weights: Tensor, edges: Tensor, num_targets: int, quadrature: Tensor | None) -> Tensor:
    """Edge weights times the weights of their sources, normalised so that they sum to 1 at every target."""
    if quadrature is None:
        return weights
    weights = weights * quadrature.to(weights.dtype).index_select(0, edges[0]).unsqueeze(-1)
    total = weights.new_zeros(num_targets, weights.shape[1]).index_add(0, edges[1], weights)
    return weights / total.index_select(0, edges[1])
