"""From a surrogate to a decision: the lightest plate whose stress stays under a limit.

A steel plate of 2 x 1 m with an elliptic hole is clamped at one end and pulled at the other by a given force. Some
plates are solved, a surrogate learns their stress and predicts many more designs, and the lightest of those that it
says to be safe are solved again:

    python examples/lightest_plate.py --output runs/lightest_plate
"""

from __future__ import annotations

import argparse
import csv
import logging
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from tqdm import tqdm

sys.path.insert(0, str(Path(__file__).parents[1] / "datasets" / "plates"))

from plates_mesh import LENGTH, WIDTH, Hole, plane_mesh, solid_points, solid_tetrahedra
from plates_samples import Plate, solve
from plates_solver import PlateSpace

from pitgeo import train_surrogate
from pitgeo.evaluation.plots.style import BLUE, GREY, new_figure, save, tidy
from pitgeo.mesh import Mesh
from pitgeo.prediction.predictor import Predictor
from pitgeo.workflows.designs import Varied, latin_hypercube

FORCE = 4e6  # N along x, on the whole loaded face
STEEL = 7850.0  # kg/m^3
DESIGN = (
    Varied.parse("thickness=0.1:0.2"),
    Varied.parse("along=0.1:0.4"),  # semi-axes of the hole
    Varied.parse("across=0.1:0.35"),
    Varied.parse("place=0.6:1.4"),  # of its center, along the plate
)
SETTINGS = (
    "model.pit.channels=48",
    "model.pit.latent.number=128",
    "training.optimizer='muon'",
    "training.learning_rate=1e-2",
    "training.schedule='one_cycle'",
    "training.clip=1.0",
    "training.batch_size=2",
)


def plate_of(design: Mapping[str, float]) -> Plate:
    """The plate of a design and its load."""
    traction = np.array([FORCE / (WIDTH * design["thickness"]), 0.0, 0.0])
    hole = Hole((design["place"], WIDTH / 2), (design["along"], design["across"]))
    return Plate(design["thickness"], traction, (hole,))


def mesh_of(plate: Plate, size: float) -> Mesh:
    """The mesh of a plate with its load, not solved."""
    space = PlateSpace(plane_mesh(plate.holes, size), plate.thickness, 1)
    points = solid_points(space.plane_points, space.height)
    return with_load(Mesh(points, (("tetra", solid_tetrahedra(points, space.triangles)),)), plate)


def with_load(mesh: Mesh, plate: Plate) -> Mesh:
    """The mesh with what a surrogate takes."""
    return mesh.with_field_data("traction", plate.traction[:1]).with_field_data(
        "thickness", np.array([plate.thickness])
    )


def solved(plate: Plate, size: float) -> Mesh:
    """The mesh of a plate with its stress, and the peak of it away from the clamp, both in MPa."""
    sample = solve(plate, size)
    mesh = Mesh(sample.points, (("tetra", sample.cells),), point_data={"stress": sample.von_mises / 1e6})
    return with_load(mesh, plate).with_field_data("peak_stress", np.array([sample.peak_stress / 1e6]))


def designs(number: int, seed: int) -> list[dict[str, float]]:
    """Designs that fill the box of :data:`DESIGN` evenly."""
    columns = latin_hypercube(DESIGN, number, seed)
    return [{name: float(column[row]) for name, column in columns.items()} for row in range(number)]


def surrogate(files: int, epochs: int, size: float, seed: int, output: Path) -> Predictor:
    """Solve some plates, and train on them."""
    meshes = [solved(plate_of(design), size) for design in tqdm(designs(files, seed), desc="solve", unit="plate")]
    settings = [*SETTINGS, f"training.epochs={epochs}", f"training.seed={seed}"]
    return train_surrogate(meshes, ["stress", "peak_stress"], output / "surrogate", ["traction", "thickness"], settings)


def main(argv: Sequence[str] | None = None) -> None:
    """Run the whole story; print the table, and write ``designs.csv``, ``confirmed.csv`` and a picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, required=True, help="folder, new or empty")
    parser.add_argument("--files", type=int, default=150, help="plates that are solved for training (150)")
    parser.add_argument("--designs", type=int, default=500, help="designs that are predicted (500)")
    parser.add_argument("--confirm", type=int, default=5, help="how many of the lightest are solved again (5)")
    parser.add_argument("--limit", type=float, default=100.0, help="largest von Mises stress in MPa (100)")
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--size", type=float, default=0.2, help="length of the elements' edges in m (0.2)")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(argv)
    logging.getLogger("pitgeo").setLevel(logging.WARNING)
    model = surrogate(given.files, given.epochs, given.size, given.seed, given.output)

    start, rows = time.perf_counter(), []
    for design in tqdm(designs(given.designs, given.seed + 1), desc="predict", unit="design"):
        found = model.predict_mesh(mesh_of(plate_of(design), given.size)).field_data
        bound = float(found["peak_stress_bound"][0]) if "peak_stress_bound" in found else 0.0
        mass = STEEL * design["thickness"] * (LENGTH * WIDTH - np.pi * design["along"] * design["across"])
        rows.append({**design, "mass": mass, "predicted": float(found["peak_stress_prediction"][0]), "bound": bound})
    rate = len(rows) / (time.perf_counter() - start)

    safe = sorted((row for row in rows if row["predicted"] + row["bound"] <= given.limit), key=lambda row: row["mass"])
    for row in tqdm(safe[: given.confirm], desc="confirm", unit="plate"):
        row["true"] = float(solved(plate_of(row), given.size).field_data["peak_stress"][0])
    write_table(given.output / "designs.csv", rows)
    write_table(given.output / "confirmed.csv", safe[: given.confirm])
    draw(rows, safe[: given.confirm], given.limit, given.output / "lightest_plate.png")
    print(f"{len(rows)} designs, {rate:.1f} a second with their meshes; {len(safe)} stay under {given.limit:g} MPa")
    for row in safe[: given.confirm]:
        numbers = f"predicted {row['predicted']:.1f} +- {row['bound']:.1f} MPa, solved {row['true']:.1f}"
        print(f"{row['mass']:.0f} kg: {numbers} ({'holds' if row['true'] <= given.limit else 'does not hold'})")
    if not safe:
        print("none: raise --limit, or --files for smaller bounds")


def write_table(path: Path, rows: Sequence[Mapping[str, float]]) -> None:
    """Write rows to a CSV file."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(dict.fromkeys(name for row in rows for name in row)))
        writer.writeheader()
        writer.writerows(rows)


def draw(rows: Sequence[Mapping[str, float]], chosen: Sequence[Mapping[str, float]], limit: float, path: Path) -> None:
    """Mass and predicted peak stress of all designs, and of the chosen ones the solved stress."""
    figure = new_figure(6.0, 4.0)
    ax = figure.subplots()
    ax.errorbar(
        [row["mass"] for row in rows],
        [row["predicted"] for row in rows],
        [row["bound"] for row in rows],
        fmt="o",
        color=BLUE,
        ecolor="#d5dfe8",
        markersize=3,
        label="predicted, with its bound",
    )
    ax.plot([row["mass"] for row in chosen], [row["true"] for row in chosen], "r*", markersize=9, label="solved")
    ax.axhline(limit, color=GREY, linestyle=":", label="limit")
    ax.set_xlabel("mass, kg")
    ax.set_ylabel("peak stress, MPa")
    ax.legend(frameon=False)
    tidy(ax)
    save(figure, path)


if __name__ == "__main__":
    main()
