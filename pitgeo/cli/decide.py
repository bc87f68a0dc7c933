"""The commands that ask a trained model for more than one prediction: ``pitgeo sweep``, ``optimise`` and ``choose``."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING

from pitgeo.cli.model import loaded
from pitgeo.cli.terminal import bars, check_folder

if TYPE_CHECKING:
    from pitgeo.mesh import Mesh
    from pitgeo.prediction.mesh_predictor import MeshPredictor


def sweep(arguments: argparse.Namespace) -> int:
    """Write a table of quantities for many values."""
    from pitgeo.workflows import designs
    from pitgeo.workflows.sweep import FIELDS, sweep

    check_folder(arguments.output)
    varied = [designs.Varied.parse(text) for text in arguments.vary]
    if arguments.samples is None:
        values = designs.combinations(varied)
    else:
        values = designs.latin_hypercube(varied, arguments.samples, arguments.seed)
    predictor, mesh, numbers = _opened(arguments)
    progress = bars("sweep", "batch", arguments.quiet)
    start = time.perf_counter()
    table = sweep(predictor, mesh, values, arguments.output, arguments.quantity, arguments.fields, numbers, progress)
    count = len(next(iter(values.values())))
    rate = count / (time.perf_counter() - start)
    print(f"{table}, {count} row{'s' * (count != 1)}, {rate:.3g} a second")
    if arguments.fields:
        print(arguments.output / FIELDS)
    return 0


def optimise(arguments: argparse.Namespace) -> int:
    """Write the best values, and the mesh with them."""
    from pitgeo.workflows.designs import Varied
    from pitgeo.workflows.optimise import optimise

    check_folder(arguments.output)
    varied = [Varied.parse(text) for text in arguments.vary]
    is_least = arguments.minimise is not None
    goal = arguments.minimise if is_least else arguments.maximise
    objective = goal if is_least else goal[1:] if goal.startswith("-") else f"-{goal}"
    predictor, mesh, numbers = _opened(arguments)
    found = optimise(
        predictor,
        mesh,
        objective,
        varied,
        arguments.subject_to,
        arguments.samples,
        arguments.starts,
        arguments.seed,
        numbers,
        bars("optimise", "part", arguments.quiet),
    )
    for name, value in found.values.items():
        print(f"{name} = {value:.6g}")
    print(f"{goal}: {found.objective if is_least else -found.objective:.6g}")
    for limit, value in found.constraints.items():
        print(f"{limit}: {value:.6g}")
    print(f"after {found.evaluations} predictions; confirm it by a run of the solver:")
    print("\n".join(map(str, found.write(arguments.output))))
    return 0 if found.is_feasible else 1


def choose(arguments: argparse.Namespace) -> int:
    """Write a table of the meshes to simulate next."""
    from pitgeo.mesh import read_mesh
    from pitgeo.workflows.choose import choose, with_values, write
    from pitgeo.workflows.designs import Varied, combinations

    check_folder(arguments.output.parent)
    values = combinations([Varied.parse(text) for text in arguments.vary]) if arguments.vary else None
    if values and len(arguments.pool) > 1:
        raise ValueError(f"Expected one mesh to vary the numbers of (got {len(arguments.pool)}); leave --vary out")
    predictor, pool, parameters = loaded(arguments), arguments.pool, arguments.parameters
    if values:
        file = Path(pool[0])
        mesh, numbers = read_mesh(file), predictor.file_parameters([file], parameters)[file]
        pool, parameters = with_values(predictor, mesh, values, numbers), numbers
    progress = bars("choose", "mesh", arguments.quiet)
    chosen = choose(predictor, pool, arguments.number, arguments.quantity, parameters, progress=progress)
    if not values:
        print("\n".join(own.name for own in chosen))
    print(write(chosen, arguments.output, values))
    return 0


def _opened(arguments: argparse.Namespace) -> tuple[MeshPredictor, Mesh, dict[str, float]]:
    """The model, the mesh, and the numbers that its file lacks."""
    from pitgeo.mesh import read_mesh

    predictor = loaded(arguments)
    return (
        predictor,
        read_mesh(arguments.mesh),
        predictor.file_parameters([arguments.mesh], arguments.parameters)[arguments.mesh],
    )
