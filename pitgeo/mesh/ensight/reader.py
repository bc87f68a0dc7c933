"""Reader of EnSight Gold."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pitgeo.mesh.cells import split_by_block
from pitgeo.mesh.ensight.case import Case, read_case
from pitgeo.mesh.ensight.content import Content, Form, contents, form_of
from pitgeo.mesh.ensight.geometry import Part, read_parts
from pitgeo.mesh.ensight.sets import Entry
from pitgeo.mesh.ensight.variables import Values, read_values
from pitgeo.mesh.notes import Note
from pitgeo.mesh.pieces import join
from pitgeo.mesh.raw import Raw


def times_of(path: Path) -> list[float]:
    """The times of a case, increasing; one, 0, if it has none.

    Raises:
        ValueError: If it is no case of EnSight Gold.
    """
    try:
        return read_case(path).times
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def read_ensight(path: Path, step: int | None = None) -> Raw:
    """A case of EnSight Gold: its parts are put together, see :func:`~pitgeo.mesh.pieces.join`.

    Symmetric tensors have the order of VTK, xx, yy, zz, xy, yz, xz, and asymmetric ones that of the file, row by row.
    Undefined values, and those of points and elements that a variable leaves out, are not-a-number. Ghost elements and
    the cells of blanked nodes are left out. Constants are field data.

    Args:
        path: The case file.
        step: Number of the time that is read; of the first one, with a note if there are several, if it is not given.

    Raises:
        ValueError: If a file is missing or broken, or holds what is not read.
    """
    try:
        case = read_case(path)
        raw = _read(case, case.times[step or 0])
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    if step is None and len(case.times) > 1:
        text = f"the first of {len(case.times)} times, {case.times[0]:g}, is read"
        raw.notes = [Note("one of several times", text), *raw.notes]
    return raw


def _read(case: Case, time: float) -> Raw:
    if not case.is_gold:
        raise ValueError("Expected the format EnSight Gold (got EnSight 6); save it as EnSight Gold, or as .vtu")
    notes = list(case.notes)
    parts, form = _geometry(case.geometry, time, notes)
    values = [read_values(_open(entry, time, form, notes), entry, parts, notes) for entry in case.variables]
    raw = join([(part.name, _raw(part, place, case, values)) for place, part in enumerate(parts)])
    for name, (times, numbers) in case.constants.items():
        raw.field_data[name] = np.array([numbers[times.step(time) if times else 0]])
    raw.notes += notes
    return raw


def _geometry(entry: Entry, time: float, notes: list[Note]) -> tuple[list[Part], Form]:
    """The parts at a time, and the form of the case's files."""
    parts, form = _parts(entry, _step(entry, time, notes))
    if entry.connected is None or any(part.elements for part in parts):
        return parts, form
    others, _ = _parts(entry, entry.connected)
    if [(part.number, len(part.points)) for part in others] != [(part.number, len(part.points)) for part in parts]:
        raise ValueError(
            f"Expected the parts and numbers of nodes of step {entry.connected} of the geometry, which has the "
            f"elements, at time {time:g} (got others); write all files again"
        )
    for part, other in zip(parts, others, strict=True):
        part.elements = other.elements
    return parts, form


def _parts(entry: Entry, step: int) -> tuple[list[Part], Form]:
    found = entry.at(step)
    held = found.path.read_bytes()
    failures: list[tuple[int, ValueError]] = []
    for form in form_of(held):
        content = contents(held, form, found.path.name, found.number, found.steps)
        try:
            return read_parts(content), form
        except ValueError as error:
            failures.append((content.place, error))
    raise max(failures, key=lambda failure: failure[0])[1]  # of the byte order by which it is read farther


def _step(entry: Entry, time: float, notes: list[Note]) -> int:
    if entry.times is None:
        return 0
    step = entry.times.step(time)
    if len(entry.times.times) > 1 and entry.times.times[step] != time:
        text = f"{entry.what} has no values at time {time:g}: those at {entry.times.times[step]:g} are read"
        notes.append(Note("other time", text))
    return step


def _open(entry: Entry, time: float, form: Form, notes: list[Note]) -> Content:
    found = entry.at(_step(entry, time, notes))
    return contents(found.path.read_bytes(), form, f"{found.path.name} of {entry.what}", found.number, found.steps)


def _raw(part: Part, place: int, case: Case, values: list[list[Values]]) -> Raw:
    """A part with its fields; blanked nodes and ghosts are marked."""
    cells = [block for elements in part.elements for block in elements.cells]
    counts = [elements.count for elements in part.elements]
    raw = Raw(part.points, cells)
    for entry, found in zip(case.variables, values, strict=True):
        if entry.place == "node" and found[place]:
            raw.point_data[entry.name] = found[place][0]
        elif entry.place == "element" and found[place]:
            raw.cell_data[entry.name] = split_by_block(np.concatenate(found[place]), cells)
    if part.blanked is not None and part.blanked.any():
        raw.point_data["vtkGhostType"] = 2 * part.blanked.astype(np.uint8)
    ghosts = np.repeat([elements.word.startswith("g_") for elements in part.elements], counts)
    ghosts = part.ghosts if part.ghosts is not None else ghosts
    if ghosts.any():
        raw.cell_data["vtkGhostType"] = split_by_block(ghosts.astype(np.uint8), cells)
    return raw
