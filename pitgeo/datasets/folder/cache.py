"""Reading mesh files once: what a model needs of each is kept under a name made of everything that made it."""

from __future__ import annotations

import functools
import hashlib
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from tqdm import tqdm

from pitgeo.data.fields import FieldTable
from pitgeo.data.fields.mesh_sizes import sizes
from pitgeo.datasets.folder.reading import Reading, Trial, mesh_hash
from pitgeo.geometry.shape import shape
from pitgeo.mesh import SERIES, Mesh, Note, Series
from pitgeo.mesh import series as mesh_series
from pitgeo.mesh.named_files import named_files
from pitgeo.mesh.reading import read
from pitgeo.system.atomic_files import atomic_file
from pitgeo.system.processes import as_needed

log = logging.getLogger(__name__)

VERSION = 11
MOST_KINDS = 100
"""A field with more different values than this is no category."""


def read_files(
    cases: Sequence[tuple[Path, ...]],
    parameters: Mapping[Path, Mapping[str, float]],
    table: FieldTable,
    folder: Path,
    processes: int,
    progress: bool,
    is_series: bool = False,
    trial: Trial | None = None,
) -> list[Reading]:
    """Read files that are not in the cache yet, several at a time.

    Args:
        cases: The file, or the files, of every case.
        parameters: Parameters by a case's first file.
        table: Inputs and targets.
        folder: The cache.
        processes: How many processes.
        progress: Show a bar.
        is_series: Whether a case is a time series.
        trial: Geometry inputs to compute beside those of the table.

    Raises:
        ValueError: If a file cannot be read or a field is not as it should be; the message names both.
    """
    keys = [
        (
            Path.cwd(),
            case,
            _stats(case),
            repr(table.without_geometry()),
            tuple(sorted(parameters.get(case[0], {}).items())),
            folder,
            is_series,
        )
        for case in cases
    ]
    work = [
        (number, case, dict(parameters.get(case[0], {})))
        for number, case in enumerate(cases)
        if (known := _READ.get(keys[number])) is None
        or _stats((known[0].cache,)) != known[1]
        or not known[0].has(table, trial)
    ]
    read = functools.partial(_read, table, folder, is_series, trial)
    with tqdm(total=len(cases), desc="mesh files", unit="file", disable=not progress) as bar:
        bar.update(len(cases) - len(work))
        for number, reading in as_needed(read, work, processes):
            _READ[keys[number]] = reading, _stats((reading.cache,))
            bar.update()
    return [_READ[key][0] for key in keys]


Stats = tuple[tuple[str, int, int], ...]
_READ: dict[Any, tuple[Reading, Stats]] = {}
"""What this process has read, by all that made it and the files' sizes and times, and those of the cache's file."""


def _stats(case: tuple[Path, ...]) -> Stats:
    """Size and time of change of every file of a case."""
    files = (file for path in case for file in (path, *named_files(path)) if file.exists())
    return tuple((str(file), (stat := file.stat()).st_size, stat.st_mtime_ns) for file in files)


def open_series(case: tuple[Path, ...]) -> Series:
    """The series of a case.

    Raises:
        ValueError: If it has fewer than two steps.
    """
    is_one_file = len(case) == 1 and case[0].suffix.lower() in SERIES
    if is_one_file:
        series = mesh_series.open_series(case[0])
    else:
        series = Series(range(len(case)), lambda k: read(case[k]), str(case[0]))
    if len(series) < 2:
        raise ValueError(
            f"{case[0]}: Expected a time series of at least two steps, by data.meshes.series (got {len(series)}); "
            f"leave it out, or check the names of its files"
        )
    return series


def load(path: Path) -> dict[str, Any]:
    """What the cache holds: ``pos``, raw ``inputs`` and ``targets``, ``geometry`` inputs, and a reading's metadata."""
    content: dict[str, Any] = torch.load(path, weights_only=True)
    return content


def save(path: Path, content: dict[str, Any]) -> None:
    """Write a file of the cache whole or not at all.

    Raises:
        ValueError: If it cannot be written.
    """
    try:
        with atomic_file(path, lasting=False) as part:
            torch.save(content, part)
    except (OSError, RuntimeError) as error:  # torch says RuntimeError
        reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
        raise ValueError(
            f"Expected a folder with room that can be written to at {path.parent}, the cache (got: {reason}); name "
            f"another one by data.meshes.cache"
        ) from error


def _read(
    table: FieldTable,
    folder: Path,
    is_series: bool,
    trial: Trial | None,
    work: tuple[int, tuple[Path, ...], dict[str, float]],
) -> tuple[int, Reading]:
    number, case, parameters = work
    cache = folder / f"{_key(table, case, parameters, is_series)}.pt"
    try:
        content = load(cache)
    except (FileNotFoundError, NotADirectoryError):
        content = None
    except Exception:  # a broken file, whatever broke it: never read, always made again
        log.warning("The cache %s cannot be read and is made again", cache)
        content = None
    mesh: Mesh | None = None
    is_kept = content is not None
    if content is None:
        mesh, content = _content(table.without_geometry(), case, parameters, is_series)
    reading = _reading(case, cache, content)
    if not reading.has(table, trial):
        mesh = mesh or (open_series(case).mesh(0) if is_series else read(case[0]))
        tried = () if trial is None else trial.names_of(case[0], reading.points)
        _add_geometry(content, mesh, table, tried)
        reading, is_kept = _reading(case, cache, content), False
    if not is_kept:
        save(cache, content)
    return number, reading


