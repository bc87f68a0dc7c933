"""Airfoils morphed from NACA0012, and the C-grid round them."""

from __future__ import annotations

import functools
from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

AROUND, WAKE, OUTWARD = 120, 50, 50
"""Cells round the airfoil, along either side of the wake, and outwards."""
GRID = (2 * WAKE + AROUND + 1, OUTWARD + 1)
LEADING = WAKE + AROUND // 2
"""Column of the leading edge; the trailing edge is at columns ``WAKE`` and ``WAKE + AROUND``."""
PARAMETERS = 8
RADIUS = 40.0
"""Radius of the outer semicircle about the trailing edge, and place of the outlet, in chords."""
_FIRST_STEP = 2 / 120
_RATIO = 1.02


def airfoil() -> Floats:
    r"""NACA0012 from the trailing edge over the upper side to the leading edge and back below, ``[121, 2]``.

    .. math::
        y = \pm 0.6 (0.2969 \sqrt x - 0.1260 x - 0.3516 x^2 + 0.2843 x^3 - 0.1036 x^4)

    On each side :math:`x = 0, h/4, h, 2 h, \dots, 1` with :math:`h = 1/59`.

    Example:
        >>> airfoil()[[0, 60, 120]].round(12).tolist()
        [[1.0, 0.0], [0.0, 0.0], [1.0, 0.0]]
    """
    x = np.linspace(0, 1, AROUND // 2)
    x = np.concatenate([x[:1], x[1:2] / 4, x[1:]])
    y = 0.6 * (0.2969 * np.sqrt(x) - 0.1260 * x - 0.3516 * x**2 + 0.2843 * x**3 - 0.1036 * x**4)
    y[-1] = 0.0  # the coefficients add up to nothing, but for rounding
    upper, lower = np.stack([x, y], 1)[::-1], np.stack([x, 0.0 - y], 1)[1:]  # no negative zero
    return np.concatenate([upper, lower])


def morph(points: Floats, theta: ArrayLike) -> Floats:
    r"""Move points upwards by a cubic in x times a line in y.

    .. math::
        y \mapsto y + \sum_{k=1}^{4} \theta_k \Phi_k(x) \Psi_-(y) + \theta_{9-k} \Phi_k(x) \Psi_+(y),
        \qquad \Psi_\pm(y) = \frac12 \pm \frac{y}{0.2}

    with :math:`\Phi_k` the Lagrange polynomials of :math:`x = -0.25, 0.25, 0.75, 1.25`: the coefficients are the
    displacements of the nodes of a box, counter-clockwise from its lower left corner.

    Args:
        points: Points ``[..., 2]``.
        theta: Coefficients ``[8]``.

    Raises:
        ValueError: If there are not eight finite coefficients.
    """
    theta = np.asarray(theta, np.float64)
    if theta.shape != (PARAMETERS,) or not np.isfinite(theta).all():
        raise ValueError(f"Expected 'theta' to hold {PARAMETERS} finite coefficients (got {theta})")
    x, y = points[..., 0], points[..., 1]
    knots = np.array([-0.25, 0.25, 0.75, 1.25])
    shift = np.zeros_like(y)
    for k, knot in enumerate(knots):
        others = np.delete(knots, k)
        basis = np.prod([(x - other) / (knot - other) for other in others], axis=0)
        shift += basis * (theta[k] * (0.5 - y / 0.2) + theta[-1 - k] * (0.5 + y / 0.2))
    return np.stack([x, y + shift], -1)


def stretching(first: float, cells: int) -> Floats:
    r"""Numbers from 0 to 1 whose steps grow geometrically from ``first``, ``[cells + 1]``.

    Where the ratio of neighbouring steps would exceed 1.02, it is 1.02 up to three quarters of the numbers, and then
    another one.

    Raises:
        ValueError: If ``first`` is not a positive number less than ``1 / cells``.
    """
    if not 0 < first < 1 / cells:
        raise ValueError(f"Expected 'first' to be between 0 and {1 / cells} (got {first})")
    steps = first * _ratio(first, cells) ** np.arange(cells)
    if steps[1] > _RATIO * first:
        count = 3 * (cells + 1) // 4 - 1
        near = first * _RATIO ** np.arange(count)
        start, rest = near[-1] * _RATIO, 1 - near.sum()
        far = start * _ratio(start / rest, cells - count) ** np.arange(cells - count)
        steps = np.concatenate([near, far])
    result = np.concatenate([[0.0], np.cumsum(steps)])
    result[-1] = 1.0
    return result


def grid(theta: ArrayLike) -> Floats:
    """C-grid round the morphed airfoil, ``[221, 51, 2]``.

    The first index runs from the outlet along the upper side of the wake to the trailing edge (50), over the upper side
    to the leading edge (110), back below to the trailing edge (170), and along the wake to the outlet (220). The second
    runs outwards on straight lines, from the wall or the wake cut. Points on the cut come twice: ``[i, 0]`` is
    ``[220 - i, 0]``.

    Args:
        theta: Coefficients ``[8]``, see :func:`morph`.

    Raises:
        ValueError: If there are not eight finite coefficients, or a cell is inverted.

    Example:
        >>> points = grid(np.zeros(8))
        >>> points[[0, 50, 110], 0].round(12).tolist()
        [[40.0, 0.0], [1.0, 0.0], [0.0, 0.0]]
    """
    wall = morph(airfoil(), theta)
    along, outward = _stretchings()
    wake = wall[0] + along[:, None] * (np.array([RADIUS, 0.0]) - wall[0])
    inner = np.concatenate([wake[:0:-1], wall, wake[1:]])
    angle = np.linspace(0, np.pi / 2, AROUND // 2 + 1)  # one quadrant, mirrored, so that the grid is symmetric
    quadrant = np.stack([1 - RADIUS * np.sin(angle), RADIUS * np.cos(angle)], 1)
    quadrant[-1, 1] = 0.0
    exit_ = np.stack([np.linspace(1, RADIUS, WAKE + 1), np.full(WAKE + 1, RADIUS)], 1)
    upper = np.concatenate([exit_[:0:-1], quadrant])
    outer = np.concatenate([upper, upper[-2::-1] * [1, -1]])
    points = inner[:, None] + outward[:, None] * (outer - inner)[:, None]
    points[:, -1], points[0, :, 0], points[-1, :, 0] = outer, RADIUS, RADIUS
    least = cell_areas(points).min()
    if least <= 0:
        raise ValueError(f"Expected no inverted cell (got an area of {least:.3g}); use smaller coefficients")
    return cast(Floats, points)


def cell_areas(points: Floats) -> Floats:
    """Least area of the four triangles at the corners of each cell, ``[220, 50]``; negative if it is not convex."""
    ring = [points[:-1, :-1], points[:-1, 1:], points[1:, 1:], points[1:, :-1]]  # counter-clockwise
    areas = []
    for k in range(4):
        one, two = ring[(k + 1) % 4] - ring[k], ring[k - 1] - ring[k]
        areas.append((one[..., 0] * two[..., 1] - one[..., 1] * two[..., 0]) / 2)
    return cast(Floats, np.min(areas, axis=0))


@functools.cache
def _stretchings() -> tuple[Floats, Floats]:
    trailing = airfoil()[:2]
    spacing = float(np.linalg.norm(trailing[1] - trailing[0]))
    return stretching(spacing / (RADIUS - 1), WAKE), stretching(_FIRST_STEP / RADIUS, OUTWARD)


def _ratio(first: float, cells: int) -> float:
    """Ratio of ``cells`` geometric steps from ``first`` that add up to 1."""
    most = first ** (-1 / (cells - 1))  # the last step alone would be 1
    return float(brentq(lambda ratio: first * np.sum(ratio ** np.arange(cells)) - 1, 1.0, most, xtol=1e-15))
