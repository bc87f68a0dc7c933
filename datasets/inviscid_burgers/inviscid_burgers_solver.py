"""Entropy solutions of Burgers' equation without viscosity by the formula of Hopf and Lax, and random starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Boundary = Literal["periodic", "constant"]

SHORTEST = 0.01
"""The least length of a random field: ten of 1024 cells."""

_NEWTON_STEPS = 3
_POINTS_A_CELL = 4
_LEAST_AMPLITUDE = 1e-16


@dataclass(frozen=True, eq=False)
class FourierSeries:
    r"""A real trigonometric polynomial, its slope and its primitive.

    .. math::
        u(x) = \operatorname{Re} \sum_{k=0}^{K} c_k z^k, \quad z = e^{2 \pi i x / P}, \qquad
        U(x) = \int_0^x u(s) \, ds

    Args:
        coefficients: The complex ``c_0`` to ``c_K``.
        period: The period P.
    """

    coefficients: NDArray[np.complex128]
    period: float = 1.0

    @property
    def mean(self) -> float:
        """Mean over a period."""
        return float(self.coefficients[0].real)

    def value(self, x: ArrayLike) -> Floats:
        """The series u at points of any shape."""
        return self._sum(self.coefficients, x)

    def slope(self, x: ArrayLike) -> Floats:
        """Its derivative."""
        return self._sum(self.coefficients * self._waves(), x)

    def primitive(self, x: ArrayLike) -> Floats:
        """Its integral U from 0."""
        waves = self._waves()
        waves[0] = 1
        coefficients = self.coefficients / waves
        coefficients[0] = -coefficients[1:].sum()
        return np.asarray(self.mean * np.asarray(x) + self._sum(coefficients, x))

    def _waves(self) -> NDArray[np.complex128]:
        return np.asarray(2j * np.pi / self.period * np.arange(len(self.coefficients)), np.complex128)

    def _sum(self, coefficients: NDArray[np.complex128], x: ArrayLike) -> Floats:  # by Horner's rule
        z = np.exp(2j * np.pi / self.period * np.asarray(x, np.float64))
        total = np.full_like(z, coefficients[-1])
        for coefficient in coefficients[-2::-1]:
            total *= z
            total += coefficient
        return np.asarray(total.real)


def random_field(random: np.random.Generator, length: float = 0.06, boundary: Boundary = "periodic") -> FourierSeries:
    r"""A Gaussian random field on the unit interval with mean 0, variance 1 and one length scale.

    .. math::
        \operatorname{E} u(x) u(y) \propto \sum_m e^{-(x - y + m P)^2 / (2 l^2)}, \qquad
        c_k \sim N\left(0, e^{-2 \pi^2 k^2 l^2 / P^2}\right)

    The period P is 1, or for a field that need not be periodic so long that opposite ends are independent.

    Args:
        random: Source of normal numbers: real, then imaginary parts of the coefficients.
        length: The length l, from 0.01 to 1.
        boundary: ``"periodic"``, or ``"constant"`` for a field that is not.

    Raises:
        ValueError: If the length is out of range, or the boundary is not one of the two.
    """
    if not SHORTEST <= length <= 1:
        raise ValueError(f"Expected 'length' to be from {SHORTEST} to 1 (got {length})")
    _check_boundary(boundary)
    period = 1.0 if boundary == "periodic" else 1 + 9 * length
    wave = 2 * np.pi * length / period
    modes = int(np.ceil(np.sqrt(-4 * np.log(_LEAST_AMPLITUDE)) / wave))
    variance = np.exp(-((wave * np.arange(modes + 1)) ** 2) / 2)
    variance[1:] *= 2
    normal = random.standard_normal((2, modes + 1))
    coefficients = np.sqrt(variance / variance.sum()) * (normal[0] + 1j * normal[1])
    coefficients[0] = coefficients[0].real
    return FourierSeries(coefficients, period)


def cell_averages(
    start: FourierSeries, time: float, cells: int = 1024, boundary: Boundary = "periodic"
) -> NDArray[np.float64]:
    r"""Exact cell averages of the entropy solution of :math:`u_t + (u^2 / 2)_x = 0` on the unit interval.

    .. math::
        \bar u_i = \frac{\varphi(x_{i+1/2}) - \varphi(x_{i-1/2})}{\Delta x}, \qquad
        \varphi(x) = \min_y \left[ U_0(y) + \frac{(x - y)^2}{2 T} \right]

    The minimum is at a y whose characteristic ends in x: :math:`y + T u_0(y) = x`. All such y are found between
    points of a fine grid where characteristics do not cross, and the least value wins.

    Args:
        start: The solution at time 0.
        time: The time T; 0 gives the averages of ``start``.
        cells: How many cells of equal size.
        boundary: ``"periodic"``, or ``"constant"``: left of 0 and right of 1 the start has its values there.

    Returns:
        The averages, ``[cells]``.

    Raises:
        ValueError: If a number or the boundary is out of range, or the start is periodic with another period than 1.

    Example:
        >>> sine = FourierSeries(np.array([0, -1j]))  # sin(2 pi x)
        >>> before, after = cell_averages(sine, 0.2)[511:513]
        >>> (before - after).round(2).item()  # the shock at x = 1/2
        1.83

    Reference:
        Lax, "Hyperbolic systems of conservation laws II", 1957; Evans, "Partial differential equations", section 3.4.
    """
    _check_boundary(boundary)
    if not 0 <= time < np.inf or cells < 1:
        raise ValueError(f"Expected 'time' not to be negative and 'cells' to be at least 1 (got {time} and {cells})")
    if boundary == "periodic" and start.period != 1:
        raise ValueError(f"Expected a start of period 1 for a periodic solution (got {start.period})")
    if not time:
        return np.diff(start.primitive(np.linspace(0, 1, cells + 1))) * cells
    potential = _potential(start, time, cells, boundary)
    return np.diff(potential) * cells


def _potential(start: FourierSeries, time: float, cells: int, boundary: Boundary) -> Floats:
    """The function phi at the edges of the cells, ``[cells + 1]``."""
    grid = np.linspace(0, 1, _points(start, cells) + 1)
    value = start.value(grid)
    end = grid + time * value
    # Edges whose characteristics start between one point of the grid and the next; none where they cross.
    first = np.ceil(end * cells).astype(np.int64)
    count = np.maximum(np.diff(first), 0)
    interval = np.repeat(np.arange(len(count)), count)
    edge = first[interval] + np.arange(len(interval)) - (np.cumsum(count) - count)[interval]
    left, right = grid[interval], grid[interval + 1]
    x = edge / cells
    y = left + (right - left) * (x - end[interval]) / (end[interval + 1] - end[interval])
    for _ in range(_NEWTON_STEPS):
        slope = 1 + time * start.slope(y)
        change = (y + time * start.value(y) - x) / np.where(slope > 0, slope, np.inf)
        y = np.clip(y - change, left, right)
    found = start.primitive(y) + (x - y) ** 2 / (2 * time)
    potential = np.full(cells + 1, np.inf)
    if boundary == "periodic":
        np.minimum.at(potential, edge % cells, found - edge // cells * start.mean)
        potential[-1] = potential[0] + start.mean
        return potential
    inside = (edge >= 0) & (edge <= cells)
    np.minimum.at(potential, edge[inside], found[inside])
    number = np.arange(cells + 1)
    for side, outside in ((0, number < first[0]), (-1, number >= first[-1])):  # where the start is constant
        travelled = start.primitive(grid[side]) + value[side] * (number / cells - end[side] + time * value[side] / 2)
        potential[outside] = np.minimum(potential, travelled)[outside]
    return potential


def _points(start: FourierSeries, cells: int) -> int:
    """Enough points to see where characteristics cross: some a cell, and many a wave."""
    return max(_POINTS_A_CELL * cells, int(np.ceil(32 * len(start.coefficients) / start.period)))


def _check_boundary(boundary: str) -> None:
    if boundary not in get_args(Boundary):
        raise ValueError(f"Expected 'boundary' to be one of {', '.join(get_args(Boundary))} (got {boundary!r})")
