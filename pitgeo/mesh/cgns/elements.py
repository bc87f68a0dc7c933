"""Elements of CGNS files: sections of one type, of mixed types and of polygons, as blocks of cells."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from pitgeo.mesh.cell_types import ORDER_VERTICAL_EDGES_FIRST, dimension, known_width
from pitgeo.mesh.cgns.nodes import Node, Numbers
from pitgeo.mesh.notes import Note

MIXED, NGON, NFACE = 20, 22, 23


KINDS = {
    **{2: "vertex", 3: "line", 4: "line3", 5: "triangle", 6: "triangle6", 7: "quad", 8: "quad8", 9: "quad9"},
    **{10: "tetra", 11: "tetra10", 12: "pyramid", 13: "pyramid14", 14: "wedge", 15: "wedge15", 16: "wedge18"},
    **{17: "hexahedron", 18: "hexahedron20", 19: "hexahedron27", 21: "pyramid13"},
}
"""Names by the numbers of CGNS."""

WIDTHS = {number: known_width(kind) for number, kind in KINDS.items()}

_EDGES = ORDER_VERTICAL_EDGES_FIRST
ORDER = {
    **_EDGES,
    "wedge18": (*_EDGES["wedge15"], 15, 16, 17),
    "hexahedron27": (*_EDGES["hexahedron20"], 24, 22, 21, 23, 20, 25, 26),
}
"""Nodes of CGNS in the order of meshio, where they differ."""

WINDOW = 100_000
"""Numbers of a table of mixed elements that are looked at together."""

SPLIT = "split them into tetrahedra in ParaView, or in the program that wrote them"
BASE = Note("left out", "the node in the middle of the base of pyramids of 14 nodes is a point, but no node of them")


class Block(NamedTuple):
    """Cells of one type.

    Args:
        kind: The name of the type.
        nodes: Points from 0, ``[cells, nodes]``.
        numbers: The numbers of the elements in the file.
    """

    kind: str
    nodes: Numbers
    numbers: Numbers


class Section(NamedTuple):
    """A section of elements: its name, and its cells, a block a type."""

    name: str
    first: int
    last: int
    blocks: list[Block]

    @property
    def dimension(self) -> int:
        """The highest dimension of its cells."""
        return max((dimension(block.kind) for block in self.blocks), default=0)


def read_sections(zone: Node, points: int, notes: list[Note]) -> list[Section]:
    """All sections of a zone, in the order of the numbers of their elements.

    Args:
        zone: The zone.
        points: How many points it has.
        notes: Gets a note if nodes are left out.

    Raises:
        ValueError: If sections have elements that are not known, numbers in common, or nodes that are no points.
    """
    sections = sorted((_section(node, points, notes) for node in zone.all("Elements_t")), key=lambda s: s.first)
    for before, section in pairwise(sections):
        if section.first <= before.last:
            got = f"number {section.first} in {before.name!r} and {section.name!r}"
            raise zone.refusal("every element in one section", got)
    return sections


def _section(node: Node, points: int, notes: list[Note]) -> Section:
    kind = int(next(iter(node.numbers()), -1))
    first, last = (int(number) for number in node.needed("ElementRange").numbers(2))
    count = last - first + 1
    if first < 1 or count < 0:
        raise node.refusal("a range of elements from 1 on", f"{first} to {last}")
    rind = node.named("Rind")
    if rind is not None and rind.numbers().any():
        raise node.refusal("no rind elements", rind.numbers().tolist()[:4], "write the mesh without them")
    if kind == NFACE:
        raise node.refusal("cells of known types", "polyhedra", SPLIT)
    if kind not in KINDS and kind not in (MIXED, NGON):
        raise node.refusal("elements of first or second order", f"the type {kind}", "convert them")
    table = node.needed("ElementConnectivity")
    if kind in KINDS:
        if table.size != count * WIDTHS[kind]:
            expected = f"{count:,} x {WIDTHS[kind]} nodes of elements"
            raise table.refusal(expected, f"{table.size:,}", "the file is damaged: write it again")
        rows = table.numbers().reshape(count, WIDTHS[kind])
        blocks = [_block(node, kind, rows, np.arange(first, last + 1), points, notes)]
    else:
        blocks = _many(node, kind, table, first, count, points, notes)
    return Section(node.name, first, last, [block for block in blocks if len(block.nodes)])


def _many(node: Node, kind: int, table: Node, first: int, count: int, points: int, notes: list[Note]) -> list[Block]:
    """The blocks of a section of mixed or polygonal elements."""
    if table.size < count:
        raise table.refusal(f"nodes of {count:,} elements", f"{table.size:,}", "the file is damaged: write it again")
    values = table.numbers()
    offsets = node.named("ElementStartOffset")
    if kind == NGON and offsets is not None:
        ends = offsets.numbers(count + 1)
        starts, sizes = ends[:-1], np.diff(ends)
        if ends[0] != 0 or ends[-1] != len(values) or (sizes < 3).any():
            raise offsets.refusal(f"offsets that grow by 3 or more, from 0 to {len(values):,}", "others")
        types = sizes
    else:
        if kind == MIXED:
            starts = _starts(table, values, count, lambda number: 1 + WIDTHS[number] if number in WIDTHS else 0)
        else:
            starts = _starts(table, values, count, lambda number: number + 1 if number > 2 else 0)
        if offsets is not None and not np.array_equal(offsets.numbers(count + 1), [*starts, len(values)]):
            raise offsets.refusal("offsets that lead to the types of elements", "others")
        types = values[starts]
        starts = starts + 1
    blocks = []
    for number in np.unique(types):
        chosen = np.flatnonzero(types == number)
        size = WIDTHS[int(number)] if kind == MIXED else int(number)
        rows = values[starts[chosen, None] + np.arange(size)]
        own = int(number) if kind == MIXED else {3: 5, 4: 7}.get(size, NGON)
        blocks.append(_block(node, own, rows, first + chosen, points, notes))
    return blocks


def _starts(table: Node, values: Numbers, count: int, length: Callable[[int], int]) -> Numbers:
    """The start of every element; the first number of an element gives its length."""
    starts = np.zeros(count, np.int64)
    place = window = 0
    some: list[int] = []
    for element in range(count):
        if place >= window + len(some):
            window, some = place, values[place : place + WINDOW].tolist()  # lists are faster than arrays here
        number = some[place - window] if some else -1
        step = length(number)
        if not step or place + step > len(values):
            known = "a known type, or number of nodes, before the nodes of every element"
            raise table.refusal(known, f"{number} before those of element {element + 1} of {count:,}")
        starts[element] = place
        place += step
    if place != len(values):
        raise table.refusal(f"nodes of {count:,} elements", f"{len(values) - place:,} numbers more")
    return starts


def _block(node: Node, kind: int, rows: Numbers, numbers: Numbers, points: int, notes: list[Note]) -> Block:
    if rows.size and (rows.min() < 1 or rows.max() > points):
        wrong = rows.min() if rows.min() < 1 else rows.max()
        raise node.refusal(f"nodes of elements from 1 to {points:,}", f"number {wrong}")
    if kind == NGON:
        return Block("polygon", rows - 1, numbers)
    name = KINDS[kind]
    if name == "pyramid14":
        notes += [BASE] * (BASE not in notes)
        name, rows = "pyramid13", rows[:, :13]
    return Block(name, rows[:, ORDER.get(name, slice(None))] - 1, numbers)
