"""Predictions for many values of the numbers of one mesh, by any predictor."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from pitgeo.data import PointData
from pitgeo.mesh import Mesh
from pitgeo.prediction.guards import check_states
from pitgeo.prediction.study import MeshStudy

if TYPE_CHECKING:
    from pitgeo.prediction.mesh_predictor import MeshPredictor

CHUNK = 65_536
"""Largest number of output points at a time."""


def study_of(
    predictor: MeshPredictor, mesh: Mesh, values: Mapping[str, ArrayLike], parameters: Mapping[str, float] | None = None
) -> MeshStudy:
    """The predictions on a mesh whose numbers vary; the log names what leaves the range of the training set.

    Raises:
        ValueError: If the model takes no such numbers, or was trained on a reference grid or time series.
    """
    check_states(predictor)
    if not values:
        raise ValueError("Expected values of at least one number of the mesh (got none); name one that varies")
    study = MeshStudy(predictor.table, mesh, values, parameters)
    sizes = _input_sizes(predictor, study)
    varied = {f"input {field.name}" for number in study.numbers for field, _, _ in number.fields}
    varied.add("combination")  # of the first values alone
    if sizes is not None:  # so are inputs that are divided by what varies
        channels = zip((field for field in predictor.table.inputs for _ in range(field.channels)), sizes.T, strict=True)
        varied |= {
            f"{'geometry' if field.is_geometry else 'input'} {field.name}"
            for field, size in channels
            if (size != size[0]).any()
        }
    case = predictor.doubts.case(study.mesh, study.inputs)
    notes = [note for note in predictor.doubts.of_case(case) if note.kind not in varied]
    notes += study.outside(predictor.doubts.ranges, predictor.doubts.margin, sizes, predictor.doubts.linear_in)
    predictor.doubts.say(study.mesh, notes)
    if predictor.config.scaling.box == "none":
        predictor.table.warn_of_loss(study.mesh)
    return study


def predictions(
    predictor: MeshPredictor,
    study: MeshStudy,
    progress: Callable[[Sequence[slice]], Iterable[slice]] = iter,
) -> Iterator[tuple[slice, dict[str, NDArray[np.float32]]]]:
    """The predictions of a study, some after others, as :meth:`MeshPredictor.predict_many` has them."""
    rows = batches(study)
    predicted = predictor.many(study.sample, (study.batch(part) for part in rows))
    for part in progress(rows):
        split = {ending: study.split(batch) for ending, batch in next(predicted).items()}
        if predictor.bounds is not None:
            found = predictor.bounds.of(predictor.table, split["_prediction"], split.get("_spread"), predictor.level)
            split["_bound"] = {name: width for name, width in found.items() if name in split["_prediction"]}
        yield part, {f"{name}{ending}": column for ending, own in split.items() for name, column in own.items()}


def _input_sizes(predictor: MeshPredictor, study: MeshStudy) -> NDArray[np.float32] | None:
    """What every input channel is divided by in every prediction, ``[S, C]``; ``None`` for nothing."""
    if predictor.references is None:
        return None
    sizes = predictor.references.sizes(with_inputs(study.sample, study.numbers_alone()), study.mesh.where)
    return sizes.inputs.numpy()


def batches(study: MeshStudy) -> list[slice]:
    """Parts of a study that are predicted at a time."""
    points = max(len(study.sample.pos), len(study.sample.points("output")[0]))
    size = max(1, CHUNK // points)
    return [slice(start, min(start + size, len(study))) for start in range(0, len(study), size)]


def with_inputs(sample: PointData, x: Tensor) -> PointData:
    """A copy of a sample with other input values: with ``[B, N, C]`` a batch on one shared mesh."""
    result = copy.copy(sample)
    result.x = x
    return result
