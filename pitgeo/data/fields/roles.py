"""The fields of a mesh that are inputs and targets, and their channels in a model."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np

from pitgeo.data.fields.mesh_field import MeshField, component_names, own_number
from pitgeo.data.fields.precision import offset_of
from pitgeo.data.fields.reading import Floats, find_field
from pitgeo.geometry import geometry_components
from pitgeo.mesh import Mesh

if sys.version_info >= (3, 11):
    from typing import Self
else:
    from typing_extensions import Self


@dataclass(frozen=True)
class FieldRoles:
    """The inputs and targets of a model.

    Args:
        inputs: Input fields, without the coordinates.
        targets: Fields to predict; those of the whole mesh come last.
        dimension: Axes of the points.
        offset: Subtracted from all positions before they become single precision, one number an axis; empty for
            positions near the origin.
        plane_axis: Of meshes in a plane of space: the axis that the positions lack, 2 for the plane of x and y. Vectors
            of three components still have it. ``None`` where it is not known.

    Raises:
        ValueError: If the dimension is not 1, 2 or 3, the offset has other axes, or there is no target.
    """

    inputs: tuple[MeshField, ...]
    targets: tuple[MeshField, ...]
    dimension: int
    offset: tuple[float, ...] = ()
    plane_axis: int | None = None

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
    ) -> Self:
        """Find the fields on a first mesh.

        A name is searched among point data, cell data, field data and the parameters, in this order; ``"point:name"``
        and ``"cell:name"`` distinguish fields of one name. An input ``"number@set"``, if no field has this name, is
        that number of the whole mesh at the points of the set, and zero elsewhere. If the mesh lies far from the
        origin, its center becomes the offset.

        Raises:
            ValueError: If a name is missing, ambiguous, given twice, or not numeric; a target is a number in a set, or
                a number that an input has in a set; or an input of the whole mesh is called like the component of
                another.
        """
        twice = sorted({name for name in (*inputs, *targets) if [*inputs, *targets].count(name) > 1})
        if twice:
            raise ValueError(f"Expected every field once among inputs and targets (got {twice} more than once)")
        fields = [find_field(mesh, name, parameters or {}) for name in (*inputs, *targets)]
        _check_local(mesh, fields[: len(inputs)], fields[len(inputs) :])
        _check_components(mesh, fields[: len(inputs)])
        predicted = sorted(fields[len(inputs) :], key=lambda field: field.place == "mesh")
        own, last = tuple(fields[: len(inputs)]), tuple(predicted)
        table = cls(own, last, mesh.points.shape[1], offset_of(mesh.points), mesh.plane_axis)
        return table.with_geometry(geometry)

    @property
    def input_place(self) -> Literal["point", "cell"]:
        """The place of the input values: points, or cells if all input fields are cell data."""
        places = {field.place for field in self.inputs if field.place != "mesh" and not field.is_geometry}
        if not places:
            places = {field.place for field in self.targets if field.place != "mesh"}
        return "cell" if places == {"cell"} else "point"

    @property
    def output_places(self) -> tuple[Literal["point", "cell"], ...]:
        """The places of the output points."""
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

    def channels(self, name: str) -> slice:
        """The channels of an input field among the input values."""
        names = [field.name for field in self.inputs]
        start = sum(field.channels for field in self.inputs[: names.index(name)])
        return slice(start, start + self.inputs[names.index(name)].channels)

    @property
    def target_labels(self) -> tuple[str, ...]:
        """A name for every output channel."""
        return tuple(label for field in self.targets for label in field.labels)

    @property
    def scalars(self) -> int:
        """The number of output channels, the last ones, that belong to the mesh as a whole."""
        return sum(field.channels for field in self.targets if field.place == "mesh")

    def plain(self) -> dict[str, Any]:
        """Plain lists and numbers, for a checkpoint."""
        return asdict(self)

    @classmethod
    def parse(cls, plain: Mapping[str, Any]) -> Self:
        """The table from the result of :meth:`plain`."""

        def field(entry: Mapping[str, Any]) -> MeshField:
            kinds = entry["categories"]
            return MeshField(**{**entry, "categories": None if kinds is None else tuple(kinds)})

        inputs, targets = (tuple(field(entry) for entry in plain[key]) for key in ("inputs", "targets"))
        offset, plane_axis = tuple(plain.get("offset", ())), plain.get("plane_axis")  # not in earlier checkpoints
        return cls(inputs, targets, plain["dimension"], offset, plane_axis)

    @property
    def geometry(self) -> tuple[MeshField, ...]:
        """The inputs that are computed from the mesh."""
        return tuple(field for field in self.inputs if field.is_geometry)

    def without_geometry(self) -> Self:
        """A copy without the inputs that are computed from the mesh."""
        return replace(self, inputs=tuple(field for field in self.inputs if not field.is_geometry))

    def with_geometry(self, names: Sequence[str]) -> Self:
        """A copy with these geometry inputs, after the others and before the state of a time series."""
        states = len(self.targets) if self.is_one_step else 0
        fields = [field for field in self.inputs if not field.is_geometry]
        computed = [MeshField(name, geometry_components(name, self.dimension), is_geometry=True) for name in names]
        place = len(fields) - states
        return replace(self, inputs=(*fields[:place], *computed, *fields[place:]))

    @property
    def is_one_step(self) -> bool:
        """Whether the last inputs are the targets: the model predicts the next state of a time series."""
        return self.inputs[-len(self.targets) :] == self.targets

    def ranges(self, values: Floats) -> tuple[Floats, Floats]:
        """Minimum and maximum of every input number of :meth:`read`; for a number in a set, the number itself."""
        parts = [own_number(part)[None] if field.within else part for field, part in self.parts(values, "inputs")]
        low, high = ([part.min(0) for part in parts], [part.max(0) for part in parts])
        return np.concatenate([*low, np.zeros(0)]), np.concatenate([*high, np.zeros(0)])

    def narrow(self, values: Floats, kind: Literal["inputs", "targets"]) -> Floats:
        """The components ``[n, K]`` from the result of :meth:`read` or :meth:`read_targets`, categories as numbers."""
        return np.concatenate([part[:, : field.components] for field, part in self.parts(values, kind)], 1)

    def parts(self, values: Floats, kind: Literal["inputs", "targets"]) -> list[tuple[MeshField, Floats]]:
        """Every field with its columns of the result of :meth:`read` or :meth:`read_targets`."""
        fields: tuple[MeshField, ...] = getattr(self, kind)
        return list(zip(fields, _split(values, fields), strict=True))

    def one_step(self) -> Self:
        """A copy whose last inputs are the targets, for steps from one state to the next.

        Raises:
            ValueError: If the states have other points than the other inputs.
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

    def with_categories(self, kinds: Mapping[str, Sequence[int]]) -> Self:
        """A copy in which some inputs are categories."""
        inputs = [
            replace(field, categories=tuple(kinds[field.name])) if field.name in kinds else field
            for field in self.inputs
        ]
        return replace(self, inputs=tuple(inputs))

    def planar(self, names: Sequence[str]) -> Self:
        """A copy in which the named vectors have two components; their third is zero everywhere."""

        def narrow(field: MeshField) -> MeshField:
            return replace(field, components=2, width=3) if field.name in names else field

        inputs, targets = (tuple(narrow(field) for field in fields) for fields in (self.inputs, self.targets))
        return replace(self, inputs=inputs, targets=targets)


