"""Transonic flow about one airfoil: from the angle of attack to pressure and wall shear on the surface."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pitgeo.datasets.fields import Fields, check_finite
from pitgeo.datasets.raw import check_file, open_npy, shuffled_numbers

POINTS = 448
FILES = {
    "coords_airfoil.npy": "0a61252a1936618c4ab1a6f246d9f38b094fa5d2e4626651d620a9feaf2e2f5a",
    "params.npy": "89f8d2e5915a9f4f08f6a065ae9f0d7867717a8357df316398a5a06dd1ca3918",
    "snapshots_p_airfoil.npy": "299c311d1fe2b98061ae47e3b1a9b63b20c7add6449c5d9af62a9356831fec4d",
    "snapshots_wn_airfoil.npy": "02c38fb51310505ea375fe84789c7a113cd786689b0968b0dacc7f49da7ba011",
}
"""The raw files, and the SHA-256 of each."""
SOURCE = "https://github.com/mathLab/Smithers, folder smithers/dataset/datasets/airfoil_transonic"
TARGETS = {"pressure": "snapshots_p_airfoil.npy", "wall_shear": "snapshots_wn_airfoil.npy"}


def read(
    folder: Path,
    split: Literal["train", "test"],
    samples: int,
    targets: tuple[str, ...] = ("pressure",),
    others: int = 0,
) -> Fields:
    """Samples of the files: the angle of attack, the same at every point, and the targets.

    The points come in the order of the curve, see :func:`order`.

    Args:
        folder: Folder of the files.
        split: ``"train"``: the first of ``torch.randperm(100)`` with seed 0; ``"test"``: the last ones.
        samples: How many.
        targets: ``"pressure"``, ``"wall_shear"``, or both.
        others: Samples of the other split, none of which may be among these.

    Returns:
        Fields with ``x [S, 448, 1]`` and ``y [S, 448, K]``.

    Raises:
        FileNotFoundError: If a file is missing.
        ValueError: If a file is another, is laid out otherwise, holds too few samples, or values that are not finite.
    """
    coordinates = _open(folder, "coords_airfoil.npy")
    if coordinates.ndim != 2 or len(coordinates) != 2:
        raise ValueError(f"Expected {folder / 'coords_airfoil.npy'} to have shape (2, N) (got {coordinates.shape})")
    check_finite(folder / "coords_airfoil.npy", coordinates)
    pos = np.array(coordinates.T, np.float64)
    points = order(pos)
    angles = _open(folder, "params.npy")
    if angles.ndim != 2 or angles.shape[1] != 1:
        raise ValueError(f"Expected {folder / 'params.npy'} to have shape (N, 1) (got {angles.shape})")
    numbers = shuffled_numbers(folder / "params.npy", len(angles), split, samples, others)
    parts = []
    for target in targets:
        values = _open(folder, TARGETS[target])
        if values.shape != (len(angles), len(pos)):
            raise ValueError(
                f"Expected {folder / TARGETS[target]} to have shape {(len(angles), len(pos))} (got {values.shape})"
            )
        parts.append(values[numbers][:, points])
    x = np.repeat(angles[numbers][:, None], len(pos), 1).astype(np.float32)
    return Fields(pos[points], (len(pos),), x, np.stack(parts, -1).astype(np.float32), numbers)


def order(pos: NDArray[np.float64]) -> NDArray[np.int64]:
    """Numbers of the points along the curve: forwards over the upper side, then back along the lower one.

    The file has four pieces of curve, each running forwards. No point lies on the chord ``y = 0``.

    Raises:
        ValueError: If a point lies on the chord.
    """
    if not pos[:, 1].all():
        raise ValueError(f"Expected no point on the chord y = 0 (got point {int(np.argmin(np.abs(pos[:, 1])))})")
    upper, lower = np.flatnonzero(pos[:, 1] > 0), np.flatnonzero(pos[:, 1] < 0)
    return np.concatenate([upper[np.argsort(-pos[upper, 0])], lower[np.argsort(pos[lower, 0])]])


def missing(folder: Path) -> list[str]:
    """Files that are not there."""
    return [name for name in FILES if not (folder / name).is_file()]


def _open(folder: Path, name: str) -> NDArray[Any]:
    check_file(folder / name, FILES[name], SOURCE)
    return open_npy(folder / name, "airfoil_transonic")
