"""Which meshes to simulate next: those that an ensemble disagrees on, and that differ from all that is known."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist

from pitgeo.data import PointData
from pitgeo.data.fields.mesh_case import MeshCase, descriptor_sizes
from pitgeo.data.fields.reading import Floats
from pitgeo.geometry.shape import count
from pitgeo.measures.reference import Reference
from pitgeo.mesh import Mesh
from pitgeo.mesh.reading import read
from pitgeo.prediction.cases import cases_of
from pitgeo.prediction.ensemble import Ensemble, Moments
from pitgeo.prediction.guards import check_space
from pitgeo.prediction.named_quantity import NamedQuantity
from pitgeo.prediction.study import MeshStudy
from pitgeo.system.atomic_files import write_atomic

if TYPE_CHECKING:
    from pitgeo.prediction.mesh_predictor import MeshPredictor

Describe = Callable[[Mesh, Mapping[str, float]], Sequence[float]]
Progress = Callable[[Iterable[Any]], Iterable[Any]]

VARIES = 1e-5
"""A descriptor that varies by less than this share of its size is constant."""
SAME = 1e-3
"""Meshes that are no farther apart than this, in standard deviations of the descriptors, are the same."""


@dataclass(frozen=True)
class Chosen:
    """A mesh to simulate.

    Args:
        place: Its place in the pool.
        name: Its file, or ``"mesh 3"``.
        spread: How much the members of an ensemble disagree on it; NaN for a single model.
        distance: To the nearest of the training set and of those that were chosen before it.
    """

    place: int
    name: str
    spread: float
    distance: float


def choose(
    predictor: MeshPredictor,
    pool: Sequence[Any],
    number: int,
    quantity: str = "",
    parameters: Any = None,
    training: Sequence[Any] | None = None,
    describe: Describe | None = None,
    progress: Progress = iter,
) -> list[Chosen]:
    r"""The meshes of a pool to simulate next, the most useful first; no two of them are alike.

    They are chosen one after the other. Each has the largest product of spread and distance,

    .. math::
        s_i \min_{j} \lVert z_i - z_j \rVert,

    where :math:`j` runs over the training set and those chosen before. :math:`z` are descriptors of shape and inputs,
    standardised over training set and pool. Without a quantity, :math:`s_i` is the root mean square, over points and
    target channels, of the calibrated spread of the ensemble divided by the variation of the channel on the training
    set; with one it is the standard deviation of the quantity among the members. It is 1 for a single model. Among
    equals the first is taken.

    Args:
        predictor: The trained ensemble, or a single model.
        pool: Files or patterns of them, or meshes in memory that :func:`~pitgeo.mesh.in_memory.as_mesh` converts.
        number: How many to choose.
        quantity: A number of the prediction that is of interest, as :func:`pitgeo.integrals.compute` names it, or a
            target of the whole mesh.
        parameters: Numbers that the meshes lack: a table of the files, a dictionary for all, or a list of them.
        training: Meshes that have been simulated, given as the pool is; ``None`` for the training set of the model.
        describe: Descriptors of a mesh and its numbers, as many for each; ``None`` for those of
            :class:`~pitgeo.data.fields.mesh_case.MeshCase`.
        progress: Wraps the sequence of meshes, to show a progress bar.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the model was trained on a reference grid or time series, a mesh lacks an input, or fewer than
            ``number`` meshes of the pool differ from the training set and from each other.

    Reference:
        Gonzalez, "Clustering to minimize the maximum intercluster distance", 1985, without the spread; as active
        learning: Sener and Savarese, "Active Learning for Convolutional Neural Networks: A Core-Set Approach", 2018.
    """
    check_space(predictor)
    if predictor.is_one_step:
        raise ValueError(f"Expected a model of single states to choose meshes by (got {predictor.path}, of series)")
    if quantity and not isinstance(predictor, Ensemble):
        raise ValueError(
            f"Expected an ensemble, whose members disagree on {quantity!r} (got the single model {predictor.path}); "
            f"train one with 'members', or leave the quantity out"
        )
    cases = cases_of(predictor, pool, parameters, "'pool'")
    if not 1 <= number <= len(cases):
        raise ValueError(f"Expected 'number' to be from 1 to the {len(cases)} meshes of the pool (got {number})")
    known = _training(predictor) if training is None else cases_of(predictor, training, None, "'training'")
    given = _default(predictor) if describe is None else describe
    spreads, names, rows = np.ones(len(cases)), list[str](), list[Sequence[float]]()
    with predictor.doubts.summed_up():
        for place, (case, numbers) in enumerate(progress(cases)):
            mesh = read(case) if isinstance(case, Path) else case
            inputs = predictor.table.read(mesh, numbers)
            own = predictor.doubts.case(mesh, inputs, has_shape=True)
            predictor.doubts.say(mesh, predictor.doubts.of_case(own))
            names.append(str(case) if isinstance(case, Path) else str(mesh.path or f"mesh {place}"))
            rows.append(_row(own) if describe is None else describe(mesh, numbers))
            if isinstance(predictor, Ensemble):
                spreads[place] = _spread(predictor, mesh, predictor.table.mesh_sample(mesh, numbers, inputs), quantity)
                if not np.isfinite(spreads[place]):
                    raise ValueError(f"{names[-1]}: Expected a finite prediction (got a spread of {spreads[place]})")
    rows += [given(read(case) if isinstance(case, Path) else case, numbers) for case, numbers in known]
    values = np.array(rows, np.float64)
    positions = _standardised(values, np.abs(values).max(0) if describe else _sizes(predictor, values))
    order, distances = farthest(positions[: len(cases)], positions[len(cases) :], spreads, number)
    if len(order) < number:
        raise ValueError(
            f"Expected a pool with at least {number} meshes that differ from the training set and from each other (got "
            f"{len(order)} among {len(cases)}); ask for fewer"
        )
    shown = spreads if isinstance(predictor, Ensemble) else np.full(len(cases), np.nan)
    return [
        Chosen(place, names[place], float(shown[place]), distance)
        for place, distance in zip(order, distances, strict=True)
    ]


def farthest(pool: Floats, known: Floats, weights: Floats, number: int) -> tuple[list[int], list[float]]:
    """Places in the pool of the points with the largest products of weight and distance, one after the other.

    Args:
        pool: Points to choose from, ``[n, d]``.
        known: Points to keep away from, ``[k, d]``, at least one.
        weights: Weights of the pool, ``[n]``, not negative.
        number: How many points; there are fewer where all others coincide with some that are chosen or known.

    Returns:
        The places, and the distance of each to the nearest of those known or chosen before.

    Example:
        >>> line = np.array([[1.0], [4.0], [4.0], [9.0]])
        >>> farthest(line, np.array([[0.0]]), np.array([1.0, 1.0, 1.0, 0.1]), 3)
        ([1, 0, 3], [4.0, 1.0, 5.0])
    """
    nearest: Floats = cdist(pool, known).min(1)
    order, distances = list[int](), list[float]()
    while len(order) < number and (nearest > SAME).any():
        best = int(np.where(nearest > SAME, weights * nearest, -1.0).argmax())
        order.append(best)
        distances.append(float(nearest[best]))
        nearest = np.minimum(nearest, cdist(pool, pool[best : best + 1])[:, 0])
    return order, distances


def with_values(
    predictor: MeshPredictor,
    mesh: Mesh,
    values: Mapping[str, ArrayLike],
    parameters: Mapping[str, float] | None = None,
) -> list[Mesh]:
    """A pool of one mesh with other numbers.

    Args:
        predictor: The trained model.
        mesh: The mesh with the other inputs.
        values: Values ``[S]`` of every number that varies, see :mod:`pitgeo.workflows.designs`.
        parameters: Other inputs of the mesh as a whole that it does not hold.

    Raises:
        ValueError: If the model takes no such number, or the mesh lacks an input.
    """
    check_space(predictor)
    study = MeshStudy(predictor.table, mesh, values, parameters)
    return [study.with_values(row, parameters) for row in range(len(study))]


def write(chosen: Sequence[Chosen], output: Path, values: Mapping[str, NDArray[np.float64]] | None = None) -> Path:
    """Write a table of what was chosen: the file, or the values of one mesh; spread, if any; distance."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    has_spread = not any(np.isnan(own.spread) for own in chosen)
    table.writerow([*(values or ["file"]), *(["spread"] if has_spread else []), "distance"])
    for own in chosen:
        first = [float(column[own.place]) for column in values.values()] if values else [own.name]
        table.writerow([*first, *([own.spread] if has_spread else []), own.distance])
    output.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(output, text.getvalue().encode())
    return output


