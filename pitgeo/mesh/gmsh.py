"""Fields of Gmsh files, whose points and cells meshio takes in the order of the file, whatever their numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]


def check_order(path: Path, widths: Sequence[int]) -> None:
    """Refuse a file whose fields are not in the order of its points or cells.

    Args:
        path: The file.
        widths: Nodes of the cells of every block that meshio found.

    Raises:
        ValueError: If meshio would give values to the wrong points or cells.
    """
    content = path.read_bytes()
    head = re.search(rb"\$MeshFormat\s*\n\s*(\S+)\s+([01])\s+(\d)", content)
    for fields, things in ((b"NodeData", b"Nodes"), (b"ElementData", b"Elements")):
        sections = _sections(content, fields)
        if not sections:
            continue
        own: Numbers | None
        if head is None:
            own, named = None, []
        elif head.group(2) == b"0":
            own = _numbers(_sections(content, things)[0], head.group(1), things)
            named = [_named(section) for section in sections]
        else:  # meshio reads binary fields only if they count from 1
            own = _binary_numbers(content, head.group(1), things, widths)
            named = [] if own is None else [np.arange(1, len(own) + 1)]
        if own is None or not all(np.array_equal(own, numbers) for numbers in named):
            raise ValueError(
                f"{path}: Expected the values of fields in the order of the {things.decode().lower()} (got another "
                f"order, in which meshio would give them to the wrong ones); save it as .vtu, or as ASCII of version 2 "
                f"with consecutive numbers"
            )


def _sections(content: bytes, name: bytes) -> list[bytes]:
    return re.findall(rb"^\$" + name + rb"\s*?\n(.*?)^\$End" + name, content, re.DOTALL | re.MULTILINE)


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


def _binary_numbers(content: bytes, version: bytes, things: bytes, widths: Sequence[int]) -> Numbers | None:
    """The numbers of the points or cells of a binary file, in its order; nothing for versions not known here."""
    start = content.index(b"$" + things + b"\n") + len(things) + 2
    if version.startswith(b"2") and things == b"Nodes":
        return np.arange(1, int(content[start : content.index(b"\n", start)]) + 1)  # meshio reads no others
    if version != b"4.1":
        return None
    blocks = int(np.frombuffer(content, np.int64, 1, start)[0])
    position = start + 32
    numbers = []
    for block in range(blocks):
        count = int(np.frombuffer(content, np.int64, 1, position + 12)[0])
        width = 1 if things == b"Nodes" else widths[block] + 1
        position += 20
        numbers.append(np.frombuffer(content, np.int64, count * width, position)[::width])
        position += count * (width + 3 if things == b"Nodes" else width) * 8
    return np.concatenate(numbers)
