"""The NACA benchmark: Mach number round airfoils morphed from NACA0012, in steady transonic flow.

Files have the names and layout of the originals of Geo-FNO, and one more file holds what the shapes were made of.
"""

from __future__ import annotations

import functools
import logging
from pathlib import Path
from typing import Any

import numpy as np
from naca_flux import GAMMA
from naca_mesh import PARAMETERS, Floats, grid
from naca_sequence import sequenced
from naca_volumes import topology
from numpy.typing import NDArray

from pitgeo.datasets.generators import check_drawable
from pitgeo.datasets.resumable import check_numbers, make_files

log = logging.getLogger(f"pitgeo.datasets.{__name__}")  # shown as those of the package are

VERSION = 2
METHOD = (
    "Euler equations, node-centred Roe fluxes of second order on a 220 x 50 C-grid, started on every second line, "
    "Newton-Krylov to 1e-4"
)
X, Y, Q = "NACA_Cylinder_X.npy", "NACA_Cylinder_Y.npy", "NACA_Cylinder_Q.npy"
SHAPES = "NACA_Cylinder_theta.npz"
FILES = (X, Y, Q, SHAPES)
AMPLITUDE = 0.05
ATTEMPTS = 20
_CHUNK = 10


def draw_theta(seed: int, number: int, attempt: int = 0) -> Floats:
    """Displacements of sample ``number``, whatever the number of samples: uniform in +-0.05, the first one 0, ``[8]``.

    Args:
        seed: Seed of the shapes.
        number: Number of the sample.
        attempt: How many shapes were drawn for this sample before and given up.
    """
    random = np.random.default_rng(np.random.SeedSequence((seed, number, attempt)))
    theta = random.uniform(-AMPLITUDE, AMPLITUDE, PARAMETERS)
    theta[0] = 0.0
    return theta


def solve(theta: Floats) -> tuple[Floats, Floats, int]:
    """Grid ``[221, 51, 2]``, flow ``[5, 221, 51]`` (density, velocities, pressure, Mach number) and Newton steps.

    Raises:
        ValueError: If the shape inverts a cell.
        ArithmeticError: If the flow does not converge.
    """
    points = grid(theta)
    flow = sequenced(points)
    state = flow.state[topology(points.shape[:2]).node]  # points of the wake come twice
    density, across, along, pressure = np.moveaxis(state, -1, 0)
    mach = np.hypot(across, along) / np.sqrt(GAMMA * pressure / density)
    return points, np.stack([density, across, along, pressure, mach]), len(flow.residuals) - 1


def generate(
    output: Path, samples: int = 1200, seed: int = 0, processes: int | None = None, progress: bool = True
) -> None:
    """Write the benchmark's files to a folder.

    A shape whose flow does not converge is given up, and the next one of the same sample is taken; how many were is
    logged and kept with the shapes. Interrupted, it goes on where it stopped when run again with the same seed. Files
    appear under their final names only once they are whole. If they are there already, with at least as many samples,
    nothing is done.

    Args:
        output: Folder to write to.
        samples: How many; sample k is the same whatever the number.
        seed: Seed of the shapes.
        processes: How many processes; 1 to work in this one, ``None`` for as many as there are cores.
        progress: Whether to show a progress bar.

    Raises:
        ValueError: If a number is out of range.
        FileExistsError: If the folder holds original files, or some made with other settings.
        ArithmeticError: If twenty shapes of one sample fail.
    """
    check_numbers(samples, seed, processes)
    settings = {"method": METHOD, "version": VERSION, "seed": seed, "samples": samples}
    solver = functools.partial(_arrays, seed)
    make_files(Path(output), settings, solver, _contents, FILES, _CHUNK, processes, progress)


def picture(directory: Path, output: Path, samples: int = 4) -> Path:
    """Draw the Mach number near the first airfoils of a folder that :func:`generate` wrote.

    Args:
        directory: Folder with the files.
        output: Picture to write.
        samples: How many.

    Raises:
        FileNotFoundError: If a file is missing.
        ValueError: If ``samples`` is not positive.
    """
    from pitgeo.evaluation.plots.style import new_figure, save  # solvers in other processes need no pictures

    directory = Path(directory)
    check_drawable(directory, [X, Y, Q], samples)
    x, y, flow = (np.load(directory / name, mmap_mode="r") for name in (X, Y, Q))
    count = min(samples, len(x))
    rows = -(-count // 2)
    figure = new_figure(9.5, 3.4 * rows)
    axes = figure.subplots(rows, min(count, 2), squeeze=False)
    for number, axis in enumerate(axes.flat):
        axis.set_axis_off()
        if number >= count:
            continue
        drawn = axis.pcolormesh(
            x[number], y[number], flow[number, 4], shading="gouraud", cmap="turbo", vmin=0, vmax=1.6
        )
        axis.set(xlim=(-0.4, 1.6), ylim=(-0.7, 0.7), aspect="equal", title=f"sample {number}")
    figure.colorbar(drawn, ax=axes, label="Mach number", extend="max", shrink=0.8)
    return save(figure, output, dpi=150)


def _arrays(seed: int, number: int) -> dict[str, NDArray[Any]]:
    """The arrays kept of a sample: those of its first shape whose flow converges."""
    failures = []
    for attempt in range(ATTEMPTS):
        theta = draw_theta(seed, number, attempt)
        try:
            points, flow, steps = solve(theta)
        except (ValueError, ArithmeticError) as error:
            failures.append(str(error))
            continue
        return {
            "x": points[..., 0],
            "y": points[..., 1],
            "q": flow,
            "theta": theta,
            "given_up": np.array(attempt),
            "steps": np.array(steps),
        }
    raise ArithmeticError(
        f"Expected one of {ATTEMPTS} shapes of sample {number} with seed {seed} to be solved (got: {failures[-1]})"
    )


def _contents(arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any] | dict[str, NDArray[Any]]]:
    """File names and contents."""
    given_up = int(arrays["given_up"].sum())
    log.info("%d shapes did not converge and were replaced by others", given_up)
    shapes = {name: arrays[name] for name in ("theta", "given_up", "steps")}
    return {X: arrays["x"], Y: arrays["y"], Q: arrays["q"], SHAPES: shapes}
