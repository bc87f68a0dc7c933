"""Generate data like those of the Elasticity benchmark: ``python datasets/elasticity/generate.py --help``."""

from __future__ import annotations

from pathlib import Path

import elasticity_samples as elasticity

from pitgeo.datasets.generators import run_script, script_parser

if __name__ == "__main__":
    parser = script_parser("Elasticity", Path(__file__).parent, 2000)
    run_script(parser, elasticity.generate, elasticity.picture)
