"""Residuals of the steady Euler equations on dual volumes, and the blocks of a Jacobian; compiled loops.

States are primitive, rho, u, v, p, one row a node; the ratio of specific heats is 1.4.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
from naca_mesh import Floats, Ints

F = TypeVar("F", bound=Callable[..., Any])

GAMMA = 1.4
_FIX = 0.1
"""Harten's entropy fix, in sound speeds."""


def compiled(function: F) -> F:
    """Compile a function on its first call, and keep the result on disk."""
    return cast(F, numba.njit(cache=True, error_model="numpy")(function))


@compiled
def _minmod(one: float, two: float) -> float:
    if one * two <= 0:
        return 0.0
    return one if abs(one) < abs(two) else two


@compiled
def _waves(left: Floats, right: Floats, nx: float, ny: float, wave: Floats) -> None:
    """Roe's average and wave speeds: u, v, H, c, normal velocity; |un - c|, |un|, |un + c|."""
    ratio = np.sqrt(right[0] / left[0])
    weight = 1 / (1 + ratio)
    u = weight * (left[1] + ratio * right[1])
    v = weight * (left[2] + ratio * right[2])
    enthalpy_left = GAMMA / (GAMMA - 1) * left[3] / left[0] + (left[1] ** 2 + left[2] ** 2) / 2
    enthalpy_right = GAMMA / (GAMMA - 1) * right[3] / right[0] + (right[1] ** 2 + right[2] ** 2) / 2
    enthalpy = weight * (enthalpy_left + ratio * enthalpy_right)
    sound = np.sqrt((GAMMA - 1) * (enthalpy - (u * u + v * v) / 2))
    normal = u * nx + v * ny
    wave[0], wave[1], wave[2], wave[3], wave[4] = u, v, enthalpy, sound, normal
    least = _FIX * sound
    for k in range(3):
        speed = abs(normal + (k - 1) * sound)
        if k != 1 and speed < least:
            speed = (speed * speed + least * least) / (2 * least)
        wave[5 + k] = speed


@compiled
def _dissipation(
    wave: Floats, nx: float, ny: float, density: float, momentum_x: float, momentum_y: float, energy: float, out: Floats
) -> None:
    """Absolute value of Roe's matrix times a difference of conservative variables."""
    u, v, enthalpy, sound, normal = wave[0], wave[1], wave[2], wave[3], wave[4]
    # Mean density times the differences of velocity.
    du, dv = momentum_x - u * density, momentum_y - v * density
    dn = du * nx + dv * ny
    pressure = (GAMMA - 1) * ((u * u + v * v) / 2 * density - u * momentum_x - v * momentum_y + energy)
    square = sound * sound
    back = wave[5] * (pressure - sound * dn) / (2 * square)
    entropy = wave[6] * (density - pressure / square)
    forth = wave[7] * (pressure + sound * dn) / (2 * square)
    tx, ty = wave[6] * (du - dn * nx), wave[6] * (dv - dn * ny)
    out[0] = back + entropy + forth
    out[1] = back * (u - sound * nx) + entropy * u + tx + forth * (u + sound * nx)
    out[2] = back * (v - sound * ny) + entropy * v + ty + forth * (v + sound * ny)
    out[3] = (
        back * (enthalpy - sound * normal)
        + entropy * (u * u + v * v) / 2
        + u * tx
        + v * ty
        + forth * (enthalpy + sound * normal)
    )


