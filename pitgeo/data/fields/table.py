"""From the fields of a mesh to the channels of a model, and back: what training and prediction have in common."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from pitgeo.data import PointData
from pitgeo.data.fields.mesh_field import MeshField
from pitgeo.data.fields.precision import offset_of, warn_of_loss
from pitgeo.data.fields.reading import Floats, field_values, find_field
from pitgeo.geometry import geometry_components
from pitgeo.mesh import Mesh, centroids

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class FieldTable:
    """The inputs and targets of a model, and where they are found on a mesh.

    Input values are given at the points, or at the centres of cells if all input fields are cell data; those of the
    other kind are averaged. Targets are wanted where they belong, so that the output points may be points, centres
    of cells, or both. Numbers that belong to the mesh as a whole are inputs that are the same at every point; as
    targets they are means over the output points.

    Args:
        inputs: Input fields; the coordinates are not among them.
        targets: Fields to predict; those of the whole mesh come last.
        dimension: Axes of the points.
        offset: What is taken from all positions before they become single precision, one number an axis; none if they
            lie near the origin.

    Raises:
        ValueError: If the dimension is not 1, 2 or 3, the offset has other axes, or there is no target.
    """

    inputs: tuple[MeshField, ...]
    targets: tuple[MeshField, ...]
    dimension: int
    offset: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if self.dimension not in (1, 2, 3):
            raise ValueError(f"Expected a mesh of 1, 2 or 3 dimensions (got {self.dimension})")
        if len(self.offset) not in (0, self.dimension):
            raise ValueError(f"Expected an 'offset' of {self.dimension} numbers, or none (got {len(self.offset)})")
        if not self.targets:
            raise ValueError("Expected at least one target (got none)")
        order = [field.place == "mesh" for field in self.targets]
        if order != sorted(order):
            raise ValueError("Expected targets of the whole mesh after those of points and cells")

    @classmethod
    def infer(
        cls,
        mesh: Mesh,
        inputs: Sequence[str],
        targets: Sequence[str],
        geometry: Sequence[str] = (),
        parameters: Mapping[str, float] | None = None,
    ) -> FieldTable:
        """Find the fields on a first mesh.

        A name is looked for among point data, cell data, field data and the parameters, in this order; ``"point:name"``
        and ``"cell:name"`` say which, where a name is both. If the mesh lies far from the origin, its middle becomes
        the offset.

        Raises:
            ValueError: If a name is not there, is ambiguous, is given twice, or is not numeric.
        """
        twice = sorted({name for name in (*inputs, *targets) if [*inputs, *targets].count(name) > 1})
        if twice:
            raise ValueError(f"Expected every field once among inputs and targets (got {twice} more than once)")
        found = [find_field(mesh, name, parameters or {}) for name in (*inputs, *targets)]
        wanted = sorted(found[len(inputs) :], key=lambda field: field.place == "mesh")
        table = cls(tuple(found[: len(inputs)]), tuple(wanted), mesh.points.shape[1], offset_of(mesh.points))
        return table.with_geometry(geometry)

    @property
    def input_place(self) -> Literal["point", "cell"]:
        """Where the input values are given."""
        places = {field.place for field in self.inputs if field.place != "mesh" and not field.is_geometry}
        if not places:
            places = {field.place for field in self.targets if field.place != "mesh"}
        return "cell" if places == {"cell"} else "point"

    @property
    def output_places(self) -> tuple[Literal["point", "cell"], ...]:
        """Where values are wanted."""
        places = {field.place for field in self.targets} - {"mesh"}
        return tuple(place for place in ("point", "cell") if place in places) or (self.input_place,)

    @property
    def in_channels(self) -> int:
        """Input values of a point."""
        return sum(field.channels for field in self.inputs)

    @property
    def input_labels(self) -> tuple[str, ...]:
        """A name for every input channel."""
        return tuple(label for field in self.inputs for label in field.labels)

    @property
    def target_labels(self) -> tuple[str, ...]:
        """A name for every output channel."""
        return tuple(label for field in self.targets for label in field.labels)

    @property
    def scalars(self) -> int:
        """How many output channels, the last ones, belong to the mesh as a whole."""
        return sum(field.channels for field in self.targets if field.place == "mesh")

    def plain(self) -> dict[str, Any]:
        """Plain lists and numbers, for a checkpoint."""
        return asdict(self)

    @classmethod
    def parse(cls, plain: Mapping[str, Any]) -> FieldTable:
        """The table that :meth:`plain` was called on."""

        def field(entry: Mapping[str, Any]) -> MeshField:
            kinds = entry["categories"]
            return MeshField(**{**entry, "categories": None if kinds is None else tuple(kinds)})

        inputs, targets = (tuple(field(entry) for entry in plain[key]) for key in ("inputs", "targets"))
        return cls(inputs, targets, plain["dimension"], tuple(plain.get("offset", ())))

    def positions(self, mesh: Mesh, place: str) -> Floats:
        """The points, or the centres of the cells, less the offset, ``[n, D]``.

        Raises:
            ValueError: If the mesh has other axes than the table, or no cells where they are needed.
        """
        self.size(mesh, place)
        return self._moved(mesh.points if place == "point" else centroids(mesh))

    def origin(self, mesh: Mesh) -> tuple[float, ...]:
        """The middle of a mesh that lies far from the offset; none if it does not. It is taken from its positions."""
        return offset_of(self._moved(mesh.points))

    def warn_of_loss(self, mesh: Mesh) -> None:
        """Say in the log if single precision loses the shape of a mesh that must stay where it is."""
        warn_of_loss(mesh, self._moved(mesh.points))

    def _moved(self, points: Floats) -> Floats:
        return points - np.array(self.offset) if self.offset else points

    def size(self, mesh: Mesh, place: str) -> int:
        """How many points or cells there are.

        Raises:
            ValueError: As :meth:`positions`.
        """
        where = f"{mesh.path}: " if mesh.path else ""
        axes = mesh.points.shape[1]
        if axes != self.dimension:
            raise ValueError(
                f"{where}Expected a mesh in {self.dimension}D, like those for training (got {axes}D); leave it "
                f"out, or train on meshes of one dimension"
            )
        if place == "point":
            return len(mesh.points)
        if not mesh.cells:
            raise ValueError(f"{where}Expected cells, whose centres are wanted (got points alone)")
        return mesh.number_of_cells

    def read(self, mesh: Mesh, parameters: Mapping[str, float] | None = None) -> Floats:
        """The input fields at the input points as the file has them, ``[n, numbers]``; categories as numbers.

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
            ValueError: If the mesh has no such thing; the message names the file.
        """
        values = field_values(mesh, field, self.input_place, 0, {})
        return self._moved(values) if field.name == "coordinates" else values

    @property
    def geometry(self) -> tuple[MeshField, ...]:
        """The inputs that are computed from the mesh."""
        return tuple(field for field in self.inputs if field.is_geometry)

    def without_geometry(self) -> FieldTable:
        """A copy with those inputs alone that files hold."""
        return replace(self, inputs=tuple(field for field in self.inputs if not field.is_geometry))

    def with_geometry(self, names: Sequence[str]) -> FieldTable:
        """A copy with these geometry inputs after the other ones, and before the state of a time series."""
        states = len(self.targets) if self.is_one_step else 0
        fields = [field for field in self.inputs if not field.is_geometry]
        computed = [MeshField(name, geometry_components(name, self.dimension), is_geometry=True) for name in names]
        place = len(fields) - states
        return replace(self, inputs=(*fields[:place], *computed, *fields[place:]))

    @property
    def is_one_step(self) -> bool:
        """Whether the last inputs are the targets: the next state of a time series is predicted."""
        return self.inputs[-len(self.targets) :] == self.targets

    def read_targets(self, mesh: Mesh, parameters: Mapping[str, float] | None = None) -> Floats:
        """The targets at the output points as the file has them, ``[m, numbers]``; zeros where one does not belong.

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
        """A sample from positions at each place, and what :meth:`read` and :meth:`read_targets` gave.

        Positions far from the offset are those about ``origin``, which goes with the sample: a unit box has no use for
        it, and without one :class:`~pitgeo.data.transforms.Compose` adds it again.

        Where targets belong to both points and cells, ``y_mask`` says which are known at an output point.

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
        """A sample from a mesh, without targets; ``inputs`` are what :meth:`read` gave, if it was called already."""
        places = {self.input_place, *self.output_places}
        pos, origin = self.centred(mesh, places)
        inputs = self.read(mesh, parameters) if inputs is None else inputs
        return self.sample(pos, inputs, where=f"{mesh.path}: " if mesh.path else "", origin=origin)

    def centred(self, mesh: Mesh, places: Iterable[str]) -> tuple[dict[str, Floats], tuple[float, ...]]:
        """Positions at each place as single precision can hold them, and what :meth:`origin` was taken from them."""
        origin = self.origin(mesh)
        pos = {place: self.positions(mesh, place) for place in places}
        return {place: part - np.array(origin) if origin else part for place, part in pos.items()}, origin

    def truth(self, mesh: Mesh, parameters: Mapping[str, float] | None = None) -> dict[str, Floats]:
        """Those targets that the mesh holds, ``[n, components]`` where they belong; one that does not fit is logged."""
        parameters = parameters or {}
        found = {}
        for field in self.targets:
            places = {"point": mesh.point_data, "cell": mesh.cell_data, "mesh": {**mesh.field_data, **parameters}}
            if field.name not in places[field.place]:
                continue
            size = 1 if field.place == "mesh" else self.size(mesh, field.place)
            try:
                found[field.name] = field_values(mesh, field, field.place, size, parameters)[:, : field.components]
            except ValueError as error:
                log.warning("No error of %r is written: %s", field.name, error)
        return found

    def narrow(self, values: Floats, kind: Literal["inputs", "targets"]) -> Floats:
        """The channels ``[n, channels]`` of what :meth:`read` or :meth:`read_targets` gave, categories as they are."""
        return np.concatenate([part[:, : field.components] for field, part in self.parts(values, kind)], 1)

    def parts(self, values: Floats, kind: Literal["inputs", "targets"]) -> list[tuple[MeshField, Floats]]:
        """Every field with its columns of what :meth:`read` or :meth:`read_targets` gave."""
        fields: tuple[MeshField, ...] = getattr(self, kind)
        return list(zip(fields, _split(values, fields), strict=True))

    def split(self, mesh: Mesh, values: Floats) -> dict[str, Floats]:
        """Every target by its name, ``[n, components]`` where it belongs, from values ``[m, channels]``."""
        sizes = {place: self.size(mesh, place) for place in self.output_places}
        found, start = {}, 0
        for field in self.targets:
            part = values[:, start : start + field.channels]
            start += field.channels
            found[field.name] = part[:1] if field.place == "mesh" else part[self._rows(field, sizes)]
        return found

    def add(self, mesh: Mesh, values: Mapping[str, Floats], ending: str) -> Mesh:
        """A copy of the mesh with fields ``<target><ending>``, each where it belongs and as wide as in the file."""
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

    def without_targets(self, mesh: Mesh) -> Mesh:
        """A copy of the mesh without the targets' own fields."""
        names = {field.name for field in self.targets}
        points = {name: values for name, values in mesh.point_data.items() if name not in names}
        cells = {name: values for name, values in mesh.cell_data.items() if name not in names}
        return replace(mesh, point_data=points, cell_data=cells)

    def rows(self, mesh: Mesh, field: MeshField) -> slice:
        """The output points of a mesh that a target belongs to."""
        return self._rows(field, {place: self.size(mesh, place) for place in self.output_places})

    def _rows(self, field: MeshField, sizes: Mapping[Any, int]) -> slice:
        """The output points that a target belongs to."""
        start = 0 if field.place == self.output_places[0] else sizes[self.output_places[0]]
        return slice(start, start + sizes[field.place])

    def one_step(self) -> FieldTable:
        """A copy whose last inputs are the targets: from one state to the next.

        Raises:
            ValueError: If states are not given at the same points as the other inputs.
        """
        states = tuple(field for field in self.targets)
        if any(field.place == "mesh" for field in states):
            raise ValueError("Expected targets of points or cells in a time series (got numbers of the whole mesh)")
        table = replace(self, inputs=(*self.inputs, *states))
        if table.output_places != (table.input_place,):
            raise ValueError(
                f"Expected the fields of a time series to be all point data or all cell data (got targets at "
                f"{' and '.join(table.output_places)}s, inputs at {table.input_place}s)"
            )
        return table

    def with_categories(self, kinds: Mapping[str, Sequence[int]]) -> FieldTable:
        """A copy in which some inputs are categories."""
        inputs = [
            replace(field, categories=tuple(kinds[field.name])) if field.name in kinds else field
            for field in self.inputs
        ]
        return replace(self, inputs=tuple(inputs))

    def planar(self, names: Sequence[str]) -> FieldTable:
        """A copy in which vectors of three components are taken as two, the third being zero everywhere."""

        def narrow(field: MeshField) -> MeshField:
            return replace(field, components=2, width=3) if field.name in names else field

        inputs, targets = (tuple(narrow(field) for field in fields) for fields in (self.inputs, self.targets))
        return replace(self, inputs=inputs, targets=targets)


def _split(values: Floats, fields: Sequence[MeshField]) -> list[Floats]:
    return np.split(values, np.cumsum([field.stored for field in fields])[:-1], 1) if fields else []


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
