"""The Vorticity benchmark: predict a forced two-dimensional flow on a periodic square from its past."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pitgeo.datasets.benchmark import grid_positions
from pitgeo.datasets.fields import Fields, check_finite
from pitgeo.datasets.matlab import mat_shapes, read_mat
from pitgeo.datasets.raw import missing_file, raw_file, split_numbers

SIZE = 64
GRID = (SIZE, SIZE)
FILES = ("NavierStokes_V1e-4_N1200_T30.mat", "ns_V1e-4_N10000_T30.mat")
"""Names of the file; the first one that is there is read."""
VARIABLE = "u"
HISTORY, STEPS = 10, 20
_SNAPSHOTS = (30, 50)  # in files of this collection; the second file is said to hold 50


def read(
    folder: Path,
    split: Literal["train", "test"],
    samples: int,
    history: int = HISTORY,
    steps: int = STEPS,
    resolution: int = SIZE,
    *,
    others: int = 0,
) -> Fields:
    """Samples of the raw file: the first ``history`` snapshots, and the ``steps`` after them as targets.

    Positions are those of :func:`positions`: the end point 1 is left out, as it is the same as 0. The first axis of a
    field is the first coordinate.

    Args:
        folder: Folder of the raw file, see :data:`FILES`; MAT version 5 or 7.3.
        split: ``"train"``: the first samples of the file; ``"test"``: the last ones.
        samples: How many.
        history: Snapshots that are given.
        steps: Snapshots to predict.
        resolution: Points along each axis, 64, 32 or 16: every point, every second or every fourth.
        others: Samples of the other split; refused if some would be in both.

    Returns:
        Fields with ``x [S, N, history]`` and ``y [S, N, steps]``.

    Raises:
        FileNotFoundError: If there is no raw file.
        ValueError: If an option is out of range, or the file is broken, laid out otherwise, holds too few samples or
            snapshots, or values that are not finite.

    Reference:
        Li et al., "Fourier neural operator for parametric partial differential equations", 2021; Chen and Wu, ICML
        2024, appendix A.4.
    """
    if split not in ("train", "test"):
        raise ValueError(f"Expected 'split' to be 'train' or 'test' (got {split!r})")
    for name, value in (("samples", samples), ("history", history), ("steps", steps)):
        if value < 1:
            raise ValueError(f"Expected '{name}' to be at least 1 (got {value})")
    if resolution not in (SIZE, SIZE // 2, SIZE // 4):
        raise ValueError(f"Expected 'resolution' to be {SIZE}, {SIZE // 2} or {SIZE // 4} (got {resolution})")
    path = raw_file(folder, FILES, "vorticity")
    total, snapshots = _shape(path)
    if snapshots < history + steps:
        raise ValueError(
            f"Expected '{VARIABLE}' in {path} to hold at least {history + steps} snapshots, history and steps "
            f"together (got {snapshots}, the last axis, of {total} samples, the first axis); ask for fewer, or swap "
            f"the axes if they are reversed"
        )
    numbers = split_numbers(path, total, split, samples, others, "vorticity")
    stored = read_mat(path, [VARIABLE], slice(numbers[0], numbers[-1] + 1))[VARIABLE]
    stride = SIZE // resolution
    stored = stored[:, ::stride, ::stride, : history + steps]
    check_finite(f"'{VARIABLE}' in {path}", stored, numbers)
    x, y = (
        np.ascontiguousarray(part, np.float32).reshape(samples, resolution**2, -1)
        for part in (stored[..., :history], stored[..., history:])
    )
    return Fields(positions(resolution), (resolution, resolution), x, y, numbers)


def positions(resolution: int = SIZE) -> NDArray[np.float64]:
    """Points of the grid ``[resolution^2, 2]``: i / ``resolution`` along each axis."""
    line = np.linspace(0, 1, resolution + 1)[:-1]
    return grid_positions(line, line)


def total(folder: Path) -> int:
    """How many samples the raw file holds; its values are not read.

    Raises:
        FileNotFoundError: If there is no raw file.
        ValueError: If the file is broken or laid out otherwise.
    """
    return _shape(raw_file(folder, FILES, "vorticity"))[0]


def missing(folder: Path) -> list[str]:
    """Name of the raw file if there is neither it nor the one that takes its place."""
    return missing_file(folder, FILES)


def _shape(path: Path) -> tuple[int, int]:
    """Samples and snapshots of a file that is laid out as it should be."""
    shapes = mat_shapes(path)
    if VARIABLE not in shapes:
        raise ValueError(
            f"Expected the variable '{VARIABLE}' in {path} (got {', '.join(sorted(shapes)) or 'none'}); is this "
            f"another file of the collection?"
        )
    shape = shapes[VARIABLE]
    wanted = f"Expected '{VARIABLE}' in {path} to have shape (samples, {SIZE}, {SIZE}, snapshots) (got {shape}"
    if len(shape) != 4 or shape[1:3] != GRID:
        raise ValueError(f"{wanted}); is this a file of another benchmark or another grid?")
    samples, _, _, snapshots = shape
    if samples in _SNAPSHOTS and snapshots not in _SNAPSHOTS and snapshots > samples:
        raise ValueError(
            f"{wanted}, which looks like {samples} snapshots of {snapshots} samples: the axes are reversed); save "
            f"it with the samples first. A file of MAT version 7.3 holds its axes reversed anyway, and is put right "
            f"when it is read: reverse nothing by hand"
        )
    return samples, snapshots
