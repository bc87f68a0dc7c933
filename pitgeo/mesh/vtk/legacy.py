"""Field data of legacy VTK files, which meshio neither reads nor writes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pitgeo.mesh.names import decode, unquoted
from pitgeo.mesh.notes import Note

TYPES = {
    "unsigned_char": "u1",
    "char": "i1",
    "unsigned_short": "u2",
    "short": "i2",
    "unsigned_int": "u4",
    "int": "i4",
    "unsigned_long": "u8",
    "long": "i8",
    "vtktypeint64": "i8",
    "float": "f4",
    "double": "f8",
}
NAMES = {kind: name for name, kind in reversed(TYPES.items())}
HEAD = re.compile(
    rb"\A[^\n]*\n[^\n]*\n\s*(ASCII|BINARY)\s*\n\s*DATASET[^\n]*\n(\s*FIELD\s+\S+\s+(\d+)[^\S\n]*\n)?", re.I
)


def read_field_data(path: Path, notes: list[Note]) -> dict[str, NDArray[Any]]:
    """The field data before the points; what is not numbers is left out, which a note says."""
    content = path.read_bytes()
    head = HEAD.match(content)
    found: dict[str, NDArray[Any]] = {}
    if not head or not head.group(2):
        return found
    position = head.end()
    for _ in range(int(head.group(3))):
        line, position = _line(content, position)
        if line.upper() == b"METADATA":  # up to a blank line
            position = content.index(b"\n\n", position) + 2
            line, position = _line(content, position)
        name, width, count, kind = decode(line).split()
        if kind.lower() not in TYPES:
            notes.append(Note("left out", f"the field data {name} and what follows it are left out (type {kind})"))
            return unquoted(found, notes)
        number, dtype = int(width) * int(count), np.dtype(TYPES[kind.lower()])
        if head.group(1).upper() == b"ASCII":
            words = content[position:].split(None, number)
            values = np.array([word.decode() for word in words[:number]]).astype(dtype)
            position = len(content) - len(words[number]) if len(words) > number else len(content)
        else:
            values = np.frombuffer(content, dtype.newbyteorder(">"), number, position)
            position += values.nbytes
        shape = (int(count), int(width)) if int(width) > 1 else (int(count),)
        found[name] = values.reshape(shape)
    return unquoted(found, notes)


def add_field_data(path: Path, field_data: Mapping[str, NDArray[Any]]) -> None:
    """Put field data into a binary file without any; the names are escaped already."""
    content = path.read_bytes()
    head = HEAD.match(content)
    if head is None:
        raise ValueError("no legacy VTK file")
    parts = [f"FIELD FieldData {len(field_data)}\n".encode()]
    for name, values in field_data.items():
        width = values.shape[1] if values.ndim == 2 else 1
        parts.append(f"{name} {width} {len(values)} {NAMES[values.dtype.str[1:]]}\n".encode())
        parts.append(values.astype(values.dtype.newbyteorder(">")).tobytes() + b"\n")
    path.write_bytes(content[: head.end()] + b"".join(parts) + content[head.end() :])


def _line(content: bytes, position: int) -> tuple[bytes, int]:
    """The next line that is not blank, and where it ends."""
    while True:
        end = content.index(b"\n", position)
        line = content[position:end].strip()
        position = end + 1
        if line:
            return line, position
