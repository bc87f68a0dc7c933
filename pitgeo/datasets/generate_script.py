"""The command line that every ``datasets/<name>/generate.py`` has."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Callable
from pathlib import Path


def script_parser(name: str, folder: Path, samples: int) -> argparse.ArgumentParser:
    """The options of all generators: output, samples, seed, processes, quiet and picture.

    Args:
        name: The benchmark's name.
        folder: Folder of the script; files go to ``raw/`` in it.
        samples: Default number of samples.
    """
    parser = argparse.ArgumentParser(description=f"Generate data like those of the {name} benchmark.")
    parser.add_argument("--output", type=Path, default=folder / "raw", help="folder (default: raw/)")
    parser.add_argument("--samples", type=int, default=samples, help=f"how many (default: {samples})")
    parser.add_argument("--seed", type=int, default=0, help="seed of all samples (default: 0)")
    parser.add_argument("--processes", type=int, help="processes (default: one a core)")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    parser.add_argument("--picture", type=Path, metavar="PNG", help="also draw the first samples")
    return parser


def run_script(
    parser: argparse.ArgumentParser, generate: Callable[..., None], picture: Callable[[Path, Path], Path]
) -> None:
    """Read the command line, generate, and draw; exit with one line on a mistake.

    Args:
        parser: What :func:`script_parser` gave, perhaps with options that ``generate`` has as keywords.
        generate: The generator's ``generate``.
        picture: The generator's ``picture``.
    """
    options = vars(parser.parse_args())
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    output, drawing = options.pop("output"), options.pop("picture")
    try:
        generate(output, progress=not options.pop("quiet"), **options)
        if drawing:
            picture(output, drawing)
    except (ValueError, ArithmeticError, OSError) as error:
        parser.exit(1, f"{parser.prog}: {error}\n")
    except KeyboardInterrupt:
        parser.exit(130, f"{parser.prog}: interrupted; run it again to go on\n")
