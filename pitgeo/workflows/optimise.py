"""The best values of the numbers of a mesh, or of a function that makes meshes, by a trained model."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pitgeo.data.fields.reading import Floats
from pitgeo.mesh import Mesh, write_mesh
from pitgeo.system.atomic_files import write_atomic
from pitgeo.workflows.designs import Varied, bounds, latin_hypercube
from pitgeo.workflows.search import Constraint, MakeMesh, Progress, Search

if TYPE_CHECKING:
    from pitgeo.prediction.mesh_predictor import MeshPredictor

log = logging.getLogger(__name__)

SLACK = 1e-6
"""A constraint holds if it is broken by no more than this share of the differences that its quantity has."""
AT_END = 1e-6
"""A number is at the end of its range if it is no farther from it than this share."""


@dataclass(frozen=True)
class Optimum:
    """The best values that were found.

    Args:
        values: The numbers.
        objective: The quantity that was to be small.
        constraints: The quantities of the constraints.
        is_feasible: Whether all constraints hold.
        notes: What to know: numbers at the ends of their ranges, broken constraints, what lies outside of the training
            range.
        mesh: The mesh with these numbers and the predicted fields, to be confirmed by a real run.
        evaluations: How many predictions it took.
    """

    values: Mapping[str, float]
    objective: float
    constraints: Mapping[str, float]
    is_feasible: bool
    notes: Sequence[str]
    mesh: Mesh
    evaluations: int

    def write(self, folder: Path) -> list[Path]:
        """Write ``optimum.json`` and ``optimum.vtu``."""
        folder.mkdir(parents=True, exist_ok=True)
        found = {
            "values": dict(self.values),
            "objective": self.objective,
            "constraints": dict(self.constraints),
            "feasible": self.is_feasible,
            "notes": list(self.notes),
            "evaluations": self.evaluations,
        }
        write_mesh(folder / "optimum.vtu", self.mesh)
        write_atomic(folder / "optimum.json", json.dumps(found, indent=2).encode())
        return [folder / "optimum.json", folder / "optimum.vtu"]


def optimise(
    predictor: MeshPredictor,
    mesh: Mesh | MakeMesh,
    objective: str,
    varied: Sequence[Varied],
    constraints: Sequence[str] = (),
    samples: int = 64,
    starts: int = 3,
    seed: int = 0,
    parameters: Mapping[str, float] | None = None,
    progress: Progress = iter,
) -> Optimum:
    """The values within bounds for which a quantity is smallest, under constraints.

    The quantities of a Latin hypercube are predicted first. From the best of these, a search goes on: for one mesh
    with derivatives (SLSQP), for a function that makes meshes without (COBYQA). It may miss the best of many valleys:
    more ``samples`` and ``starts`` miss less.

    Args:
        predictor: The trained model, or an ensemble, whose mean counts.
        mesh: The mesh whose numbers vary; or a function from values to a mesh with all inputs.
        objective: A quantity of the targets, as :func:`pitgeo.integrals.compute` names it (``"peak:von_mises"``), or a
            number that varies (``"thickness"``); with a minus before it, it becomes largest.
        varied: The numbers and their ranges.
        constraints: As :meth:`~pitgeo.workflows.search.Constraint.parse` takes them.
        samples: Size of the Latin hypercube.
        starts: From how many of its samples to go on.
        seed: Of the Latin hypercube.
        parameters: Other inputs of the mesh as a whole that it does not hold.
        progress: Wraps what is gone through, to show a progress bar.

    Raises:
        ValueError: If a number has no range, or a quantity or constraint is not known.
    """
    ranges = bounds(varied)
    if starts < 1:
        raise ValueError(f"Expected at least 1 of 'starts' (got {starts})")
    limits = [Constraint.parse(text) for text in constraints]
    search = Search(predictor, mesh, ranges, [objective, *(limit.text for limit in limits)], parameters)
    box = [Varied(name, (), *ends) for name, ends in ranges.items()]
    design = np.stack([*latin_hypercube(box, samples, seed).values()], 1)
    numbers = search.all(design, progress)
    scale = np.ptp(numbers, 0)
    scale = np.where(scale > 0, scale, np.maximum(np.abs(numbers).max(0), 1.0))

    def broken(row: Floats) -> float:
        """By how much the worst constraint is broken, 0 if all hold."""
        pairs = zip(limits, row[1:], scale[1:], strict=True)
        worst = max([0.0, *(-limit.margin(float(value)) / float(size) for limit, value, size in pairs)])
        return worst if worst > SLACK else 0.0

    def merit(entry: tuple[Floats, Floats]) -> tuple[float, float]:
        return broken(entry[1]), float(entry[1][0])

    found = sorted(zip(design, numbers, strict=True), key=merit)
    for start, _ in progress(found[:starts]):
        point = search.polish(start, limits, scale)
        found.append((point, search(point)[0]))
    best, row = min(found, key=merit)
    values = dict(zip(ranges, best.tolist(), strict=True))
    made = search.mesh(values)
    case = predictor.doubts.case(made, predictor.table.read(made, parameters))
    notes = [*_at_ends(values, ranges), *_broken(limits, row[1:], scale[1:])]
    for note in notes:
        log.warning("%s", note)
    notes += [note.text for note in predictor.doubts.of_case(case)]  # the prediction below logs them
    return Optimum(
        values=values,
        objective=float(row[0]),
        constraints=dict(zip(constraints, row[1:].tolist(), strict=True)),
        is_feasible=broken(row) == 0.0,
        notes=notes,
        mesh=predictor.predict_mesh(made, parameters),
        evaluations=search.evaluations,
    )


def _at_ends(values: Mapping[str, float], ranges: Mapping[str, tuple[float, float]]) -> list[str]:
    return [
        f"{name} is at the {'lower' if value - low < high - value else 'upper'} end of its range, {value:g}"
        for (name, value), (low, high) in zip(values.items(), ranges.values(), strict=True)
        if min(value - low, high - value) <= AT_END * (high - low)
    ]


def _broken(limits: Sequence[Constraint], values: Floats, scale: Floats) -> list[str]:
    return [
        f"{limit.text} is {value:g}, beyond its limit {limit.limit:g}: no values were found for which it holds"
        for limit, value, size in zip(limits, values.tolist(), scale.tolist(), strict=True)
        if -limit.margin(value) / size > SLACK
    ]
