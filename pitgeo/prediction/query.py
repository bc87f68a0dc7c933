"""What is asked of a model beside the fields on a file's own mesh: a surface filled with points, lines and planes."""

from __future__ import annotations

import csv
import io
import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pitgeo.data.fields.mesh_field import AXES, MeshField
from pitgeo.data.fields.numbers import numbers
from pitgeo.data.fields.table import ENDINGS
from pitgeo.geometry.filled import fill_surface
from pitgeo.geometry.probes import cut, probe_line
from pitgeo.geometry.values import SET
from pitgeo.mesh import Mesh, Note
from pitgeo.mesh.names import each_once
from pitgeo.prediction.study import with_values
from pitgeo.system.numbers import finite

if TYPE_CHECKING:
    from pitgeo.data.fields import FieldTable

log = logging.getLogger(__name__)

MOST = 1_000_000
"""Most points of a line."""


@dataclass(frozen=True)
class Line:
    """Evenly spaced points from one to another.

    Args:
        start: The first position.
        stop: The last position.
        number: How many.
    """

    start: tuple[float, ...]
    stop: tuple[float, ...]
    number: int

    @classmethod
    def parse(cls, text: str) -> Line:
        """A line from ``"x0,y0,z0:x1,y1,z1:100"``.

        Raises:
            ValueError: If the text has another form.

        Example:
            >>> Line.parse("0,0:1,2:50")
            Line(start=(0.0, 0.0), stop=(1.0, 2.0), number=50)
        """
        first, _, rest = text.partition(":")
        second, _, number = rest.partition(":")
        start, stop = _place(first), _place(second)
        if not start or len(start) != len(stop) or not number.isdecimal():
            raise ValueError(
                f"Expected two positions and how many points, as in '0,0,0:1,0,0:100' (got {text!r}); one position has "
                f"as many coordinates as the mesh"
            )
        if not 2 <= int(number) <= MOST or start == stop:
            raise ValueError(f"Expected 2 to {MOST:,} points between two places for a line (got {text!r}); take others")
        return cls(start, stop, int(number))


@dataclass(frozen=True)
class Plane:
    """A plane in space.

    Args:
        origin: A point of it.
        normal: Its normal.
    """

    origin: tuple[float, ...]
    normal: tuple[float, ...]

    @classmethod
    def parse(cls, text: str) -> Plane:
        """A plane from ``"x,y,z:nx,ny,nz"``.

        Raises:
            ValueError: If the text has another form.

        Example:
            >>> Plane.parse("0,0,0.5:0,0,1").normal
            (0.0, 0.0, 1.0)
        """
        ends = [_place(part) for part in text.split(":")]
        if [len(end) for end in ends] != [3, 3] or not any(ends[1]):
            raise ValueError(
                f"Expected a point of the plane and its normal, not zero, as in '0,0,0.5:0,0,1' (got {text!r})"
            )
        return cls(*ends)


