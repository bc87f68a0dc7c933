#!/usr/bin/env python
"""How often a mesh is said to be outside the training set, of meshes that are not and of meshes that are.

Three kinds of meshes: squares with a void (datasets/elasticity), clouds of triangles with a field, plates in 3D
(datasets/plates, generated first by 'python datasets/plates/generate.py --size 0.5 --samples 160 --output FOLDER').
Nothing is trained: what a checkpoint says of its training set is all that is compared. Each number is the mean over
random draws of the training set; 'held out' are meshes drawn as the training meshes.

With --coverage, how often the bounds of trained models hold: a random half of a run's test samples calibrates them, the
shares within are of the other half, and each number is the mean over random draws of the halves.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.spatial import Delaunay

sys.path.insert(0, str(Path(__file__).parents[1] / "datasets" / "elasticity"))

import elasticity_mesh

from pitgeo.data.fields import FieldTable, MeshField
from pitgeo.data.fields.mesh_case import MeshCase
from pitgeo.data.fields.mesh_sizes import MeshSizes
from pitgeo.evaluation.scores import predict_samples
from pitgeo.evaluation.trust import add_samples
from pitgeo.mesh import Mesh, read_mesh
from pitgeo.prediction.bounds import LEVELS
from pitgeo.prediction.mesh_doubts import MeshDoubts, training_descriptors
from pitgeo.prediction.predictor import load

LOADS = {"void": {"load": 1}, "triangles": {"load": 1}, "plates": {"traction": 3}}


def void(random: np.random.Generator, family: str) -> Mesh:
    """A square with a void; of another family, one with six lobes."""
    theta, lobes, turn = random.standard_normal(10), random.uniform(0.15, 0.35), random.uniform(0, np.pi)
    radius = {
        "": lambda angle: elasticity_mesh.void_radius(theta, angle),
        "other": lambda angle: random.uniform(0.2, 0.3) * (1 + lobes * np.cos(6 * (angle - turn))),
    }[family]
    nodes = elasticity_mesh.mesh_nodes(radius)
    return Mesh(nodes, (("quad9", elasticity_mesh.mesh_elements()),), field_data={"load": random.uniform(1, 10, 1)})


def triangles(random: np.random.Generator, family: str) -> Mesh:
    """A triangulated ellipse of random axes with a wave as input; of another family, a rectangle."""
    axes, count = random.uniform(0.5, 1.0, 2), random.integers(150, 300)
    points = random.uniform(-1, 1, (4 * count, 2))
    points = points[np.linalg.norm(points, axis=1) < 1] if not family else points
    points = points[:count] * axes
    wave, amplitude = random.uniform(1, 3, 2), random.uniform(0.5, 2)
    field = amplitude * np.sin(points @ wave)
    cells = (("triangle", Delaunay(points).simplices.astype(np.int64)),)
    return Mesh(points, cells, {"source": field}, {}, {"load": random.uniform(1, 10, 1)})


def bent(mesh: Mesh) -> Mesh:
    """A plate, bent in its plane round a quarter of a circle of the same length."""
    angle, radius = mesh.points[:, 0] * np.pi / 4, 4 / np.pi
    arm = radius - 0.5 + mesh.points[:, 1]
    return replace(mesh, points=np.stack([arm * np.sin(angle), arm * np.cos(angle), mesh.points[:, 2]], 1))


def tapered(mesh: Mesh) -> Mesh:
    """A plate whose free end is half as wide."""
    points = mesh.points.copy()
    points[:, 1] = 0.5 + (points[:, 1] - 0.5) * (1 - points[:, 0] / 4)
    return replace(mesh, points=points)


class Cases(list[MeshCase]):
    """What a data set says of its samples."""

    def case(self, number: int) -> MeshCase:
        return self[number]


def doubts_of(table: FieldTable, cases: Sequence[MeshCase]) -> MeshDoubts:
    """What a checkpoint knows that was trained on these."""
    low, high = np.min([case.low for case in cases], 0), np.max([case.high for case in cases], 0)
    ends = [[case.sizes[name] for case in cases] for name in ("extent", "spacing")]
    sizes = MeshSizes(*((min(own), max(own)) for own in ends))
    facts = {
        "ranges": list(zip(low.tolist(), high.tolist(), strict=True)),
        "meshes": sizes.plain(),
        "descriptors": training_descriptors(Cases(cases)),
    }
    return MeshDoubts(table, facts)


def loaded(mesh: Mesh, highest: dict[str, np.ndarray]) -> Mesh:
    """A mesh whose loads, one component of them if there are several, are 1.5 times beyond the training range."""
    for name, most in highest.items():
        values = np.array(mesh.field_data[name], np.float64)
        place = int(abs(values / most).argmax())
        values[place] = 1.5 * most[place]
        mesh = mesh.with_field_data(name, values, "replace")
    return mesh


def scaled(mesh: Mesh) -> Mesh:
    return replace(mesh, points=2 * mesh.points)


def measure(
    name: str, table: FieldTable, own: Sequence[Mesh], others: dict[str, Sequence[Mesh]], train: int, draws: int
) -> None:
    """Print the shares of one kind of meshes."""
    highest = {load: np.max([np.abs(mesh.field_data[load]) for mesh in own], 0) for load in LOADS[name]}
    changes: dict[str, Callable[[Mesh], Mesh]] = {"load x 1.5": lambda mesh: loaded(mesh, highest), "size x 2": scaled}

    def case(mesh: Mesh) -> MeshCase:
        return MeshCase.of(table, mesh, table.read(mesh))

    cases = [case(mesh) for mesh in own]
    changed = {change: [case(apply(mesh)) for mesh in own] for change, apply in changes.items()}
    different = {family: [case(mesh) for mesh in meshes] for family, meshes in others.items()}
    counts: dict[str, Counter[str]] = {}
    for draw in range(draws):
        order = np.random.default_rng(draw).permutation(len(own))
        doubts = doubts_of(table, [cases[number] for number in order[:train]])
        rest = order[train:]
        groups = {"held out": [cases[number] for number in rest]}
        groups |= {change: [entries[number] for number in rest] for change, entries in changed.items()}
        for group, entries in {**groups, **different}.items():
            counts.setdefault(group, Counter()).update(doubts.trust(entry).status for entry in entries)
    for group, found in counts.items():
        total = sum(found.values())
        shares = "  ".join(f"{found[status] / total:7.1%}" for status in ("inside", "edge", "outside"))
        print(f"{name:10} {train:5d}  {group:22} {total:6d}  {shares}", flush=True)


def coverage(checkpoint: Path, draws: int) -> None:
    """Print the shares within bounds for every target channel, every peak and every level."""
    predictor = load(checkpoint)
    samples = predictor.data_options.split_samples("test", True)
    predictions = predict_samples(predictor, samples, predictor.config.training.batch_size, True)
    scores = add_samples(predictor.scores(), samples, predictions)
    print(f"{checkpoint}: {len(samples)} test samples, {draws} draws")
    shares: dict[str, list[list[float | None]]] = {}
    for draw in range(draws):
        first, second = predictor.scores(), predictor.scores()
        for label, own in scores.rows.items():
            order = np.random.default_rng(draw).permutation(len(own))
            first.rows[label] = [own[number] for number in order[: len(own) // 2]]
            second.rows[label] = [own[number] for number in order[len(own) // 2 :]]
        for label, found in second.coverage(first.bounds("half of the test samples")).items():
            shares.setdefault(label, []).append(found)
    for label, rows in shares.items():
        means = np.array(rows, np.float64).mean(0)  # not a number where there are too few samples
        print(f"{label:30}", "  ".join(f"{share:7.1%}" for share in means), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plates", type=Path, help="folder of generated plates (default: none of them)")
    parser.add_argument("--train", type=int, nargs="+", default=[20, 50, 100], help="numbers of training meshes")
    parser.add_argument("--draws", type=int, default=20, help="random draws of the training set (default: 20)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--coverage", type=Path, nargs="+", metavar="CHECKPOINT", help="measure their bounds instead")
    arguments = parser.parse_args()
    if arguments.coverage:
        print(f"{'levels':30}", "  ".join(f"{level:6}%" for level in LEVELS))
        for checkpoint in arguments.coverage:
            coverage(checkpoint, arguments.draws)
        sys.exit()
    random = np.random.default_rng(arguments.seed)
    targets, distance = (MeshField("u"),), MeshField("boundary_distance", is_geometry=True)
    number = MeshField("load", place="mesh")
    works = {
        "void": (FieldTable((number, distance), targets, 2), void, {"six lobes": "other"}),
        "triangles": (
            FieldTable((MeshField("source"), number, distance), targets, 2),
            triangles,
            {"rectangles": "other"},
        ),
    }
    print(f"{'meshes':10} train  {'asked of':22}  cases   inside     edge  outside")
    for name, (table, make, families) in works.items():
        own = [make(random, "") for _ in range(200)]
        others = {family: [make(random, key) for _ in range(60)] for family, key in families.items()}
        for train in arguments.train:
            measure(name, table, own, others, train, arguments.draws)
    if arguments.plates:
        inputs = (
            MeshField("traction", 3, "mesh"),
            MeshField("thickness", place="mesh"),
            MeshField("clamped"),
            distance,
        )
        own = [read_mesh(path) for path in sorted(arguments.plates.glob("plate_*.vtu"))]
        others = {"bent": [bent(mesh) for mesh in own[:60]], "tapered": [tapered(mesh) for mesh in own[:60]]}
        for train in arguments.train:
            measure("plates", FieldTable(inputs, targets, 3), own, others, train, arguments.draws)
