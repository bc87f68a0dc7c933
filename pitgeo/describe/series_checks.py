"""What could go wrong when training on time series."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pitgeo.describe.file_summary import FileSummary
from pitgeo.mesh.step_numbers import step_range


def moving_meshes(meshes: Sequence[FileSummary]) -> Iterator[str]:
    """Points that move, and cells that change: no time series for a model."""
    found = [mesh for mesh in meshes if mesh.series and mesh.series.changed]
    if found:
        some = f" (in {len(found)} of {len(meshes)} files)" if len(meshes) > 1 else ""
        series = found[0].series
        yield f"the mesh changes over time{some}, which training refuses: {series.changed if series else ''}"


def uneven_steps(meshes: Sequence[FileSummary]) -> Iterator[str]:
    """Steps of different lengths, which a model from one step to the next takes for one."""
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
    """Fields that are not at every step."""
    found: dict[tuple[str, str], tuple[str, int]] = {}
    for mesh in meshes:
        for key, step in (mesh.series.partial if mesh.series else {}).items():
            found.setdefault(key, (mesh.label, step))
    for (place, name), (label, step) in found.items():
        yield f"field {name!r} of {place} is not at every step, or is another there (first at step {step} of {label})"


def series_among_meshes(meshes: Sequence[FileSummary]) -> Iterator[str]:
    """Files of both kinds, which cannot be in one data set."""
    series = [mesh for mesh in meshes if mesh.series]
    single = [mesh for mesh in meshes if not mesh.series]
    if series and single:
        yield (
            f"time series ({len(series)} files, first {series[0].label}) among single meshes ({len(single)}, first "
            f"{single[0].label}); train on the files of one kind"
        )
