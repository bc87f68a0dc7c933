"""The InviscidBurgers benchmark: from a random start to the entropy solution, which may have shocks.

The file has the name and layout of the original of Lanthaler, Molinaro, Hadorn and Mishra.
"""

from __future__ import annotations

import functools
import logging
from pathlib import Path
from typing import Any

import numpy as np
from inviscid_burgers_solver import Boundary, FourierSeries, cell_averages, random_field
from numpy.typing import NDArray
from scipy.io import loadmat

from pitgeo.datasets.generators import check_drawable
from pitgeo.datasets.resumable import check_numbers, make_files

log = logging.getLogger(f"pitgeo.datasets.{__name__}")  # shown as those of the package are

VERSION = 1
METHOD = "Gaussian random field, exact cell averages by the formula of Hopf and Lax"
FILE = "data_burgers.mat"
FILES = (FILE,)
CELLS, TIME = 1024, 0.1
MOST = (2**31 - 1) // (8 * CELLS)
"""The most samples of a file: a variable of a MAT file of version 5 is below 2 GiB."""
_CHUNK = 64


def draw_start(seed: int, number: int, length: float = 0.06, boundary: Boundary = "periodic") -> FourierSeries:
    """The start of sample ``number``, whatever the number of samples.

    Args:
        seed: Seed of all samples.
        number: Number of the sample.
        length: Length scale of the field, see :func:`~inviscid_burgers_solver.random_field`.
        boundary: ``"periodic"``, or ``"constant"`` for a field that is not.
    """
    random = np.random.default_rng(np.random.SeedSequence((seed, number)))
    return random_field(random, length, boundary)


def solve(start: FourierSeries, boundary: Boundary = "periodic") -> NDArray[np.float64]:
    """Cell averages at the times 0 and 0.1, ``[2, 1024]``.

    Example:
        >>> before, after = solve(draw_start(0, 3))
        >>> bool(abs(before.mean() - after.mean()) < 1e-14)  # mass is conserved
        True
    """
    return np.stack([cell_averages(start, time, CELLS, boundary) for time in (0.0, TIME)])


def generate(
    output: Path,
    samples: int = 1152,
    seed: int = 0,
    processes: int | None = None,
    progress: bool = True,
    length: float = 0.06,
    boundary: Boundary = "periodic",
) -> None:
    """Write the benchmark's file to a folder.

    Interrupted, it goes on where it stopped when run again with the same settings. The file appears under its final
    name only once it is whole. If it is there already, with at least as many samples, nothing is done.

    Args:
        output: Folder to write to.
        samples: How many, at most 262143; sample k is the same whatever the number.
        seed: Seed of the starts.
        processes: How many processes; 1 to work in this one, ``None`` for as many as there are cores.
        progress: Whether to show a progress bar.
        length: Length scale of the random start, from 0.01 to 1.
        boundary: ``"periodic"``, or ``"constant"``: outside the interval the start goes on with its values at the ends.

    Raises:
        ValueError: If an option is out of range.
        FileExistsError: If the folder holds original files, or some made with other settings.
    """
    check_numbers(samples, seed, processes, MOST)
    draw_start(seed, 0, length, boundary)  # checks the options
    settings = {
        "method": METHOD,
        "version": VERSION,
        "seed": seed,
        "samples": samples,
        "length": length,
        "boundary": boundary,
    }
    solver = functools.partial(_arrays, seed, length, boundary)
    make_files(Path(output), settings, solver, lambda arrays: {FILE: arrays}, FILES, _CHUNK, processes, progress)


def picture(directory: Path, output: Path, samples: int = 6) -> Path:
    """Draw start and solution of the first samples in a folder.

    Args:
        directory: Folder with the file.
        output: Picture to write.
        samples: How many.

    Raises:
        FileNotFoundError: If the file is missing.
        ValueError: If there is no sample to draw.
    """
    from pitgeo.evaluation.plots.style import new_figure, save  # solvers in other processes need no pictures

    check_drawable(Path(directory), [FILE], samples)
    path = Path(directory) / FILE
    curves = loadmat(path, variable_names=["x", "y"])
    count = min(samples, len(curves["x"]))
    columns = min(count, 3)
    rows = -(-count // columns)
    figure = new_figure(3 * columns + 0.5, 2.2 * rows)
    axes = figure.subplots(rows, columns, squeeze=False, sharex=True)
    middle = (np.arange(CELLS) + 0.5) / CELLS
    for number, axis in enumerate(axes.flat):
        if number >= count:
            axis.set_axis_off()
            continue
        axis.plot(middle, curves["x"][number], color="0.6", linewidth=1, label="t = 0")
        axis.plot(middle, curves["y"][number], color="C0", linewidth=1.2, label=f"t = {TIME}")
        axis.set(xlim=(0, 1), title=f"sample {number}")
    axes[0, 0].legend(fontsize="small")
    return save(figure, output, dpi=150)


def _arrays(seed: int, length: float, boundary: Boundary, number: int) -> dict[str, NDArray[Any]]:
    before, after = solve(draw_start(seed, number, length, boundary), boundary)
    return {"x": before, "y": after}
