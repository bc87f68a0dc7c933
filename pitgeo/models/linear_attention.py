"""Attention without a softmax over points: its cost grows with the number of points, not with its square."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, cast

import torch
from pydantic import model_validator
from torch import Tensor, nn

from pitgeo.models.model_options import Count, ModelOptions
from pitgeo.models.rotary import rotate
from pitgeo.nn.dense import at_least_single

Norm = Literal["layer", "instance", "softmax"]
Place = Literal["none", "concatenated", "rotated"]


class LinearAttention(nn.Module):
    r"""Multi-head attention whose weights are products of features, summed over the sources first.

    .. math::
        \text{layer, instance:} \quad & y_i = \frac{1}{N} \sum_j (q_i \cdot \tilde{k}_j) \, \tilde{v}_j
            = \frac{1}{N} q_i \, (\tilde{K}^T \tilde{V}) \\
        \text{softmax:} \quad & y_i = \tilde{q}_i
            + \frac{\sum_j (\tilde{q}_i \cdot \tilde{k}_j) \, v_j}{\sum_j \tilde{q}_i \cdot \tilde{k}_j}

    for each head, with :math:`q = W_Q x_i`, :math:`k = W_K s_j`, :math:`v = W_V s_j`; a linear layer joins the heads.
    The tilde is the norm: ``"layer"`` normalises the channels of every key and value, with learned scales of each head;
    ``"instance"`` makes mean 0 and variance 1 of every channel over the points of a sample; ``"softmax"`` runs over the
    channels of queries and keys. Positions come in after the norm: not at all, as coordinates before the channels of
    queries, keys and values, or as a rotation of queries and keys. Sums over points are taken in single precision at
    least.

    Args:
        channels: Size of each value, and of each result.
        heads: Number of heads.
        norm: What is normalised, and how.
        place: How positions come in.
        dimension: Axes of the positions; for concatenated ones.
        head_channels: Size of a head; ``None`` for ``channels / heads``.
        diagonal: Start with :math:`W_Q, W_K, W_V` as this factor times (a Xavier-uniform matrix plus the identity);
            ``None`` for PyTorch's usual start.

    Shapes:
        - **x** ``[B, M, channels]``, **sources** ``[B, N, channels]``, **mask** ``[B, N]``, true where a source is,
          or ``None`` if everywhere.
        - **where**, **where_sources** coordinates ``[B, M, dimension]`` and ``[B, N, dimension]``, or angles of
          :func:`~pitgeo.models.rotary.rotary_angles`.
        - **output** ``[B, M, channels]``.

    Raises:
        ValueError: If ``norm`` or ``place`` is unknown, or ``heads`` does not divide ``channels`` where it must.

    Example:
        >>> x = torch.rand(3, 50, 8)
        >>> LinearAttention(8, heads=2, norm="layer")(x, x).shape
        torch.Size([3, 50, 8])

    Reference:
        ``"layer"``: Cao, NeurIPS 2021, Galerkin-type attention; ``"instance"``: Li et al., TMLR 2023;
        ``"softmax"``: Hao et al., ICML 2023, normalised attention.
    """

    def __init__(
        self,
        channels: int,
        heads: int,
        norm: Norm,
        place: Place = "none",
        dimension: int = 0,
        head_channels: int | None = None,
        diagonal: float | None = None,
    ) -> None:
        super().__init__()
        if norm not in ("layer", "instance", "softmax"):
            raise ValueError(f"Expected 'norm' to be 'layer', 'instance' or 'softmax' (got {norm!r})")
        if place not in ("none", "concatenated", "rotated"):
            raise ValueError(f"Expected 'place' to be 'none', 'concatenated' or 'rotated' (got {place!r})")
        if place == "concatenated" and dimension < 1:
            raise ValueError(f"Expected 'dimension' to be at least 1 with concatenated positions (got {dimension})")
        if heads < 1 or (head_channels is None and channels % heads):
            raise ValueError(f"Expected 'heads' to divide channels = {channels} (got {heads})")
        self.heads, self.norm, self.place, self.diagonal = heads, norm, place, diagonal
        size = channels // heads if head_channels is None else head_channels
        bias = norm != "instance"  # which takes a constant away again
        self.query = nn.Linear(channels, heads * size, bias)
        self.key = nn.Linear(channels, heads * size, bias)
        self.value = nn.Linear(channels, heads * size, bias)
        self.norms = nn.ModuleList(_HeadNorm(heads, size) for _ in range(2 if norm == "layer" else 0))
        more = dimension if place == "concatenated" else 0
        self.out = nn.Linear(heads * (size + more), channels)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new initial values."""
        for part in (self.query, self.key, self.value, self.out, *self.norms):
            cast(nn.Linear, part).reset_parameters()
        if self.diagonal is not None:
            for layer in (self.query, self.key, self.value):
                rows, columns = layer.weight.shape
                nn.init.xavier_uniform_(layer.weight, self.diagonal)
                with torch.no_grad():
                    identity = torch.eye(columns).repeat(math.ceil(rows / columns), 1)[:rows]
                    layer.weight += self.diagonal * identity.to(layer.weight)
                if layer.bias is not None:
                    nn.init.zeros_(layer.bias)

    def forward(
        self,
        x: Tensor,
        sources: Tensor,
        mask: Tensor | None = None,
        where: Tensor | None = None,
        where_sources: Tensor | None = None,
    ) -> Tensor:
        """Attend."""
        return self.read(x, self.sums(sources, mask, where_sources), where)

    def sums(self, sources: Tensor, mask: Tensor | None = None, where: Tensor | None = None) -> SourceSums:
        """What all points need of the sources; arguments are those of the sources, as in :meth:`forward`."""
        key, value = (self._heads(layer, sources) for layer in (self.key, self.value))
        with torch.autocast(sources.device.type, enabled=False):  # sums over many points, and positions
            key, value = at_least_single(key), at_least_single(value)
            if self.norm == "softmax":
                key = key.softmax(-1)
            elif self.norm == "layer":
                key, value = self.norms[0](key), self.norms[1](value)
            else:
                key, value = _instance_norm(key, mask), _instance_norm(value, mask)
            key = self._placed(key, where)
            value = self._placed(value, where) if self.place == "concatenated" else value
            if mask is not None:
                key = key.masked_fill(~mask.view(mask.shape[0], 1, -1, 1), 0)
            return SourceSums(key.transpose(-1, -2) @ value, key.sum(-2).unsqueeze(-1), _count(mask, key))

    def read(self, x: Tensor, sums: SourceSums, where: Tensor | None = None) -> Tensor:
        """Results ``[B, M, channels]`` at points, each from the sums over the sources alone."""
        query = self._heads(self.query, x)
        dtype = query.dtype
        with torch.autocast(x.device.type, enabled=False):
            query = at_least_single(query)
            query = self._placed(query.softmax(-1) if self.norm == "softmax" else query, where)
            out = query @ sums.products
            if self.norm == "softmax":
                weights = query @ sums.keys
                out = query + out / weights.clamp(min=torch.finfo(weights.dtype).tiny)
            else:
                out = out / sums.count
        return cast(Tensor, self.out(out.transpose(1, 2).flatten(2).to(dtype)))

    def _heads(self, layer: nn.Module, x: Tensor) -> Tensor:
        heads: Tensor = layer(x).unflatten(-1, (self.heads, -1)).transpose(1, 2)
        return heads

    def _placed(self, x: Tensor, where: Tensor | None) -> Tensor:
        if self.place == "none":
            return x
        if where is None:
            raise ValueError("Expected positions of points and sources with an attention that uses them")
        if self.place == "rotated":
            return rotate(x, where.unsqueeze(1))
        return torch.cat([where.unsqueeze(1).expand(-1, self.heads, -1, -1).to(x.dtype), x], -1)


