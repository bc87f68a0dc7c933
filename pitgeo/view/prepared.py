"""A mesh that is ready for many predictions, one after another: points and graphs are found once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from torch import Tensor

from pitgeo.data.fields.mesh_field import own_number
from pitgeo.data.fields.numbers import numbers
from pitgeo.mesh import Mesh
from pitgeo.prediction.many import with_inputs
from pitgeo.prediction.mesh_doubts import outside
from pitgeo.prediction.mesh_predictor import MeshPredictor
from pitgeo.prediction.study import MeshStudy, with_values
from pitgeo.prediction.trust import Trust
from pitgeo.view.cases import Loaded


class Prepared:
    """A case that is ready for predictions with other numbers of the whole mesh.

    Args:
        predictor: The model or ensemble.
        loaded: The case.

    Attributes:
        start: The numbers that the file has, by name.

    Raises:
        ValueError: If the mesh lacks an input.
    """

    def __init__(self, predictor: MeshPredictor, loaded: Loaded) -> None:
        self.predictor, self.loaded = predictor, loaded
        self.start: dict[str, float] = {}
        self._study: MeshStudy | None = None
        self._feed = _Feed()
        self._answers: Iterator[dict[str, Tensor]] | None = None
        table, mesh, doubts = predictor.table, loaded.mesh, predictor.doubts
        if loaded.sample is None:
            inputs = table.read(mesh, loaded.parameters)
            self.start = {
                name: float(own_number(inputs[:, number.columns[0], None])[0])
                for name, number in numbers(table).items()
            }
            values = {name: [value] for name, value in self.start.items()}
            self._study = MeshStudy(table, mesh, values, loaded.parameters)
            inputs = self._study.inputs
        else:
            inputs = loaded.sample.x.double().numpy()
        self._case = doubts.measured(mesh, inputs)
        self._others = doubts.of_times(loaded.times) if loaded.truths and predictor.is_one_step else []

    @property
    def steps(self) -> int:
        """States of a series to predict; 0 for a model of single states."""
        return len(self.loaded.times) - 1 if self.predictor.is_one_step else 0

    def predict(self, values: Mapping[str, float]) -> dict[str, Tensor]:
        """The result of :meth:`MeshPredictor.fields` for these values of all numbers.

        Raises:
            ValueError: If a value is no category, or has no logarithm where the model takes it.
        """
        if self._study is None:
            assert self.loaded.sample is not None
            return self.predictor.fields(self.loaded.sample)
        x = self._study.inputs_for({name: [value] for name, value in values.items()})
        if self.steps:
            return self.predictor.fields(with_inputs(self._study.sample, x[0]), self.steps)
        self._feed.next = x
        if self._answers is None:
            self._answers = iter(self.predictor.many(self._study.sample, self._feed))
        try:
            return {ending: output[0] for ending, output in next(self._answers).items()}
        except BaseException:
            self._answers = None  # it has ended
            raise

    def trust(self, values: Mapping[str, float]) -> Trust:
        """Whether the mesh with these numbers is inside the training set."""
        doubts, case = self.predictor.doubts, self._case
        if self._study is not None and self.start:
            case = case.with_numbers(self.predictor.table, self._study.read(list(values.values())))
        own = doubts.trust(doubts.divided(case, self.loaded.mesh.where))
        others = outside(self._others)
        if others is None:
            return own
        reasons = own.reasons if own.status == "outside" else ()
        return replace(others, reasons=(*reasons, *others.reasons))

    def mesh(self, values: Mapping[str, float]) -> Mesh:
        """The mesh with these numbers as its field data."""
        if self._study is None:
            return self.loaded.mesh
        return with_values(self.predictor.table, self.loaded.mesh, values, self.loaded.parameters)


class _Feed:
    """Input values that are given one after another to the predictions on one mesh."""

    def __init__(self) -> None:
        self.next: Tensor | None = None

    def __iter__(self) -> Iterator[Tensor]:
        return self

    def __next__(self) -> Tensor:
        given, self.next = self.next, None
        if given is None:
            raise StopIteration
        return given
