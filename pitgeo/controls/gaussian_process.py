"""Length scales of a Gaussian process, a length for every input, from the likelihood of what is known."""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import minimize
from torch import Tensor

from pitgeo.controls.kernels import Kernel, kernel_values, polynomials

MOST = 250
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
    z, values = z[:: -(-len(z) // MOST)], values[:: -(-len(z) // MOST), :8]
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
