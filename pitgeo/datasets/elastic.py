"""Isotropic linear materials, for the generators of solids under load."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Elastic:
    """An isotropic linear material; by default steel.

    Args:
        young: Young's modulus in Pa.
        poisson: Poisson's ratio.
    """

    young: float = 210e9
    poisson: float = 0.3

    @property
    def lame(self) -> tuple[float, float]:
        """The first Lame constant, and the shear modulus."""
        shear = self.young / (2 * (1 + self.poisson))
        return 2 * shear * self.poisson / (1 - 2 * self.poisson), shear

    def stress(self, gradient: Floats) -> Floats:
        """Stress of a displacement gradient, both ``[..., 3, 3]``."""
        first, shear = self.lame
        trace = np.trace(gradient, axis1=-2, axis2=-1)[..., None, None]
        stress: Floats = first * trace * np.eye(3) + shear * (gradient + np.swapaxes(gradient, -1, -2))
        return stress


def von_mises(stress: Floats) -> Floats:
    """Von Mises stress: ``[..., 3, 3]`` to ``[...]``."""
    deviator = stress - np.trace(stress, axis1=-2, axis2=-1)[..., None, None] / 3 * np.eye(3)
    return np.asarray(np.sqrt(1.5 * (deviator**2).sum(axis=(-2, -1))))
