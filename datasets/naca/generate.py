"""Generate data like those of the NACA benchmark: ``python datasets/naca/generate.py --help``."""

from __future__ import annotations

from pathlib import Path

import naca_samples as naca

from pitgeo.datasets.generators import run_script, script_parser

if __name__ == "__main__":
    run_script(script_parser("NACA", Path(__file__).parent, 1200), naca.generate, naca.picture)
