"""The ShockTube benchmark: from a gas whose state jumps at one place to its energy at t = 1.5."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from pitgeo.datasets.fields import Fields, check_finite
from pitgeo.datasets.matlab import named_shapes, read_mat
from pitgeo.datasets.raw import missing_file, raw_file, split_numbers

SIZE = 2048
GRID = (SIZE,)
FILES = ("data_sod.mat", "2_ShockTube.mat")
"""Names of the file; the first one that is there is read. In the second, the targets are the energy alone."""
TRAIN, TEST = 1024, 128
"""Samples for training, at the start of the file, and for tests, at its end."""
GAMMA = 1.4
CHANNELS = 3

Variables = Literal["conservative", "primitive"]
Coordinates = Literal["unit", "tube"]
_VARIABLES = ("x", "y")


def read(
    folder: Path,
    split: Literal["train", "test"],
    samples: int,
    variables: Variables = "conservative",
    coordinates: Coordinates = "unit",
    *,
    others: int = 0,
) -> Fields:
    r"""Samples of the raw file: three fields at t = 0, and the energy at t = 1.5.

    .. math::
        u = m / \rho, \qquad p = (\gamma - 1) \left(E - \frac{m^2}{2 \rho}\right), \qquad \gamma = 1.4

    Args:
        folder: Folder of the raw file, see :data:`FILES`; MAT version 5 or 7.3.
        split: ``"train"``: the first samples of the file, at most 1024; ``"test"``: the last ones, at most 128.
        samples: How many.
        variables: Inputs: density, momentum and energy (``"conservative"``), or density, velocity and pressure
            (``"primitive"``).
        coordinates: See :func:`positions`.
        others: Samples of the other split; refused if some would be in both.

    Returns:
        Fields with ``x [S, 2048, 3]`` and ``y [S, 2048, 1]``.

    Raises:
        FileNotFoundError: If there is no raw file.
        ValueError: If an option is out of range, or the file is broken, laid out otherwise, holds too few samples, or
            values that are not finite, or are not those of a gas.

    Reference:
        Lanthaler, Molinaro, Hadorn and Mishra, "Nonlinear reconstruction for operator learning of PDEs with
        discontinuities", ICLR 2023; Chen and Wu, ICML 2024, appendix A.2.
    """
    if split not in ("train", "test"):
        raise ValueError(f"Expected 'split' to be 'train' or 'test' (got {split!r})")
    if variables not in get_args(Variables):
        raise ValueError(f"Expected 'variables' to be one of {', '.join(get_args(Variables))} (got {variables!r})")
    pos = positions(coordinates)
    most = TRAIN if split == "train" else TEST
    if not 1 <= samples <= most:
        raise ValueError(f"Expected 'samples' to be from 1 to {most} for split {split!r} (got {samples})")
    path = raw_file(folder, FILES, "shock_tube")
    number = _total(path)
    numbers = split_numbers(path, number, split, samples, others, "shock_tube")
    stored = read_mat(path, _VARIABLES, slice(numbers[0], numbers[-1] + 1))
    x, y = (np.asarray(stored[name], np.float64) for name in _VARIABLES)
    y = y.reshape(samples, SIZE, -1)[..., -1:]  # the energy is the last of three, or alone
    for name, values in (("x", x), ("y", y)):
        check_finite(f"'{name}' in {path}", values, numbers)
    primitive = _primitive(x)
    _check_gas(path, primitive, y, numbers)
    chosen = x if variables == "conservative" else primitive
    return Fields(pos, GRID, np.ascontiguousarray(chosen, np.float32), np.ascontiguousarray(y, np.float32), numbers)


def positions(coordinates: Coordinates = "unit") -> NDArray[np.float64]:
    """Points of the grid ``[2048, 1]``, the left ends of the cells.

    Args:
        coordinates: ``"unit"``: i / 2048, as in the authors' code for the paper; ``"tube"``: those of the tube, from
            -5 to 5.

    Raises:
        ValueError: If it is neither of the two.
    """
    if coordinates not in get_args(Coordinates):
        raise ValueError(
            f"Expected 'coordinates' to be one of {', '.join(get_args(Coordinates))} (got {coordinates!r})"
        )
    ends = (0, 1) if coordinates == "unit" else (-5, 5)
    return np.linspace(*ends, SIZE + 1)[:-1, None]


def total(folder: Path) -> int:
    """How many samples the raw file holds; its values are not read.

    Raises:
        FileNotFoundError: If there is no raw file.
        ValueError: If the file is broken or laid out otherwise.
    """
    return _total(raw_file(folder, FILES, "shock_tube"))


def missing(folder: Path) -> list[str]:
    """Name of the raw file if there is neither it nor the one that takes its place."""
    return missing_file(folder, FILES)


def _total(path: Path) -> int:
    """Samples of a file that is laid out as it should be."""
    shapes = named_shapes(path, _VARIABLES)
    for name, shape in shapes.items():
        allowed = [(SIZE, CHANNELS)] + [(SIZE, 1), (SIZE,)] * (name == "y")
        wanted = f"Expected '{name}' in {path} to have shape (samples, {SIZE}, {CHANNELS})"
        if name == "y":
            wanted += f", or (samples, {SIZE}) or (samples, {SIZE}, 1) for the energy alone,"
        if shape[1:] in allowed:
            continue
        if shape[::-1][1:] in allowed:
            raise ValueError(
                f"{wanted} (got {shape}, the axes reversed); save it with the samples first. A file of MAT version 7.3 "
                f"holds its axes reversed anyway, and is put right when it is read: reverse nothing by hand"
            )
        raise ValueError(f"{wanted} (got {shape}); is this a file of another benchmark or another grid?")
    if shapes["x"][0] != shapes["y"][0]:
        raise ValueError(f"Expected as many samples of 'x' as of 'y' in {path} (got {shapes['x']} and {shapes['y']})")
    return shapes["x"][0]


def _primitive(conservative: NDArray[np.float64]) -> NDArray[np.float64]:
    density, momentum, energy = np.moveaxis(conservative, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):  # no density: refused afterwards
        velocity = momentum / density
        pressure = (GAMMA - 1) * (energy - momentum * velocity / 2)
    return np.stack([density, velocity, pressure], -1)


def _check_gas(
    path: Path, primitive: NDArray[np.float64], energy: NDArray[np.float64], numbers: NDArray[np.int64]
) -> None:
    """Refuse a file whose channels come in another order, as far as that makes what no gas can be."""
    checks: tuple[tuple[str, NDArray[Any]], ...] = (
        ("the density, the first channel of 'x',", primitive[..., 0]),
        ("the pressure of density, momentum and energy, the channels of 'x',", primitive[..., 2]),
        ("the energy in 'y'", energy),
    )
    for name, values in checks:
        good = (values > 0).reshape(len(values), -1).all(1)
        if not good.all():
            raise ValueError(
                f"Expected {name} in {path} to be positive (got others in sample {numbers[np.argmin(good)]}, the first "
                f"of {int((~good).sum())}); are the channels in this order?"
            )
