"""Generate bodies in a stream, a VTP file a sample: ``python datasets/bodies/generate.py --help``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bodies_samples as bodies
from bodies_accuracy import measure
from bodies_picture import picture

from pitgeo.datasets.generators import run_script, script_parser


def generate(output: Path, accuracy: int | None, **options: Any) -> None:
    """Generate, or say how accurate the files are."""
    if not accuracy:
        bodies.generate(output, **options)
        return
    found = measure(accuracy, options["seed"], options["size"], options["progress"])
    print("| Family | Panels | Against | Cp at points | largest | at middles | added mass |\n" + "|---" * 7 + "|")
    for reference, row in found:
        numbers = (row.points, row.largest, row.middles, row.added_mass)
        print(
            f"| {row.family} | {row.panels} | {reference} | " + " | ".join(f"{value:.5f}" for value in numbers) + " |"
        )


if __name__ == "__main__":
    parser = script_parser("Bodies", Path(__file__).parent, 1000)
    parser.description = "Generate bodies in a stream with the pressure on them, a VTP file a sample."
    parser.add_argument("--size", type=float, default=bodies.SIZE, help=f"mean edge in m (default: {bodies.SIZE})")
    parser.add_argument("--accuracy", type=int, metavar="N", help="only compare N of each family with references")
    run_script(parser, generate, picture)
