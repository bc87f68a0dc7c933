"""Attention of all points to all points of a sample, on dense batches: by position, by value, or by both."""

from __future__ import annotations

from typing import Literal, cast

import torch
from torch import Tensor, nn
from torch.nn.functional import pad, scaled_dot_product_attention

from pitgeo.metric import Metric
from pitgeo.nn.dense import at_least_single, centred
from pitgeo.nn.length_scale import LengthScale, Positivity
from pitgeo.nn.projection import HeadProjection

Backend = Literal["auto", "fused", "dense"]

# The fused form loses about 0.2 * lambda * |p|^2 * eps to rounding; past this it is taken in dense form instead.
_FUSED_ROUNDING = 2.5e-5
# A weight below exp(-69) = 1e-30 of the largest cannot matter, and denormal numbers are very slow on CPUs.
_LOWEST_LOGIT = -69.0


class GlobalPositionAttention(nn.Module):
    r"""Average all values of a sample with weights that depend on distance alone.

    .. math::
        Y^h = \operatorname{softmax}(-\lambda_h D) \, U W^h

    The fused form never holds an :math:`N \times N` matrix. It uses that a softmax over rows does not see what is
    constant along a row:

    .. math::
        \operatorname{softmax}_j(-\lambda |p_i - p_j|^2)
        = \operatorname{softmax}_j(2 \lambda p_i \cdot p_j - \lambda |p_j|^2)

    which is scaled dot-product attention with queries :math:`\lambda (2 p_i, -1)` and keys :math:`(p_j, |p_j|^2)`.

    Args:
        in_channels: Size of each value.
        out_channels: Size of each result; divisible by ``heads``.
        heads: Number of length scales.
        positivity: How :math:`\lambda > 0` is kept: ``"square"``, ``"tan"`` or ``"sine_tan"``.
        lengths: Smallest and largest initial length, see :class:`LengthScale`.
        metric: Periods of the domain and the divisor of squared distances.
        backend: ``"fused"``, ``"dense"``, or ``"auto"``: fused where that is exact enough, else dense (periodic
            domains, one mesh shared by all samples, a :math:`\lambda` so large that single precision loses more than
            about 5e-6). The choice is made in every call outside compiled code; compiled code keeps the last one made.

    Shapes:
        - **x** ``[B, N, in_channels]``.
        - **pos** ``[B, N, D]``, or ``[N, D]`` for one mesh shared by all samples, whose weights are computed once.
        - **mask** ``[B, N]``, true where a point is; ``None`` for everywhere.
        - **output** ``[B, N, out_channels]``.

    Raises:
        ValueError: If shapes disagree, ``heads`` does not divide ``out_channels``, or the fused form is asked for on
            a periodic domain.

    Example:
        >>> GlobalPositionAttention(8, 16, heads=2)(torch.rand(3, 50, 8), torch.rand(3, 50, 2)).shape
        torch.Size([3, 50, 16])

    Reference:
        Chen and Wu, ICML 2024, equations (5) and (13).
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        heads: int = 1,
        positivity: Positivity = "square",
        lengths: tuple[float, float] | None = None,
        metric: Metric | None = None,
        backend: Backend = "auto",
    ) -> None:
        super().__init__()
        self.value = HeadProjection(in_channels, out_channels, heads)
        self.metric = metric or Metric()
        self.scale = LengthScale(heads, positivity, lengths, self.metric.divisor)
        self.backend = _checked_backend(backend, self.metric)
        self.is_fused = backend == "fused"

    def reset_parameters(self) -> None:
        """Draw new initial values."""
        self.value.reset_parameters()
        self.scale.reset_parameters()

    def forward(self, x: Tensor, pos: Tensor, mask: Tensor | None = None) -> Tensor:
        """Attend."""
        if not torch.compiler.is_compiling():
            check_dense(x, pos, mask, self.value.in_channels)
            if self.backend == "auto":
                self.is_fused = pos.dim() == 3 and fused_is_exact(self.metric, self.scale(), pos, mask)
        heads = self.value.heads
        pos = at_least_single(pos)
        value = self.value(x).unflatten(-1, (heads, -1)).transpose(1, 2)  # [B, H, N, C]
        with torch.autocast(x.device.type, enabled=False):  # geometry in float32 at least
            scale = self.scale().to(pos.dtype)
            if self.is_fused:
                pos = pos if pos.dim() == 3 else pos.expand(x.shape[0], -1, -1)
                query, key = position_factors(pos, mask, scale, self.metric)
                out = fused_attention(query, key, value.to(query.dtype), mask).to(value.dtype)
            else:
                weights = self._dense_weights(pos, scale, mask)  # [B, H, N, N], or [H, N, N] for a shared mesh
                out = weights.to(value.dtype) @ value
        return out.transpose(1, 2).flatten(2)

    def attention_weights(self, pos: Tensor, mask: Tensor | None = None) -> Tensor:
        """All weights ``[B, heads, N, N]`` (``[heads, N, N]`` for a shared mesh), rows attending to columns."""
        return self._dense_weights(pos, self.scale().to(pos.dtype), mask)

    def _dense_weights(self, pos: Tensor, scale: Tensor, mask: Tensor | None) -> Tensor:
        logits = -scale.view(-1, 1, 1) * self.metric.pairwise(pos, pos).unsqueeze(-3)
        logits = logits.masked_fill(logits < _LOWEST_LOGIT, -torch.inf)  # a point attends to itself with logit 0
        if mask is not None:
            own = torch.eye(mask.shape[-1], dtype=torch.bool, device=mask.device)
            logits = logits.masked_fill(~(mask.unsqueeze(-2) | (own & ~mask.unsqueeze(-1))).unsqueeze(-3), -torch.inf)
        return logits.softmax(-1)

    def extra_repr(self) -> str:
        """What ``repr`` shows of the layer."""
        return f"backend={self.backend!r}"


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
        out = scaled_dot_product_attention(query, key, value, attn_mask=_key_mask(mask))
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
        backend: As in :class:`GlobalPositionAttention`.

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
        backend: Backend = "auto",
    ) -> None:
        super().__init__(in_channels, out_channels, heads)
        self.metric = metric or Metric()
        self.scale = LengthScale(heads, positivity, lengths, self.metric.divisor)
        self.backend = _checked_backend(backend, self.metric)
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
            if self.backend == "auto":
                self.is_fused = fused_is_exact(self.metric, self.scale(), pos, mask)
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
                logits = logits + (query @ key.transpose(-1, -2)).to(logits.dtype)
                keys = _key_mask(mask)
                if keys is not None:
                    logits = logits.masked_fill(~keys, -torch.inf)
                out = logits.softmax(-1).to(value.dtype) @ value
        return out.transpose(1, 2).flatten(2)


def position_factors(pos: Tensor, mask: Tensor | None, scale: Tensor, metric: Metric) -> tuple[Tensor, Tensor]:
    """Queries ``[B, H, N, D + 1]`` and keys of the fused form, for positions ``[B, N, D]``."""
    point = centred(pos, mask)
    scale = scale.view(1, -1, 1, 1) / metric.divisor
    ones = torch.ones_like(point[..., :1])
    query = scale * torch.cat([2 * point, -ones], -1).unsqueeze(1)
    key = torch.cat([point, point.square().sum(-1, keepdim=True)], -1).unsqueeze(1)
    return query, key.expand(-1, query.shape[1], -1, -1)


def fused_attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
    """Scaled dot-product attention, scale 1, with both head sizes padded to one: others fall back to N x N."""
    channels, width = value.shape[-1], max(query.shape[-1], value.shape[-1])
    padded = [pad(part, (0, width - part.shape[-1])) for part in (query, key, value)]
    if torch.compiler.is_compiling():
        return _attention(padded, mask)[..., :channels]
    # What was padded is kept for the backward pass without its zeros.
    kept = {padded[0].data_ptr(): query, padded[1].data_ptr(): key}

    def pack(tensor: Tensor) -> Tensor | tuple[Tensor, int]:
        original = kept.get(tensor.data_ptr())
        return tensor if original is None or tensor.shape[-1] != width else (original.detach(), width)

    def unpack(stored: Tensor | tuple[Tensor, int]) -> Tensor:
        return stored if isinstance(stored, Tensor) else pad(stored[0], (0, stored[1] - stored[0].shape[-1]))

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        return _attention(padded, mask)[..., :channels]


def _attention(padded: list[Tensor], mask: Tensor | None) -> Tensor:
    query, key, value = padded
    return scaled_dot_product_attention(query, key, value, attn_mask=_key_mask(mask), scale=1.0)


@torch.no_grad()
def fused_is_exact(metric: Metric, scale: Tensor, pos: Tensor, mask: Tensor | None) -> bool:
    """Whether rounding in the fused form stays below about 5e-6 of the result in float32."""
    if metric.is_periodic or pos.numel() == 0:
        return False
    reach = scale.max() / metric.divisor * centred(pos, mask).square().sum(-1).max()
    return bool(reach * torch.finfo(pos.dtype).eps <= _FUSED_ROUNDING)


def check_dense(x: Tensor, pos: Tensor | None, mask: Tensor | None, channels: int) -> None:
    """Raise a ``ValueError`` unless values, positions and mask are a dense batch."""
    if x.dim() != 3 or x.shape[-1] != channels:
        raise ValueError(f"Expected 'x' to have shape [B, N, {channels}] (got {list(x.shape)})")
    if pos is not None and (pos.dim() not in (2, 3) or pos.shape[:-1] != x.shape[3 - pos.dim() : 2]):
        raise ValueError(
            f"Expected 'pos' to have shape [{x.shape[0]}, {x.shape[1]}, D], or [{x.shape[1]}, D] for a shared mesh "
            f"(got {list(pos.shape)})"
        )
    if mask is not None and (mask.shape != x.shape[:2] or mask.dtype != torch.bool):
        raise ValueError(
            f"Expected 'mask' to be boolean of shape {list(x.shape[:2])} (got {list(mask.shape)} of {mask.dtype})"
        )


def _checked_backend(backend: Backend, metric: Metric) -> Backend:
    if backend not in ("auto", "fused", "dense"):
        raise ValueError(f"Expected 'backend' to be 'auto', 'fused' or 'dense' (got {backend!r})")
    if backend == "fused" and metric.is_periodic:
        raise ValueError("Expected 'backend' to be 'auto' or 'dense' on a periodic domain (got 'fused')")
    return backend


def _key_mask(mask: Tensor | None) -> Tensor | None:
    if mask is None:
        return None
    mask = mask | ~mask.any(-1, keepdim=True)  # a sample without points attends to its padding, not to nothing
    return mask[:, None, None, :].expand(-1, 1, mask.shape[1], -1)
