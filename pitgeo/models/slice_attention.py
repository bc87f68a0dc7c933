"""Attention between slices of the points: the physics attention of Transolver."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from pitgeo.nn.checks import check_counts
from pitgeo.nn.dense import check_dense

COLDEST, HOTTEST = 0.1, 5.0


class SliceAttention(nn.Module):
    r"""Points are assigned to slices softly, slices attend to each other, and points read from their slices.

    .. math::
        w_{ig} &= \operatorname{softmax}_g\left((W_s f_i + b_s)_g / T\right), \qquad
        z_g = \frac{\sum_i w_{ig} v_i}{\sum_i w_{ig} + 10^{-5}} \\
        z' &= \operatorname{softmax}\left(Q K^T / \sqrt{C}\right) V, \qquad Q, K, V = z W_Q, z W_K, z W_V \\
        y_i &= \sum_g w_{ig} z'_g

    in each head, with :math:`f` and :math:`v` two linear maps of the values, split into heads of size :math:`C`;
    another linear map joins the heads. All heads share :math:`W_s`, :math:`W_Q`, :math:`W_K` and :math:`W_V`; each has
    its own temperature :math:`T`, between 0.1 and 5. Time and memory grow with the number of points times the number
    of slices. Positions enter only through the values.

    Weights and their sums have single precision under autocast.

    Args:
        channels: Size of the values, divisible by ``heads``.
        heads: Number of heads.
        slices: Slices of each head.

    Shapes:
        - **x** ``[B, N, channels]``; **mask** ``[B, N]``, true where a point is, or ``None``.
        - **output** ``[B, N, channels]``; meaningless where there is no point.

    Raises:
        ValueError: If shapes disagree, ``heads`` does not divide ``channels``, or a number is not positive.

    Example:
        >>> SliceAttention(16, heads=2, slices=5)(torch.rand(3, 50, 16)).shape
        torch.Size([3, 50, 16])

    Reference:
        Wu et al., Transolver, ICML 2024, equations (1) to (4); the temperature, the small number beside the sum and the
        first weights of :math:`W_s` as in the authors' code. There, the two maps on regular grids are convolutions.
    """

    def __init__(self, channels: int, heads: int = 8, slices: int = 64) -> None:
        super().__init__()
        check_counts(channels=channels, heads=heads, slices=slices)
        if channels % heads:
            raise ValueError(f"Expected 'heads' to divide 'channels' = {channels} (got {heads})")
        size = channels // heads
        self.channels, self.heads = channels, heads
        self.feature, self.value = nn.Linear(channels, channels), nn.Linear(channels, channels)
        self.slice = nn.Linear(size, slices)
        self.temperature = nn.Parameter(torch.empty(heads))
        self.tokens = nn.ModuleList(nn.Linear(size, size, bias=False) for _ in range(3))
        self.join = nn.Linear(channels, channels)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new initial values."""
        for part in (self.feature, self.value, self.slice, *self.tokens, self.join):
            part.reset_parameters()
        nn.init.orthogonal_(self.slice.weight)
        nn.init.constant_(self.temperature, 0.5)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Attend."""
        if not torch.compiler.is_compiling():
            check_dense(x, None, mask, self.channels)
        weights, shares = self.weights(x, mask)
        value = self.value(x).unflatten(-1, (self.heads, -1)).transpose(1, 2)
        with torch.autocast(x.device.type, enabled=False):
            token = shares.transpose(-1, -2) @ value.to(shares.dtype)
        query, key, content = (part(token) for part in self.tokens)
        token = scaled_dot_product_attention(query, key, content)
        return cast(Tensor, self.join((weights @ token.to(weights.dtype)).transpose(1, 2).flatten(2)))

    def weights(self, x: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Weights of the slices at every point, and of the points in every slice: both ``[B, heads, N, slices]``.

        The former sum to 1 at each point, the latter to nearly 1 in each slice; these are 0 where there is no point.
        """
        logits = self.slice(self.feature(x).unflatten(-1, (self.heads, -1)).transpose(1, 2))
        with torch.autocast(x.device.type, enabled=False):
            temperature = self.temperature.clamp(COLDEST, HOTTEST).view(-1, 1, 1)
            weights = (logits.to(temperature.dtype) / temperature).softmax(-1)
            present = weights if mask is None else weights * mask[:, None, :, None]
            return weights, present / (present.sum(2, keepdim=True) + 1e-5)
