"""Detection of truncated files, of which readers return a part, or arbitrary memory content."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from pitgeo.mesh.raw import Raw

PLY = re.compile(rb"\Aply\r?\n(.*?)^end_header", re.DOTALL | re.MULTILINE)
STL_HEAD, STL_FACET = 84, 50
"""Bytes of a binary file: before the facets, and of each."""


def doubt_ply(path: Path, points: int, cells: int) -> str:
    """The reason why a PLY file was not read completely; empty if it was.

    Args:
        path: The file.
        points: How many points were read.
        cells: How many cells.
    """
    head = PLY.search(path.read_bytes())
    if head is None:
        return "it has no head of a PLY file"
    counts = {name: int(count) for name, count in re.findall(rb"^element\s+(\w+)\s+(\d+)", head.group(1), re.MULTILINE)}
    for name, count, what in ((b"vertex", points, "points"), (b"face", cells, "faces")):
        if counts.get(name, count) != count:
            return f"its head says {counts[name]} {what}, and {count} are there"
    return ""


def doubt_stl(path: Path) -> str:
    """The reason why an STL file is incomplete; empty if it is complete."""
    content = path.read_bytes()
    if len(content) >= STL_HEAD:
        count = int.from_bytes(content[STL_HEAD - 4 : STL_HEAD], "little")
        if len(content) == STL_HEAD + STL_FACET * count:
            return ""
    words = content.lower().split()
    if not words or words[0] != b"solid" or b"facet" not in words[:100]:
        return "it is neither text nor of the length that its number of facets asks for"
    last = content.rstrip().rpartition(b"\n")[2].split()
    if not last or last[0].lower() != b"endsolid" or words.count(b"facet") != words.count(b"endfacet"):
        return "it does not end with 'endsolid'"
    return ""


def doubt_legacy(path: Path, first: Raw, read: Callable[[Path], Raw]) -> str:
    """The reason why a legacy VTK file is truncated; empty if it is complete.

    VTK's reader takes what the memory holds for the numbers that are missing. So the file is read with more numbers
    after its end: if these become values, they were missing.

    Args:
        path: The file.
        first: What was read of it.
        read: VTK's reader, which says nothing of what is behind the values.
    """
    content = path.read_bytes()
    is_text = re.match(rb"[^\n]*\n[^\n]*\n\s*ASCII", content, re.IGNORECASE) is not None
    values = [first.points, *first.point_data.values(), *(part for own in first.cell_data.values() for part in own)]
    number = sum(np.size(part) for part in values) + sum(nodes.size for _, nodes in first.cells) + 8
    with tempfile.TemporaryDirectory() as folder:
        longer = Path(folder) / path.name
        more = os.urandom(8)  # never twice the same, which the memory may still hold
        longer.write_bytes(content + (b" %d" % int.from_bytes(more[:3], "big") if is_text else more) * number)
        second = read(longer)
    return "" if _is_same(first, second) else "it ends before its last values"


def _is_same(one: Raw, other: Raw) -> bool:
    if one.point_data.keys() != other.point_data.keys() or one.cell_data.keys() != other.cell_data.keys():
        return False
    pairs = [(one.points, other.points), *((one.point_data[name], other.point_data[name]) for name in one.point_data)]
    for name, parts in one.cell_data.items():
        pairs += list(zip(parts, other.cell_data[name], strict=False))
    pairs += [(mine, theirs) for (_, mine), (_, theirs) in zip(one.cells, other.cells, strict=False)]
    return len(one.cells) == len(other.cells) and all(
        np.array_equal(mine, theirs, equal_nan=np.asarray(mine).dtype.kind == "f") for mine, theirs in pairs
    )
