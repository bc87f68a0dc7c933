"""Reader of ASCII files of Tecplot."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pitgeo.mesh.cell_types import dimension
from pitgeo.mesh.cells import without_repeated_nodes
from pitgeo.mesh.names import each_once
from pitgeo.mesh.notes import Note
from pitgeo.mesh.pieces import join
from pitgeo.mesh.raw import Raw
from pitgeo.mesh.tecplot.text import Records, read_records
from pitgeo.mesh.tecplot.zones import Part, read_zone

AXIS = {
    f"{before}{axis}{after}": number
    for number, axis in enumerate("xyz")
    for before, after in (("", ""), ("coordinate", ""), ("coord", ""), ("", "coordinate"), ("", "coord"))
}
"""Names of coordinates, in small letters without units, blanks, dashes and underscores."""


def read_tecplot(path: Path) -> Raw:
    """Read a file; its zones are put together, see :func:`~pitgeo.mesh.pieces.join`.

    Of zones of several times, those of the first are read. Cells with repeated nodes become those of fewer nodes that
    they are.

    Raises:
        ValueError: If it is not as the format says; the message names the zone and the line.
    """
    records = read_records(path)
    records.variables = each_once(records.variables, "variable", records.notes)
    parts: list[Part] = []
    for number, zone in enumerate(records.zones):
        title = zone.head.get("T", "").strip()
        try:
            parts.append(read_zone(zone, title, records.variables, parts))
        except ValueError as error:
            raise ValueError(f"{error}; in zone {number + 1} {title!r} at line {zone.line}") from error
    if not parts:
        raise ValueError("Expected a ZONE (got none); is the file whole?")
    chosen = _first_time(parts, records)
    axes = _axes(records, chosen)
    raw = join([(part.title, _raw(part, axes, records)) for part in chosen])
    raw.field_data = {**{name: _value(text) for name, text in records.aux.items()}, **raw.field_data}
    raw.notes = list(dict.fromkeys([*records.notes, *raw.notes]))
    return raw


def _first_time(parts: Sequence[Part], records: Records) -> list[Part]:
    """The zones of the first time; zones that repeat points and cells count as later times."""
    times = [part.zone.head.get("SOLUTIONTIME") for part in parts]
    known = sorted({_number(time) for time in times if time is not None})
    if len(known) > 1:
        first: dict[str, float] = {}
        for part, time in zip(parts, times, strict=True):
            if time is not None:
                strand = part.zone.head.get("STRANDID", "")
                first[strand] = min(first.get(strand, np.inf), _number(time))
        words = f"the first of {len(known)} times, {known[0]:g}, is read"
        records.notes.append(Note("one of several times", words))
        return [
            part
            for part, time in zip(parts, times, strict=True)
            if time is None or _number(time) == first[part.zone.head.get("STRANDID", "")]
        ]
    axes = _axes(Records(records.variables), parts)
    kept: list[Part] = []
    for part in parts:
        if not any(_is_again(part, other, axes) for other in kept):
            kept.append(part)
    if len(kept) < len(parts):
        words = f"{len(parts) - len(kept)} zones with the points and cells of another are left out; is each a time?"
        records.notes.append(Note("one of several times", words))
    return kept


def _is_again(part: Part, other: Part, axes: Sequence[int]) -> bool:
    return (
        part.kind == other.kind
        and np.array_equal(part.nodes, other.nodes)
        and all(
            axis in part.points and axis in other.points and np.array_equal(part.points[axis], other.points[axis])
            for axis in axes
        )
    )


def _axes(records: Records, parts: Sequence[Part]) -> list[int]:
    """The numbers of the variables that are coordinates."""
    found: dict[int, int] = {}
    for number, name in enumerate(records.variables):
        axis = AXIS.get(re.sub(r"[\[(].*|[\s_-]", "", name).lower())
        if axis is not None:
            found.setdefault(axis, number)
    need = max(max(1, dimension(part.kind)) for part in parts)
    if len(found) >= need:
        return [found[axis] for axis in sorted(found)]
    most = min(len(records.variables), 3 if need == 3 else 2)
    names = ", ".join(repr(name) for name in records.variables[:most])
    records.notes.append(Note("coordinates", f"no variables x, y, z for all axes: {names} are the coordinates"))
    return list(range(most))


def _raw(part: Part, axes: Sequence[int], records: Records) -> Raw:
    missing = [records.variables[axis] for axis in axes if axis not in part.points]
    if missing:
        raise ValueError(
            f"Expected coordinates at points (got no {missing}); in zone {part.title!r} at line {part.zone.line}"
        )
    size = len(part.points[axes[0]])
    points = np.zeros((size, 3))
    for place, axis in enumerate(axes):
        points[:, place] = part.points[axis]
    raw = Raw(points, field_data={name: _value(text) for name, text in part.zone.aux.items()})
    if "SOLUTIONTIME" in part.zone.head:
        raw.field_data["SOLUTIONTIME"] = np.array([_number(part.zone.head["SOLUTIONTIME"])])
    found = without_repeated_nodes(part.kind, part.nodes, raw.notes)
    raw.cells = [(kind, nodes) for kind, nodes, _ in found]
    names = records.variables
    raw.point_data = {names[number]: values for number, values in part.points.items() if number not in axes}
    raw.cell_data = {names[number]: [values[rows] for _, _, rows in found] for number, values in part.cells.items()}
    return raw


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise ValueError(f"Expected SOLUTIONTIME to be a number (got {text!r})") from error


def _value(text: str) -> NDArray[Any]:
    """A number, or the text itself."""
    try:
        return np.array([float(text)])
    except ValueError:
        return np.array([text])
