"""Predictions for the samples of a data set, and their errors."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

from pitgeo.config.config import EvaluationConfig
from pitgeo.data.fields import FieldTable
from pitgeo.data.samples import Samples
from pitgeo.datasets.data_options import DataOptions
from pitgeo.datasets.shared_mesh import SharedMesh
from pitgeo.geometry.sets import FOR_ERRORS, in_set
from pitgeo.measures.measures import Measures
from pitgeo.measures.quantities import Quantities, QuantityErrors
from pitgeo.measures.relative_error import at_rest
from pitgeo.mesh import Mesh
from pitgeo.prediction.mesh_predictor import MeshPredictor
from pitgeo.prediction.predictor import Predictor

log = logging.getLogger(__name__)

Split = Literal["train", "validation", "test"]
SPLITS = ("train", "validation", "test")


def read_split(options: DataOptions, name: str, split: str, progress: bool) -> Samples:
    """The samples of a split.

    Raises:
        ValueError: If the split is unknown or empty.
    """
    if split not in SPLITS:
        raise ValueError(f"Expected 'split' to be one of {SPLITS} (got {split!r})")
    samples = options.split_samples(split, progress)
    if len(samples) == 0:
        raise ValueError(f"Expected the {split} split of {name!r} to hold samples (got none)")
    return samples


def predict_samples(predictor: Predictor, samples: Samples, size: int, progress: bool) -> list[Tensor]:
    """Values at the output points of every sample, ``size`` samples at a time.

    Raises:
        ValueError: If a prediction is not finite.
    """
    predictions: list[Tensor] = []
    if isinstance(samples, SharedMesh):
        samples = samples.with_transform(predictor.transform)
    with tqdm(
        total=len(samples), desc="predict", unit="sample", disable=not progress or not sys.stderr.isatty()
    ) as bar:
        for start in range(0, len(samples), size):
            numbers = range(start, min(start + size, len(samples)))
            batch = [samples[number] for number in numbers]
            if isinstance(samples, SharedMesh):
                parts = predictor.predict_prepared(samples.batch(numbers)).unbind()
            else:
                points = [sample.y.shape[0] for sample in batch]
                parts = predictor.predict(batch, samples.steps).split_with_sizes(points)
            for sample, prediction in zip(batch, parts, strict=True):
                if not bool(torch.isfinite(prediction).all()):
                    raise ValueError(
                        f"Expected finite predictions (got NaN or infinity in sample {sample.get('sample_id')}); the "
                        f"model has diverged: evaluate an earlier checkpoint, or train with a lower learning rate"
                    )
                predictions.append(prediction)
            bar.update(len(batch))
    return predictions


def measure_samples(
    predictor: MeshPredictor, samples: Samples, predictions: Sequence[Tensor], numbers: Sequence[int] | None = None
) -> Measures:
    """Errors of predictions for the samples of a data set, or for those of some numbers, in their order."""
    measures = predictor.measures()
    for number, prediction in zip(range(len(samples)) if numbers is None else numbers, predictions, strict=True):
        sample = samples[number]
        name = samples.name(number) or f"sample {int(sample.get('sample_id', number))}"
        pos = sample.x if samples.physical else sample.points("output")[0]
        measures.add(name, sample.y, prediction, sample.get("y_mask"), pos)
    return measures


class OnMeshes(NamedTuple):
    """What is measured on the meshes of samples: named numbers, and the errors in named sets."""

    quantities: QuantityErrors
    sets: dict[str, Measures]

    def result(self) -> dict[str, Any]:
        """The part of ``evaluation.json``; empty without names."""
        sets = {name: measures.result() for name, measures in self.sets.items()}
        return self.quantities.result() | ({"errors_in_sets": sets} if sets else {})


def measure_on_meshes(
    predictor: MeshPredictor,
    wanted: EvaluationConfig,
    samples: Samples,
    predictions: Sequence[Tensor],
    progress: bool = False,
) -> OnMeshes:
    """Quantities of the predictions, and errors at the points and cells of named sets.

    Args:
        predictor: The predictor.
        wanted: Names of quantities and sets.
        samples: Samples with the truth.
        predictions: A prediction for each of the first samples, or for all.
        progress: Show a progress bar (in a terminal only).

    Raises:
        ValueError: If there are names, and the samples have no mesh files; a mesh lacks a set; or as
            :func:`pitgeo.integrals.compute`.
    """
    table = predictor.table
    found = OnMeshes(
        QuantityErrors(Quantities(table, wanted.quantities)), {name: predictor.measures() for name in wanted.sets}
    )
    if not wanted.quantities and not wanted.sets:
        return found
    with tqdm(desc="measure", total=len(predictions), disable=not progress or not sys.stderr.isatty()) as bar:
        for number, prediction in enumerate(predictions):
            mesh = samples.mesh(number) if samples.table is not None else None
            if mesh is None:
                raise ValueError(
                    f"Expected data of mesh files for evaluation.quantities and evaluation.sets (got samples without "
                    f"files, and {(*wanted.quantities, *wanted.sets)[0]!r}); leave them out"
                )
            sample, name = samples[number], samples.name(number) or f"sample {number}"
            if wanted.quantities:
                found.quantities.add(name, mesh, sample.y.double().numpy(), prediction.double().numpy())
            for within, measures in found.sets.items():
                mask = _in_set(table, mesh, within, sample.y.shape)
                measures.add(name, sample.y, prediction, mask, sample.points("output")[0])
            bar.update()
    for note in found.quantities.quantities.notes:
        log.warning("%s", note)
    return found


def _in_set(table: FieldTable, mesh: Mesh, within: str, shape: tuple[int, ...]) -> Tensor:
    """True where values of targets ``[m, steps * K]`` belong to the points or cells of a set."""
    mask, start = np.zeros(shape, bool), 0
    steps = shape[1] // len(table.target_labels)
    for field in (field for _ in range(steps) for field in table.targets):
        part = slice(start, start + field.channels)
        start += field.channels
        if field.place != "mesh":
            mask[table.rows(mesh, field), part] = in_set(mesh, within, field.place, FOR_ERRORS)[:, None]
    return torch.from_numpy(mask)


def resting(predictor: Predictor, samples: Samples) -> dict[str, list[int]]:
    """For every target, the numbers of the samples in which it is zero up to rounding."""
    module, at_rest_in = predictor.module, dict[str, list[int]]()
    if module.typical is None:
        return at_rest_in
    labels = samples.targets or predictor.targets
    for number in range(len(samples)):
        sample = samples[number]
        steps = sample.y.shape[1] // len(module.typical)
        groups = None if module.groups is None else [*module.groups] * steps
        rests = at_rest(sample.y, module.typical.repeat(steps), groups)
        for label, is_at_rest in zip(labels, rests.tolist(), strict=True):
            if is_at_rest:
                at_rest_in.setdefault(label, []).append(int(sample.get("sample_id", number)))
    return at_rest_in
