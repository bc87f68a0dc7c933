"""Cells as arrays of nodes: those of structured grids, those listed twice, and those with repeated nodes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pitgeo.mesh.cell_types import SHAPES
from pitgeo.mesh.notes import Note

Numbers = NDArray[np.int64]

FACES = SHAPES["hexahedron"].faces
EDGES = set(map(frozenset, SHAPES["hexahedron"].edges))


def grid_cells(sizes: Sequence[int]) -> tuple[str, Numbers]:
    """Type and nodes of the cells of a grid, whose points and cells are numbered with the first axis running fastest.

    Axes of a single point count for nothing.

    Args:
        sizes: Points along every axis.

    Example:
        >>> grid_cells([3, 1, 2])
        ('quad', array([[0, 1, 4, 3],
               [1, 2, 5, 4]]))
    """
    own = [size for size in sizes if size != 1]
    numbers = np.arange(np.prod(own, dtype=np.int64)).reshape(own[::-1])
    corners = [numbers]
    for axis in reversed(range(numbers.ndim)):
        low = [np.take(part, range(part.shape[axis] - 1), axis) for part in corners]
        high = [np.take(part, range(1, part.shape[axis]), axis) for part in corners]
        corners = [*low, *(reversed(high) if len(corners) == 2 else high)]
    kind = ("vertex", "line", "quad", "hexahedron")[len(own)]
    return kind, np.stack([part.ravel() for part in corners], 1)


def first_of(blocks: Sequence[tuple[int, Numbers]]) -> Numbers:
    """The number of the first cell with the same dimension and nodes for every cell, ``[cells]``.

    Args:
        blocks: Dimension and nodes ``[cells, nodes]`` of the cells of every block.

    Example:
        >>> first_of([(2, np.array([[0, 1, 2], [1, 2, 3]])), (2, np.array([[2, 0, 1]]))])
        array([0, 1, 0])
    """
    sizes = [len(nodes) for _, nodes in blocks]
    starts = np.cumsum([0, *sizes])
    result = np.arange(starts[-1])
    for key in {(axes, nodes.shape[1]) for axes, nodes in blocks if len(nodes)}:
        chosen = [
            (start, nodes)
            for start, (axes, nodes) in zip(starts, blocks, strict=False)
            if len(nodes) and (axes, nodes.shape[1]) == key
        ]
        numbers = np.concatenate([np.arange(start, start + len(nodes)) for start, nodes in chosen])
        rows = np.sort(np.concatenate([nodes for _, nodes in chosen]), axis=1)
        order, changes = grouped(rows)
        leaders = order[np.flatnonzero(changes[:-1])][np.cumsum(changes[:-1]) - 1]
        result[numbers[order]] = numbers[leaders]
    return result


def grouped(rows: Numbers) -> tuple[Numbers, NDArray[np.bool_]]:
    """A stable order that groups equal rows, and a mask of the starts of groups in it, with the end."""
    order = np.lexsort(rows.T)
    starts = np.ones(len(rows) + 1, bool)
    starts[1:-1] = (rows[order[1:]] != rows[order[:-1]]).any(1)
    return order, starts


def split_by_block(values: NDArray[Any], cells: Sequence[tuple[str, Numbers]]) -> list[NDArray[Any]]:
    """Values of all cells as one array a block; none without blocks."""
    if not cells:
        return []
    return np.split(values, np.cumsum([len(nodes) for _, nodes in cells])[:-1])


def members_by_block(members: Numbers, sizes: Sequence[int]) -> list[Numbers]:
    """Numbers of cells, counted through all blocks, as numbers within every block."""
    ends = np.cumsum([0, *sizes])
    return [members[(members >= low) & (members < high)] - low for low, high in pairwise(ends)]


def without_repeated_nodes(kind: str, nodes: Numbers, notes: list[Note]) -> list[tuple[str, Numbers, Numbers]]:
    """Blocks of cells, their nodes, and the number of the cell that each comes from.

    Formats with one type of cell hold others by repeated nodes.

    A quad becomes a triangle, a hexahedron a tetrahedron, pyramid or wedge, where its nodes are theirs. Others with
    repeated nodes stay what they are.

    Args:
        kind: The type of the cells.
        nodes: Their nodes ``[cells, nodes]``.
        notes: Gets a note where there are such cells.
    """
    if kind not in ("quad", "hexahedron"):
        return [(kind, nodes, np.arange(len(nodes)))]
    own = np.sort(nodes, 1)
    is_odd = (own[:, 1:] == own[:, :-1]).any(1)
    odd, plain = np.flatnonzero(is_odd), np.flatnonzero(~is_odd)
    if not len(odd):
        return [(kind, nodes, plain)]
    first = (nodes[odd][:, :, None] == nodes[odd][:, None, :]).argmax(2)
    patterns, which = np.unique(first, axis=0, return_inverse=True)
    found: dict[str, list[tuple[Numbers, Numbers]]] = {kind: [(nodes[plain], plain)]} if len(plain) else {}
    for number, pattern in enumerate(patterns.tolist()):
        rows = odd[which.reshape(-1) == number]
        other, places = (_quad if kind == "quad" else _hexahedron)(pattern)
        found.setdefault(other, []).append((nodes[rows][:, places], rows))
    blocks = []
    for other in sorted(found, key=lambda other: other != kind):
        rows = np.concatenate([rows for _, rows in found[other]])
        order = np.argsort(rows)
        blocks.append((other, np.concatenate([nodes for nodes, _ in found[other]])[order], rows[order]))
    changed = sum(len(rows) for other, _, rows in blocks if other != kind)
    if changed:
        notes.append(Note("repeated nodes", f"{changed:,} {kind} cells with repeated nodes are {_names(blocks, kind)}"))
    return blocks


def _names(blocks: list[tuple[str, Any, Any]], kind: str) -> str:
    return ", ".join(other for other, _, _ in blocks if other != kind)


def _quad(first: list[int]) -> tuple[str, list[int]]:
    """Type and node places of a quad; ``first`` is the first place of each node."""
    kept = sorted(set(first))
    return (
        ("triangle", kept) if len(kept) == 3 and first not in ([0, 1, 0, 3], [0, 1, 2, 1]) else ("quad", [0, 1, 2, 3])
    )


def _hexahedron(first: list[int]) -> tuple[str, list[int]]:
    """Type and node places of a hexahedron; ``first`` is the first place of each node."""
    same = [0, 1, 2, 3, 4, 5, 6, 7]
    distinct = len(set(first))
    for face in FACES:
        own = [first[place] for place in face]
        apart = [first[place] for place in next(other for other in FACES if not set(other) & set(face))]
        if len(set(own)) == 1 and own[0] not in apart:  # an apex
            base = list(dict.fromkeys(reversed(apart)))
            if distinct == 5 and len(base) == 4:
                return "pyramid", [*base, own[0]]
            if (
                distinct == 4
                and len(base) == 3
                and any(a == b for a, b in zip(apart, apart[1:] + apart[:1], strict=True))
            ):
                return "tetra", [*base, own[0]]
        for p, q, r, s in (face, (*face[1:], face[0])):
            if distinct == 6 and first[p] == first[q] and first[r] == first[s] and first[p] != first[r]:  # a ridge
                a, b, c, d = (_across(corner, face) for corner in (p, q, r, s))
                return "wedge", [first[place] for place in (p, b, a, s, c, d)]
    return "hexahedron", same


def _across(corner: int, face: tuple[int, ...]) -> int:
    """The corner off a face that an edge joins with a corner of the face."""
    return next(other for other in range(8) if other not in face and frozenset((corner, other)) in EDGES)
