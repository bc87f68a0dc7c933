"""ASCII files of AVS UCD."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pitgeo.mesh.cell_types import CORNERS
from pitgeo.mesh.names import each_once, read_text
from pitgeo.mesh.notes import Note
from pitgeo.mesh.numbering import Index
from pitgeo.mesh.raw import Raw
from pitgeo.mesh.text_numbers import is_complete, table, wholes

KINDS = {
    "pt": "vertex",
    "line": "line",
    "tri": "triangle",
    "quad": "quad",
    "tet": "tetra",
    "pyr": "pyramid",
    "prism": "wedge",
    "hex": "hexahedron",
}

ORDER = {"pyramid": [1, 2, 3, 4, 0], "wedge": [3, 4, 5, 0, 1, 2], "hexahedron": [4, 5, 6, 7, 0, 1, 2, 3]}
"""The file's nodes in the order of the other formats: it begins at the top, with the apex of a pyramid."""

HEAD = re.compile(r"\s*\d+(\s+\d+){4}\s*")


BINARY = "\x07"
"""How a binary file begins."""


def is_ucd(text: str) -> bool:
    """Whether a text begins like a UCD file: comments, then five whole numbers; or like a binary one."""
    if text.startswith(BINARY):
        return True
    first = next((line for line in text.splitlines() if line.strip() and not line.startswith("#")), "")
    return HEAD.fullmatch(first) is not None


class _Lines:
    """The lines of a file that are neither empty nor comments at its head, and their numbers."""

    def __init__(self, text: str) -> None:
        self.rows = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
        while self.rows and self.rows[0][1].startswith("#"):
            del self.rows[0]
        self.place = 0

    def take(self, count: int, what: str) -> list[tuple[int, str]]:
        found = self.rows[self.place : self.place + count]
        if len(found) < count:
            raise ValueError(f"Expected {count:,} lines of {what} (got {len(found):,}); is the file whole?")
        self.place += count
        return found


def read_ucd(path: Path) -> Raw:
    """Read a file: points, cells, their data, the material of each cell, data of the model as numbers of the whole.

    Raises:
        ValueError: If it is binary, or not as the format says; the message names the line.
    """
    notes: list[Note] = []
    text = read_text(path, notes)
    if text.startswith(BINARY) or not is_ucd(text):
        what = "a binary file" if text.startswith(BINARY) else "other lines"
        raise ValueError(
            f"Expected an ASCII file of AVS UCD, which begins with 5 whole numbers (got {what}); save it as ASCII, "
            f"or as .vtu"
        )
    raw = _read(_Lines(text), notes)
    if not is_complete(text):
        raise ValueError(
            f"Expected a line break behind the last line (got {text[-20:]!r}, which may be cut); is the file whole?"
        )
    return raw


def _read(lines: _Lines, notes: list[Note]) -> Raw:
    points, cells, *widths = (int(word) for word in lines.take(1, "counts")[0][1].split())
    rows = lines.take(points, "points")
    positions = table(rows, 4)
    raw = Raw(positions[:, 1:], notes=notes)
    if not np.isfinite(raw.points).all():
        raise ValueError("Expected finite coordinates (got others); is the file whole?")
    index = _index(positions[:, 0], "points")
    elements = [(number, line.split()) for number, line in lines.take(cells, "cells")]
    found: dict[str, list[tuple[int, int, list[str]]]] = {}
    for place, (number, words) in enumerate(elements):
        kind = KINDS.get(words[2].lower() if len(words) > 2 else "")
        if kind is None or len(words) != 3 + CORNERS[kind]:
            raise ValueError(
                f"Expected a number, a material, one of {', '.join(KINDS)} and its nodes (got {' '.join(words)!r} in "
                f"line {number})"
            )
        found.setdefault(kind, []).append((place, number, words))
    places = []
    for kind, own in found.items():
        nodes = index.find(table([(number, " ".join(words[3:])) for _, number, words in own], CORNERS[kind]))
        if (nodes < 0).any():
            raise ValueError(f"Expected nodes of {kind} cells that are points (got others)")
        raw.cells.append((kind, nodes[:, ORDER.get(kind, slice(None))]))
        places.append(np.array([place for place, _, _ in own]))
    materials = table([(number, words[1]) for number, words in elements], 1)[:, 0]
    if (materials % 1 != 0).any() or (np.abs(materials) >= 2.0**31).any():
        raise ValueError("Expected whole numbers for the materials of the cells (got others)")
    raw.cell_data["Material Id"] = [materials[rows].astype(np.int64) for rows in places]
    raw.point_data = _data(lines, widths[0], positions[:, 0], "points", notes)
    ids = table([(number, words[0]) for number, words in elements], 1)[:, 0]
    for name, values in _data(lines, widths[1], ids, "cells", notes).items():
        raw.cell_data[f"{name} (2)" if name in raw.cell_data else name] = [values[rows] for rows in places]
    raw.field_data = _data(lines, widths[2], None, "the model", notes)
    if lines.place < len(lines.rows):
        number, line = lines.rows[lines.place]
        raise ValueError(f"Expected the end of the file (got {line.strip()[:40]!r} in line {number})")
    return raw


def _data(
    lines: _Lines, width: int, ids: NDArray[np.float64] | None, what: str, notes: list[Note]
) -> dict[str, NDArray[Any]]:
    """The fields of points, cells or the model, in the order of their numbers."""
    if not width:
        return {}
    number, line = lines.take(1, f"components of {what}")[0]
    words = line.split()
    sizes = [int(word) for word in words if word.isascii() and word.isdecimal()][1:]
    if sum(sizes) != width or len(sizes) != len(words) - 1 or int(words[0]) != len(sizes) or 0 in sizes:
        raise ValueError(f"Expected {width} components of {what} (got {line.strip()!r} in line {number})")
    labels = [label.rsplit(",", 1)[0].strip() for _, label in lines.take(len(sizes), f"names of {what}")]
    values = table(lines.take(1 if ids is None else len(ids), f"values of {what}"), 1 + width)
    if ids is not None:
        places = _index(values[:, 0], f"values of {what}").find(ids)
        if (places < 0).any():
            raise ValueError(f"Expected one value for each of the {what} (got values of other numbers)")
        values = values[places]
    columns = np.split(values[:, 1:], np.cumsum(sizes)[:-1], axis=1)
    names = each_once(labels, "field", notes)
    return {name: part[:, 0] if part.shape[1] == 1 else part for name, part in zip(names, columns, strict=True)}


def _index(values: NDArray[np.float64], what: str) -> Index:
    """Looks up the places of the numbers of points or cells."""
    index = Index(wholes(values, f"numbers of the {what}"))
    if index.is_repeated:
        raise ValueError(f"Expected each number of the {what} once (got one twice)")
    return index
