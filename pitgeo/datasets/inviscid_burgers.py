"""The InviscidBurgers benchmark: from a random start to the solution at t = 0.1, which may have shocks."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pitgeo.datasets.fields import Fields, check_finite
from pitgeo.datasets.matlab import named_shapes, read_mat
from pitgeo.datasets.raw import missing_file, raw_file, split_numbers

SIZE = 1024
GRID = (SIZE,)
FILES = ("data_burgers.mat", "1_InviscidBurgers.mat")
"""Names of the file; the first one that is there is read."""
TRAINING_RECORDS, TRAIN, TEST = 1024, 950, 128
"""Records for training, how many of them the paper trains on, and records for tests, at the end of the file."""
_VARIABLES = ("x", "y")


def read(
    folder: Path,
    split: Literal["train", "test"],
    samples: int,
    split_convention: Literal["paper"] = "paper",
    *,
    others: int = 0,
) -> Fields:
    """Samples of the raw file: start and solution.

    Positions are those of :func:`positions`: the end point 1 is left out, as it is the same as 0.

    Args:
        folder: Folder of the raw file, see :data:`FILES`; MAT version 5 or 7.3.
        split: ``"train"``: the first samples of the file, at most 1024; ``"test"``: the last ones, at most 128.
        samples: How many. With 950 for training, as in the paper, the last 74 of the 1024 training records are left
            out: they were for validation.
        split_convention: ``"paper"``: as said above.
        others: Samples of the other split; refused if some would be in both.

    Returns:
        Fields with ``x [S, 1024, 1]`` and ``y [S, 1024, 1]``.

    Raises:
        FileNotFoundError: If there is no raw file.
        ValueError: If an option is out of range, or the file is broken, laid out otherwise, holds too few samples, or
            values that are not finite.

    Reference:
        Lanthaler, Molinaro, Hadorn and Mishra, "Nonlinear reconstruction for operator learning of PDEs with
        discontinuities", ICLR 2023; Chen and Wu, ICML 2024, appendix A.1.
    """
    if split not in ("train", "test"):
        raise ValueError(f"Expected 'split' to be 'train' or 'test' (got {split!r})")
    if split_convention != "paper":
        raise ValueError(f"Expected 'split_convention' to be 'paper' (got {split_convention!r})")
    most = TRAINING_RECORDS if split == "train" else TEST
    if not 1 <= samples <= most:
        raise ValueError(f"Expected 'samples' to be from 1 to {most} for split {split!r} (got {samples})")
    path = raw_file(folder, FILES, "inviscid_burgers")
    number = _total(path)
    numbers = split_numbers(path, number, split, samples, others, "inviscid_burgers")
    stored = read_mat(path, _VARIABLES, slice(numbers[0], numbers[-1] + 1))
    for name, values in stored.items():
        check_finite(f"'{name}' in {path}", values, numbers)
    x, y = (np.ascontiguousarray(stored[name][..., None], np.float32) for name in _VARIABLES)
    return Fields(positions(), GRID, x, y, numbers)


def positions() -> NDArray[np.float64]:
    """Points of the grid ``[1024, 1]``: i / 1024, the left ends of the cells, as the authors' code has them."""
    return np.linspace(0, 1, SIZE + 1)[:-1, None]


def total(folder: Path) -> int:
    """How many samples the raw file holds; its values are not read.

    Raises:
        FileNotFoundError: If there is no raw file.
        ValueError: If the file is broken or laid out otherwise.
    """
    return _total(raw_file(folder, FILES, "inviscid_burgers"))


def missing(folder: Path) -> list[str]:
    """Name of the raw file if there is neither it nor the one that takes its place."""
    return missing_file(folder, FILES)


def _total(path: Path) -> int:
    """Samples of a file that is laid out as it should be."""
    shapes = named_shapes(path, _VARIABLES)
    for name, shape in shapes.items():
        wanted = f"Expected '{name}' in {path} to have shape (samples, {SIZE}) (got {shape}"
        if len(shape) == 2 and shape[0] == SIZE and shape[1] != SIZE:
            raise ValueError(
                f"{wanted}, the axes reversed); save it with the samples first. A file of MAT version 7.3 holds its "
                f"axes reversed anyway, and is put right when it is read: reverse nothing by hand"
            )
        if len(shape) != 2 or shape[1] != SIZE:
            raise ValueError(f"{wanted}); is this a file of another benchmark or another grid?")
    if shapes["x"] != shapes["y"]:
        raise ValueError(f"Expected as many samples of 'x' as of 'y' in {path} (got {shapes['x']} and {shapes['y']})")
    return shapes["x"][0]
