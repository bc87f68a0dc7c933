"""The paper's networks with full matrices of weights, as in the formula: the reference for speed and memory."""

from __future__ import annotations

import copy
from typing import cast

import torch
from torch import Tensor, nn

from pitgeo.nn import GlobalPositionAttention, PiT, PositionAttention

_QUANTILE_AT_ONCE = 2**24  # torch.quantile takes no more elements


class Pairs:
    """All pairs of targets and sources: squared distances ``[..., M, N]`` and quantile masks of that shape.

    Args:
        targets: ``[B, M, D]``, or ``[M, D]`` for a mesh shared by all samples.
        sources: ``[B, N, D]``, or ``[N, D]``.
        divisor: Divisor of squared distances.
        keep: Keep distances and masks; otherwise every layer computes its own, as in the authors' code.
    """

    def __init__(self, targets: Tensor, sources: Tensor, divisor: float, keep: bool) -> None:
        self.targets, self.sources, self.divisor, self.keep = targets, sources, divisor, keep
        self._squared_distance: Tensor | None = None
        self._masks: dict[float, Tensor] = {}

    def squared_distance(self) -> Tensor:
        """Squared distances, divided by the divisor."""
        if self._squared_distance is not None:
            return self._squared_distance
        difference = self.targets.unsqueeze(-2) - self.sources.unsqueeze(-3)
        squared_distance = difference.square().sum(-1) / self.divisor
        if self.keep:
            self._squared_distance = squared_distance
        return squared_distance

    def mask(self, squared_distance: Tensor, q: float) -> Tensor:
        """True for sources within the q-quantile of each row."""
        if q in self._masks:
            return self._masks[q]
        rows = squared_distance.flatten(0, -2)
        parts = rows.split(max(1, _QUANTILE_AT_ONCE // rows.shape[1]))
        within = torch.cat([part <= torch.quantile(part, q, -1, keepdim=True) for part in parts])
        mask = within.view_as(squared_distance)
        if self.keep:
            self._masks[q] = mask
        return mask


class DenseAttention(nn.Module):
    """Position-attention with the parameters of a layer, on full matrices.

    Args:
        layer: The layer with the parameters.
        q: Quantile of the sources that a target attends to; 1 for all.
    """

    def __init__(self, layer: PositionAttention | GlobalPositionAttention, q: float) -> None:
        super().__init__()
        self.value, self.scale, self.q = layer.value, layer.scale, q

    def forward(self, x: Tensor, pairs: Pairs) -> Tensor:
        """``[B, N, C]`` -> ``[B, M, C]``; on a shared mesh, weights are computed once for all samples."""
        squared_distance = pairs.squared_distance()
        logits = -self.scale().view(-1, 1, 1) * squared_distance.unsqueeze(-3)
        if self.q < 1:
            logits = logits.masked_fill(~pairs.mask(squared_distance, self.q).unsqueeze(-3), -torch.inf)
        weights = logits.softmax(-1)
        value = self.value(x).unflatten(-1, (self.value.heads, -1))  # [B, N, H, C]
        if weights.dim() == 4:
            return cast(Tensor, (weights @ value.transpose(1, 2)).transpose(1, 2).flatten(2))
        columns = value.permute(2, 1, 0, 3).flatten(2)  # [H, N, B * C]: one product for all samples
        return cast(Tensor, (weights @ columns).unflatten(-1, (len(x), -1)).permute(2, 1, 0, 3).flatten(2))


class DenseTwin(nn.Module):
    """A copy of a :class:`~pitgeo.nn.PiT` with the paper's body, on full matrices.

    Args:
        model: The network; it is copied.
        keep: Compute distances and masks once for a batch, not once for every layer.
    """

    def __init__(self, model: PiT, keep: bool) -> None:
        super().__init__()
        if model.body.moments or model.graphs.quadrature:
            raise ValueError("Expected the paper's body, without first moments or a quadrature (got another network)")
        self.model, self.keep = copy.deepcopy(model), keep
        for stage in (self.model.encoder, *self.model.processor, self.model.decoder):
            stage = cast(nn.Module, stage)
            q = {id(self.model.encoder): model.graphs.encoder, id(self.model.decoder): model.graphs.decoder}
            layer = cast(PositionAttention | GlobalPositionAttention, stage.attention)
            stage.attention = DenseAttention(layer, q.get(id(stage)) or 1.0)

    def forward(self, x: Tensor, pos: Tensor, latent: Tensor | None = None) -> Tensor:
        """Values at the input points.

        Args:
            x: ``[B, N, K]``.
            pos: ``[B, N, D]``, or ``[N, D]`` for a shared mesh.
            latent: ``[B, M, D]`` or ``[M, D]``; ``None`` if the latent points are the input points.
        """
        model, divisor = self.model, self.model.graphs.metric.divisor
        within = Pairs(pos if latent is None else latent, pos if latent is None else latent, divisor, self.keep)
        to_latent = within if latent is None else Pairs(latent, pos, divisor, self.keep)
        to_output = within if latent is None else Pairs(pos, latent, divisor, self.keep)
        coordinates = pos if pos.dim() == 3 else pos.expand(len(x), -1, -1)
        hidden = model.lift(torch.cat([coordinates, x], -1))
        hidden = model.encoder(hidden, hidden if latent is None else None, to_latent)
        for block in model.processor:
            hidden = block(hidden, hidden, within)
        hidden = model.decoder(hidden, hidden if latent is None else None, to_output)
        return cast(Tensor, model.head(hidden))
