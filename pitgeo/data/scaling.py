"""Scalings of fields. They are buffers of the trained module, so that a checkpoint alone is enough to predict."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import interpolate

CONSTANT = 1e-7
"""A channel is constant if its standard deviation is less than this share of its largest value."""


class Scaling(nn.Module):
    r"""Shift and scale the channels of a field.

    .. math::
        \hat{x}_k = (x_k - \mu_k) / \sigma_k

    A constant channel is only shifted. Channels in ``logs`` are replaced by their logarithm first; in channels of
    ``zeros``, zeros stay zeros. ``mean`` and ``std`` are buffers, saved with the weights. If all samples share a mesh,
    they may differ between points; on another resolution of the same regular grid they are interpolated linearly.

    Args:
        mean: The shift :math:`\mu` of every channel, ``[K]``, or of every point, ``[N, K]``; ``K`` may be 0.
        std: The scale :math:`\sigma`, of the same shape, positive.
        grid: Points along each axis of the regular grid, if there is a mean for every point of one.
        logs: Channels whose logarithm is scaled; all their values must be positive.
        zeros: Channels whose zeros stay zeros, for inputs with values only in a set.

    Shapes:
        - **x** ``[..., K]``, or ``[..., N, K]``; the output has the same shape.

    Raises:
        ValueError: If the shapes disagree, a number is not finite, or a scale is not positive.

    Example:
        >>> import torch
        >>> scaling = Scaling.fit([torch.tensor([[1.0], [3.0]])], "channel")
        >>> scaling.scale(torch.tensor([[2.0], [4.0]]))
        tensor([[0.],
                [2.]])
    """

    mean: Tensor
    std: Tensor
    grid: Tensor
    is_log: Tensor
    keeps_zero: Tensor

    def __init__(
        self,
        mean: Tensor,
        std: Tensor,
        grid: tuple[int, ...] = (),
        logs: Sequence[int] = (),
        zeros: Sequence[int] = (),
    ) -> None:
        super().__init__()
        if mean.dim() not in (1, 2) or mean.shape != std.shape:
            raise ValueError(
                f"Expected 'mean' and 'std' to have one shape, [K] or [N, K] "
                f"(got {list(mean.shape)} and {list(std.shape)})"
            )
        if not bool(torch.isfinite(mean).all() and torch.isfinite(std).all() and (std > 0).all()):
            raise ValueError(
                f"Expected 'mean' and 'std' to be finite and 'std' positive (got {mean.tolist()} and {std.tolist()})"
            )
        if grid and (mean.dim() == 1 or math.prod(grid) != mean.shape[0]):
            raise ValueError(f"Expected a mean for each of {math.prod(grid)} points of a grid (got {list(mean.shape)})")
        self.register_buffer("mean", mean.detach().clone())
        self.register_buffer("std", std.detach().clone())
        self.register_buffer("grid", torch.tensor(grid, dtype=torch.long))
        is_log = torch.zeros(mean.shape[-1], dtype=torch.bool)
        is_log[list(logs)] = True
        self.register_buffer("is_log", is_log)
        self.has_logs = bool(is_log.any())
        keeps_zero = torch.zeros_like(is_log)
        keeps_zero[list(zeros)] = True
        self.register_buffer("keeps_zero", keeps_zero)
        self.has_zeros = bool(keeps_zero.any())

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *others: Any) -> None:
        state_dict.setdefault(f"{prefix}keeps_zero", torch.zeros_like(self.keeps_zero))  # earlier checkpoints lack it
        super()._load_from_state_dict(state_dict, prefix, *others)

    @property
    def is_identity(self) -> bool:
        """Whether it changes nothing."""
        return not self.has_logs and bool((self.mean == 0).all() and (self.std == 1).all())

    @classmethod
    def identity(cls, channels: int) -> Scaling:
        """A scaling of ``channels`` channels that changes nothing."""
        return cls(torch.zeros(channels), torch.ones(channels))

    @classmethod
    def fit_points(cls, values: Tensor, grid: tuple[int, ...]) -> Scaling:
        """Find the scaling of every point of a shared mesh, in float64.

        The scale of a point is at least a hundredth of that of its channel: values on a boundary may be constant.

        Args:
            values: The field of all training samples, ``[S, N, K]``.
            grid: Points along each axis of a regular grid; empty without one.
        """
        mean, second = (torch.zeros(values.shape[1:], dtype=torch.float64) for _ in range(2))
        for sample in values:
            mean += sample.double() / len(values)
        for sample in values:
            second += (sample.double() - mean).square() / len(values)
        whole = cls.fit(values.unbind(0), "channel").std.double()
        return cls(mean.float(), torch.maximum(second.sqrt(), whole / 100).float(), grid)

    @classmethod
    def fit(
        cls,
        values: Iterable[Tensor],
        kind: Literal["none", "channel"],
        logs: Sequence[int] = (),
        moments: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]] | None = None,
    ) -> Scaling:
        """Find one scaling for all points of a list of fields ``[N, K]``, in float64.

        Args:
            values: The field of every training sample; the numbers of points may differ.
            kind: ``"channel"`` for mean and standard deviation of every channel, ``"none"`` to change nothing.
            logs: Channels whose logarithm is scaled.
            moments: From mean and variance of the channels to those that count, for samples that are turned
                (:meth:`pitgeo.data.symmetries.Symmetries.moments`).

        Raises:
            ValueError: If there is no field, the channels differ, a value is not finite, or a logarithm is not defined.
        """
        if kind not in ("none", "channel"):
            raise ValueError(f"Expected 'kind' to be 'none' or 'channel' (got {kind!r})")
        sums = _Sums(tuple(logs))
        for number, value in enumerate(values):
            sums.add(value.detach(), number)
        if sums.count == 0:
            raise ValueError("Expected at least one field to fit a scaling to (got none)")
        channels = len(sums.mean)
        if channels == 0 or kind == "none":
            identity = cls.identity(channels)
            return cls(identity.mean, identity.std, (), logs)
        mean, variance = sums.mean, sums.square / sums.count
        mean, variance = (mean, variance) if moments is None else moments(mean, variance)
        std = variance.sqrt()
        if not bool(torch.isfinite(std).all()):
            raise ValueError("Expected the fields to be finite (got a value that is not); check the training samples")
        std = torch.where(std > CONSTANT * sums.size, std, torch.ones_like(std))
        return cls(mean.float(), std.float(), (), logs)

    def scale(
        self,
        x: Tensor,
        grid: tuple[int, ...] | None = None,
        batch: Tensor | None = None,
        reference: Tensor | None = None,
        some: tuple[Tensor, int] | None = None,
    ) -> Tensor:
        """From physical units to the model's.

        Args:
            x: The field.
            grid: Grid of the points, if it may differ from that of the scaling.
            batch: The sample of every row of a field ``[N, K]``, if it has several samples one after another.
            reference: What the field is divided by first, of a shape that goes with it
                (:mod:`pitgeo.data.reference_quantities`); ``None`` for nothing.
            some: Numbers ``[m]`` of the points of ``x``, and the number of all points; ``None`` if ``x`` has all.
        """
        mean, std = self._of_some(x, grid, batch, some)
        x = x if reference is None else x / reference
        if self.has_logs:
            x = torch.where(self.is_log, torch.where(self.is_log, x, 1.0).log(), x)
        scaled = (x - mean) / std
        return torch.where(self.keeps_zero & (x == 0), 0.0, scaled) if self.has_zeros else scaled

    def unscale(
        self,
        x: Tensor,
        grid: tuple[int, ...] | None = None,
        batch: Tensor | None = None,
        some: tuple[Tensor, int] | None = None,
        reference: Tensor | None = None,
    ) -> Tensor:
        """From the model's units to physical ones.

        Args:
            x: The field.
            grid: Grid of the points, if it may differ from that of the scaling.
            batch: As for :meth:`scale`, for all points.
            some: Numbers ``[m]`` of the points of ``x``, and the number of all points; ``None`` if ``x`` has all.
            reference: What the field was divided by, at the points of ``x``; ``None`` for nothing.
        """
        mean, std = self._of_some(x, grid, batch, some)
        x = x * std + mean
        x = torch.where(self.is_log, torch.where(self.is_log, x, 0.0).exp(), x) if self.has_logs else x
        return x if reference is None else x * reference

    def forward(self, x: Tensor) -> Tensor:
        """The result of :meth:`scale`."""
        return self.scale(x)

    def _of_some(
        self, x: Tensor, grid: tuple[int, ...] | None, batch: Tensor | None, some: tuple[Tensor, int] | None
    ) -> tuple[Tensor, Tensor]:
        """Mean and standard deviation at all or some of the points of a field."""
        if some is None:
            return self._at(x, grid, batch)
        rows, points = some
        mean, std = self._at(x[..., :1, :].expand(*x.shape[:-2], points, -1), grid, batch)
        return (mean, std) if mean.dim() == 1 else (mean[rows], std[rows])

    def _at(self, x: Tensor, grid: tuple[int, ...] | None, batch: Tensor | None) -> tuple[Tensor, Tensor]:
        """Mean and standard deviation at the points of a field."""
        channels = self.mean.shape[-1]
        if not torch.compiler.is_compiling() and (x.dim() == 0 or x.shape[-1] != channels):
            raise ValueError(f"Expected the field to have {channels} channels (got shape {list(x.shape)})")
        if self.mean.dim() == 1:
            return self.mean, self.std
        own = () if grid is None else tuple(self.grid.tolist())
        mean, std = self.mean, self.std
        if grid is not None and own and len(grid) == len(own) and grid != own:
            mean, std = _resized(mean, own, grid), _resized(std, own, grid)
        points = [x.shape[-2]] if x.dim() > 1 else []
        if batch is not None and x.dim() == 2:  # samples one after another
            points = torch.bincount(batch).tolist()
            mean, std = (part.repeat(len(points), 1) for part in (mean, std))
        per_sample = len(mean) // max(1, len(points))
        if set(points) != {per_sample} or x.shape[-2] != len(mean):
            raise ValueError(
                f"Expected the {len(self.mean)} points that the scaling was fitted to, or another resolution of "
                f"their regular grid (got shape {list(x.shape)} on the grid {grid}"
                f"{'' if batch is None else f', samples of {sorted(set(points))} points'}); take 'channel' for others"
            )
        return mean, std

    def extra_repr(self) -> str:
        """What ``repr`` shows of the scaling."""
        return f"channels={self.mean.shape[-1]}"


class _Sums:
    """Running mean and squared deviations of the channels, in float64; only one field is in memory at a time."""

    def __init__(self, logs: tuple[int, ...]) -> None:
        self.logs = list(logs)
        self.count = 0
        self.mean = self.square = self.size = torch.zeros(0, dtype=torch.float64)

    def add(self, field: Tensor, number: int) -> None:
        channels = len(self.mean) if self.count else field.shape[-1]
        if field.dim() != 2 or field.shape[1] != channels:
            raise ValueError(f"Expected field {number} to have shape [N, {channels}] (got {list(field.shape)})")
        values = field.double()
        if self.logs:
            low = values[:, self.logs].amin()
            if not low > 0:
                raise ValueError(
                    f"Expected positive values where the logarithm is scaled (got {float(low):g} in field {number}); "
                    f"leave the name out of scaling.log"
                )
            values = values.clone()
            values[:, self.logs] = values[:, self.logs].log()
        count, mean = len(values), values.mean(0)
        square = (values - mean).square().sum(0)
        size = values.abs().amax(0)
        if self.count == 0:
            self.count, self.mean, self.square, self.size = count, mean, square, size
            return
        total = self.count + count
        shift = mean - self.mean
        self.square = self.square + square + shift.square() * self.count * count / total
        self.mean = self.mean + shift * count / total
        self.count, self.size = total, torch.maximum(self.size, size)


def _resized(values: Tensor, old: tuple[int, ...], new: tuple[int, ...]) -> Tensor:
    """Linear interpolation between regular grids over the same box, ends included: ``[N, K]`` -> ``[M, K]``."""
    mode = {1: "linear", 2: "bilinear", 3: "trilinear"}[len(old)]
    image = values.t().reshape(1, -1, *old)
    return interpolate(image, size=new, mode=mode, align_corners=True).reshape(values.shape[1], -1).t()
