"""Grid sequencing: the flow on every second grid line is where Newton's method starts from on all of them."""

from __future__ import annotations

import logging

import numpy as np
from naca_mesh import Floats
from naca_solver import TIGHT, Flow, steady
from naca_volumes import topology

log = logging.getLogger(f"pitgeo.datasets.{__name__}")  # shown as those of the package are

_COARSE_TOLERANCE = 1e-3
_COARSE_CFL, _FINE_CFL = 20.0, 100.0
_COARSE_STEPS = 32
"""Shapes that need more on the coarse grid, those with strong shocks, do better from the free stream."""
_FREE_STEPS = 60
_CAREFUL_STEPS = 100


def sequenced(points: Floats, tolerance: float = 1e-4) -> Flow:
    """Solve for the steady flow round an airfoil, by the first of three ways that converges.

    From the flow on every second grid line, if that is found in a few steps; from the free stream; and from the flow on
    every second grid line again, however long that takes, with linear systems solved further. What counts as converged
    is the same: see ``tolerance`` of :func:`~naca_solver.steady`.

    Args:
        points: C-grid ``[221, 51, 2]``, see :func:`naca_mesh.grid`.
        tolerance: Stop when the norm of the residual is this part of the free stream's on the same grid.

    Returns:
        The flow, with the residuals and products of the last start on all grid lines.

    Raises:
        ArithmeticError: If it does not converge in any way.
    """
    shape = points.shape[0], points.shape[1]
    try:
        coarse = steady(points[::2, ::2], _COARSE_TOLERANCE, _COARSE_STEPS, cfl=_COARSE_CFL)
        return steady(points, tolerance, start=refine(coarse.state, shape), cfl=_FINE_CFL)
    except ArithmeticError as error:
        log.debug("From the coarse grid: %s", error)
    try:
        return steady(points, tolerance, _FREE_STEPS)
    except ArithmeticError as error:
        log.debug("From the free stream: %s", error)
    coarse = steady(points[::2, ::2], _COARSE_TOLERANCE, _CAREFUL_STEPS, cfl=_COARSE_CFL)
    start = refine(coarse.state, shape)
    return steady(points, tolerance, _CAREFUL_STEPS, start=start, cfl=_FINE_CFL, linear=TIGHT)


def refine(state: Floats, shape: tuple[int, int]) -> Floats:
    """Interpolate a state on every second grid line to all of them, linearly along both.

    Args:
        state: Values at the nodes of the coarse grid, ``[N, channels]``.
        shape: Points along both directions of the fine grid, both odd.

    Returns:
        Values at the nodes of the fine grid, ``[M, channels]``; those on the wake cut, whose points come twice with
        the same neighbours on it, count once.

    Raises:
        ValueError: If the state does not fit the grid.
    """
    if shape[0] % 2 == 0 or shape[1] % 2 == 0:
        raise ValueError(f"Expected 'shape' to hold odd numbers of points (got {shape})")
    coarse, fine = topology((shape[0] // 2 + 1, shape[1] // 2 + 1)), topology(shape)
    if state.ndim != 2 or len(state) != len(coarse.diagonal):
        raise ValueError(f"Expected 'state' to have shape [{len(coarse.diagonal)}, channels] (got {state.shape})")
    values = np.empty((*shape, state.shape[1]))
    values[::2, ::2] = state[coarse.node]
    values[1::2, ::2] = (values[:-1:2, ::2] + values[2::2, ::2]) / 2
    values[:, 1::2] = (values[:, :-1:2] + values[:, 2::2]) / 2
    result = np.empty((len(fine.diagonal), state.shape[1]))
    result[fine.node] = values
    return result
