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
from pitgeo.datasets.folder.manifest import find_files
from pitgeo.datasets.folder.parameters import new_parameters
from pitgeo.measures.measures import FORMAT, Measures
from pitgeo.measures.reference import Reference
from pitgeo.mesh import Mesh, write_series
from pitgeo.mesh.in_memory import as_mesh, sample_meshes
from pitgeo.mesh.reading import read
from pitgeo.mesh.series import holds_series, open_series
from pitgeo.prediction.many import predictions, study_of, with_inputs
from pitgeo.prediction.mesh_doubts import MeshDoubts
from pitgeo.prediction.mesh_errors import add_mesh, numbers_of


class MeshPredictor(ABC):
    """A predictor of fields on meshes: one model, or an ensemble.

    Args:
        config: The configuration of the run.
        facts: What the checkpoint says about itself.
        path: The file that it was loaded from, for messages.
    """

    def __init__(self, config: RunConfig, facts: dict[str, Any], path: Path) -> None:
        self.config = config
        self.facts = facts
        self.path = path
        self.table = FieldTable.parse(facts["table"])
        self.targets: tuple[str, ...] = self.table.target_labels
        self.doubts = MeshDoubts(self.table, facts)

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

        If the mesh holds the truth, the result has ``<target>_error`` too. The log names inputs far outside the range
        of the training set.

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
        self, mesh: Mesh, parameters: Mapping[str, float] | None = None, measures: Measures | None = None
    ) -> Mesh:
        """The result of :meth:`predict_mesh` for one mesh; its errors are added to ``measures`` if it has the truth."""
        self.check_space()
        sample = self._sample(mesh, parameters)
        predicted = {ending: values.double().numpy() for ending, values in self.fields(sample).items()}
        truth = self.table.truth(mesh, parameters)
        if measures is not None:
            add_mesh(measures, mesh, sample, predicted["_prediction"], [truth])
        return self._with(self.table.with_numbers(mesh, parameters), predicted, truth)

    def evaluate(self, meshes: Any, parameters: Any = None) -> dict[str, Any]:
        """Errors on any meshes that hold the truth; series are rolled out from their first state.

        Args:
            meshes: A file, a pattern, or an object that :func:`~pitgeo.mesh.in_memory.as_mesh` converts; or a list.
            parameters: Numbers that the meshes do not hold: a table of the files; a dictionary for all meshes; or a
                list of dictionaries, one for each mesh.

        Returns:
            ``errors`` as in ``evaluation.json``, by target, and ``cases``, the errors on every single mesh; and
            ``quantities`` and ``quantity_cases``, if the run names some.

        Raises:
            FileNotFoundError: If there is no such file.
            ValueError: If a mesh cannot be read, or lacks an input or every target.
        """
        self.check_space()
        entries = list(meshes) if isinstance(meshes, (list, tuple)) else [meshes]
        files = [str(entry) for entry in entries if isinstance(entry, (str, Path))]
        if files and len(files) < len(entries):
            raise ValueError("Expected 'meshes' to be files or meshes in memory (got both); evaluate them separately")
        cases: Sequence[Any] = find_files(files, "'meshes'") if files else sample_meshes(entries)
        if files and (parameters is None or isinstance(parameters, (str, Path))):
            by_file = self.file_parameters(cases, parameters)
            parameters = [by_file[file] for file in cases]
        measures = self.measures()
        with self.doubts.summed_up():
            for case, own in zip(cases, numbers_of(cases, parameters), strict=True):
                before = len(measures.names)
                if self.is_one_step:
                    self._evaluate_series(case, own, measures)
                else:
                    self.predict_and_measure(read(case) if files else case, own, measures)
                if len(measures.names) == before:
                    raise ValueError(
                        f"{case if files else case.path or 'a mesh'}: Expected the truth of a target, of "
                        f"{', '.join(self.targets)} (got none); leave it out, or predict it without errors"
                    )
        return {
            "format": FORMAT,
            "checkpoint": self.path.name,
            "model": self.config.model.name,
            "samples": len(measures.names),
            "errors": measures.result(),
            "cases": measures.cases(),
            **measures.quantities.result(),
        }

    def check_space(self) -> None:
        """Refuse meshes for a model that was trained on a reference grid."""
        if not self.config.data.options.is_in_space:
            raise ValueError(
                f"Expected a model whose positions are those of a mesh file (got {self.path}, trained on a reference "
                f"grid, whose points a file does not give); train with data.{self.config.data.name}.positions = "
                f"'physical'"
            )

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

    def write_roll_out(
        self,
        file: Path,
        output: Path,
        steps: int | None = None,
        parameters: Mapping[str, float] | None = None,
        measures: Measures | None = None,
    ) -> None:
        """Predict the states after a file's first one, and write all of them as a collection.

        Args:
            file: A time series, or a mesh with the first state.
            output: The collection to write, ``.pvd``; its meshes are written beside it.
            steps: Number of states; ``None`` for as many as the file has, or for one.
            parameters: Inputs of the mesh as a whole that the file does not hold.
            measures: Collects the errors of the steps that the file holds.

        Raises:
            ValueError: If the file cannot be read or lacks a field.
        """
        series = open_series(file) if holds_series(file) else None
        first = read(file) if series is None else series.mesh(0)
        count = steps or (1 if series is None else max(1, len(series) - 1))
        channels = len(self.table.target_labels)
        sample, truths = self._sample(first, parameters), list[Mapping[str, Floats]]()
        states = {ending: values.double().numpy() for ending, values in self.fields(sample, count).items()}
        known = 1 if series is None else len(series)
        times = [float(time) for time in ([0.0] if series is None else series.times[: count + 1])]
        self.doubts.say(first, [*(() if series is None else series.notes), *self.doubts.of_times(times)])
        step = times[-1] - times[-2] if len(times) > 1 else self.doubts.time_step or 1.0
        times += [times[-1] + step * (number + 1) for number in range(count + 1 - len(times))]

        def meshes() -> Iterator[Mesh]:
            for number in range(count + 1):
                mesh = first if series is None or number >= known else series.mesh(number)
                columns = slice(max(number - 1, 0) * channels, max(number, 1) * channels)
                state = {ending: values[:, columns] for ending, values in states.items()}
                if number == 0:  # the first state is known
                    state = {ending: 0.0 * values for ending, values in state.items()}
                    state["_prediction"] = self.table.narrow(self.table.read_targets(mesh, parameters), "targets")
                # later states on the first mesh have no truth: its fields belong to the first state
                truth = self.table.truth(mesh, parameters) if number < known else None
                truths.extend([truth] if number and truth is not None else [])
                yield self._with(self.table.with_numbers(mesh, parameters), state, truth)

        write_series(output, meshes(), times)
        if measures is not None:
            add_mesh(measures, first, sample, states["_prediction"], truths)

    def _sample(self, mesh: Mesh, parameters: Mapping[str, float] | None) -> PointData:
        """The sample of a mesh; the log names inputs far outside the range of training."""
        inputs = self.table.read(mesh, parameters)
        self.doubts.say(mesh, self.doubts.of_mesh(mesh, inputs))
        if self.config.scaling.box == "none":  # with a unit box, a mesh may lie anywhere
            self.table.warn_of_loss(mesh)
        return self.table.mesh_sample(mesh, parameters, inputs)

    def _with(self, mesh: Mesh, predicted: Mapping[str, Floats], truth: Mapping[str, Floats] | None) -> Mesh:
        """The mesh with fields from values ``[m, channels]``, and with errors; without a truth, without its targets."""
        result, split = mesh, {ending: self.table.split(mesh, values) for ending, values in predicted.items()}
        for ending, values in split.items():
            result = self.table.add(result, values, ending)
        if truth is None:
            return self.table.without_targets(result)
        prediction = split["_prediction"]
        return self.table.add(result, {name: prediction[name] - truth[name] for name in truth}, "_error")

    def _evaluate_series(self, file: Any, parameters: Mapping[str, float], measures: Measures) -> None:
        """Roll out a series, and measure all states but the first."""
        if isinstance(file, Mesh) or not holds_series(file):
            what = f"{file}: Expected a time series" if isinstance(file, Path) else "Expected files of time series"
            raise ValueError(f"{what} for a model of its steps (got a single mesh); name a .pvd or .xdmf")
        series = open_series(file)
        first, count = series.mesh(0), len(series) - 1
        if count:
            sample = self._sample(first, parameters)
            states = self.fields(sample, count)["_prediction"].double().numpy()
            truths = [self.table.truth(series.mesh(step + 1), parameters) for step in range(count)]
            add_mesh(measures, first, sample, states, truths)
