"""One mesh of the pieces of an Abaqus input file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from pitgeo.mesh.abaqus.elements import ORDER_IS_CHECKED, out_of_order
from pitgeo.mesh.abaqus.lines import ADVICE
from pitgeo.mesh.abaqus.pieces import Chosen, Named, Piece, Table
from pitgeo.mesh.names import each_once
from pitgeo.mesh.notes import Note
from pitgeo.mesh.numbering import Numbers
from pitgeo.mesh.raw import Raw

EMPTY = np.zeros(0, np.int64)


def raw_of(pieces: Sequence[Piece], notes: list[Note]) -> Raw:
    """Points and cells of all pieces one after another, with their sets.

    Raises:
        ValueError: If there are no nodes, or an element has a node that is not there.
    """
    tables = {id(piece): Table(piece) for piece in pieces}
    raw = Raw(points=np.concatenate([piece.points() for piece in pieces]), notes=notes)
    if not len(raw.points):
        raise ValueError(f"Expected nodes, under *NODE (got none); {ADVICE}")
    for piece, first in zip(pieces, np.cumsum([0, *(len(piece.rows) for piece in pieces)]), strict=False):
        table = tables[id(piece)]
        table.first, table.first_block = int(first), len(raw.cells)
        for name, kind, labels, nodes in table.blocks:
            places = table.points.find(nodes)
            if (places < 0).any():
                cell, place = np.argwhere(places < 0)[0]
                raise ValueError(
                    f"Expected the nodes of all elements (got no node {nodes[cell, place]}, of the element "
                    f"{labels[cell]} of type {name}); is the file whole?"
                )
            raw.cells.append((kind, table.first + places))
            if kind in ORDER_IS_CHECKED and out_of_order(kind, raw.points[raw.cells[-1][1]]):
                raise ValueError(
                    f"Expected the nodes of elements {name} in the order of Abaqus (got another, by where they are); "
                    f"save the mesh as .vtu"
                )
        for count, what in ((piece.moved, "nodes"), (piece.cells.replaced, "elements")):
            if count:
                notes.append(Note(f"repeated {what}", f"{count} {what} given again; of each, the last counts"))
    for piece, named in _named(pieces, "point_sets", notes):
        raw.point_sets[named.name] = _points(tables, piece, named, notes)
    for piece, named in _named(pieces, "cell_sets", notes):
        raw.cell_sets[named.name] = _cells(tables, piece, named, notes, len(raw.cells))
    for piece, named in _named(pieces, "surfaces", notes):
        _add_surface(raw, tables, piece, named)
    return raw


def _named(pieces: Sequence[Piece], sets: str, notes: list[Note]) -> list[tuple[Piece, Named]]:
    """All sets with unique names: a name that several instances share gets the instance's name in front."""
    found = [(piece, named) for piece in pieces for named in getattr(piece, sets).values()]
    counts = Counter(named.name for _, named in found)
    names = []
    for piece, named in found:
        is_shared = counts[named.name] > 1 and piece.is_instance
        names.append(f"{piece.name}.{named.name}" if is_shared else named.name)
        if is_shared:
            notes.append(Note("renamed", f"the set {named.name!r} of an instance is called {names[-1]!r}"))
    names = each_once(names, "set", notes)
    return [(piece, Named(name, named.members)) for (piece, named), name in zip(found, names, strict=True)]


def _chosen(tables: dict[int, Table], piece: Piece, named: Named) -> list[tuple[Table, Chosen]]:
    return [(tables[id(one.piece or piece)], one) for one in named.members]


def _points(tables: dict[int, Table], piece: Piece, named: Named, notes: list[Note]) -> Numbers:
    chosen = _chosen(tables, piece, named)
    _note_missing(named.name, sum(table.missing(one) for table, one in chosen), notes)
    places = [(table, table.point_places(one)) for table, one in chosen]
    return np.concatenate([EMPTY, *(table.first + own for table, own in places if own is not None)])


def _cells(tables: dict[int, Table], piece: Piece, named: Named, notes: list[Note], blocks: int) -> list[Numbers]:
    chosen = _chosen(tables, piece, named)
    _note_missing(named.name, sum(table.missing_cells(one) for table, one in chosen), notes)
    found = [[EMPTY] for _ in range(blocks)]
    for table, one in chosen:
        rows = table.cells.places(one.wanted)
        for number, (start, end) in enumerate(zip(table.starts, table.starts[1:], strict=False), table.first_block):
            found[number].append(rows[(rows >= start) & (rows < end)] - start)
    return [np.concatenate(parts) for parts in found]


def _add_surface(raw: Raw, tables: dict[int, Table], piece: Piece, named: Named) -> None:
    places = [(table, table.point_places(one)) for table, one in _chosen(tables, piece, named)]
    if any(own is None for _, own in places):
        raw.notes.append(
            Note("surface left out", f"the surface {named.name} left out: it has sides that are not known")
        )
        return
    name = f"{named.name} (surface)" if named.name in raw.point_sets else named.name
    raw.notes.append(Note("surface", f"the surface {named.name} is the set {name!r} of its points"))
    raw.point_sets[name] = np.concatenate([EMPTY, *(table.first + own for table, own in places if own is not None)])


def _note_missing(name: str, count: int, notes: list[Note]) -> None:
    if count:
        notes.append(Note("members left out", f"{count} members of the set {name!r} are not there, and left out"))
