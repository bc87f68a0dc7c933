"""Generate data like those of the Vorticity benchmark: ``python datasets/vorticity/generate.py --help``."""

from __future__ import annotations

import argparse
import logging
from pathlib import Path
from typing import get_args

from pitgeo.generators import vorticity


def main() -> None:
    """Read the command line, generate, and draw."""
    parser = argparse.ArgumentParser(description="Generate data like those of the Vorticity benchmark.")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "raw", help="folder (default: raw/)")
    parser.add_argument("--samples", type=int, default=1200, help="how many (default: 1200)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the random starts (default: 0)")
    parser.add_argument("--processes", type=int, help="processes (default: one a core)")
    parser.add_argument("--viscosity", type=float, default=1e-4, help="kinematic viscosity (default: 1e-4)")
    parser.add_argument(
        "--amplitude",
        choices=get_args(vorticity.Amplitude),
        default="current",
        help="of the random start: current (rms 0.185, default), older (0.262) or covariance (0.043)",
    )
    parser.add_argument("--step", type=float, default=0.01, help="time step, 1 over a whole number (default: 0.01)")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    parser.add_argument("--picture", type=Path, metavar="PNG", help="also draw the first samples")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    try:
        vorticity.generate(
            arguments.output,
            arguments.samples,
            arguments.seed,
            arguments.processes,
            not arguments.quiet,
            arguments.viscosity,
            arguments.amplitude,
            arguments.step,
        )
        if arguments.picture:
            vorticity.picture(arguments.output, arguments.picture)
    except (ValueError, ArithmeticError, OSError) as error:
        parser.exit(1, f"{parser.prog}: {error}\n")
    except KeyboardInterrupt:
        parser.exit(130, f"{parser.prog}: interrupted; run it again to go on\n")


if __name__ == "__main__":
    main()
