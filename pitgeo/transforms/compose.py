"""Several transforms, one after another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pitgeo.data import PointData


@dataclass(frozen=True)
class Compose:
    """Apply transforms in order. Its ``repr`` names them all, so that caches can tell what made them.

    Example:
        >>> Compose(())
        Compose(transforms=())
    """

    transforms: tuple[Callable[[PointData], PointData], ...] = ()

    def __call__(self, data: PointData) -> PointData:
        """A transformed copy."""
        for transform in self.transforms:
            data = transform(data)
        return data
