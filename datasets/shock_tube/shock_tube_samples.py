"""The ShockTube benchmark: a gas whose state jumps at one place, and what becomes of it.

The file has the name and layout of the original of Lanthaler, Molinaro, Hadorn and Mishra.
"""

from __future__ import annotations

import functools
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.io import loadmat
from shock_tube_solver import GAMMA, Gas, conservative, riemann_solution

from pitgeo.datasets.generators import check_drawable
from pitgeo.datasets.resumable import check_numbers, make_files

log = logging.getLogger(f"pitgeo.datasets.{__name__}")  # shown as those of the package are

VERSION = 1
METHOD = "exact Riemann solution, averages over 8 midpoints a cell"
FILE = "data_sod.mat"
FILES = (FILE,)
CELLS, MIDPOINTS, TIME = 2048, 8, 1.5
ENDS = (-5.0, 5.0)
MOST = (2**31 - 1) // (8 * 3 * CELLS)
"""The most samples of a file: a variable of a MAT file of version 5 is below 2 GiB."""
_CHUNK = 64


@dataclass(frozen=True)
class ShockTube:
    """A tube with one gas left of the diaphragm and another one right of it.

    Args:
        left: The gas on the left.
        right: The gas on the right.
        diaphragm: Where they meet.
    """

    left: Gas
    right: Gas
    diaphragm: float


def draw_tube(seed: int, number: int) -> ShockTube:
    """The tube of sample ``number``, whatever the number of samples, from six uniform numbers G in [-1, 1].

    They are, in this order, those of density, velocity and pressure on the left, density and pressure on the right,
    and the diaphragm.
    """
    random = np.random.default_rng(np.random.SeedSequence((seed, number)))
    first, second, third, fourth, fifth, sixth = random.uniform(-1, 1, 6).tolist()
    left = Gas(0.75 + 0.45 * first, 0.5 + 0.5 * second, 2.5 + 1.6 * third)
    right = Gas(0.4 + 0.3 * fourth, 0.0, 0.375 + 0.325 * fifth)
    return ShockTube(left, right, 0.5 * sixth)


def cell_averages(tube: ShockTube, time: float, cells: int = CELLS, midpoints: int = MIDPOINTS) -> NDArray[np.float64]:
    """Averages of density, momentum and energy over the cells of the tube, by midpoints, ``[cells, 3]``.

    The tube is open: waves leave it through its ends at -5 and 5.

    Args:
        tube: The gases.
        time: Time since the diaphragm broke.
        cells: How many cells of equal size.
        midpoints: How many points a cell.

    Raises:
        ValueError: If a number is out of range, or as :func:`~shock_tube_solver.star_state` does.
    """
    if not 0 <= time < np.inf or cells < 1 or midpoints < 1:
        raise ValueError(
            f"Expected 'time' not to be negative, and 'cells' and 'midpoints' to be at least 1 (got {time}, {cells} "
            f"and {midpoints})"
        )
    points = ENDS[0] + (np.arange(cells * midpoints) + 0.5) * ((ENDS[1] - ENDS[0]) / (cells * midpoints))
    distance = points - tube.diaphragm
    speed = distance / time if time else np.where(distance < 0, -np.inf, np.inf)
    states = conservative(riemann_solution(tube.left, tube.right, speed, GAMMA), GAMMA)
    return np.asarray(states.reshape(cells, midpoints, 3).mean(1))


def solve(tube: ShockTube) -> NDArray[np.float64]:
    """Cell averages of density, momentum and energy at the times 0 and 1.5, ``[2, 2048, 3]``.

    Example:
        >>> before, after = solve(draw_tube(0, 3))
        >>> before.shape, len(np.unique(before[:, 2])) <= 3  # two gases, and a cell that has both
        ((2048, 3), True)
    """
    return np.stack([cell_averages(tube, time) for time in (0.0, TIME)])


def generate(
    output: Path, samples: int = 1280, seed: int = 0, processes: int | None = None, progress: bool = True
) -> None:
    """Write the benchmark's file to a folder.

    Interrupted, it goes on where it stopped when run again with the same seed. The file appears under its final name
    only once it is whole. If it is there already, with at least as many samples, nothing is done.

    Args:
        output: Folder to write to.
        samples: How many, at most 43690; sample k is the same whatever the number.
        seed: Seed of the tubes.
        processes: How many processes; 1 to work in this one, ``None`` for as many as there are cores.
        progress: Whether to show a progress bar.

    Raises:
        ValueError: If a number is out of range.
        FileExistsError: If the folder holds original files, or some made with other settings.
    """
    check_numbers(samples, seed, processes, MOST)
    settings = {"method": METHOD, "version": VERSION, "seed": seed, "samples": samples}
    solver = functools.partial(_arrays, seed)
    make_files(Path(output), settings, solver, lambda arrays: {FILE: arrays}, FILES, _CHUNK, processes, progress)


def picture(directory: Path, output: Path, samples: int = 3) -> Path:
    """Draw density, velocity and energy of the first samples in a folder.

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
    file = loadmat(path, variable_names=["x", "y"])
    count = min(samples, len(file["x"]))
    figure = new_figure(10, 2.2 * count)
    axes = figure.subplots(count, 3, squeeze=False, sharex=True)
    width = (ENDS[1] - ENDS[0]) / CELLS
    middle = ENDS[0] + (np.arange(CELLS) + 0.5) * width
    for number, row in enumerate(axes):
        for name, color, label in (("x", "0.6", "t = 0"), ("y", "C0", f"t = {TIME}")):
            density, momentum, energy = file[name][number].T
            for axis, curve in zip(row, (density, momentum / density, energy), strict=True):
                axis.plot(middle, curve, color=color, linewidth=1.2, label=label)
        row[0].set_ylabel(f"sample {number}")
    for axis, title in zip(axes[0], ("density", "velocity", "energy"), strict=True):
        axis.set(title=title, xlim=ENDS)
    axes[0, 0].legend(fontsize="small")
    return save(figure, output, dpi=150)


def _arrays(seed: int, number: int) -> dict[str, NDArray[Any]]:
    before, after = solve(draw_tube(seed, number))
    return {"x": before, "y": after}
