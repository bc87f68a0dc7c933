"""Errors on many meshes that hold the truth, in files or in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pitgeo.datasets.folder.manifest import find_files
from pitgeo.measures.measures import Measures
from pitgeo.mesh.in_memory import sample_meshes
from pitgeo.mesh.reading import read
from pitgeo.prediction.bounds import Scores
from pitgeo.prediction.guards import check_space
from pitgeo.prediction.roll_out import measure_series

if TYPE_CHECKING:
    from pitgeo.prediction.mesh_predictor import MeshPredictor

Progress = Callable[[Sequence[Any]], Iterable[Any]]
"""What wraps a sequence, to show a progress bar."""


def measure_all(
    predictor: MeshPredictor,
    meshes: Any,
    parameters: Any,
    scores: Scores | None = None,
    is_calibration: bool = False,
    progress: Progress = iter,
) -> Measures:
    """The errors on meshes that hold the truth; series are rolled out from their first state.

    Args:
        predictor: The model or ensemble.
        meshes: A file, a pattern, or an object that :func:`~pitgeo.mesh.in_memory.as_mesh` converts; or a list.
        parameters: As for :meth:`MeshPredictor.evaluate`.
        scores: Collects errors relative to the widths of bounds.
        is_calibration: Whether files that the model was trained on are refused.
        progress: Wraps the sequence of meshes, to show a progress bar.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If a mesh cannot be read, is refused, or lacks an input or every target.
    """
    check_space(predictor)
    cases = cases_of(predictor, meshes, parameters, "'meshes'")
    if is_calibration:
        _check_held_out(predictor, [case for case, _ in cases if isinstance(case, Path)])
    measures = predictor.measures()
    with predictor.doubts.summed_up():
        for case, own in progress(cases):
            before, is_file = len(measures.names), isinstance(case, Path)
            if predictor.is_one_step:
                measure_series(predictor, case, own, measures)
            else:
                predictor.predict_and_measure(read(case) if is_file else case, own, measures, scores)
            if len(measures.names) == before:
                raise ValueError(
                    f"{case if is_file else case.path or 'a mesh'}: Expected the truth of a target, of "
                    f"{', '.join(predictor.targets)} (got none); leave it out, or predict it without errors"
                )
    return measures


def cases_of(predictor: MeshPredictor, meshes: Any, parameters: Any, key: str) -> list[tuple[Any, Mapping[str, float]]]:
    """Files or meshes in memory, each with the numbers that it lacks.

    Args:
        predictor: The model or ensemble.
        meshes: A file, a pattern, or an object that :func:`~pitgeo.mesh.in_memory.as_mesh` converts; or a list.
        parameters: A table of the files, a dictionary for all, or a list of them.
        key: What the meshes are called in messages.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If there are both files and meshes, or numbers do not belong to the meshes.
    """
    entries = list(meshes) if isinstance(meshes, (list, tuple)) else [meshes]
    files = [str(entry) for entry in entries if isinstance(entry, (str, Path))]
    if files and len(files) < len(entries):
        raise ValueError(f"Expected {key} to be files or meshes in memory (got both); give them separately")
    cases: Sequence[Any] = find_files(files, key) if files else sample_meshes(entries)
    if files and (parameters is None or isinstance(parameters, (str, Path))):
        by_file = predictor.file_parameters(cases, parameters)
        parameters = [by_file[file] for file in cases]
    return list(zip(cases, numbers_of(cases, parameters), strict=True))


def _check_held_out(predictor: MeshPredictor, files: Sequence[Path]) -> None:
    """Refuse files that a model was trained on: its errors there say nothing of others."""
    split = predictor.facts.get("split") or {}
    trained = {Path(name).resolve() for name in split.get("train", ())}
    if known := [file for file in files if file.resolve() in trained]:
        raise ValueError(
            f"Expected files that {predictor.path} was not trained on, to calibrate bounds on (got {known[0]}, the "
            f"first of {len(known)}); leave these out"
        )


def numbers_of(cases: Sequence[Any], parameters: Any) -> list[Mapping[str, float]]:
    """The parameters of every mesh, from one dictionary for all meshes or a list with one for each.

    Raises:
        ValueError: If ``parameters`` is something else, or a list of another length.
    """
    if parameters is None or isinstance(parameters, Mapping):
        return [parameters or {}] * len(cases)
    if isinstance(parameters, (str, Path)):
        raise ValueError(
            f"Expected 'parameters' of meshes in memory to be dictionaries (got {parameters}, a table of files)"
        )
    if len(parameters) != len(cases):
        raise ValueError(
            f"Expected 'parameters' to be a dictionary for each of {len(cases)} meshes (got {len(parameters)})"
        )
    return list(parameters)
