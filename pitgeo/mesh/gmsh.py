"""Fields of Gmsh files, whose points and cells meshio takes in the order of the file, whatever their numbers."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
Things = Literal[b"Nodes", b"Elements"]

WHOLE = b"PitgeoFieldData"
"""The section of a file that holds numbers and texts of the mesh as a whole, in JSON; other programs pass over it."""

NODES = {
    **{1: 2, 2: 3, 3: 4, 4: 4, 5: 8, 6: 6, 7: 5, 8: 3, 9: 6, 10: 9, 11: 10, 12: 27, 13: 18, 14: 14, 15: 1, 16: 8},
    **{17: 20, 18: 15, 19: 13, 20: 9, 21: 10, 22: 12, 23: 15, 24: 15, 25: 21, 26: 4, 27: 5, 28: 6, 29: 20, 30: 35},
    **{31: 56, 36: 16, 37: 25, 38: 36, 42: 28, 43: 36, 44: 45, 45: 55, 46: 66, 47: 49, 48: 64, 49: 81, 50: 100},
    **{51: 121, 62: 7, 63: 8, 64: 9, 65: 10, 66: 11, 92: 64, 93: 125},
}
"""How many nodes a cell has, by Gmsh's number of its type."""


def check_order(path: Path) -> None:
    """Refuse a file whose fields are not in the order of its points or cells.

    Raises:
        ValueError: If meshio would give values to the wrong points or cells.
    """
    content = path.read_bytes()
    kinds: tuple[tuple[bytes, Things], ...] = ((b"NodeData", b"Nodes"), (b"ElementData", b"Elements"))
    for fields, things in kinds:
        found = sections(content, fields)
        if not found:
            continue
        own = numbers_of(content, things)
        if head(content)[1]:  # meshio reads binary fields only if they count from 1
            named = [] if own is None else [np.arange(1, len(own) + 1)]
        else:
            named = [_named(section) for section in found]
        if own is None or not all(np.array_equal(own, numbers) for numbers in named):
            raise ValueError(
                f"{path}: Expected the values of fields in the order of the {things.decode().lower()} (got another "
                f"order, in which meshio would give them to the wrong ones); save it as .vtu, or as ASCII of version 2 "
                f"with consecutive numbers"
            )


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


def _named(section: bytes) -> Numbers:
    """The numbers at the beginning of the rows of an ASCII field."""
    lines = section.decode().splitlines()
    for _ in range(2):  # texts, then real numbers
        lines = lines[1 + int(lines[0]) :]
    count, width, rows = int(lines[0]), int(lines[2]), int(lines[3])
    words = " ".join(lines[1 + count :]).split()
    return np.array(words[: rows * (width + 1) : width + 1]).astype(np.int64)


def _numbers(section: bytes, version: bytes, things: bytes) -> Numbers:
    """The numbers of the points or cells of an ASCII file, in its order."""
    lines = [line.split() for line in section.decode().splitlines() if line.strip()]
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
