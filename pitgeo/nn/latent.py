"""The latent points of samples, and the values an encoder leaves on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor

from pitgeo.data import PointData
from pitgeo.nn.dense import DenseLayout, layout_of


@dataclass(frozen=True, eq=False)
class LatentPoints:
    """The latent points in the dense form that global attention takes.

    Args:
        pos: Positions ``[B, L, D]``, or ``[L, D]`` of one mesh shared by all samples.
        layout: The row of every point of the flat batch in the dense one.
        shared: Whether all samples have one mesh; then values are dense already.
    """

    pos: Tensor
    layout: DenseLayout
    shared: bool

    @classmethod
    def of(cls, data: PointData) -> LatentPoints:
        """The latent points of a sample or a batch."""
        shared = data.x.dim() == 3
        latent, layout = data.points("latent")[0], layout_of(data, "latent")
        return cls(latent if shared else layout.dense(latent), layout, shared)

    def dense(self, x: Tensor) -> Tensor:
        """Values of a flat batch in dense form."""
        return x if self.shared else self.layout.dense(x)

    def flat(self, x: Tensor) -> Tensor:
        """Dense values in flat form."""
        return x if self.shared else self.layout.flat(x)


@dataclass(frozen=True, eq=False)
class LatentCode:
    """The result of the encoder and the processor: values on the latent points.

    Args:
        hidden: Values on the latent points, flat.
        latent: The latent points.
        positions: Positions of the latent points, flat, relative to ``center``.
        center: The origin of positions in every sample ``[B, D]``; ``None`` for the origin of the data.
    """

    hidden: Tensor
    latent: LatentPoints
    positions: Tensor
    center: Tensor | None


def center_of(data: PointData) -> Tensor | None:
    """The mean of the latent points of every sample ``[B, D]``: an origin that keeps moments precise.

    ``None`` if there is only one mesh: layers then subtract its center themselves.
    """
    latent, samples = data.points("latent")
    if samples is None:
        return None
    sums = latent.new_zeros(data.samples, latent.shape[1] + 1)
    sums = sums.index_add(0, samples, torch.cat([latent, torch.ones_like(latent[:, :1])], 1))
    return sums[:, :-1] / sums[:, -1:].clamp(min=1)


def positions_about(center: Tensor | None, data: PointData, kind: str) -> Tensor:
    """Positions of the points of a kind, relative to the center of their sample if one is given."""
    pos, batch = data.points(kind)
    return pos if center is None else pos - center.index_select(0, cast(Tensor, batch))