@compiled
def _roe(left: Floats, right: Floats, nx: float, ny: float, wave: Floats, out: Floats) -> None:
    """Roe's flux through a face with the normal (nx, ny), as long as the face."""
    size = np.sqrt(nx * nx + ny * ny)
    nx, ny = nx / size, ny / size
    _waves(left, right, nx, ny, wave)
    kinetic_left = left[0] * (left[1] ** 2 + left[2] ** 2) / 2
    kinetic_right = right[0] * (right[1] ** 2 + right[2] ** 2) / 2
    _dissipation(
        wave,
        nx,
        ny,
        right[0] - left[0],
        right[0] * right[1] - left[0] * left[1],
        right[0] * right[2] - left[0] * left[2],
        (right[3] - left[3]) / (GAMMA - 1) + kinetic_right - kinetic_left,
        out,
    )
    flow_left = left[0] * (left[1] * nx + left[2] * ny)
    flow_right = right[0] * (right[1] * nx + right[2] * ny)
    pressure = left[3] + right[3]
    total_left = GAMMA / (GAMMA - 1) * left[3] + kinetic_left
    total_right = GAMMA / (GAMMA - 1) * right[3] + kinetic_right
    half = size / 2
    out[0] = half * (flow_left + flow_right - out[0])
    out[1] = half * (flow_left * left[1] + flow_right * right[1] + pressure * nx - out[1])
    out[2] = half * (flow_left * left[2] + flow_right * right[2] + pressure * ny - out[2])
    out[3] = half * (flow_left / left[0] * total_left + flow_right / right[0] * total_right - out[3])


@compiled
def residual(
    state: Floats,
    stream: Floats,
    edges: Ints,
    before: Ints,
    after: Ints,
    face: Floats,
    wall: Floats,
    far: Floats,
    second: bool,
    out: Floats,
) -> None:
    """Fluxes out of every volume, ``[N, 4]`` into ``out``.

    Args:
        state: Primitive variables ``[N, 4]``.
        stream: Those of the free stream, ``[4]``.
        edges: See :class:`~naca_volumes.Topology`, as the next two.
        before: Nodes ahead of edges.
        after: Nodes behind edges.
        face: See :class:`~naca_volumes.DualMesh`, as the next two.
        wall: Normals of the wall.
        far: Normals of the outer boundary.
        second: Whether to reconstruct states at faces, rather than take those of the nodes.
        out: Where to write.
    """
    left, right, flux, wave = np.empty(4), np.empty(4), np.empty(4), np.empty(8)
    out[:] = 0.0
    for e in range(len(edges)):
        a, b = edges[e, 0], edges[e, 1]
        for k in range(4):
            left[k], right[k] = state[a, k], state[b, k]
        if second:
            for k in range(4):
                step = state[b, k] - state[a, k]
                if before[e, 0] >= 0:
                    ahead = state[a, k] - (state[before[e, 0], k] + state[before[e, 1], k]) / 2
                    left[k] += _minmod(step, (step + 2 * ahead) / 3) / 2
                if after[e, 0] >= 0:
                    behind = (state[after[e, 0], k] + state[after[e, 1], k]) / 2 - state[b, k]
                    right[k] -= _minmod(step, (step + 2 * behind) / 3) / 2
        _roe(left, right, face[e, 0], face[e, 1], wave, flux)
        for k in range(4):
            out[a, k] += flux[k]
            out[b, k] -= flux[k]
    for a in range(len(state)):
        out[a, 1] += wall[a, 0] * state[a, 3]
        out[a, 2] += wall[a, 1] * state[a, 3]
        if far[a, 0] != 0 or far[a, 1] != 0:
            _roe(state[a], stream, far[a, 0], far[a, 1], wave, flux)
            for k in range(4):
                out[a, k] += flux[k]


@compiled
def speeds(state: Floats, edges: Ints, face: Floats, wall: Floats, far: Floats, out: Floats) -> None:
    """Sum over a volume's faces of their size times the greatest wave speed, ``[N]`` into ``out``."""
    out[:] = 0.0
    for e in range(len(edges)):
        for k in range(2):
            out[edges[e, k]] += _speed(state[edges[e, k]], face[e, 0], face[e, 1])
    for a in range(len(state)):
        out[a] += _speed(state[a], wall[a, 0], wall[a, 1]) + _speed(state[a], far[a, 0], far[a, 1])


@compiled
def _speed(state: Floats, nx: float, ny: float) -> float:
    normal = state[1] * nx + state[2] * ny
    sound: float = np.sqrt(GAMMA * state[3] / state[0] * (nx * nx + ny * ny))
    speed: float = abs(normal) + sound
    return speed


