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
        latent: The latent points.
        positions: Their positions, flat, about ``center``.
        center: The origin of positions in every sample ``[B, D]``; ``None`` for that of the data.
    """

    hidden: Tensor
    latent: LatentPoints
    positions: Tensor
    center: Tensor | None
