"""The input of a DeepONet: readings at the input points, a fixed number in a fixed order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from pitgeo.data import PointData
from pitgeo.models.dense_points import DensePoints
from pitgeo.models.model_options import DataSpec
from pitgeo.nn.checks import check_counts, check_lengths


@dataclass(frozen=True)
class Sensors:
    """The input points as sensors: one list of numbers a sample.

    On a shared mesh, a reading is the values of a point. If every sample has its own mesh, a reading is coordinates and
    values. Either way the order of the input points has a meaning: the first number of one sample is compared with the
    first number of all others. So meshes of several samples need corresponding points, as one mesh bent in many ways
    has; for points in any order, other models are better. On a shared mesh, positions are not checked: a mesh with the
    same number of points that is not the mesh of training goes unnoticed.

    Args:
        in_channels: Coordinates and values of an input point together.
        dimension: Axes of the positions.
        points: Input points of a sample.
        mesh: ``"shared"``: all samples have one mesh; ``"own"``: each has its own.
        extent: Size of the meshes; coordinates are divided by it.

    Raises:
        ValueError: If there is nothing to read on a shared mesh, or an argument is out of range.

    Example:
        >>> Sensors(in_channels=3, dimension=2, points=10).size, Sensors(3, 2, 10, "own").size
        (10, 30)
    """

    in_channels: int
    dimension: int
    points: int
    mesh: Literal["shared", "own"] = "shared"
    extent: float = 1.0

    def __post_init__(self) -> None:
        if self.mesh not in ("shared", "own"):
            raise ValueError(f"Expected 'mesh' to be 'shared' or 'own' (got {self.mesh!r})")
        check_lengths(extent=self.extent)
        check_counts(points=self.points)
        if self.size == 0:
            raise ValueError(
                "Expected input values with a DeepONet on a shared mesh, to tell samples apart (got none); name at "
                "least one among the inputs of the data"
            )

    @classmethod
    def of(cls, spec: DataSpec) -> Sensors:
        """The sensors of data of a certain kind.

        Raises:
            ValueError: If samples have different numbers of points.
        """
        if spec.points is None:
            raise ValueError(
                "Expected samples with the same number of points, the sensors of a DeepONet (got several sizes); "
                "interpolate to one mesh, or use a model for meshes of any size, such as 'pit'"
            )
        mesh: Literal["shared", "own"] = "shared" if spec.is_shared else "own"
        return cls(spec.in_channels, spec.dimension, spec.points, mesh, spec.extent)

    @property
    def size(self) -> int:
        """How many numbers are read from a sample."""
        return self.points * (self.in_channels - (self.dimension if self.mesh == "shared" else 0))

    def read(self, data: PointData, model: nn.Module) -> Tensor:
        """The numbers of every sample, ``[B, size]``.

        Args:
            data: The sample or batch.
            model: The calling model.

        Raises:
            ValueError: If the data has other channels or another type than the model, or a sample has another number
                of points.
        """
        points = DensePoints.of(data, self.in_channels, model)
        count = points.x.shape[1]
        if points.mask is not None or count != self.points:
            least = count if points.mask is None else int(points.mask.sum(1).min())
            sizes = f"{count}" if least == count else f"{least} to {count}"
            raise ValueError(
                f"Expected samples of {self.points} points, the sensors of a DeepONet (got {sizes}); interpolate to "
                f"these points, or use a model for meshes of any size, such as 'pit'"
            )
        values = points.x if self.mesh == "shared" else torch.cat([points.pos / self.extent, points.x], -1)
        return values.flatten(1)
