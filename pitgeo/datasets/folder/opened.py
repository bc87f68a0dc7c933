"""All files of a data set, read once in a process, and what is odd about them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from pitgeo.data.fields import FieldTable
from pitgeo.data.fields.mesh_sizes import is_turned
from pitgeo.data.samples import Samples
from pitgeo.datasets.folder.cache import read_files
from pitgeo.datasets.folder.reading import Reading, Trial, mesh_hash
from pitgeo.datasets.folder.samples import MeshSamples
from pitgeo.datasets.folder.series import Case, SeriesSamples, step_lengths, warn_of_steps
from pitgeo.datasets.folder.shared import SharedMeshSamples
from pitgeo.geometry import candidates
from pitgeo.mesh import Mesh, summary
from pitgeo.system.processes import cores

if TYPE_CHECKING:
    from pitgeo.datasets.folder.options import MeshOptions

log = logging.getLogger(__name__)

UNITS = 100.0
"""Ratio of a mesh's extent to the median from which on units are likely mixed."""


@dataclass(frozen=True, eq=False)
class Opened:
    """All files, read."""

    options: MeshOptions
    table: FieldTable
    readings: tuple[Reading, ...]

    def samples(self, start: int, stop: int, is_test: bool = False) -> Samples:
        """The samples of some of the files."""
        chosen, numbers = self.readings[start:stop], range(start, stop)
        if self.options.series:
            lengths = np.concatenate([*step_lengths(chosen, self.options.series), np.zeros(0)])
            step = float(np.median(lengths)) if len(lengths) else None
            return SeriesSamples(self._separate(chosen, numbers), self.steps(chosen) if is_test else 0, step)
        if self.is_shared and chosen:
            return SharedMeshSamples(chosen, self.table, numbers)
        return self._separate(chosen, numbers)

    @property
    def is_shared(self) -> bool:
        """Whether all files hold one mesh, and their fields fit into the memory (twice, while they are read)."""
        size = 2 * sum(reading.cache.stat().st_size for reading in self.readings)
        one = len(self.readings) > 1 and len({reading.points for reading in self.readings}) == 1
        return one and size <= self.options.memory * 1e9

    def _separate(self, chosen: Sequence[Reading], numbers: Sequence[int]) -> MeshSamples:
        processes = self.options.processes or cores()
        return MeshSamples(chosen, self.table, numbers, self.options.memory * 1e9, processes)

    def steps(self, chosen: Sequence[Reading]) -> int:
        """How many states of the test series are predicted."""
        shortest = min(chosen, key=lambda reading: reading.steps, default=None)
        if shortest is None:
            return 0
        if self.options.steps >= shortest.steps:
            raise ValueError(
                f"{shortest.path}: Expected more than data.meshes.steps = {self.options.steps} states in every test "
                f"series (got {shortest.steps}); ask for fewer steps"
            )
        return self.options.steps or shortest.steps - 1


def warn_of_units(readings: Sequence[Reading]) -> None:
    """Log files of quite another size than most: one in millimetres among those in metres spoils the scaling."""
    typical = median(reading.extent for reading in readings)
    others = [reading for reading in readings if not typical / UNITS <= reading.extent <= typical * UNITS]
    if others:
        log.warning(
            "%s: Expected meshes of one unit of length (got an extent of %.3g, the median being %.3g%s); are mm and m "
            "mixed?",
            others[0].path,
            others[0].extent,
            typical,
            f"; so in {len(others)} files" if len(others) > 1 else "",
        )


def log_of_rest(readings: Sequence[Reading], train: int) -> None:
    """Name the first file with a target that is zero throughout, and how its error is counted.

    Raises:
        ValueError: If a target is zero in all files to train on.
    """
    for name in readings[0].sizes:
        if not any(size for reading in readings[:train] for size in reading.sizes[name]):
            raise ValueError(
                f"{readings[0].path}: Expected targets that are not zero throughout in all files to train on (got "
                f"{name!r}), since there is nothing to learn; leave the target out"
            )
        rest = [reading for reading in readings if 0.0 in reading.sizes[name]]
        if rest:
            log.info(
                "%s: %r is zero throughout%s; such errors are relative to its typical size in the files to train on, "
                "where the loss is relative",
                rest[0].path,
                name,
                f", as in {len(rest)} of {len(readings)} files" if len(rest) > 1 else "",
            )


