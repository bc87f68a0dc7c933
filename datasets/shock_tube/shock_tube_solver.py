"""The exact solution of the Riemann problem of the one-dimensional Euler equations of an ideal gas."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
GAMMA = 1.4

_MAX_STEPS = 100


class Gas(NamedTuple):
    """A state: density, velocity, pressure."""

    density: float
    velocity: float
    pressure: float


class Star(NamedTuple):
    """What is between the two outer waves: one pressure and velocity, and a density on each side of the contact."""

    pressure: float
    velocity: float
    left_density: float
    right_density: float


def star_state(left: Gas, right: Gas, gamma: float = GAMMA) -> Star:
    r"""Solve for the state between the waves, by Newton's method for the pressure.

    .. math::
        f(p, W_L) + f(p, W_R) + u_R - u_L = 0, \qquad f(p, W_K) =
        \begin{cases}
            (p - p_K) \sqrt{\frac{2 / ((\gamma + 1) \rho_K)}{p + p_K (\gamma - 1) / (\gamma + 1)}} & p > p_K \\
            \frac{2 a_K}{\gamma - 1} \left[(p / p_K)^{(\gamma - 1) / 2 \gamma} - 1\right] & p \le p_K
        \end{cases}

    Args:
        left: State on the left.
        right: State on the right.
        gamma: Ratio of specific heats.

    Raises:
        ValueError: If a density or a pressure is not positive, or a vacuum would form.
        ArithmeticError: If Newton's method does not converge.

    Example:
        >>> star = star_state(Gas(1.0, 0.0, 1.0), Gas(0.125, 0.0, 0.1))  # Sod's
        >>> round(star.pressure, 5), round(star.velocity, 5)
        (0.30313, 0.92745)

    Reference:
        Toro, "Riemann solvers and numerical methods for fluid dynamics", 3rd edition, sections 4.2 and 4.3.
    """
    for side, gas in (("left", left), ("right", right)):
        if not (np.isfinite(gas).all() and gas.density > 0 and gas.pressure > 0):
            raise ValueError(f"Expected the {side} gas to be finite, density and pressure positive (got {gas})")
    rise = right.velocity - left.velocity
    sounds = _sound(left, gamma), _sound(right, gamma)
    if rise >= 2 * sum(sounds) / (gamma - 1):
        raise ValueError(f"Expected gases that do not part so fast that a vacuum forms (got {left} and {right})")
    power = (gamma - 1) / (2 * gamma)
    roots = [sound / gas.pressure**power for sound, gas in zip(sounds, (left, right), strict=True)]
    pressure = float(((sum(sounds) - (gamma - 1) / 2 * rise) / sum(roots)) ** (1 / power))  # of two rarefactions
    for _ in range(_MAX_STEPS):
        (one, one_slope), (two, two_slope) = (_velocity_change(gas, pressure, gamma) for gas in (left, right))
        following = max(pressure - (one + two + rise) / (one_slope + two_slope), pressure / 10)
        change, pressure = abs(following - pressure), following
        if change <= 4e-16 * pressure:
            break
    else:
        if change > 1e-12 * pressure:
            raise ArithmeticError(f"Newton's method did not converge in {_MAX_STEPS} steps for {left} and {right}")
    one, two = (_velocity_change(gas, pressure, gamma)[0] for gas in (left, right))
    velocity = (left.velocity + right.velocity + two - one) / 2
    return Star(pressure, velocity, _density(left, pressure, gamma), _density(right, pressure, gamma))


def riemann_solution(left: Gas, right: Gas, speed: ArrayLike, gamma: float = GAMMA) -> Floats:
    """Density, velocity and pressure at given speeds, that is where (x - x_0) / t has these values.

    Args:
        left: State on the left.
        right: State on the right.
        speed: Any shape; infinite ones give the states on the left and on the right.
        gamma: Ratio of specific heats.

    Returns:
        The primitive variables along a new last axis.

    Raises:
        ValueError: As :func:`star_state` does.
        ArithmeticError: As :func:`star_state` does.

    Reference:
        Toro, section 4.5.
    """
    speed = np.asarray(speed, np.float64)
    star = star_state(left, right, gamma)
    result = np.empty((*speed.shape, 3))
    on_left = speed < star.velocity
    result[on_left] = _side(left, star.pressure, star.velocity, speed[on_left], gamma)
    # The right side is the left one in a mirror.
    mirrored = Gas(right.density, -right.velocity, right.pressure)
    result[~on_left] = _side(mirrored, star.pressure, -star.velocity, -speed[~on_left], gamma) * (1, -1, 1)
    return result


def conservative(primitive: ArrayLike, gamma: float = GAMMA) -> Floats:
    """Density, momentum and total energy of density, velocity and pressure, along the last axis."""
    density, velocity, pressure = np.moveaxis(np.asarray(primitive, np.float64), -1, 0)
    energy = density * velocity**2 / 2 + pressure / (gamma - 1)
    return np.stack([density, density * velocity, energy], -1)


def _side(gas: Gas, pressure: float, velocity: float, speed: Floats, gamma: float) -> Floats:
    """Primitive variables left of the contact."""
    star = (_density(gas, pressure, gamma), velocity, pressure)
    sound = _sound(gas, gamma)
    result = np.empty((*speed.shape, 3))
    if pressure > gas.pressure:
        ratio = pressure / gas.pressure
        shock = gas.velocity - sound * np.sqrt((gamma + 1) / (2 * gamma) * ratio + (gamma - 1) / (2 * gamma))
        result[speed < shock], result[speed >= shock] = gas, star
        return result
    head = gas.velocity - sound
    tail = velocity - sound * (pressure / gas.pressure) ** ((gamma - 1) / (2 * gamma))
    result[speed < head], result[speed >= tail] = gas, star
    fan = (speed >= head) & (speed < tail)
    local = (2 * sound + (gamma - 1) * (gas.velocity - speed[fan])) / (gamma + 1)  # the speed of sound
    result[fan, 0] = gas.density * (local / sound) ** (2 / (gamma - 1))
    result[fan, 1] = speed[fan] + local
    result[fan, 2] = gas.pressure * (local / sound) ** (2 * gamma / (gamma - 1))
    return result


def _velocity_change(gas: Gas, pressure: float, gamma: float) -> tuple[float, float]:
    """The function f of the pressure behind a wave, and its slope."""
    if pressure > gas.pressure:
        shift = gas.pressure * (gamma - 1) / (gamma + 1)
        root = float(np.sqrt(2 / ((gamma + 1) * gas.density * (pressure + shift))))
        jump = pressure - gas.pressure
        return jump * root, root * (1 - jump / (2 * (pressure + shift)))
    ratio, sound = pressure / gas.pressure, _sound(gas, gamma)
    change = 2 * sound / (gamma - 1) * (ratio ** ((gamma - 1) / (2 * gamma)) - 1)
    return change, ratio ** (-(gamma + 1) / (2 * gamma)) / (gas.density * sound)


def _density(gas: Gas, pressure: float, gamma: float) -> float:
    """Density behind a wave."""
    ratio, part = pressure / gas.pressure, (gamma - 1) / (gamma + 1)
    if ratio > 1:
        return gas.density * (ratio + part) / (part * ratio + 1)
    return float(gas.density * ratio ** (1 / gamma))


def _sound(gas: Gas, gamma: float) -> float:
    return float(np.sqrt(gamma * gas.pressure / gas.density))
