"""Meshes over time: fields that change on points that do not."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.sax.saxutils import quoteattr

import numpy as np
from numpy.typing import NDArray

from pitgeo.mesh.mesh import Mesh
from pitgeo.mesh.reading import read
from pitgeo.mesh.writing import write_mesh
from pitgeo.mesh.xdmf import read_steps

SERIES = (".pvd", ".xdmf", ".xmf")
"""Endings of files that hold, or name, a whole series."""


class Series:
    """The meshes of a time series, read one by one when they are asked for. Made by :func:`read_series`.

    Args:
        times: Time of every mesh, increasing.
        read: Reads the mesh of a number.
        where: The file or files, for messages.

    Raises:
        ValueError: If there is no mesh, or the times do not increase.
    """

    def __init__(self, times: Sequence[float], read: Callable[[int], Mesh], where: str) -> None:
        self.times: NDArray[np.float64] = np.array(times, np.float64)
        self._read = read
        self._where = where
        self._points: NDArray[np.float64] | None = None
        _check_times(self.times, where)

    def __len__(self) -> int:
        return len(self.times)

    def mesh(self, k: int) -> Mesh:
        """The mesh of number ``k``, read from its file; negative numbers count from the end.

        Raises:
            IndexError: If there is no such number.
            ValueError: If the file cannot be read, or its points are not those of the first mesh.
        """
        if not -len(self) <= k < len(self):
            raise IndexError(f"{self._where}: Expected a number from 0 to {len(self) - 1} (got {k})")
        if self._points is None:
            self._points = self._read(0).points_in_space()
        mesh = self._read(k % len(self))
        if not np.array_equal(mesh.points_in_space(), self._points):
            raise ValueError(
                f"{mesh.path or self._where}: Expected the points of the first mesh of the series (got others at "
                f"number {k % len(self)}); points that move are no time series here: read every mesh by itself"
            )
        return mesh


def read_series(source: str | Path | Sequence[str | Path]) -> Series:
    """A series of meshes on the same points.

    Args:
        source: A collection (``.pvd``), an XDMF time series (``.xdmf``), or the files themselves, one a time step.
            Files are put in the order of the last number in their names, which is their time.

    Raises:
        FileNotFoundError: If a file is missing.
        ValueError: If the file holds no time series, or the files have no numbers or one twice.
    """
    if not isinstance(source, (str, Path)):
        return _numbered([Path(path) for path in source])
    path = Path(source)
    if not path.is_file():
        raise FileNotFoundError(f"Expected a time series at {path} (got no such file)")
    if path.suffix.lower() == ".pvd":
        return _collection(path)
    if path.suffix.lower() in (".xdmf", ".xmf"):
        return Series(*read_steps(path), where=str(path))
    raise ValueError(
        f"{path}: Expected a time series, .pvd or .xdmf, or a list of files (got {path.suffix!r}); give all files"
    )


def write_series(path: str | Path, meshes: Iterable[Mesh], times: Iterable[float]) -> None:
    """Write a series as a collection ``<name>.pvd`` of the files ``<name>_0000.vtu``, ``<name>_0001.vtu``... beside it.

    Args:
        path: The collection, which is written last.
        meshes: One mesh a time, all on the same points; taken one by one.
        times: Their times, which increase.

    Raises:
        ValueError: If the name does not end in ``.pvd``, the numbers differ, the times do not increase, or points move.
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
    part = path.with_name(f".part-{os.getpid()}-{path.name}")
    part.write_text("\n".join([*lines, "</Collection>", "</VTKFile>"]) + "\n", encoding="utf-8")
    os.replace(part, path)


def _check_times(times: NDArray[np.float64], where: str) -> None:
    if not len(times):
        raise ValueError(f"{where}: Expected at least one mesh in a series (got none)")
    if not (np.isfinite(times).all() and (np.diff(times) > 0).all()):
        raise ValueError(f"{where}: Expected finite times that increase (got {times.tolist()[:10]})")


def _numbered(paths: list[Path]) -> Series:
    found: dict[int, Path] = {}
    for path in paths:
        numbers = re.findall(r"\d+", path.stem)
        if not numbers:
            raise ValueError(f"{path}: Expected a number in the name of every file of a series (got none); rename it")
        number = int(numbers[-1])
        if number in found:
            raise ValueError(f"Expected files of different numbers in a series (got {found[number]} and {path})")
        if not path.is_file():
            raise FileNotFoundError(f"Expected a mesh file at {path} (got no such file)")
        found[number] = path
    order = sorted(found)
    return Series(order, lambda k: read(found[order[k]]), f"{len(paths)} files")


def _collection(path: Path) -> Series:
    try:
        root = ElementTree.parse(path).getroot()
    except ElementTree.ParseError as error:
        raise ValueError(f"{path}: Expected a collection in XML (got: {error}); write it again") from error
    sets: list[Any] = root.findall("./Collection/DataSet")
    if root.get("type") != "Collection" or not sets:
        raise ValueError(f"{path}: Expected a VTK file of type Collection with data sets (got {root.get('type')!r})")
    steps: dict[float, Path] = {}
    for entry in sets:
        try:
            time, file = float(entry.get("timestep", "0")), path.parent / entry.attrib["file"]
        except (KeyError, ValueError) as error:
            raise ValueError(f"{path}: Expected a time and a file for every data set (got: {error})") from error
        if time in steps:
            raise ValueError(
                f"{path}: Expected one file a time (got {steps[time].name} and {file.name} at {time}); put the parts "
                f"together in ParaView"
            )
        steps[time] = file
    order = sorted(steps)
    return Series(order, lambda k: read(steps[order[k]]), str(path))
