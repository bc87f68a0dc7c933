"""Mesh files that all hold one mesh: points and graphs are kept once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from pitgeo.data.fields import FieldTable
from pitgeo.data.fields.mesh_case import MeshCase
from pitgeo.data.fields.mesh_sizes import MeshSizes
from pitgeo.datasets.folder.reading import Reading
from pitgeo.datasets.folder.samples import MeshSamples, raw_sample
from pitgeo.datasets.shared_mesh import SharedMesh
from pitgeo.mesh import Mesh


class SharedMeshSamples(SharedMesh):
    """One sample a mesh file, the mesh being the same in all of them.

    Args:
        readings: What is known of the files.
        table: Inputs and targets.
        numbers: Number of every sample in its data set.
    """

    def __init__(self, readings: Sequence[Reading], table: FieldTable, numbers: Sequence[int]) -> None:
        samples = [raw_sample(table, reading) for reading in readings]
        self.points = samples[0]
        self.x, self.y = (torch.stack([sample[name] for sample in samples]) for name in ("x", "y"))
        self.numbers = torch.tensor(numbers, dtype=torch.long)
        self.grid = ()
        self.inputs, self.targets = table.input_labels, table.target_labels
        self.files = MeshSamples(readings, table, numbers)
        self.table = table

    def cut(self, part: slice) -> None:
        """Keep a part of the files."""
        self.files = self.files[part]

    def name(self, index: int) -> str:
        """The file of a sample."""
        return self.files.name(index)

    def mesh(self, index: int) -> Mesh:
        """The mesh of a sample, with all that its file holds."""
        return self.files.mesh(index)

    def polygons(self, index: int) -> NDArray[np.float64] | None:
        """None: cells are drawn from the mesh."""
        return None

    def ranges(self) -> list[tuple[float, float]]:
        """Smallest and largest value of every input number of all samples."""
        return self.files.ranges()

    def typical(self) -> list[float]:
        """Typical size of every target channel: the median over the samples that are not at rest."""
        return self.files.typical()

    def case(self, index: int) -> MeshCase:
        """A sample as a few numbers, to compare it with others."""
        return self.files.case(index)

    def mesh_sizes(self) -> MeshSizes:
        """How large and how fine the mesh is."""
        return self.files.mesh_sizes()
