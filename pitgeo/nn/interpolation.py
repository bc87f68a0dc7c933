"""Interpolation between scattered points by inverse squared distances."""

from __future__ import annotations

import torch
from torch import Tensor

from pitgeo.graphs.metric import Metric
from pitgeo.graphs.neighborhood import Neighborhood
from pitgeo.nn.dense import at_least_single

NEAREST = 4
"""Number of input points that give an output point its value."""


def interpolate(
    x: Tensor, sources: Tensor, targets: Tensor, graph: Tensor | Neighborhood, metric: Metric
) -> tuple[Tensor, Tensor]:
    r"""Means over the neighbours of each target, with weights that are inverse squared distances.

    .. math:: x(q_i) = \sum_{j \in N(i)} w_{ij} x_j, \qquad w_{ij} \propto |q_i - p_j|^{-2}

    A target in the place of a source gets the values of that source. The function uses only torch's own operators, for
    programs that run without pitgeo. It is differentiable, also by positions.

    Args:
        x: Values ``[N, C]``, or ``[B, N, C]``.
        sources: Positions ``[N, D]``.
        targets: Positions ``[M, D]``.
        graph: The neighbours of each target; an ``edge_index`` or a neighborhood.
        metric: Periods of the domain.

    Returns:
        Values ``[M, C]``, or ``[B, M, C]``, and the squared distance ``[M]`` of each target to its nearest source.

    Reference:
        Shepard, A two-dimensional interpolation function for irregularly-spaced data, 1968.
    """
    sources, targets = at_least_single(sources), at_least_single(targets)
    source, target = (graph.source, graph.target) if isinstance(graph, Neighborhood) else (graph[0], graph[1])
    count = targets.shape[0]
    squared_distance = metric.squared_distance(targets.index_select(0, target), sources.index_select(0, source))
    nearest = squared_distance.new_full((count,), torch.inf).scatter_reduce(0, target, squared_distance, "amin")
    apart = squared_distance > 0
    # relative to the nearest source, so that a source in the place of a target has all the weight
    weights = torch.where(apart, nearest.index_select(0, target) / torch.where(apart, squared_distance, 1.0), 1.0)
    weights = weights / weights.new_zeros(count).index_add(0, target, weights).index_select(0, target)
    messages = (x.index_select(-2, source) * weights.unsqueeze(-1)).to(x.dtype)
    return x.new_zeros(*x.shape[:-2], count, x.shape[-1]).index_add(-2, target, messages), nearest
