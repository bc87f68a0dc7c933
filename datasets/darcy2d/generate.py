"""Generate data like those of Darcy2D: ``python datasets/darcy2d/generate.py --help``."""

from __future__ import annotations

import argparse
import logging
from pathlib import Path

from pitgeo.generators import darcy2d


def main() -> None:
    """Read the command line, generate, and draw."""
    parser = argparse.ArgumentParser(description="Generate data like those of the Darcy2D benchmark.")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "raw", help="folder (default: raw/)")
    parser.add_argument("--samples", type=int, default=1024, help="how many to train on (default: 1024)")
    parser.add_argument("--test-samples", type=int, default=128, help="how many to test on (default: 128)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the coefficients (default: 0)")
    parser.add_argument("--processes", type=int, help="processes (default: one a core)")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    parser.add_argument("--picture", type=Path, metavar="PNG", help="also draw the first samples")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    try:
        darcy2d.generate(
            arguments.output,
            arguments.samples,
            arguments.seed,
            arguments.processes,
            not arguments.quiet,
            arguments.test_samples,
        )
        if arguments.picture:
            darcy2d.picture(arguments.output, arguments.picture)
    except (ValueError, ArithmeticError, OSError) as error:
        parser.exit(1, f"{parser.prog}: {error}\n")
    except KeyboardInterrupt:
        parser.exit(130, f"{parser.prog}: interrupted; run it again to go on\n")


if __name__ == "__main__":
    main()
