"""Position-attention as scaled dot-product attention, without an N x N matrix in memory."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import pad, scaled_dot_product_attention

from pitgeo.graphs.metric import Metric
from pitgeo.nn.dense import centred, never_empty
from pitgeo.nn.recompute import is_recomputed

# The fused form has rounding errors of about 0.2 * lambda * |p|^2 * eps; above this limit, the dense form is used.
_FUSED_ROUNDING = 2.5e-5


def position_factors(pos: Tensor, mask: Tensor | None, scale: Tensor, metric: Metric) -> tuple[Tensor, Tensor]:
    """Queries ``[B, H, N, D + 1]`` and keys of the fused form, for positions ``[B, N, D]``."""
    point = centred(pos, mask)
    scale = scale.view(1, -1, 1, 1) / metric.divisor
    ones = torch.ones_like(point[..., :1])
    query = scale * torch.cat([2 * point, -ones], -1).unsqueeze(1)
    key = torch.cat([point, point.square().sum(-1, keepdim=True)], -1).unsqueeze(1)
    return query, key.expand(-1, query.shape[1], -1, -1)


def fused_attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
    """Scaled dot-product attention with scale 1; with unequal head sizes, not padded, torch would take N x N memory."""
    channels, width = value.shape[-1], max(query.shape[-1], value.shape[-1])
    padded = [pad(part, (0, width - part.shape[-1])) for part in (query, key, value)]
    if torch.compiler.is_compiling() or is_recomputed():
        return _attention(padded, mask)[..., :channels]
    # Padded tensors are kept for the backward pass without their padding.
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
    return scaled_dot_product_attention(query, key, value, attn_mask=key_mask(mask), scale=1.0)


@torch.no_grad()
def fused_is_exact(metric: Metric, scale: Tensor, pos: Tensor, mask: Tensor | None) -> bool:
    """Whether rounding in the fused form stays below about 5e-6 of the result in float32."""
    if metric.is_periodic or pos.numel() == 0:
        return False
    reach = scale.max() / metric.divisor * centred(pos, mask).square().sum(-1).max()
    return bool(reach * torch.finfo(pos.dtype).eps <= _FUSED_ROUNDING)


def key_mask(mask: Tensor | None) -> Tensor | None:
    """The keys of each query, ``[B, 1, N, N]``, for a mask of points ``[B, N]``."""
    if mask is None:
        return None
    return never_empty(mask)[:, None, None, :].expand(-1, 1, mask.shape[1], -1)


def checked_backend(backend: str, metric: Metric, allowed: tuple[str, ...]) -> str:
    """The name of a backend if it is valid, else a ``ValueError``."""
    if backend not in allowed:
        raise ValueError(f"Expected 'backend' to be one of {allowed} (got {backend!r})")
    if metric.is_periodic and backend not in ("auto", "dense"):
        raise ValueError(f"Expected 'backend' to be 'auto' or 'dense' on a periodic domain (got {backend!r})")
    return backend
