"""The Darcy2D benchmark: from a permeability of two values to the pressure, on the unit square."""

from __future__ import annotations

import filecmp
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pitgeo.datasets.benchmark import grid_positions
from pitgeo.datasets.fields import Fields, check_finite
from pitgeo.datasets.matlab import mat_shapes, read_mat

SIZE = 421
FILES = {"train": "piececonst_r421_N1024_smooth1.mat", "test": "piececonst_r421_N1024_smooth2.mat"}
_VARIABLES = ("coeff", "sol")


def read(
    folder: Path,
    split: Literal["train", "test"],
    samples: int,
    resolution: int = SIZE,
    coordinates: Literal["true", "code"] = "true",
    grading: float = 0.0,
) -> Fields:
    """Samples of a raw file: training and test samples have a file each, and the first ones are taken.

    Files whose names were exchanged, and fields whose two axes were, cannot be told from right ones: the samples of
    both files, and both axes, follow the same law. One file under both names can.

    Args:
        folder: Folder of the raw files, see :data:`FILES`; MAT version 5 or 7.3.
        split: ``"train"`` or ``"test"``.
        samples: How many.
        resolution: Points along each side, ``420 / r + 1``: every r-th point.
        coordinates: See :func:`positions`.
        grading: See :func:`lines`.

    Returns:
        Fields with ``x [S, N, 1]``, the permeability, and ``y [S, N, 1]``, the pressure.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If an option is out of range, or the file is broken, laid out otherwise, holds too few samples
            or values that are not finite, has its variables swapped, or is a copy of the other split's.

    Reference:
        Li et al., "Fourier neural operator for parametric partial differential equations", 2021; Chen and Wu, ICML
        2024, appendix A.3.
    """
    if split not in FILES:
        raise ValueError(f"Expected 'split' to be 'train' or 'test' (got {split!r})")
    if samples < 1:
        raise ValueError(f"Expected 'samples' to be at least 1 (got {samples})")
    pos, kept = positions(resolution, coordinates, grading), lines(resolution, grading)
    path = folder / FILES[split]
    if not path.exists():
        raise FileNotFoundError(
            f"Expected the raw file {path} (got none); put the original there, or run "
            f"'python datasets/darcy2d/generate.py'"
        )
    other = folder / FILES["test" if split == "train" else "train"]
    if other.exists() and filecmp.cmp(path, other, shallow=False):  # stops at the first difference
        raise ValueError(
            f"Expected {path} and {other.name} to be two files (got the same content); one is a copy, and training "
            f"samples would be tested on"
        )
    count = _check_shapes(path)
    if count < samples:
        raise ValueError(
            f"Expected at least {samples} samples in {path} (got {count}); ask for fewer, or generate more with "
            f"datasets/darcy2d/generate.py"
        )
    parts = []
    for name in _VARIABLES:  # one after the other: each takes 0.7 GB
        values = read_mat(path, [name], slice(samples))[name][:samples][:, kept[:, None], kept]
        parts.append(np.ascontiguousarray(values, np.float32).reshape(samples, -1, 1))
        del values
    coefficient, pressure = parts
    for name, part in zip(_VARIABLES, parts, strict=True):
        check_finite(f"'{name}' of {path}", part)
    if not (coefficient > 0).all() or np.abs(pressure).max() >= coefficient.min():
        raise ValueError(
            f"Expected 'coeff' of {path} to be a positive permeability, larger than the pressure 'sol' (got values "
            f"from {coefficient.min():.3g} to {coefficient.max():.3g}, and pressures up to "
            f"{np.abs(pressure).max():.3g}); the two may have been swapped, or rescaled"
        )
    return Fields(pos, (resolution, resolution), coefficient, pressure, np.arange(samples), grading == 0)


