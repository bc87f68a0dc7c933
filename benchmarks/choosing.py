"""How many simulations are saved by choosing them: errors of ensembles on chosen and on random files, equal budgets.

``python -m benchmarks.choosing --output runs/choosing``, in the repository, on one thread.
"""

from __future__ import annotations

import argparse
import logging
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.spatial import Delaunay
from tqdm import tqdm

from benchmarks import origin, run_python
from pitgeo.config.config import load_config
from pitgeo.evaluation.evaluation import write_json
from pitgeo.mesh import Mesh, read_mesh, write_mesh
from pitgeo.prediction.ensemble import Ensemble
from pitgeo.prediction.predictor import load
from pitgeo.training import fit
from pitgeo.workflows.choose import choose
from pitgeo.workflows.run import new_module
from pitgeo.workflows.run_data import read_data

Floats = NDArray[np.float64]
START, BATCH, ROUNDS, MEMBERS, STEPS = 8, 8, 2, 3, 200
SETTINGS = (
    "model.pit.channels=24",
    "model.pit.heads=2",
    "model.pit.layers=2",
    "model.pit.latent.number=48",
    "model.pit.encoder_quantile=0.05",
    "model.pit.decoder_quantile=0.08",
    "training.learning_rate=1e-2",
    "data.meshes.validation=0",
    "data.meshes.processes=1",
)


class Problem(NamedTuple):
    """Files to choose from and to test on, and what is learned."""

    pool: list[Path]
    test: list[Path]
    inputs: str
    targets: tuple[str, ...]


def flow(random: np.random.Generator, center: Floats, radius: float) -> Mesh:
    """The exact potential flow round a cylinder, on a cloud of triangles in the unit square."""
    points = random.random((160, 2))
    angle = np.linspace(0, 2 * np.pi, 24, endpoint=False)
    rim = center + radius * np.stack([np.cos(angle), np.sin(angle)], 1)
    side = np.linspace(0, 1, 9)
    edges = [np.stack([side, np.full(9, end)], 1) for end in (0.0, 1.0)]
    outside = points[np.linalg.norm(points - center, axis=1) > 1.04 * radius]
    cloud = np.concatenate([outside, rim, *edges, *(edge[1:-1, ::-1] for edge in edges)])
    triangles = Delaunay(cloud).simplices.astype(np.int64)
    corners = cloud[triangles].mean(1)
    velocity = np.conj(1 - (radius / ((cloud - center) @ np.array([1, 1j]))) ** 2)
    return Mesh(
        cloud,
        (("triangle", triangles[np.linalg.norm(corners - center, axis=1) > radius]),),
        {"velocity": np.stack([velocity.real, velocity.imag], 1)},
    )


def flows(folder: Path) -> Problem:
    """Three quarters of the pool are variants of one design; tests are anywhere."""
    low, high = np.array([0.3, 0.3, 0.1]), np.array([0.7, 0.7, 0.25])
    random = np.random.default_rng(0)
    for number in range(160):
        share = random.random(3)
        if number < 120 and number % 4:
            share = 0.3 + 0.1 * share
        row = low + (high - low) * share
        name = f"{'pool' if number < 120 else 'test'}_{number:04d}.vtu"
        write_mesh(folder / name, flow(random, row[:2], row[2]))
    return Problem(sorted(folder.glob("pool_*")), sorted(folder.glob("test_*")), "[]", ("velocity",))


def plates(folder: Path) -> Problem:
    """Pool and tests are drawn in the same way."""
    options = ("--samples=160", "--size=0.5", "--processes=1", "--quiet", f"--output={folder}")
    run_python(["datasets/plates/generate.py", *options], "coarse plates")
    files = sorted(folder.glob("plate_*"))
    return Problem(files[:120], files[120:], '["traction", "thickness", "clamped"]', ("displacement", "von_mises"))


def load_steps(folder: Path) -> Problem:
    """Three quarters of the pool are three of the plates under thirty loads each; tests are other plates."""
    problem = plates(folder)
    pool = problem.pool[:30]
    for file in problem.pool[30:33]:
        mesh = read_mesh(file)
        for step, factor in enumerate(np.linspace(0.5, 1.5, 30)):
            # the stress of a linear solid grows with the load
            scaled = {name: values * (1 if name == "clamped" else factor) for name, values in mesh.point_data.items()}
            loaded = replace(mesh, point_data=scaled)
            loaded = loaded.with_field_data("traction", mesh.field_data["traction"] * factor, "replace")
            pool.append(folder / f"{file.stem}_load_{step:02d}.vtu")
            write_mesh(pool[-1], loaded)
    return problem._replace(pool=pool)


PROBLEMS: dict[str, Callable[[Path], Problem]] = {"flows": flows, "plates": plates, "load_steps": load_steps}


