"""Summary of one mesh file: a few numbers, so that a set of any size fits in memory."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pitgeo.describe.cells import CellFlaws, Orientation, flaws, orientation
from pitgeo.describe.roles import Role, role_of
from pitgeo.geometry.sets import in_set
from pitgeo.mesh import Mesh
from pitgeo.mesh.cell_types import dimension
from pitgeo.mesh.cells import first_of
from pitgeo.mesh.pieces import PIECE
from pitgeo.mesh.sets import is_mark
from pitgeo.mesh.writing import refusal

Place = Literal["points", "cells", "mesh"]
MANY = 20
"""A field with more different whole values than this is no category."""
COMPONENTS = 9
"""Fields of more components get one range in place of one for each."""


@dataclass(frozen=True)
class FileField:
    """One field in one file.

    Args:
        place: Whether it has a value for each point, each cell, or the whole mesh.
        name: Its name.
        components: Numbers a point, a cell or the mesh.
        dtype: Type of the values.
        is_number: Whether the values are numbers, not text.
        count: Points or cells.
        low: Smallest finite value of each component; empty if there is none.
        high: Largest finite value of each component.
        bad: Points or cells with a value that is not finite.
        first_bad: The first of them.
        whole: The different values, if all are whole numbers and there are at most :data:`MANY`.
        role: Whether it is the coordinates of the points or cells, or normals.
    """

    place: Place
    name: str
    components: int
    dtype: str
    is_number: bool = True
    count: int = 0
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    bad: int = 0
    first_bad: int | None = None
    whole: frozenset[float] | None = None
    role: Role = ""

    @property
    def scale(self) -> float:
        """The largest magnitude."""
        return max((abs(value) for value in self.low + self.high), default=0.0)


@dataclass(frozen=True)
class FileSeries:
    """The steps of a time series.

    Args:
        times: All times.
        read: How many of the steps were read.
        changed: Why its meshes are not one, as the first step says that has another; empty if they are.
        partial: Fields that some of the steps read lack, or have with other components, and the first such step.
        still: Fields that are the same at all steps read.
    """

    times: tuple[float, ...]
    read: int
    changed: str
    partial: dict[tuple[Place, str], int]
    still: frozenset[tuple[Place, str]]

    @property
    def lengths(self) -> list[float]:
        """The time from each step to the next."""
        return [float(length) for length in np.diff(self.times)]


@dataclass(frozen=True)
class FileSummary:
    """The summary of one file.

    Args:
        label: Its name in messages.
        suffix: Ending of the file's name, in lower case.
        dimension: Axes of the points.
        plane: Third coordinate of a planar mesh.
        points: How many.
        cells: How many of each type.
        low: Smallest coordinate along each axis.
        high: Largest coordinate along each axis.
        normal: Of the plane that all points of a mesh in 3D lie in, if they do.
        orphans: Points of no cell.
        duplicates: Points that lie where an earlier one lies.
        repeated: Cells with the nodes of an earlier one.
        flaws: Degenerate and turned cells.
        orientation: Which way round most cells run.
        fields: Fields of points, cells and the whole mesh.
        sets: Names of the sets of points and of cells.
        parts: Names of those that are neither empty nor the whole mesh, and mean one thing.
        mesh_digest: Equal for equal points and cells.
        digest: Equal for equal points, cells and fields.
        refusal: Why predictions are not written in the file's own format; empty if they are.
        series: What changes over its steps, if it is a time series; the rest is then of the first one.
    """

    label: str
    suffix: str
    dimension: int
    plane: float
    points: int
    cells: dict[str, int]
    low: tuple[float, ...]
    high: tuple[float, ...]
    normal: tuple[float, ...] | None
    orphans: int
    duplicates: int
    repeated: int
    flaws: CellFlaws
    orientation: Orientation
    fields: tuple[FileField, ...]
    sets: tuple[tuple[Place, str], ...]
    mesh_digest: bytes
    digest: bytes
    refusal: str = ""
    parts: frozenset[str] = frozenset()
    series: FileSeries | None = None

    @property
    def extent(self) -> float:
        """Diagonal of the box round all points."""
        return float(np.linalg.norm(np.subtract(self.high, self.low)))


def summarize_mesh(mesh: Mesh, path: Path, label: str) -> FileSummary:
    """Summarize a mesh.

    Raises:
        ValueError: If blocks of cells have a field with different numbers of components.
    """
    points, cells = mesh.points, dict[str, int]()
    for kind, nodes in mesh.cells:
        cells[kind] = cells.get(kind, 0) + len(nodes)
    outline = hashlib.blake2b(f"{points.shape} {list(cells.items())}".encode(), digest_size=16)
    outline.update(np.ascontiguousarray(points).data)
    for _, nodes in mesh.cells:
        outline.update(np.ascontiguousarray(nodes).data)
    whole = outline.copy()
    fields = []
    for place, name, values in fields_of(mesh):
        is_plain = values.dtype.kind in "fiubc"
        whole.update(repr((place, name, values.shape, str(values.dtype))).encode())
        whole.update(np.ascontiguousarray(values).data if is_plain else repr(values.tolist()).encode())
        fields.append(replace(summarize_field(place, name, values), role=role_of(mesh, place, name, values)))
    return FileSummary(
        label=label,
        suffix=path.suffix.lower(),
        dimension=points.shape[1],
        plane=mesh.plane,
        points=len(points),
        cells=cells,
        low=tuple(points.min(0).tolist()),
        high=tuple(points.max(0).tolist()),
        normal=_normal(points),
        orphans=_orphans(mesh),
        duplicates=_duplicates(points),
        repeated=_repeated(mesh),
        flaws=flaws(points, mesh.cells),
        orientation=orientation(mesh),
        fields=tuple(fields),
        sets=tuple([("points", name) for name in mesh.point_sets] + [("cells", name) for name in mesh.cell_sets]),
        mesh_digest=outline.digest(),
        digest=whole.digest(),
        refusal=refusal(path),
        parts=_parts(mesh),
    )


def summarize_field(place: Place, name: str, values: NDArray[Any]) -> FileField:
    """Summarize the values ``[count, components]`` of a field."""
    count, components = values.shape
    if values.dtype.kind not in "fiub":
        return FileField(place, name, components, str(values.dtype), is_number=False, count=count)
    numbers = values.reshape(-1, 1) if components > COMPONENTS else values
    bad = ~np.isfinite(values).all(1)
    low, high = numbers, numbers
    if bad.any():
        finite = np.isfinite(numbers)
        low, high = np.where(finite, numbers, np.inf), np.where(finite, numbers, -np.inf)
    range_ = [(float(low_), float(high_)) for low_, high_ in zip(low.min(0), high.max(0), strict=True)]
    is_known = all(low_ <= high_ for low_, high_ in range_)  # a component of NaN alone has no range
    return FileField(
        place=place,
        name=name,
        components=components,
        dtype=str(values.dtype),
        count=count,
        low=tuple(low_ for low_, _ in range_) if is_known else (),
        high=tuple(high_ for _, high_ in range_) if is_known else (),
        bad=int(bad.sum()),
        first_bad=int(bad.argmax()) if bad.any() else None,
        whole=None if components != 1 or bad.any() else _whole(values.ravel()),
    )


def fields_of(mesh: Mesh) -> Iterator[tuple[Place, str, NDArray[Any]]]:
    """Every field as ``[count, components]``; fields without a value are left out."""
    for name, values in mesh.point_data.items():
        yield "points", name, np.asarray(values).reshape(len(mesh.points), -1)
    for name, blocks in mesh.cell_data.items():
        if name == PIECE:  # made by the reader
            continue
        flat = [np.asarray(values).reshape(len(values), -1) for values in blocks if len(values)]
        widths = sorted({values.shape[1] for values in flat})
        if len(widths) > 1:
            raise ValueError(f"Expected one number of components in the cell data {name!r} (got {widths})")
        if flat:
            yield "cells", name, np.concatenate(flat)
    for name, values in mesh.field_data.items():
        row = np.asarray(values).reshape(1, -1)
        if row.size:
            yield "mesh", name, row


def _parts(mesh: Mesh) -> frozenset[str]:
    """Sets, fields of zeros and ones among them, that a number of the whole mesh can be given in."""
    marks = [name for name, values in mesh.point_data.items() if is_mark(values)]
    marks += [name for name, blocks in mesh.cell_data.items() if name != PIECE and all(map(is_mark, blocks))]
    found = set()
    for name in {*mesh.point_sets, *mesh.cell_sets, *marks}:
        with suppress(ValueError):
            if not in_set(mesh, name, "point").all():
                found.add(name)
    return frozenset(found)


def _whole(values: NDArray[Any]) -> frozenset[float] | None:
    if values.dtype.kind == "f" and not all((part == np.rint(part)).all() for part in (values[:1000], values)):
        return None
    different = np.unique(values)
    return frozenset(map(float, different)) if len(different) <= MANY else None


def _orphans(mesh: Mesh) -> int:
    if not mesh.cells:
        return 0
    is_used = np.zeros(len(mesh.points), bool)
    for _, nodes in mesh.cells:
        is_used[nodes.ravel()] = True
    return int((~is_used).sum())


def _duplicates(points: NDArray[np.float64]) -> int:
    ordered = points[np.lexsort(points.T)]
    return int((ordered[1:] == ordered[:-1]).all(1).sum())


def _repeated(mesh: Mesh) -> int:
    first = first_of([(dimension(kind), nodes) for kind, nodes in mesh.cells])
    return int((first != np.arange(len(first))).sum())


def _normal(points: NDArray[np.float64]) -> tuple[float, ...] | None:
    """Normal of the plane that points in 3D lie in, up to a millionth of their extent."""
    if points.shape[1] != 3 or len(points) < 4:
        return None
    centred = points - points.mean(0)
    normal = np.linalg.eigh(centred.T @ centred)[1][:, 0]
    if np.abs(centred @ normal).max() > 1e-6 * float(np.linalg.norm(np.ptp(points, axis=0))):
        return None
    normal = normal * np.sign(normal[np.abs(normal).argmax()])
    return tuple(float(round(part, 6)) + 0.0 for part in normal)
