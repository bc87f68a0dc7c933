"""Samples that were measured on a common grid, each taken as a point cloud of its own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pitgeo.data import PointData
from pitgeo.datasets.listed_samples import ListedSamples
from pitgeo.datasets.shared_mesh import SharedMesh
from pitgeo.mesh import Mesh


class OwnMeshes(ListedSamples):
    """The samples of a reference grid at their positions in space; the coordinates are the only inputs.

    Args:
        shared: The samples on the reference grid; their input values are the positions in space.
    """

    def __init__(self, shared: SharedMesh) -> None:
        super().__init__(
            [
                PointData(pos=shared.x[index], y=shared.y[index], sample_id=int(shared.numbers[index]))
                for index in range(len(shared))
            ]
        )
        self.shared = shared
        self.window = shared.window

    def cut(self, part: slice) -> None:
        """Keep a part of what belongs to the samples beside them."""
        self.shared = self.shared[part]

    def mesh(self, index: int) -> Mesh:
        """A sample as a mesh of quadrilaterals."""
        mesh = self.shared.mesh(index)
        fields = {name: values for name, values in mesh.point_data.items() if name in self.shared.targets}
        return replace(mesh, point_data=fields)

    def polygons(self, index: int) -> NDArray[np.float64] | None:
        """A quadrilateral round every point, ``[N, 4, 2]``."""
        return self.shared.polygons(index)
