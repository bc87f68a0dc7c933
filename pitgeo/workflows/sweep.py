"""Many values of the numbers of one mesh: their quantities in a table, their fields on request."""

from __future__ import annotations

import csv
import io
import logging
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from pitgeo.data.fields.reading import Floats
from pitgeo.measures.quantities import Quantities
from pitgeo.mesh import Mesh, write_mesh
from pitgeo.prediction.many import predictions, study_of
from pitgeo.system.atomic_files import write_atomic

if TYPE_CHECKING:
    from pitgeo.prediction.mesh_predictor import MeshPredictor

log = logging.getLogger(__name__)

TABLE = "sweep.csv"
FIELDS = "fields"
ENDING = "_prediction"


def sweep(
    predictor: MeshPredictor,
    mesh: Mesh,
    values: Mapping[str, ArrayLike],
    output: Path,
    quantities: Sequence[str] = (),
    fields: bool = False,
    parameters: Mapping[str, float] | None = None,
    progress: Callable[[Sequence[slice]], Iterable[slice]] = iter,
) -> Path:
    """Predict a mesh for many values of its numbers; write ``sweep.csv``, a row for each.

    The columns are the numbers, the predicted numbers of the whole mesh, and the quantities.

    Args:
        predictor: The trained model or ensemble.
        mesh: The mesh with the other inputs.
        values: Values ``[S]`` of every number that varies, see :mod:`pitgeo.workflows.designs`.
        output: The folder; made if it does not exist.
        quantities: Quantities of the targets, as :func:`pitgeo.integrals.compute` names them; none: those of the
            configuration, and if it has none, the peak of every field.
        fields: Whether to write the predicted meshes too, ``fields/0000.vtu`` for the first row.
        parameters: Other inputs of the mesh as a whole that it does not hold.
        progress: Wraps the sequence of batches, to show a progress bar.

    Returns:
        The table.

    Raises:
        ValueError: If a number or a quantity is not known, the mesh lacks an input, or the folder has the fields of
            another sweep.
    """
    table = predictor.table
    names = quantities or predictor.config.evaluation.quantities
    names = names or [f"peak:{field.name}" for field in table.targets if field.place != "mesh"]
    wanted, whole = Quantities(table, names), [field for field in table.targets if field.place == "mesh"]
    study = study_of(predictor, mesh, values, parameters)
    if (output / FIELDS).exists():
        raise ValueError(
            f"Expected 'output' without the fields of another sweep, whose rows are not those of this one (got "
            f"{output / FIELDS}); delete it, or give another 'output'"
        )
    unfinished = output / f"{FIELDS}.unfinished"
    shutil.rmtree(unfinished, ignore_errors=True)  # of a sweep that was stopped
    rows: list[dict[str, float]] = []
    for part, predicted in predictions(predictor, study, progress):
        for number, row in enumerate(range(len(study))[part]):
            own = {name: column[number] for name, column in predicted.items()}
            targets = {field.name: own[f"{field.name}{ENDING}"] for field in table.targets}
            rows.append(
                {
                    **dict(zip(values, study.values[row].tolist(), strict=True)),
                    **_numbers(targets, whole),
                    **{label: found.value for label, found in wanted.of_fields(study.mesh, targets).items()},
                }
            )
            if fields:
                name = f"{row:0{max(4, len(str(len(study) - 1)))}}.vtu"
                mesh = study.with_values(row, parameters)
                _write_fields(predictor, mesh, predicted, number, unfinished / name)
    for note in wanted.notes:
        log.info("%s", note)
    output.mkdir(parents=True, exist_ok=True)
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_atomic(output / TABLE, text.getvalue().encode())
    if fields:
        unfinished.rename(output / FIELDS)
    return output / TABLE


def _numbers(targets: Mapping[str, Floats], whole: Sequence[Any]) -> dict[str, float]:
    """The predicted numbers of the whole mesh."""
    return {
        label: float(value)
        for field in whole
        for label, value in zip(field.labels, np.ravel(targets[field.name]), strict=True)
    }


def _write_fields(
    predictor: MeshPredictor,
    mesh: Mesh,
    predicted: Mapping[str, Any],
    number: int,
    path: Path,
) -> None:
    table, bare = predictor.table, predictor.table.without_targets(mesh)
    for ending in dict.fromkeys(name.rpartition("_")[2] for name in predicted):
        split = {
            field.name: np.asarray(predicted[f"{field.name}_{ending}"][number], np.float64) for field in table.targets
        }
        bare = table.add(bare, split, f"_{ending}")
    path.parent.mkdir(parents=True, exist_ok=True)
    write_mesh(path, bare)
