"""Reference quantities: combinations of a mesh's numbers that inputs and targets are divided by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from pitgeo.data.fields import FieldTable, MeshField
from pitgeo.data.fields.mesh_case import MeshCase
from pitgeo.data.formula import Formula
from pitgeo.data.mesh_numbers import at_points, numbers_of, sample_numbers
from pitgeo.data.point_data import PointData


class Sizes(NamedTuple):
    """What the channels of some samples are divided by.

    Args:
        inputs: For every input channel, ``[B, C]``.
        targets: For every target channel, ``[B, K]``.
    """

    inputs: Tensor
    targets: Tensor

    def at(self, data: PointData, kind: Literal["input", "output"], rows: Tensor | None = None) -> Tensor:
        """The sizes at the input or output points, so that they go with a field there.

        Args:
            data: The samples.
            kind: Which points; at the output points are those of the targets.
            rows: Numbers of some of the points; ``None`` for all.

        Shapes:
            - **output** ``[N, C]`` for several samples, ``[1, C]`` for one, ``[B, 1, C]`` on a shared mesh.
        """
        own = self.inputs if kind == "input" else self.targets
        return at_points(own, data, kind, rows)


class ReferenceQuantities:
    r"""What inputs and targets are divided by, a positive number :math:`r_s` of every mesh.

    .. math::
        x_{si} \mapsto x_{si} / r_s

    It is a formula of the numbers of the whole mesh that are inputs; of a vector each component is ``"load_x"``. The
    numbers are found in the input values, so that derivatives by these go through the reference too.

    Args:
        texts: The formula of every field that has a reference, by its name.
        table: Inputs and targets.

    Attributes:
        formulas: The formulas by the names of their fields.
        channels: The input channels of every number that a formula may name.

    Raises:
        ValueError: If a field or a number is not known, a vector stands outside of ``norm``, or a text is no formula.

    Reference:
        Buckingham, On physically similar systems, Physical Review 4, 1914.
    """

    def __init__(self, texts: Mapping[str, str], table: FieldTable) -> None:
        self.table = table
        self.formulas = {name: Formula(text) for name, text in texts.items()}
        known = {field.name for field in (*table.inputs, *table.targets) if field.categories is None}
        if wrong := [name for name in texts if name not in known]:
            raise ValueError(
                f"Expected scaling.reference to name inputs or targets, among {sorted(known)} (got {wrong})"
            )
        self.channels, self._columns = (numbers_of(table, kind) for kind in ("channels", "stored"))
        for name, formula in self.formulas.items():
            key = f"scaling.reference.{name}"
            if missing := sorted(formula.names - self.channels.keys()):
                raise ValueError(
                    f"Expected {key} to be made of numbers of the whole mesh that are inputs, "
                    f"{', '.join(self.channels) or 'of which there is none'} (got {missing[0]!r} in "
                    f"{formula.text!r}); name it in data.meshes.inputs"
                )
            if wide := sorted(other for other in formula.scalars if len(self.channels[other]) > 1):
                raise ValueError(
                    f"Expected {key} to be made of single numbers (got the vector {wide[0]!r} in {formula.text!r}); "
                    f"write norm({wide[0]}), or one of its components"
                )
        owners = [field for field in table.inputs for _ in range(field.channels)]
        used = [
            channel for formula in self.formulas.values() for name in formula.names for channel in self.channels[name]
        ]
        self._is_local = any(owners[channel].within for channel in used)

    @classmethod
    def of(cls, texts: Mapping[str, str], table: FieldTable) -> ReferenceQuantities | None:
        """The reference quantities; ``None`` without any."""
        return cls(texts, table) if texts else None

    def sizes(self, data: PointData, where: str = "", is_checked: bool = True) -> Sizes:
        """What the channels of some samples, with their values in physical units, are divided by.

        Args:
            data: The samples.
            where: The file, for the message.
            is_checked: Whether to look at the numbers, for which a GPU is waited for.

        Raises:
            ValueError: If a reference is not positive and finite; the message names file or sample, field and formula.
        """
        numbers = sample_numbers(data, self._is_local)
        found = self._values(numbers, self.channels)
        if is_checked and not torch.compiler.is_compiling():
            self._check(found, data.get("sample_id"), where)
        one = numbers.new_ones(len(numbers))
        inputs, targets = (
            torch.stack([found.get(name, one) for name in owners], -1) if owners else numbers.new_ones(len(one), 0)
            for owners in (_owners(fields, "channels") for fields in (self.table.inputs, self.table.targets))
        )
        return Sizes(inputs, targets)

    def divided(self, data: PointData, key: Literal["x", "y"]) -> Tensor:
        """Input values ``x`` or targets ``y`` of some samples, divided by their references."""
        values: Tensor = data[key]
        return values / self.sizes(data).at(data, "input" if key == "x" else "output")

    def case(self, case: MeshCase, where: str = "") -> MeshCase:
        """A mesh as a few numbers, with those of its inputs divided by their references."""
        found = self._values(torch.tensor([case.low], dtype=torch.float64), self._columns)
        self._check(found, None, where)
        fields = self.table.inputs
        states = len(self.table.targets) if self.table.is_one_step else 0  # not among the descriptors
        plain, geometry = (
            [field for field in fields[: len(fields) - states] if field.is_geometry is kind] for kind in (False, True)
        )

        def divided(values: Sequence[float], owners: Sequence[str]) -> tuple[float, ...]:
            first = len(values) - len(owners)  # what has no unit
            sizes = [1.0] * first + [float(found[name]) if name in found else 1.0 for name in owners]
            return tuple(value / size for value, size in zip(values, sizes, strict=True))

        return replace(
            case,
            low=divided(case.low, _owners(fields, "stored")),
            high=divided(case.high, _owners(fields, "stored")),
            inputs=divided(case.inputs, 4 * _owners(plain, "stored")),
            shape=divided(case.shape, 4 * _owners(geometry, "stored")),
        )

    def _values(self, numbers: Tensor, places: Mapping[str, Sequence[int]]) -> dict[str, Tensor]:
        """The value ``[B]`` of every formula, from numbers ``[B, n]`` and where each is among them."""
        own = {name: numbers[:, list(columns)] for name, columns in places.items()}
        own = own or {"": numbers.new_ones(len(numbers), 1)}  # all are constants
        return {name: formula(own) for name, formula in self.formulas.items()}

    def _check(self, found: Mapping[str, Tensor], numbers: Any, where: str) -> None:
        for name, value in found.items():
            wrong = ~((value > 0) & torch.isfinite(value))
            if bool(wrong.any()):
                row = int(wrong.nonzero()[0])
                sample = row if numbers is None else int(torch.as_tensor(numbers).flatten()[row])
                raise ValueError(
                    f"{where or f'sample {sample}: '}Expected a positive, finite reference "
                    f"{self.formulas[name].text!r} of {name!r} (got {float(value[row].detach()):g}); mend the numbers "
                    f"of the file, leave it out, or change scaling.reference.{name}"
                )


def sizes_at(
    references: ReferenceQuantities | None, data: PointData, rows: Tensor | None = None, is_checked: bool = True
) -> tuple[Tensor | None, Tensor | None]:
    """What input values, and values at output points (some of them, ``rows``), are divided by; ``None`` for nothing."""
    if references is None:
        return None, None
    sizes = references.sizes(data, is_checked=is_checked)
    return sizes.at(data, "input"), sizes.at(data, "output", rows)


def _owners(fields: Sequence[MeshField], kind: Literal["channels", "stored"]) -> list[str]:
    """The name of the field that every channel, or number in the file, belongs to."""
    return [field.name for field in fields for _ in range(getattr(field, kind))]
