"""Generate plates with holes, a VTU file a sample: ``python datasets/plates/generate.py --help``."""

from __future__ import annotations

import functools
import logging
from pathlib import Path

import plates_samples as plates

from pitgeo.datasets.generators import run_script, script_parser
from pitgeo.evaluation.plots.bent import bent_solids

if __name__ == "__main__":
    parser = script_parser("Plates", Path(__file__).parent, 120)
    parser.description = "Generate clamped plates with holes under load, a VTU file a sample."
    parser.add_argument("--size", type=float, default=plates.SIZE, help=f"edge length in m (default: {plates.SIZE})")
    logging.getLogger("skfem").setLevel(logging.WARNING)  # it tells of every matrix
    run_script(parser, plates.generate, functools.partial(bent_solids, "plate"))
