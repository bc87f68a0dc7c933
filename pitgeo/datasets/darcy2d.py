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
    pos = positions(resolution, coordinates)
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
    step = (SIZE - 1) // (resolution - 1)
    parts = []
    for name in _VARIABLES:  # one after the other: each takes 0.7 GB
        values = read_mat(path, [name], slice(samples))[name][:samples, ::step, ::step]
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
    return Fields(pos, (resolution, resolution), coefficient, pressure, np.arange(samples))


def positions(resolution: int = SIZE, coordinates: Literal["true", "code"] = "true") -> NDArray[np.float64]:
    """Positions ``[N, 2]`` of the grid's points, the first axis of a field first.

    Args:
        resolution: Points along each side.
        coordinates: ``"true"``: from 0 to 1, ends included, as the data's grid is; ``"code"``: ``i / resolution``, as
            in the authors' code.

    Raises:
        ValueError: If 420 is not divisible by ``resolution - 1``, or the coordinates are unknown.
    """
    if resolution < 3 or (SIZE - 1) % (resolution - 1):
        fit = ", ".join(str((SIZE - 1) // step + 1) for step in (1, 2, 3, 4, 5, 6, 7, 10))
        raise ValueError(f"Expected 'resolution' to be 420 / r + 1 for a whole number r, as {fit} (got {resolution})")
    if coordinates not in ("true", "code"):
        raise ValueError(f"Expected 'coordinates' to be 'true' or 'code' (got {coordinates!r})")
    axis = np.linspace(0, 1, resolution) if coordinates == "true" else np.arange(resolution) / resolution
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
