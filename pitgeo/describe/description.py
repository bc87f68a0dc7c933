"""Description of a set of mesh files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pitgeo.describe.checks import run_checks
from pitgeo.describe.field import Field, collect_fields
from pitgeo.describe.file_summary import FileSummary, Place, summarize_mesh
from pitgeo.describe.files import mesh_files
from pitgeo.describe.problem import KINDS, find_problem
from pitgeo.describe.series import summarize_series
from pitgeo.describe.suggestion import advice, suggestion
from pitgeo.mesh import Note, summary
from pitgeo.mesh.reading import read
from pitgeo.mesh.series import holds_series, open_series
from pitgeo.mesh.step_numbers import step_range

IN_SPACE = frozenset({".vtk", ".vtp", ".vtu"})
"""Formats that have no planar meshes: points have three coordinates there."""


@dataclass(frozen=True)
class FieldSummary:
    """A field over all files.

    Args:
        place: ``"points"``, ``"cells"`` or ``"mesh"``: what has a value of it.
        name: Its name.
        components: The numbers of components that occur.
        dtypes: The types of values that occur.
        low: The smallest finite value, if there is one.
        high: The largest.
        ranges: Smallest and largest value of every component; a single pair if files disagree or there are many.
        files: Files that have it.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> from pitgeo.mesh import Mesh, write_mesh
        >>> square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     for number in range(2):
        ...         mesh = Mesh(square, (("quad", np.array([[0, 1, 2, 3]])),), {"heat": square[:, 0] + number})
        ...         write_mesh(Path(folder) / f"case_{number}.vtu", mesh)
        ...     field = describe([f"{folder}/*.vtu"]).fields[0]
        >>> field.place, field.low, field.high, field.files
        ('points', 0.0, 2.0, 2)
    """

    place: Place
    name: str
    components: tuple[int, ...]
    dtypes: tuple[str, ...]
    low: float | None
    high: float | None
    ranges: tuple[tuple[float, float], ...]
    files: int


@dataclass(frozen=True)
class Finding:
    """Something that could go wrong.

    Args:
        check: What was looked for.
        text: What was found, with file and field.

    Example:
        >>> print(Finding("size", "one file is a thousand times larger").text)
        one file is a thousand times larger
    """

    check: str
    text: str


@dataclass(frozen=True)
class SeriesSummary:
    """The time series among the files.

    Args:
        files: How many.
        steps: Least and most steps of a series.
        times: The earliest and the latest time.
        lengths: The shortest and the longest time from a step to the next.
        is_even: Whether all are of one length, up to a hundredth.
    """

    files: int
    steps: tuple[int, int]
    times: tuple[float, float]
    lengths: tuple[float, float]
    is_even: bool


@dataclass(frozen=True)
class Description:
    """The content of a set of mesh files.

    Args:
        files: Files that could be read.
        unreadable: The others, each with the reason.
        points: Least and most points of a file.
        cells: Least and most cells of a file.
        cell_types: For each type of cell the number of files with it, and least and most cells of it in those.
        dimensions: The dimensions that occur.
        low: Smallest coordinate along each axis, over all files of the largest dimension.
        high: Largest coordinate there.
        is_shared_mesh: Whether all files, at least two, have the same points and cells.
        is_planar_in_space: Whether all are 2D, in files that hold three coordinates.
        fields: The fields.
        point_sets: In how many files each named set of points is.
        cell_sets: In how many files each named set of cells is.
        readings: What readers did that is not literally what the files hold, one line a kind.
        findings: What could go wrong.
        suggestion: A configuration to train with, as TOML.
        problem: Which kind of problem it is.
        advice: What to try first.
        series: The time series among the files, if there are some.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> from pitgeo.mesh import Mesh, write_mesh
        >>> square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     for number in range(2):
        ...         mesh = Mesh(square, (("quad", np.array([[0, 1, 2, 3]])),), {"heat": square[:, 0] + number})
        ...         write_mesh(Path(folder) / f"case_{number}.vtu", mesh)
        ...     found = describe([f"{folder}/*.vtu"])
        >>> "targets = [" in found.suggestion, found.cell_types
        (True, {'quad': (2, 1, 1)})
    """

    files: tuple[str, ...]
    unreadable: dict[str, str]
    points: tuple[int, int]
    cells: tuple[int, int]
    cell_types: dict[str, tuple[int, int, int]]
    dimensions: tuple[int, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    is_shared_mesh: bool
    is_planar_in_space: bool
    fields: tuple[FieldSummary, ...]
    point_sets: dict[str, int]
    cell_sets: dict[str, int]
    readings: tuple[str, ...]
    findings: tuple[Finding, ...]
    suggestion: str
    problem: str
    advice: str
    series: SeriesSummary | None = None

    def to_dict(self) -> dict[str, Any]:
        """The description as dictionaries, tuples, strings and finite numbers, ready for JSON."""
        return asdict(self)


def describe(paths: Sequence[str | Path], progress: Callable[[Sequence[Path]], Any] = iter) -> Description:
    """Describe mesh files, which are read one at a time: their content, and possible problems in training.

    Args:
        paths: Mesh files, patterns such as ``"cases/*.vtu"``, and folders with mesh files.
        progress: Wraps the files while they are worked through, to show a progress bar.

    Raises:
        ValueError: If a pattern or a folder yields no file, or no file can be read.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> from pitgeo.mesh import Mesh, write_mesh
        >>> square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     for number in range(2):
        ...         mesh = Mesh(square, (("quad", np.array([[0, 1, 2, 3]])),), {"heat": square[:, 0] + number})
        ...         write_mesh(Path(folder) / f"case_{number}.vtu", mesh)
        ...     found = describe([f"{folder}/*.vtu"])
        >>> found.points, found.is_shared_mesh, [field.name for field in found.fields]
        ((4, 4), True, ['heat'])
    """
    files = mesh_files(paths)
    names = [file.name for file in files]
    meshes: list[FileSummary] = []
    read_files: list[Path] = []
    notes: list[tuple[str, Sequence[Note]]] = []
    unreadable: dict[str, str] = {}
    for file in progress(files):
        label = file.name if names.count(file.name) == 1 else file.as_posix()
        try:
            found, said = _look_at(file, label, len(files))
            meshes.append(found)
            notes.append((label, said))
            read_files.append(file)
        except (ValueError, OSError, ImportError) as error:
            unreadable[file.as_posix()] = " ".join(str(error).split()).removeprefix(f"{file}: ")
    if not meshes:
        name, reason = next(iter(unreadable.items()))
        raise ValueError(
            f"Expected mesh files that can be read (got {len(files)}, of which none can; the first is {name}: {reason})"
        )
    return _describe(paths, read_files, meshes, summary(notes, len(meshes)), unreadable)


def _look_at(file: Path, label: str, files: int) -> tuple[FileSummary, Sequence[Note]]:
    """The summary of a file, and its notes; a series with a single time is a mesh."""
    if file.is_file() and holds_series(file):
        series = open_series(file)
        if len(series) > 1:
            return summarize_series(series, file, label, files)
    mesh = read(file)
    return summarize_mesh(mesh, file, label), mesh.notes


def _describe(
    paths: Sequence[str | Path],
    read: Sequence[Path],
    meshes: Sequence[FileSummary],
    readings: Sequence[str],
    unreadable: dict[str, str],
) -> Description:
    fields, problem = collect_fields(meshes), find_problem(read, meshes)
    points, cells = [mesh.points for mesh in meshes], [sum(mesh.cells.values()) for mesh in meshes]
    kinds = dict.fromkeys(kind for mesh in meshes for kind in mesh.cells)
    counts = {kind: [mesh.cells[kind] for mesh in meshes if kind in mesh.cells] for kind in kinds}
    dimensions = tuple(sorted({mesh.dimension for mesh in meshes}))
    boxes = [mesh for mesh in meshes if mesh.dimension == dimensions[-1]]
    return Description(
        files=tuple(file.as_posix() for file in read),
        unreadable=unreadable,
        points=(min(points), max(points)),
        cells=(min(cells), max(cells)),
        cell_types={kind: (len(counts[kind]), min(counts[kind]), max(counts[kind])) for kind in kinds},
        dimensions=dimensions,
        low=tuple(map(min, zip(*(mesh.low for mesh in boxes), strict=True))),
        high=tuple(map(max, zip(*(mesh.high for mesh in boxes), strict=True))),
        is_shared_mesh=len(meshes) > 1 and len({mesh.mesh_digest for mesh in meshes}) == 1,
        is_planar_in_space=all(mesh.dimension == 2 and (mesh.plane or mesh.suffix in IN_SPACE) for mesh in meshes),
        fields=tuple(_summary(field) for field in fields),
        point_sets=_sets(meshes, "points"),
        cell_sets=_sets(meshes, "cells"),
        readings=tuple(readings),
        findings=tuple(Finding(check, text) for check, text in run_checks(meshes, fields)),
        suggestion=suggestion(paths, list(unreadable), problem),
        problem=KINDS[problem.kind][0],
        advice=advice(problem),
        series=_series(meshes),
    )


def _summary(field: Field) -> FieldSummary:
    ends = [end for range_ in field.ranges for end in range_]
    return FieldSummary(
        place=field.place,
        name=field.name,
        components=field.components,
        dtypes=field.dtypes,
        low=min(ends, default=None),
        high=max(ends, default=None),
        ranges=field.ranges,
        files=len(field.found),
    )


def _series(meshes: Sequence[FileSummary]) -> SeriesSummary | None:
    found = [mesh.series for mesh in meshes if mesh.series]
    if not found:
        return None
    lengths = [length for series in found for length in series.lengths]
    return SeriesSummary(
        files=len(found),
        steps=(min(len(series.times) for series in found), max(len(series.times) for series in found)),
        times=(min(series.times[0] for series in found), max(series.times[-1] for series in found)),
        lengths=(min(lengths), max(lengths)),
        is_even=step_range(lengths) is None,
    )


def _sets(meshes: Sequence[FileSummary], place: Place) -> dict[str, int]:
    names = [name for mesh in meshes for kind, name in mesh.sets if kind == place]
    return {name: names.count(name) for name in dict.fromkeys(names)}
