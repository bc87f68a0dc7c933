"""How far the labels are from those on finer meshes."""

from __future__ import annotations

import numpy as np
from brackets_mesh import SIZE, bracket_mesh
from brackets_samples import Bracket, BracketSample, draw_bracket, solve
from brackets_shapes import ImpossibleShape
from brackets_solid import Floats, Ints
from scipy.spatial import cKDTree
from tqdm import tqdm

FINER = 0.65
COLUMNS = ("points", "displacement", "tip_deflection", "von_mises", "von_mises_all", "largest", "peak_stress")
_NEAR = 16  # tetrahedra whose middles are nearest are searched


def print_accuracy(samples: int, seed: int = 0, size: float = SIZE, progress: bool = True) -> None:
    """Print the errors of the first samples against meshes of 0.65 times the size, their mean and the worst."""
    print(f"Errors in % against meshes of {FINER} times the size; size {size} mm, seed {seed}")
    print(f"{'sample':>6} {'family':>8}", *(f"{name:>15}" for name in COLUMNS))
    rows = []
    for number in tqdm(range(samples), disable=not progress, unit="sample"):
        bracket, mesh = draw_bracket(seed, number, size)
        try:
            fine = solve(bracket, bracket_mesh(bracket.shape, FINER * size))
        except ImpossibleShape as error:
            print(f"{number:>6} {bracket.shape.family:>8} has no finer mesh: {error}")
            continue
        rows.append(errors(solve(bracket, mesh), fine))
        _print_row(number, bracket, rows[-1])
    if not rows:
        return
    for name, row in (("mean", np.mean(rows, axis=0)), ("worst", _worst(np.array(rows)))):
        _print_row(name, None, row)


def errors(sample: BracketSample, fine: BracketSample) -> Floats:
    """Points, and errors in % as in ``COLUMNS``.

    ``displacement`` at all points, ``von_mises`` at those at least 3 mm from the clamped holes and ``von_mises_all`` at
    all: l2 norm of the difference by that of the finer; ``largest``: the largest difference at those points, by their
    largest stress; ``tip_deflection`` and ``peak_stress``: the number's deviation, with its sign.
    """
    here = np.concatenate([sample.displacement, sample.von_mises[:, None]], axis=1)
    there = interpolated(fine, np.concatenate([fine.displacement, fine.von_mises[:, None]], axis=1), sample.points)
    counted, mises = sample.counted, slice(3, 4)
    apart = np.abs(here[counted, 3] - there[counted, 3]).max() / there[counted, 3].max()
    return np.array(
        [
            len(sample.points),
            100 * _relative(here[:, :3], there[:, :3]),
            100 * (sample.tip_deflection / fine.tip_deflection - 1),
            100 * _relative(here[counted, mises], there[counted, mises]),
            100 * _relative(here[:, mises], there[:, mises]),
            100 * apart,
            100 * (sample.peak_stress / fine.peak_stress - 1),
        ]
    )


def interpolated(sample: BracketSample, values: Floats, points: Floats) -> Floats:
    """Values ``[N, C]`` of a sample's points at other points ``[P, 3]``, linear in its tetrahedra."""
    corners = sample.points[sample.cells]
    _, near = cKDTree(corners.mean(axis=1)).query(points, k=min(_NEAR, len(corners)))
    inverse = np.linalg.inv((corners[:, 1:] - corners[:, :1]).swapaxes(1, 2))
    last = np.einsum("pkij,pkj->pki", inverse[near], points[:, None] - corners[near, 0])
    share = np.concatenate([1 - last.sum(axis=-1, keepdims=True), last], axis=-1)
    best: Ints = share.min(axis=-1).argmax(axis=1).astype(np.int64)
    rows = np.arange(len(points))
    cells = sample.cells[np.asarray(near, np.int64)[rows, best]]
    found: Floats = (share[rows, best][:, :, None] * values[cells]).sum(axis=1)
    return found


def _relative(one: Floats, other: Floats) -> float:
    return float(np.linalg.norm(one - other) / np.linalg.norm(other))


def _worst(rows: Floats) -> Floats:
    worst: Floats = rows[np.abs(rows).argmax(axis=0), np.arange(rows.shape[1])]
    return worst


def _print_row(name: object, bracket: Bracket | None, row: Floats) -> None:
    family = bracket.shape.family if bracket else ""
    print(f"{name:>6} {family:>8} {row[0]:>15.0f}", *(f"{value:>15.2f}" for value in row[1:]))
