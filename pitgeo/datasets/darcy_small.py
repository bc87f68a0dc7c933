"""Small Darcy files that come with the package neuraloperator: 16 x 16 points to train on, 16 and 32 to test at."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from pitgeo.datasets.benchmark import grid_positions
from pitgeo.datasets.fields import Fields, check_finite

RESOLUTIONS = (16, 32)
# What torch raises for files that are not its own, or damaged.
_BROKEN = (pickle.UnpicklingError, RuntimeError, EOFError, ValueError, OSError, KeyError, IndexError, TypeError)


def read(folder: Path, split: Literal["train", "test"], samples: int, resolution: int = 16) -> Fields:
    """Samples of a file, the first ones: permeability (0 or 1) and pressure.

    Args:
        folder: Folder of ``darcy_train_16.pt``, ``darcy_test_16.pt`` and ``darcy_test_32.pt``.
        split: ``"train"`` or ``"test"``.
        samples: How many.
        resolution: Points along each side; 32 has test samples alone.

    Returns:
        Fields with ``x [S, N, 1]`` and ``y [S, N, 1]``.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If an option is out of range, or the file is broken, laid out otherwise, holds too few samples, or
            values that are not finite.

    Reference:
        Kossaifi et al., "A library for learning neural operators", 2024.
    """
    if split not in ("train", "test"):
        raise ValueError(f"Expected 'split' to be 'train' or 'test' (got {split!r})")
    pos = positions(resolution)
    path = folder / f"darcy_{split}_{resolution}.pt"
    if not path.exists():
        raise FileNotFoundError(f"Expected {path} (got none); it comes with the package neuraloperator: copy it there")
    try:
        raw = torch.load(path, weights_only=True)
    except (PermissionError, IsADirectoryError):
        raise
    except _BROKEN as error:
        raise ValueError(f"Expected {path} to be a complete file of torch (got: {error}); fetch it again") from error
    if not isinstance(raw, dict) or not {"x", "y"} <= raw.keys():
        raise ValueError(f"Expected {path} to hold tensors 'x' and 'y' (got {_kind(raw)})")
    if not all(isinstance(raw[name], torch.Tensor) for name in ("x", "y")):
        kinds = ", ".join(type(raw[name]).__name__ for name in ("x", "y"))
        raise ValueError(f"Expected 'x' and 'y' of {path} to be tensors (got {kinds})")
    if len(raw["x"]) != len(raw["y"]):
        raise ValueError(
            f"Expected as many samples in 'x' as in 'y' of {path} (got {len(raw['x'])} and {len(raw['y'])})"
        )
    parts = []
    for name in ("x", "y"):
        shape = tuple(raw[name].shape)
        if len(shape) != 3 or shape[1:] != (resolution, resolution):
            raise ValueError(f"Expected {name!r} of {path} to have shape (N, {resolution}, {resolution}) (got {shape})")
        if not 1 <= samples <= shape[0]:
            raise ValueError(f"Expected 1 to {shape[0]} samples, as {path} holds (got {samples})")
        values = raw[name][:samples].float().numpy().reshape(samples, -1, 1)
        check_finite(f"{name!r} of {path}", values)
        parts.append(np.ascontiguousarray(values, np.float32))
    if not np.isin(parts[0], (0, 1)).all():
        raise ValueError(f"Expected 'x' of {path} to be 0 or 1 (got other values); 'x' and 'y' may have been swapped")
    return Fields(pos, (resolution, resolution), parts[0], parts[1], np.arange(samples))


def positions(resolution: int = 16) -> NDArray[np.float64]:
    """Positions ``[N, 2]``: ``i / resolution``, which is what neuraloperator's ``GridEmbedding2D`` gives.

    Where the points lie is not said with the files, but they show it: the pressure nearly vanishes on the first row and
    column and not on the last ones, its mean is symmetric about ``i = 8.0 +- 0.06`` of 16, and every second point of 32
    is a point of 16.

    Raises:
        ValueError: If there are no files of that resolution.
    """
    if resolution not in RESOLUTIONS:
        raise ValueError(f"Expected 'resolution' to be one of {RESOLUTIONS} (got {resolution})")
    axis = np.arange(resolution) / resolution
    return grid_positions(axis, axis)


def missing(folder: Path) -> list[str]:
    """Files that are not there."""
    names = ("darcy_train_16.pt", "darcy_test_16.pt", "darcy_test_32.pt")
    return [name for name in names if not (folder / name).exists()]


def _kind(content: Any) -> str:
    return ", ".join(map(str, content)) if isinstance(content, dict) else type(content).__name__
