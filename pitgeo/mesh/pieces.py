"""Pieces of a mesh put together: points on their seams become one, copies of cells are left out.

Parallel solvers write a mesh in pieces, other programs in zones, parts or patches. Points where pieces meet are in each
of them, and cells may be.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from pitgeo.graphs.trees import kd_tree
from pitgeo.mesh.cell_types import dimension
from pitgeo.mesh.cells import first_of
from pitgeo.mesh.ghosts import KIND, left_out_note, without_ghosts
from pitgeo.mesh.notes import Note
from pitgeo.mesh.raw import Raw

PIECE = "pitgeo:piece"
"""The cell data that hold the number of the piece of every cell, where there are several."""

ROUNDING = 2.0**-22
"""Points of two pieces are one if they are no farther apart than this part of the largest coordinate."""

EDGES = 1e-3
"""Nor farther apart than this part of the shortest edge."""

AGREE = 1e-5
"""Values of two pieces agree if they differ by no more than this part of the field's largest value."""

Numbers = NDArray[np.int64]


def join(pieces: Sequence[tuple[str, Raw]]) -> Raw:
    """One mesh of several pieces.

    - Ghost and hidden cells are left out, see :func:`~pitgeo.mesh.ghosts.without_ghosts`.
    - Points of different pieces at one place become one, unless real values there differ; those stay apart.
    - A cell that is in several pieces is kept once.
    - A named piece becomes a set of cells, and the cell data :data:`PIECE` number the pieces.
    - Where a piece lacks a field, its values are not-a-number, unless another piece has them at the same point.

    Args:
        pieces: Name, which may be empty, and content of each.
    """
    named = [(name, without_ghosts(raw)) for name, raw in pieces if len(raw.points)]
    if not named:
        return Raw(np.zeros((0, 3)))
    if len(named) == 1:
        return named[0][1]
    parts = [raw for _, raw in named]
    whole = _side_by_side(parts)
    _add_names(whole, [name for name, _ in named], parts)
    owner = np.repeat(np.arange(len(parts)), [len(part.points) for part in parts])
    ghost = np.concatenate(
        [np.zeros(len(part.points), bool) if part.ghost_points is None else part.ghost_points for part in parts]
    )
    same, apart = _seams(whole, owner, ghost)
    welded = int((same != np.arange(len(same))).sum())
    whole = weld_points(whole, same, ghost)
    whole, repeated = _without_copies(whole, [len(part.cells) for part in parts])
    ghosts = sum(_count(raw) for _, raw in pieces) - sum(_count(part) for part in parts)
    others = [note for note in whole.notes if note.kind != KIND]
    whole.notes = [Note("pieces", _words(len(parts), welded, repeated, apart)), *others]
    whole.notes += [left_out_note(ghosts)] * bool(ghosts)
    return whole


def _count(raw: Raw) -> int:
    return sum(len(nodes) for _, nodes in raw.cells)


def _words(parts: int, welded: int, repeated: int, apart: Sequence[str]) -> str:
    words = [f"{parts} pieces are put together"]
    words += [f"{welded:,} points on their seams are one with another"] * bool(welded)
    words += [f"{repeated:,} cells that are in another piece are left out"] * bool(repeated)
    return "; ".join([*words, *apart])


def _side_by_side(parts: Sequence[Raw]) -> Raw:
    """All pieces one after another, with the piece's number as cell data."""
    firsts = np.cumsum([0, *(len(part.points) for part in parts)])
    sizes = [len(part.points) for part in parts]
    whole = Raw(
        points=np.concatenate([np.asarray(part.points, np.float64) for part in parts]),
        cells=[
            (kind, np.asarray(nodes, np.int64) + first)
            for part, first in zip(parts, firsts, strict=False)
            for kind, nodes in part.cells
        ],
        notes=list(dict.fromkeys(note for part in parts for note in part.notes)),
    )
    for name in _names(part.point_data for part in parts):
        whole.point_data[name] = np.concatenate(_filled([part.point_data.get(name) for part in parts], sizes))
    counts = [len(nodes) for _, nodes in whole.cells]
    for name in _names(part.cell_data for part in parts):
        flat: list[NDArray[Any] | None] = []
        for part in parts:
            blocks = part.cell_data.get(name)
            flat += [None] * len(part.cells) if blocks is None else list(blocks)
        whole.cell_data[name] = _filled(flat, counts)
    if sum(bool(part.cells) for part in parts) > 1:
        numbers = [number for number, part in enumerate(parts) for _ in part.cells]
        whole.cell_data[PIECE] = [np.full(size, number, np.int32) for number, size in zip(numbers, counts, strict=True)]
    for number, part in enumerate(parts):
        for name, values in part.field_data.items():
            before = whole.field_data.get(name)
            is_other = before is not None and not (
                before.dtype.kind == values.dtype.kind
                and np.array_equal(before, values, equal_nan=values.dtype.kind == "f")
            )
            whole.field_data[f"{name} (block {number})" if is_other else name] = values
    for name in _names(part.point_sets for part in parts):
        own = [np.asarray(part.point_sets.get(name, ()), np.int64) for part in parts]
        whole.point_sets[name] = np.concatenate([part + first for part, first in zip(own, firsts, strict=False)])
    for name in _names(part.cell_sets for part in parts):
        whole.cell_sets[name] = [
            np.zeros(0, np.int64) if members is None else np.asarray(members, np.int64)
            for part in parts
            for members in part.cell_sets.get(name, [None] * len(part.cells))
        ]
    return whole


