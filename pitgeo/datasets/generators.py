"""Solvers that make raw files. They lie in the folder of their data set, ``datasets/<name>/``, not in the package."""

from __future__ import annotations

import importlib
import sys
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