@dataclass(frozen=True)
class Query:
    """What is asked beside the fields on a file's own mesh.

    Args:
        values: Numbers that files lack, by name; a vector's components are called ``"load_x"``.
        spacing: Of points that fill closed surfaces; ``None``: files are meshes of what is to be predicted.
        lines: Lines along which a table is written, ``<file>_line.csv``.
        planes: Planes on which fields are written, ``<file>_slice.vtp``.
    """

    values: Mapping[str, float] = field(default_factory=dict)
    spacing: float | None = None
    lines: Sequence[Line] = ()
    planes: Sequence[Plane] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing is asked."""
        return not (self.values or self.lines or self.planes) and self.spacing is None

    def mesh(self, table: FieldTable, mesh: Mesh, parameters: Mapping[str, float]) -> Mesh:
        """The mesh to predict on, for one that was read, with all its inputs.

        Raises:
            ImportError: If a package is missing that fills surfaces.
            ValueError: If a number is no input, or the file has it, or it is given nowhere; or the surface is not
                closed, or lacks inputs.
        """
        mesh = with_given(table, mesh, self.values, parameters)
        if self.spacing is not None:
            return filled(table, mesh, self.spacing, parameters)
        if lacking := _lacking_numbers(table, mesh, parameters):
            raise ValueError(
                f"{mesh.where}Expected all numbers of the whole mesh that the model takes (got a file without "
                f"{', '.join(lacking)}, among {', '.join(map(repr, mesh.field_data)) or 'no'} field data); give them "
                f"by 'values', or in a table by 'parameters'"
            )
        return mesh

    def names(self, target: Path) -> list[Path]:
        """The files of lines, then those of planes, beside a predicted one."""
        found = []
        for word, ending, parts in (("line", "csv", self.lines), ("slice", "vtp", self.planes)):
            for number in range(len(parts)):
                end = f"_{number + 1}" if len(parts) > 1 else ""
                found.append(target.with_name(f"{target.stem}_{word}{end}.{ending}"))
        return found

    def found(self, table: FieldTable, after: Mesh) -> list[bytes | Mesh]:
        """What the files of :meth:`names` hold: tables of lines, then meshes of planes.

        Args:
            table: Inputs and targets.
            after: The mesh with predicted fields.

        Raises:
            ImportError: If PyVista is missing.
            ValueError: If a line has no point in the mesh, or a plane does not meet it.
        """
        points, cells = (
            {f"{own.name}{ending}" for own in table.targets if own.place == place for ending in ("", *ENDINGS)}
            for place in ("point", "cell")
        )
        shown = Mesh(
            after.points,
            after.cells,
            {name: values for name, values in after.point_data.items() if name in points},
            {name: values for name, values in after.cell_data.items() if name in cells},
            plane=after.plane,
            plane_axis=after.plane_axis,
            path=after.path,
        )
        tables = [_csv(shown, line).encode() for line in self.lines]
        return [*tables, *(cut(after, plane.origin, plane.normal) for plane in self.planes)]


def with_given(
    table: FieldTable, mesh: Mesh, values: Mapping[str, float], parameters: Mapping[str, float] | None = None
) -> Mesh:
    """The mesh with numbers that it lacks as field data.

    Args:
        table: Inputs and targets.
        mesh: The mesh.
        values: The numbers by name; a vector's components are called ``"load_x"``.
        parameters: Numbers of the mesh from a table.

    Raises:
        ValueError: If the model takes no such number, a vector lacks a component, or the mesh has the number.
    """
    held, known = {**mesh.field_data, **(parameters or {})}, numbers(table)
    for name in values:
        if name in known and known[name].source in held:
            raise ValueError(
                f"{mesh.where}Expected values of numbers that the file lacks (got one of {name!r}, which it has, or "
                f"its table); leave it out, or predict for other values by 'pitgeo sweep --vary'"
            )
    result = with_values(table, mesh, values)
    for name in values:
        source = known[name].source
        if source not in result.field_data:
            every = [other for other, number in known.items() if number.source == source]
            lacking = [other for other in every if other not in values]
            raise ValueError(
                f"{mesh.where}Expected values of all components of {source!r} (got none of {', '.join(lacking)}); give "
                f"these too"
            )
    return result


def filled(table: FieldTable, surface: Mesh, spacing: float, parameters: Mapping[str, float]) -> Mesh:
    """The body inside a closed surface, with what the model takes beside the positions.

    Fields of zeros and ones, and named sets, are those of the surface, and zero inside.

    Args:
        table: Inputs and targets.
        surface: Faces in space.
        spacing: Of the points.
        parameters: Numbers of the mesh that it does not hold.

    Raises:
        ImportError: If gmsh or PyVista is missing.
        ValueError: If the surface is not closed, or lacks inputs; the message names all of them.
    """
    marks, sets, lacking = [], [], _lacking_numbers(table, surface, parameters)
    if table.dimension != 3:
        raise ValueError(f"Expected a model of bodies in 3D to fill a surface for (got one in {table.dimension}D)")
    fields = {*surface.point_data, *surface.cell_data, *surface.point_sets, *surface.cell_sets}
    for own in table.inputs:
        if own.is_geometry and own.name.startswith(SET):
            sets.append(own.name.removeprefix(SET))
        elif own.is_geometry and own.name == "normals":
            raise ValueError(
                "Expected a model of bodies to fill a surface for (got one that takes normals of surfaces)"
            )
        elif own.place == "cell":
            raise ValueError(
                f"Expected a model whose input fields are at points to fill a surface for (got one that takes "
                f"{own.name!r} at cells); predict a mesh of the body"
            )
        elif own.place == "point" and not own.is_geometry:
            marks.append(own.name)
        elif own.place == "mesh":
            sets += [] if own.within is None else [own.within]
    named = [name if name in fields else name.removeprefix("point:").removeprefix("cell:") for name in sets]
    lacking += [f"the field {name!r}" for name in marks if name not in fields]
    lacking += [f"the set {name!r}" for name in named if name not in fields]
    if lacking:
        raise ValueError(
            f"{surface.where}Expected all inputs of the model (got a surface without {', '.join(lacking)}); give "
            f"numbers by 'values' or 'parameters', and save the surface as .vtp with a field of zeros and ones at its "
            f"points or faces for each of the others"
        )
    as_fields = [name for name in named if name in surface.point_data or name in surface.cell_data]
    return fill_surface(surface, spacing, [*marks, *as_fields])


def _lacking_numbers(table: FieldTable, mesh: Mesh, parameters: Mapping[str, float]) -> list[str]:
    """The numbers of the whole mesh that a model takes and that are given nowhere."""
    names = [own.source for own in table.inputs if own.place == "mesh" and not own.is_geometry]
    held = {*mesh.field_data, *parameters}
    return [f"the number {name!r}" for name in dict.fromkeys(names) if name not in held]


def _csv(mesh: Mesh, line: Line) -> str:
    axes = mesh.points.shape[1]
    if len(line.start) != axes:
        raise ValueError(
            f"{mesh.where}Expected positions of {axes} coordinates for the line (got {len(line.start)}); leave out "
            f"what a mesh in {axes}D lacks"
        )
    found = probe_line(mesh, line.start, line.stop, line.number)
    if not found.inside.any():
        raise ValueError(
            f"{mesh.where}Expected a line through the mesh, which reaches from {mesh.points.min(0).tolist()} to "
            f"{mesh.points.max(0).tolist()} (got none of {line.number} points in it); move it"
        )
    distance = np.linalg.norm(found.points - found.points[0], axis=1)
    names = ["distance", *(AXES[axis] for axis in mesh.axes), "inside"]
    columns = [distance, *found.points.T, found.inside.astype(np.float64)]
    for name, values in found.fields.items():
        parts = values.reshape(len(values), -1).T
        names += MeshField(name, len(parts)).labels
        columns += list(parts)
    notes: list[Note] = []
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(each_once(names, "column", notes))
    writer.writerows(
        ["" if math.isnan(value) and not is_inside else f"{value:.9g}" for value in row]
        for is_inside, *row in zip(found.inside, *columns, strict=True)
    )
    for note in notes:
        log.warning("%sof the line, %s", mesh.where, note.text)
    return text.getvalue()


def _place(text: str) -> tuple[float, ...]:
    """Coordinates from a text; none if it holds something else."""
    parts = [finite(part) for part in text.split(",")]
    found = tuple(part for part in parts if part is not None)
    return found if len(found) == len(parts) <= 3 else ()
