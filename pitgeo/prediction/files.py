"""Predictions for mesh files, each written under the name of its file."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pitgeo.data.fields.table import ENDINGS
from pitgeo.datasets.folder.manifest import find_files
from pitgeo.measures.measures import Measures
from pitgeo.mesh import WRITABLE, Mesh, result_name, write_mesh
from pitgeo.mesh.reading import read as read_mesh  # its notes are summed up
from pitgeo.prediction.mesh_predictor import MeshPredictor
from pitgeo.prediction.predictor import load_any
from pitgeo.prediction.query import Query
from pitgeo.prediction.roll_out import write_roll_out
from pitgeo.system.atomic_files import write_atomic

log = logging.getLogger(__name__)

NOTHING = Query()
QUANTITIES = "quantities.csv"
"""The table of quantities, beside predicted files."""


def predict_files(
    checkpoint: str | Path,
    meshes: Sequence[str | Path],
    output: str | Path,
    device: str = "cpu",
    progress: Callable[[Sequence[Path]], Any] = iter,
    parameters: str | Path | None = None,
    steps: int | None = None,
) -> list[Path]:
    """Call :func:`predict_with` with the predictor of a checkpoint or an ``ensemble.json``."""
    return predict_with(load_any(checkpoint, device), meshes, output, progress, parameters, steps)


def predict_with(
    predictor: MeshPredictor,
    meshes: Sequence[str | Path],
    output: str | Path,
    progress: Callable[[Sequence[Path]], Any] = iter,
    parameters: str | Path | None = None,
    steps: int | None = None,
    measures: Measures | None = None,
    query: Query = NOTHING,
) -> list[Path]:
    """Predict on mesh files; each result goes to ``output`` under the name of its file (some formats become ``.vtu``).

    ``trust.json`` beside them says of every file whether it is inside the training set.

    Args:
        predictor: The trained model or ensemble.
        meshes: Files to read, or patterns of them.
        output: Folder of the results; made with the first of them if it does not exist.
        progress: Wraps the sequence of files, to show a progress bar.
        parameters: Table of numbers of these files, instead of the table of the training.
        steps: For a model of time series, the number of states to predict after the first state of each file, written
            as a collection (``.pvd``); ``None`` for as many as the file has, or for one.
        measures: Collects the errors of files that hold the truth, and the quantities that the run names, see
            :meth:`MeshPredictor.measures`. The latter are written to ``quantities.csv`` in any case.
        query: What is asked beside the fields on the files' own meshes.

    Returns:
        The files written, those of lines and planes after the mesh that they are of.

    Raises:
        FileNotFoundError: If a file is missing.
        ValueError: If a file cannot be read or lacks an input, two have the same name, or one would be overwritten.
    """
    files = find_files([str(mesh) for mesh in meshes], "'meshes'")
    folder = Path(output)
    is_series = predictor.is_one_step
    if steps is not None and not is_series:
        raise ValueError(
            f"Expected 'steps' with a model of time series alone (got {predictor.path}, which is none); leave it out"
        )
    if steps is not None and steps < 1:
        raise ValueError(f"Expected 'steps' to be at least 1 (got {steps}); leave it out for as many as a file has")
    if is_series and not query.is_empty:
        raise ValueError(
            f"Expected a model of single states for a surface to fill, values, lines or slices (got {predictor.path}, "
            f"of time series); leave them out"
        )
    name = (lambda file: f"{file.stem}.vtu") if query.spacing is not None else result_name
    results = {file: f"{file.stem}.pvd" if is_series else name(file) for file in files}
    names = [path.name for file in files for path in (Path(results[file]), *query.names(Path(results[file])))]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ValueError(
            f"Expected files with different names, since results go to one folder (got {sorted(twice)} twice); "
            f"predict them one after the other, with another 'output' each"
        )
    for file in files:
        if file.parent.resolve() == folder.resolve():  # a result may have the name of another input
            raise ValueError(
                f"Expected another 'output' than {folder}, where {file} is and something would be overwritten; name a "
                f"new folder"
            )
    numbers = predictor.file_parameters(files, parameters)
    if measures is None and predictor.config.evaluation.quantities:
        measures = predictor.measures()
    written = []
    with predictor.doubts.summed_up() as trust:
        for file in progress(files):
            target, beside = folder / results[file], iter(list[tuple[Path, bytes | Mesh]]())
            if is_series:
                write_roll_out(predictor, file, target, steps, numbers[file], measures)
            else:
                mesh = query.mesh(predictor.table, read_mesh(file), numbers[file])
                result = predictor.predict_and_measure(mesh, numbers[file], measures)
                _check_copy(target, mesh, result)
                beside = zip(query.names(target), query.found(predictor.table, result), strict=True)
                write_mesh(target, result)
            written.append(target)
            for path, content in beside:
                if isinstance(content, bytes):
                    write_atomic(path, content)
                else:
                    write_mesh(path, content)
                written.append(path)
    if measures is not None and measures.quantities:
        write_atomic(folder / QUANTITIES, measures.quantities.csv().encode())
        if not measures.quantities.result().get("quantities"):  # the table of errors has them
            for text in measures.quantities.quantities.notes:
                log.info("%s", text)
    found = {results[file]: trust[str(file)] for file in files if str(file) in trust}
    said = {name: own.plain() for name, own in found.items() if own.status != "unknown"}
    if said:  # a benchmark's checkpoint, or one of an earlier version, does not describe its training set
        write_atomic(folder / "trust.json", (json.dumps(said, indent=2) + "\n").encode())
    return written


def _check_copy(target: Path, mesh: Mesh, result: Mesh) -> None:
    """Refuse files with fields of an earlier prediction where the result is a copy of the file, which keeps them."""
    pairs = ((mesh.point_data, result.point_data), (mesh.cell_data, result.cell_data))
    names = [name for before, after in (*pairs, (mesh.field_data, result.field_data)) for name in before.keys() - after]
    stale = sorted(name for name in names if name.endswith(ENDINGS))
    if stale and target.suffix.lower() not in WRITABLE:
        raise ValueError(
            f"{mesh.where}Expected no fields of an earlier prediction that this model does not give, since a result in "
            f"{target.suffix} keeps all that its file has (got {', '.join(stale)}); predict the file without them"
        )
