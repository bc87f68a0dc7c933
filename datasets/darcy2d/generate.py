"""Generate data like those of the Darcy2D benchmark: ``python datasets/darcy2d/generate.py --help``."""

from __future__ import annotations

from pathlib import Path

import darcy2d_samples as darcy2d

from pitgeo.datasets.generators import run_script, script_parser

if __name__ == "__main__":
    parser = script_parser("Darcy2D", Path(__file__).parent, 1024)
    parser.add_argument("--test-samples", type=int, default=128, help="how many to test on (default: 128)")
    run_script(parser, darcy2d.generate, darcy2d.picture)
