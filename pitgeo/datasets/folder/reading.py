"""What is known of a mesh file that has been read."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pitgeo.data.fields import FieldTable
from pitgeo.mesh import Mesh, Note

Range = tuple[tuple[float, ...], tuple[float, ...]]
"""Smallest and largest values, component by component."""


@dataclass(frozen=True)
class Trial:
    """Geometry inputs to compute where a mesh has them, and of the files on the first mesh in the first one alone.

    Args:
        names: Their names.
        first: The first file.
        points: What its :class:`Reading` says of its points.
    """

    names: tuple[str, ...]
    first: Path
    points: str

    def names_of(self, path: Path, points: str) -> tuple[str, ...]:
        """What to compute for a file."""
        return () if points == self.points and path != self.first else self.names


@dataclass(frozen=True)
class Reading:
    """What is known of a file that has been read.

    Args:
        case: The file, or the files of a series.
        cache: What was kept of it.
        steps: States of the series; 1 for a single mesh.
        times: Their times; of numbered files 0, 1, ...
        points: Hash of the positions and cells; equal for files on one mesh.
        geometry: Smallest and largest numbers of every geometry input that was computed.
        normal: The mean of the normals, if they are among these.
        missing: Why the mesh has none of those that were tried in vain.
        planar: Names of fields of three components whose third is zero.
        kinds: Whole numbers that occur in each input field; ``None`` where there are others, or too many.
        low: Smallest value of every input number that the file holds.
        high: Largest value of every one.
        sizes: Root mean square length of every target of points or cells, in every state that is predicted; 0 where it
            is zero throughout.
        extent: Diagonal of the box around the points.
        spacing: Median distance of a point to the nearest other one.
        shape: Numbers that tell shapes apart, see :func:`pitgeo.geometry.shape.shape`.
        notes: What the reader did that is not literally what the file holds.
    """

    case: tuple[Path, ...]
    cache: Path
    steps: int
    points: str
    planar: tuple[str, ...]
    kinds: dict[str, tuple[int, ...] | None]
    low: tuple[float, ...]
    high: tuple[float, ...]
    sizes: dict[str, tuple[float, ...]]
    extent: float
    spacing: float
    shape: tuple[float, ...]
    geometry: dict[str, Range]
    missing: dict[str, str]
    normal: tuple[float, ...] = ()
    notes: tuple[Note, ...] = ()
    times: tuple[float, ...] = ()

    @property
    def path(self) -> Path:
        """The file, or the first one of a series."""
        return self.case[0]

    def ranges(self, table: FieldTable) -> Range:
        """Smallest and largest value of every input number of a table."""
        low, high, start = list[float](), list[float](), 0
        for field in table.inputs:
            own = self.low[start : start + field.stored], self.high[start : start + field.stored]
            start += 0 if field.is_geometry else field.stored
            found = self.geometry[field.name] if field.is_geometry else own
            low += found[0]
            high += found[1]
        return tuple(low), tuple(high)

    def has(self, table: FieldTable, trial: Trial | None) -> bool:
        """Whether all geometry inputs of a table were computed, and those of a trial tried."""
        tried = () if trial is None else trial.names_of(self.path, self.points)
        return {*tried} <= {*self.geometry, *self.missing} and all(
            field.name in self.geometry for field in table.geometry
        )


def assembled(table: FieldTable, content: Mapping[str, Any]) -> NDArray[Any]:
    """The numbers of all inputs of a table, ``[n, numbers]``."""
    held = iter(table.without_geometry().parts(content["inputs"].numpy(), "inputs"))
    parts = [content["geometry"][field.name].numpy() if field.is_geometry else next(held)[1] for field in table.inputs]
    return np.concatenate(parts, 1) if parts else content["inputs"].numpy()


def mesh_hash(mesh: Mesh) -> str:
    """Equal for equal points and cells."""
    digest, arrays = hashlib.sha256(), [mesh.points, *(nodes for _, nodes in mesh.cells)]
    for array in arrays:
        digest.update(repr((array.shape, array.dtype.str)).encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:24]
