"""A batch of samples as dense arrays, for models in which all points of a sample interact."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from pitgeo.data import PointData
from pitgeo.nn.checks import check_input
from pitgeo.nn.dense import DenseLayout, layout_of
from pitgeo.nn.local_decoder import Rows


@dataclass(frozen=True, eq=False)
class DensePoints:
    """Positions and values of ``B`` samples, padded to the largest, and masks of the points.

    Args:
        pos: Input positions ``[B, N, D]``, padded with zeros.
        x: Input values without coordinates ``[B, N, C]``, padded with zeros.
        mask: ``[B, N]``, true where an input point is; ``None`` if everywhere.
        pos_out: Output positions ``[B, M, D]``; the object ``pos`` itself if they are the input points.
        mask_out: ``[B, M]``, true where an output point is; ``None`` if everywhere.
    """

    pos: Tensor
    x: Tensor
    mask: Tensor | None
    pos_out: Tensor
    mask_out: Tensor | None
    _layout: DenseLayout | None

    @classmethod
    def of(cls, data: PointData, in_channels: int, model: nn.Module) -> DensePoints:
        """The points of a sample, of a batch of them, or of samples on one shared mesh.

        Args:
            data: The sample or batch.
            in_channels: Coordinates and values of an input point together, as the model was built for.
            model: The calling model.

        Raises:
            ValueError: If the data has other channels or another type than the model.

        Example:
            >>> model = nn.Linear(5, 1)
            >>> points = DensePoints.of(PointData(pos=torch.rand(5, 2), x=torch.rand(5, 3)), 5, model)
            >>> points.features.shape
            torch.Size([1, 5, 5])
        """
        check_input(data, in_channels, model)
        same = data.coincide("input", "output")
        if data.x.dim() == 3:
            pos = _shared(data.pos, data.samples)
            return cls(pos, data.x, None, pos if same else _shared(data.points("output")[0], data.samples), None, None)
        layout = layout_of(data, "input")
        pos, x = layout.dense(data.pos), layout.dense(data.x)
        if same:
            return cls(pos, x, layout.mask, pos, layout.mask, layout)
        output = layout_of(data, "output")
        return cls(pos, x, layout.mask, output.dense(data.points("output")[0]), output.mask, output)

    @property
    def coincide(self) -> bool:
        """Whether the output points are the input points."""
        return self.pos_out is self.pos

    def require_coincide(self, model: str) -> None:
        """Raise a ``ValueError`` that names a model, unless the output points are the input points."""
        if not self.coincide:
            raise ValueError(
                f"Expected output points that are the input points with {model} (got others); use a model for output "
                f"points anywhere, such as 'oformer', 'gnot' or 'pit'"
            )

    @property
    def features(self) -> Tensor:
        """Coordinates and values of the input points, ``[B, N, D + C]``."""
        return torch.cat([self.pos, self.x], -1)

    def rows(self, values: Tensor) -> Tensor:
        """Values ``[B, M, K]`` as models return them: a row for every output point, or dense on a shared mesh."""
        return values if self._layout is None else self._layout.flat(values)


def query_points(data: PointData, rows: Rows = None) -> tuple[Tensor, DenseLayout | None]:
    """The output points, or some of them, as dense arrays.

    Args:
        data: The sample or batch.
        rows: Numbers of some output points; ``None`` for all.

    Returns:
        Positions ``[B, M, D]`` with padding, or ``[1, M, D]`` for samples on a shared mesh; and their layout in the
        flat batch, ``None`` on a shared mesh.
    """
    pos, batch = data.points("output")
    if rows is not None:
        pos, batch = pos[rows], None if batch is None else batch[rows]
    if data.x.dim() == 3:
        return pos.unsqueeze(0), None
    layout = layout_of(data, "output") if rows is None else DenseLayout.of(batch, int(pos.shape[0]), data.samples)
    return layout.dense(pos), layout


def _shared(pos: Tensor, samples: int) -> Tensor:
    return pos.expand(samples, -1, -1)
