"""What an encoder leaves of a sample."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from pitgeo.nn.latent_points import LatentPoints


@dataclass(frozen=True, eq=False)
class LatentCode:
    """What the encoder and the processor make of a sample.

    Args:
        hidden: Values on the latent points, flat.
        lifted: Those on the input points, before the encoder.
        latent: Positions of the latent points, flat, from the middle.
        where: The latent points.
        middle: Where positions are counted from in every sample; ``None`` for the origin.
    """

    hidden: Tensor
    lifted: Tensor
    latent: Tensor
    where: LatentPoints
    middle: Tensor | None
