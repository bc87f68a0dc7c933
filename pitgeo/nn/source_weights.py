"""Sources that stand for unequal shares of the domain: what a quadrature changes in averages and weights of edges."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from pitgeo.nn.dense import at_least_single

SMALLEST, LARGEST = 2.0**-100, 2.0**100
"""Weights between these are neither lost nor too much in single precision."""


def check_quadrature(quadrature: Tensor | None, sources: Tensor) -> None:
    """Raise a ``ValueError`` unless there is a positive weight for every source, of a sensible size, or none at all.

    A target that sees sources of weight 0 alone would divide zero by zero. In compiled code values are not looked at.
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
            f"{float(quadrature[first]):g} of source {first}, {int((~good).sum())} such in all); leave sources that "
            f"stand for nothing out of the graph"
        )


def domain_averages(average: Callable[..., Tensor], value: Tensor, heads: int, quadrature: Tensor | None) -> Tensor:
    """Averages over the domain: those over points of ``w v``, divided by those of ``w``; zeros where there are none."""
    if quadrature is None:
        return average(value)
    each = at_least_single(value).unflatten(-1, (heads, -1))
    weight = quadrature.to(each.dtype).view(-1, 1, 1)
    each = torch.cat([each * weight, weight.expand(*each.shape[:-1], 1)], -1)
    sums = average(each.flatten(-2)).unflatten(-1, (heads, -1))
    means: Tensor = sums[..., :-1] / sums[..., -1:].clamp(min=torch.finfo(sums.dtype).tiny)
    return means.flatten(-2).to(value.dtype)


def weighted_edges(weights: Tensor, edges: Tensor, num_targets: int, quadrature: Tensor | None) -> Tensor:
    """Weights of edges times those of their sources, so that they sum to 1 again."""
    if quadrature is None:
        return weights
    weights = weights * quadrature.to(weights.dtype).index_select(0, edges[0]).unsqueeze(-1)
    total = weights.new_zeros(num_targets, weights.shape[1]).index_add(0, edges[1], weights)
    return weights / total.index_select(0, edges[1])
