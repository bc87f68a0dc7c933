"""Values of some points at others, from those nearby."""

from __future__ import annotations

import torch
from torch import Tensor

from pitgeo.metric import Metric
from pitgeo.neighborhood import Neighborhood
from pitgeo.nn.dense import at_least_single

NEAREST = 4
"""Input points that an output point takes values from."""

_SMALLEST = 1e-30  # of a squared distance: where points coincide, others do not count


def interpolate(x: Tensor, sources: Tensor, targets: Tensor, graph: Tensor | Neighborhood, metric: Metric) -> Tensor:
    r"""Means over the neighbours of each target, with weights that are inverse squared distances.

    .. math:: x(q_i) = \sum_{j \in N(i)} w_{ij} x_j, \qquad w_{ij} \propto |q_i - p_j|^{-2}

    A target that is a source has its values. Torch's own operators alone, for programs that run without pitgeo.

    Args:
        x: Values ``[N, C]``, or ``[B, N, C]``.
        sources: Positions ``[N, D]``.
        targets: Positions ``[M, D]``.
        graph: Which sources count at each target; an ``edge_index`` or a neighborhood.
        metric: Periods of the domain.

    Returns:
        ``[M, C]``, or ``[B, M, C]``.

    Reference:
        Shepard, A two-dimensional interpolation function for irregularly-spaced data, 1968.
    """
    sources, targets = at_least_single(sources), at_least_single(targets)
    source, target = (graph.source, graph.target) if isinstance(graph, Neighborhood) else (graph[0], graph[1])
    squared = metric.squared(targets.index_select(0, target), sources.index_select(0, source)).clamp(min=_SMALLEST)
    nearest = squared.new_full((targets.shape[0],), torch.inf).scatter_reduce(0, target, squared, "amin")
    weights = nearest.index_select(0, target) / squared
    weights = weights / weights.new_zeros(targets.shape[0]).index_add(0, target, weights).index_select(0, target)
    each = x.index_select(-2, source) * weights.to(x.dtype).unsqueeze(-1)
    return x.new_zeros(*x.shape[:-2], targets.shape[0], x.shape[-1]).index_add(-2, target, each)
