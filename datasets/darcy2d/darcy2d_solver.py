"""Darcy's equation on the unit square: five-point scheme, conjugate gradients behind a fast Poisson solver."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dstn, idctn, idstn

Floats = NDArray[np.float64]

TAU = 3.0
HIGH, LOW = 12.0, 3.0


def gaussian_field(noise: Floats) -> Floats:
    r"""A smooth random field of mean zero from white noise of the same size, by cosine transform.

    .. math::
        z = \mathcal{C}^{-1} \left[ s \, \tau \, (\pi^2 |k|^2 + \tau^2)^{-1} \, \xi \right], \qquad \tau = 3

    the mean mode left out.

    Args:
        noise: Standard normals ``[s, s]``.
    """
    size = len(noise)
    wave = np.pi * np.arange(size)
    spectrum = size * TAU * noise / (wave[:, None] ** 2 + wave**2 + TAU**2)
    spectrum[0, 0] = 0.0
    field: Floats = idctn(spectrum, norm="ortho")
    return field


def permeability(noise: Floats) -> Floats:
    """12 where the random field is not negative, else 3, ``[s, s]``."""
    return np.where(gaussian_field(noise) >= 0, HIGH, LOW)


def apply_operator(coefficient: Floats, interior: Floats) -> Floats:
    r""":math:`-\nabla \cdot (a \nabla u)` times the squared spacing, on interior points; ``u`` is 0 on the boundary.

    The coefficient on a face is the mean of those of its two points.

    Args:
        coefficient: ``a`` at all points, ``[s, s]``.
        interior: ``u`` at the interior points, ``[s - 2, s - 2]``.
    """
    padded = np.pad(interior, 1)
    across = 0.5 * (coefficient[1:, 1:-1] + coefficient[:-1, 1:-1]) * (padded[1:, 1:-1] - padded[:-1, 1:-1])
    along = 0.5 * (coefficient[1:-1, 1:] + coefficient[1:-1, :-1]) * (padded[1:-1, 1:] - padded[1:-1, :-1])
    return across[:-1] - across[1:] + along[:, :-1] - along[:, 1:]


def poisson_solver(size: int) -> Callable[[Floats], Floats]:
    """The inverse of :func:`apply_operator` with a coefficient of 1, on ``[size, size]`` interior points."""
    eigenvalue = 2 - 2 * np.cos(np.pi * np.arange(1, size + 1) / (size + 1))
    divisor = eigenvalue[:, None] + eigenvalue

    def solve(right: Floats) -> Floats:
        result: Floats = idstn(dstn(right, type=1) / divisor, type=1)
        return result

    return solve


def solve_darcy(
    coefficient: Floats, source: Floats | float = 1.0, tolerance: float = 1e-10, most: int = 200
) -> tuple[Floats, int]:
    r"""Solve :math:`-\nabla \cdot (a \nabla u) = f` on the unit square, ``u = 0`` on its boundary.

    Second order in the spacing where the coefficient is smooth.

    Args:
        coefficient: ``a`` at the points of a regular grid, ends included, ``[s, s]``, positive.
        source: ``f`` at the interior points, ``[s - 2, s - 2]``, or one number.
        tolerance: Residual to stop at, relative to the source.
        most: Iterations after which to give up.

    Returns:
        ``u`` at all points, ``[s, s]``, and the number of iterations, which does not grow with the grid.

    Raises:
        ValueError: If the coefficient is not a square array of at least 3 x 3 positive numbers.
        ArithmeticError: If the iteration does not converge.
    """
    if coefficient.ndim != 2 or coefficient.shape[0] != coefficient.shape[1] or len(coefficient) < 3:
        raise ValueError(f"Expected 'coefficient' of shape [s, s], s at least 3 (got {list(coefficient.shape)})")
    if not (np.isfinite(coefficient).all() and (coefficient > 0).all()):
        raise ValueError("Expected 'coefficient' to be finite and positive (got other values)")
    size = len(coefficient) - 2
    right = np.broadcast_to(np.asarray(source, np.float64), (size, size)) / (size + 1) ** 2
    precondition = poisson_solver(size)
    interior, residual = np.zeros((size, size)), right.copy()
    direction = better = precondition(residual)
    product = float((residual * better).sum())
    goal = tolerance * float(np.linalg.norm(right))
    for iteration in range(most + 1):
        if np.linalg.norm(residual) <= goal:
            return np.pad(interior, 1), iteration
        image = apply_operator(coefficient, direction)
        step = product / float((direction * image).sum())
        interior += step * direction
        residual -= step * image
        better = precondition(residual)
        previous, product = product, float((residual * better).sum())
        direction = better + product / previous * direction
    raise ArithmeticError(f"Expected conjugate gradients to converge in {most} iterations (got a larger residual)")