def _add_names(whole: Raw, names: Sequence[str], parts: Sequence[Raw]) -> None:
    """A set of cells for every piece with a name of its own."""
    owner = [name for name, part in zip(names, parts, strict=True) for _ in part.cells]
    for name in dict.fromkeys(owner):
        if not name or re.fullmatch(r"Block-?\d+", name) or all(other == name for other in owner):
            continue
        members = [
            np.arange(len(nodes)) if own == name else np.zeros(0, np.int64)
            for own, (_, nodes) in zip(owner, whole.cells, strict=True)
        ]
        whole.cell_sets[f"{name} (piece)" if name in whole.cell_sets else name] = members


def _seams(whole: Raw, owner: Numbers, ghost: NDArray[np.bool_]) -> tuple[Numbers, list[str]]:
    """The point that replaces every point, and the messages on points that stay separate."""
    same = np.arange(len(owner))
    rows = _near_others(whole.points, owner)
    if not len(rows):
        return same, []
    places, place_of = np.unique(whole.points[rows], axis=0, return_inverse=True)  # an axis has many points at a place
    place_of = place_of.ravel()
    low, high = np.full(len(places), len(owner)), np.full(len(places), -1)
    np.minimum.at(low, place_of, owner[rows])
    np.maximum.at(high, place_of, owner[rows])
    pairs = kd_tree(places).query_pairs(tolerance(whole), output_type="ndarray")
    pairs = pairs[np.minimum(*low[pairs.T]) < np.maximum(*high[pairs.T])]  # of several pieces
    graph = coo_array((np.ones(len(pairs), bool), (pairs[:, 0], pairs[:, 1])), shape=(len(places), len(places)))
    _, labels = connected_components(graph, directed=False)
    is_seam = low < high
    is_seam[pairs] = True
    chosen = is_seam[place_of]
    rows, labels = rows[chosen], labels[place_of[chosen]]
    if not len(rows):
        return same, []
    order = np.lexsort((rows, ghost[rows], labels))  # of each place, first the owner, then copies
    labels, rows = labels[order], rows[order]
    starts = np.diff(labels, prepend=-1) != 0
    first = rows[np.flatnonzero(starts)][np.cumsum(starts) - 1]
    keys = np.unique(np.stack([labels, owner[rows]]), axis=1, return_counts=True)
    double = np.isin(labels, keys[0][0][keys[1] > 1])  # a piece has two points there, as at a crack
    words = []
    if double.any():
        words.append(f"{int(double.sum()):,} points on seams stay apart, since a piece has several at one place")
    differ = np.zeros(len(rows), bool)
    for name, values in whole.point_data.items():
        if values.dtype.kind != "f":  # numbers that name something belong to a piece
            continue
        values = values.reshape(len(values), -1)
        scale = np.abs(values[np.isfinite(values)]).max(initial=0.0)
        gap = np.nan_to_num(np.abs(values[rows] - values[first]), nan=0.0).max(1)
        wrong = (gap > AGREE * scale) & ~double & ~ghost[rows]
        if wrong.any():
            words.append(
                f"{int(wrong.sum()):,} points on seams stay apart, where values of {name!r} differ by up to "
                f"{gap[wrong].max():.3g}"
            )
            differ |= wrong
    differ = np.isin(labels, labels[differ | double])
    whole.points[rows[differ]] = whole.points[first[differ]]  # at exactly one place, which tells the seam
    same[rows[~differ]] = first[~differ]
    return same, words


def _near_others(points: NDArray[np.float64], owner: Numbers) -> Numbers:
    """Points in the bounding box of another piece."""
    starts = np.flatnonzero(np.diff(owner, prepend=-1))
    slices = [slice(a, b) for a, b in zip(starts, [*starts[1:], len(owner)], strict=True)]
    reach = ROUNDING * float(np.abs(points).max())
    low = np.stack([points[own].min(0) for own in slices]) - reach
    high = np.stack([points[own].max(0) for own in slices]) + reach
    near = np.zeros(len(points), bool)
    for a, b in combinations(range(len(slices)), 2):
        if (low[a] <= high[b]).all() and (low[b] <= high[a]).all():
            for one, other in ((a, b), (b, a)):
                own = points[slices[one]]
                near[slices[one]] |= ((own >= low[other]) & (own <= high[other])).all(1)
    return np.flatnonzero(near)


