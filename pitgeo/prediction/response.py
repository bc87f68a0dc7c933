"""Numbers of a prediction as functions of numbers of the mesh, with derivatives, for many evaluations in turn."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import torch
from torch import Tensor

from pitgeo.data.fields.reading import Floats
from pitgeo.mesh import Mesh
from pitgeo.prediction.many import study_of
from pitgeo.prediction.named_quantity import NamedQuantity

if TYPE_CHECKING:
    from pitgeo.prediction.mesh_predictor import MeshPredictor
    from pitgeo.prediction.predictor import Predictor


class OwnNumber(NamedTuple):
    """A number that varies, as a quantity: its sign, and its place among them."""

    sign: float
    place: int


class Response:
    """Quantities of the prediction on one mesh: points and graphs are found once.

    Args:
        predictor: The trained model, or an ensemble, whose mean counts.
        mesh: The mesh with the other inputs.
        values: A first value of every number that varies, the lowest.
        texts: Quantities of the targets by name, or varied numbers themselves, ``"thickness"``; with a minus before
            them, their opposite.
        parameters: Other inputs of the mesh as a whole that it does not hold.

    Raises:
        ValueError: If the model does not take a number, or a text is no quantity.
    """

    def __init__(
        self,
        predictor: MeshPredictor,
        mesh: Mesh,
        values: Mapping[str, float],
        texts: Sequence[str],
        parameters: Mapping[str, float] | None = None,
    ) -> None:
        self.names = list(values)
        self.study = study_of(predictor, mesh, {name: [value] for name, value in values.items()}, parameters)
        kinds = [number.name for number in self.study.numbers if number.fields[0][0].categories is not None]
        if kinds:
            raise ValueError(
                f"{mesh.where}Expected numbers with values in between (got {kinds[0]!r}, a category); sweep its values"
            )
        self.members = cast("tuple[Predictor, ...]", getattr(predictor, "members", (predictor,)))
        for member in self.members:
            member.check_logs(self.study.sample)
        self.samples = [member.transform(self.study.sample) for member in self.members]
        self.quantities = [find_quantity(predictor, self.study.mesh, text, self.names) for text in texts]

    def __call__(self, values: Floats) -> tuple[Floats, Floats]:
        """The quantities ``[K]`` and their derivatives ``[K, numbers]`` by the numbers ``[numbers]``."""
        given = torch.from_numpy(np.asarray(values, np.float64)).requires_grad_()
        with torch.enable_grad():
            fields, points = self._fields(given), torch.from_numpy(self.study.mesh.points)
            found = [number_of(quantity, fields, points, given) for quantity in self.quantities]
            slopes = [
                torch.autograd.grad(own, given, retain_graph=True, materialize_grads=True, allow_unused=True)[0]
                for own in found
            ]
        numbers = np.array([float(own.detach()) for own in found])
        return numbers, torch.stack(slopes).double().numpy()

    def values_of(self, fields: Mapping[str, Tensor], values: Floats) -> Floats:
        """The quantities ``[K]`` of fields that were predicted for some numbers."""
        points = torch.from_numpy(self.study.mesh.points)
        return np.array([float(number_of(quantity, fields, points, values)) for quantity in self.quantities])

    def _fields(self, given: Tensor) -> Mapping[str, Tensor]:
        x = self.study.input_values(given[None])[0]
        total: Tensor | None = None
        for member, sample in zip(self.members, self.samples, strict=True):
            data = copy.copy(sample)
            data.x = x.to(sample.x)
            output = member.module(data.to(member.module.device)).cpu()
            total = output if total is None else total + output
        mean: Any = cast(Tensor, total) / len(self.members)
        return cast("Mapping[str, Tensor]", self.study.table.split(self.study.mesh, mean))  # it slices, as of arrays


def find_quantity(predictor: MeshPredictor, mesh: Mesh, text: str, names: Sequence[str]) -> NamedQuantity | OwnNumber:
    """A quantity of the targets on a mesh, or one of the numbers that vary."""
    bare = text.removeprefix("-")
    if bare in names:
        return OwnNumber(1.0 if bare == text else -1.0, list(names).index(bare))
    return NamedQuantity(predictor.table, mesh, text)


def number_of(quantity: NamedQuantity | OwnNumber, fields: Mapping[str, Tensor], points: Tensor, values: Any) -> Any:
    """The number of a quantity, for predicted fields, points, and the numbers that vary."""
    if isinstance(quantity, OwnNumber):
        return quantity.sign * values[quantity.place]
    return quantity(fields, points)
