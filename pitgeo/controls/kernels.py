"""Interpolation between samples by kernels with a polynomial tail, and the length scales that fit them best."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import minimize
from torch import Tensor

Kernel = Literal["none", "linear", "cubic", "thin_plate", "multiquadric", "gaussian", "matern"]
KERNELS: tuple[Kernel, ...] = ("none", "linear", "cubic", "thin_plate", "multiquadric", "gaussian", "matern")


@dataclass(frozen=True)
class Recipe:
    r"""How values at some places follow from those at others.

    .. math:: \hat{y}(z) = \sum_j c_j \, k(\lVert z - z_j \rVert / \ell) + \sum_b d_b \, t_b(z)

    with the polynomials :math:`t_b` of a degree. The coefficients solve

    .. math:: \begin{pmatrix} K + \epsilon I & T \\ T^\top & 0 \end{pmatrix}
              \begin{pmatrix} c \\ d \end{pmatrix} = \begin{pmatrix} y \\ 0 \end{pmatrix}

    so that :math:`\epsilon = 0` interpolates, and polynomials of the degree are exact. With the kernel ``"none"`` it is
    a regression on polynomials, with ``"linear"`` a ridge regression. A Gaussian process with the kernel as its
    covariance, and noise :math:`\epsilon`, has the same mean.

    Args:
        kernel: The kernel :math:`k`.
        degree: Degree of the polynomials, 0 to 2.
        nugget: :math:`\epsilon`.
        length: :math:`\ell`.

    Example:
        >>> places = torch.tensor([[0.0], [1.0], [3.0]], dtype=torch.float64)
        >>> line = Recipe("cubic", 1, 0.0)
        >>> coefficients = line.solve(places, 2 * places + 1)
        >>> line.apply(torch.tensor([[2.0]], dtype=torch.float64), places, coefficients).round(decimals=9)
        tensor([[5.]], dtype=torch.float64)

    Reference:
        Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006, section 2.7; Fasshauer, Meshfree
        Approximation Methods with MATLAB, 2007, chapters 6 and 8.
    """

    kernel: Kernel
    degree: int
    nugget: float
    length: float = 1.0

    def rows(self, z: Tensor, places: Tensor) -> Tensor:
        """What coefficients are multiplied by at places ``[n, P]``, ``[n, S + T]``."""
        return torch.cat([kernel_values(self.kernel, z, places, self.length), polynomials(z, self.degree)], 1)

    def solve(self, places: Tensor, values: Tensor) -> Tensor | None:
        """The coefficients ``[S + T, K]`` of values ``[S, K]`` at places ``[S, P]``; ``None`` where there are none."""
        upper = self.rows(places, places)
        count, terms = len(places), upper.shape[1] - len(places)
        if count < terms:
            return None
        system = upper.new_zeros(count + terms, count + terms)
        system[:count], system[count:, :count] = upper, upper[:, count:].t()
        system.diagonal()[:count] += max(self.nugget, 1e-13)
        right = torch.cat([values, values.new_zeros(terms, values.shape[1])])
        found, info = torch.linalg.solve_ex(system, right)
        return found if int(info) == 0 and bool(torch.isfinite(found).all()) else None

    def apply(self, z: Tensor, places: Tensor, coefficients: Tensor) -> Tensor:
        """Values ``[n, K]`` at places ``[n, P]``."""
        return self.rows(z, places) @ coefficients


def polynomials(z: Tensor, degree: int) -> Tensor:
    """All products of at most ``degree`` of the columns ``[n, P]``: ``[n, T]``, the constant first."""
    columns = [torch.ones(len(z), 1, dtype=z.dtype, device=z.device)]
    if degree >= 1:
        columns.append(z)
    if degree >= 2:
        pairs = list(itertools.combinations_with_replacement(range(z.shape[1]), 2))
        first, second = ([pair[side] for pair in pairs] for side in (0, 1))
        columns.append(z[:, first] * z[:, second])
    return torch.cat(columns, 1)


def kernel_values(kernel: Kernel, z: Tensor, places: Tensor, length: float = 1.0) -> Tensor:
    """A kernel ``[n, S]`` between places ``[n, P]`` and ``[S, P]``, signed so that it is (conditionally) positive."""
    if kernel == "none":
        return z.new_zeros(len(z), len(places))
    if kernel == "linear":
        return z @ places.t() / length**2
    squared_distance = squared_distances(z, places) / length**2
    if kernel == "gaussian":
        return torch.exp(-squared_distance / 2)
    if kernel == "multiquadric":
        return -torch.sqrt(1 + squared_distance)
    distance = squared_distance.clamp(min=1e-300).sqrt()
    if kernel == "matern":
        scaled = math.sqrt(5) * distance
        return (1 + scaled + scaled.square() / 3) * torch.exp(-scaled)
    return distance**3 if kernel == "cubic" else squared_distance * distance.log()


def squared_distances(z: Tensor, places: Tensor) -> Tensor:
    """Squared distances ``[n, S]``, by differences where there are few columns, so that near places keep theirs."""
    if z.shape[1] <= 16:
        total = z.new_zeros(len(z), len(places))
        for column in range(z.shape[1]):
            total = total + (z[:, column, None] - places[None, :, column]).square()
        return total
    squares = z.square().sum(1)[:, None] + places.square().sum(1)[None, :] - 2 * z @ places.t()
    return squares.clamp(min=0.0)


MOST_SAMPLES = 250
"""Samples that the likelihood is taken of at most."""
_STEPS = 40


def fit_lengths(z: Tensor, values: Tensor, kernel: Kernel, degree: int) -> tuple[Tensor, float] | None:
    r"""Lengths ``[P]`` and nugget that make values ``[S, R]`` at places ``[S, P]`` most likely.

    The columns are independent processes with one covariance, each with a variance :math:`\sigma_r^2` of its own, which
    is at its maximum-likelihood value; polynomials are marginalised (restricted likelihood):

    .. math:: -2 \log L_r = (S - T) \log (y_r^\top P y_r) + \log |K| + \log |T^\top K^{-1} T|

    Columns count by their share of the sum of all squares, at most 8 of them.

    Args:
        z: Places.
        values: Columns by falling sums of squares, as coefficients of a POD are.
        kernel: The covariance.
        degree: Degree of the polynomials.

    Returns:
        ``None`` where there are too few samples to tell.

    Reference:
        Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006, equations (2.45) and (5.8).
    """
    z, values = z[:: -(-len(z) // MOST_SAMPLES)], values[:: -(-len(z) // MOST_SAMPLES), :8]
    values = values[:, values.square().sum(0) > 0]
    count, inputs = z.shape
    tail = polynomials(z, degree)
    free = count - tail.shape[1]
    if free < 2 or values.shape[1] == 0:
        return None
    share = values.square().sum(0) / values.square().sum()

    @torch.enable_grad()
    def loss(logs: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        variables = torch.tensor(logs, dtype=z.dtype, requires_grad=True)
        scaled = z / variables[:inputs].exp()
        matrix = kernel_values(kernel, scaled, scaled) + variables[inputs].exp() * torch.eye(count, dtype=z.dtype)
        factor, info = torch.linalg.cholesky_ex(matrix)
        if int(info):
            return 1e10, np.zeros(inputs + 1)
        white_tail, white = (torch.linalg.solve_triangular(factor, part, upper=False) for part in (tail, values))
        inner = white_tail.t() @ white_tail
        rest = white - white_tail @ torch.linalg.solve(inner, white_tail.t() @ white)
        squares = rest.square().sum(0).clamp(min=1e-300)
        total = free * (share * squares.log()).sum() + 2 * factor.diagonal().log().sum() + torch.logdet(inner)
        total = total / count + 1e-3 * (variables[:inputs] - start).square().sum()
        (gradient,) = torch.autograd.grad(total, variables)
        return float(total.detach()), gradient.numpy()

    start = math.log(2 * math.sqrt(inputs))
    first = np.array([start] * inputs + [math.log(1e-6)])
    bounds = [(start - 4, start + 5)] * inputs + [(math.log(1e-10), math.log(10.0))]
    found = minimize(loss, first, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": _STEPS})
    if not np.isfinite(found.fun) or found.fun >= 1e10:
        return None
    return torch.tensor(np.exp(found.x[:inputs]), dtype=z.dtype), float(np.exp(found.x[inputs]))
