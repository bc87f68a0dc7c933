"""Position-attention over a graph whose matrices are applied to sums of the values, not to the values."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

from pitgeo.graphs.neighborhood import Neighborhood
from pitgeo.nn.blocks import HeadProjection
from pitgeo.nn.kernels.shared_sums import shared_sums, suits_shared_sums
from pitgeo.nn.moments import FirstMoments


def suits_sums(graph: Neighborhood, projection: HeadProjection, moments: FirstMoments | None) -> bool:
    """Whether :func:`attention_from_sums` takes less time than sums of projected values."""
    if torch.compiler.is_compiling():
        return False
    factors = 1 if moments is None else 1 + len(moments.periods)
    return suits_shared_sums(graph, projection.in_channels, projection.out_channels, projection.heads, factors)


def attention_from_sums(
    x: Tensor,
    projection: HeadProjection,
    moments: FirstMoments | None,
    steps: Iterable[Tensor],
    squared_distance: Tensor,
    scale: Tensor,
    lengths: Tensor,
    graph: Neighborhood,
) -> Tensor:
    """The results of a :class:`~pitgeo.nn.PositionAttention`, in the type of ``x`` or of the distances, the better one.

    Args:
        x: ``[N, in_channels]``, or ``[B, N, in_channels]``.
        projection: The heads' matrices.
        moments: First moments, or ``None`` for averages alone.
        steps: Steps from targets to sources along the edges, ``[E]`` for every axis.
        squared_distance: Squared distances ``[E]``.
        scale: ``[heads]``.
        lengths: ``[heads]``.
        graph: The sources of every target.
    """
    factors = [torch.ones_like(squared_distance), *([] if moments is None else moments.factors(steps))]
    x = x.to(torch.promote_types(x.dtype, scale.dtype))
    with torch.autocast(x.device.type, enabled=False):
        sums, totals = shared_sums(x, torch.stack(factors), squared_distance, scale, graph)
        weight = projection.weight.to(x.dtype).unflatten(0, (len(scale), -1)).transpose(1, 2)  # [heads, in_channels, C]
        averages: Tensor = (sums[..., 0, :, :] @ weight).transpose(-2, -3)  # [..., M, heads, C]
        if moments is None:
            return averages.flatten(-2)
        chosen = weight[..., : moments.moment_channels]
        firsts = (sums[..., 1:, :, :].flatten(-3, -2) @ chosen).unflatten(-2, (len(factors) - 1, -1))
        firsts = firsts.movedim(-4, -2).transpose(-4, -3)  # [..., M, D, heads, K]
        if moments.is_apart:
            constants = totals[:, 1:].permute(2, 1, 0).unsqueeze(-1).to(x.dtype)
            firsts = torch.cat([firsts, constants.expand(*firsts.shape[:-1], 1)], -1)
        added = moments.contribution(moments.about(firsts, averages), lengths)
        return averages.flatten(-2) + added
