"""Removal of ghost cells (copies of another piece's cells) and hidden cells."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pitgeo.mesh.notes import Note
from pitgeo.mesh.raw import Raw

KIND = "ghost cells"
"""The kind of the note of what is left out."""

MARKS = ("vtkGhostType", "vtkGhostLevels", "avtGhostZones", "avtGhostNodes")
"""Arrays that mark ghosts: those of VTK, of VTK before version 6.3, and of VisIt."""

CELL_COPY, CELL_REFINED, CELL_HIDDEN = 1, 8, 32
POINT_COPY, POINT_HIDDEN = 1, 2
"""Bits of ``vtkGhostType``: a copy of another piece's, covered by finer cells, hidden."""


def without_ghosts(raw: Raw) -> Raw:
    """Remove ghost and hidden cells, and points of no other cell; a note gives their number.

    Points that are copies of another piece's stay, marked in ``ghost_points``: cells need them.

    Raises:
        ValueError: If marks are no whole numbers, one a point or cell.
    """
    cell_marks = {name: raw.cell_data[name] for name in MARKS if name in raw.cell_data}
    point_marks = {name: raw.point_data[name] for name in MARKS if name in raw.point_data}
    if not cell_marks and not point_marks:
        return raw
    count = len(raw.points)
    hidden = np.zeros(count, bool)
    copies = np.zeros(count, bool)
    for name, values in point_marks.items():
        bits = _bits(name, values, count)
        hidden |= (bits & POINT_HIDDEN) > 0 if name == "vtkGhostType" else False
        copies |= (bits & POINT_COPY) > 0 if name == "vtkGhostType" else bits > 0
    drop: list[NDArray[np.bool_]] = []
    for block, (_, nodes) in enumerate(raw.cells):
        gone = np.zeros(len(nodes), np.bool_)
        if hidden.any():
            gone |= np.asarray(hidden[np.asarray(nodes, np.int64)].any(1), np.bool_)
        for name, blocks in cell_marks.items():
            bits = _bits(name, blocks[block], len(nodes))
            gone |= (bits & (CELL_COPY | CELL_REFINED | CELL_HIDDEN)) > 0 if name == "vtkGhostType" else bits > 0
        drop.append(gone)
    kept = [~part for part in drop]
    result = replace(
        raw,
        point_data={name: values for name, values in raw.point_data.items() if name not in MARKS},
        cell_data={name: values for name, values in raw.cell_data.items() if name not in MARKS},
        ghost_points=copies if copies.any() else None,
        notes=list(raw.notes),
    )
    left_out = sum(int(part.sum()) for part in drop)
    if not left_out and not hidden.any():
        return result
    result.cells = [(kind, nodes[keep]) for (kind, nodes), keep in zip(raw.cells, kept, strict=True)]
    result.cell_data = {
        name: [values[keep] for values, keep in zip(blocks, kept, strict=True)]
        for name, blocks in result.cell_data.items()
    }
    result.cell_sets = {
        name: [_renumbered(members, keep) for members, keep in zip(sets, kept, strict=True)]
        for name, sets in raw.cell_sets.items()
    }
    stays = ~hidden & ~(_used(raw.cells, count) & ~_used(result.cells, count))
    result.notes.append(left_out_note(left_out))
    return _without_points(result, stays)


def left_out_note(count: int) -> Note:
    """The note on ghost and hidden cells that were left out."""
    return Note(KIND, f"{count:,} ghost or hidden cells are left out")


def _without_points(raw: Raw, stays: NDArray[np.bool_]) -> Raw:
    if stays.all():
        return raw
    number = np.cumsum(stays) - 1
    return replace(
        raw,
        points=raw.points[stays],
        cells=[(kind, number[np.asarray(nodes, np.int64)]) for kind, nodes in raw.cells],
        point_data={name: values[stays] for name, values in raw.point_data.items()},
        point_sets={name: _renumbered(members, stays) for name, members in raw.point_sets.items()},
        ghost_points=None if raw.ghost_points is None else raw.ghost_points[stays],
    )


def _renumbered(members: Any, keep: NDArray[np.bool_]) -> NDArray[np.int64]:
    own = np.asarray(() if members is None else members, np.int64).ravel()
    return (np.cumsum(keep) - 1)[own[keep[own]]]


def _used(cells: list[tuple[str, NDArray[Any]]], count: int) -> NDArray[np.bool_]:
    used = np.zeros(count, bool)
    for _, nodes in cells:
        used[np.asarray(nodes, np.int64).ravel()] = True
    return used


def _bits(name: str, values: NDArray[Any], count: int) -> NDArray[np.int64]:
    marks = np.asarray(values)
    if marks.size != count or marks.dtype.kind not in "iub":
        raise ValueError(
            f"Expected {name!r} to mark ghosts by one whole number each (got {marks.size} of {marks.dtype} for "
            f"{count}); rename the array, or write it again"
        )
    return marks.reshape(-1).astype(np.int64)
