"""The paper's networks on full matrices of weights, as the formula has it: what speed and memory are compared with."""

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
        divisor: Of squared distances.
        keep: Keep distances and masks once made; otherwise every layer makes its own, as the authors' code does.
    """

    def __init__(self, targets: Tensor, sources: Tensor, divisor: float, keep: bool) -> None:
        self.targets, self.sources, self.divisor, self.keep = targets, sources, divisor, keep
        self._squared: Tensor | None = None
        self._masks: dict[float, Tensor] = {}

    def squared(self) -> Tensor:
        """Squared distances over the divisor."""
        if self._squared is not None:
            return self._squared
        squared = (self.targets.unsqueeze(-2) - self.sources.unsqueeze(-3)).square().sum(-1) / self.divisor
        if self.keep:
            self._squared = squared
        return squared

    def mask(self, squared: Tensor, q: float) -> Tensor:
        """Which sources lie within the q-quantile of each row."""
        if q in self._masks:
            return self._masks[q]
        rows = squared.flatten(0, -2)
        parts = rows.split(max(1, _QUANTILE_AT_ONCE // rows.shape[1]))
        mask = torch.cat([part <= torch.quantile(part, q, -1, keepdim=True) for part in parts]).view_as(squared)
        if self.keep:
            self._masks[q] = mask
        return mask


class DenseAttention(nn.Module):
    """Position-attention with the parameters of a layer, on full matrices.

    Args:
        layer: Whose parameters to take.
        q: Quantile of the sources that a target attends to; 1 for all.
    """

    def __init__(self, layer: PositionAttention | GlobalPositionAttention, q: float) -> None:
        super().__init__()
        self.value, self.scale, self.q = layer.value, layer.scale, q

    def forward(self, x: Tensor, pairs: Pairs) -> Tensor:
        """``[B, N, C]`` -> ``[B, M, C]``; on a shared mesh, weights are made once for all samples."""
        squared = pairs.squared()
        logits = -self.scale().view(-1, 1, 1) * squared.unsqueeze(-3)
        if self.q < 1:
            logits = logits.masked_fill(~pairs.mask(squared, self.q).unsqueeze(-3), -torch.inf)
        weights = logits.softmax(-1)
        value = self.value(x).unflatten(-1, (self.value.heads, -1))  # [B, N, H, C]
        if weights.dim() == 4:
            return cast(Tensor, (weights @ value.transpose(1, 2)).transpose(1, 2).flatten(2))
        columns = value.permute(2, 1, 0, 3).flatten(2)  # [H, N, B * C]: one product for all samples
        return cast(Tensor, (weights @ columns).unflatten(-1, (len(x), -1)).permute(2, 1, 0, 3).flatten(2))


class DenseTwin(nn.Module):
    """A network with the parameters of a :class:`~pitgeo.nn.PiT` in the paper's body, on full matrices.

    Args:
        model: The network; it is copied.
        keep: Distances and masks are made once a batch, not once a layer.
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
            latent: ``[B, M, D]`` or ``[M, D]``; ``None`` where the latent points are the input points.
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
