"""The Vorticity benchmark: forced two-dimensional flow on a periodic square from a random start.

The file has the name and layout of the original of the Fourier neural operator's Navier-Stokes data.
"""

from __future__ import annotations

import functools
import logging
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import fft
from scipy.io import loadmat
from vorticity_solver import Floats, VorticitySolver

from pitgeo.datasets.generators import check_drawable
from pitgeo.datasets.resumable import check_numbers, make_files

log = logging.getLogger(f"pitgeo.datasets.{__name__}")  # shown as those of the package are

VERSION = 1
METHOD = "pseudo-spectral, 128 x 128, 2/3 rule, integrating-factor Runge-Kutta 4, every second point"
FILE = "NavierStokes_V1e-4_N1200_T30.mat"
FILES = (FILE,)
SIZE, SUBSAMPLING, SNAPSHOTS = 128, 2, 30
MOST = 2**31 // (4 * (SIZE // SUBSAMPLING) ** 2 * SNAPSHOTS)
"""The most samples of a file: a variable of a MAT file of version 5 is below 2 GiB."""
HIGHEST = 42
"""The highest mode of the random start: a third of the grid size, what the solver keeps."""

Amplitude = Literal["current", "older", "covariance"]
_FACTORS = {"current": 1.0, "older": 2**0.5, "covariance": 7**-0.75}
_CHUNK = 10


def forcing(size: int = SIZE) -> Floats:
    """The forcing ``0.1 (sin(2 pi (x + y)) + cos(2 pi (x + y)))``, ``[size, size]``."""
    angle = 2 * np.pi * np.arange(size) / size
    both = angle[:, None] + angle
    return 0.1 * (np.sin(both) + np.cos(both))


def spectrum(amplitude: Amplitude = "current") -> Floats:
    r"""Standard deviation of the Fourier coefficients of the random start, ``[85, 43]``.

    .. math::
        s_k = c \, 7^{3/2} \left(4 \pi^2 |k|^2 + 49\right)^{-5/4}, \quad s_0 = 0, \qquad
        \omega_0(x) = \sum_k s_k z_k e^{2 \pi i k \cdot x}, \quad z_{-k} = \bar z_k, \; E |z_k|^2 = 1

    Rows are k = -42 to 42 along x, columns 0 to 42 along y. The three amplitudes c that are found in public code:

    ============== ========== =====================
    name           c          rms of the vorticity
    ============== ========== =====================
    ``current``    1          0.185
    ``older``      2^(1/2)    0.262
    ``covariance`` 7^(-3/4)   0.043
    ============== ========== =====================

    ``"covariance"`` is the published N(0, 7^(3/2) (49 - Laplacian)^(-5/2)) to the letter, the others are the code.
    """
    if amplitude not in get_args(Amplitude):
        raise ValueError(f"Expected 'amplitude' to be one of {', '.join(get_args(Amplitude))} (got {amplitude!r})")
    rows, columns = np.arange(-HIGHEST, HIGHEST + 1)[:, None], np.arange(HIGHEST + 1)
    deviation = np.asarray(7**1.5 * (4 * np.pi**2 * (rows**2 + columns**2) + 49) ** -1.25)
    deviation[HIGHEST, 0] = 0
    return _FACTORS[amplitude] * deviation


