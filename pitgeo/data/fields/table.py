"""From the fields of a mesh to the channels of a model, and back, for training and prediction."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from pitgeo.data import PointData
from pitgeo.data.fields.mesh_field import AXES, MeshField
from pitgeo.data.fields.precision import offset_of, warn_of_loss
from pitgeo.data.fields.reading import Floats, field_values
from pitgeo.data.fields.roles import FieldRoles
from pitgeo.mesh import Mesh, centroids

log = logging.getLogger(__name__)

SPATIAL = (3, 6, 9)
"""Numbers of components of vectors and tensors in space."""
ENDINGS = ("_prediction", "_spread", "_bound", "_peak_bound", "_error")
"""Of the fields that a prediction adds to a mesh for its targets."""


@dataclass(frozen=True)
class FieldTable(FieldRoles):
    """The inputs and targets of a model, with methods that read them from a mesh and write them to it.

    Input points are the points of the mesh, or the centres of cells if all input fields are cell data; fields of the
    other kind are averaged. Output points are points, centres of cells, or both, as the targets need. A number of the
    mesh as a whole is an input with one value at all points, or at those of a named set with zeros elsewhere; as a
    target it is a mean over the output points.

    The arguments are those of :class:`~pitgeo.data.fields.roles.FieldRoles`.

    Example:
        >>> table = FieldTable((MeshField("load"),), (MeshField("velocity", components=2),), dimension=2)
        >>> table.input_labels, table.target_labels
        (('load',), ('velocity_x', 'velocity_y'))
    """

    def positions(self, mesh: Mesh, place: str) -> Floats:
        """The points, or the centres of the cells, less the offset, ``[n, D]``.

        Raises:
            ValueError: If the mesh has another dimension than the table or lies in another plane, or lacks cells that
                are needed.
        """
        self.size(mesh, place)
        return self._moved(mesh.points if place == "point" else centroids(mesh))

    def origin(self, mesh: Mesh) -> tuple[float, ...]:
        """The center of a mesh that lies far from the offset, to be subtracted from its positions; else empty."""
        return offset_of(self._moved(mesh.points))

    def warn_of_loss(self, mesh: Mesh) -> None:
        """Write a warning to the log if single precision loses the shape of a mesh that cannot be moved."""
        warn_of_loss(mesh, self._moved(mesh.points))

    def _moved(self, points: Floats) -> Floats:
        return points - np.array(self.offset) if self.offset else points

    def size(self, mesh: Mesh, place: str) -> int:
        """The number of points or cells.

        Raises:
            ValueError: As :meth:`positions`.
        """
        axes = mesh.points.shape[1]
        if axes != self.dimension:
            raise ValueError(
                f"{mesh.where}Expected a mesh in {self.dimension}D, like those for training (got {axes}D); leave it "
                f"out, or train on meshes of one dimension"
            )
        self._check_plane(mesh)
        if place == "point":
            return len(mesh.points)
        if not mesh.cells:
            raise ValueError(f"{mesh.where}Expected cells, at whose centres there are values (got points alone)")
        return mesh.number_of_cells

    def _check_plane(self, mesh: Mesh) -> None:
        """Refuse meshes in another plane of space, if fields have components along its axes."""
        vectors = [field.name for field in (*self.inputs, *self.targets) if field.stored in SPATIAL]
        if self.dimension == 2 and vectors and self.plane_axis not in (None, mesh.plane_axis):
            own, other = (" and ".join(np.delete([*AXES], axis)) for axis in (self.plane_axis, mesh.plane_axis))
            raise ValueError(
                f"{mesh.where}Expected a mesh in the plane of {own}, like the first for training, since {vectors[0]!r} "
                f"has components along the axes of space (got one in the plane of {other}); turn it there "
                f"with its fields, or leave it out"
            )

    def read(self, mesh: Mesh, parameters: Mapping[str, float] | None = None) -> Floats:
        """The input fields at the input points, ``[n, numbers]``, as in the file; categories as numbers.

        Raises:
            ValueError: If a field is missing, not finite or of another size; the message names file and field.
        """
        place = self.input_place
        size = self.size(mesh, place)
        parts = [
            self.read_geometry(mesh, field)
            if field.is_geometry
            else field_values(mesh, field, place, size, parameters or {})
            for field in self.inputs
        ]
        return np.concatenate(parts, 1) if parts else np.zeros((size, 0))

    def read_geometry(self, mesh: Mesh, field: MeshField) -> Floats:
        """A geometry input at the input points, ``[n, components]``.

        Raises:
            ImportError: If PyVista is missing.
            ValueError: If the mesh does not have this geometry; the message names the file.
        """
        values = field_values(mesh, field, self.input_place, 0, {})
        return self._moved(values) if field.name == "coordinates" else values

    def read_targets(self, mesh: Mesh, parameters: Mapping[str, float] | None = None) -> Floats:
        """The targets at the output points, ``[m, numbers]``, as in the file; zeros where a target has no values.

        Raises:
            ValueError: If a field is missing, not finite or of another size; the message names file and field.
        """
        sizes = {place: self.size(mesh, place) for place in self.output_places}
        total = sum(sizes.values())
        columns = []
        for field in self.targets:
            if field.place == "mesh":
                columns.append(field_values(mesh, field, self.output_places[0], total, parameters or {}))
                continue
            column = np.zeros((total, field.stored))
            column[self._rows(field, sizes)] = field_values(mesh, field, field.place, sizes[field.place], {})
            columns.append(column)
        return np.concatenate(columns, 1)

    def sample(
        self,
        pos: Mapping[Any, Floats],
        inputs: Floats,
        targets: Floats | None = None,
        where: str = "",
        sample_id: int | None = None,
        origin: Sequence[float] = (),
    ) -> PointData:
        """A sample from positions at each place, and the results of :meth:`read` and :meth:`read_targets`.

        Positions of a mesh far from the offset are relative to ``origin``, which is stored in the sample. A unit box
        does not need it; without one, :class:`~pitgeo.data.transforms.Compose` adds it to the positions.

        If targets belong to both points and cells, ``y_mask`` says which are known at an output point.

        Raises:
            ValueError: If a category is unknown.
        """
        parts = [
            column[:, : field.components] if field.categories is None else _one_hot(column, field, where)
            for field, column in self.parts(inputs, "inputs")
        ]
        x = np.concatenate(parts, 1) if parts else np.zeros((len(inputs), 0))
        data = PointData(pos=_tensor(pos[self.input_place]), x=_tensor(x), sample_id=sample_id)
        if len(origin):
            data.origin = torch.tensor([list(origin)], dtype=torch.float64)
        if self.output_places != (self.input_place,):
            data.set_points("out", _tensor(np.concatenate([pos[place] for place in self.output_places])))
        if targets is None:
            return data
        sizes = {place: len(pos[place]) for place in self.output_places}
        known = np.ones((len(targets), len(self.target_labels)), bool)
        columns, channel = [], 0
        for field, column in self.parts(targets, "targets"):
            columns.append(column[:, : field.components])
            if field.place != "mesh":
                known[:, channel : channel + field.channels] = False
                known[self._rows(field, sizes), channel : channel + field.channels] = True
            channel += field.channels
        data.y = _tensor(np.concatenate(columns, 1))
        if not known.all():
            data.y_mask = torch.from_numpy(known)
        return data

    def mesh_sample(
        self, mesh: Mesh, parameters: Mapping[str, float] | None = None, inputs: Floats | None = None
    ) -> PointData:
        """A sample from a mesh, without targets; ``inputs`` are the result of :meth:`read`, if it is at hand."""
        places = {self.input_place, *self.output_places}
        pos, origin = self.centred(mesh, places)
        inputs = self.read(mesh, parameters) if inputs is None else inputs
        return self.sample(pos, inputs, where=mesh.where, origin=origin)

    def centred(self, mesh: Mesh, places: Iterable[str]) -> tuple[dict[str, Floats], tuple[float, ...]]:
        """Positions at each place, close enough to zero for single precision, and the :meth:`origin` of them."""
        origin = self.origin(mesh)
        pos = {place: self.positions(mesh, place) for place in places}
        return {place: part - np.array(origin) if origin else part for place, part in pos.items()}, origin

    def truth(self, mesh: Mesh, parameters: Mapping[str, float] | None = None) -> dict[str, Floats]:
        """The targets that the mesh holds, ``[n, components]`` at their own places; invalid ones are logged."""
        parameters = parameters or {}
        truth = {}
        for field in self.targets:
            places = {"point": mesh.point_data, "cell": mesh.cell_data, "mesh": {**mesh.field_data, **parameters}}
            if field.name not in places[field.place]:
                continue
            size = 1 if field.place == "mesh" else self.size(mesh, field.place)
            try:
                truth[field.name] = field_values(mesh, field, field.place, size, parameters)[:, : field.components]
            except ValueError as error:
                log.warning("No error of %r is written: %s", field.name, error)
        return truth

    def split(self, mesh: Mesh, values: Floats) -> dict[str, Floats]:
        """Every target by its name, ``[n, components]`` at its own place, from values ``[m, channels]``."""
        sizes = {place: self.size(mesh, place) for place in self.output_places}
        fields, start = {}, 0
        for field in self.targets:
            part = values[:, start : start + field.channels]
            start += field.channels
            fields[field.name] = part[:1] if field.place == "mesh" else part[self._rows(field, sizes)]
        return fields

    def add(self, mesh: Mesh, values: Mapping[str, Floats], ending: str) -> Mesh:
        """A copy of the mesh with fields ``<target><ending>``, each at its own place and as wide as in the file."""
        for field in self.targets:
            if field.name not in values:
                continue
            part, name = values[field.name], f"{field.name}{ending}"
            part = np.concatenate([part, np.zeros((len(part), field.stored - field.components))], 1)
            part = part[:, 0] if part.shape[1] == 1 else part
            if field.place == "mesh":
                mesh = mesh.with_field_data(name, part if part.ndim == 1 else part[0], "replace")
            else:
                add = mesh.with_point_data if field.place == "point" else mesh.with_cell_data
                mesh = add(name, part, "replace")
        return mesh

    def with_numbers(self, mesh: Mesh, parameters: Mapping[str, float] | None) -> Mesh:
        """A copy of the mesh with the parameters that are inputs, and which it does not hold, as field data."""
        for field in self.inputs:
            name = field.source
            if field.place == "mesh" and name in (parameters or {}) and name not in mesh.field_data:
                mesh = mesh.with_field_data(name, np.array([(parameters or {})[name]]))
        return mesh

    def without_targets(self, mesh: Mesh) -> Mesh:
        """A copy of the mesh without the fields that are targets."""
        return _without(mesh, {field.name for field in self.targets})

    def without_predictions(self, mesh: Mesh) -> Mesh:
        """A copy of the mesh without what an earlier prediction of these targets has added to it."""
        known = {field.source for field in (*self.inputs, *self.targets)}
        return _without(mesh, {f"{field.name}{ending}" for field in self.targets for ending in ENDINGS} - known)

    def rows(self, mesh: Mesh, field: MeshField) -> slice:
        """The range of the output points of a mesh that a target belongs to."""
        return self._rows(field, {place: self.size(mesh, place) for place in self.output_places})

    def _rows(self, field: MeshField, sizes: Mapping[Any, int]) -> slice:
        """The range of the output points that a target belongs to."""
        start = 0 if field.place == self.output_places[0] else sizes[self.output_places[0]]
        return slice(start, start + sizes[field.place])


def _without(mesh: Mesh, names: set[str]) -> Mesh:
    points = {name: values for name, values in mesh.point_data.items() if name not in names}
    cells = {name: values for name, values in mesh.cell_data.items() if name not in names}
    numbers = {name: values for name, values in mesh.field_data.items() if name not in names}
    return replace(mesh, point_data=points, cell_data=cells, field_data=numbers)


def _one_hot(column: Floats, field: MeshField, where: str) -> Floats:
    kinds = np.asarray(field.categories)
    unknown = np.setdiff1d(np.unique(column), kinds)
    if unknown.size:
        raise ValueError(
            f"{where}Expected {field.name!r} to be one of the categories of the training files, {kinds.tolist()} "
            f"(got {unknown.tolist()[:5]}); train on files that have them, or mend the file"
        )
    hot: Floats = (column == kinds[None, :]).astype(np.float64)
    return hot


def _tensor(values: NDArray[Any]) -> torch.Tensor:
    return torch.from_numpy(np.array(values, dtype=np.float32))
