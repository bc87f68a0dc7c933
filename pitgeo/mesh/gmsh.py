"""Fields of Gmsh files, which meshio takes for those of the points and cells in their order, whatever their numbers."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pitgeo.mesh.names import each_once
from pitgeo.mesh.notes import Note

Numbers = NDArray[np.int64]
Things = Literal[b"Nodes", b"Elements"]

KINDS: dict[bytes, Things] = {b"NodeData": b"Nodes", b"ElementData": b"Elements"}
"""Sections of fields, and what they belong to."""

WHOLE = b"PitgeoFieldData"
"""The section of a file that holds numbers and texts of the mesh as a whole, in JSON; other programs pass over it."""

NODES = {
    **{1: 2, 2: 3, 3: 4, 4: 4, 5: 8, 6: 6, 7: 5, 8: 3, 9: 6, 10: 9, 11: 10, 12: 27, 13: 18, 14: 14, 15: 1, 16: 8},
    **{17: 20, 18: 15, 19: 13, 20: 9, 21: 10, 22: 12, 23: 15, 24: 15, 25: 21, 26: 4, 27: 5, 28: 6, 29: 20, 30: 35},
    **{31: 56, 36: 16, 37: 25, 38: 36, 42: 28, 43: 36, 44: 45, 45: 55, 46: 66, 47: 49, 48: 64, 49: 81, 50: 100},
    **{51: 121, 62: 7, 63: 8, 64: 9, 65: 10, 66: 11, 92: 64, 93: 125},
}
"""How many nodes a cell has, by Gmsh's number of its type."""

ROW = re.compile(rb'^[^\S\n]*(\d+)[^\S\n]+(-?\d+)[^\S\n]+"?(.*?)"?[^\S\n]*$', re.MULTILINE)
"""A physical group: its dimension, its tag, and its name."""


def tidy_gmsh(path: Path, folder: Path) -> Path:
    """A copy without fields, which meshio splits wrongly, and with numbers for names, some of which it fails on.

    The file itself where there are none.
    """
    content = path.read_bytes()
    found = [(*found.span(), b"") for kind in KINDS for found in spans(content, kind)]
    for section in spans(content, b"PhysicalNames")[-1:]:
        rows = [b'%b %b "%d"\n' % (axes, tag, number) for number, (axes, tag, _) in enumerate(_physical(content))]
        found.append((*section.span(1), b"%d\n%b" % (len(rows), b"".join(rows))))
    if not found:
        return path
    for start, end, other in sorted(found, reverse=True):
        content = content[:start] + other + content[end:]
    copy = folder / path.name
    copy.write_bytes(content)
    return copy


def physical_names(content: bytes, notes: list[Note]) -> dict[str, str]:
    """The physical names of a file by the numbers that :func:`tidy_gmsh` gives them."""
    names = each_once((name for _, _, name in _physical(content)), "physical name", notes)
    return {str(number): name for number, name in enumerate(names)}


def _physical(content: bytes) -> list[tuple[bytes, bytes, bytes]]:
    """Dimension, tag and name of all physical groups."""
    found = sections(content, b"PhysicalNames")[-1:]
    return [row for section in found for row in ROW.findall(section)]


def field_names(content: bytes, kind: bytes, notes: list[Note]) -> dict[bytes, str]:
    """What the fields of a file are called, by the bytes of their names."""
    stored = list(dict.fromkeys(map(field_name, sections(content, kind))))
    return dict(zip(stored, each_once(stored, "field", notes), strict=True))


def read_fields(path: Path, sizes: Mapping[Things, int], notes: list[Note]) -> dict[bytes, dict[str, NDArray[Any]]]:
    """The fields ``NodeData`` and ``ElementData``, by the numbers of points and cells; where there is none, NaN.

    Args:
        path: The file.
        sizes: How many points and cells there are.
        notes: Gets a note where one of several fields is chosen.

    Raises:
        ValueError: If the numbers of the points or cells of this version are not known here.
    """
    content = path.read_bytes()
    result: dict[bytes, dict[str, NDArray[Any]]] = {kind: {} for kind in KINDS}
    for kind, things in KINDS.items():
        found = sections(content, kind)
        if not found:
            continue
        own = numbers_of(content, things)
        if own is None or len(own) != sizes[things] or len(np.unique(own)) < len(own):
            raise ValueError(
                f"{path}: Expected fields on {things.decode().lower()} of numbers that are known, each once (got a "
                f"file of version {head(content)[0].decode() or 'unknown'} with others); save it as .vtu, or in "
                f"version 4.1"
            )
        order, names = np.argsort(own), field_names(content, kind, notes)
        for section in found:
            stored, numbers, values = _field(section, head(content)[1])
            name = names[stored]
            places = np.searchsorted(own, numbers, sorter=order).clip(max=len(own) - 1)
            if not np.array_equal(own[order[places]], numbers):
                strange = np.setdiff1d(numbers, own)[:3].tolist()
                raise ValueError(
                    f"{path}: Expected values of {name!r} on {things.decode().lower()} that are there (got some on the "
                    f"numbers {strange}); write the field again, or leave it out"
                )
            if name in result[kind]:
                notes.append(Note("one of several fields", f"the last of several fields {name!r} is read"))
            whole = np.full((len(own), values.shape[1]), np.nan)
            whole[order[places]] = values
            result[kind][name] = whole[:, 0] if whole.shape[1] == 1 else whole
    return result


