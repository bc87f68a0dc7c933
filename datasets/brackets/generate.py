"""Generate brackets, a VTU file a sample: ``python datasets/brackets/generate.py --help``."""

from __future__ import annotations

import functools
import logging
from pathlib import Path
from typing import Any

from pitgeo.geometry.filled import NO_LIBRARIES

try:
    import brackets_samples as brackets
    from brackets_accuracy import print_accuracy
    from brackets_mesh import SIZE
except OSError as error:
    raise SystemExit(NO_LIBRARIES.format(error)) from error

from pitgeo.datasets.generators import run_script, script_parser
from pitgeo.evaluation.plots.bent import bent_solids


def generate_or_compare(output: Path, accuracy: int | None, **options: Any) -> None:
    """Print errors if so many samples are to be compared with finer meshes, else write the files."""
    if accuracy is None:
        brackets.generate(output, **options)
    else:
        print_accuracy(accuracy, options["seed"], options["size"], options["progress"])


if __name__ == "__main__":
    parser = script_parser("Brackets", Path(__file__).parent, 1000)
    parser.description = "Generate brackets held by bolts under load, a VTU file a sample."
    parser.add_argument("--size", type=float, default=SIZE, help=f"longest edge in mm (default: {SIZE})")
    parser.add_argument(
        "--accuracy", type=int, metavar="N", help="write nothing; print errors of N samples against finer meshes"
    )
    logging.getLogger("skfem").setLevel(logging.WARNING)  # it tells of every matrix
    run_script(parser, generate_or_compare, functools.partial(bent_solids, "bracket"))
