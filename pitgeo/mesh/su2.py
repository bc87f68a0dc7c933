"""Reader of SU2 files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pitgeo.mesh.cell_types import CORNERS, VTK_TYPES
from pitgeo.mesh.names import read_text
from pitgeo.mesh.notes import Note
from pitgeo.mesh.raw import Raw

TYPES = {str(number): VTK_TYPES[number] for number in (1, 3, 5, 9, 10, 12, 13, 14)}
"""Names by SU2's numbers, which are VTK's."""

Numbers = NDArray[np.int64]
EMPTY = np.zeros(0, np.int64)


def read_su2(path: Path) -> Raw:
    """Read points, cells and markers. The cells of a marker follow those of the field, and are a set of its name.

    The cell data ``su2:tag`` is 0 in the field; on a marker it is the number that the marker has for a name, or else
    one more than the marker before.

    Raises:
        ValueError: If the file has not one zone, or a row is not as the format says.
    """
    notes: list[Note] = []
    lines = [line.split("%")[0].strip() for line in read_text(path, notes).splitlines()]
    lines = [re.sub(r"\s*=\s*", "= ", line) for line in lines if line]
    heads = {name: [line for line in lines if line.startswith(f"{name}=")] for name in ("NDIME", "NPOIN")}
    if any(len(found) != 1 for found in heads.values()):
        raise ValueError("a SU2 file of one zone has one NDIME and one NPOIN")
    axes, count = (int(heads[name][0].split()[1]) for name in heads)
    start = lines.index(heads["NPOIN"][0]) + 1
    rows = [line.split() for line in lines[start : start + count]]
    columns = {len(row) for row in rows}
    if len(rows) != count or len(columns) != 1 or not axes <= min(columns) <= axes + 2:
        raise ValueError(f"{count} rows of {axes} coordinates, and at most two indices, should follow NPOIN")
    points = np.array([row[:axes] for row in rows]).astype(np.float64)

    sections = [(name, _by_type(section)) for name, section in _sections(lines)]
    inside = {kind: nodes for name, found in sections if name is None for kind, nodes in found.items()}
    if sum(name is None for name, _ in sections) > 1:
        raise ValueError("a SU2 file of one zone has one NELEM")
    markers = [(name, found) for name, found in sections if name is not None]
    kinds = list(dict.fromkeys(kind for _, found in markers for kind in found))
    cells = [*inside.items(), *((kind, np.concatenate([f[kind] for _, f in markers if kind in f])) for kind in kinds)]
    tags = [np.zeros(len(nodes), np.int32) for _, nodes in cells]
    sets: dict[str, list[list[Numbers]]] = {name: [[] for _ in cells] for name, _ in markers}
    sizes = dict.fromkeys(kinds, 0)
    number = 0
    for name, found in markers:
        number = int(name) if re.fullmatch(r"-?\d+", name) else number + 1
        for kind, nodes in found.items():
            block, first = len(inside) + kinds.index(kind), sizes[kind]
            sizes[kind] += len(nodes)
            tags[block][first : sizes[kind]] = number
            sets[name][block].append(np.arange(first, sizes[kind]))
    return Raw(
        points=points,
        cells=cells,
        notes=notes,
        cell_data={"su2:tag": tags} if cells else {},
        cell_sets={name: [np.concatenate([EMPTY, *part]) for part in parts] for name, parts in sets.items()},
    )


def _sections(lines: list[str]) -> Iterator[tuple[str | None, list[list[str]]]]:
    """The rows of the field, and of every marker under its name."""
    name = ""
    for place, line in enumerate(lines):
        key, _, value = line.partition("= ")
        if key == "MARKER_TAG":
            name = value
        elif key in ("NELEM", "MARKER_ELEMS"):
            count = int(value.split()[0])
            rows = [row.split() for row in lines[place + 1 : place + 1 + count]]
            if len(rows) != count or (rows and any("=" in row[0] for row in rows)):
                raise ValueError(f"{count} rows of cells should follow {line!r}")
            yield (None if key == "NELEM" else name), rows


def _by_type(rows: list[list[str]]) -> dict[str, Numbers]:
    """The nodes of the cells of every type."""
    found: dict[str, list[list[str]]] = {}
    for row in rows:
        kind = TYPES.get(row[0], "")
        width = CORNERS.get(kind, 0)
        if not kind or not width + 1 <= len(row) <= width + 2:
            raise ValueError(f"{' '.join(row)!r} is no cell of SU2: its type, its nodes and perhaps an index")
        found.setdefault(kind, []).append(row[1 : width + 1])
    return {kind: np.array(nodes).astype(np.int64) for kind, nodes in found.items()}
