"""One mesh whose numbers vary: points, graphs and attention weights are found once for all values."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from pitgeo.data.fields.mesh_field import MeshField
from pitgeo.data.fields.numbers import Number, numbers
from pitgeo.geometry.sets import in_set
from pitgeo.mesh import Mesh, Note

if TYPE_CHECKING:
    from pitgeo.data.fields import FieldTable
    from pitgeo.data.fields.reading import Floats


class MeshStudy:
    """A mesh and the numbers of it that vary, for many predictions.

    The values given for a number replace that of the mesh, also where the mesh file has it.

    Args:
        table: Inputs and targets of the model.
        mesh: The mesh, with all other inputs.
        values: Values of every number that varies, ``[S]`` each; a vector's components are called ``"load_x"``.
        parameters: Inputs of the mesh as a whole that the mesh does not hold.

    Raises:
        ValueError: If the model does not take a number, the values are not finite or of different lengths, or the mesh
            lacks an input; the message names it.
    """

    def __init__(
        self,
        table: FieldTable,
        mesh: Mesh,
        values: Mapping[str, ArrayLike],
        parameters: Mapping[str, float] | None = None,
    ) -> None:
        self.table = table
        self.numbers = [_known(name, numbers(table), mesh.where) for name in values]
        self._mesh = mesh
        self.values = _table(self.numbers, values, mesh.where)
        self.mesh = self.with_values(0, parameters)
        self.inputs = table.read(self.mesh, parameters)
        self.sample = table.mesh_sample(self.mesh, parameters, self.inputs)
        self._masks = [[self._mask(field) for field, _, _ in number.fields] for number in self.numbers]

    def __len__(self) -> int:
        return len(self.values)

    def with_values(self, index: int, parameters: Mapping[str, float] | None = None) -> Mesh:
        """The mesh with the values of one prediction as its field data."""
        return _with_values(self._mesh, self.numbers, self.values[index], parameters)

    def batch(self, rows: slice) -> Tensor:
        """Input values ``[B, N, C]`` of some of the predictions."""
        return self.input_values(torch.from_numpy(self.values[rows]).to(self.sample.x.dtype))

    def inputs_for(self, values: Mapping[str, ArrayLike]) -> Tensor:
        """Input values ``[B, N, C]`` with other values ``[B]`` of the same numbers, in the same order.

        Raises:
            ValueError: If the values are not finite or of different lengths, or a category is none of the training.
        """
        return self.input_values(
            torch.from_numpy(_table(self.numbers, values, self._mesh.where)).to(self.sample.x.dtype)
        )

    def input_values(self, values: Tensor) -> Tensor:
        """Input values ``[B, N, C]`` with the given numbers ``[B, numbers]``, differentiable with respect to them."""
        return self._entered(self.sample.x, values, self._masks)

    def numbers_alone(self) -> Tensor:
        """The input values of all predictions at one point that is in all sets, ``[S, 1, C]``; of numbers alone."""
        x = self.sample.x
        own = x.gather(0, x.abs().argmax(0, keepdim=True))  # of a number in a set, the number itself
        masks = [[mask.amax().reshape(1) for mask in part] for part in self._masks]
        return self._entered(own, torch.from_numpy(self.values).to(x.dtype), masks)

    def _entered(self, own: Tensor, values: Tensor, masks: Sequence[Sequence[Tensor]]) -> Tensor:
        """Input values ``[n, C]`` with the numbers ``[B, numbers]`` where masks ``[n]`` are 1: ``[B, n, C]``."""
        x = own.to(values.dtype).repeat(len(values), 1, 1)
        for number, parts, value in zip(self.numbers, masks, values.unbind(1), strict=True):
            for (field, _, channel), mask in zip(number.fields, parts, strict=True):
                if field.categories is None:
                    x[..., channel + number.component] = value[:, None] * mask.to(x)
                    continue
                hot = value[:, None] == torch.tensor(field.categories).to(x)
                x[..., channel : channel + len(field.categories)] = hot[:, None, :].to(x)
        return x

    def read(self, values: Sequence[float]) -> Floats:
        """The result of :meth:`FieldTable.read` for the mesh with these numbers, without looking at it again."""
        inputs = self.inputs.copy()
        for number, masks, value in zip(self.numbers, self._masks, values, strict=True):
            for column, mask in zip(number.columns, masks, strict=True):
                inputs[:, column] = value * mask.numpy()
        return inputs

    def outside(
        self,
        ranges: Sequence[tuple[float, float]] | None,
        margin: float,
        sizes: NDArray[Any] | None = None,
        linear_in: Collection[str] = (),
    ) -> list[Note]:
        """A note for every number some of whose values leave the range of the training set by more than a share.

        So do other inputs that are divided by references which vary with the numbers.

        Args:
            ranges: Smallest and largest value of every input number in training, divided by its reference.
            margin: The share of the range.
            sizes: The references of every prediction and input channel, ``[S, C]``; ``None`` without any.
            linear_in: Inputs that targets are linear in, which may be as large as they like.
        """
        notes: list[Note] = []
        if ranges is None:
            return notes
        for number, column in zip(self.numbers, self.values.T, strict=True):
            field, _, channel = number.fields[0]
            if field.categories is None and field.name not in linear_in:
                size = 1.0 if sizes is None else sizes[:, channel + number.component]
                far = _far(column / size, column / size, ranges[number.columns[0]], margin, sizes is not None)
                notes += _outside(number.name, far, len(self), ranges[number.columns[0]])
        if sizes is None:
            return notes
        varied = {field.name for number in self.numbers for field, _, _ in number.fields}
        low, high = self.table.ranges(self.inputs)
        column = channel = 0
        for field in self.table.inputs:
            if field.name not in varied and field.categories is None:
                for part in range(field.components):
                    size, ends = sizes[:, channel + part], ranges[column + part]
                    if (size != size[0]).any():  # divided by what varies
                        far = _far(low[column + part] / size, high[column + part] / size, ends, margin, True)
                        notes += _outside(field.labels[part], far, len(self), ends)
            column, channel = column + field.stored, channel + field.channels
        return notes

    def split(self, values: Tensor) -> dict[str, NDArray[np.float32]]:
        """Every target by its name, ``[B, n, components]`` at its own place, from values ``[B, M, channels]``."""
        parts = [self.table.split(self.mesh, sample.numpy()) for sample in values]
        return {name: np.stack([part[name] for part in parts]) for name in parts[0]}

    def _mask(self, field: MeshField) -> Tensor:
        """Where a number is given: 1 at its points, 0 elsewhere, ``[N]``."""
        if field.within is None:
            return torch.ones(len(self.sample.pos))
        return torch.from_numpy(in_set(self.mesh, field.within, self.table.input_place)).float()


def with_values(
    table: FieldTable, mesh: Mesh, values: Mapping[str, float], parameters: Mapping[str, float] | None = None
) -> Mesh:
    """The mesh with values of its numbers as field data, in place of what it has.

    Args:
        table: Inputs and targets of the model.
        mesh: The mesh.
        values: The value of every number; a vector's components are called ``"load_x"``.
        parameters: Other numbers of the mesh that it does not hold.

    Raises:
        ValueError: If the model does not take a number, or a value is not finite.
    """
    known = [_known(name, numbers(table), mesh.where) for name in values]
    columns = _table(known, {name: [value] for name, value in values.items()}, mesh.where)
    return _with_values(mesh, known, columns[0], parameters)


def _table(numbers: Sequence[Number], values: Mapping[str, ArrayLike], where: str) -> Floats:
    """The values of all numbers, checked, ``[S, numbers]``."""
    table = _columns(values, where)
    for number, column in zip(numbers, table.T, strict=True):
        _check_kinds(number, column, where)
    return table


def _with_values(mesh: Mesh, numbers: Sequence[Number], values: Floats, parameters: Mapping[str, float] | None) -> Mesh:
    for source in dict.fromkeys(number.source for number in numbers):
        own = [pair for pair in zip(numbers, values, strict=True) if pair[0].source == source]
        field = own[0][0].fields[0][0]
        held: Any = mesh.field_data.get(source, (parameters or {}).get(source))
        if held is None and len(own) == (field.components if field.categories is None else 1):
            held = np.zeros(field.stored)
        vector = np.array(held, np.float64).reshape(-1)
        if held is None or len(vector) != field.stored:
            continue  # reading the mesh says what is wrong
        for number, value in own:
            vector[number.component] = value
        mesh = mesh.with_field_data(source, vector, "replace")
    return mesh


def _known(name: str, known: Mapping[str, Number], where: str) -> Number:
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, 1)
    vector = [other for other, number in known.items() if number.source == name]
    hint = f"; give its components, {', '.join(vector)}" if vector else f"; did you mean {near[0]!r}?" if near else ""
    raise ValueError(
        f"{where}Expected a number of the whole mesh that the model takes "
        f"(got {name!r}; it takes {', '.join(map(repr, known)) or 'none'}){hint}"
    )


def _columns(values: Mapping[str, ArrayLike], where: str) -> Floats:
    columns = {}
    for name, value in values.items():
        try:
            columns[name] = np.asarray(value, np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{where}Expected numbers as values of {name!r} (got {value!r})") from error
    sizes = {name: column.shape for name, column in columns.items()}
    if any(len(shape) != 1 or shape[0] == 0 for shape in sizes.values()) or len({*sizes.values()}) > 1:
        raise ValueError(
            f"{where}Expected a list of values for each number, all of one length "
            f"(got {', '.join(f'{name}: {_shape(shape)}' for name, shape in sizes.items())})"
        )
    table = np.stack([*columns.values()], 1) if columns else np.zeros((1, 0))
    for name, column in columns.items():
        bad = ~(np.abs(column) <= np.finfo(np.float32).max)
        if bad.any():
            raise ValueError(
                f"{where}Expected finite values of {name!r} within single precision (got {column[bad][0]:g} as value "
                f"{int(bad.argmax())})"
            )
    return table


def _far(low: Floats, high: Floats, ends: tuple[float, float], margin: float, is_rounded: bool) -> int:
    """In how many predictions an input from ``low`` to ``high`` leaves a range by more than a share of it."""
    beyond = margin * (ends[1] - ends[0]) + 1e-6 * max(map(abs, ends)) * is_rounded  # a quotient is rounded
    return int(((low < ends[0] - beyond) | (high > ends[1] + beyond)).sum())


def _outside(name: str, far: int, count: int, ends: tuple[float, float]) -> list[Note]:
    text = (
        f"{far} of {count} values of {name!r} lie outside of the {ends[0]:.4g} to {ends[1]:.4g} of the training set: "
        f"do not rely on these predictions"
    )
    return [Note(f"input {name}", text)] if far else []


def _shape(shape: tuple[int, ...]) -> str:
    return f"shape {list(shape)}" if len(shape) > 1 else f"{shape[0]} of them" if shape else "a single number"


def _check_kinds(number: Number, column: Floats, where: str) -> None:
    kinds = number.fields[0][0].categories
    unknown = [] if kinds is None else np.setdiff1d(column, kinds).tolist()
    if unknown:
        raise ValueError(
            f"{where}Expected {number.name!r} to be one of the categories of the training files, {list(kinds or ())} "
            f"(got {unknown[:5]})"
        )
