"""Neighbour search; the only module that does it.

Searches run in float64, exact, uncapped, periodic where asked, in any dimension: on the CPU with scipy's k-d tree, or
with boxes of points for very many neighbours, and torch's number of threads; of points on a GPU by all distances there.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pitgeo.graphs.all_pairs import AllPairs
from pitgeo.graphs.box_search import nearest_in_boxes
from pitgeo.graphs.metric import Metric
from pitgeo.graphs.neighborhood import Neighborhood
from pitgeo.graphs.trees import kd_tree

__all__ = ["batch_pointer", "check_positions", "knn", "quantile", "radius", "spacing"]

log = logging.getLogger(__name__)

Array = NDArray[np.float64]
# Two roundings of a coordinate, relative: what a tie can lose in the precision that positions were stored in.
_TIE_SINGLE, _TIE_DOUBLE = 2 * 2.0**-23, 2 * 2.0**-52
# Distances held at a time; searches for more go by parts of the targets.
_AT_ONCE = 2**22
# Neighbours of a target, of all targets, and one in so many sources: from these on boxes are faster than a tree.
_MANY, _MANY_PAIRS, _SHARE = 64, 2**19, 64


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
    positions were stored in. Ties stay in, since on a regular grid a cut among equals would break the symmetry of the
    stencil. Fewer sources than ``k``: all of them.

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
    return _search(targets, sources, metric, target_batch, source_batch, lambda n: min(k, n), None)


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

    which over ``n`` sources are the :math:`\lfloor q (n - 1) \rfloor + 1` nearest ones and all ties with the last.

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
    return _search(
        targets, sources, metric, target_batch, source_batch, lambda n: math.floor(q * (n - 1) + 1e-9) + 1, None
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

    A target with no source so near gets its nearest source, lest the attention return zeros for it without a word;
    the log counts such targets.

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
    return _search(targets, sources, metric, target_batch, source_batch, lambda n: 1, r)


def _search(
    targets: Tensor,
    sources: Tensor,
    metric: Metric | None,
    target_batch: Tensor | None,
    source_batch: Tensor | None,
    count: Callable[[int], int],
    r: float | None,
) -> Neighborhood:
    metric = metric or Metric()
    check_positions("targets", targets)
    check_positions("sources", sources)
    if targets.shape[1] != sources.shape[1]:
        raise ValueError(
            f"Expected targets and sources of one dimension (got {targets.shape[1]} and {sources.shape[1]})"
        )
    if (target_batch is None) != (source_batch is None):
        raise ValueError("Expected both 'target_batch' and 'source_batch', or neither (got one)")
    metric.check_dimension(targets.shape[1])
    target_ptr = batch_pointer(target_batch, targets.shape[0])
    source_ptr = batch_pointer(source_batch, sources.shape[0])
    if target_batch is not None and len(target_ptr) > len(source_ptr):
        raise ValueError(
            f"Expected sources for every sample that has targets (got {len(source_ptr) - 1} samples of sources, "
            f"{len(target_ptr) - 1} of targets)"
        )
    there = targets.detach().cpu().double().numpy()
    here = sources.detach().cpu().double().numpy()
    device = sources.device if searches_all_pairs(sources) else None
    indices, degrees, lonely = [], [], 0
    for sample in range(len(target_ptr) - 1):
        first, last = source_ptr[sample], source_ptr[sample + 1]
        rows = there[target_ptr[sample] : target_ptr[sample + 1]]
        if not len(rows):
            continue
        if first == last:
            raise ValueError(f"Expected at least one source point (got none in sample {sample})")
        index, degree, alone = _search_one(rows, here[first:last], metric, count(last - first), r, device)
        indices.append(index + first)
        degrees.append(degree)
        lonely += alone
    if lonely:
        log.info("%d of %d targets had no source within the radius %g and got the nearest one", lonely, len(there), r)
    index = np.concatenate(indices) if indices else np.zeros(0, np.int64)
    degree = np.concatenate(degrees) if degrees else np.zeros(0, np.int64)
    kind = np.int32 if len(here) < 2**31 else np.int64
    return Neighborhood(
        torch.from_numpy(index.astype(kind, copy=False)).to(targets.device),
        torch.from_numpy(degree.astype(np.int32, copy=False)).to(targets.device),
        sources.shape[0],
    )


def _search_one(
    targets: Array, sources: Array, metric: Metric, k: int, r: float | None, device: torch.device | None
) -> tuple[NDArray[Any], NDArray[np.int64], int]:
    """Rows of sources (ascending numbers) within the k-th distance or ``r``, whichever is larger; their lengths.

    With a device, all distances are computed there.
    """
    tie = _TIE_SINGLE if _is_single(targets) and _is_single(sources) else _TIE_DOUBLE
    slack = tie * max(np.abs(targets).max(), np.abs(sources).max())
    if metric.is_periodic:
        length = np.asarray(metric.period)
        targets, sources = _wrap(targets, length), _wrap(sources, length)
    elif _is_for_boxes(len(targets), len(sources), k) and r is None and device is None:
        index, degree = nearest_in_boxes(targets, sources, k, slack)
        return index, degree, 0
    tree = _tree(sources, metric, device)
    workers = torch.get_num_threads() if len(targets) * (k + 8) > 2**16 else 1  # threads where that pays
    step = max(1, _AT_ONCE // min(len(sources), k + 8))
    parts = [
        _search_rows(tree, targets[first : first + step], k, r, slack, workers)
        for first in range(0, len(targets), step)
    ]
    columns, degrees, lonely = zip(*parts, strict=True)
    return np.concatenate(columns), np.concatenate(degrees), sum(lonely)


def _is_for_boxes(targets: int, sources: int, k: int) -> bool:
    """Whether neighbours are so many, and so large a share, that boxes find them faster than a tree."""
    return k >= max(_MANY, sources / _SHARE) and targets * k >= _MANY_PAIRS


def _search_rows(
    tree: Any, targets: Array, k: int, r: float | None, slack: float, workers: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """The same for some of the targets."""
    n = int(tree.n)
    width = min(n, k + 8)
    distance, index = _nearest(tree, targets, width, workers)
    kth = distance[:, k - 1]
    lonely = 0 if r is None else int((kth > r + slack).sum())
    limit = kth + slack if r is None else np.maximum(r, kth) + slack
    keep_rows: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
    rows = np.arange(len(targets))
    while True:  # widen only the rows whose last candidate may not be the last within the limit
        done = (distance[:, -1] > limit[rows]) | (width == n)
        inside = distance[done] <= limit[rows[done], None]
        row, column = np.nonzero(inside)
        keep_rows.append((rows[done][row], index[done][row, column]))
        if done.all():
            break
        rows = rows[~done]
        width = min(n, 2 * width)
        distance, index = _nearest(tree, targets[rows], width, workers)
    row = np.concatenate([part[0] for part in keep_rows])
    column = np.concatenate([part[1] for part in keep_rows])
    order = np.lexsort((column, row))
    return column[order], np.bincount(row, minlength=len(targets)), lonely


def _is_single(positions: Array) -> bool:
    """Whether positions, held in double, were stored in single precision."""
    return bool((positions == positions.astype(np.float32)).all())


def searches_all_pairs(points: Tensor) -> bool:
    """Whether neighbours are found by all distances, on the points' device, in place of a tree on the CPU: on a GPU."""
    return points.is_cuda


