"""Attention without a softmax over points, at a cost linear in the number of points, and rotary positions for it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, cast

import torch
from pydantic import model_validator
from torch import Tensor, nn

from pitgeo.models.model_options import Count, ModelOptions
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
    ``"instance"`` gives every channel mean 0 and variance 1 over the points of a sample; ``"softmax"`` runs over the
    channels of queries and keys. Positions enter after the norm: not at all, as coordinates before the channels of
    queries, keys and values, or as a rotation of queries and keys. Sums over points have single precision at least.

    Args:
        channels: Size of each value, and of each result.
        heads: Number of heads.
        norm: The norm of queries, keys and values.
        place: How positions enter.
        dimension: Axes of the positions, if they are concatenated.
        head_channels: Size of a head; ``None`` for ``channels / heads``.
        diagonal: Start with :math:`W_Q, W_K, W_V` as this factor times (a Xavier-uniform matrix plus the identity);
            ``None`` for PyTorch's usual start.

    Shapes:
        - **x** ``[B, M, channels]``, **sources** ``[B, N, channels]``, **mask** ``[B, N]``, true where a source is,
          or ``None`` if everywhere.
        - **positions**, **source_positions** coordinates ``[B, M, dimension]`` and ``[B, N, dimension]``, or angles of
          :func:`rotary_angles`.
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
        bias = norm != "instance"  # an instance norm removes constants
        self.query = nn.Linear(channels, heads * size, bias)
        self.key = nn.Linear(channels, heads * size, bias)
        self.value = nn.Linear(channels, heads * size, bias)
        self.norms = nn.ModuleList(_HeadNorm(heads, size) for _ in range(2 if norm == "layer" else 0))
        coordinates = dimension if place == "concatenated" else 0
        self.out = nn.Linear(heads * (size + coordinates), channels)
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
        positions: Tensor | None = None,
        source_positions: Tensor | None = None,
    ) -> Tensor:
        """Attend."""
        return self.read(x, self.sums(sources, mask, source_positions), positions)

    def sums(self, sources: Tensor, mask: Tensor | None = None, positions: Tensor | None = None) -> SourceSums:
        """The sums over the sources, for all points; the arguments are those of the sources in :meth:`forward`."""
        key, value = (self._heads(layer, sources) for layer in (self.key, self.value))
        with torch.autocast(sources.device.type, enabled=False):  # sums over many points, and positions
            key, value = at_least_single(key), at_least_single(value)
            if self.norm == "softmax":
                key = key.softmax(-1)
            elif self.norm == "layer":
                key, value = self.norms[0](key), self.norms[1](value)
            else:
                key, value = _instance_norm(key, mask), _instance_norm(value, mask)
            key = self._with_positions(key, positions)
            value = self._with_positions(value, positions) if self.place == "concatenated" else value
            if mask is not None:
                key = key.masked_fill(~mask.view(mask.shape[0], 1, -1, 1), 0)
            return SourceSums(key.transpose(-1, -2) @ value, key.sum(-2).unsqueeze(-1), _count(mask, key))

    def read(self, x: Tensor, sums: SourceSums, positions: Tensor | None = None) -> Tensor:
        """Results ``[B, M, channels]`` at points; each depends on its own value and on the sums over the sources."""
        query = self._heads(self.query, x)
        dtype = query.dtype
        with torch.autocast(x.device.type, enabled=False):
            query = at_least_single(query)
            query = self._with_positions(query.softmax(-1) if self.norm == "softmax" else query, positions)
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

    def _with_positions(self, x: Tensor, positions: Tensor | None) -> Tensor:
        if self.place == "none":
            return x
        if positions is None:
            raise ValueError(f"Expected positions of points and sources with 'place' = {self.place!r} (got None)")
        if self.place == "rotated":
            return rotate(x, positions.unsqueeze(1))
        return torch.cat([positions.unsqueeze(1).expand(-1, self.heads, -1, -1).to(x.dtype), x], -1)


@dataclass(frozen=True, eq=False)
class SourceSums:
    """Sums over the sources of an attention.

    Args:
        products: Sums of products of keys and values, ``[B, heads, size, size]``.
        keys: Sums of keys, ``[B, heads, size, 1]``.
        count: Number of sources, ``[B, 1, 1, 1]`` or a scalar.
    """

    products: Tensor
    keys: Tensor
    count: Tensor


class _HeadNorm(nn.Module):
    """Layer norm of the channels of each head, with scales and shifts for every head."""

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
    """Number of points of every sample, ``[B, 1, 1, 1]`` or a scalar."""
    if mask is None:
        return points.new_tensor(points.shape[-2])
    return mask.sum(-1).view(-1, 1, 1, 1).to(points.dtype)


def _instance_norm(x: Tensor, mask: Tensor | None) -> Tensor:
    """Every channel ``[B, H, N, C]`` with mean 0 and variance 1 over the points of a sample."""
    present = x.new_ones(1) if mask is None else mask.view(mask.shape[0], 1, -1, 1).to(x.dtype)
    count = _count(mask, x)
    centred = (x - (x * present).sum(-2, keepdim=True) / count) * present
    variance = centred.square().sum(-2, keepdim=True) / count
    return centred * (variance + 1e-5).rsqrt()


def rotary_angles(pos: Tensor, channels: int, unit: float) -> Tensor:
    r"""The angles by which :func:`rotate` rotates the features of points.

    .. math:: \phi_{d, k} = 10000^{-k / n} \, p_d / u, \qquad k = 0, \dots, n - 1

    for every axis :math:`d`, with :math:`n` the number of channel pairs of an axis, ``channels // (2 D)``.

    Args:
        pos: Positions ``[..., D]``.
        channels: Size of a feature.
        unit: The length :math:`u` over which the fastest angle grows by 1, for example the spacing of the points.

    Returns:
        Angles ``[..., D n]``, of the type of ``pos``.

    Raises:
        ValueError: If an axis gets no channels.

    Example:
        >>> rotary_angles(torch.tensor([[0.0, 2.0]]), channels=4, unit=0.5)
        tensor([[0., 4.]])

    Reference:
        Su et al., RoFormer, 2021; for several axes as Li et al., TMLR 2023.
    """
    pairs = channels // (2 * pos.shape[-1])
    if pairs < 1:
        raise ValueError(
            f"Expected at least two channels in a head for each of {pos.shape[-1]} axes, to rotate (got {channels})"
        )
    speed = 10000.0 ** (-torch.arange(pairs, dtype=pos.dtype, device=pos.device) / pairs) / unit
    return (pos.unsqueeze(-1) * speed).flatten(-2)


def rotate(x: Tensor, angles: Tensor) -> Tensor:
    r"""Rotate pairs of channels by angles.

    .. math:: (a, b) \mapsto (a \cos \phi - b \sin \phi, \; a \sin \phi + b \cos \phi)

    A product of two rotated features depends only on the difference of their angles. Channel ``k`` forms a pair with
    ``k + A``; channels from ``2 A`` on stay as they are.

    Args:
        x: Features ``[..., channels]``.
        angles: ``[..., A]``, ``A`` at most half the channels.

    Returns:
        Features ``[..., channels]``.

    Example:
        >>> rotate(torch.tensor([1.0, 0.0, 5.0]), torch.tensor([torch.pi / 2])).round()
        tensor([-0., 1., 5.])
    """
    half = angles.shape[-1]
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    first, second, rest = x[..., :half], x[..., half : 2 * half], x[..., 2 * half :]
    return torch.cat([first * cos - second * sin, first * sin + second * cos, rest], -1)


class LinearAttentionOptions(ModelOptions):
    """Options that all models with this attention share."""

    width: Count = 64
    heads: Count = 4

    @model_validator(mode="after")
    def _check_heads(self) -> LinearAttentionOptions:
        if self.width % self.heads:
            raise ValueError(f"Expected 'heads' to divide 'width' = {self.width} (got {self.heads})")
        return self
