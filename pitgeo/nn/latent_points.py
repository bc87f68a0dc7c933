"""Where the latent points of samples lie, and positions about their center."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor

from pitgeo.data import PointData
from pitgeo.nn.dense import DenseLayout


@dataclass(frozen=True, eq=False)
class LatentPoints:
    """The latent points as dense layers want them.

    Args:
        pos: Their positions, ``[B, L, D]``, or ``[L, D]`` of one mesh shared by all samples.
        layout: Where the points of a flat batch lie in a dense one.
        shared: Whether all samples have one mesh: values are dense then as they are.
    """

    pos: Tensor
    layout: DenseLayout
    shared: bool

    @classmethod
    def of(cls, data: PointData) -> LatentPoints:
        """Those of a sample or a batch."""
        shared = data.x.dim() == 3
        latent, batch = data.points("latent")
        layout = data.get("latent_layout")
        if not isinstance(layout, DenseLayout):  # none, or those of samples that were batched since
            layout = DenseLayout.of(None if shared else batch, latent.shape[0], None if shared else data.samples)
        return cls(latent if shared else layout.dense(latent), layout, shared)

    def dense(self, x: Tensor) -> Tensor:
        """Values of a flat batch as dense layers want them."""
        return x if self.shared else self.layout.dense(x)

    def flat(self, x: Tensor) -> Tensor:
        """And back."""
        return x if self.shared else self.layout.flat(x)


def center_of(data: PointData) -> Tensor | None:
    """The mean of every sample's latent points ``[B, D]``. Moments about it are precise.

    ``None`` where there is one mesh alone: layers find its center themselves.
    """
    latent, samples = data.points("latent")
    if samples is None:
        return None
    sums = latent.new_zeros(data.samples, latent.shape[1] + 1)
    sums = sums.index_add(0, samples, torch.cat([latent, torch.ones_like(latent[:, :1])], 1))
    return sums[:, :-1] / sums[:, -1:].clamp(min=1)


def positions_about(center: Tensor | None, data: PointData, kind: str) -> Tensor:
    """Positions of the points of a kind, less the center of their sample if there is one."""
    pos, batch = data.points(kind)
    return pos if center is None else pos - center.index_select(0, cast(Tensor, batch))
