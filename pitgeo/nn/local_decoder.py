"""Models whose output points do not depend on each other, so that they can be computed in parts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from pitgeo.data import PointData

Rows = slice | Tensor | None
"""Numbers of some output points: a range, an ascending tensor ``[m]``, or ``None`` for all."""


class LocalDecoder(nn.Module, ABC):
    r"""A model in two steps: a code of the sample, then the value at each output point from this code.

    .. math:: c = \operatorname{encode}(p, x), \qquad y_i = \operatorname{decode}(c, p'_i)

    No value depends on other output points :math:`p'`, unless :attr:`has_local_decoder` says otherwise. So training may
    take its loss from some of them (``training.query_points``), and prediction takes those of a large mesh in parts. A
    subclass implements ``encode`` and ``decode``.

    Example:
        >>> class Mean(LocalDecoder):
        ...     def encode(self, data):
        ...         return data.x.mean(0)
        ...     def decode(self, data, code, rows=None):
        ...         pos = data.points("output")[0]
        ...         return code * (pos if rows is None else pos[rows])
        >>> data = PointData(pos=torch.tensor([[1.0], [2.0], [3.0]]), x=torch.tensor([[1.0], [2.0], [6.0]]))
        >>> Mean()(data, torch.tensor([0, 2])).flatten().tolist(), Mean().in_chunks(data, 2).flatten().tolist()
        ([3.0, 9.0], [3.0, 6.0, 9.0])
    """

    @property
    def has_local_decoder(self) -> bool:
        """Whether the value at an output point depends on no other output point."""
        return True

    @abstractmethod
    def encode(self, data: PointData) -> Any:
        """The code from which all output points are decoded; its size does not depend on their number."""

    @abstractmethod
    def decode(self, data: PointData, code: Any, rows: Rows = None) -> Tensor:
        """Values ``[m, K]`` (or ``[B, m, K]`` on a shared mesh) at some of the output points."""

    def forward(self, data: PointData, rows: Tensor | None = None) -> Tensor:
        """Values at the output points, or at those with the numbers ``rows`` ``[m]`` (ascending)."""
        return self.decode(data, self.encode(data), rows)

    def in_chunks(self, data: PointData, size: int) -> Tensor:
        """Values at the output points of one sample, some points after others: the same result in less memory.

        Args:
            data: The sample.
            size: Largest number of points at a time.
        """
        code = self.encode(data)
        return in_parts(lambda rows: self.decode(data, code, rows), len(data.points("output")[0]), size)


def in_parts(decode: Callable[[slice], Tensor], count: int, size: int) -> Tensor:
    """Values ``[..., count, K]`` at points, at most ``size`` of them at a time."""
    return torch.cat([decode(slice(start, start + size)) for start in range(0, count, size)], -2)
