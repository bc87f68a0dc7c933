"""What a benchmark's raw files are read into: fields of many samples on one grid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Fields:
    """Input and target fields of many samples on one regular (or logically regular) grid.

    Args:
        pos: Positions ``[N, D]``, float64; the grid's points in C order, N its size.
        grid: Points along each axis of the grid.
        x: Input values ``[S, N, C]``, float32, coordinates not among them.
        y: Targets ``[S, N, K]``, float32.
        numbers: The number of every sample in its raw file, ``[S]``.
        is_regular: Whether the grid's lines are evenly spaced (in what ``pos`` are coordinates of).

    Raises:
        ValueError: If shapes disagree or a value is not finite.

    Example:
        >>> pos = np.linspace(0, 1, 4)[:, None]
        >>> x = np.ones((2, 4, 1), np.float32)
        >>> Fields(pos, (4,), x, 2 * x, np.arange(2)).y.shape
        (2, 4, 1)
    """

    pos: NDArray[np.float64]
    grid: tuple[int, ...]
    x: NDArray[np.float32]
    y: NDArray[np.float32]
    numbers: NDArray[np.int64]
    is_regular: bool = True

    def __post_init__(self) -> None:
        size, samples = int(np.prod(self.grid)), len(self.numbers)
        if len(self.pos) != size:
            raise ValueError(f"Expected {size} positions on a grid of {self.grid} (got {len(self.pos)})")
        for name, values in (("x", self.x), ("y", self.y)):
            if values.ndim != 3 or values.shape[:2] != (samples, size):
                raise ValueError(f"Expected '{name}' to have shape [{samples}, {size}, channels] (got {values.shape})")
            check_finite(f"'{name}'", values, self.numbers)


def check_finite(source: object, values: NDArray[Any], numbers: NDArray[Any] | None = None) -> None:
    """Raise a ``ValueError`` that names the first sample with NaN or infinity; samples are the first axis."""
    good = np.isfinite(values).reshape(len(values), -1).all(1)
    if not good.all():
        first = int(np.argmin(good))
        raise ValueError(
            f"Expected {source} to be finite (got NaN or infinity in sample "
            f"{first if numbers is None else int(numbers[first])}, the first of {int((~good).sum())})"
        )
