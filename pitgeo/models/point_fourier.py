"""The Fourier transform of values on points anywhere, by sums."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class PointFourier:
    r"""Waves of few frequencies at points of the unit torus, and what values are made of in them.

    .. math::
        \hat{x}_k = \frac{1}{N} \sum_j x_j e^{-2 \pi i k \cdot \xi_j}, \qquad
        y_j = \operatorname{Re} \sum_k c_k \hat{y}_k e^{2 \pi i k \cdot \xi_j}

    with the frequencies :math:`k`, their order and :math:`c_k` of
    :class:`~pitgeo.models.fno.SpectralConvolution`, whose transforms these are on a regular grid, but for its number
    of points. Elsewhere one is not the inverse of the other. Made by :meth:`of`, at ``N K`` memory for ``K``
    frequencies: :math:`m (2m)^{D - 1}`.

    Args:
        cosine: ``[B, N, K]``.
        sine: ``[B, N, K]``.
        shape: Frequencies along each axis, ``(2 m, ..., 2 m, m)``.

    Reference:
        Li et al., "Fourier Neural Operator with Learned Deformations for PDEs on General Geometries", arXiv:2207.05209,
        section 3, the geometric Fourier transform and its inverse.
    """

    cosine: Tensor
    sine: Tensor
    shape: tuple[int, ...]

    @classmethod
    def of(cls, points: Tensor, modes: int) -> PointFourier:
        """The waves at points.

        Args:
            points: ``[B, N, D]``, with period 1 along each axis.
            modes: Frequencies kept, ``m``.
        """
        dimension = points.shape[-1]
        signed = [*range(modes), *range(-modes, 0)]
        frequency = list(itertools.product(*[signed] * (dimension - 1), range(modes)))
        phase = 2 * math.pi * (points @ points.new_tensor(frequency).T)
        return cls(phase.cos(), phase.sin(), (*[2 * modes] * (dimension - 1), modes))

    def spectrum(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Means over the points, ``[B, 2 m, ..., 2 m, m, C]``, complex.

        Args:
            x: Values ``[B, N, C]``.
            mask: ``[B, N]``, true where a point is; ``None`` if everywhere.
        """
        if mask is None:
            x = x / x.shape[1]
        else:
            x = torch.where(mask.unsqueeze(-1), x, 0.0) / mask.sum(1)[:, None, None].clamp(min=1)
        parts = torch.complex(self.cosine.mT @ x, -(self.sine.mT @ x))
        return parts.reshape(len(x), *self.shape, -1)

    def values(self, spectrum: Tensor) -> Tensor:
        """Values ``[B, N, C]`` at the points, from a spectrum ``[B, 2 m, ..., 2 m, m, C]``."""
        flat = spectrum.flatten(1, -2)
        times = torch.full(self.shape, 2.0, dtype=self.cosine.dtype, device=self.cosine.device)
        times[..., 0] = 1.0
        times = times.reshape(-1, 1)
        return self.cosine @ (times * flat.real) - self.sine @ (times * flat.imag)
