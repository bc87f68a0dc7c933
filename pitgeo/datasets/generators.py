"""How the solvers in ``datasets/<name>/`` are run to make raw files, and the command line that all of them have."""

from __future__ import annotations

import argparse
import importlib
import logging
import sys
from collections.abc import Callable, Sequence
from pathlib import Path


def run_generator(name: str, raw: Path, progress: bool, **numbers: int) -> None:
    """Make the raw files of a data set, as ``python datasets/<name>/generate.py`` does.

    Args:
        name: The data set; its folder holds ``<name>_samples.py`` with a function ``generate``.
        raw: Where the files go.
        progress: Whether to show a progress bar.
        numbers: How many samples to make, as the generator's arguments.

    Raises:
        FileNotFoundError: If the generator is not there, as where pitgeo alone is installed.
    """
    module = f"{name}_samples"
    folders = [Path(__file__).parents[2] / "datasets" / name, Path("datasets", name).absolute()]
    folder = next((folder for folder in folders if (folder / f"{module}.py").is_file()), None)
    if folder is None:
        raise FileNotFoundError(
            f"Expected the raw files of the data set {name!r} in {raw} (got none), and the generator that makes "
            f"them is not here: put the original files there, or get pitgeo's repository and run 'python "
            f"datasets/{name}/generate.py --output {raw}' in it"
        )
    sys.path.insert(0, str(folder))  # processes that share the work look there too
    try:
        importlib.import_module(module).generate(raw, progress=progress, **numbers)
    finally:
        sys.path.remove(str(folder))


def check_drawable(directory: Path, names: Sequence[str], samples: int) -> None:
    """Refuse to draw samples that are not there.

    Args:
        directory: Folder with the files.
        names: The files that a picture needs.
        samples: How many samples to draw.

    Raises:
        ValueError: If ``samples`` is not positive.
        FileNotFoundError: If a file is missing.
    """
    if samples < 1:
        raise ValueError(f"Expected 'samples' to be at least 1 (got {samples})")
    for name in names:
        if not (directory / name).exists():
            raise FileNotFoundError(f"Expected {name} in {directory} (got none); generate the data first")


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
