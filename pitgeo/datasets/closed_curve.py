"""Samples on one closed curve."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pitgeo.datasets.shared_mesh import SharedMesh
from pitgeo.mesh import Mesh


class ClosedCurve(SharedMesh):
    """The samples of a benchmark whose points are those of one closed curve, in its order; see :class:`SharedMesh`."""

    def mesh(self, index: int) -> Mesh:
        """A sample as a mesh of lines, the last of which leads back to the first point."""
        number = np.arange(len(self.raw_pos))
        return replace(super().mesh(index), cells=(("line", np.stack([number, np.roll(number, -1)], -1)),))