@dataclass(frozen=True, eq=False)
class SourceSums:
    """Sums over the sources of an attention.

    Args:
        products: Of products of keys and values, ``[B, heads, size, size]``.
        keys: Of keys, ``[B, heads, size, 1]``.
        count: How many sources, ``[B, 1, 1, 1]`` or a number alone.
    """

    products: Tensor
    keys: Tensor
    count: Tensor


class _HeadNorm(nn.Module):
    """Layer norm of the channels of each head, with scales and shifts of its own."""

    def __init__(self, heads: int, channels: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(heads, 1, channels))
        self.bias = nn.Parameter(torch.empty(heads, 1, channels))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.ones_(self.weight)
        nn.init.zeros_(self.bias)

    def forward(self, x: Tensor) -> Tensor:
        normal = nn.functional.layer_norm(x, x.shape[-1:])
        return normal * self.weight.to(x.dtype) + self.bias.to(x.dtype)


def _count(mask: Tensor | None, points: Tensor) -> Tensor:
    """Points of every sample, ``[B, 1, 1, 1]`` or a number alone."""
    if mask is None:
        return points.new_tensor(points.shape[-2])
    return mask.sum(-1).view(-1, 1, 1, 1).to(points.dtype)


def _instance_norm(x: Tensor, mask: Tensor | None) -> Tensor:
    """Every channel ``[B, H, N, C]`` with mean 0 and variance 1 over the points of a sample."""
    there = x.new_ones(1) if mask is None else mask.view(mask.shape[0], 1, -1, 1).to(x.dtype)
    count = _count(mask, x)
    centred = (x - (x * there).sum(-2, keepdim=True) / count) * there
    variance = centred.square().sum(-2, keepdim=True) / count
    return centred * (variance + 1e-5).rsqrt()


class LinearAttentionOptions(ModelOptions):
    """What options of models made of this attention share."""

    width: Count = 64
    heads: Count = 4

    @model_validator(mode="after")
    def _check_heads(self) -> LinearAttentionOptions:
        if self.width % self.heads:
            raise ValueError(f"Expected 'heads' to divide 'width' = {self.width} (got {self.heads})")
        return self
