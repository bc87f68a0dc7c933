"""Checks of the points, cells and time steps of files: one function each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from pitgeo.describe.cells import turned_over
from pitgeo.describe.file_summary import FileSummary
from pitgeo.mesh.step_numbers import step_range


def orphans(meshes: Sequence[FileSummary]) -> Iterator[str]:
    """Points of no cell, such as centers of arcs, whose values are often meaningless."""
    yield from _counted(
        meshes, lambda mesh: mesh.orphans, "points that belong to no cell; their values may mean nothing"
    )


def duplicates(meshes: Sequence[FileSummary]) -> Iterator[str]:
    """Points at one place, as along seams and between parts: a field may have two values there."""
    yield from _counted(meshes, lambda mesh: mesh.duplicates, "points lie exactly on another; a field may jump there")


def repeated_cells(meshes: Sequence[FileSummary]) -> Iterator[str]:
    """Cells that are in a file twice: they count twice in every mean over cells."""
    yield from _counted(meshes, lambda mesh: mesh.repeated, "cells have the nodes of another, and count twice")


def degenerate_cells(meshes: Sequence[FileSummary]) -> Iterator[str]:
    """Cells without length, area or volume."""
    yield from _counted(meshes, lambda mesh: mesh.flaws.degenerate, "cells have no length, area or volume")


def turned_cells(meshes: Sequence[FileSummary]) -> Iterator[str]:
    """Inverted cells, if most are not."""
    what = "cells are inverted: their corners go round the other way than those of most"
    yield from _counted(meshes, lambda mesh: mesh.flaws.turned, what)


def turned_files(meshes: Sequence[FileSummary]) -> Iterator[str]:
    """Files whose cells are oriented unlike those of the others."""
    found = [meshes[number] for number in turned_over([mesh.orientation for mesh in meshes])]
    if found:
        yield (
            f"{found[0].label}: the corners of its cells go round the other way than in most files{of(found, meshes)}; "
            f"normals of open surfaces point the other way then; reverse the order of the corners in these files"
        )


def moving_meshes(meshes: Sequence[FileSummary]) -> Iterator[str]:
    """Series whose points move or whose cells change, which a model cannot learn."""
    found = [mesh for mesh in meshes if mesh.series and mesh.series.changed]
    if found:
        series = found[0].series
        reason = series.changed if series else ""
        yield f"the mesh changes over time{of(found, meshes)}, which training refuses: {reason}"


def uneven_steps(meshes: Sequence[FileSummary]) -> Iterator[str]:
    """Time steps of different lengths, which a step-to-step model treats as equal."""
    series = [(mesh, mesh.series.lengths) for mesh in meshes if mesh.series]
    every = step_range([length for _, lengths in series for length in lengths])
    if every is None:
        return
    own = [(mesh, found) for mesh, lengths in series if (found := step_range(lengths))]
    mesh, (low, high) = own[0] if own else (series[0][0], every)
    where = f"within {len(own)} of {len(series)} series, first in {mesh.label}" if own else "from series to series"
    yield (
        f"time steps are not of one length ({low:g} to {high:g} {where}), but a model learns from one step to the "
        f"next; leave steps out, or interpolate to equal ones"
    )


def partial_fields(meshes: Sequence[FileSummary]) -> Iterator[str]:
    """Fields that some time steps lack, or have with another number of components."""
    found: dict[tuple[str, str], tuple[str, int]] = {}
    for mesh in meshes:
        for key, step in (mesh.series.partial if mesh.series else {}).items():
            found.setdefault(key, (mesh.label, step))
    for (place, name), (label, step) in found.items():
        yield (
            f"field {name!r} of {place} is missing at some time steps, or has another number of components there "
            f"(first at step {step} of {label})"
        )


def series_among_meshes(meshes: Sequence[FileSummary]) -> Iterator[str]:
    """Files of both kinds, which cannot be in one data set."""
    series = [mesh for mesh in meshes if mesh.series]
    single = [mesh for mesh in meshes if not mesh.series]
    if series and single:
        yield (
            f"time series ({len(series)} files, first {series[0].label}) among single meshes ({len(single)}, first "
            f"{single[0].label}); train on the files of one kind"
        )


def _counted(meshes: Sequence[FileSummary], number: Callable[[FileSummary], int], what: str) -> Iterator[str]:
    found = [mesh for mesh in meshes if number(mesh)]
    if found:
        yield f"{found[0].label}: {number(found[0]):,} {what}{of(found, meshes)}"


def of(found: Sequence[object], meshes: Sequence[FileSummary]) -> str:
    """The number of files concerned, if there are several files."""
    return f" (in {len(found)} of {files_text(len(meshes))})" if len(meshes) > 1 else ""


def files_text(count: int) -> str:
    """A number of files in words."""
    return f"{count:,} file" + ("s" if count != 1 else "")
