"""The state behind a page: a case, the numbers that sliders change, and the prediction for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pitgeo.data.fields import MeshField
from pitgeo.data.fields.reading import Floats
from pitgeo.mesh import Mesh, centroids
from pitgeo.prediction.bounds import PEAK
from pitgeo.prediction.mesh_predictor import MeshPredictor
from pitgeo.prediction.trust import Trust
from pitgeo.view.cases import Case
from pitgeo.view.controls import make_controls
from pitgeo.view.prepared import Prepared

LENGTH = "length"
"""The component of a vector that is its length."""


@dataclass(frozen=True)
class Answer:
    """A prediction on the mesh of a case, and what is known of its error.

    Args:
        values: The numbers that it was made with.
        outputs: The result of :meth:`~pitgeo.prediction.mesh_predictor.MeshPredictor.fields` for every step.
        prediction: Predicted values ``[n, components]`` of every target by its name, for every step.
        truth: True values of the first steps in the same way, where they are known; nothing, if the numbers are not
            those of the file.
        bounds: Bounds of the errors of a model of single states, see :meth:`~pitgeo.prediction.bounds.Bounds.of`.
        trust: Whether mesh and numbers are inside the training set.
    """

    values: Mapping[str, float]
    outputs: tuple[Mapping[str, Floats], ...]
    prediction: tuple[Mapping[str, Floats], ...]
    truth: tuple[Mapping[str, Floats], ...]
    bounds: Mapping[str, Floats]
    trust: Trust


@dataclass(frozen=True)
class Shown:
    """One component of a target, a value for every point or cell of the mesh ``[n]``.

    Args:
        prediction: The prediction.
        truth: The truth, if it is known.
        error: The absolute error; of lengths of vectors, the length of the error.
        bound: The bound of the absolute error, if it is known; of lengths it is not.
    """

    prediction: Floats
    truth: Floats | None
    error: Floats | None
    bound: Floats | None


class Session:
    """A model, the cases to look at, and the one that is open.

    Args:
        predictor: The model or ensemble.
        cases: At least one case.
    """

    def __init__(self, predictor: MeshPredictor, cases: Sequence[Case]) -> None:
        self.predictor, self.cases, self.table = predictor, tuple(cases), predictor.table
        references = predictor.references
        formulas = {} if references is None else {name: own.text for name, own in references.formulas.items()}
        self._made = make_controls(self.table, predictor.facts, formulas)
        self.open(0)

    @property
    def fields(self) -> tuple[MeshField, ...]:
        """The targets that have a value at every point or cell."""
        return tuple(field for field in self.table.targets if field.place != "mesh")

    def field(self, name: str) -> MeshField:
        """A target by its name."""
        return next(field for field in self.table.targets if field.name == name)

    @property
    def mesh(self) -> Mesh:
        """The mesh of the open case."""
        return self.loaded.mesh

    @property
    def steps(self) -> int:
        """Predicted states of a series; 1 for a model of single states."""
        return max(1, self._prepared.steps)

    def open(self, number: int) -> None:
        """Read a case, with its sliders at the numbers of its file; if that fails, the open case stays.

        Raises:
            ValueError: If the case cannot be read or predicted, such as a mesh that lacks an input.
        """
        loaded = self.cases[number].load()
        prepared = Prepared(self.predictor, loaded)
        self.number, self.loaded, self._prepared = number, loaded, prepared
        self.start: Mapping[str, float] = prepared.start
        made = [control for control in self._made if control.name in self.start]
        self.controls = tuple(control.including(self.start[control.name]) for control in made)

    def predict(self, values: Mapping[str, float]) -> Answer:
        """The prediction for these values of the numbers, which the sliders have.

        Raises:
            ValueError: If a value is not finite, has no logarithm where the model takes it, or the prediction is not
                finite.
        """
        wanted = {name: float(values[name]) for name in self.start}
        outputs = {ending: output.double().numpy() for ending, output in self._prepared.predict(wanted).items()}
        channels = len(self.table.target_labels)
        steps = range(0, outputs["_prediction"].shape[1], channels)
        by_step = [{ending: own[:, step : step + channels] for ending, own in outputs.items()} for step in steps]
        if not np.isfinite(outputs["_prediction"]).all():
            raise ValueError("Expected a finite prediction (got NaN or infinity); take numbers closer to the training")
        split = [{ending: self.table.split(self.mesh, own) for ending, own in part.items()} for part in by_step]
        is_of_file = wanted == dict(self.start)
        truth = self.loaded.truths if is_of_file else ()
        bounds: Mapping[str, Floats] = {}
        calibrated = self.predictor.bounds
        if calibrated is not None and len(split) == 1:
            level = self.predictor.level
            bounds = calibrated.of(self.table, split[0]["_prediction"], split[0].get("_spread"), level)
        prediction = tuple(part["_prediction"] for part in split)
        return Answer(wanted, tuple(by_step), prediction, truth, bounds, self._prepared.trust(wanted))

    def components(self, name: str) -> tuple[str, ...]:
        """What of a target can be shown: the length of a vector and its components; one entry of a scalar."""
        field = self.field(name)
        return (LENGTH, *field.labels) if 2 <= field.components <= 3 else field.labels

    def shown(self, answer: Answer, name: str, component: str, step: int = 0) -> Shown:
        """One component of a target of an answer.

        Args:
            answer: The answer.
            name: The target.
            component: One of :meth:`components`.
            step: The step of a series, from 0 on.
        """
        prediction = answer.prediction[step][name]
        truth = answer.truth[step].get(name) if step < len(answer.truth) else None
        bound = answer.bounds.get(name)
        if component == LENGTH:
            error = None if truth is None else np.linalg.norm(prediction - truth, axis=1)
            true = None if truth is None else np.linalg.norm(truth, axis=1)
            return Shown(np.linalg.norm(prediction, axis=1), true, error, None)
        column = self.field(name).labels.index(component)
        own = [None if part is None else part[:, column] for part in (prediction, truth, bound)]
        values, true, width = own
        assert values is not None
        return Shown(values, true, None if true is None else np.abs(values - true), width)

    def numbers(self, answer: Answer, step: int = 0) -> list[tuple[str, Shown]]:
        """The predicted numbers of the whole mesh, and the largest value (of a vector: length) of every field."""
        rows = []
        for field in self.table.targets:
            if field.place == "mesh":
                rows += [(label, self.shown(answer, field.name, label, step)) for label in field.labels]
                continue
            shown = self.shown(answer, field.name, self.components(field.name)[0], step)
            prediction = shown.prediction.max(keepdims=True)
            truth = None if shown.truth is None else shown.truth.max(keepdims=True)
            error = None if truth is None else np.abs(prediction - truth)
            width = answer.bounds.get(f"{PEAK}{field.name}")
            bound = None if width is None else np.reshape(width, 1)
            rows.append((f"largest {field.name}", Shown(prediction, truth, error, bound)))
        return rows

    def positions(self, name: str) -> Floats:
        """Where a target has its values: points of the mesh, or centres of cells, ``[n, D]``."""
        return self.mesh.points if self.field(name).place == "point" else centroids(self.mesh)

    def result(self, answer: Answer, step: int = 0) -> Mesh:
        """The mesh with an answer's fields, as ``predict`` writes them: prediction, bound, and error with a truth."""
        mesh = self._prepared.mesh(answer.values)
        truth = answer.truth[step] if step < len(answer.truth) else {}
        if self.loaded.times and truth:  # the mesh holds the first state
            mesh = self.table.add(self.table.without_targets(mesh), truth, "")
        return self.predictor.with_fields(mesh, answer.outputs[step], truth or None)
