"""Position-attention of all points to all points of a sample, on dense batches."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from pitgeo.graphs.metric import Metric
from pitgeo.nn.blocks import HeadProjection
from pitgeo.nn.dense import at_least_single, centred, check_dense, never_empty, result_type
from pitgeo.nn.kernels.dense_attention import dense_attention
from pitgeo.nn.kernels.expansion import degree_for, expanded_attention, fastest_expansion
from pitgeo.nn.kernels.fused import checked_backend, fused_attention, fused_is_exact, position_factors
from pitgeo.nn.kernels.tensor_grid import TensorGrid, grid_attention
from pitgeo.nn.length_scale import LengthScale, Positivity
from pitgeo.nn.moments import FirstMoments

Backend = Literal["auto", "expansion", "fused", "dense"]

# A weight below exp(-69) = 1e-30 of the largest cannot matter, and denormal numbers are very slow on CPUs.
_LOWEST_LOGIT = -69.0


class GlobalPositionAttention(nn.Module):
    r"""Average all values of a sample with weights that depend on distance alone.

    .. math::
        Y^h = \operatorname{softmax}(-\lambda_h D) \, U W^h

    No form but ``"dense"`` holds an :math:`N \times N` matrix:

    - The *expansion*, for length scales close to the size of the domain, is a sum over moments of the values, exact to
      rounding, at a cost linear in :math:`N` (:mod:`pitgeo.nn.kernels.expansion`).
    - On a *tensor grid* that all samples share, weights are products of one matrix for every axis
      (:mod:`pitgeo.nn.kernels.tensor_grid`).
    - *Pairs* of points go in blocks (:mod:`pitgeo.nn.kernels.dense_attention`).
    - The *fused* form uses that a constant added to a row does not change the softmax over this row,

      .. math::
          \operatorname{softmax}_j(-\lambda |p_i - p_j|^2)
          = \operatorname{softmax}_j(2 \lambda p_i \cdot p_j - \lambda |p_j|^2) ,

      which is scaled dot-product attention with queries :math:`\lambda (2 p_i, -1)` and keys :math:`(p_j, |p_j|^2)`.
      Large :math:`\lambda` lose digits.

    Args:
        in_channels: Size of each value.
        out_channels: Size of each result; divisible by ``heads``.
        heads: Number of length scales.
        positivity: How :math:`\lambda > 0` is kept: ``"square"``, ``"tan"`` or ``"sine_tan"``.
        lengths: Smallest and largest initial length, see :class:`LengthScale`.
        metric: Periods of the domain and the divisor of squared distances.
        backend: ``"expansion"``, ``"fused"``, ``"dense"``, or ``"auto"``: the grid where there is one; else expansions
            of those heads that so take less time in all, and pairs for the others. For positions on a GPU or with a
            gradient, fused takes the place of pairs where its error stays below about 5e-6; else, with a gradient,
            dense. Every call outside compiled code chooses again; compiled code keeps the last choice of such a call
            or of :meth:`choose`. ``"auto"`` has no second derivatives; ``"dense"`` has.
        moments: Axes of the positions, to add first moments to the averages, see :class:`PositionAttention`.

    Shapes:
        - **x** ``[B, N, in_channels]``.
        - **pos** ``[B, N, D]``, or ``[N, D]`` for one mesh shared by all samples, whose weights are computed once.
        - **mask** ``[B, N]``, true where a point is; ``None`` for everywhere.
        - **output** ``[B, N, out_channels]``.

    Raises:
        ValueError: If shapes disagree, ``heads`` does not divide ``out_channels``, or a periodic domain is given with
            a form other than dense; if the expansion is requested and would need too many terms; if positions or
            periods have another number of axes than ``moments``.

    Example:
        >>> GlobalPositionAttention(8, 16, heads=2)(torch.rand(3, 50, 8), torch.rand(3, 50, 2)).shape
        torch.Size([3, 50, 16])

    Reference:
        Chen and Wu, ICML 2024, equations (5) and (13).
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        heads: int = 1,
        positivity: Positivity = "square",
        lengths: tuple[float, float] | None = None,
        metric: Metric | None = None,
        backend: Backend = "auto",
        moments: int = 0,
    ) -> None:
        super().__init__()
        self.value = HeadProjection(in_channels, out_channels, heads)
        self.metric = metric or Metric()
        self.moments = FirstMoments(out_channels, heads, moments, self.metric) if moments else None
        self.scale = LengthScale(heads, positivity, lengths, self.metric.divisor)
        self.backend = checked_backend(backend, self.metric, ("auto", "expansion", "fused", "dense"))
        self.is_fused = backend == "fused"
        self.expanded: list[int] = []  # heads that take the expansion
        self.degree = 0  # of the expansion
        self.grid: TensorGrid | None = None  # that the positions of a shared mesh form

    def reset_parameters(self) -> None:
        """Draw new initial values."""
        self.value.reset_parameters()
        self.scale.reset_parameters()
        if self.moments is not None:
            self.moments.reset_parameters()

    def forward(self, x: Tensor, pos: Tensor, mask: Tensor | None = None) -> Tensor:
        """Attend."""
        if not torch.compiler.is_compiling():
            check_dense(x, pos, mask, self.value.in_channels)
            if self.moments is not None:
                self.moments.check_axes(pos)
            self.choose(pos, mask)
        pos, dtype, moments, far = at_least_single(pos), result_type(x), self.moments, self.expanded
        near = [head for head in range(self.value.heads) if head not in far]
        weight = self.value.weight.unflatten(0, (self.value.heads, -1))  # [H, C, in_channels]
        if near:
            value = linear(x, (weight[near] if far else weight).flatten(0, 1)).unflatten(-1, (len(near), -1))
        with torch.autocast(x.device.type, enabled=False):  # geometry in float32 at least
            scale, point, parts = self.scale().to(pos.dtype), centred(pos, mask), []
            if self.grid is not None:
                return self._on_grid(self.grid, value.to(pos.dtype), pos, scale).to(dtype)
            if near:
                value = value if moments is None else moments.expand(value.flatten(-2), point)
                parts.append(self._pairwise(value, pos, scale[near] if far else scale, mask))
            if far:
                weight, rate = weight.to(pos.dtype), scale / self.metric.divisor
                weight, rate = (weight[far], rate[far]) if near else (weight, rate)
                keys = None if mask is None else never_empty(mask)
                count = 0 if moments is None else moments.moment_channels
                parts.append(expanded_attention(x.to(pos.dtype), weight, point, rate, self.degree, keys, count))
            sums = parts[0] if len(parts) == 1 else torch.cat([part.to(parts[0].dtype) for part in parts], -2)
            if (order := near + far) != sorted(order):
                sums = sums.index_select(-2, torch.tensor(order, device=x.device).argsort())
            if moments is None:
                return sums.flatten(2).to(dtype)
            averages, added = moments.contract(sums, point, self.scale.to_lengths(scale))
            return (averages + added).to(dtype)

    def _on_grid(self, grid: TensorGrid, value: Tensor, pos: Tensor, scale: Tensor) -> Tensor:
        """Results on a tensor grid, from values ``[B, N, H, C]``."""
        if torch.compiler.is_compiling():  # other positions than those of the choice
            torch._assert_async(grid.agrees(pos), "Expected positions on the grid that 'choose' was called with")
        moments, lines = self.moments, grid.lines(pos)
        weights = [self._dense_weights(line, scale, None) for line in lines]
        if moments is None:
            return grid_attention(value, weights, grid)[0].flatten(2)
        steps = [moments.steps(line, axis) for line, axis in zip(lines, grid.axes, strict=True)]
        averages, firsts = grid_attention(value, weights, grid, steps, moments.moment_channels)
        return averages.flatten(2) + moments.contribution(torch.stack(firsts, -3), self.scale.to_lengths(scale))

    @torch.no_grad()
    def choose(self, pos: Tensor, mask: Tensor | None = None, slack: int = 0) -> None:
        """Choose the form of each head, from the length scales and the positions; compiled code keeps this choice.

        Args:
            pos: Positions, as in a call.
            mask: Mask of the points, as in a call.
            slack: How far the degree of an expansion may stay above the necessary one: a new degree means that the
                layer is compiled again.

        Raises:
            ValueError: If the expansion is requested and would need too many terms.
        """
        differentiable, before, known = pos.requires_grad, (self.expanded, self.degree), self.grid
        pos = at_least_single(pos)
        self.expanded, self.degree, self.grid = [], 0, None
        if self.backend == "auto":
            may_fuse = pos.dim() == 3 and (differentiable or pos.is_cuda)
            self.is_fused = may_fuse and fused_is_exact(self.metric, self.scale(), pos, mask)
            if pos.dim() == 2 and mask is None and not differentiable:
                self.grid = known if known is not None and known.fits(pos) else TensorGrid.of(pos)
                if self.grid is not None:
                    return
        has_expansion = self.backend in ("auto", "expansion") and not self.metric.is_periodic
        if not has_expansion or pos.numel() == 0:
            return
        points, dimension = pos.shape[-2:]
        reach = float(centred(pos, mask).square().sum(-1).max())
        scales = (self.scale().double() / self.metric.divisor).tolist()
        degrees = [degree_for(2 * scale * reach, torch.finfo(pos.dtype).eps / 2) for scale in scales]
        if self.backend == "auto":
            samples, width = (len(pos) if pos.dim() == 3 else 1), self.value.out_channels // self.value.heads
            width += 0 if self.moments is None else dimension * self.moments.moment_channels
            self.expanded = fastest_expansion(degrees, samples, points, dimension, width)
        elif None in degrees:
            head = degrees.index(None)
            raise ValueError(
                f"Expected length scales large enough for an expansion (got lambda = {scales[head]:.3g} for head "
                f"{head}, on points up to {reach**0.5:.3g} from their mean); use the backend 'auto'"
            )
        else:
            self.expanded = list(range(len(degrees)))
        self.degree = max((degrees[head] or 0 for head in self.expanded), default=0)
        if slack and self.expanded:
            keeps = self.expanded == before[0] and self.degree <= before[1] <= self.degree + slack
            self.degree = before[1] if keeps else self.degree + 1

    def _pairwise(self, value: Tensor, pos: Tensor, scale: Tensor, mask: Tensor | None) -> Tensor:
        """Attention by all pairs of points: ``[B, N, H, C]`` -> ``[B, N, H, C]``."""
        value = value.transpose(1, 2)
        if self.is_fused:
            pos = pos if pos.dim() == 3 else pos.expand(value.shape[0], -1, -1)
            query, key = position_factors(pos, mask, scale, self.metric)
            out = fused_attention(query, key, value.to(query.dtype), mask).to(value.dtype)
        elif self.backend == "auto" and not pos.requires_grad:
            keys = None if mask is None else never_empty(mask)
            out = dense_attention(value, pos, scale, self.metric, keys)
        else:
            weights = self._dense_weights(pos, scale, mask)  # [B, H, N, N], or [H, N, N] for a shared mesh
            out = weights.to(value.dtype) @ value
        return out.transpose(1, 2)

    def attention_weights(self, pos: Tensor, mask: Tensor | None = None) -> Tensor:
        """All weights ``[B, heads, N, N]`` (``[heads, N, N]`` for a shared mesh), rows attending to columns."""
        return self._dense_weights(pos, self.scale().to(pos.dtype), mask)

    def _dense_weights(self, pos: Tensor, scale: Tensor, mask: Tensor | None) -> Tensor:
        logits = -scale.view(-1, 1, 1) * self.metric.pairwise(pos, pos).unsqueeze(-3)
        logits = logits.masked_fill(logits < _LOWEST_LOGIT, -torch.inf)  # a point attends to itself with logit 0
        if mask is not None:
            own = torch.eye(mask.shape[-1], dtype=torch.bool, device=mask.device)
            logits = logits.masked_fill(~(mask.unsqueeze(-2) | (own & ~mask.unsqueeze(-1))).unsqueeze(-3), -torch.inf)
        return logits.softmax(-1)

    def extra_repr(self) -> str:
        """What ``repr`` shows of the layer."""
        return f"backend={self.backend!r}"
