"""Samples that were measured on a common grid, each taken as a point cloud of its own."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import overload

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from pitgeo.data import PointData
from pitgeo.datasets.shared_mesh import SharedMesh, Transform
from pitgeo.mesh import Mesh


class OwnMeshes(Sequence[PointData]):
    """The samples of a reference grid at their positions in space; the coordinates are the only inputs.

    Args:
        shared: The samples on the reference grid; their input values are the positions in space.
    """

    def __init__(self, shared: SharedMesh) -> None:
        self.shared = shared
        self.samples = [
            PointData(pos=shared.x[index], y=shared.y[index], sample_id=int(shared.numbers[index]))
            for index in range(len(shared))
        ]
        self.window = shared.window

    def __len__(self) -> int:
        return len(self.samples)

    @overload
    def __getitem__(self, index: int) -> PointData: ...
    @overload
    def __getitem__(self, index: slice) -> OwnMeshes: ...
    def __getitem__(self, index: int | slice) -> PointData | OwnMeshes:
        if not isinstance(index, slice):
            return self.samples[index]
        result = copy.copy(self)
        result.shared, result.samples = self.shared[index], self.samples[index]
        return result

    def __iter__(self) -> Iterator[PointData]:
        return iter(self.samples)

    def with_transform(self, transform: Transform, progress: bool = False) -> OwnMeshes:
        """The same samples, each transformed."""
        result = copy.copy(self)
        bar = tqdm(self.samples, desc="points and graphs", unit="sample", disable=not progress)
        result.samples = [transform(sample) for sample in bar]
        return result

    def mesh(self, index: int) -> Mesh:
        """A sample as a mesh of quadrilaterals."""
        mesh = self.shared.mesh(index)
        fields = {name: values for name, values in mesh.point_data.items() if name in self.shared.targets}
        return replace(mesh, point_data=fields)

    def polygons(self, index: int) -> NDArray[np.float64] | None:
        """A quadrilateral round every point, ``[N, 4, 2]``."""
        return self.shared.polygons(index)
