"""Principal components of fields from the products of samples, so that many points cost little."""

from __future__ import annotations

import torch
from torch import Tensor

_CHUNK = 4_000_000  # values that are made double at a time
ROUNDING = 1e-15
"""Energy of a component, relative to the first, below which it is rounding of single precision."""


def gram(fields: Tensor, mean: Tensor) -> Tensor:
    """Products ``[S, S]``, in float64, of fields ``[S, M]`` less their mean ``[M]``."""
    total = torch.zeros(len(fields), len(fields), dtype=torch.float64, device=fields.device)
    step = max(1, _CHUNK // len(fields))
    for start in range(0, fields.shape[1], step):
        part = fields[:, start : start + step].double() - mean[start : start + step]
        total += part @ part.t()
    return total


def principal(products: Tensor, lost: float = ROUNDING) -> tuple[Tensor, Tensor]:
    """Coefficients ``[S, R]`` of the principal components, and ``[S, R]`` that makes components of fields.

    Component ``r``, of unit size, is the sum of the fields times column ``r`` of the second; they come by falling
    energy.

    Args:
        products: What :func:`gram` gave.
        lost: Share of the energy that may be lost.
    """
    energies, vectors = torch.linalg.eigh(products)
    energies, vectors = energies.flip(0).clamp(min=0.0), vectors.flip(1)
    if float(energies[0]) == 0.0:
        return vectors[:, :0], vectors[:, :0]
    rest = energies.flip(0).cumsum(0).flip(0) / energies.sum()
    kept = int(((rest > lost) & (energies > ROUNDING * energies[0])).sum())
    sizes = energies[:kept].sqrt()
    return vectors[:, :kept] * sizes, vectors[:, :kept] / sizes
