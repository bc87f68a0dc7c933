"""The forms of a graph that a layer takes: PyG's ``edge_index`` or a neighborhood."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor

from pitgeo.graphs.neighborhood import Neighborhood, check_edge_index


def in_caller_order(
    edge_index: Tensor | Neighborhood, graph: Neighborhood, order: Tensor | None, weights: Tensor
) -> tuple[Tensor, Tensor]:
    """Edges and their weights in the order that the caller gave the edges in."""
    if order is None:
        return graph.edge_index, weights
    return cast(Tensor, edge_index), torch.empty_like(weights).index_copy(0, order, weights)


def as_edge_index(edge_index: Tensor | Neighborhood, num_sources: int, num_targets: int) -> Tensor:
    """PyG's form of a graph, in the order of the caller: PyG's masks of edges have that order."""
    if isinstance(edge_index, Neighborhood):
        return _checked(edge_index, num_sources, num_targets).edge_index
    check_edge_index(edge_index, num_sources, num_targets)
    return edge_index


def as_neighborhood(
    edge_index: Tensor | Neighborhood, num_sources: int, num_targets: int
) -> tuple[Neighborhood, Tensor | None]:
    """A graph sorted by target, and the order that sorts its edges, ``None`` if they are sorted."""
    if isinstance(edge_index, Neighborhood):
        return _checked(edge_index, num_sources, num_targets), None
    return Neighborhood.from_edge_index(edge_index, num_sources, num_targets)


def _checked(graph: Neighborhood, num_sources: int, num_targets: int) -> Neighborhood:
    if graph.num_sources != num_sources or graph.num_targets != num_targets:
        raise ValueError(
            f"Expected a neighborhood from {num_sources} sources to {num_targets} targets, as the positions are "
            f"(got {graph.num_sources} to {graph.num_targets})"
        )
    return graph
