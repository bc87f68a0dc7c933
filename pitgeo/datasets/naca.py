"""The NACA benchmark: from the shape of an airfoil to the Mach number round it, in transonic flow."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pitgeo.datasets.benchmark import grid_positions
from pitgeo.datasets.fields import Fields, check_finite
from pitgeo.datasets.raw import open_npy, split_numbers

log = logging.getLogger(__name__)

GRID = (221, 51)
FILES = {"X": "NACA_Cylinder_X.npy", "Y": "NACA_Cylinder_Y.npy", "Q": "NACA_Cylinder_Q.npy"}
CHANNELS = ("density", "velocity along x", "velocity along y", "pressure", "Mach number")
PAPER_TRAIN = 1000
"""With the paper's convention, test samples are those from this number on."""


def read(
    folder: Path,
    split: Literal["train", "test"],
    samples: int,
    convention: Literal["paper", "last"] = "paper",
    *,
    others: int = 0,
) -> Fields:
    """Samples of the raw files: the grid's place in the plane, and the Mach number.

    Positions are those of :func:`positions`, the reference grid. Points of the wake are in the grid twice, from either
    side; places that differ there are logged.

    Args:
        folder: Folder of the raw files, see :data:`FILES`.
        split: ``"train"``: the first samples of the files.
        samples: How many.
        convention: Test samples: ``"paper"``: number 1000 on; ``"last"``: the last ones of the files.
        others: Samples of the other split; refused if some would be in both.

    Returns:
        Fields with ``x [S, 11271, 2]``, coordinates in chords, and ``y [S, 11271, 1]``.

    Raises:
        FileNotFoundError: If a raw file is missing.
        ValueError: If an option is out of range, or a file is broken, laid out otherwise, holds too few samples, or
            values that are not finite.

    Reference:
        Li, Huang, Liu and Anandkumar, "Fourier neural operator with learned deformations for PDEs on general
        geometries", 2022; Chen and Wu, ICML 2024, appendix A.6.
    """
    if convention not in ("paper", "last"):
        raise ValueError(f"Expected 'convention' to be 'paper' or 'last' (got {convention!r})")
    if samples < 1:
        raise ValueError(f"Expected 'samples' to be at least 1 (got {samples})")
    raw = _open(folder)
    count = len(raw["X"])
    path = Path(folder) / FILES["X"]
    if convention == "paper" and split == "test":
        if others > PAPER_TRAIN or count < PAPER_TRAIN + samples:
            raise ValueError(
                f"Expected at most {PAPER_TRAIN} training samples, and {PAPER_TRAIN + samples} in {path}, since tests "
                f"start at number {PAPER_TRAIN} (got {others} and {count}); take convention = 'last', or generate more "
                f"with datasets/naca/generate.py"
            )
        numbers = np.arange(PAPER_TRAIN, PAPER_TRAIN + samples)
    else:
        between = 0 if convention == "paper" else others
        numbers = split_numbers(path, count, split, samples, between, "naca")
        if convention == "paper" and samples > PAPER_TRAIN:
            raise ValueError(f"Expected at most {PAPER_TRAIN} training samples with 'paper' (got {samples})")
    chosen = slice(int(numbers[0]), int(numbers[-1]) + 1)
    place = np.stack([np.asarray(raw[name][chosen], np.float32) for name in ("X", "Y")], -1)
    mach = np.asarray(raw["Q"][chosen, -1], np.float32)
    for name, values in (("X", place[..., 0]), ("Y", place[..., 1]), ("Q", mach)):
        check_finite(Path(folder) / FILES[name], values, numbers)
    _check_place(Path(folder), place, mach, numbers)
    size = GRID[0] * GRID[1]
    return Fields(positions(), GRID, place.reshape(-1, size, 2), mach.reshape(-1, size, 1), numbers)


def positions() -> NDArray[np.float64]:
    """Points of the reference grid ``[11271, 2]``: the index square, each axis from 0 to 1, ends included."""
    return grid_positions(*(np.linspace(0, 1, number) for number in GRID))


def total(folder: Path) -> int:
    """How many samples the raw files hold; their values are not read."""
    return len(_open(folder)["X"])


def missing(folder: Path) -> list[str]:
    """Raw files that are not there."""
    return [name for name in FILES.values() if not (Path(folder) / name).exists()]


def _open(folder: Path) -> dict[str, NDArray[Any]]:
    """The raw files, mapped rather than read, with the right shapes."""
    raw = {}
    for name, file in FILES.items():
        path = Path(folder) / file
        raw[name] = open_npy(path, "naca")
        shape = raw[name].shape
        wanted = GRID if name != "Q" else (len(CHANNELS), *GRID)
        if name == "Q" and len(shape) == 4 and shape[2:] == GRID and shape[1] != len(CHANNELS):
            raise ValueError(
                f"Expected {path} to have five channels, {', '.join(CHANNELS)} (got {shape[1]}); the Mach number is "
                f"the last of five"
            )
        if shape[1:] != wanted:
            expected = ", ".join(str(number) for number in wanted)
            raise ValueError(f"Expected {path} to have shape (samples, {expected}) (got {shape}); is it another grid?")
    if len({len(values) for values in raw.values()}) > 1:
        counts = ", ".join(f"{len(values)} in {FILES[name]}" for name, values in raw.items())
        raise ValueError(f"Expected the files in {folder} to have as many samples (got {counts})")
    return raw


def _check_place(folder: Path, place: NDArray[Any], mach: NDArray[Any], numbers: NDArray[np.int64]) -> None:
    """Refuse coordinates and channels that cannot be those of a C-grid round an airfoil."""
    wall = place[:, 50:171, 0]  # from the trailing edge round the leading edge and back
    chord = wall[..., 0].max(1) - wall[..., 0].min(1)
    thickness = wall[..., 1].max(1) - wall[..., 1].min(1)
    if (thickness > chord).any():
        number = int(numbers[(thickness > chord).argmax()])
        raise ValueError(
            f"Expected the airfoils in {folder / FILES['X']} to be longer along x than along y (got the contrary in "
            f"sample {number}); X and Y may have been swapped"
        )
    if (mach < 0).any():
        number = int(numbers[(mach < 0).any((1, 2)).argmax()])
        raise ValueError(
            f"Expected the last channel of {folder / FILES['Q']} to be a Mach number (got negative values in sample "
            f"{number}); the channels may be in another order"
        )
    apart = np.abs(place[:, :51, 0] - place[:, :169:-1, 0]).max()
    if apart > 1e-4:
        log.warning("Points of the wake in %s lie up to %.2g apart from either side", folder / FILES["X"], apart)
