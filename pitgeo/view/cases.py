"""What a page shows: the test samples of a run, or mesh files, each read when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from pitgeo.data import PointData
from pitgeo.data.fields.reading import Floats
from pitgeo.data.samples import Samples
from pitgeo.datasets.folder import MeshOptions
from pitgeo.datasets.folder.cache import open_series as open_case
from pitgeo.datasets.folder.manifest import find_files
from pitgeo.evaluation.scores import read_split
from pitgeo.mesh import Mesh, Note, Series, read_mesh
from pitgeo.mesh.series import holds_series, open_series
from pitgeo.prediction.bounds import by_target
from pitgeo.prediction.guards import check_space
from pitgeo.prediction.mesh_predictor import MeshPredictor


@dataclass(frozen=True)
class Loaded:
    """A sample to predict, and what is known of it.

    Args:
        mesh: The mesh with the inputs, of a series that of the first step.
        parameters: Inputs of the mesh as a whole that it does not hold.
        truths: The targets that are known, ``[n, components]`` by name, for every step.
        times: Times of the steps of a series, the first state included; empty without one.
        sample: The sample of a benchmark; ``None`` where it is made from the mesh.
        notes: What its reader did that is not literally what the file holds.
    """

    mesh: Mesh
    parameters: Mapping[str, float] = field(default_factory=dict)
    truths: tuple[Mapping[str, Floats], ...] = ({},)
    times: tuple[float, ...] = ()
    sample: PointData | None = None
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True)
class Case:
    """One entry in the list of a page.

    Args:
        name: What the list calls it.
        load: Reads it; raises a ``ValueError`` if it cannot be shown.
    """

    name: str
    load: Callable[[], Loaded]


def open_cases(
    predictor: MeshPredictor, meshes: Sequence[str | Path] = (), parameters: str | Path | None = None
) -> list[Case]:
    """The files to show, or the test samples of the run where none are named.

    Args:
        predictor: The model or ensemble.
        meshes: Mesh files, or patterns of them.
        parameters: Table of numbers of these files; ``None`` for the table, or the numbers in file names, of the
            training.

    Raises:
        FileNotFoundError: If there are no such files.
        ValueError: If the model predicts on no mesh file, or the run has no test samples.
    """
    if meshes:
        check_space(predictor)
        files = find_files([str(mesh) for mesh in meshes], "'meshes'")
        return _of_files(predictor, [(file,) for file in files], parameters)
    if parameters is not None:
        raise ValueError("Expected 'parameters' with mesh files, whose numbers the table has (got no files)")
    options = predictor.data_options
    try:
        if not isinstance(options, MeshOptions):
            return _of_samples(predictor, read_split(options, predictor.config.data.name, "test", False))
        cases, test = options.cases(), options.manifest().test
    except OSError as error:
        raise FileNotFoundError(
            f"Expected the test samples of {predictor.path}, to show them (got: {error}); start in the folder that "
            f"the run was started in, or name mesh files"
        ) from error
    if not test:
        raise ValueError(f"Expected {predictor.path} to have test samples (got none); name mesh files to show")
    return _of_files(predictor, [cases[path] for path in test], None)


def _of_files(predictor: MeshPredictor, cases: Sequence[tuple[Path, ...]], parameters: str | Path | None) -> list[Case]:
    numbers = predictor.file_parameters([case[0] for case in cases], parameters)
    read = _read_series if predictor.is_one_step else _read_file
    names = _short_names([case[0] for case in cases])
    return [
        Case(name, partial(read, predictor, case, numbers[case[0]])) for name, case in zip(names, cases, strict=True)
    ]


def _short_names(files: Sequence[Path]) -> list[str]:
    """The names of the files, with their folders where two have one name."""
    names = [file.name for file in files]
    return names if len({*names}) == len(names) else [str(file) for file in files]


def _read_file(predictor: MeshPredictor, case: tuple[Path, ...], parameters: Mapping[str, float]) -> Loaded:
    mesh = read_mesh(case[0])
    return Loaded(mesh, parameters, (predictor.table.truth(mesh, parameters),))


def _read_series(predictor: MeshPredictor, case: tuple[Path, ...], parameters: Mapping[str, float]) -> Loaded:
    series: Series | None = None
    if len(case) > 1:
        series = open_case(case)
    elif holds_series(case[0]):
        series = open_series(case[0])
    if series is None or len(series) < 2:  # a first state alone
        mesh = read_mesh(case[0]) if series is None else series.mesh(0)
        return Loaded(mesh, parameters, times=(0.0, predictor.doubts.time_step or 1.0))
    mesh = series.mesh(0)
    truths = tuple(predictor.table.truth(series.mesh(step), parameters) for step in range(1, len(series)))
    return Loaded(mesh, parameters, truths, tuple(series.times.tolist()), notes=series.notes)


def _of_samples(predictor: MeshPredictor, samples: Samples) -> list[Case]:
    """The samples of a benchmark, which are no mesh files."""
    return [
        Case(
            samples.name(number) or f"sample {int(samples[number].get('sample_id', number))}",
            partial(_read_sample, predictor, samples, number),
        )
        for number in range(len(samples))
    ]


def _read_sample(predictor: MeshPredictor, samples: Samples, number: int) -> Loaded:
    sample: Any = samples[number]
    mesh = samples.mesh(number)
    if mesh is None:
        mesh = Mesh(sample.points("output")[0].double().numpy())
    mask = sample.get("y_mask")
    truth = by_target(predictor.table, sample.y.double().numpy(), None if mask is None else mask.numpy())
    return Loaded(mesh, truths=({name: np.asarray(values) for name, values in truth.items()},), sample=sample)
