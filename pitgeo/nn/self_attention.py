"""Self-attention on dense batches: weights from values alone, or from values and distances."""

from __future__ import annotations

from typing import Literal, cast

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from pitgeo.graphs.metric import Metric
from pitgeo.nn.blocks import HeadProjection
from pitgeo.nn.dense import at_least_single, check_dense
from pitgeo.nn.kernels.fused import checked_backend, fused_attention, fused_is_exact, key_mask, position_factors
from pitgeo.nn.length_scale import LengthScale, Positivity


class SelfAttention(nn.Module):
    r"""Plain multi-head self-attention, for comparison: weights from values alone, no output projection.

    .. math::
        Y^h = \operatorname{softmax}\left(Q K^T / \sqrt{C}\right) V, \qquad Q, K, V = U W_Q^h, U W_K^h, U W_V^h

    with :math:`C` the size of a head.

    Args:
        in_channels: Size of each value.
        out_channels: Size of each result; divisible by ``heads``.
        heads: Number of heads.

    Shapes:
        - **x** ``[B, N, in_channels]``; **pos** is not used; **mask** ``[B, N]`` or ``None``.
        - **output** ``[B, N, out_channels]``.

    Raises:
        ValueError: If shapes disagree, or ``heads`` does not divide ``out_channels``.

    Example:
        >>> SelfAttention(8, 16, heads=2)(torch.rand(3, 50, 8)).shape
        torch.Size([3, 50, 16])

    Reference:
        Vaswani et al., 2017; the ablations SelfAtt A and B of Chen and Wu, ICML 2024, section 4.4.
    """

    def __init__(self, in_channels: int, out_channels: int, heads: int = 1) -> None:
        super().__init__()
        self.query = HeadProjection(in_channels, out_channels, heads)
        self.key = HeadProjection(in_channels, out_channels, heads)
        self.value = HeadProjection(in_channels, out_channels, heads)

    def reset_parameters(self) -> None:
        """Draw new initial values."""
        for part in (self.query, self.key, self.value):
            part.reset_parameters()

    def forward(self, x: Tensor, pos: Tensor | None = None, mask: Tensor | None = None) -> Tensor:
        """Attend."""
        if not torch.compiler.is_compiling():
            check_dense(x, pos, mask, self.value.in_channels)
        query, key, value = self._project(x)
        out = scaled_dot_product_attention(query, key, value, attn_mask=key_mask(mask))
        return out.transpose(1, 2).flatten(2)

    def _project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        parts = (part(x).unflatten(-1, (part.heads, -1)).transpose(1, 2) for part in (self.query, self.key, self.value))
        return cast("tuple[Tensor, Tensor, Tensor]", tuple(parts))


class SelfPositionAttention(SelfAttention):
    r"""Self-attention with distances added to its logits: the attention of Self-PiT.

    .. math::
        Y^h = \operatorname{softmax}\left(-\lambda_h D + Q K^T / \sqrt{C}\right) V

    with :math:`C` the size of a head. Not linear in the values.

    Args:
        in_channels: Size of each value.
        out_channels: Size of each result; divisible by ``heads``.
        heads: Number of heads.
        positivity: How :math:`\lambda > 0` is kept.
        lengths: Smallest and largest initial length, see :class:`LengthScale`.
        metric: Periods of the domain and the divisor of squared distances.
        backend: ``"fused"``, ``"dense"``, or ``"auto"``: fused if that is exact enough, else dense. Every call outside
            compiled code chooses again; compiled code keeps the last choice of such a call or of :meth:`choose`.

    Shapes:
        - **x**, **pos**, **mask**, **output** as in :class:`GlobalPositionAttention`.

    Raises:
        ValueError: As :class:`GlobalPositionAttention`.

    Example:
        >>> SelfPositionAttention(8, 16, heads=2)(torch.rand(3, 50, 8), torch.rand(3, 50, 2)).shape
        torch.Size([3, 50, 16])

    Reference:
        Chen and Wu, ICML 2024, equation (12); divided by the head size, as in the authors' code.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        heads: int = 1,
        positivity: Positivity = "square",
        lengths: tuple[float, float] | None = None,
        metric: Metric | None = None,
        backend: Literal["auto", "fused", "dense"] = "auto",
    ) -> None:
        super().__init__(in_channels, out_channels, heads)
        self.metric = metric or Metric()
        self.scale = LengthScale(heads, positivity, lengths, self.metric.divisor)
        self.backend = checked_backend(backend, self.metric, ("auto", "fused", "dense"))
        self.is_fused = backend == "fused"

    def reset_parameters(self) -> None:
        """Draw new initial values."""
        super().reset_parameters()
        self.scale.reset_parameters()

    def forward(self, x: Tensor, pos: Tensor | None = None, mask: Tensor | None = None) -> Tensor:
        """Attend."""
        if pos is None:
            raise ValueError("Expected 'pos' to be positions [B, N, D] or [N, D] (got None)")
        if not torch.compiler.is_compiling():
            check_dense(x, pos, mask, self.value.in_channels)
            self.choose(pos, mask)
        query, key, value = self._project(x)
        query = query / query.shape[-1] ** 0.5
        pos = at_least_single(pos)
        with torch.autocast(x.device.type, enabled=False):  # geometry in float32 at least
            scale = self.scale().to(pos.dtype)
            if self.is_fused:
                pos = pos if pos.dim() == 3 else pos.expand(x.shape[0], -1, -1)
                near, far = position_factors(pos, mask, scale, self.metric)
                query = torch.cat([query.to(near.dtype), near], -1)
                key = torch.cat([key.to(far.dtype), far], -1)
                out = fused_attention(query, key, value.to(query.dtype), mask).to(value.dtype)
            else:
                logits = -scale.view(-1, 1, 1) * self.metric.pairwise(pos, pos).unsqueeze(-3)
                logits = logits + query.to(logits.dtype) @ key.to(logits.dtype).transpose(-1, -2)
                keys = key_mask(mask)
                if keys is not None:
                    logits = logits.masked_fill(~keys, -torch.inf)
                out = logits.softmax(-1).to(value.dtype) @ value
        return out.transpose(1, 2).flatten(2)

    def choose(self, pos: Tensor, mask: Tensor | None = None, slack: int = 0) -> None:
        """Choose the form, see :meth:`GlobalPositionAttention.choose`; ``slack`` is not used."""
        if self.backend == "auto":
            self.is_fused = fused_is_exact(self.metric, self.scale(), pos, mask)