def warn_of_turned(readings: Sequence[Reading]) -> None:
    """Log files of open surfaces whose normals, an input, point the other way than those of most."""
    normals = [reading.normal for reading in readings if reading.normal]
    if len(normals) < len(readings):
        return
    turned = [reading for reading in readings if is_turned(reading.normal, np.mean(normals, 0).tolist())]
    if turned:
        log.warning(
            "%s: Expected normals that point to one side in all files (got the other side%s); turn the faces of the "
            "surface over",
            turned[0].path,
            f", and so in {len(turned)} of {len(readings)} files" if len(turned) > 1 else "",
        )


def warn_of_copies(readings: Sequence[Reading], train: int) -> None:
    """Log files to test on or to choose by that hold just what one to train on does."""
    trained = {reading.cache: reading.path for reading in readings[:train]}
    copies = [reading for reading in readings[train:] if reading.cache in trained]
    if copies:
        log.warning(
            "%s: Expected files that differ from those to train on (got the content of %s%s); errors will be too small",
            copies[0].path,
            trained[copies[0].cache],
            f", and {len(copies)} such files" if len(copies) > 1 else "",
        )


_OPENED: dict[Any, Opened] = {}


def open_files(
    options: MeshOptions, cases: tuple[Case, ...], stats: tuple[tuple[int, int], ...], progress: bool
) -> Opened:
    """Read all files once, as long as they stay as ``stats`` has them."""
    key = (options, cases, stats, Path.cwd())
    if key not in _OPENED or not all(reading.cache.exists() for reading in _OPENED[key].readings):
        while len(_OPENED) > 3:
            _OPENED.pop(next(iter(_OPENED)))
        _OPENED[key] = _read_all(options, cases, progress)
        _OPENED[(_OPENED[key].options, *key[1:])] = _OPENED[key]
    return _OPENED[key]


def _read_all(options: MeshOptions, cases: tuple[Case, ...], progress: bool) -> Opened:
    table, first = options.first_table(cases[0])
    parameters = options.file_parameters([case[0] for case in cases])
    processes, folder, is_series = options.processes or cores(), Path(options.cache), bool(options.series)
    trial = _trial(cases[0][0], first, table, options.inputs) if options.geometry == "auto" and len(cases) > 1 else None
    readings = read_files(cases, parameters, table, folder, processes, progress, is_series, trial)
    if options.geometry == "auto":
        names = _chosen(readings, trial)
        options, table = options.model_copy(update={"geometry": names}), table.with_geometry(names)
        if names:  # files on the mesh of the first one lack them yet
            readings = read_files(cases, parameters, table, folder, processes, False, is_series)
    table = options.completed(table, readings[: len(options.manifest().train)], readings)
    for line in summary([(str(reading.path), reading.notes) for reading in readings], len(readings)):
        log.info("%s", line)
    warn_of_units(readings)
    warn_of_turned(readings if any(field.name == "normals" for field in table.geometry) else ())
    if options.series:
        warn_of_steps(readings, options.series)
    warn_of_copies(readings, len(options.manifest().train))
    log_of_rest(readings, len(options.manifest().train))
    opened = Opened(options, table, tuple(readings))
    if opened.is_shared and not options.series:
        log.info("All %d files hold one mesh: its points and graphs are kept once", len(readings))
    return opened


def _trial(path: Path, first: Mesh, table: FieldTable, inputs: Sequence[str]) -> Trial | None:
    """The geometry inputs of the first mesh; ``None`` without PyVista."""
    fields = [name.removeprefix("point:").removeprefix("cell:") for name in inputs]
    try:
        return Trial(candidates(first, table.input_place, fields), path, mesh_hash(first))
    except ImportError:
        return None


def _chosen(readings: Sequence[Reading], trial: Trial | None) -> tuple[str, ...]:
    """Of the geometry inputs that were tried those that all meshes have; none if there is one mesh alone."""
    if len({reading.points for reading in readings}) == 1:
        return ()
    if trial is None:
        log.warning(
            "Nothing is computed from the meshes, such as the distance to the boundary, since PyVista is missing: "
            "pip install 'pitgeo[vtk]'; data.meshes.geometry = [] for nothing without this message"
        )
        return ()
    names = []
    for name in trial.names:
        if lacking := [reading for reading in readings if name in reading.missing]:
            log.info(
                "No geometry input %r, which %d of %d files lack: %s",
                name,
                len(lacking),
                len(readings),
                lacking[0].missing[name],
            )
        else:
            names.append(name)
    if names:
        log.info("Inputs computed from every mesh, by data.meshes.geometry = 'auto': %s", ", ".join(names))
    return tuple(names)
