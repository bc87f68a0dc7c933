r"""Global position-attention on a tensor grid that all samples share, by one axis after the other.

The squared distance is a sum over axes, so the weights of all points are products of softmax matrices along the axes,

.. math::
    \operatorname{softmax}(-\lambda D) = A^1 \otimes A^2 \otimes \dots, \qquad
    A^a = \operatorname{softmax}(-\lambda D^a) ,

exactly, at a cost of :math:`n_1 + n_2 + \dots` in place of :math:`N = n_1 n_2 \cdots` for every point. First moments
along axis :math:`a` have the entries of :math:`A^a` times :math:`p_{ja} - p_{ia}` in its place.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class TensorGrid:
    """How points number a tensor grid.

    Args:
        sizes: Number of points along every dimension, the slowest first.
        axes: The axis of the positions along every dimension.
    """

    sizes: tuple[int, ...]
    axes: tuple[int, ...]

    @classmethod
    @torch.no_grad()
    def of(cls, pos: Tensor) -> TensorGrid | None:
        """The grid that positions ``[N, D]`` form in the order of their numbers; ``None`` if they form none.

        Example:
            >>> TensorGrid.of(torch.cartesian_prod(torch.arange(3.0), torch.arange(2.0)))
            TensorGrid(sizes=(3, 2), axes=(0, 1))
        """
        points, dimension = pos.shape
        counts = []
        for axis in range(dimension):
            counts.append(len(pos[:, axis].unique()))
            if dimension == 1 or not 1 < counts[-1] < points:
                return None
        if math.prod(counts) != points:
            return None
        for axes in itertools.permutations(range(dimension)):
            grid = cls(tuple(counts[axis] for axis in axes), axes)
            if grid.fits(pos):
                return grid
        return None

    def fits(self, pos: Tensor) -> bool:
        """Whether positions ``[N, D]`` form this grid."""
        same_sizes = len(pos) == math.prod(self.sizes) and pos.shape[1] == len(self.sizes)
        return same_sizes and bool(self.agrees(pos))

    @torch.no_grad()
    def agrees(self, pos: Tensor) -> Tensor:
        """Whether positions of as many points form this grid, as a tensor."""
        lines = zip(self.axes, self.lines(pos), strict=True)
        made = {axis: _along(line[:, axis], number, self.sizes) for number, (axis, line) in enumerate(lines)}
        return (torch.stack([made[axis].flatten() for axis in sorted(made)], -1) == pos).all()

    def lines(self, pos: Tensor) -> list[Tensor]:
        """The positions ``[n, D]`` of the points along every dimension, at the start of all others."""
        grid = pos.view(*self.sizes, -1)
        return [
            grid[tuple(slice(None) if other == number else 0 for other in range(len(self.sizes)))]
            for number in range(len(self.sizes))
        ]


def grid_attention(
    value: Tensor, weights: Sequence[Tensor], grid: TensorGrid, steps: Sequence[Tensor] = (), count: int = 0
) -> tuple[Tensor, list[Tensor]]:
    """Averages of values on a grid, and first moments of some of them.

    Args:
        value: ``[B, N, heads, C]``.
        weights: The weights ``[heads, n, n]`` along every dimension.
        grid: The grid.
        steps: What moments multiply these weights with, ``[n, n]``.
        count: The number of values of a head that have moments.

    Returns:
        ``[B, N, heads, C]``, and for every axis ``[B, N, heads, count]``, or nothing if ``count`` is 0.
    """
    averages = value.permute(2, 1, 0, 3).contiguous()  # [heads, N, B, C]
    moments: dict[int, Tensor] = {}
    for number in reversed(range(len(grid.sizes))):
        apply = _matrix_product(number, grid.sizes)
        moments = {axis: apply(weights[number], part) for axis, part in moments.items()}
        if count:
            moments[grid.axes[number]] = apply(weights[number] * steps[number], averages[..., :count])
        averages = apply(weights[number], averages)
    return averages.permute(2, 1, 0, 3), [moments[axis].permute(2, 1, 0, 3) for axis in sorted(moments)]


def _matrix_product(number: int, sizes: Sequence[int]) -> Callable[[Tensor, Tensor], Tensor]:
    """The product of matrices ``[heads, n, n]`` with values ``[heads, ..., B, C]`` along a dimension of a grid."""

    def product(matrix: Tensor, value: Tensor) -> Tensor:
        rows = value.reshape(len(value), math.prod(sizes[:number]), sizes[number], -1)
        return (matrix.unsqueeze(1) @ rows).view_as(value)

    return product


def _along(coordinate: Tensor, number: int, sizes: Sequence[int]) -> Tensor:
    return coordinate.view([-1 if other == number else 1 for other in range(len(sizes))]).expand(*sizes)
