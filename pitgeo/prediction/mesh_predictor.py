"""The base class of predictors: from predictions of samples to predictions on meshes and in mesh files."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, overload

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from pitgeo.config.config import RunConfig
from pitgeo.data import PointData
from pitgeo.data.fields import FieldTable
from pitgeo.data.fields.reading import Floats
from pitgeo.datasets.folder.parameters import new_parameters
from pitgeo.measures.measures import FORMAT, Measures
from pitgeo.measures.reference import Reference
from pitgeo.mesh import Mesh
from pitgeo.mesh.in_memory import as_mesh, sample_meshes
from pitgeo.prediction.bounds import STORED, Bounds, Scores, store_bounds, stored_bounds, typical_sizes
from pitgeo.prediction.cases import Progress, measure_all
from pitgeo.prediction.guards import check_space
from pitgeo.prediction.many import predictions, study_of, with_inputs
from pitgeo.prediction.mesh_doubts import MeshDoubts
from pitgeo.prediction.mesh_errors import add_mesh
from pitgeo.prediction.trust import Trust
from pitgeo.training.metadata import frame_of, references_of


class MeshPredictor(ABC):
    """A predictor of fields on meshes: one model, or an ensemble.

    Args:
        config: The configuration of the run.
        facts: What the checkpoint says about itself.
        path: The file that it was loaded from, for messages.

    Attributes:
        bounds: Bounds of the errors, if they were calibrated.
        level: Share of the points within the bounds that predictions get, in percent: 80, 90 or 95.
    """

    level: int = 90

    def __init__(self, config: RunConfig, facts: dict[str, Any], path: Path) -> None:
        self.config = config
        self.facts = facts
        self.path = path
        self.table = FieldTable.parse(facts["table"])
        self.targets: tuple[str, ...] = self.table.target_labels
        self.references = references_of(facts)
        self.doubts = MeshDoubts(self.table, facts)
        self.bounds = stored_bounds(facts.get(STORED), path)

    @cached_property
    def reference(self) -> Reference | str:
        """Mean and variation of the targets on the training set, or the reason why they are not known.

        They come from the checkpoint; if it has none, from the training files.
        """
        if self.facts.get("reference") is not None:
            return Reference.parse(self.facts["reference"])
        try:
            return Reference.fit(self.data_options.split_samples("train", False), self.table.scalars)
        except (OSError, ValueError) as error:
            return f"{self.path} holds no mean of its training set, which cannot be read either ({error})"

    def measures(self) -> Measures:
        """An empty collection of errors, to which predictions and truths are added."""
        reference, quantities = self.reference, self.config.evaluation.quantities
        if isinstance(reference, str):
            return Measures(self.table, None, reference, quantities)
        return Measures(self.table, reference, quantities=quantities)

    def scores(self) -> Scores:
        """An empty collection of errors relative to the widths of bounds.

        Raises:
            ValueError: If the model predicts time series, or the training set is not known.
        """
        if self.is_one_step or self.config.data.options.rollout > 1:
            raise ValueError(
                f"Expected a model of single states to calibrate bounds of (got {self.path}, of time series, whose "
                f"errors grow from step to step); take the errors of a test instead"
            )
        if isinstance(self.reference, str):
            raise ValueError(f"Expected the size of targets in training, for bounds (got none: {self.reference})")
        return Scores(self.table, typical_sizes(self.reference))

    def calibrate(self, meshes: Any, parameters: Any = None, progress: Progress = iter) -> Bounds:
        """Calibrate the bounds of errors on held-out meshes with the truth; they replace those that were there.

        Later predictions of this predictor get them; :meth:`store_bounds` keeps them for others.

        Args:
            meshes: As for :meth:`evaluate`; files that the model was trained on are refused.
            parameters: As for :meth:`evaluate`.
            progress: Wraps the sequence of meshes, to show a progress bar.

        Raises:
            FileNotFoundError: If there is no such file.
            ValueError: As :meth:`scores`; or if a mesh cannot be read, was trained on, lacks an input or all targets.
        """
        scores = self.scores()
        measures = measure_all(self, meshes, parameters, scores, is_calibration=True, progress=progress)
        self.bounds = scores.bounds(f"{len(measures.names)} files")
        return self.bounds

    def trust(self, mesh: Any, parameters: Mapping[str, float] | None = None) -> Trust:
        """Whether a mesh and its inputs are inside the training set, at its edge or outside, and why.

        Args:
            mesh: The mesh, or an object that :func:`~pitgeo.mesh.in_memory.as_mesh` converts.
            parameters: Inputs of the mesh as a whole that it does not hold.

        Raises:
            ValueError: If the mesh lacks an input field, or has another dimension.
        """
        mesh = as_mesh(mesh)
        return self.doubts.trust(self.doubts.case(mesh, self.table.read(mesh, parameters)))

    @abstractmethod
    def fields(self, data: PointData | Sequence[PointData], steps: int = 0) -> dict[str, Tensor]:
        """Predicted quantities of all targets, ``[M, K]`` or ``[M, steps * K]``, by the ending of their field names.

        ``"_prediction"`` is one of them.
        """

    def many(self, sample: PointData, inputs: Iterable[Tensor]) -> Iterator[dict[str, Tensor]]:
        """The result of :meth:`fields` for one mesh and other input values, ``[B, M, K]`` for every ``[B, N, C]``."""
        for x in inputs:
            parts = [self.fields(with_inputs(sample, one)) for one in x]
            yield {ending: torch.stack([part[ending] for part in parts]) for ending in parts[0]}

    @overload
    def predict_mesh(self, mesh: list[Any], parameters: Mapping[str, float] | None = None) -> list[Mesh]: ...
    @overload
    def predict_mesh(self, mesh: Any, parameters: Mapping[str, float] | None = None) -> Mesh: ...
    def predict_mesh(self, mesh: Any, parameters: Mapping[str, float] | None = None) -> Mesh | list[Mesh]:
        """The mesh with ``<target>_prediction``, and the other quantities of :meth:`fields`, for every target.

        If bounds of the errors are known, the result has ``<target>_bound`` and ``<target>_peak_bound``; if the mesh
        holds the truth, ``<target>_error``. The log names inputs far outside the range of the training set.

        Args:
            mesh: The mesh with the input fields, or an object that :func:`~pitgeo.mesh.in_memory.as_mesh` converts; for
                a list, a list is returned.
            parameters: Inputs of the mesh as a whole that the mesh does not hold.

        Raises:
            ValueError: If the mesh lacks an input field, or the model was trained on another dimension or on a
                reference grid.
        """
        if isinstance(mesh, list):
            return [self.predict_mesh(item, parameters) for item in sample_meshes(mesh)]
        return self.predict_and_measure(as_mesh(mesh), parameters)

    def predict_many(
        self,
        mesh: Any,
        values: Mapping[str, ArrayLike],
        parameters: Mapping[str, float] | None = None,
        progress: Callable[[Sequence[slice]], Iterable[slice]] = iter,
    ) -> dict[str, Floats]:
        """Predictions for many values of the numbers of one mesh, whose points, graphs and weights are found once.

        Args:
            mesh: The mesh with the other inputs, or an object that :func:`~pitgeo.mesh.in_memory.as_mesh` converts.
            values: Values ``[S]`` of every number that varies, also of those in the mesh; a vector's components are
                called ``"load_x"``.
            parameters: Other inputs of the mesh as a whole that it does not hold.
            progress: Wraps the sequence of batches, to show a progress bar.

        Returns:
            ``<target>_prediction``, and the other quantities of :meth:`fields`, ``[S, n, components]`` at the points or
            cells of each.

        Raises:
            ValueError: If the model does not take a number, values are not finite or of different lengths, or the mesh
                lacks an input.
        """
        parts = [part for _, part in predictions(self, study_of(self, as_mesh(mesh), values, parameters), progress)]
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def predict_and_measure(
        self,
        mesh: Mesh,
        parameters: Mapping[str, float] | None = None,
        measures: Measures | None = None,
        scores: Scores | None = None,
    ) -> Mesh:
        """The result of :meth:`predict_mesh` for one mesh; if it has the truth, errors are added to the collections."""
        check_space(self)
        sample = self.sample(mesh, parameters)
        predicted = {ending: values.double().numpy() for ending, values in self.fields(sample).items()}
        truth = self.table.truth(mesh, parameters)
        if measures is not None:
            add_mesh(measures, mesh, sample, predicted["_prediction"], [truth])
        if scores is not None:
            split = {ending: self.table.split(mesh, values) for ending, values in predicted.items()}
            scores.add(split["_prediction"], truth, split.get("_spread"))
        return self.with_fields(self.table.with_numbers(mesh, parameters), predicted, truth)

    def evaluate(self, meshes: Any, parameters: Any = None, progress: Progress = iter) -> dict[str, Any]:
        """Errors on any meshes that hold the truth; series are rolled out from their first state.

        Args:
            meshes: A file, a pattern, or an object that :func:`~pitgeo.mesh.in_memory.as_mesh` converts; or a list.
            parameters: Numbers that the meshes do not hold: a table of the files; a dictionary for all meshes; or a
                list of dictionaries, one for each mesh.
            progress: Wraps the sequence of meshes, to show a progress bar.

        Returns:
            ``errors`` as in ``evaluation.json``, by target, and ``cases``, the errors on every single mesh; and
            ``quantities`` and ``quantity_cases``, if the run names some.

        Raises:
            FileNotFoundError: If there is no such file.
            ValueError: If a mesh cannot be read, or lacks an input or every target.
        """
        scores = None if self.bounds is None else self.bounds.scores(self.table)
        measures = measure_all(self, meshes, parameters, scores, progress=progress)
        bounds = {} if self.bounds is None or scores is None else {"bounds": scores.report(self.bounds)}
        return {
            "format": FORMAT,
            "checkpoint": self.path.name,
            "model": self.config.model.name,
            "samples": len(measures.names),
            "errors": measures.result(),
            **bounds,
            "cases": measures.cases(),
            **measures.quantities.result(),
        }

    def store_bounds(self) -> None:
        """Write the bounds into the file that the predictor was loaded from, which is replaced whole or not at all.

        Raises:
            ValueError: If there are none.
        """
        if self.bounds is None:
            raise ValueError(f"Expected bounds to write into {self.path} (got none); calibrate them first")
        store_bounds(self.path, self.bounds)

    @property
    def data_options(self) -> Any:
        """The options of the data, with the same files in each split as in training."""
        options, split = self.config.data.options, self.facts.get("split")
        return options if split is None else options.with_split(split)

    @property
    def is_one_step(self) -> bool:
        """Whether the model predicts the next state of a time series."""
        return self.table.is_one_step

    def file_parameters(self, files: Sequence[Path], table: str | Path | None = None) -> dict[Path, dict[str, float]]:
        """Numbers of mesh files that are not in the files themselves.

        Args:
            files: The files.
            table: A table of these files; ``None`` for the table, or the numbers in file names, of the training.
        """
        options: Any = self.config.data.options
        wanted = [field.source for field in (*self.table.inputs, *self.table.targets)]
        pattern, own = getattr(options, "name_pattern", ""), getattr(options, "parameters", "")
        return new_parameters(files, "" if table is None else str(table), own, pattern, wanted)

    def sample(self, mesh: Mesh, parameters: Mapping[str, float] | None) -> PointData:
        """The sample of a mesh; the log names inputs far outside the range of training."""
        inputs = self.table.read(mesh, parameters)
        case = self.doubts.case(mesh, inputs)
        notes = self.doubts.of_case(case)
        self.doubts.say(mesh, notes, self.doubts.trust(case, notes))
        if self.config.scaling.box == "none":  # with a unit box, a mesh may lie anywhere
            self.table.warn_of_loss(mesh)
        sample = self.table.mesh_sample(mesh, parameters, inputs)
        self.check_numbers(sample, mesh.where)
        return sample

    def check_numbers(self, sample: PointData, where: str) -> None:
        """Refuse numbers for which a reference quantity is not positive, or there is no frame."""
        if self.references is not None:
            self.references.sizes(sample, where)
        if (frame := frame_of(self.config.training, self.facts)) is not None:
            frame.rotations(sample, where)

    def with_fields(self, mesh: Mesh, predicted: Mapping[str, Floats], truth: Mapping[str, Floats] | None) -> Mesh:
        """The mesh with fields from values ``[m, channels]``, and with errors; without a truth, without its targets."""
        split = {ending: self.table.split(mesh, values) for ending, values in predicted.items()}
        result = self.table.without_predictions(mesh)
        for ending, values in split.items():
            result = self.table.add(result, values, ending)
        if self.bounds is not None:
            result = self.bounds.add(result, self.table, split["_prediction"], split.get("_spread"), self.level)
        if truth is None:
            return self.table.without_targets(result)
        return self.table.add(result, {name: split["_prediction"][name] - truth[name] for name in truth}, "_error")
