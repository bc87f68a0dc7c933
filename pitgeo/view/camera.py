"""The camera of a page, as VTK and the browser describe it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

ANGLE = 30.0
"""Angle of view from bottom to top, in degrees."""
AIR = 1.12
"""A mesh is seen from so many times the distance at which it fills its panel."""


@dataclass(frozen=True)
class Camera:
    """A camera with perspective.

    Args:
        position: Where it is ``[3]``.
        target: What it looks at ``[3]``.
        up: Direction that points up in the picture ``[3]``.
    """

    position: Floats
    target: Floats
    up: Floats

    @classmethod
    def facing(cls, points: Floats, direction: Floats, up: Floats, aspect: float) -> Camera:
        """A camera that sees all points.

        Args:
            points: Positions ``[n, 3]``.
            direction: Unit vector from the points to the camera ``[3]``.
            up: Unit vector that points up, perpendicular to it ``[3]``.
            aspect: Width of the picture divided by its height.
        """
        axes = np.stack([np.cross(up, direction), up, direction])
        own = points @ axes.T
        low, high = own.min(0), own.max(0)
        center, size = (low + high) / 2, high - low
        distance = AIR * max(size[1] / 2, size[0] / 2 / aspect, 1e-6) / math.tan(math.radians(ANGLE / 2)) + size[2] / 2
        target = center @ axes
        return cls(target + distance * direction, target, up)

    def plain(self) -> dict[str, list[float]]:
        """The names and numbers of the browser."""
        return {
            "position": self.position.tolist(),
            "focalPoint": self.target.tolist(),
            "viewUp": self.up.tolist(),
            "centerOfRotation": self.target.tolist(),
        }
