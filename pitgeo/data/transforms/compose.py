"""Several transforms, one after another."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass

from pitgeo.data import PointData
from pitgeo.data.transforms.unit_box import POSITIONS, UnitBox


@dataclass(frozen=True)
class Compose:
    """Apply transforms in order. Its ``repr`` names them all, for the keys of caches.

    Example:
        >>> Compose(())
        Compose(transforms=())
    """

    transforms: tuple[Callable[[PointData], PointData], ...] = ()

    def __call__(self, data: PointData) -> PointData:
        """A transformed copy."""
        data = self.placed(data)
        for transform in self.transforms:
            data = transform(data)
        return data

    def placed(self, data: PointData) -> PointData:
        """A copy with its ``origin`` added to the positions; the sample itself without one, or with a unit box."""
        if "origin" not in data or any(isinstance(step, UnitBox) for step in self.transforms):
            return data
        result = copy.copy(data)
        for name in POSITIONS:
            if name in data:
                result[name] = (data[name].double() + data.origin).to(data[name].dtype)
        del result.origin
        return result