@compiled
def _flux_jacobian(state: Floats, nx: float, ny: float, factor: float, out: Floats) -> None:
    """Add the derivative of the exact flux by the conservative variables, times a factor."""
    u, v = state[1], state[2]
    normal, half = u * nx + v * ny, (u * u + v * v) / 2
    enthalpy = GAMMA / (GAMMA - 1) * state[3] / state[0] + half
    less = GAMMA - 1
    out[0, 1] += factor * nx
    out[0, 2] += factor * ny
    out[1, 0] += factor * (less * half * nx - u * normal)
    out[1, 1] += factor * (normal + (1 - less) * u * nx)
    out[1, 2] += factor * (u * ny - less * v * nx)
    out[1, 3] += factor * less * nx
    out[2, 0] += factor * (less * half * ny - v * normal)
    out[2, 1] += factor * (v * nx - less * u * ny)
    out[2, 2] += factor * (normal + (1 - less) * v * ny)
    out[2, 3] += factor * less * ny
    out[3, 0] += factor * normal * (less * half - enthalpy)
    out[3, 1] += factor * (enthalpy * nx - less * u * normal)
    out[3, 2] += factor * (enthalpy * ny - less * v * normal)
    out[3, 3] += factor * GAMMA * normal


@compiled
def _absolute(left: Floats, right: Floats, nx: float, ny: float, wave: Floats, column: Floats, out: Floats) -> None:
    """Absolute value of Roe's matrix, times the size of the face."""
    size = np.sqrt(nx * nx + ny * ny)
    nx, ny = nx / size, ny / size
    _waves(left, right, nx, ny, wave)
    unit = np.eye(4)
    for k in range(4):
        _dissipation(wave, nx, ny, unit[k, 0], unit[k, 1], unit[k, 2], unit[k, 3], column)
        for row in range(4):
            out[row, k] = size * column[row]


@compiled
def jacobian(
    state: Floats,
    stream: Floats,
    edges: Ints,
    face: Floats,
    wall: Floats,
    far: Floats,
    diagonal: Ints,
    upper: Ints,
    lower: Ints,
    damping: Floats,
    out: Floats,
) -> None:
    """Jacobian of the first-order residual by the conservative variables, with Roe's matrices frozen.

    Args:
        state: Primitive variables ``[N, 4]``.
        stream: Those of the free stream, ``[4]``.
        edges: See :class:`~naca_volumes.Topology`.
        face: See :class:`~naca_volumes.DualMesh`, as the next two.
        wall: Normals of the wall.
        far: Normals of the outer boundary.
        diagonal: Places of the blocks in ``out``, as the next two.
        upper: Places of the derivatives of the first node's residual by the second node's state.
        lower: Places of those of the second by the first.
        damping: Added to the diagonal, ``[N]``.
        out: Where to write the blocks, ``[len(column), 4, 4]``.
    """
    wave, column, matrix = np.empty(8), np.empty(4), np.empty((4, 4))
    out[:] = 0.0
    for e in range(len(edges)):
        a, b = edges[e, 0], edges[e, 1]
        nx, ny = face[e, 0], face[e, 1]
        _absolute(state[a], state[b], nx, ny, wave, column, matrix)
        for sign, node, own, other in ((1.0, a, diagonal[a], lower[e]), (-1.0, b, diagonal[b], upper[e])):
            for i in range(4):
                for j in range(4):
                    out[own, i, j] += matrix[i, j] / 2
                    out[other, i, j] -= matrix[i, j] / 2
            _flux_jacobian(state[node], nx, ny, sign / 2, out[own])
            _flux_jacobian(state[node], nx, ny, -sign / 2, out[other])
    for a in range(len(state)):
        block = out[diagonal[a]]
        u, v = state[a, 1], state[a, 2]
        for i in range(2):
            strength = (GAMMA - 1) * wall[a, i]
            block[1 + i, 0] += strength * (u * u + v * v) / 2
            block[1 + i, 1] -= strength * u
            block[1 + i, 2] -= strength * v
            block[1 + i, 3] += strength
        if far[a, 0] != 0 or far[a, 1] != 0:
            _absolute(state[a], stream, far[a, 0], far[a, 1], wave, column, matrix)
            _flux_jacobian(state[a], far[a, 0], far[a, 1], 0.5, block)
            for i in range(4):
                for j in range(4):
                    block[i, j] += matrix[i, j] / 2
        for i in range(4):
            block[i, i] += damping[a]
