"""Reading Gmsh files, with partitions, physical groups and fields."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pitgeo.mesh.cell_types import dimension
from pitgeo.mesh.cells import members_by_block, split_by_block
from pitgeo.mesh.ghosts import left_out_note
from pitgeo.mesh.gmsh.listing import Cells, Listing, cells_of, read_listing
from pitgeo.mesh.gmsh.words import Numbers, head, sections
from pitgeo.mesh.names import each_once
from pitgeo.mesh.notes import Note
from pitgeo.mesh.numbering import Index
from pitgeo.mesh.raw import Raw

Things = Literal[b"Nodes", b"Elements"]

KINDS: dict[bytes, Things] = {b"NodeData": b"Nodes", b"ElementData": b"Elements"}
"""Sections of fields, and what they belong to."""

WHOLE = b"PitgeoFieldData"
"""The section of a file that holds numbers and texts of the mesh as a whole, in JSON; other programs pass over it."""

ROW = re.compile(rb'^[^\S\n]*(\d+)[^\S\n]+(-?\d+)[^\S\n]+"?(.*?)"?[^\S\n]*$', re.MULTILINE)
"""A physical group: its dimension, its tag, and its name."""


def read_gmsh(path: Path) -> Raw:
    """Read a file of version 2, 4.0 or 4.1, with the fields on its points and elements.

    Ghost elements are left out. An element that is listed once for each of its physical groups is one cell, in all of
    their sets.

    Raises:
        ValueError: If it is not as the format says, or of another version.
    """
    content, notes = path.read_bytes(), list[Note]()
    listing = read_listing(content)
    cells = cells_of(listing)
    raw = Raw(listing.positions[cells.stays], cells.blocks, notes=notes)
    if listing.dim_tags is not None:
        raw.point_data["gmsh:dim_tags"] = listing.dim_tags[cells.stays]
    _groups(raw, listing, cells, content)
    targets = {
        b"NodeData": (listing.points, np.where(cells.stays, np.cumsum(cells.stays) - 1, -1), len(raw.points)),
        b"ElementData": (listing.numbers, cells.cell_of, sum(len(nodes) for _, nodes in cells.blocks)),
    }
    for kind, (numbers, places, count) in targets.items():
        found = _read_fields(content, kind, numbers, places, count, notes)
        if kind == b"NodeData":
            raw.point_data.update(found)
        else:
            raw.cell_data.update({name: split_by_block(values, cells.blocks) for name, values in found.items()})
    for section in sections(content, WHOLE)[:1]:
        raw.field_data.update({name: np.asarray(values) for name, values in json.loads(section).items()})
    for name in (b"ElementNodeData", b"InterpolationScheme"):
        if sections(content, name):
            notes.append(Note("left out", f"${name.decode()} is left out"))
    return raw


def _groups(raw: Raw, listing: Listing, cells: Cells, content: bytes) -> None:
    """The tags of the cells, and the sets that physical names stand for."""
    flat = [part.physical for part in listing.elements]
    sizes = [len(nodes) for _, nodes in cells.blocks]
    first = np.full(sum(sizes), -1)  # the first element of every cell
    listed = np.flatnonzero(cells.cell_of >= 0)[::-1]
    first[cells.cell_of[listed]] = listed
    if flat and (listing.version == "2" or any(tags.any() for tags in flat)):
        tags = np.concatenate([tags[:, 0] for tags in flat])[first]
        raw.cell_data["gmsh:physical"] = split_by_block(tags, cells.blocks)
    if flat:
        tags = np.concatenate([part.geometrical for part in listing.elements])[first]
        raw.cell_data["gmsh:geometrical"] = split_by_block(tags, cells.blocks)
    ghosts, again = int((cells.cell_of < 0).sum()), int((cells.cell_of >= 0).sum()) - sum(sizes)
    if ghosts:
        raw.notes.append(left_out_note(ghosts))
    if again:
        words = f"{again:,} elements that are listed again for another physical group are one cell with the first"
        raw.notes.append(Note("repeated cells", words))
    rows = _physical(content)
    names = each_once((name for _, _, name in rows), "physical name", raw.notes)
    for name, (axes, tag, _) in zip(names, rows, strict=True):
        raw.field_data[name] = np.array([int(tag), int(axes)])
        is_member = [
            (part.physical == int(tag)).any(1) & (dimension(part.kind) == int(axes)) for part in listing.elements
        ]
        members = np.unique(cells.cell_of[np.flatnonzero(np.concatenate([np.zeros(0, bool), *is_member]))])
        raw.cell_sets[name] = members_by_block(members[members >= 0], sizes)


def _physical(content: bytes) -> list[tuple[bytes, bytes, bytes]]:
    """Dimension, tag and name of all physical groups."""
    found = sections(content, b"PhysicalNames")[-1:]
    return [row for section in found for row in ROW.findall(section)]


def field_names(content: bytes, kind: bytes, notes: list[Note]) -> dict[bytes, str]:
    """Names of the fields of a file, by the bytes of their stored names."""
    stored = list(dict.fromkeys(map(field_name, sections(content, kind))))
    return dict(zip(stored, each_once(stored, "field", notes), strict=True))


def _read_fields(
    content: bytes, kind: bytes, numbers: Numbers, targets: Numbers, count: int, notes: list[Note]
) -> dict[str, NDArray[Any]]:
    """The fields of points or cells, NaN where there is no value.

    Args:
        content: The file.
        kind: The name of the sections.
        numbers: The numbers of the points or elements in the file.
        targets: The place of each in the mesh, -1 if it has none.
        count: How many places there are.
        notes: Gets a note where one of several values or fields is chosen.
    """
    found, result = sections(content, kind), dict[str, NDArray[Any]]()
    things = KINDS[kind].decode().lower()
    index, names = Index(numbers), field_names(content, kind, notes)
    if found and index.is_repeated:
        raise ValueError(f"Expected fields on {things} of different numbers (got several of one); save it as .vtu")
    for section in found:
        stored, own, values = _field(section, head(content)[1])
        name = names[stored]
        places = index.find(own)
        if (places < 0).any():
            strange = np.setdiff1d(own, numbers)[:3].tolist()
            raise ValueError(
                f"Expected values of {name!r} on {things} that are there (got some on the numbers {strange}); write "
                f"the field again, or leave it out"
            )
        if name in result:
            notes.append(Note("one of several fields", f"the last of several fields {name!r} is read"))
        result[name] = _placed_values(name, places, targets, values, count, notes)
    return result


def _placed_values(
    name: str, places: Numbers, targets: Numbers, values: NDArray[np.float64], count: int, notes: list[Note]
) -> NDArray[np.float64]:
    """Values at their places; the first one in the file if a cell has several."""
    whole = np.full((count, values.shape[1]), np.nan)
    rows = np.argsort(-places, kind="stable")  # the first in the file is the last to be put
    rows = rows[targets[places[rows]] >= 0]
    whole[targets[places[rows]]] = values[rows]
    if not np.array_equal(whole[targets[places[rows]]], values[rows], equal_nan=True):
        notes.append(Note("one of several values", f"the first of several values of {name!r} on one cell is read"))
    return whole[:, 0] if whole.shape[1] == 1 else whole


def field_name(section: bytes) -> bytes:
    """The name of a field as it is stored, the first of its texts."""
    lines = section.split(b"\n", 2)
    return lines[1].strip().replace(b'"', b"") if int(lines[0]) else b""


def _field(section: bytes, is_binary: bool) -> tuple[bytes, Numbers, NDArray[np.float64]]:
    """The name of a field, the numbers of the points or cells, and its values ``[rows, components]``."""
    rest = section
    tags: list[list[bytes]] = []
    for _ in range(3):  # texts, real numbers, whole numbers
        first, rest = rest.split(b"\n", 1)
        *lines, rest = rest.split(b"\n", int(first))
        tags.append(lines)
    width, rows = int(tags[2][1]), int(tags[2][2])
    if is_binary:
        row = np.dtype([("number", "<i4"), ("values", "<f8", (width,))])
        table = np.frombuffer(rest, row, rows)
        return field_name(section), table["number"].astype(np.int64), table["values"]
    words = np.array(rest.split()[: rows * (width + 1)]).astype(np.float64).reshape(rows, width + 1)
    return field_name(section), words[:, 0].astype(np.int64), words[:, 1:]
