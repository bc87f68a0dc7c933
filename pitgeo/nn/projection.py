"""The value projection of attention layers: one matrix per head, no bias."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import linear
from torch.nn.init import kaiming_normal_


class HeadProjection(nn.Module):
    r"""All heads' matrices :math:`W^h` side by side, He-normal at the start.

    Args:
        in_channels: Size of each value.
        out_channels: Size of all heads' results together; divisible by ``heads``.
        heads: Number of heads.

    Shapes:
        - **x** ``[..., in_channels]``.
        - **output** ``[..., out_channels]``, head-major.

    Raises:
        ValueError: If ``heads`` does not divide ``out_channels``.

    Example:
        >>> HeadProjection(8, 16, heads=2)(torch.rand(5, 8)).shape
        torch.Size([5, 16])
    """

    def __init__(self, in_channels: int, out_channels: int, heads: int) -> None:
        super().__init__()
        if heads < 1 or out_channels % heads:
            raise ValueError(f"Expected 'heads' to divide out_channels = {out_channels} (got {heads})")
        self.in_channels, self.out_channels, self.heads = in_channels, out_channels, heads
        self.weight = nn.Parameter(torch.empty(out_channels, in_channels))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new initial values."""
        kaiming_normal_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        """Project values."""
        return linear(x, self.weight)

    def extra_repr(self) -> str:
        """What ``repr`` shows of the layer."""
        return f"{self.in_channels}, {self.out_channels}, heads={self.heads}"
