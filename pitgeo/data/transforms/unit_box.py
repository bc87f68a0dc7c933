"""Positions in a unit box: the last transform, after latent points and graphs have been found."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import dataclass

from torch import Tensor

from pitgeo.data import PointData

POSITIONS = ("pos", "pos_out", "pos_latent")


@dataclass(frozen=True)
class UnitBox:
    r"""Centre every sample in its own bounding box, and scale all samples by one factor.

    .. math:: p \mapsto s (p - c), \qquad c = \tfrac{1}{2} (\min_i p_i + \max_i p_i)

    There is one scale for all axes, from the training set: a scale for each sample would lose the sizes of meshes.
    Without scaling, length scales have no sensible initial value for a mesh in millimetres.

    Args:
        scale: The factor :math:`s`, one over the largest extent of the training samples.

    Raises:
        ValueError: If the scale is not positive and finite.

    Example:
        >>> import torch
        >>> box = UnitBox.fit([PointData(pos=torch.tensor([[0.0, 0.0], [200.0, 100.0]]))])
        >>> box
        UnitBox(scale=0.005)
        >>> box(PointData(pos=torch.tensor([[10.0, 0.0], [110.0, 0.0]]))).pos.tolist()
        [[-0.25, 0.0], [0.25, 0.0]]
    """

    scale: float

    def __post_init__(self) -> None:
        if not 0 < self.scale < float("inf"):
            raise ValueError(f"Expected 'scale' to be positive and finite (got {self.scale})")

    @classmethod
    def fit(cls, samples: Iterable[PointData]) -> UnitBox:
        """The box of the largest sample.

        Raises:
            ValueError: If there is no sample, or all points of every sample coincide.
        """
        largest = extent(samples)
        if largest == 0:
            raise ValueError(
                "Expected samples with at least two different points, to find the box that holds them "
                "(got none, or all their points coincide)"
            )
        return cls(1 / largest)

    def __call__(self, data: PointData) -> PointData:
        """A copy in the unit box; the centre is kept as ``box_center`` ``[1, D]``."""
        if "batch" in data:
            raise ValueError("Expected a single sample to centre (got a batch); transform samples before batching")
        result = copy.copy(data)
        center = box_center(data.pos)
        for name in POSITIONS:
            if name in data:
                result[name] = (data[name] - center) * self.scale
        result.box_center = center
        if "origin" in result:  # positions are relative to it, and stay so in the box
            del result.origin
        return result

    def inverse(self, data: PointData) -> PointData:
        """A copy of a single sample with its original positions."""
        result = copy.copy(data)
        for name in POSITIONS:
            if name in data:
                result[name] = data[name] / self.scale + data.box_center
        del result.box_center
        return result


def box_center(pos: Tensor) -> Tensor:
    """Center ``[1, D]`` of the bounding box of positions ``[N, D]``."""
    return (pos.amin(0, keepdim=True) + pos.amax(0, keepdim=True)) / 2


def extent(samples: Iterable[PointData]) -> float:
    """Largest side of any sample's bounding box; 0 without samples."""
    return max((float((data.pos.amax(0) - data.pos.amin(0)).max()) for data in samples), default=0.0)
