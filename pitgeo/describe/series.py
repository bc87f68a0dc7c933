"""Facts of a time series: those of its first mesh, with its fields over all steps."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from pitgeo.describe.facts import MANY, FieldFacts, MeshFacts, Place, SeriesFacts, field_facts, fields_of, mesh_facts
from pitgeo.mesh import Mesh, Note, Series
from pitgeo.mesh.series import ChangedMeshError

MOST = 200
"""Steps of all files together; with more, ranges are those of a few steps of every file."""

Fields = dict[tuple[Place, str], tuple[FieldFacts, bytes]]
"""Facts of fields, and a digest of their values."""


def series_facts(series: Series, path: Path, label: str, files: int) -> tuple[MeshFacts, list[Note]]:
    """Look at the steps of a series once: at all if they are few, else at the first, the middle and the last.

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
    first, partial, fields = mesh_facts(mesh, path, label), dict[tuple[Place, str], int](), list[FieldFacts]()
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
    facts = SeriesFacts(tuple(series.times.tolist()), len(found), changed, partial, frozenset(still))
    return replace(first, fields=tuple(fields), digest=digest.digest(), refusal="", series=facts), notes


def combined(facts: Sequence[FieldFacts]) -> FieldFacts:
    """One field over several steps.

    Example:
        >>> steps = [FieldFacts("points", "u", 1, "float64", low=(low,), high=(2.0,)) for low in (0.5, -1.0)]
        >>> combined(steps).low, combined(steps).high
        ((-1.0,), (2.0,))
    """
    known = [one for one in facts if one.low]
    whole: frozenset[float] | None = frozenset()
    for one in facts:
        whole = None if whole is None or one.whole is None else whole | one.whole
    return replace(
        facts[0],
        is_number=all(one.is_number for one in facts),
        low=tuple(map(min, zip(*(one.low for one in known), strict=True))),
        high=tuple(map(max, zip(*(one.high for one in known), strict=True))),
        bad=sum(one.bad for one in facts),
        first_bad=next((one.first_bad for one in facts if one.bad), None),
        whole=whole if whole is not None and len(whole) <= MANY else None,
    )


def _fields(mesh: Mesh) -> Fields:
    found: Fields = {}
    for place, name, values in fields_of(mesh):
        is_plain = values.dtype.kind in "fiubc"
        content = np.ascontiguousarray(values).tobytes() if is_plain else repr(values.tolist()).encode()
        found[place, name] = field_facts(place, name, values), hashlib.blake2b(content, digest_size=16).digest()
    return found
