"""A mesh and its inputs as a few numbers, to compare it with those of a training set."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pitgeo.data.fields.mesh_field import own_number
from pitgeo.data.fields.mesh_sizes import sizes
from pitgeo.data.fields.reading import Floats
from pitgeo.data.fields.table import FieldTable
from pitgeo.geometry.shape import shape
from pitgeo.mesh import Mesh


@dataclass(frozen=True)
class MeshCase:
    """A mesh and its inputs as a few numbers.

    Args:
        low: Smallest value of every input number.
        high: Largest value of every one.
        sizes: Extent and spacing, see :func:`~pitgeo.data.fields.mesh_sizes.sizes`.
        normal: The mean of the normals, if they are an input.
        inputs: Descriptors of the input fields: the means of all numbers over the input points, then the standard
            deviations, minima and maxima.
        shape: Descriptors of the shape: those of :func:`~pitgeo.geometry.shape.shape`, then the same four of the
            geometry inputs.
    """

    low: tuple[float, ...]
    high: tuple[float, ...]
    sizes: Mapping[str, float]
    normal: tuple[float, ...]
    inputs: tuple[float, ...]
    shape: tuple[float, ...]

    @classmethod
    def of(cls, table: FieldTable, mesh: Mesh, inputs: Floats, has_shape: bool = True) -> MeshCase:
        """The numbers of a mesh.

        Args:
            table: Inputs and targets.
            mesh: The mesh.
            inputs: The result of :meth:`FieldTable.read` for it.
            has_shape: Whether the numbers of the shape are found, for which the boundary of the mesh is.
        """
        low, high = (tuple(part.tolist()) for part in table.ranges(inputs))
        parts = table.parts(inputs, "inputs")
        normals = [part.mean(0).tolist() for field, part in parts if field.is_geometry and field.name == "normals"]
        normal = tuple(normals[0]) if normals else ()
        return cls(low, high, sizes(mesh), normal, *descriptors(table, inputs, shape(mesh) if has_shape else ()))

    def with_numbers(self, table: FieldTable, inputs: Floats) -> MeshCase:
        """The same mesh with other numbers of the whole mesh, and what is computed from its points as it is.

        Args:
            table: Inputs and targets.
            inputs: As for :meth:`of`, with the other numbers.
        """
        low, high = (tuple(part.tolist()) for part in table.ranges(inputs))
        return replace(self, low=low, high=high, inputs=descriptors(table, inputs, ())[0])

    def without(self, table: FieldTable, names: Collection[str]) -> MeshCase:
        """The same mesh with zeros as descriptors of some inputs, which are then not compared.

        Args:
            table: Inputs and targets.
            names: The inputs.
        """
        fields = table.inputs[: len(table.inputs) - (len(table.targets) if table.is_one_step else 0)]
        owners = [field.name for field in fields if not field.is_geometry for _ in range(field.stored)]
        pairs = zip(self.inputs, 4 * owners, strict=True)
        return replace(self, inputs=tuple(0.0 if name in names else value for value, name in pairs))


def descriptors(table: FieldTable, inputs: Floats, own: Sequence[float]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Descriptors of the inputs and of the shape, from the result of :func:`~pitgeo.geometry.shape.shape`.

    The state of a time series is left out: it may be that at any time.
    """
    parts = table.parts(inputs, "inputs")
    parts = parts[: len(parts) - len(table.targets)] if table.is_one_step else parts
    found: dict[bool, list[Floats]] = {False: [], True: []}
    for field, part in parts:
        values = (own_number(part)[None] if field.within else part).astype(np.float64)
        found[field.is_geometry].append(np.stack([values.mean(0), values.std(0), values.min(0), values.max(0)]))
    fields, geometry = (np.concatenate([*found[kind], np.zeros((4, 0))], 1).ravel() for kind in (False, True))
    return tuple(fields.tolist()), (*own, *geometry.tolist())


def descriptor_sizes(values: Floats, own: int = 0) -> Floats:
    """What differences of descriptors ``[n, d]`` are small or large against, ``[d]``.

    That is 1 for the first ones, of :func:`~pitgeo.geometry.shape.shape`, which have no unit; for the others the
    largest absolute value of the input.

    Args:
        values: Descriptors of the training samples.
        own: How many of them are the first ones.
    """
    rest = np.abs(values[:, own:]).reshape(len(values), 4, -1)
    return np.concatenate([np.ones(own), np.tile(rest.max((0, 1), initial=0.0), 4)])
