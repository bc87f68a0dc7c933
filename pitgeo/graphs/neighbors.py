"""Neighbourhoods: nearest sources, a quantile of distances, a radius; and the spacing of points."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from pitgeo.graphs.checks import check_positions
from pitgeo.graphs.metric import Metric
from pitgeo.graphs.neighborhood import Neighborhood
from pitgeo.graphs.search import nearest, neighbors_within, search_tree, wrapped

__all__ = ["knn", "quantile", "radius", "spacing"]


def knn(
    targets: Tensor,
    sources: Tensor,
    k: int,
    metric: Metric | None = None,
    target_batch: Tensor | None = None,
    source_batch: Tensor | None = None,
) -> Neighborhood:
    r"""The ``k`` nearest sources of every target, and every source tied with the last of them.

    .. math:: N(i) = \{ j : r_{ij} \le r_i^{(k)} + \epsilon \}, \qquad \epsilon = 2 \, \mathrm{eps} \max |p|

    with :math:`r_i^{(k)}` the k-th smallest distance of target :math:`i`, and eps the rounding of the precision that
    positions were stored in. Ties stay in: on a regular grid, a cut among equals would break the symmetry of the
    stencil. A target with fewer than ``k`` sources gets all of them.

    Args:
        targets: Positions ``[M, D]``.
        sources: Positions ``[N, D]``.
        k: Neighbours per target, at least 1.
        metric: Periods of the domain.
        target_batch: Sample of every target ``[M]``, not decreasing; targets only see sources of their own sample.
        source_batch: Sample of every source ``[N]``.

    Raises:
        ValueError: If shapes disagree, positions are not finite, a batch vector is out of order, or ``k < 1``.

    Example:
        >>> line = torch.arange(4.0)[:, None]
        >>> knn(line, line, 2).degree.tolist()  # inner points: both neighbours are at distance 1
        [2, 3, 3, 2]
    """
    if k < 1:
        raise ValueError(f"Expected 'k' to be at least 1 (got {k})")
    return neighbors_within(targets, sources, metric, target_batch, source_batch, lambda n: min(k, n))


def quantile(
    targets: Tensor,
    sources: Tensor,
    q: float,
    metric: Metric | None = None,
    target_batch: Tensor | None = None,
    source_batch: Tensor | None = None,
) -> Neighborhood:
    r"""The sources within the ``q``-quantile of a target's distances: the paper's local neighbourhood.

    .. math:: N(i) = \{ j : D_{ij} \le r_i^2 \}, \qquad r_i^2 = \operatorname{quantile}_q(D_{i1}, \dots, D_{in})

    Of ``n`` sources these are the :math:`\lfloor q (n - 1) \rfloor + 1` nearest ones, and all ties with the last.

    Args:
        targets: Positions ``[M, D]``.
        sources: Positions ``[N, D]``.
        q: Quantile, above 0 and at most 1.
        metric: Periods of the domain.
        target_batch: Sample of every target ``[M]``, not decreasing.
        source_batch: Sample of every source ``[N]``; the quantile is taken over a target's own sample.

    Raises:
        ValueError: As :func:`knn`, or if ``q`` is not in (0, 1].

    Example:
        >>> line = torch.arange(5.0)[:, None]
        >>> quantile(line, line, 0.25).degree.tolist()
        [2, 3, 3, 3, 2]

    Reference:
        Chen and Wu, ICML 2024, equation (8).
    """
    if not 0 < q <= 1:
        raise ValueError(f"Expected the quantile 'q' to be above 0 and at most 1 (got {q})")
    return neighbors_within(
        targets, sources, metric, target_batch, source_batch, lambda n: math.floor(q * (n - 1) + 1e-9) + 1
    )


def radius(
    targets: Tensor,
    sources: Tensor,
    r: float,
    metric: Metric | None = None,
    target_batch: Tensor | None = None,
    source_batch: Tensor | None = None,
) -> Neighborhood:
    """Every source within distance ``r`` (inclusive) of a target; at least the nearest one.

    A target without a source within ``r`` gets its nearest source, because attention would return zeros for it. The
    log counts such targets.

    Args:
        targets: Positions ``[M, D]``.
        sources: Positions ``[N, D]``.
        r: Radius, positive, in the units of the positions (the metric's divisor does not enter).
        metric: Periods of the domain.
        target_batch: Sample of every target ``[M]``, not decreasing.
        source_batch: Sample of every source ``[N]``.

    Raises:
        ValueError: As :func:`knn`, or if ``r`` is not positive.

    Example:
        >>> line = torch.arange(4.0)[:, None]
        >>> radius(line, line, 1.0).degree.tolist()
        [2, 3, 3, 2]
    """
    if not r > 0 or not math.isfinite(r):
        raise ValueError(f"Expected the radius 'r' to be positive (got {r})")
    return neighbors_within(targets, sources, metric, target_batch, source_batch, lambda n: 1, r)


def spacing(pos: Tensor, metric: Metric | None = None) -> float:
    """Median distance from a point to its nearest other point (duplicates left out); 0 if all points coincide."""
    check_positions("pos", pos)
    metric = metric or Metric()
    points = pos.detach().cpu().double().numpy()
    if metric.is_periodic:
        points = wrapped(points, np.asarray(metric.period))
    points = np.unique(points, axis=0)
    if len(points) < 2:
        return 0.0
    workers = torch.get_num_threads() if len(points) > 4096 else 1
    distance, _ = nearest(search_tree(points, metric), points, 2, workers)
    return float(np.median(distance[:, 1]))
