"""A pointwise network: a control in which every point depends on itself alone."""

from __future__ import annotations

import itertools

import torch
from torch import Tensor, nn

from pitgeo.data import PointData
from pitgeo.nn.blocks import from_positions
from pitgeo.nn.checks import check_input
from pitgeo.nn.local_decoder import LocalDecoder, Rows


class PointwiseMLP(LocalDecoder):
    r"""The same MLP at every point: no point depends on another.

    .. math:: y_i = \operatorname{MLP}(p_i, x_i)

    Args:
        in_channels: Coordinates and values of a point together.
        out_channels: Values wanted at a point.
        channels: Width of the hidden layers.
        layers: Number of hidden layers.

    Shapes:
        - **data.pos** ``[N, D]``, **data.x** ``[N, in_channels - D]``; **output** ``[N, out_channels]``;
          **data.x** and **output** with ``B`` before these, for samples on one shared mesh.

    Raises:
        ValueError: If the data has other channels, or output points that are not the input points.

    Example:
        >>> PointwiseMLP(5, 1)(PointData(pos=torch.rand(80, 2), x=torch.rand(80, 3))).shape
        torch.Size([80, 1])
    """

    def __init__(self, in_channels: int, out_channels: int, channels: int = 128, layers: int = 4) -> None:
        super().__init__()
        if layers < 1:
            raise ValueError(f"Expected 'layers' to be at least 1 (got {layers})")
        self.in_channels, self.out_channels = in_channels, out_channels
        sizes = [in_channels, *[channels] * layers]
        hidden = [part for a, b in itertools.pairwise(sizes) for part in (nn.Linear(a, b), nn.GELU())]
        self.network = nn.Sequential(*hidden, nn.Linear(channels, out_channels))

    def encode(self, data: PointData) -> None:
        """No code: the value at a point depends on its own input alone."""
        check_input(data, self.in_channels, self)
        if not data.coincide("input", "output"):
            raise ValueError("Expected output points that are the input points with a pointwise model (got others)")

    def decode(self, data: PointData, code: None, rows: Rows = None) -> Tensor:
        """Values at some of the points."""
        pos, x = (data.pos, data.x) if rows is None else (data.pos[rows], data.x[..., rows, :])
        return from_positions(self.network, torch.cat([pos.expand(*x.shape[:-1], -1), x], -1))
