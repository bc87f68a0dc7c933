"""The frame of a vector: samples are turned so that a vector of every mesh points along x, and predictions back."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Literal, cast

import torch
from torch import Tensor
from torch_geometric.data import Batch

from pitgeo.data.fields import FieldTable, MeshField
from pitgeo.data.mesh_numbers import sample_numbers
from pitgeo.data.point_data import PointData
from pitgeo.data.symmetries import Kind, Symmetries

_OF_ALL = {"y", "y_mask", "sample_id", "error_sizes", "weight"}
"""What belongs to the samples on a shared mesh together."""


class Frame:
    r"""Turns every sample so that one of its vectors :math:`d`, such as the direction of a stream, points along x.

    .. math::
        R d = \lVert d \rVert e_x, \qquad p \mapsto R p, \qquad v \mapsto R v, \qquad w \mapsto R w,
        \qquad T \mapsto R T R^\top

    for positions, vectors, pseudovectors and tensors; predictions are turned back. So a model of a problem that has no
    direction of its own never sees the vector's direction, and learns fewer cases. In the plane there is one such
    rotation. In space it is the one of least angle, after half a turn about z where :math:`d_x < 0`; what is left is
    the turn about :math:`d`, for which training samples may be turned at random (``training.augment``). It is found
    from the input values, so derivatives by positions and by :math:`d` go through it.

    Args:
        name: The vector: an input, one for every mesh.
        table: Inputs and targets.
        kinds: The kinds of fields whose components do not tell, as for :class:`~pitgeo.data.symmetries.Symmetries`.

    Raises:
        ValueError: If the name is no vector of the whole mesh among the inputs, or a field cannot be turned.
    """

    def __init__(self, name: str, table: FieldTable, kinds: Mapping[str, Kind] | None = None) -> None:
        self.name, self.dimension = name, table.dimension
        vectors = [field.name for field in table.inputs if _is_vector(field, table)]
        if name not in vectors:
            raise ValueError(
                f"Expected scaling.frame to name an input that is a vector of the whole mesh with {table.dimension} "
                f"components, of which there {'are ' + ', '.join(vectors) if vectors else 'is none'} (got {name!r}); "
                f"name it in data.meshes.inputs, or leave scaling.frame out"
            )
        if table.dimension == 1:
            raise ValueError(f"Expected no scaling.frame in 1D, where nothing can be turned (got {name!r})")
        kinds = {name: "vector", **(kinds or {})}
        if kinds[name] != "vector":
            raise ValueError(
                f"Expected training.augment_as.{name} = 'vector' with scaling.frame = {name!r} (got {kinds[name]!r})"
            )
        self.symmetries = Symmetries((), table, kinds)
        place = [field.name for field in table.inputs].index(name)
        start = sum(field.channels for field in table.inputs[:place])
        axes = list(range(table.dimension))
        if table.inputs[place].components > table.dimension:  # of a plane in space, with the component across it
            axes = [axis for axis in range(3) if axis != self.symmetries.plane_axis]
        self.channels = [start + axis for axis in axes]

    def rotations(self, data: PointData, where: str = "", is_checked: bool = True) -> list[Tensor]:
        """The rotation ``[D, D]`` of every sample, in float64.

        Args:
            data: The samples, with their values in physical units.
            where: The file, for the message.
            is_checked: Whether to look at the vectors, for which a GPU is waited for.

        Raises:
            ValueError: If a vector is zero; the message names file or sample.
        """
        vectors = sample_numbers(data)[:, self.channels].double()
        sizes = torch.linalg.vector_norm(vectors, dim=-1, keepdim=True)
        if is_checked and bool((sizes == 0).any()):
            number = int((sizes[:, 0] == 0).nonzero()[0, 0])
            ids = data.get("sample_id")
            sample = number if ids is None else int(torch.as_tensor(ids).reshape(-1)[number])
            raise ValueError(
                f"{where or f'sample {sample}: '}Expected a vector {self.name!r} that is not zero, along which "
                f"scaling.frame turns the mesh (got zero); mend the file, leave it out, or leave scaling.frame out"
            )
        return [_rotation(vector) for vector in vectors / sizes]

    def turned(self, data: PointData, is_checked: bool = True) -> tuple[PointData, list[Tensor]]:
        """The samples, each with a mesh of its own, in their frames, and the rotations."""
        rotations = self.rotations(data, is_checked=is_checked)
        result = self.symmetries(data, rotations)
        result.x = self._exact(result.x)
        return result, rotations

    def values(self, values: Tensor, sample: PointData, key: Literal["x", "y"]) -> Tensor:
        """Input values or targets of a single sample, turned into its frame."""
        fields = self.symmetries.inputs if key == "x" else self.symmetries.targets
        found = self.symmetries.applied(values, fields, self.rotations(sample)[0])
        return self._exact(found) if key == "x" else found

    def _exact(self, x: Tensor) -> Tensor:
        """Input values with the vector along x to the last digit: what rounding leaves across it would be scaled."""
        across = torch.zeros(x.shape[-1], dtype=torch.bool, device=x.device)
        across[self.channels[1:]] = True
        return torch.where(across, 0.0, x)

    def targets(self, values: Tensor, data: PointData, rows: Tensor | None, rotations: Sequence[Tensor]) -> Tensor:
        """Values ``[m, K]`` or ``[B, m, K]`` at the output points, or some of them, turned by a rotation a sample."""
        fields = self.symmetries.targets
        if not fields:
            return values
        batch = None if values.dim() == 3 else data.points("output")[1]
        batch = batch if batch is None or rows is None else batch.index_select(0, rows)
        parts = [values] if batch is None else values.split(torch.bincount(batch, minlength=len(rotations)).tolist())
        if values.dim() == 3:
            parts = values.split(1)
        pairs = zip(parts, rotations, strict=True)
        return torch.cat([self.symmetries.applied(part, fields, rotation) for part, rotation in pairs])


def apart(data: PointData, rows: Tensor | None = None) -> tuple[PointData, Tensor | None]:
    """Samples ``[B, N, C]`` on a shared mesh as samples each with a mesh of its own, without targets.

    Args:
        data: The samples.
        rows: Numbers of some of the output points of the mesh.

    Returns:
        The samples, and the numbers of these output points of all of them.
    """
    shared = copy.copy(data)
    for name in _OF_ALL & set(shared.keys()):
        del shared[name]
    parts = [copy.copy(shared) for _ in data.x]
    for part, values in zip(parts, data.x, strict=True):
        part.x = values
    if rows is not None:
        first = len(data.points("output")[0]) * torch.arange(len(parts), device=rows.device)
        rows = (first[:, None] + rows).reshape(-1)
    return cast(PointData, Batch.from_data_list(parts)), rows


def _is_vector(field: MeshField, table: FieldTable) -> bool:
    is_number = field.place == "mesh" and field.within is None and not field.is_geometry and field.categories is None
    return is_number and field.components in {table.dimension, 3 if table.dimension == 2 else table.dimension}


def _rotation(vector: Tensor) -> Tensor:
    """The rotation that takes a unit vector to the x axis."""
    if len(vector) == 2:
        return torch.stack([vector, torch.stack([-vector[1], vector[0]])])
    backwards = vector[0] < 0
    half = torch.diag(torch.where(backwards, vector.new_tensor([-1.0, -1.0, 1.0]), vector.new_ones(3)))
    x, y, z = half @ vector
    below = 1 + x
    return (
        torch.stack(
            [
                torch.stack([x, y, z]),
                torch.stack([-y, 1 - y * y / below, -y * z / below]),
                torch.stack([-z, -y * z / below, 1 - z * z / below]),
            ]
        )
        @ half
    )
