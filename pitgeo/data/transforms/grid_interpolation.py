"""A regular grid over the points of a sample, and the graph for interpolation to its nodes."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import torch

from pitgeo.data import PointData
from pitgeo.graphs.neighbors import knn
from pitgeo.graphs.sampling import regular_points


@dataclass(frozen=True)
class GridInterpolation:
    """Make the nodes of a regular grid over the bounding box the latent points, and find their neighbours.

    The box is that of input and output points together, ends included. The ``encoder`` graph joins each node to its
    :math:`2^D` nearest input points, and all ties with the last: :class:`pitgeo.models.InterpolatedFNO` averages their
    values. The interpolation back to points needs no graph.

    Args:
        cells: Nodes along each axis, two at least. The nodes replace latent points that a sample has already.

    Raises:
        ValueError: If an axis has fewer than two nodes, the sample has other axes, or it is a batch.

    Example:
        >>> import torch
        >>> data = GridInterpolation((4, 3))(PointData(pos=torch.rand(100, 2)))
        >>> data.pos_latent.shape, data.graph("encoder").degree.unique().tolist()
        (torch.Size([12, 2]), [4])
    """

    cells: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.cells or min(self.cells) < 2:
            raise ValueError(f"Expected 'cells' to be at least 2 along every axis (got {self.cells})")

    def __call__(self, data: PointData) -> PointData:
        """A copy with the grid and its graph."""
        dimension = int(data.pos.shape[1])
        if len(self.cells) != dimension:
            raise ValueError(
                f"Expected 'cells' to have one entry for each of {dimension} axes of the positions (got {self.cells})"
            )
        result = copy.copy(data)
        points = data.pos if data.coincide("input", "output") else torch.cat([data.pos, data.points("output")[0]])
        result.set_points("latent", regular_points(points.detach(), self.cells))
        result.set_graph("encoder", knn(result.pos_latent, data.pos, 2**dimension))
        return result