def _check_local(mesh: Mesh, inputs: Sequence[MeshField], targets: Sequence[MeshField]) -> None:
    """Refuse numbers in a set among the targets, and inputs that contain a target."""
    for field in targets:
        if field.within:
            raise ValueError(
                f"{mesh.where}Expected a number in a set among the inputs (got {field.name!r} among the targets); "
                f"predict {field.source!r}, the number of the whole mesh, or move it to the inputs"
            )
    predicted = {field.name for field in targets if field.place == "mesh"}
    for field in inputs:
        if field.within and field.source in predicted:
            raise ValueError(
                f"{mesh.where}Expected targets that the inputs do not hold (got {field.source!r} among the targets, "
                f"and {field.name!r} among the inputs); leave one of them out"
            )


def _check_components(mesh: Mesh, inputs: Sequence[MeshField]) -> None:
    """Refuse numbers of the whole mesh of which a name would mean two."""
    own = [field for field in inputs if field.place == "mesh"]
    sources = {field.source: field for field in own}
    for vector in own:
        for name in component_names(vector):
            if name != vector.source and name in sources:
                raise ValueError(
                    f"{mesh.where}Expected inputs of the whole mesh that differ in their names (got {name!r}, which "
                    f"is also the name of a component of {vector.name!r}); leave out {sources[name].name!r} if it is "
                    f"that component, else rename one of them in all files"
                )


def _split(values: Floats, fields: Sequence[MeshField]) -> list[Floats]:
    return np.split(values, np.cumsum([field.stored for field in fields])[:-1], 1) if fields else []
