"""Fields added to a copy of a Gmsh file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pitgeo.mesh.gmsh.listing import cells_of, read_listing
from pitgeo.mesh.gmsh.reader import KINDS, WHOLE, field_name, field_names
from pitgeo.mesh.gmsh.words import Numbers, head, sections, spans
from pitgeo.mesh.numbering import Index

Fields = Mapping[str, NDArray[Any]]


def refusal(path: Path) -> str:
    """The reason why fields cannot be added to a copy of a file; empty if they can."""
    content = path.read_bytes()
    version, _ = head(content)
    if not version:
        return "it has no head of a Gmsh file"
    try:
        listing = read_listing(content)
        cells_of(listing)
    except (ValueError, IndexError) as error:
        if "version" in str(error):
            return f"its version, {version.decode(errors='replace')}, is not known"
        return f"its points and cells are not as the format says: {error}"
    for numbers in (listing.points, listing.numbers):
        if Index(numbers).is_repeated:
            return "points or cells share a number"
    return ""


def add_fields(source: Path, target: Path, point_data: Fields, cell_data: Fields, field_data: Fields) -> None:
    """Write a file again with more fields, in its own mode; those it has by the same name are replaced.

    Numbers of the mesh as a whole, for which Gmsh has no place, go into a section of their own, over which it passes.

    Raises:
        ValueError: If a field has not one value for every point or cell.
    """
    content = source.read_bytes()
    _, is_binary = head(content)
    listing = read_listing(content)
    cells = cells_of(listing)
    sources = {
        b"NodeData": (listing.points[cells.stays], np.arange(int(cells.stays.sum()))),
        b"ElementData": (listing.numbers[cells.cell_of >= 0], cells.cell_of[cells.cell_of >= 0]),
    }
    for (kind, things), fields in zip(KINDS.items(), (point_data, cell_data), strict=True):
        numbers, places = sources[kind]
        stored = {name: own for own, name in field_names(content, kind, []).items()}
        for name, values in fields.items():
            if len(values) != len(np.unique(places)) or values.dtype.kind not in "fiu":
                raise ValueError(f"{name!r} is not one number, or several, for each of the {things.decode().lower()}")
            own = stored.get(name, name.encode())  # what is there keeps its bytes
            section = _section(kind, own, numbers, values.reshape(len(values), -1)[places], is_binary)
            content = _with(content, kind, own, section)
    if field_data:
        before = {name: values for section in sections(content, WHOLE) for name, values in json.loads(section).items()}
        for found in reversed(spans(content, WHOLE)):
            content = content[: found.start] + content[found.end :]
        text = json.dumps({**before, **{name: values.tolist() for name, values in field_data.items()}})
        content = _ended(content) + b"$%b\n%b\n$End%b\n" % (WHOLE, text.encode(), WHOLE)
    target.write_bytes(content)


def _with(content: bytes, kind: bytes, name: bytes, section: bytes) -> bytes:
    """The content with a field in place of the last one of its name, or at the end."""
    for found in reversed(spans(content, kind)):
        if field_name(content[found.first : found.last]) == name:
            return content[: found.start] + section + content[found.end :]
    return _ended(content) + section


def _ended(content: bytes) -> bytes:
    return content if content.endswith(b"\n") else content + b"\n"


def _section(kind: bytes, name: bytes, numbers: Numbers, values: NDArray[Any], is_binary: bool) -> bytes:
    """A field: its name, the time 0, and step 0, components, rows."""
    start = b'1\n"%b"\n1\n0.0\n3\n0\n%d\n%d\n' % (name, values.shape[1], len(values))
    if is_binary:
        rows = np.empty(len(values), [("number", np.int32), ("values", np.float64, (values.shape[1],))])
        rows["number"], rows["values"] = numbers, values
        body = rows.tobytes() + b"\n"
    else:
        table = zip(numbers.tolist(), values.astype(np.float64).tolist(), strict=True)
        body = "".join(f"{number} {' '.join(map(repr, row))}\n" for number, row in table).encode()
    return b"$%b\n%b%b$End%b\n" % (kind, start, body, kind)
