"""Generate data like those of the Vorticity benchmark: ``python datasets/vorticity/generate.py --help``."""

from __future__ import annotations

from pathlib import Path

import vorticity_samples as vorticity

from pitgeo.datasets.generators import run_script, script_parser

if __name__ == "__main__":
    parser = script_parser("Vorticity", Path(__file__).parent, 1200)
    parser.add_argument("--viscosity", type=float, default=1e-4, help="kinematic viscosity (default: 1e-4)")
    parser.add_argument(
        "--amplitude",
        choices=("current", "older", "covariance"),
        default="current",
        help="of the random start: current (rms 0.185, default), older (0.262) or covariance (0.043)",
    )
    parser.add_argument("--step", type=float, default=0.01, help="time step, 1 over a whole number (default: 0.01)")
    run_script(parser, vorticity.generate, vorticity.picture)