def _training(predictor: MeshPredictor) -> list[tuple[Any, Any]]:
    samples = predictor.data_options.split_samples("train", False)
    names = [samples.name(place) for place in range(len(samples))]
    if files := [Path(name) for name in names if name is not None]:
        return list(predictor.file_parameters(files).items())
    meshes = [samples.mesh(place) for place in range(len(samples))]
    if any(mesh is None for mesh in meshes):
        raise ValueError(f"Expected a model whose training samples are meshes (got {predictor.path}); give 'training'")
    return [(mesh, {}) for mesh in meshes]


def _default(predictor: MeshPredictor) -> Describe:
    def describe(mesh: Mesh, numbers: Mapping[str, float]) -> Sequence[float]:
        inputs = predictor.table.read(mesh, numbers)
        return _row(predictor.doubts.case(mesh, inputs, has_shape=True))

    return describe


def _row(case: MeshCase) -> Sequence[float]:
    return (*case.shape, *case.inputs)


def _sizes(predictor: MeshPredictor, values: Floats) -> Floats:
    """What differences of the default descriptors are small or large against."""
    table = predictor.table
    start = values.shape[1] - 4 * sum(field.stored for field in table.inputs if not field.is_geometry)
    shapes = descriptor_sizes(values[:, :start], count(table.dimension))
    return np.concatenate([shapes, descriptor_sizes(values[:, start:])])


