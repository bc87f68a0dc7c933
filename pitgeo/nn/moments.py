r"""First moments: what lets an average over neighbours know in which direction a value lies.

With :math:`\alpha^h_{ij}` the weights of a position-attention head that looks :math:`\ell_h` far,

.. math::
    y_i^h = \sum_j \alpha^h_{ij} \Big( W^h x_j + \sum_a \frac{(p_j - p_i)_a}{\ell_h} W_a^h x_j \Big)

is still linear in the values, with weights that see distances alone, but not symmetric any more: gradients are within
reach, as they are of moving least squares, and so is where the mesh ends. Written out with
:math:`m_{ja}^h = W_a^h x_j / \ell_h`,

.. math::
    y_i^h = \sum_j \alpha^h_{ij} \Big( W^h x_j + \sum_a p_{ja} m_{ja}^h \Big)
        - \sum_a p_{ia} \sum_j \alpha^h_{ij} m_{ja}^h,

so that averages of a few more values do it, and no layer needs other sums. Along an axis of period :math:`L`,
:math:`\tfrac{L}{2 \pi} \sin \tfrac{2 \pi}{L} (p_j - p_i)_a` takes the place of the difference, for the same reason.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import linear
from torch.nn.init import kaiming_normal_

from pitgeo.metric import Metric
from pitgeo.nn.checks import check_counts


class FirstMoments(nn.Module):
    """The matrices :math:`W_a^h`, He-normal at the start, and what has to be averaged for the moments.

    Args:
        in_channels: Size of each value.
        out_channels: Size of all heads' results together; divisible by ``heads``.
        heads: Number of heads.
        axes: Axes of the positions.
        metric: Periods of the domain.

    Raises:
        ValueError: If ``axes`` is not positive or does not go with the periods.
    """

    def __init__(self, in_channels: int, out_channels: int, heads: int, axes: int, metric: Metric) -> None:
        super().__init__()
        check_counts(moments=axes)
        metric.check_dimension(axes)
        self.heads, self.periods = heads, metric.period or (0.0,) * axes
        self.parts = 1 + sum(1 if period == 0 else 2 for period in self.periods)
        self.weight = nn.Parameter(torch.empty(axes * out_channels, in_channels))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new initial values."""
        kaiming_normal_(self.weight)

    def spread(self, value: Tensor, x: Tensor, pos: Tensor, lengths: Tensor, heads: slice = slice(None)) -> Tensor:
        """What to average, in the type of the positions.

        Args:
            value: :math:`W x`, ``[..., N, heads * C]``, of the heads that are wanted.
            x: Source values ``[..., N, in_channels]``.
            pos: Source positions ``[..., N, D]``, from the origin that :meth:`gather` is given them from.
            lengths: How far each head looks, ``[heads]``, of all heads.
            heads: Which heads are wanted.

        Returns:
            ``[..., N, heads, parts * C]``, with 1 part and for every axis 1 more, or 2 where it has a period.

        Raises:
            ValueError: If the positions have another number of axes.
        """
        if pos.shape[-1] != len(self.periods):
            raise ValueError(f"Expected positions along {len(self.periods)} axes for moments (got {pos.shape[-1]})")
        matrices = self.weight.unflatten(0, (len(self.periods), self.heads, -1)) / lengths.view(-1, 1, 1)
        matrices = matrices[:, heads]
        moments = linear(x, matrices.flatten(0, 2)).to(pos.dtype).chunk(len(self.periods), -1)
        value = value.to(pos.dtype)
        with torch.autocast(pos.device.type, enabled=False):
            parts = []
            for period, place, moment in zip(self.periods, pos.split(1, -1), moments, strict=True):
                if period == 0:
                    value = torch.addcmul(value, place, moment)
                    parts.append(moment)
                else:
                    angle, reach = place * (2 * math.pi / period), period / (2 * math.pi)
                    parts += [reach * angle.sin() * moment, reach * angle.cos() * moment]
            return torch.stack([part.unflatten(-1, (matrices.shape[1], -1)) for part in (value, *parts)], -2).flatten(
                -2
            )

    def gather(self, sums: Tensor, pos: Tensor) -> Tensor:
        """The results ``[..., M, heads * C]`` from averages of what :meth:`spread` gave, at target positions."""
        out, *parts = (part.flatten(-2) for part in sums.chunk(self.parts, -1))
        rest = iter(parts)
        with torch.autocast(pos.device.type, enabled=False):
            for period, place in zip(self.periods, pos.split(1, -1), strict=True):
                if period == 0:
                    out = torch.addcmul(out, place, next(rest), value=-1)
                else:
                    angle = place * (2 * math.pi / period)
                    out = out + angle.cos() * next(rest) - angle.sin() * next(rest)
        return out
