"""Mirrors and turns of samples: positions, vectors and tensors are turned along, scalars stay."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from pitgeo.data.fields import FieldTable, MeshField
from pitgeo.data.point_data import PointData
from pitgeo.data.transforms.unit_box import POSITIONS, box_center

Kind = Literal["scalar", "vector", "pseudovector", "tensor"]
Symmetry = Literal[
    "mirror_x",
    "mirror_y",
    "mirror_z",
    "turn",
    "turn_x",
    "turn_y",
    "turn_z",
    "quarter_turn",
    "quarter_turn_x",
    "quarter_turn_y",
    "quarter_turn_z",
]

OF_DIMENSION = {
    1: ("mirror_x",),
    2: ("mirror_x", "mirror_y", "turn", "quarter_turn"),
    3: (
        *(f"{name}_{axis}" for name in ("mirror", "turn", "quarter_turn") for axis in "xyz"),
        "turn",
    ),
}
"""Symmetries by the dimension of the mesh."""
SIZES: dict[int, dict[str, tuple[int, ...]]] = {
    1: {"vector": (1,)},
    2: {"vector": (2, 3), "pseudovector": (1, 3), "tensor": (3, 4, 6, 9)},
    3: {"vector": (3,), "pseudovector": (3,), "tensor": (6, 9)},
}
"""Numbers of components that a field of each kind may have, by the dimension of the mesh."""
PAIRS = {3: ((0, 0), (1, 1), (0, 1)), 6: ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2))}
"""Axes of the components of a symmetric tensor, by how many there are, in the order of VTK."""
ANGLES = 8
"""So many equal turns have the same mean of vectors and tensors as all turns about an axis."""
POWER = 64
"""How often the means over all symmetries are taken one after another, to find what none of them changes."""


@dataclass(frozen=True)
class Turned:
    """A field that is turned.

    Args:
        channels: Its channels.
        kind: Whether it is a vector, a pseudovector or a tensor.
        components: How many components it has.
    """

    channels: slice
    kind: Kind
    components: int


class Symmetries:
    r"""Random orthogonal matrices :math:`Q`, and samples with all that belongs to a place or direction turned by them.

    .. math::
        p \mapsto Q p, \qquad v \mapsto Q v, \qquad w \mapsto \det(Q)\, Q w, \qquad T \mapsto Q T Q^\top

    for positions :math:`p`, vectors :math:`v`, pseudovectors :math:`w` (vorticity, moments) and tensors :math:`T`.
    Distances stay, and so do graphs, distances to the boundary and cell sizes. :math:`Q` is the product of one draw for
    each name. Random numbers come from torch's generator of the CPU.

    A field of one component is a scalar, and one with as many components as there are axes is a vector; kinds of others
    have to be given. Symmetric tensors have the order of VTK, xx, yy, zz, xy, yz, xz (in the plane also xx, yy, xy);
    others are row after row.

    Args:
        names: The symmetries: ``"mirror_x"`` (:math:`x \mapsto -x`, half of the time), ``"quarter_turn_z"`` (about an
            axis), ``"turn_z"`` (by any angle), ``"turn"`` (any turn); in the plane ``"quarter_turn"`` and ``"turn"``.
        table: Inputs and targets.
        kinds: The kinds of some fields, by name.

    Raises:
        ValueError: If there is no such symmetry in this dimension, the kind of a field is not known or does not fit its
            components, or the coordinates themselves are input values.
    """

    def __init__(self, names: Sequence[str], table: FieldTable, kinds: Mapping[str, Kind] | None = None) -> None:
        self.names, self.dimension = tuple(names), table.dimension
        self.plane_axis = 2 if table.plane_axis is None else table.plane_axis
        kinds = kinds or {}
        if wrong := [name for name in names if name not in OF_DIMENSION[table.dimension]]:
            raise ValueError(
                f"Expected training.augment to name symmetries in {table.dimension}D, of "
                f"{', '.join(OF_DIMENSION[table.dimension])} (got {wrong[0]!r})"
            )
        known = {field.name for field in (*table.inputs, *table.targets)}
        if wrong := sorted(kinds.keys() - known):
            raise ValueError(
                f"Expected training.augment_as to name inputs or targets, among {sorted(known)} (got {wrong[0]!r})"
            )
        self.inputs, self.targets = (
            tuple(_turned(fields, table.dimension, kinds)) for fields in (table.inputs, table.targets)
        )

    def draw(self) -> Tensor:
        """A random orthogonal matrix ``[D, D]``, in float64."""
        matrix = torch.eye(self.dimension, dtype=torch.float64)
        for name in self.names:
            matrix = _drawn(name, self.dimension) @ matrix
        return matrix

    def __call__(self, data: PointData, matrices: Sequence[Tensor] | None = None) -> PointData:
        """A turned copy of a batch; samples in a unit box are centred anew.

        Args:
            data: The samples.
            matrices: A matrix for every sample, on a shared mesh one for all; ``None`` to draw them.
        """
        result = copy.copy(data)
        count = data.samples if data.x.dim() == 2 else 1
        matrices = [self.draw() for _ in range(count)] if matrices is None else matrices
        kinds = {"pos": "input", "pos_latent": "latent", "pos_out": "output"}
        shifts: Sequence[Tensor | float] = [0.0] * count
        for name in POSITIONS:  # the input points come first
            if name not in data:
                continue
            parts = _split(data[name], data.points(kinds[name])[1], count)
            places = [part @ matrix.T.to(part) for part, matrix in zip(parts, matrices, strict=True)]
            if "box_center" in data and name == "pos":
                shifts = [box_center(part) for part in places]
            result[name] = torch.cat([part - shift for part, shift in zip(places, shifts, strict=True)])
        for name, fields, kind in (("x", self.inputs, "input"), ("y", self.targets, "output")):
            values = result.get(name)
            if values is not None and fields:
                parts = _split(values, data.points(kind)[1], count)
                pairs = zip(parts, matrices, strict=True)
                result[name] = torch.cat([self.applied(part, fields, matrix) for part, matrix in pairs])
        return result

    def projection(self, field: Turned) -> Tensor:
        """The matrix ``[c, c]`` that takes a field to the part of it that no symmetry changes, its mean over all."""
        total = torch.eye(field.components, dtype=torch.float64)
        for name in self.names:
            for matrices in _elements(name, self.dimension):
                parts = [represented(matrix, field.kind, field.components, self.plane_axis) for matrix in matrices]
                total = torch.stack(parts).mean(0) @ total
        power: Tensor = torch.linalg.matrix_power(total, POWER)
        return power

    def moments(self, mean: Tensor, variance: Tensor, fields: Sequence[Turned]) -> tuple[Tensor, Tensor]:
        """Mean and variance ``[K]`` of fields over turned samples, from those over the samples as they are.

        The mean of a turned field is the part of it that no symmetry changes; all of its components have one variance,
        the mean over these of the squared distance from that mean.
        """
        mean, variance = mean.clone(), variance.clone()
        for field in fields:
            part = field.channels
            kept = self.projection(field).to(mean) @ mean[part]
            variance[part] = (variance[part] + (mean[part] - kept).square()).mean()
            mean[part] = kept
        return mean, variance

    def applied(self, values: Tensor, fields: Sequence[Turned], matrix: Tensor) -> Tensor:
        """Values ``[..., K]`` with the fields turned."""
        result = values.clone()
        for field in fields:
            part = represented(matrix, field.kind, field.components, self.plane_axis).to(values)
            result[..., field.channels] = values[..., field.channels] @ part.T
        return result


def represented(matrix: Tensor, kind: Kind, components: int, plane_axis: int = 2) -> Tensor:
    """The matrix ``[c, c]`` by which the components of a field change, for an orthogonal matrix ``[D, D]``.

    Args:
        matrix: The orthogonal matrix.
        kind: What the field is.
        components: How many components it has.
        plane_axis: The axis that a matrix of the plane leaves as it is, in fields with components along all three.

    Example:
        >>> quarter = torch.tensor([[0.0, -1.0], [1.0, 0.0]])
        >>> represented(quarter, "tensor", 3) @ torch.tensor([5.0, 7.0, 2.0])  # xx, yy, xy
        tensor([ 7.,  5., -2.])
    """
    if kind == "scalar":
        return torch.eye(components, dtype=matrix.dtype)
    if kind == "pseudovector":
        sign: Tensor = torch.linalg.det(matrix).round()
        return sign * (_widened(matrix, 3, plane_axis) if components == 3 else torch.ones_like(matrix[:1, :1]))
    if kind == "vector":
        return _widened(matrix, components, plane_axis)
    if components in PAIRS:
        pairs = PAIRS[components]
        own = _widened(matrix, 3 if components == 6 else 2, plane_axis)
        rows = [
            torch.stack([own[i, k] * own[j, m] + (own[i, m] * own[j, k] if k != m else 0.0) for k, m in pairs])
            for i, j in pairs
        ]
        return torch.stack(rows)
    own = _widened(matrix, math.isqrt(components), plane_axis)
    return torch.kron(own, own)


def _turned(fields: Sequence[MeshField], dimension: int, kinds: Mapping[str, Kind]) -> Iterator[Turned]:
    """Those of some fields that are not scalars, with their channels."""
    start = 0
    for field in fields:
        kind = _kind(field, dimension, kinds.get(field.name))
        channels = slice(start, start + field.channels)
        start += field.channels
        if kind != "scalar":
            yield Turned(channels, kind, field.components)


def _kind(field: MeshField, dimension: int, given: Kind | None) -> Kind:
    if field.is_geometry and field.name == "coordinates":
        raise ValueError(
            "Expected no geometry input 'coordinates' where meshes are turned: they say where a mesh was before (got "
            "it in data.meshes.geometry); leave it out there, positions are inputs by themselves"
        )
    if given is None:
        if field.components == 1 or field.categories is not None:
            return "scalar"
        if field.components == dimension:
            return "vector"
        raise ValueError(
            f"Expected training.augment_as to say what {field.name!r} is, 'scalar', 'vector', 'pseudovector' or "
            f"'tensor' (got none, and {field.components} components in {dimension}D); name it there"
        )
    if given != "scalar" and (field.categories is not None or field.components not in SIZES[dimension].get(given, ())):
        sizes = " or ".join(map(str, SIZES[dimension].get(given, ()))) or "no"
        raise ValueError(
            f"Expected {sizes} components of a {given} in {dimension}D (got {field.channels} of {field.name!r}); "
            f"change training.augment_as.{field.name}"
        )
    return given


def _split(values: Tensor, batch: Tensor | None, count: int) -> Sequence[Tensor]:
    """The rows of every sample."""
    return [values] if batch is None else values.split(torch.bincount(batch, minlength=count).tolist())


def _drawn(name: str, dimension: int) -> Tensor:
    """A random one of the matrices that a name stands for."""
    if name == "turn" and dimension == 3:
        factor, upper = torch.linalg.qr(torch.randn(3, 3, dtype=torch.float64))
        turn: Tensor = factor * upper.diagonal().sign()  # uniform over all orthogonal matrices
        sign: Tensor = torch.linalg.det(turn).sign()
        return turn * sign
    if name.startswith("turn"):
        return _turn(name, dimension, float(torch.rand((), dtype=torch.float64)) * 2 * math.pi)
    (matrices,) = _elements(name, dimension)
    return matrices[int(torch.randint(len(matrices), ()))]


def _elements(name: str, dimension: int) -> list[list[Tensor]]:
    """Matrices whose mean is that over all that a name stands for; of several lists, of the products."""
    if name == "turn" and dimension == 3:
        return [matrices for axis in "xyz" for matrices in _elements(f"turn_{axis}", 3)]
    if name.startswith("mirror"):
        matrix = torch.eye(dimension, dtype=torch.float64)
        matrix["xyz".index(name[-1]), "xyz".index(name[-1])] = -1.0
        return [[torch.eye(dimension, dtype=torch.float64), matrix]]
    count = 4 if name.startswith("quarter") else ANGLES
    turns = [_turn(name, dimension, 2 * math.pi * step / count) for step in range(count)]
    return [[turn.round() for turn in turns] if count == 4 else turns]


def _turn(name: str, dimension: int, angle: float) -> Tensor:
    """A turn in the plane, or about the axis at the end of a name."""
    matrix = torch.eye(dimension, dtype=torch.float64)
    axis = 2 if dimension == 2 else "xyz".index(name[-1])
    first, second = (axis + 1) % 3, (axis + 2) % 3
    cos, sin = math.cos(angle), math.sin(angle)
    matrix[first, first] = matrix[second, second] = cos
    matrix[first, second], matrix[second, first] = -sin, sin
    return matrix


def _widened(matrix: Tensor, size: int, plane_axis: int) -> Tensor:
    """The matrix, with an axis that it leaves as it is if it is one of the plane."""
    if len(matrix) == size:
        return matrix
    kept = [axis for axis in range(3) if axis != plane_axis] if size == 3 else list(range(len(matrix)))
    result = torch.eye(size, dtype=matrix.dtype)
    result[np.ix_(kept, kept)] = matrix
    return result
