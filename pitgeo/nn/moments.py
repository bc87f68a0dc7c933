r"""First moments: what lets an average over neighbours know in which direction a value lies.

With :math:`\alpha^h_{ij}` the weights of a position-attention head that looks :math:`\ell_h` far, and
:math:`v_j^h = W^h x_j` what it averages,

.. math::
    y_i = \bigoplus_h \sum_j \alpha^h_{ij} v_j^h
        + \sum_{h, a} W_a^h \sum_j \alpha^h_{ij} \frac{(p_j - p_i)_a}{\ell_h} \, \hat v_j^h

with :math:`\hat v` the first half of the values of a head and :math:`\bigoplus` the concatenation of heads. It is still
linear in the values, with weights that see distances alone, but not symmetric any more: gradients are within reach, as
they are of moving least squares, and so is where the mesh ends. Written out,

.. math::
    \sum_j \alpha^h_{ij} (p_j - p_i)_a \hat v_j^h
        = \sum_j \alpha^h_{ij} p_{ja} \hat v_j^h - p_{ia} \sum_j \alpha^h_{ij} \hat v_j^h,

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
        out_channels: Size of all heads' values together, and of the results; divisible by ``heads``.
        heads: Number of heads.
        axes: Axes of the positions.
        metric: Periods of the domain.

    Raises:
        ValueError: If ``axes`` is not positive or does not go with the periods.
    """

    def __init__(self, out_channels: int, heads: int, axes: int, metric: Metric) -> None:
        super().__init__()
        check_counts(moments=axes)
        metric.check_dimension(axes)
        self.heads, self.periods = heads, metric.period or (0.0,) * axes
        self.channels = out_channels // heads
        self.few = (self.channels + 1) // 2  # the values of a head that have moments
        self.weight = nn.Parameter(torch.empty(out_channels, axes * heads * self.few))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new initial values."""
        kaiming_normal_(self.weight)

    def spread(self, value: Tensor, pos: Tensor) -> Tensor:
        """What to average, in the type of the positions.

        Args:
            value: :math:`W x` of some heads, ``[..., N, some * C]``.
            pos: Source positions ``[..., N, D]``, from the origin that :meth:`gather` is given them from.

        Returns:
            ``[..., N, some, C + parts * few]``, with 1 part for every axis, or 2 where it has a period.

        Raises:
            ValueError: If the positions have another number of axes.
        """
        if pos.shape[-1] != len(self.periods):
            raise ValueError(f"Expected positions along {len(self.periods)} axes for moments (got {pos.shape[-1]})")
        value = value.to(pos.dtype).unflatten(-1, (-1, self.channels))
        few, parts = value[..., : self.few], [value]
        with torch.autocast(pos.device.type, enabled=False):
            for period, place in zip(self.periods, pos.unsqueeze(-2).split(1, -1), strict=True):
                if period == 0:
                    parts.append(place * few)
                else:
                    angle, reach = place * (2 * math.pi / period), period / (2 * math.pi)
                    parts += [reach * angle.sin() * few, reach * angle.cos() * few]
        return torch.cat(parts, -1)

    def gather(self, sums: Tensor, pos: Tensor, lengths: Tensor, heads: slice = slice(None)) -> tuple[Tensor, Tensor]:
        """From averages of what :meth:`spread` gave to those of the values, and what moments add to results.

        Args:
            sums: The averages ``[..., M, some, C + parts * few]`` of some heads.
            pos: Target positions ``[..., M, D]``.
            lengths: How far each head looks, ``[heads]``, of all heads.
            heads: Which heads they are.

        Returns:
            ``[..., M, some * C]``, the part of the results that these heads average, and ``[..., M, heads * C]``, what
            their moments add to all of it.
        """
        value, rest = sums.split([self.channels, sums.shape[-1] - self.channels], -1)
        few, parts = value[..., : self.few], iter(rest.split(self.few, -1))
        moments = []
        with torch.autocast(pos.device.type, enabled=False):
            for period, place in zip(self.periods, pos.unsqueeze(-2).split(1, -1), strict=True):
                if period == 0:
                    moments.append(torch.addcmul(next(parts), place, few, value=-1))
                else:
                    angle = place * (2 * math.pi / period)
                    moments.append(angle.cos() * next(parts) - angle.sin() * next(parts))
            weight = self.weight.unflatten(1, (len(self.periods), self.heads, -1))[:, :, heads]
            weight = (weight / lengths[heads].view(-1, 1)).flatten(1).to(sums.dtype)
        return value.flatten(-2), linear(torch.stack(moments, -3).flatten(-3), weight)
