"""Generate data like those of InviscidBurgers: ``python datasets/inviscid_burgers/generate.py --help``."""

from __future__ import annotations

import argparse
import logging
from pathlib import Path

from pitgeo.generators import inviscid_burgers


def main() -> None:
    """Read the command line, generate, and draw."""
    parser = argparse.ArgumentParser(description="Generate data like those of the InviscidBurgers benchmark.")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "raw", help="folder (default: raw/)")
    parser.add_argument("--samples", type=int, default=1152, help="how many (default: 1152)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the starts (default: 0)")
    parser.add_argument("--processes", type=int, help="processes (default: one a core)")
    parser.add_argument("--length", type=float, default=0.06, help="length scale of the starts (default: 0.06)")
    parser.add_argument(
        "--boundary",
        choices=("periodic", "constant"),
        default="periodic",
        help="constant: the start goes on with its values at the ends (default: periodic)",
    )
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    parser.add_argument("--picture", type=Path, metavar="PNG", help="also draw the first samples")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    try:
        inviscid_burgers.generate(
            arguments.output,
            arguments.samples,
            arguments.seed,
            arguments.processes,
            not arguments.quiet,
            arguments.length,
            arguments.boundary,
        )
        if arguments.picture:
            inviscid_burgers.picture(arguments.output, arguments.picture)
    except (ValueError, OSError) as error:
        parser.exit(1, f"{parser.prog}: {error}\n")
    except KeyboardInterrupt:
        parser.exit(130, f"{parser.prog}: interrupted; run it again to go on\n")


if __name__ == "__main__":
    main()
