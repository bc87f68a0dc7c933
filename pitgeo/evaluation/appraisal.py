"""The comparison of a trained model with simple controls, and its verdict: the last part of every evaluation."""

from __future__ import annotations

import copy
import csv
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pitgeo.controls import Control, TrainingSet, controls_for
from pitgeo.controls.training_set import same_points
from pitgeo.data import PointData
from pitgeo.data.fields import FieldTable
from pitgeo.data.fields.mesh_field import own_number
from pitgeo.data.samples import Samples
from pitgeo.datasets.data_options import DataOptions
from pitgeo.datasets.listed_samples import ListedSamples
from pitgeo.datasets.shared_mesh import SharedMesh
from pitgeo.evaluation.scores import measure_samples, predict_samples
from pitgeo.evaluation.verdict import LEAST_SAMPLES, Influence, Rival, verdict
from pitgeo.measures.measures import Measures
from pitgeo.prediction.mesh_predictor import MeshPredictor
from pitgeo.prediction.predictor import Predictor
from pitgeo.training.output_points import known

log = logging.getLogger(__name__)

Values = NDArray[np.float64]
MOST_VALUES = 1_000_000
"""Largest number of values that controls predict; of more, they predict only some samples."""
SECONDS = 10.0
"""Time limit for the predictions with permuted inputs, estimated from the time of the evaluation."""


