"""Time series of meshes: fields that change on fixed points."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np
from numpy.typing import NDArray

from pitgeo.mesh.ensight.reader import read_ensight, times_of
from pitgeo.mesh.formats import endings_of
from pitgeo.mesh.ghosts import without_ghosts
from pitgeo.mesh.mesh import Mesh
from pitgeo.mesh.notes import Note
from pitgeo.mesh.reading import read
from pitgeo.mesh.step_numbers import in_order
from pitgeo.mesh.vtk.collection import read_collection, read_parts
from pitgeo.mesh.writing import write_mesh
from pitgeo.mesh.xdmf.reader import XdmfFile
from pitgeo.system.atomic_files import write_atomic

SERIES = (".pvd", ".xdmf", ".xmf", *endings_of("EnSight"))
"""Endings of files that hold, or name, a whole series."""

log = logging.getLogger(__name__)


class ChangedMeshError(ValueError):
    """The mesh of a step is not that of the first one."""


class Series:
    """The meshes of a time series, read one by one when they are asked for. Made by :func:`read_series`.

    Args:
        times: Time of every mesh, increasing.
        read: Reads the mesh of a number.
        where: The file or files, for messages.
        notes: What its reader did that is not literally what the file holds.

    Raises:
        ValueError: If there is no mesh, or the times do not increase.

    Example:
        >>> import numpy as np
        >>> from pitgeo.mesh import Mesh
        >>> points = np.array([[0.0, 0.0], [1.0, 0.0]])
        >>> series = Series([0.0, 0.5], lambda number: Mesh(points, (), {"heat": np.full(2, number)}), "made up")
        >>> len(series), series.mesh(1).point_data["heat"].tolist()
        (2, [1, 1])
    """

    def __init__(
        self, times: Sequence[float], read: Callable[[int], Mesh], where: str, notes: Sequence[Note] = ()
    ) -> None:
        self.times: NDArray[np.float64] = np.array(times, np.float64)
        self.notes = tuple(notes)
        self._read = read
        self._where = where
        self._first: Mesh | None = None
        self._notes: tuple[Note, ...] = ()
        _check_times(self.times, where)

    def __len__(self) -> int:
        return len(self.times)

    def mesh(self, k: int) -> Mesh:
        """The mesh of number ``k``, read from its file; negative numbers count from the end.

        Raises:
            IndexError: If there is no such number.
            ValueError: If the file cannot be read.
            ChangedMeshError: A ``ValueError`` too: if its points or cells are not those of the first mesh.
        """
        if not -len(self) <= k < len(self):
            raise IndexError(f"{self._where}: Expected a number from 0 to {len(self) - 1} (got {k})")
        k %= len(self)
        mesh = self._read(k)
        if self._first is None:
            first = mesh if k == 0 else self._read(0)
            self._notes = first.notes
            self._first = Mesh(first.points, first.cells, plane=first.plane, plane_axis=first.plane_axis)
        self._check_same(mesh, k)
        return mesh

    def _check_same(self, mesh: Mesh, k: int) -> None:
        first = self._first or mesh
        start = f"{mesh.path or self._where}: Expected the"
        end = f"at number {k}, time {self.times[k]:g}"
        if any(note.kind == "pieces" and "stay apart" in note.text for note in (*self._notes, *mesh.notes)):
            end += ", where points on seams of pieces stay apart, since their values differ at some steps"
        mine, theirs = mesh.points_in_space(), first.points_in_space()
        if mine.shape != theirs.shape:
            raise ChangedMeshError(
                f"{start} {len(theirs):,} points of the first mesh of the series (got {len(mine):,} {end}); meshes "
                f"that change are no time series here: read every mesh by itself"
            )
        if not np.array_equal(mine, theirs):
            raise ChangedMeshError(
                f"{start} points of the first mesh of the series (got others {end}, up to "
                f"{np.abs(mine - theirs).max():.3g} away); points that move are no time series here: read every mesh "
                f"by itself"
            )
        kinds = [kind for kind, _ in mesh.cells]
        if kinds != [kind for kind, _ in first.cells] or not all(
            np.array_equal(one, other) for (_, one), (_, other) in zip(mesh.cells, first.cells, strict=True)
        ):
            raise ChangedMeshError(
                f"{start} cells of the first mesh of the series (got others {end}); write all steps with the same "
                f"cells, in the same order"
            )


def read_series(source: str | Path | Sequence[str | Path]) -> Series:
    """A series of meshes on the same points.

    Args:
        source: A collection (``.pvd``), an XDMF time series (``.xdmf``), a case of EnSight (``.case``), or the files
            themselves, one a time step. Files are put in the order of the last number in their names, which is their
            time.

    Raises:
        FileNotFoundError: If a file is missing.
        ValueError: If the file holds no time series, or the files have no numbers, one twice, or such as can be read in
            two ways.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> from pitgeo.mesh import Mesh, write_mesh
        >>> square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     for number in (10, 20):
        ...         mesh = Mesh(square, (("quad", np.array([[0, 1, 2, 3]])),), {"heat": square[:, 0] + number})
        ...         write_mesh(Path(folder) / f"step_{number}.vtu", mesh)
        ...     series = read_series(sorted(Path(folder).glob("*.vtu")))
        ...     heat = [float(series.mesh(number).point_data["heat"][0]) for number in range(2)]
        >>> series.times.tolist(), heat
        ([10.0, 20.0], [10.0, 20.0])
    """
    series = open_series(source)
    for note in series.notes:
        log.info("%s: %s", source, note.text)
    return series


def open_series(source: str | Path | Sequence[str | Path]) -> Series:
    """Open a series as :func:`read_series` does, without logging its notes."""
    if not isinstance(source, (str, Path)):
        return _numbered([Path(path) for path in source])
    path = Path(source)
    if not path.is_file():
        raise FileNotFoundError(f"Expected a time series at {path} (got no such file)")
    if path.suffix.lower() == ".pvd":
        found = read_collection(path)
        return Series(found.times, lambda k: read_parts(found.steps[k], read, path), str(path), found.notes)
    if path.suffix.lower() not in SERIES:
        raise ValueError(
            f"{path}: Expected a time series, .pvd, .xdmf or .case, or a list of files (got {path.suffix!r}); give all "
            f"files"
        )
    if path.suffix.lower() in endings_of("EnSight"):
        return Series(times_of(path), lambda k: without_ghosts(read_ensight(path, k)).mesh(path), str(path))
    file = XdmfFile(path)
    if not file.is_series:
        raise ValueError(
            f"{path}: Expected a temporal collection of grids (got a mesh without times); read it by "
            f"pitgeo.mesh.read_mesh, or train on it without data.meshes.series"
        )
    return Series(file.times, file.mesh, str(path), file.notes)


def holds_series(path: Path) -> bool:
    """Whether a file holds, or names, meshes over time; those at a single time are read by :func:`read_mesh`, too.

    Raises:
        ValueError: If it should, but is no such file.
    """
    suffix = path.suffix.lower()
    if suffix in endings_of("EnSight"):
        return len(times_of(path)) > 1
    return suffix == ".pvd" or (suffix in SERIES and XdmfFile(path).is_series)


def write_series(path: str | Path, meshes: Iterable[Mesh], times: Iterable[float]) -> None:
    """Write a series as a collection ``<name>.pvd`` of the files ``<name>_0000.vtu``, ``<name>_0001.vtu``... beside it.

    Args:
        path: The collection, which is written last.
        meshes: One mesh a time, all on the same points; taken one by one.
        times: Their times, which increase.

    Raises:
        ValueError: If the name does not end in ``.pvd``, the numbers differ, the times do not increase, or points move.

    Example:
        >>> import tempfile
        >>> mesh = Mesh(np.array([[0.0], [1.0]]), (("line", np.array([[0, 1]])),))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_series(f"{folder}/run.pvd", [mesh, mesh], [0.0, 0.5])
        ...     print(read_series(f"{folder}/run.pvd").times)
        [0.  0.5]
    """
    path = Path(path)
    if path.suffix.lower() != ".pvd":
        raise ValueError(f"{path}: Expected a name that ends in .pvd (got {path.suffix!r})")
    steps = [float(time) for time in times]
    _check_times(np.array(steps), str(path))
    first: NDArray[np.float64] | None = None
    lines = ['<?xml version="1.0"?>', '<VTKFile type="Collection" version="0.1">', "<Collection>"]
    count = 0
    for count, mesh in enumerate(meshes, start=1):
        if count > len(steps):
            break
        first = mesh.points_in_space() if first is None else first
        if not np.array_equal(first, mesh.points_in_space()):
            raise ValueError(f"{path}: Expected meshes on the same points (got others at number {count - 1})")
        name = f"{path.stem}_{count - 1:04d}.vtu"
        write_mesh(path.with_name(name), mesh)
        lines.append(f'<DataSet timestep="{steps[count - 1]!r}" part="0" file={quoteattr(name)}/>')
    if count != len(steps):
        raise ValueError(
            f"{path}: Expected one mesh for each of {len(steps)} times (got {'more' if count > len(steps) else count})"
        )
    write_atomic(path, ("\n".join([*lines, "</Collection>", "</VTKFile>"]) + "\n").encode())


def _check_times(times: NDArray[np.float64], where: str) -> None:
    if not len(times):
        raise ValueError(f"{where}: Expected at least one mesh in a series (got none)")
    if not (np.isfinite(times).all() and (np.diff(times) > 0).all()):
        raise ValueError(f"{where}: Expected finite times that increase (got {times.tolist()[:10]})")


def _numbered(paths: list[Path]) -> Series:
    steps = in_order(paths)
    for _, path in steps:
        if not path.is_file():
            raise FileNotFoundError(f"Expected a mesh file at {path} (got no such file)")
    return Series([time for time, _ in steps], lambda k: read(steps[k][1]), f"{len(paths)} files")
