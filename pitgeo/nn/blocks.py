"""Building blocks of and around attention layers: value projection, the paper's blocks, a pre-norm residual block."""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu, linear
from torch.nn.init import kaiming_normal_


def mlp(in_channels: int, hidden: int, out_channels: int) -> nn.Sequential:
    """Linear, GELU, Linear."""
    return nn.Sequential(nn.Linear(in_channels, hidden), nn.GELU(), nn.Linear(hidden, out_channels))


def from_positions(network: nn.Sequential, x: Tensor) -> Tensor:
    """Apply a network to inputs that contain positions; its first layer runs in full precision under autocast too.

    In bfloat16, points of the unit box less than 1/256 apart may coincide.
    """
    with torch.autocast(x.device.type, enabled=False):
        hidden = network[0](x)
    return cast(Tensor, network[1:](hidden))


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


class PaperLayer(nn.Module):
    r"""Attention and activation, :math:`\operatorname{GELU}(\operatorname{Att}(U))`.

    Args:
        attention: The attention layer; ``geometry`` (positions, and a graph or a mask) is passed on to it.
        channels: Encoding dimension; not used: all blocks take the same arguments.

    Shapes:
        - **x** ``[..., N, channels]``; **output** ``[..., M, channels]``.

    Reference:
        Chen and Wu, ICML 2024, section 3.3, the encoder and the decoder.

    Example:
        >>> import torch
        >>> layer = PaperLayer(nn.Identity(), 4)
        >>> layer(torch.rand(5, 4), None).shape
        torch.Size([5, 4])
    """

    def __init__(self, attention: nn.Module, channels: int) -> None:
        super().__init__()
        self.attention = attention

    def forward(self, x: Tensor, skip: Tensor | None, *geometry: Any) -> Tensor:
        """Attend; ``skip`` is not used."""
        return gelu(cast(Tensor, self.attention(x, *geometry)))


class PaperBlock(nn.Module):
    r"""The paper's block.

    .. math::
        h = \operatorname{GELU}(\operatorname{Att}(U)), \qquad
        U' = \operatorname{GELU}(\operatorname{MLP}(h) + \operatorname{Linear}(U))

    Args:
        attention: The attention layer; ``geometry`` (positions, and a graph or a mask) is passed on to it.
        channels: Encoding dimension.

    Shapes:
        - **x**, **skip**, **output** ``[..., N, channels]``.

    Raises:
        ValueError: If ``skip`` is ``None``, because the block goes from one point set to another.

    Reference:
        Chen and Wu, ICML 2024, section 3.3, the processor.

    Example:
        >>> import torch
        >>> x = torch.rand(5, 4)
        >>> PaperBlock(nn.Identity(), 4)(x, x).shape
        torch.Size([5, 4])
    """

    def __init__(self, attention: nn.Module, channels: int) -> None:
        super().__init__()
        self.attention = attention
        self.mlp = mlp(channels, channels, channels)
        self.linear = nn.Linear(channels, channels)

    def forward(self, x: Tensor, skip: Tensor | None, *geometry: Any) -> Tensor:
        """Attend to ``x``; the linear branch takes ``skip``."""
        if skip is None:
            raise ValueError(
                "Expected the paper's 'block' to stay on one point set (got two different ones); "
                "use 'layer' for the encoder or decoder"
            )
        hidden = cast(Tensor, self.mlp(gelu(cast(Tensor, self.attention(x, *geometry)))))
        hidden += self.linear(skip)  # in place: allocating memory takes time
        return gelu(hidden)


class ResidualBlock(nn.Module):
    r"""A pre-norm residual block.

    .. math::
        h = S + \operatorname{Att}(\operatorname{LN}(U)), \qquad U' = h + \operatorname{MLP}(\operatorname{LN}(h))

    with :math:`S` the skip: :math:`U` itself on one point set, other features of the target points, or zero.

    Args:
        attention: The attention layer; ``geometry`` (positions, and a graph or a mask) is passed on to it.
        channels: Encoding dimension; the MLP is twice as wide.

    Shapes:
        - **x** ``[..., N, channels]``; **skip**, **output** ``[..., M, channels]``.

    Example:
        >>> import torch
        >>> x = torch.rand(5, 4)
        >>> ResidualBlock(nn.Identity(), 4)(x, x).shape
        torch.Size([5, 4])
    """

    def __init__(self, attention: nn.Module, channels: int) -> None:
        super().__init__()
        self.before = nn.LayerNorm(channels)
        self.attention = attention
        self.between = nn.LayerNorm(channels)
        self.mlp = mlp(channels, 2 * channels, channels)

    def forward(self, x: Tensor, skip: Tensor | None, *geometry: Any) -> Tensor:
        """Attend to ``x`` and add to ``skip``."""
        hidden = cast(Tensor, self.attention(self.before(x), *geometry))
        if skip is not None:
            hidden = hidden + skip
        return hidden + cast(Tensor, self.mlp(self.between(hidden)))
