"""Scalings of fields, kept as buffers of the trained module so that a checkpoint alone is enough to predict."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import torch
from torch import Tensor, nn

CONSTANT = 1e-7
"""A channel that spreads by less than this, relative to its largest value, counts as constant."""


class Scaling(nn.Module):
    r"""Shift and scale the channels of a field.

    .. math::
        \hat{x}_k = (x_k - \mu_k) / \sigma_k

    A constant channel is only shifted. ``mean`` and ``std`` are buffers: they travel with the weights.

    Args:
        mean: The shift :math:`\mu` of every channel, ``[K]``; ``K`` may be 0.
        std: The scale :math:`\sigma` of every channel, ``[K]``, positive.

    Shapes:
        - **x** ``[..., K]``; the output has the same shape.

    Raises:
        ValueError: If the shapes disagree, or anything is not finite, or a scale is not positive.

    Example:
        >>> import torch
        >>> scaling = Scaling.fit([torch.tensor([[1.0], [3.0]])], "channel")
        >>> scaling.scale(torch.tensor([[2.0], [4.0]]))
        tensor([[0.],
                [2.]])
    """

    mean: Tensor
    std: Tensor

    def __init__(self, mean: Tensor, std: Tensor) -> None:
        super().__init__()
        if mean.dim() != 1 or mean.shape != std.shape:
            raise ValueError(
                f"Expected 'mean' and 'std' to have one shape [K] (got {list(mean.shape)} and {list(std.shape)})"
            )
        if not bool(torch.isfinite(mean).all() and torch.isfinite(std).all() and (std > 0).all()):
            raise ValueError(
                f"Expected 'mean' and 'std' to be finite and 'std' positive (got {mean.tolist()} and {std.tolist()})"
            )
        self.register_buffer("mean", mean.detach().clone())
        self.register_buffer("std", std.detach().clone())

    @classmethod
    def identity(cls, channels: int) -> Scaling:
        """A scaling of ``channels`` channels that changes nothing."""
        return cls(torch.zeros(channels), torch.ones(channels))

    @classmethod
    def fit(cls, values: Iterable[Tensor], kind: Literal["none", "channel"]) -> Scaling:
        """Find the scaling of a list of fields ``[N, K]``: of all their points together, in float64.

        Args:
            values: The field of every training sample; the numbers of points may differ.
            kind: ``"channel"`` for mean and standard deviation of every channel, ``"none"`` to change nothing.

        Raises:
            ValueError: If there is no field, the channels differ, or a value is not finite.
        """
        if kind not in ("none", "channel"):
            raise ValueError(f"Expected 'kind' to be 'none' or 'channel' (got {kind!r})")
        fields = [value.detach() for value in values]
        if not fields:
            raise ValueError("Expected at least one field to fit a scaling to (got none)")
        channels = fields[0].shape[-1]
        for number, field in enumerate(fields):
            if field.dim() != 2 or field.shape[1] != channels:
                raise ValueError(f"Expected field {number} to have shape [N, {channels}] (got {list(field.shape)})")
        if kind == "none" or channels == 0:
            return cls.identity(channels)
        count = sum(field.shape[0] for field in fields)
        mean = torch.stack([field.double().sum(0) for field in fields]).sum(0) / count
        square = torch.stack([(field.double() - mean).square().sum(0) for field in fields]).sum(0) / count
        if not bool(torch.isfinite(square).all()):
            raise ValueError("Expected the fields to be finite (got a value that is not); check the training samples")
        size = torch.stack([field.double().abs().amax(0) for field in fields]).amax(0)
        std = square.sqrt()
        std = torch.where(std > CONSTANT * size, std, torch.ones_like(std))
        return cls(mean.float(), std.float())

    def scale(self, x: Tensor) -> Tensor:
        """From physical units to the model's."""
        self._check(x)
        return (x - self.mean) / self.std

    def unscale(self, x: Tensor) -> Tensor:
        """From the model's units to physical ones."""
        self._check(x)
        return x * self.std + self.mean

    def forward(self, x: Tensor) -> Tensor:
        """The same as :meth:`scale`."""
        return self.scale(x)

    def _check(self, x: Tensor) -> None:
        if not torch.compiler.is_compiling() and (x.dim() == 0 or x.shape[-1] != self.mean.numel()):
            raise ValueError(f"Expected the field to have {self.mean.numel()} channels (got shape {list(x.shape)})")

    def extra_repr(self) -> str:
        """Shown when printed."""
        return f"channels={self.mean.numel()}"
