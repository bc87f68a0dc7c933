"""The Darcy2D benchmark: pressure in a square of two materials, fed everywhere and held at zero on its boundary.

Files have the names and layout of the originals of Li and others.
"""

from __future__ import annotations

import functools
import logging
from pathlib import Path
from typing import Any

import numpy as np
from darcy2d_solver import Floats, permeability, solve_darcy
from numpy.typing import NDArray
from scipy.io import loadmat

from pitgeo.datasets.generators import check_drawable
from pitgeo.datasets.resumable import check_numbers, compute, discard_parts, is_generated, parts_folder, publish

log = logging.getLogger(f"pitgeo.datasets.{__name__}")  # shown as those of the package are

VERSION = 1
METHOD = "five-point scheme, conjugate gradients with a sine-transform preconditioner to 1e-8"
SIZE = 421
TRAIN_FILE, TEST_FILE = "piececonst_r421_N1024_smooth1.mat", "piececonst_r421_N1024_smooth2.mat"
FILES = (TRAIN_FILE, TEST_FILE)
MOST = (2**31 - 1) // (4 * SIZE**2)
"""The most samples of a file: a variable of a MAT file of version 5 is below 2 GiB."""
_CHUNK = 16
_TOLERANCE = 1e-8


def draw_permeability(seed: int, number: int, part: int = 0, size: int = SIZE) -> Floats:
    """The coefficient of sample ``number`` of a file, whatever the number of samples.

    Args:
        seed: Seed of the data.
        number: Number of the sample.
        part: 0 for the training file, 1 for the test file: other samples.
        size: Points a side; another size is another field.
    """
    random = np.random.default_rng(np.random.SeedSequence((seed, part, number)))
    return permeability(random.standard_normal((size, size)))


def generate(
    output: Path,
    samples: int = 1024,
    seed: int = 0,
    processes: int | None = None,
    progress: bool = True,
    test_samples: int = 128,
) -> None:
    """Write the benchmark's two files to a folder.

    Interrupted, it goes on where it stopped when run again with the same seed. Files appear under their final names
    only once they are whole. If they are there already, with at least as many training samples and just as many test
    samples, nothing is done.

    Args:
        output: Folder to write to.
        samples: How many training samples; sample k is the same whatever the number.
        seed: Seed of the coefficients.
        processes: How many processes; 1 to work in this one, ``None`` for as many as there are cores.
        progress: Whether to show a progress bar.
        test_samples: How many test samples; the benchmark tests on the first 100 of 1024.

    Raises:
        ValueError: If a number is out of range.
        FileExistsError: If the folder holds original files, or some made with other settings.
    """
    check_numbers(samples, seed, processes, MOST)
    if not 1 <= test_samples <= MOST:
        raise ValueError(f"Expected 'test_samples' to lie in 1..{MOST} (got {test_samples})")
    output = Path(output)
    settings = {"method": METHOD, "version": VERSION, "seed": seed, "samples": samples, "test_samples": test_samples}
    parts = [{**settings, "part": part, "test_samples": 0} for part in (0, 1)]
    if is_generated(output, list(FILES), settings):
        log.info("Nothing to do: %s has at least %d samples with seed %d", output, samples, seed)
    else:
        contents: dict[str, Any] = {}
        for part, (name, count) in enumerate(((TRAIN_FILE, samples), (TEST_FILE, test_samples))):
            solver = functools.partial(_arrays, seed, part)
            contents[name] = compute(solver, count, parts_folder(output, parts[part]), _CHUNK, processes, progress)
        publish(output, contents, settings)
        log.info("Wrote %d and %d samples to %s", samples, test_samples, output)
    for made in parts:
        discard_parts(output, made)


def picture(directory: Path, output: Path, samples: int = 4) -> Path:
    """Draw coefficient and pressure of the first training samples of a folder that :func:`generate` wrote.

    Args:
        directory: Folder with the files.
        output: Picture to write.
        samples: How many.

    Raises:
        FileNotFoundError: If the file is missing.
        ValueError: If ``samples`` is not positive.
    """
    from pitgeo.evaluation.plots.style import new_figure, save  # solvers in other processes need no pictures

    check_drawable(Path(directory), [TRAIN_FILE], samples)
    raw = loadmat(Path(directory) / TRAIN_FILE, variable_names=["coeff", "sol"])
    count = min(samples, len(raw["sol"]))
    figure = new_figure(2.6 * count + 0.8, 5.0)
    axes = figure.subplots(2, count, squeeze=False)
    for row, (name, label, colors) in enumerate((("coeff", "permeability", "cividis"), ("sol", "pressure", "viridis"))):
        limits = float(raw[name][:count].min()), float(raw[name][:count].max())
        for number in range(count):
            axis = axes[row, number]
            image = axis.imshow(raw[name][number].T, origin="lower", extent=(0, 1, 0, 1), cmap=colors)
            image.set_clim(*limits)
            axis.set_axis_off()
            if row == 0:
                axis.set_title(f"sample {number}")
        figure.colorbar(image, ax=axes[row], label=label, shrink=0.9)
    return save(figure, output, dpi=150)


def _arrays(seed: int, part: int, number: int) -> dict[str, NDArray[Any]]:
    coefficient = draw_permeability(seed, number, part)
    try:
        pressure, _ = solve_darcy(coefficient, tolerance=_TOLERANCE)
    except ArithmeticError as error:
        raise ArithmeticError(f"Sample {number} with seed {seed} could not be solved: {error}") from error
    return {"coeff": coefficient.astype(np.float32), "sol": pressure.astype(np.float32)}
