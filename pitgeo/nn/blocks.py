"""The building blocks round an attention layer: those of the paper, and a pre-norm residual one."""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu


def mlp(in_channels: int, hidden: int, out_channels: int) -> nn.Sequential:
    """Linear, GELU, Linear."""
    return nn.Sequential(nn.Linear(in_channels, hidden), nn.GELU(), nn.Linear(hidden, out_channels))


def from_positions(network: nn.Sequential, x: Tensor) -> Tensor:
    """Apply a network to inputs with positions among them: its first layer runs in full precision under autocast too.

    In bfloat16, points of the unit box that are nearer than 1/256 to each other may be the same.
    """
    with torch.autocast(x.device.type, enabled=False):
        hidden = network[0](x)
    return cast(Tensor, network[1:](hidden))


class PaperLayer(nn.Module):
    r"""Attention and activation, :math:`\operatorname{GELU}(\operatorname{Att}(U))`.

    Args:
        attention: The attention layer; ``geometry`` (positions, and a graph or a mask) is passed on to it.
        channels: Encoding dimension; not used, blocks are built alike.

    Shapes:
        - **x** ``[..., N, channels]``; **output** ``[..., M, channels]``.

    Reference:
        Chen and Wu, ICML 2024, section 3.3, the encoder and the decoder.
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
        ValueError: If ``skip`` is ``None``, that is where the block goes from one point set to another.

    Reference:
        Chen and Wu, ICML 2024, section 3.3, the processor.
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
        hidden += self.linear(skip)  # in place: memory, and the time to have it
        return gelu(hidden)


class ResidualBlock(nn.Module):
    r"""A pre-norm residual block.

    .. math::
        h = S + \operatorname{Att}(\operatorname{LN}(U)), \qquad U' = h + \operatorname{MLP}(\operatorname{LN}(h))

    with :math:`S` the skip: :math:`U` itself on one point set, other features of the target points, or nothing.

    Args:
        attention: The attention layer; ``geometry`` (positions, and a graph or a mask) is passed on to it.
        channels: Encoding dimension; the MLP is twice as wide.

    Shapes:
        - **x** ``[..., N, channels]``; **skip**, **output** ``[..., M, channels]``.
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
