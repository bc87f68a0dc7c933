"""Position-attention of few targets to very many sources without gradients: some sources after others.

Each target reads values all over memory. The values of some thousand sources stay in a cache instead, until all targets
have read them. So every value comes from memory once, and is made only then.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from pitgeo.graphs.neighborhood import SOURCES_AT_ONCE, Neighborhood
from pitgeo.nn.kernels.edge_sums import exponentials_, sums_at_targets
from pitgeo.nn.kernels.segments import segment_minima, segment_sums

_FEWEST = 32  # edges of a target to a range of sources, on average: for fewer, sums of many ranges cost too much


def suits_source_parts(graph: Neighborhood) -> bool:
    """Whether :func:`attention_by_sources` is faster than taking some targets after others: on CPUs, as measured."""
    ranges = graph.num_sources / SOURCES_AT_ONCE
    if graph.index.device.type != "cpu" or ranges < 2:
        return False
    return graph.num_edges >= _FEWEST * ranges * graph.num_targets and graph.source_cuts is not None


def attention_by_sources(
    values: Callable[[slice], Tensor],
    distances: Callable[[slice, slice, Neighborhood], Tensor],
    scale: Tensor,
    graph: Neighborhood,
    edges: int,
) -> Tensor:
    """Averages of source values with weights ``softmax(-scale * squared_distance)`` over the edges of each target.

    Args:
        values: Gives the values ``[B, n, heads * C]`` of a range of sources.
        distances: Gives the squared distances of the edges between a range of targets and one of sources.
        scale: ``[heads]``.
        graph: The sources of every target.
        edges: Largest number of edges at once, where the nearest sources are looked for.

    Returns:
        ``[B, M, heads * C]``, float32 at least.
    """
    everything = slice(None)
    nearest = torch.cat(
        [segment_minima(distances(rows, everything, part), part.pointer) for rows, part in graph.parts(edges)]
    )
    total = nearest.new_zeros(len(scale), graph.num_targets)
    out: Tensor | None = None
    for columns, part in graph.source_parts():
        excess = distances(everything, columns, part) - nearest.index_select(0, part.target)
        weights = exponentials_(-scale.unsqueeze(1) * excess)
        total += segment_sums(weights, part.pointer)
        sums = sums_at_targets(values(columns), weights, part.index, part.pointer)
        out = sums.to(total.dtype) if out is None else out.add_(sums)
    assert out is not None  # there are sources
    out.unflatten(2, (len(scale), -1)).div_(total.t().clamp(min=1).unsqueeze(2))  # the nearest source has weight 1
    return out