def lines(resolution: int = SIZE, grading: float = 0.0) -> NDArray[np.int64]:
    r"""Which of the 421 lines along either axis make the grid.

    Without a grading every r-th; with a grading :math:`g` those nearest to :math:`420 \, (t - g \sin(2 \pi t) / 2 \pi)`
    for evenly spaced :math:`t`: :math:`1 + g` times as far apart in the middle, :math:`1 - g` times at the ends.

    Args:
        resolution: Points along each side, ``420 / r + 1``.
        grading: Above -1 and below 1.

    Raises:
        ValueError: If 420 is not divisible by ``resolution - 1``, or lines of the graded grid coincide.

    Example:
        >>> lines(8, 0.75).tolist()
        [0, 21, 71, 158, 262, 349, 399, 420]
    """
    if resolution < 3 or (SIZE - 1) % (resolution - 1):
        fit = ", ".join(str((SIZE - 1) // step + 1) for step in (1, 2, 3, 4, 5, 6, 7, 10))
        raise ValueError(f"Expected 'resolution' to be 420 / r + 1 for a whole number r, as {fit} (got {resolution})")
    if not -1 < grading < 1:
        raise ValueError(f"Expected 'grading' to be above -1 and below 1 (got {grading})")
    even = np.linspace(0, 1, resolution)
    kept = np.round((SIZE - 1) * (even - grading * np.sin(2 * np.pi * even) / (2 * np.pi))).astype(np.int64)
    if (np.diff(kept) == 0).any():
        raise ValueError(
            f"Expected a 'grading' that 421 lines can hold at a resolution of {resolution} (got {grading}, where lines "
            f"coincide); take one nearer to 0, or fewer points"
        )
    return kept


def positions(
    resolution: int = SIZE, coordinates: Literal["true", "code"] = "true", grading: float = 0.0
) -> NDArray[np.float64]:
    """Positions ``[N, 2]`` of the grid's points, the first axis of a field first.

    Args:
        resolution: Points along each side.
        coordinates: ``"true"``: from 0 to 1, ends included, as the data's grid is; ``"code"``: ``i / resolution``, as
            in the authors' code.
        grading: See :func:`lines`; for true coordinates.

    Raises:
        ValueError: If there is no such grid, or the coordinates are unknown.
    """
    if coordinates not in ("true", "code") or (grading and coordinates == "code"):
        kinds = "'true', with a 'grading'," if grading else "'true' or 'code'"
        raise ValueError(f"Expected 'coordinates' to be {kinds} (got {coordinates!r})")
    kept = lines(resolution, grading)
    axis = kept / (SIZE - 1) if coordinates == "true" else np.arange(resolution) / resolution
    return grid_positions(axis, axis)


def total(folder: Path, split: Literal["train", "test"] = "train") -> int:
    """How many samples a raw file holds."""
    return _check_shapes(folder / FILES[split])


def missing(folder: Path) -> list[str]:
    """Raw files that are not there."""
    return [name for name in FILES.values() if not (folder / name).exists()]


def _check_shapes(path: Path) -> int:
    """Number of samples of a file whose variables have the right shapes."""
    shapes = mat_shapes(path)
    for name in _VARIABLES:
        if name not in shapes:
            raise ValueError(
                f"Expected {path} to hold 'coeff' and 'sol' (got {', '.join(sorted(shapes)) or 'nothing'})"
            )
        shape = shapes[name]
        if len(shape) == 3 and shape[:2] == (SIZE, SIZE) and shape[2] != SIZE:
            raise ValueError(
                f"Expected {name!r} of {path} to have samples along its first axis (got {shape}: reversed axes, as of "
                f"a file of version 7.3 that was read raw and saved again); permute them"
            )
        if len(shape) != 3 or shape[1:] != (SIZE, SIZE):
            hint = f"; the file is one of {shape[1]} x {shape[2]} points under this name" if len(shape) == 3 else ""
            raise ValueError(f"Expected {name!r} of {path} to have shape (N, {SIZE}, {SIZE}) (got {shape}{hint})")
    if shapes["coeff"] != shapes["sol"]:
        raise ValueError(
            f"Expected as many samples in 'coeff' as in 'sol' of {path} (got {shapes['coeff'][0]} and "
            f"{shapes['sol'][0]})"
        )
    return int(shapes["coeff"][0])