def draw_vorticity(seed: int, number: int, amplitude: Amplitude = "current", size: int = SIZE) -> Floats:
    """Vorticity at time 0 of sample ``number``, ``[size, size]``, whatever the number of samples.

    A coarser or finer grid gives the same field at other points, as far as it has the modes.

    Args:
        seed: Seed of all samples.
        number: Number of the sample.
        amplitude: See :func:`spectrum`.
        size: Points along each axis.

    Example:
        >>> np.allclose(draw_vorticity(0, 3, size=256)[::2, ::2], draw_vorticity(0, 3))
        True
    """
    normals = np.random.default_rng(np.random.SeedSequence((seed, number))).standard_normal(
        (2, 2 * HIGHEST + 1, HIGHEST + 1)
    )
    half = spectrum(amplitude) * (normals[0] + 1j * normals[1]) / 2**0.5
    half[:HIGHEST, 0] = half[:HIGHEST:-1, 0].conj()
    highest = min(HIGHEST, (size - 1) // 2)
    rows = np.arange(-highest, highest + 1)
    whole = np.zeros((size, size // 2 + 1), np.complex128)
    whole[rows, : highest + 1] = half[rows + HIGHEST, : highest + 1]
    return np.asarray(fft.irfft2(whole, (size, size), norm="forward"))


def solve(vorticity: Floats, viscosity: float = 1e-4, step: float = 0.01, snapshots: int = SNAPSHOTS) -> Floats:
    """Vorticity at t = 1, 2, ... at every second point, ``[size / 2, size / 2, snapshots]``, float32.

    Args:
        vorticity: Vorticity at time 0, ``[size, size]``.
        viscosity: The kinematic viscosity.
        step: The time step; 1 over a whole number.
        snapshots: How many.

    Raises:
        ValueError: If a number is out of range.
        ArithmeticError: If the time step is too long for this flow.
    """
    size = len(vorticity)
    solver = VorticitySolver(size, viscosity, step, forcing(size))
    fields = [field[::SUBSAMPLING, ::SUBSAMPLING] for field in solver.snapshots(vorticity, snapshots)]
    return np.stack(fields, -1).astype(np.float32)


def generate(
    output: Path,
    samples: int = 1200,
    seed: int = 0,
    processes: int | None = None,
    progress: bool = True,
    viscosity: float = 1e-4,
    amplitude: Amplitude = "current",
    step: float = 0.01,
) -> None:
    """Write the benchmark's file to a folder.

    Interrupted, it goes on where it stopped when run again with the same settings. The file appears under its final
    name only once it is whole. If it is there already, with at least as many samples, nothing is done. Its name says
    ``V1e-4`` and ``N1200`` whatever the viscosity and the number.

    Args:
        output: Folder to write to.
        samples: How many, at most 4369; sample k is the same whatever the number.
        seed: Seed of the random starts.
        processes: How many processes; 1 to work in this one, ``None`` for as many as there are cores.
        progress: Whether to show a progress bar.
        viscosity: The kinematic viscosity.
        amplitude: Amplitude of the random start, see :func:`spectrum`.
        step: The time step; 1 over a whole number. Half of it is taken for a sample whose flow is too fast for it.

    Raises:
        ValueError: If an option is out of range.
        ArithmeticError: If half the time step is too long for a sample, too.
        FileExistsError: If the folder holds original files, or some made with other settings.
    """
    check_numbers(samples, seed, processes, MOST)
    spectrum(amplitude)
    list(VorticitySolver(4, viscosity, step).snapshots(np.zeros((4, 4)), 0))  # checks the numbers
    settings = {
        "method": METHOD,
        "version": VERSION,
        "seed": seed,
        "samples": samples,
        "viscosity": viscosity,
        "amplitude": amplitude,
        "step": step,
    }
    solver = functools.partial(_arrays, seed, viscosity, amplitude, step)
    make_files(Path(output), settings, solver, lambda arrays: {FILE: arrays}, FILES, _CHUNK, processes, progress)


def picture(directory: Path, output: Path, samples: int = 3) -> Path:
    """Draw four snapshots of each of the first samples in a folder.

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
    fields = np.asarray(loadmat(path, variable_names=["u"])["u"])[:samples]
    times = sorted({1, *(fields.shape[-1] * part // 3 for part in (1, 2, 3))} - {0})
    figure = new_figure(2.3 * len(times) + 0.8, 2.4 * len(fields))
    axes = figure.subplots(len(fields), len(times), squeeze=False)
    for number, row in enumerate(axes):
        limit = float(np.abs(fields[number]).max())
        for axis, time in zip(row, times, strict=True):
            drawn = axis.imshow(
                fields[number, :, :, time - 1].T,
                origin="lower",
                extent=(0, 1, 0, 1),
                cmap="RdBu_r",
                vmin=-limit,
                vmax=limit,
            )
            axis.set(xticks=[], yticks=[], title=f"sample {number}, t = {time}")
        figure.colorbar(drawn, ax=row, label="vorticity")
    return save(figure, output, dpi=150)


def _arrays(
    seed: int, viscosity: float, amplitude: Amplitude, step: float, number: int
) -> dict[str, NDArray[np.floating[Any]]]:
    """One sample; where the flow is too fast for the time step, half of it is taken."""
    start = draw_vorticity(seed, number, amplitude, SIZE)
    try:
        return {"u": solve(start, viscosity, step, SNAPSHOTS)}
    except ArithmeticError as error:
        log.warning("Sample %d is solved again with time step %g: %s", number, step / 2, error)
    try:
        return {"u": solve(start, viscosity, step / 2, SNAPSHOTS)}
    except ArithmeticError as error:
        raise ArithmeticError(f"Sample {number} with seed {seed} could not be solved: {error}") from error