def _standardised(values: Floats, sizes: Floats) -> Floats:
    """Descriptors with mean 0 and variance 1, of those that are finite and vary."""
    finite = np.isfinite(values).all(0)
    kept = values[:, finite & (np.ptp(np.where(finite, values, 0.0), 0) > VARIES * sizes)]
    return np.asarray((kept - kept.mean(0)) / kept.std(0))


def _spread(ensemble: Ensemble, mesh: Mesh, sample: PointData, quantity: str) -> float:
    table = ensemble.table
    if quantity:
        wanted, points, moments = NamedQuantity(table, mesh, quantity), torch.from_numpy(mesh.points), Moments()
        for member in ensemble.members:
            predicted: Any = member.fields(sample)["_prediction"]
            fields = cast("Mapping[str, torch.Tensor]", table.split(mesh, predicted))  # it slices, as of arrays
            moments.add(wanted(fields, points))
        return float(moments.spread)
    reference = ensemble.reference
    if not isinstance(reference, Reference):
        raise ValueError(reference)
    spread = ensemble.fields(sample)["_spread"].double().numpy()
    start, found = 0, list[float]()
    for field in table.targets:
        rows = slice(None) if field.place == "mesh" else table.rows(mesh, field)
        for channel in range(start, start + field.channels):
            if reference.variation[channel] > 0:
                found.append(float(np.square(spread[rows, channel] / reference.variation[channel]).mean()))
        start += field.channels
    return float(np.sqrt(np.mean(found))) if found else 1.0