def _reading(case: tuple[Path, ...], cache: Path, content: Mapping[str, Any]) -> Reading:
    metadata = {**content["facts"], "notes": tuple(Note(*pair) for pair in content["facts"]["notes"])}
    return Reading(case=case, cache=cache, **metadata)


def _add_geometry(content: dict[str, Any], mesh: Mesh, table: FieldTable, tried: Sequence[str]) -> None:
    """Compute the geometry inputs of a table, and of others to try those that the mesh has."""
    metadata, wanted = content["facts"], [field.name for field in table.geometry]
    for field in table.with_geometry(tuple(dict.fromkeys([*wanted, *tried]))).geometry:
        if field.name in metadata["geometry"]:
            continue
        try:
            values = table.read_geometry(mesh, field)
        except ValueError as error:
            if field.name in wanted:
                raise
            metadata["missing"][field.name] = str(error)
            continue
        content["geometry"][field.name] = torch.from_numpy(values.astype(np.float32))
        metadata["geometry"][field.name] = tuple(values.min(0).tolist()), tuple(values.max(0).tolist())
        if field.name == "normals":
            metadata["normal"] = tuple(values.mean(0).tolist())


def _content(
    table: FieldTable, case: tuple[Path, ...], parameters: Mapping[str, float], is_series: bool
) -> tuple[Mesh, dict[str, Any]]:
    """The mesh of a case, the first of a series, and what is kept of it."""
    if is_series:
        series = open_series(case)
        mesh, states, notes = series.mesh(0), [], [*series.notes]
        for step in range(len(series)):
            found = mesh if step == 0 else series.mesh(step)
            notes += found.notes
            try:
                states.append(table.read_targets(found, parameters))
            except ValueError as error:
                raise ValueError(f"{error}, at step {step}, time {series.times[step]:g}" if step else error) from error
        times = tuple(series.times.tolist())
    else:
        mesh = read(case[0])
        states, notes, times = [table.read_targets(mesh, parameters)], [*mesh.notes], ()
    pos, origin = table.centred(mesh, {table.input_place, *table.output_places})
    inputs, targets = table.read(mesh, parameters), np.concatenate(states)
    low, high = table.ranges(inputs)
    if is_series:  # the last inputs are the state, at all times
        low[-targets.shape[1] :], high[-targets.shape[1] :] = targets.min(0), targets.max(0)
    parts = {
        **{field.name: part for field, part in table.parts(inputs, "inputs")},
        **{field.name: part for field, part in table.parts(targets, "targets")},
    }
    metadata = {
        "steps": len(states),
        "times": times,
        "notes": tuple((note.kind, note.text) for note in dict.fromkeys(notes)),
        **sizes(mesh),
        "shape": shape(mesh),
        "geometry": {},
        "missing": {},
        "points": mesh_hash(mesh),
        "planar": tuple(
            name for name, part in parts.items() if table.dimension == 2 and part.shape[1] == 3 and not part[:, 2].any()
        ),
        "kinds": {field.name: _kinds(part) for field, part in table.parts(inputs, "inputs")},
        "low": tuple(low.tolist()),
        "high": tuple(high.tolist()),
        "sizes": {
            field.name: tuple(
                float(np.sqrt(np.square(part).sum(1).mean()))
                for state in states[is_series:]
                for other, part in table.parts(state, "targets")
                if other is field
            )
            for field in table.targets
            if field.place != "mesh"
        },
    }
    return mesh, {
        "origin": origin,
        "pos": {place: torch.from_numpy(points.astype(np.float32)) for place, points in pos.items()},
        "inputs": torch.from_numpy(inputs.astype(np.float32)),
        "targets": torch.from_numpy((np.stack(states) if is_series else targets).astype(np.float32)),
        "geometry": {},
        "facts": metadata,
    }


def _kinds(part: NDArray[np.float64]) -> tuple[int, ...] | None:
    if part.shape[1] != 1:
        return None
    values = np.unique(part)
    if len(values) > MOST_KINDS or (values != np.round(values)).any():
        return None
    return tuple(int(value) for value in values)


def _key(table: FieldTable, case: tuple[Path, ...], parameters: Mapping[str, float], is_series: bool) -> str:
    identity = (VERSION, table.without_geometry(), sorted(parameters.items()), case[0].suffix, is_series)
    digest = hashlib.sha256(repr(identity).encode())
    for path in dict.fromkeys(file for given in case for file in (given, *named_files(given))):
        try:
            with path.open("rb") as file:
                if not (block := file.read(1 << 20)):
                    raise ValueError(f"{path}: Expected a mesh (got an empty file); write it again, or leave it out")
                while block:
                    digest.update(block)
                    block = file.read(1 << 20)
        except OSError as error:
            raise ValueError(f"{path}: Expected a file that can be read (got: {error.strerror})") from error
    return digest.hexdigest()[:24]
