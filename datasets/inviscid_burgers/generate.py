"""Generate data like those of InviscidBurgers: ``python datasets/inviscid_burgers/generate.py --help``."""

from __future__ import annotations

from pathlib import Path

import inviscid_burgers_samples as inviscid_burgers

from pitgeo.datasets.generators import run_script, script_parser

if __name__ == "__main__":
    parser = script_parser("InviscidBurgers", Path(__file__).parent, 1152)
    parser.add_argument("--length", type=float, default=0.06, help="length scale of the starts (default: 0.06)")
    parser.add_argument(
        "--boundary",
        choices=("periodic", "constant"),
        default="periodic",
        help="constant: the start goes on with its values at the ends (default: periodic)",
    )
    run_script(parser, inviscid_burgers.generate, inviscid_burgers.picture)