def read_field_data(content: bytes) -> dict[str, NDArray[Any]]:
    """Numbers and texts of the mesh as a whole that are not Gmsh's own."""
    found = sections(content, WHOLE)
    return {name: np.asarray(values) for name, values in json.loads(found[0]).items()} if found else {}


def head(content: bytes) -> tuple[bytes, bool]:
    """The version of a file, and whether it is binary; no version if it has no head."""
    found = re.search(rb"\$MeshFormat\s*\n\s*(\S+)\s+([01])\s+8", content[:1000])
    return (found.group(1), found.group(2) == b"1") if found else (b"", False)


def sections(content: bytes, name: bytes) -> list[bytes]:
    """What the sections of a name hold."""
    return [content[slice(*found.span(1))] for found in spans(content, name)]


def spans(content: bytes, name: bytes) -> list[re.Match[bytes]]:
    """Where the sections of a name are, and what they hold as the first group."""
    pattern = rb"^\$" + name + rb"\s*?\n(.*?)^\$End" + name + rb"[^\S\n]*\n?"
    return list(re.finditer(pattern, content, re.DOTALL | re.MULTILINE))


def numbers_of(content: bytes, things: Things) -> Numbers | None:
    """The numbers of the points or cells of a file, in its order; nothing where the version is not known here."""
    version, is_binary = head(content)
    if is_binary:
        return _binary_numbers(content, version, things)
    found = sections(content, things)
    return _numbers(found[0], version, things) if version[:1] in (b"2", b"4") and found else None


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


def _numbers(section: bytes, version: bytes, things: bytes) -> Numbers:
    """The numbers of the points or cells of an ASCII file, in its order."""
    lines = [line.split() for line in section.splitlines() if line.strip()]
    if version.startswith(b"2"):
        return np.array([int(line[0]) for line in lines[1:]])
    apart = 2 if things == b"Nodes" and version != b"4" and version != b"4.0" else 1  # numbers, then coordinates
    numbers: list[int] = []
    position = 1
    while position < len(lines):
        count = int(lines[position][3])
        numbers += [int(line[0]) for line in lines[position + 1 : position + 1 + count]]
        position += 1 + count * apart
    return np.array(numbers)


def _binary_numbers(content: bytes, version: bytes, things: Things) -> Numbers | None:
    """The numbers of the points or cells of a binary file, in its order; nothing for versions not known here."""
    start = content.index(b"$" + things + b"\n") + len(things) + 2
    if version.startswith(b"2"):
        end = content.index(b"\n", start)
        count = int(content[start:end])
        if things == b"Nodes":
            return np.arange(1, count + 1)  # meshio reads no others
        return _binary_cells(content, end + 1, count)
    if version != b"4.1":
        return None
    blocks = int(np.frombuffer(content, np.int64, 1, start)[0])
    position = start + 32
    numbers = [np.zeros(0, np.int64)]
    for _ in range(blocks):
        kind = int(np.frombuffer(content, np.int32, 1, position + 8)[0])
        count = int(np.frombuffer(content, np.int64, 1, position + 12)[0])
        width = 1 if things == b"Nodes" else NODES.get(kind, 0) + 1
        if things == b"Elements" and kind not in NODES:
            return None
        position += 20
        numbers.append(np.frombuffer(content, np.int64, count * width, position)[::width])
        position += count * (width + 3 if things == b"Nodes" else width) * 8
    return np.concatenate(numbers)


def _binary_cells(content: bytes, position: int, count: int) -> Numbers | None:
    """The numbers of the cells of a binary file of version 2."""
    numbers = [np.zeros(0, np.int64)]
    while count > 0:
        kind, rows, tags = (int(number) for number in np.frombuffer(content, np.int32, 3, position))
        if kind not in NODES:
            return None
        width = 1 + tags + NODES[kind]
        numbers.append(np.frombuffer(content, np.int32, rows * width, position + 12)[::width].astype(np.int64))
        position += 12 + rows * width * 4
        count -= rows
    return np.concatenate(numbers)