@dataclass(frozen=True)
class Appraised:
    """A model that has predicted test samples.

    Args:
        predictor: The model or ensemble.
        options: Options of its data.
        samples: The raw test samples.
        predictions: The prediction for each sample.
    """

    predictor: MeshPredictor
    options: DataOptions
    samples: Samples
    predictions: Sequence[Tensor]

    @property
    def steps(self) -> int:
        """Number of states that are predicted one after another, for a time series; else 0."""
        return self.samples.steps

    def chosen(self, most: int) -> list[int]:
        """Numbers of evenly chosen test samples, with at most ``most`` values together but at least a few samples."""
        count = len(self.samples)
        size = self.samples[0].y.numel()
        kept = min(count, max(LEAST_SAMPLES, most // size))
        return [number * count // kept for number in range(kept)]

    def measured(self, predictions: Sequence[Tensor], numbers: Sequence[int]) -> Measures:
        """Predictions of the model, or of a control, for test samples of these numbers: all by the same measures."""
        return measure_samples(self.predictor, self.samples, predictions, numbers)

    def errors(self, numbers: Sequence[int]) -> Values:
        """The model's errors for test samples of these numbers: relative l2, the mean over targets."""
        return self.measured([self.predictions[number] for number in numbers], numbers).order()


def appraise(predictor: Predictor, appraised: Appraised, metrics: Path, seconds: float) -> dict[str, Any]:
    """The part of an evaluation about controls: their errors, and the verdict on the model.

    Args:
        predictor: The model.
        appraised: Its test samples and predictions.
        metrics: Its table of epochs, which may be missing.
        seconds: Time of the prediction of the test samples.

    Returns:
        ``controls`` and ``verdict``; without controls if the training samples cannot be read.
    """
    rivals, numbers, controls = compare(appraised)
    training = predictor.config.training
    conclusion = verdict(
        predictor.config.model.name,
        appraised.errors(numbers),
        rivals,
        [] if training.window else _history(metrics),
        training.schedule,
        influences(predictor, appraised, seconds),
    )
    return {"controls": controls, "verdict": conclusion}


def compare(appraised: Appraised) -> tuple[list[Rival], list[int], list[dict[str, Any]]]:
    """Fit the controls of a data set to its training samples, and predict test samples with them.

    Returns:
        The controls, the numbers of the test samples that they predicted, and their entries in a report.
    """
    samples, numbers = appraised.samples, appraised.chosen(MOST_VALUES)
    try:
        known_samples = appraised.options.split_samples("train", progress=False)
        training = TrainingSet.choose(known_samples, bool(appraised.steps), appraised.options.rollout)
    except (OSError, ValueError) as error:
        log.warning("There are no controls: the training samples cannot be read (%s)", error)
        return [], numbers, []
    first = training.samples[0]
    if training.is_shared and not all(same_points(first, samples[number]) for number in numbers):
        training = replace(training, is_shared=False)
    rivals, report, fitted = [], [], []
    for control in controls_for(training):
        start = time.perf_counter()
        measured = _measured(control, training, appraised, numbers)
        if measured is None:
            continue
        errors = measured.order()
        seconds = round(time.perf_counter() - start, 2)
        rivals.append(Rival(control.name, errors, seconds, control.model))
        fitted.append(control)
        note = "; ".join(part for part in (control.note, training.note) if part)
        report.append(
            {
                "name": control.name,
                "relative_l2": float(errors.mean()),
                "errors": measured.result(),
                "samples": len(numbers),
                "seconds": seconds,
                "model": control.model,
                "note": note,
            }
        )
    if rivals and len(training.samples) >= 4 * LEAST_SAMPLES:
        best = min(range(len(rivals)), key=lambda number: float(rivals[number].errors.mean()))
        halved = _measured(fitted[best], training.half(), appraised, numbers)
        rivals[best] = replace(rivals[best], halved=None if halved is None else halved.order())
    return rivals, numbers, report


def influences(predictor: Predictor, appraised: Appraised, seconds: float) -> dict[str, Influence]:
    """The change of the errors if an input is permuted among the test samples, for each input.

    Fields are permuted where samples share their points, numbers of the mesh everywhere, those in a set as long as none
    is zero, which hides the set; inputs that are the same in all test samples are left out.

    Args:
        predictor: The model.
        appraised: Its test samples and predictions.
        seconds: Time of the prediction of all test samples.
    """
    samples, steps = appraised.samples, appraised.steps
    channels = _channels(predictor.table, len(predictor.table.target_labels) if steps else 0)
    per_sample = max(seconds, 1e-3) / len(samples)
    count = min(len(samples), int(SECONDS / (per_sample * max(1, len(channels)))))
    if count < LEAST_SAMPLES:
        return {}
    numbers = [number * len(samples) // count for number in range(count)]
    chosen = [samples[number] for number in numbers]
    order = np.random.default_rng(0).permutation(count)
    partner = np.empty(count, np.int64)
    partner[order] = np.roll(order, 1)  # never the sample itself
    is_shared = all(same_points(chosen[0], sample) for sample in chosen)
    local = {field.name for field in predictor.table.inputs if field.within and field.categories is None}
    changes, own = {}, appraised.errors(numbers)
    for name, columns in channels.items():
        values = [sample.x[:, columns] for sample in chosen]
        places = [(value != 0).any(1, True) for value in values] if name in local and not is_shared else []
        if not all(bool(place.any()) for place in places):
            continue
        if places:
            values = [torch.from_numpy(own_number(value.numpy()))[None] for value in values]
        elif not is_shared and not all(bool((value == value[:1]).all()) for value in values):
            continue
        if all(torch.equal(value[:1] if not is_shared else value, values[0][: len(value)]) for value in values):
            continue
        permuted = [values[partner[n]] for n in range(count)]
        if places:
            permuted = [torch.where(place, value, 0.0) for place, value in zip(places, permuted, strict=True)]
        mixed = [_with(sample, columns, value) for sample, value in zip(chosen, permuted, strict=True)]
        try:
            data = _in_place_of(samples, mixed)
            predictions = predict_samples(predictor, data, predictor.config.training.batch_size, False)
        except ValueError as error:
            log.debug("No influence of %r was found: %s", name, error)
            continue
        predictions = [known(prediction, sample) for prediction, sample in zip(predictions, mixed, strict=True)]
        changes[name] = Influence(appraised.measured(predictions, numbers).order() - own)
    return changes


def _measured(control: Control, training: TrainingSet, appraised: Appraised, numbers: Sequence[int]) -> Measures | None:
    """The errors of a control; ``None`` if it cannot be fitted, or its predictions are not finite."""
    try:
        control.fit(training)
        predictions = []
        for number in numbers:
            sample = appraised.samples[number]
            steps = appraised.steps
            prediction = control.roll_out(sample, steps) if steps else control.predict(sample)
            predictions.append(known(prediction, sample))
        return appraised.measured(predictions, numbers)
    except (ValueError, RuntimeError, np.linalg.LinAlgError) as error:
        log.info("There is no comparison with %s: %s", control.name, error)
        return None


def _history(path: Path) -> list[dict[str, float | None]]:
    """The rows of a table of epochs; empty without a table."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return [{key: float(text) if text else None for key, text in row.items()} for row in csv.DictReader(file)]


def _channels(table: FieldTable, state: int) -> dict[str, list[int]]:
    """Channels of every input field, without the state at the end."""
    channels: dict[str, list[int]] = {}
    start, total = 0, table.in_channels - state
    for field in table.inputs:
        if start + field.channels <= total:
            channels[field.name] = list(range(start, start + field.channels))
        start += field.channels
    return channels


def _with(sample: PointData, channels: Sequence[int], values: Tensor) -> PointData:
    """A copy of a sample with other values in some input channels; a number of the mesh is set at all points."""
    sample = copy.copy(sample)
    sample.x = sample.x.clone()
    sample.x[:, list(channels)] = values if len(values) == len(sample.x) else values[:1]
    return sample


def _in_place_of(owner: Samples, samples: list[PointData]) -> Samples:
    """Samples, as those of a data set are held."""
    if isinstance(owner, SharedMesh):
        result = copy.copy(owner)
        result.x, result.y = (torch.stack([sample[key] for sample in samples]) for key in ("x", "y"))
        result.numbers = owner.numbers[: len(samples)]
        return result
    listed = ListedSamples(samples)
    listed.steps = owner.steps
    return listed