def train(problem: Problem, known: Sequence[Path], folder: Path, seed: int) -> Ensemble:
    """An ensemble, trained in the same number of steps whatever the number of files."""
    files, members = [*known, problem.test[0]], []  # a configuration has a test file
    for member in range(MEMBERS):
        config = load_config(
            "configs/meshes.toml",
            [
                *SETTINGS,
                f"data.meshes.files={[str(file) for file in files]}".replace("'", '"'),
                f'data.meshes.test=["{problem.test[0]}"]',
                f'data.meshes.cache="{folder.parent / "cache"}"',
                f"data.meshes.inputs={problem.inputs}",
                f"data.meshes.targets={list(problem.targets)}".replace("'", '"'),
                f"training.epochs={round(STEPS / -(-len(known) // 4))}",
                f"training.seed={100 * seed + member}",
            ],
        )
        config = config.with_data(config.data.options.resolved(False))
        data = read_data(config, False)
        members.append(load(fit(new_module(config, data), data.samples, data.held_out, folder / str(member))))
    return Ensemble(members)


def errors(ensemble: Ensemble, problem: Problem) -> dict[str, float]:
    """Root mean square errors of the tests by the standard deviation of their truth, mean over targets."""
    meshes = [read_mesh(file) for file in problem.test]
    found = [ensemble.predict_mesh(mesh) for mesh in meshes]
    pooled, worst = [], []
    for target in problem.targets:
        deviation = np.concatenate([mesh.point_data[target] for mesh in meshes]).std(0).mean()
        squares = [np.square(mesh.point_data[f"{target}_error"] / deviation) for mesh in found]
        pooled.append(np.sqrt(np.concatenate(squares).mean()))
        worst.append(np.quantile([np.sqrt(square.mean()) for square in squares], 0.9))
    return {"pooled": float(np.mean(pooled)), "worst_tenth": float(np.mean(worst))}


def next_files(way: str, ensemble: Ensemble, problem: Problem, known: Sequence[Path], seed: int) -> list[Path]:
    """The next batch: chosen, chosen by distance alone, or drawn."""
    left = [file for file in problem.pool if file not in known]
    if way == "random":
        return [left[place] for place in np.random.default_rng([seed, len(known)]).permutation(len(left))[:BATCH]]
    model = ensemble if way == "chosen" else ensemble.members[0]
    return [Path(own.name) for own in choose(model, left, BATCH, training=known)]


def main() -> None:
    """Run the study, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", nargs="+", choices=list(PROBLEMS), default=list(PROBLEMS))
    parser.add_argument("--seeds", type=int, default=3, help="how many, from 0 on (default: 3)")
    parser.add_argument("--ways", nargs="+", default=["random", "distance", "chosen"])
    parser.add_argument("--output", type=Path, default=Path("runs/choosing"), metavar="DIR", help="a new folder")
    options = parser.parse_args()
    if options.output.exists():
        parser.error(f"Expected a new folder (got {options.output}); give another --output")
    logging.getLogger("pitgeo").setLevel(logging.ERROR)  # it tells of every mesh outside of the training set
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)  # as in training
    start, result = time.perf_counter(), dict[str, Any](origin(), seeds=options.seeds, errors={})
    for name in options.problems:
        folder = options.output / name
        problem, found = PROBLEMS[name](folder / "files"), {way: list[dict[str, Any]]() for way in options.ways}
        result["errors"][name] = found
        for seed in tqdm(range(options.seeds), desc=name, unit="seed"):
            places = np.random.default_rng(seed).permutation(len(problem.pool))[:START]
            first = [problem.pool[place] for place in places]
            begun = train(problem, first, folder / f"start_{seed}", seed)
            for way in options.ways:
                ensemble, known = begun, list(first)
                for step in range(ROUNDS + 1):
                    if step:
                        known += next_files(way, ensemble, problem, known, seed)
                        ensemble = train(problem, known, folder / f"{way}_{seed}_{len(known)}", seed)
                    own = errors(ensemble, problem)
                    found[way].append(
                        {"seed": seed, "files": len(known), **own, "known": [file.name for file in known]}
                    )
            write_json(options.output / "choosing.json", result | {"seconds": time.perf_counter() - start})
    sys.stdout.write("\n".join(table(result["errors"])) + "\n")


def table(found: dict[str, dict[str, list[dict[str, Any]]]]) -> list[str]:
    """Mean and standard deviation over the seeds, by the number of files; a line for each problem, measure and way."""
    lines = []
    for name, ways in found.items():
        for measure in ("pooled", "worst_tenth"):
            for way, rows in ways.items():
                counts = sorted({row["files"] for row in rows})
                columns = [[row[measure] for row in rows if row["files"] == number] for number in counts]
                cells = [f"{np.mean(column):.3f} ± {np.std(column, ddof=1):.3f}" for column in columns]
                lines.append(f"| {name} | {measure} | {way} | {' | '.join(cells)} |")
    return lines


if __name__ == "__main__":
    main()