def _tree(sources: Array, metric: Metric, device: torch.device | None = None) -> Any:
    period: Any = metric.period if metric.is_periodic else None  # an axis of length 0 does not repeat
    return kd_tree(sources, boxsize=period) if device is None else AllPairs(sources, period, device)


def _nearest(tree: Any, targets: Array, width: int, workers: int) -> tuple[Array, NDArray[np.int64]]:
    """Distances and numbers of the ``width`` nearest sources, nearest first."""
    distance, index = tree.query(targets, k=np.arange(1, width + 1), workers=workers)
    return distance, index.astype(np.int64, copy=False)


def _wrap(positions: Array, length: Array) -> Array:
    """Bring positions into ``[0, length)`` on the periodic axes."""
    repeats = length > 0
    wrapped = positions.copy()
    wrapped[:, repeats] = np.mod(positions[:, repeats], length[repeats])
    wrapped[:, repeats] *= wrapped[:, repeats] < length[repeats]  # mod may round up to the length itself
    return wrapped


def check_positions(name: str, positions: Tensor) -> None:
    """Raise a ``ValueError`` unless positions are finite and ``[N, D]``."""
    if positions.dim() != 2 or not positions.is_floating_point():
        raise ValueError(
            f"Expected {name} to be floating-point positions of shape [N, D] "
            f"(got {list(positions.shape)} of {positions.dtype})"
        )
    if not bool(torch.isfinite(positions).all()):
        row = int((~torch.isfinite(positions)).any(1).nonzero()[0])
        raise ValueError(f"Expected every position in {name} to be finite (got {positions[row].tolist()} at row {row})")


def batch_pointer(batch: Tensor | None, count: int, size: int | None = None) -> list[int]:
    """Where each sample of a batch vector begins, and the end: ``size + 1`` numbers (an empty sample has length 0).

    Raises:
        ValueError: If the vector has another length, decreases somewhere, or names a sample beyond ``size``.
    """
    if batch is None:
        return [0, count]
    if batch.dim() != 1 or batch.numel() != count:
        raise ValueError(f"Expected a batch vector of shape [{count}] (got {list(batch.shape)})")
    if count and bool((batch[1:] < batch[:-1]).any()):
        row = int((batch[1:] < batch[:-1]).nonzero()[0]) + 1
        raise ValueError(
            f"Expected the batch vector to be sorted (got sample {int(batch[row])} after {int(batch[row - 1])} "
            f"at row {row}); sort the points by sample first"
        )
    last = int(batch[-1]) if count else -1
    if size is not None and last >= size:
        raise ValueError(f"Expected sample numbers below {size} in the batch vector (got {last})")
    counts = torch.bincount(batch, minlength=last + 1 if size is None else size)
    return [0, *counts.cumsum(0).tolist()]


def spacing(pos: Tensor, metric: Metric | None = None) -> float:
    """Median distance from a point to its nearest other point (duplicates left out); 0 if all points coincide."""
    check_positions("pos", pos)
    metric = metric or Metric()
    points = pos.detach().cpu().double().numpy()
    if metric.is_periodic:
        points = _wrap(points, np.asarray(metric.period))
    points = np.unique(points, axis=0)
    if len(points) < 2:
        return 0.0
    distance, _ = _nearest(_tree(points, metric), points, 2, torch.get_num_threads() if len(points) > 4096 else 1)
    return float(np.median(distance[:, 1]))
