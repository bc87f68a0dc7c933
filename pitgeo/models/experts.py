"""A mixture of experts by position: several networks, and their weights at every position."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu


class PositionGate(nn.Module):
    r"""The weights of the experts at a position: a soft decomposition of the domain.

    .. math:: G(p) = \operatorname{softmax}(\operatorname{MLP}(p))

    It runs in single precision at least, also under autocast.

    Args:
        dimension: Axes of the positions.
        hidden: Width of the two hidden layers.
        experts: Number of experts.

    Shapes:
        - **pos** ``[..., dimension]``; **output** ``[..., experts]``, positive, with sum 1.

    Example:
        >>> PositionGate(2, 16, experts=3)(torch.rand(5, 2)).shape
        torch.Size([5, 3])

    Reference:
        Hao et al., ICML 2023, geometric gating.
    """

    def __init__(self, dimension: int, hidden: int, experts: int) -> None:
        super().__init__()
        if experts < 1:
            raise ValueError(f"Expected 'experts' to be at least 1 (got {experts})")
        self.network = nn.Sequential(
            nn.Linear(dimension, hidden),
            nn.GELU(),
            nn.Linear(hidden, hidden),
            nn.GELU(),
            nn.Linear(hidden, experts),
        )

    def forward(self, pos: Tensor) -> Tensor:
        """Weights of the experts."""
        with torch.autocast(pos.device.type, enabled=False):
            logits: Tensor = self.network(pos)
            return logits.softmax(-1)


class Experts(nn.Module):
    r"""A weighted mean of networks.

    .. math:: y = \sum_e g_e \, E_e(x), \qquad E_e = \operatorname{Linear} \circ \operatorname{GELU} \circ
        \operatorname{Linear}

    Each layer is one matrix for all experts, so that mixing costs no more than a single network of the total width.

    Args:
        channels: Size of each value, and of each result.
        hidden: Width of an expert's hidden layer.
        experts: Number of experts.

    Shapes:
        - **x** ``[..., channels]``, **gates** ``[..., experts]``; **output** ``[..., channels]``.
        - **first** ``[experts, channels, hidden]``, **first_bias** ``[experts, hidden]``, **second**
          ``[experts, hidden, channels]``, **second_bias** ``[experts, channels]``.

    Example:
        >>> Experts(8, 16, experts=3)(torch.rand(5, 8), torch.full((5, 3), 1 / 3)).shape
        torch.Size([5, 8])

    Reference:
        Hao et al., ICML 2023, geometric gating.
    """

    def __init__(self, channels: int, hidden: int, experts: int) -> None:
        super().__init__()
        self.first = nn.Parameter(torch.empty(experts, channels, hidden))
        self.first_bias = nn.Parameter(torch.empty(experts, hidden))
        self.second = nn.Parameter(torch.empty(experts, hidden, channels))
        self.second_bias = nn.Parameter(torch.empty(experts, channels))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new initial values, as for linear layers."""
        for weight, bias in ((self.first, self.first_bias), (self.second, self.second_bias)):
            bound = 1 / math.sqrt(weight.shape[1])
            nn.init.uniform_(weight, -bound, bound)
            nn.init.uniform_(bias, -bound, bound)

    def forward(self, x: Tensor, gates: Tensor) -> Tensor:
        """Mix."""
        hidden = x @ self.first.transpose(0, 1).flatten(1)
        hidden = gelu(hidden + self.first_bias.flatten().to(hidden.dtype)).unflatten(-1, self.first_bias.shape)
        hidden = (hidden * gates.to(hidden.dtype).unsqueeze(-1)).flatten(-2)
        mixed: Tensor = hidden @ self.second.flatten(0, 1) + gates.to(hidden.dtype) @ self.second_bias
        return mixed
