"""Distances in attention weights and graphs, on periodic domains too: their definition.

Faster forms of the same distance are in ``fused``, ``expansion`` and ``dense_attention`` of :mod:`pitgeo.nn.kernels`
(layers), and in ``search`` and ``boxes`` of :mod:`pitgeo.graphs` (graphs). Tests compare them with this one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Metric:
    r"""Squared Euclidean distance, with periods and a divisor.

    .. math::
        D(p, q) = \frac{1}{c} \sum_a \delta_a^2, \qquad
        \delta_a = p_a - q_a - L_a \operatorname{round}\left(\frac{p_a - q_a}{L_a}\right)

    On a periodic axis the nearest image counts (the minimum-image distance). Graph builder, layers and length-scale
    report share one metric, so a graph and the weights on its edges cannot disagree.

    Args:
        period: Length :math:`L_a` of the domain along each axis, ``0`` for an axis that does not repeat; empty for a
            domain that does not repeat at all.
        divisor: The :math:`c` that squared distances are divided by (2 in the paper's Darcy2D, Elasticity and NACA,
            0.25 in InviscidBurgers). It rescales :math:`\lambda` and changes no neighbourhood.

    Raises:
        ValueError: If a period is negative, or the divisor is not positive, or either is not finite.

    Example:
        >>> import torch
        >>> Metric(period=(1.0,)).squared_distance(torch.tensor([0.05]), torch.tensor([0.95]))
        tensor(0.0100)

    Reference:
        Chen and Wu, ICML 2024, equation (4).
    """

    period: tuple[float, ...] = ()
    divisor: float = 1.0

    def __post_init__(self) -> None:
        if any(not math.isfinite(length) or length < 0 for length in self.period):
            raise ValueError(f"Expected every 'period' to be 0 (not periodic) or positive (got {self.period})")
        if not math.isfinite(self.divisor) or self.divisor <= 0:
            raise ValueError(f"Expected 'divisor' to be positive (got {self.divisor})")

    @property
    def is_periodic(self) -> bool:
        """Whether any axis repeats."""
        return any(length > 0 for length in self.period)

    def squared_distance(self, targets: Tensor, sources: Tensor) -> Tensor:
        """Squared distances between broadcast positions ``[..., D]``, divided by the divisor; shape ``[...]``."""
        difference = targets - sources
        if self.is_periodic:
            self.check_dimension(difference.shape[-1])
            length = difference.new_tensor(self.period)
            safe = torch.where(length > 0, length, torch.ones_like(length))
            difference = difference - torch.where(length > 0, length * torch.round(difference / safe), 0.0)
        return difference.square().sum(-1) / self.divisor

    def pairwise(self, targets: Tensor, sources: Tensor) -> Tensor:
        """Squared distances ``[..., M, N]`` of every target ``[..., M, D]`` to every source ``[..., N, D]``."""
        return self.squared_distance(targets.unsqueeze(-2), sources.unsqueeze(-3))

    def along_edges(self, targets: Tensor, sources: Tensor, target: Tensor | int, source: Tensor) -> Tensor:
        """Squared distances ``[E]`` of the edges of a graph; the arguments are those of :meth:`steps_along_edges`."""
        total = sources.new_zeros(())
        for step in self.steps_along_edges(targets, sources, target, source):
            total = torch.addcmul(total, step, step)
        return total / self.divisor

    def steps_along_edges(
        self, targets: Tensor, sources: Tensor, target: Tensor | int, source: Tensor
    ) -> Iterator[Tensor]:
        """Steps ``[E]`` from targets to sources, the shortest way round, along one axis after the other.

        So no row of coordinates is gathered for every edge.

        Args:
            targets: Positions ``[M, D]``.
            sources: Positions ``[N, D]``.
            target: Target numbers ``[E]``; or how many edges each target has, if all have as many.
            source: Source numbers ``[E]``.
        """
        if self.is_periodic:
            self.check_dimension(targets.shape[1])
        for axis, length in enumerate(self.period or (0.0,) * targets.shape[1]):
            there = sources[:, axis].index_select(0, source)
            if isinstance(target, int):
                step = (there.view(-1, target) - targets[:, axis].unsqueeze(1)).flatten()
            else:
                step = there - targets[:, axis].index_select(0, target)
            yield shortest(step, length)

    def check_dimension(self, dimension: int) -> None:
        """Raise a ``ValueError`` if the period does not have one entry per axis."""
        if self.period and len(self.period) != dimension:
            raise ValueError(
                f"Expected 'period' to have one entry per axis of {dimension}-dimensional positions (got {self.period})"
            )


def shortest(difference: Tensor, period: float) -> Tensor:
    """Differences of coordinates along one axis, the shortest way round if it repeats, with a period above 0."""
    return difference if period == 0 else difference - period * torch.round(difference / period)