def tolerance(whole: Raw) -> float:
    """The largest distance at which points of two pieces are merged."""
    reach = ROUNDING * float(np.abs(whole.points).max())
    shortest = np.inf
    for _, nodes in whole.cells:
        if nodes.shape[1] > 1 and len(nodes):
            lengths = np.linalg.norm(whole.points[nodes] - whole.points[np.roll(nodes, 1, axis=1)], axis=2)
            shortest = min(shortest, float(lengths[lengths > 0].min(initial=np.inf)))
    return min(reach, EDGES * shortest)


def weld_points(whole: Raw, same: Numbers, ghost: NDArray[np.bool_]) -> Raw:
    """Replace every point by its representative, and drop the others."""
    kept = np.flatnonzero(same == np.arange(len(same)))
    if len(kept) == len(same):
        return whole
    number = np.full(len(same), -1)
    number[kept] = np.arange(len(kept))
    number = number[same]
    point_data = {}
    others = np.flatnonzero(same != np.arange(len(same)))
    others = others[np.argsort(~ghost[others], kind="stable")]  # those of ghosts first: what follows replaces them
    for name, values in whole.point_data.items():
        point_data[name] = _with_gaps_filled(values, same[others], others)[kept]
    return replace(
        whole,
        points=whole.points[kept],
        cells=[(kind, number[nodes]) for kind, nodes in whole.cells],
        point_data=point_data,
        point_sets={name: np.unique(number[members]) for name, members in whole.point_sets.items()},
    )


def _without_copies(whole: Raw, blocks: Sequence[int]) -> tuple[Raw, int]:
    """The mesh with every cell of several pieces kept once, and how many were left out."""
    ends = np.cumsum([0, *(len(nodes) for _, nodes in whole.cells)])
    owner = np.repeat(np.repeat(np.arange(len(blocks)), blocks), np.diff(ends))
    first = first_of([(dimension(kind), nodes) for kind, nodes in whole.cells])
    copy = owner[first] != owner
    if not copy.any():
        return whole, 0
    kept = [~part for part in np.split(copy, ends[1:-1])]
    block_of = np.repeat(np.arange(len(whole.cells)), np.diff(ends))
    number = np.concatenate([np.cumsum(part) - 1 for part in kept])  # in its block
    first = np.where(copy, first, np.arange(len(first)))
    result = replace(whole, cells=[(kind, nodes[keep]) for (kind, nodes), keep in zip(whole.cells, kept, strict=True)])
    result.cell_data = {}
    for name, parts in whole.cell_data.items():
        source = np.flatnonzero(copy)
        values = _with_gaps_filled(np.concatenate(parts), first[source], source)
        result.cell_data[name] = [part[keep] for part, keep in zip(np.split(values, ends[1:-1]), kept, strict=True)]
    for name, members in whole.cell_sets.items():
        every = first[np.concatenate([own + start for own, start in zip(members, ends, strict=False)])]
        result.cell_sets[name] = [np.unique(number[every[block_of[every] == b]]) for b in range(len(whole.cells))]
    return result, int(copy.sum())


def _with_gaps_filled(values: NDArray[Any], targets: Numbers, sources: Numbers) -> NDArray[Any]:
    """The values, with not-a-number at targets replaced by the sources' values."""
    if values.dtype.kind != "f":
        return values
    values = values.copy()
    gaps = np.isnan(values[targets]) & ~np.isnan(values[sources])
    rows = gaps.reshape(len(gaps), -1).any(1)
    values[targets[rows]] = np.where(gaps[rows], values[sources[rows]], values[targets[rows]])
    return values


def _names(fields: Any) -> list[str]:
    return list(dict.fromkeys(name for part in fields for name in part))


def _filled(arrays: Sequence[NDArray[Any] | None], counts: Sequence[int]) -> list[NDArray[Any]]:
    """The arrays of one field, not-a-number (of texts: empty) where there is none."""
    have = [array for array in arrays if array is not None]
    shape = next((array.shape[1:] for array in have if array.size), have[0].shape[1:])
    if any(array.dtype.kind == "U" for array in have):
        gaps = [np.full((count, *shape), "") for count in counts]
        return [gap if array is None else array.astype(str) for array, gap in zip(arrays, gaps, strict=True)]
    kind = np.result_type(*have, *([np.float64] if len(have) < len(arrays) else []))
    return [
        np.full((count, *shape), np.nan) if array is None else array.astype(kind)
        for array, count in zip(arrays, counts, strict=True)
    ]
