"""Generate data like those of the ShockTube benchmark: ``python datasets/shock_tube/generate.py --help``."""

from __future__ import annotations

from pathlib import Path

import shock_tube_samples as shock_tube

from pitgeo.datasets.generators import run_script, script_parser

if __name__ == "__main__":
    parser = script_parser("ShockTube", Path(__file__).parent, 1280)
    run_script(parser, shock_tube.generate, shock_tube.picture)
