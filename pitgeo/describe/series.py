"""Summary of a time series: that of its first mesh, with its fields over all steps."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from pitgeo.describe.file_summary import (
    MANY,
    FileField,
    FileSeries,
    FileSummary,
    Place,
    fields_of,
    summarize_field,
    summarize_mesh,
)
from pitgeo.mesh import Mesh, Note, Series
from pitgeo.mesh.series import ChangedMeshError

MOST = 200
"""Steps of all files together; with more, ranges are those of a few steps of every file."""

Fields = dict[tuple[Place, str], tuple[FileField, bytes]]
"""Fields of one step, and a digest of their values."""


def summarize_series(series: Series, path: Path, label: str, files: int) -> tuple[FileSummary, list[Note]]:
    """Summarize a series from all its steps, or from the first, middle and last of many.

    Args:
        series: The series.
        path: Its file.
        label: The file's name in messages.
        files: How many files there are.

    Raises:
        ValueError: If a step cannot be read.
    """
    count = len(series)
    chosen = list(range(count)) if count * files <= MOST else sorted({0, count // 2, count - 1})
    mesh, changed = series.mesh(0), ""
    notes, found = [*series.notes, *mesh.notes], {0: _fields(mesh)}
    for k in chosen[1:]:
        try:
            step = series.mesh(k)
        except ChangedMeshError as error:
            changed = changed or str(error)
            continue
        notes += step.notes
        found[k] = _fields(step)
    if len(chosen) < count:
        notes.append(Note("steps", f"ranges are those of {len(chosen)} of {count} steps, first, middle and last"))
    first, partial, fields = summarize_mesh(mesh, path, label), dict[tuple[Place, str], int](), list[FileField]()
    for key in dict.fromkeys(key for step in found.values() for key in step):
        own = [step[key][0] for step in found.values() if key in step]
        differ = [k for k, step in found.items() if key not in step or step[key][0].components != own[0].components]
        if differ:
            partial[key] = differ[0]
        roles = [one.role for one in first.fields if (one.place, one.name) == key]
        fields.append(replace(own[0] if differ else combined(own), role=roles[0] if roles else ""))
    digest = hashlib.blake2b(first.mesh_digest + repr(series.times.tolist()).encode(), digest_size=16)
    for one in found.values():
        for key, (_, values) in one.items():
            digest.update(repr(key).encode() + values)
    still = {
        key
        for key, (_, values) in found[0].items()
        if all(key in step and step[key][1] == values for step in found.values())
    }
    steps = FileSeries(tuple(series.times.tolist()), len(found), changed, partial, frozenset(still))
    return replace(first, fields=tuple(fields), digest=digest.digest(), refusal="", series=steps), notes


def combined(steps: Sequence[FileField]) -> FileField:
    """One field over several steps.

    Example:
        >>> found = [FileField("points", "u", 1, "float64", low=(low,), high=(2.0,)) for low in (0.5, -1.0)]
        >>> combined(found).low, combined(found).high
        ((-1.0,), (2.0,))
    """
    known = [one for one in steps if one.low]
    whole: frozenset[float] | None = frozenset()
    for one in steps:
        whole = None if whole is None or one.whole is None else whole | one.whole
    return replace(
        steps[0],
        is_number=all(one.is_number for one in steps),
        low=tuple(map(min, zip(*(one.low for one in known), strict=True))),
        high=tuple(map(max, zip(*(one.high for one in known), strict=True))),
        bad=sum(one.bad for one in steps),
        first_bad=next((one.first_bad for one in steps if one.bad), None),
        whole=whole if whole is not None and len(whole) <= MANY else None,
    )


def _fields(mesh: Mesh) -> Fields:
    found: Fields = {}
    for place, name, values in fields_of(mesh):
        is_plain = values.dtype.kind in "fiubc"
        content = np.ascontiguousarray(values).tobytes() if is_plain else repr(values.tolist()).encode()
        found[place, name] = summarize_field(place, name, values), hashlib.blake2b(content, digest_size=16).digest()
    return found
