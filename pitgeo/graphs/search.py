"""The search behind every neighbourhood: by a k-d tree, by boxes of points, or from all distances on a GPU.

Searches run in float64: exact, without a cap on the number of neighbours, periodic where asked, in any dimension.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pitgeo.graphs.boxes import nearest_in_boxes, row_starts, write_rows
from pitgeo.graphs.checks import batch_pointer, check_positions
from pitgeo.graphs.metric import Metric
from pitgeo.graphs.neighborhood import Neighborhood
from pitgeo.graphs.trees import kd_tree

log = logging.getLogger(__name__)

Array = NDArray[np.float64]
Numbers = NDArray[np.int64]
_Found = tuple[Numbers, Numbers, NDArray[np.integer[Any]]]
# Two roundings of a coordinate, relative: how far ties can differ in the precision that positions were stored in.
_TIE_SINGLE, _TIE_DOUBLE = 2 * 2.0**-23, 2 * 2.0**-52
# Distances held at a time; larger searches take some targets after others. All pairs: 256 MB, a few times over.
_AT_ONCE, _ALL_PAIRS_AT_ONCE = 2**19, 2**25
# Targets from which on a tree takes near ones after each other: it finds its nodes in the cache.
_IN_ORDER = 2**12
# Neighbours of a target, of all targets, and sources per neighbour of a target: from these on boxes beat a tree.
_MANY, _MANY_PAIRS, _SHARE = 64, 2**19, 64


def neighbors_within(
    targets: Tensor,
    sources: Tensor,
    metric: Metric | None,
    target_batch: Tensor | None,
    source_batch: Tensor | None,
    count: Callable[[int], int],
    r: float | None = None,
) -> Neighborhood:
    """The sources within the distance of the ``count(n)``-th nearest of ``n``, or within ``r`` if it is larger.

    The other arguments are those of :func:`pitgeo.graphs.neighbors.knn`, and so are the errors.
    """
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
    target_points = targets.detach().cpu().double().numpy()
    source_points = sources.detach().cpu().double().numpy()
    device = sources.device if searches_all_pairs(sources) else None
    kind = _number_type(len(sources))
    indices, degrees, outside = [], [], 0
    for sample in range(len(target_ptr) - 1):
        first, last = source_ptr[sample], source_ptr[sample + 1]
        rows = target_points[target_ptr[sample] : target_ptr[sample + 1]]
        if not len(rows):
            continue
        if first == last:
            raise ValueError(f"Expected at least one source point (got none in sample {sample})")
        points = source_points[first:last]
        index, degree, far = _search_sample(rows, points, metric, count(last - first), r, device)
        indices.append(index.astype(kind, copy=False) + kind(first) if first else index)
        degrees.append(degree)
        outside += far
    if outside:
        log.info(
            "%d of %d targets had no source within the radius %g and got the nearest one", outside, len(targets), r
        )
    index = np.concatenate(indices) if indices else np.zeros(0, kind)
    degree = np.concatenate(degrees) if degrees else np.zeros(0, np.int64)
    return Neighborhood(
        torch.from_numpy(index).to(targets.device),
        torch.from_numpy(degree.astype(np.int32, copy=False)).to(targets.device),
        sources.shape[0],
    )


def _search_sample(
    targets: Array, sources: Array, metric: Metric, k: int, r: float | None, device: torch.device | None
) -> tuple[NDArray[np.integer[Any]], Numbers, int]:
    """The neighbours in one sample: source numbers, ascending within a target; how many; targets with none in ``r``.

    With a device, all distances are computed there.
    """
    tie = _TIE_SINGLE if _is_single(targets) and _is_single(sources) else _TIE_DOUBLE
    slack = tie * max(np.abs(targets).max(), np.abs(sources).max())
    if metric.is_periodic:
        length = np.asarray(metric.period)
        targets, sources = wrapped(targets, length), wrapped(sources, length)
    elif _is_for_boxes(len(targets), len(sources), k) and r is None and device is None:
        index, degree = nearest_in_boxes(targets, sources, k, slack)
        return index, degree, 0
    tree = search_tree(sources, metric, device)
    workers = torch.get_num_threads() if len(targets) * (k + 1) > 2**16 else 1  # starting threads takes time
    order = np.arange(len(targets))
    if device is None and len(targets) >= _IN_ORDER:
        near = tree if np.array_equal(targets, sources) else kd_tree(targets)
        order = np.asarray(near.indices)
    parts: list[_Found] = []
    done, width, outside = 0, k + 1, 0
    while done < len(order):
        rows = order[done : done + max(1, _AT_ONCE // width)]
        done += len(rows)
        found, far = _search_rows(tree, targets, rows, k, width, r, slack, workers)
        parts += found
        outside += far
        needed = np.quantile(np.concatenate([degree for _, degree, _ in found]), 0.9)
        width = max(k, int(needed)) + 1  # so that few of the next ones are searched again
    degree = np.empty(len(targets), np.int64)
    for rows, counts, _ in parts:
        degree[rows] = counts
    index, start = np.empty(int(degree.sum()), _number_type(len(sources))), row_starts(degree)
    for rows, counts, neighbors in parts:
        write_rows(index, start[rows], counts, neighbors)
    return index, degree, outside


def _is_for_boxes(targets: int, sources: int, k: int) -> bool:
    """Whether neighbours are so many, and so large a share of the sources, that boxes are faster than a tree."""
    return k >= max(_MANY, sources / _SHARE) and targets * k >= _MANY_PAIRS


def _search_rows(
    tree: Any, targets: Array, rows: Numbers, k: int, width: int, r: float | None, slack: float, workers: int
) -> tuple[list[_Found], int]:
    """Targets ``rows``, the number of neighbours of each, and these; how many have none in ``r``.

    At first ``width`` neighbours are asked for; more where the last of them is still within the limit.
    """
    n = int(tree.n)
    width = min(n, width)
    distance, index = nearest(tree, targets[rows], width, workers)
    kth = distance[:, k - 1]
    outside = 0 if r is None else int((kth > r + slack).sum())
    limit = kth + slack if r is None else np.maximum(r, kth) + slack
    found: list[_Found] = []
    while True:
        done = (distance[:, -1] > limit) | (width == n)
        inside = distance[done] <= limit[done, None]
        neighbors = np.where(inside, index[done], n).astype(_number_type(n))
        neighbors.sort(1)
        found.append((rows[done], inside.sum(1), neighbors[neighbors < n]))
        if done.all():
            return found, outside
        rows, limit = rows[~done], limit[~done]
        width = min(n, max(2 * width, 16))
        distance, index = nearest(tree, targets[rows], width, workers)


def _number_type(count: int) -> type[np.integer[Any]]:
    """The smallest type that holds that many numbers."""
    return np.int32 if count < 2**31 else np.int64


def _is_single(positions: Array) -> bool:
    """Whether positions, held in double, were stored in single precision."""
    return bool((positions == positions.astype(np.float32)).all())


def searches_all_pairs(points: Tensor) -> bool:
    """Whether neighbours are found from all distances, on the device of the points; if not, by a tree on the CPU."""
    return points.is_cuda


def search_tree(sources: Array, metric: Metric, device: torch.device | None = None) -> Any:
    """A tree of the sources, or with a device all distances there; positions of :func:`wrapped` if periodic."""
    period: Any = metric.period if metric.is_periodic else None  # an axis of length 0 does not repeat
    return kd_tree(sources, boxsize=period) if device is None else AllPairs(sources, period, device)


def nearest(tree: Any, targets: Array, width: int, workers: int) -> tuple[Array, Numbers]:
    """Distances and numbers of the ``width`` nearest sources, nearest first."""
    distance, index = tree.query(targets, k=np.arange(1, width + 1), workers=workers)
    return distance, index.astype(np.int64, copy=False)


def wrapped(positions: Array, length: Array) -> Array:
    """Positions moved into ``[0, length)`` along the periodic axes."""
    repeats = length > 0
    moved = positions.copy()
    moved[:, repeats] = np.mod(positions[:, repeats], length[repeats])
    moved[:, repeats] *= moved[:, repeats] < length[repeats]  # mod may round up to the length itself
    return moved


class AllPairs:
    """Nearest sources from all distances, on a GPU: what ``query`` of :class:`scipy.spatial.cKDTree` gives, treeless.

    Args:
        sources: Positions ``[N, D]``.
        boxsize: Period of every axis, 0 where it does not repeat; ``None`` for none.
        device: Where to compute.
    """

    def __init__(self, sources: Array, boxsize: Any, device: torch.device) -> None:
        self.sources = torch.from_numpy(sources).to(device)
        self.period = None if boxsize is None else np.broadcast_to(boxsize, sources.shape[1]).tolist()
        self.n = len(sources)

    def query(self, targets: Array, k: Numbers, workers: int = 1) -> tuple[Array, Numbers]:
        """Distances and numbers of the ``k``-th nearest sources of every target, for every ``k``, nearest first.

        Args:
            targets: Positions ``[M, D]``.
            k: The ranks ``1, 2, ..., K``.
            workers: Not used.
        """
        count = max(1, -(-len(targets) * self.n // _ALL_PAIRS_AT_ONCE))
        nearest = [self._nearest(rows, len(k)) for rows in np.array_split(targets, count)]
        distance, index = (torch.cat(parts).cpu().numpy() for parts in zip(*nearest, strict=True))
        return distance, index

    def _nearest(self, targets: Array, width: int) -> tuple[torch.Tensor, torch.Tensor]:
        rows = torch.from_numpy(targets).to(self.sources.device)
        squared_distance = rows.new_zeros(len(rows), self.n)
        for axis in range(rows.shape[1]):
            difference = (rows[:, axis, None] - self.sources[:, axis]).abs()
            if self.period is not None and self.period[axis] > 0:
                difference = torch.minimum(difference, self.period[axis] - difference)
            squared_distance += difference.square()
        nearest = squared_distance.topk(width, largest=False, sorted=True)
        return nearest.values.sqrt(), nearest.indices
