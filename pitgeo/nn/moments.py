r"""First moments: with them, a weighted average over neighbours can represent gradients.

With :math:`\alpha^h_{ij}` the weights of a position-attention head of length :math:`\ell_h`, and
:math:`v_j^h = W^h x_j` the values that it averages,

.. math::
    y_i = \bigoplus_h \sum_j \alpha^h_{ij} v_j^h
        + \sum_{h, a} W_a^h \sum_j \alpha^h_{ij} \frac{(p_j - p_i)_a}{\ell_h} \, \hat v_j^h

with :math:`\bigoplus` the concatenation of heads, and :math:`\hat v` the first values of a head: as many as double its
sums, but at most half of the values, and at least one. The layer stays linear in the values, and its weights depend on
distances alone. But it is not symmetric any more: it can represent gradients, as moving least squares can, and the
boundary of the mesh. Written out,

.. math::
    \sum_j \alpha^h_{ij} (p_j - p_i)_a \hat v_j^h
        = \sum_j \alpha^h_{ij} p_{ja} \hat v_j^h - p_{ia} \sum_j \alpha^h_{ij} \hat v_j^h,

so moments are averages too, of additional values. Along an axis of period :math:`L`,
:math:`\tfrac{L}{2 \pi} \sin \tfrac{2 \pi}{L} (p_j - p_i)_a` replaces the difference, which splits in the same way.

Around a point between the nodes of a coarse grid, neighbours are not symmetric: even the moment of a constant is not
zero, and changes with the grid. Where sources have different resolutions, as in an encoder, this moment is separated
and gets matrices :math:`V_a^h` of its own, initially 0. With :math:`\bar v_i^h = \sum_j \alpha^h_{ij} \hat v_j^h`,

.. math::
    \dots + \sum_{h, a} W_a^h \Bigl( \sum_j \alpha^h_{ij} \frac{(p_j - p_i)_a}{\ell_h} \hat v_j^h
        - o_{ia}^h \bar v_i^h \Bigr) + \sum_{h, a} V_a^h \, o_{ia}^h \bar v_i^h,
    \qquad o_{ia}^h = \sum_j \alpha^h_{ij} \frac{(p_j - p_i)_a}{\ell_h} .

The first of the two sums has the moments about the weighted mean of the neighbours, in which constants vanish (along a
periodic axis, covariances with the sine). The second sum has the position of that mean, and so shows where the mesh
ends. With :math:`V = W` the result is the form above.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import linear, pad
from torch.nn.init import kaiming_normal_

from pitgeo.graphs.metric import Metric
from pitgeo.nn.checks import check_counts

About = Literal["point", "mean"]


class FirstMoments(nn.Module):
    """The matrices :math:`W_a^h`, and :math:`V_a^h` if there are any, and the values to be averaged for the moments.

    Initially :math:`W` is He-normal, for the number of inputs of both matrices together, and :math:`V` is 0.

    Args:
        out_channels: Size of all heads' values together, and of the results; divisible by ``heads``.
        heads: Number of heads.
        axes: Axes of the positions.
        metric: Periods of the domain.
        about: ``"point"``: moments about the target point; ``"mean"``: about the mean of its neighbours, and the
            position of that mean through matrices of its own.

    Raises:
        ValueError: If ``axes`` is not positive, or there is another number of periods.
    """

    def __init__(self, out_channels: int, heads: int, axes: int, metric: Metric, about: About = "point") -> None:
        super().__init__()
        check_counts(moments=axes)
        metric.check_dimension(axes)
        self.heads, self.periods = heads, metric.period or (0.0,) * axes
        self.channels = out_channels // heads
        parts = sum(2 if period else 1 for period in self.periods)
        self.moment_channels = max(1, self.channels // max(2, parts))  # the values of a head that have moments
        self.is_apart = about == "mean"
        self.weight = nn.Parameter(torch.empty(out_channels, (1 + self.is_apart) * axes * heads * self.moment_channels))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new initial values."""
        kaiming_normal_(self.weight)
        if self.is_apart:
            with torch.no_grad():
                self.weight.chunk(2, 1)[1].zero_()

    def expand(self, value: Tensor, pos: Tensor) -> Tensor:
        """The values to average: those of the heads, then those that moments need; in the type of the positions.

        Args:
            value: :math:`W x` of some heads, ``[..., N, some * C]``.
            pos: Source positions ``[..., N, D]``, about the same origin as the targets of :meth:`contract`.

        Returns:
            ``[..., N, some, C + parts * K]``, with 1 part for every axis, or 2 for a periodic one, and ``K`` the
            number of values that have moments, with ``about="mean"`` including the constant 1.

        Raises:
            ValueError: If the positions have another number of axes.
        """
        self.check_axes(pos)
        value = value.to(pos.dtype).unflatten(-1, (-1, self.channels))
        chosen, parts = self._with_moments(value), [value]
        with torch.autocast(pos.device.type, enabled=False):
            for period, coordinate in zip(self.periods, pos.unsqueeze(-2).split(1, -1), strict=True):
                if period == 0:
                    parts.append(coordinate * chosen)
                else:
                    angle, radius = coordinate * (2 * math.pi / period), period / (2 * math.pi)
                    parts += [radius * angle.sin() * chosen, radius * angle.cos() * chosen]
        return torch.cat(parts, -1)

    def contract(self, sums: Tensor, pos: Tensor, lengths: Tensor, heads: slice = slice(None)) -> tuple[Tensor, Tensor]:
        """The averages of the values, and the contribution of the moments, from averages of :meth:`expand`.

        Args:
            sums: The averages ``[..., M, some, C + parts * K]`` of some heads.
            pos: Target positions ``[..., M, D]``.
            lengths: The lengths ``[heads]`` of all heads.
            heads: The heads that ``sums`` has.

        Returns:
            ``[..., M, some * C]``, the averages of these heads, and ``[..., M, heads * C]``, the contribution of their
            moments to the results of all heads.
        """
        value, rest = sums.split([self.channels, sums.shape[-1] - self.channels], -1)
        chosen = self._with_moments(value)
        moments, parts = [], iter(rest.split(chosen.shape[-1], -1))
        with torch.autocast(pos.device.type, enabled=False):
            for period, coordinate in zip(self.periods, pos.unsqueeze(-2).split(1, -1), strict=True):
                if period == 0:
                    moments.append(torch.addcmul(next(parts), coordinate, chosen, value=-1))
                else:
                    angle = coordinate * (2 * math.pi / period)
                    moments.append(angle.cos() * next(parts) - angle.sin() * next(parts))
            firsts = torch.stack(moments, -3)  # [..., M, D, some, K]
            return value.flatten(-2), self.contribution(self.about(firsts, chosen), lengths, heads)

    def about(self, firsts: Tensor, chosen: Tensor) -> Tensor:
        """First moments about what they are to be about, from those about the targets.

        Args:
            firsts: ``[..., M, D, some, K]``; with ``about="mean"``, ``K`` includes the constant 1, at the end.
            chosen: The averages ``[..., M, some, K]`` of these values.
        """
        if not self.is_apart:
            return firsts
        constant = firsts[..., -1:] * chosen[..., : self.moment_channels].unsqueeze(-3)
        return torch.cat([firsts[..., :-1] - constant, constant], -3)

    def contribution(self, firsts: Tensor, lengths: Tensor, heads: slice = slice(None)) -> Tensor:
        """The contribution ``[..., M, heads * C]`` of first moments ``[..., M, D, some, K]`` of some heads."""
        weight = self.weight.unflatten(1, (-1, self.heads, self.moment_channels))[:, :, heads]
        weight = (weight / lengths[heads].view(-1, 1)).flatten(1).to(firsts.dtype)
        with torch.autocast(firsts.device.type, enabled=False):
            return linear(firsts.flatten(-3), weight)

    def factors(self, steps: Iterable[Tensor]) -> list[Tensor]:
        """What moments multiply the weights of edges with, from the steps along every axis: these, or sines."""
        return [_sine(step, period) if period else step for step, period in zip(steps, self.periods, strict=True)]

    def steps(self, pos: Tensor, axis: int) -> Tensor:
        """What moments along an axis multiply the weights with, ``[N, N]``, for positions ``[N, D]``."""
        coordinate, period = pos[:, axis], self.periods[axis]
        step = coordinate - coordinate.unsqueeze(1)
        return step if period == 0 else _sine(step, period)

    def check_axes(self, pos: Tensor) -> None:
        """Raise a ``ValueError`` if positions have another number of axes."""
        if pos.shape[-1] != len(self.periods):
            raise ValueError(
                f"Expected positions along {len(self.periods)} axes for moments (got {pos.shape[-1]}); set 'moments' "
                f"to {pos.shape[-1]}, or to 0 for averages alone"
            )

    def _with_moments(self, value: Tensor) -> Tensor:
        """The values that have moments, of ``[..., C]``; with ``about="mean"``, the constant 1 after them."""
        chosen = value[..., : self.moment_channels]
        return pad(chosen, (0, 1), value=1.0) if self.is_apart else chosen


def _sine(step: Tensor, period: float) -> Tensor:
    return period / (2 * math.pi) * torch.sin(2 * math.pi / period * step)
