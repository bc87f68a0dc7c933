"""A Fourier Neural Operator for scattered points: values are interpolated to a regular grid, and back."""

from __future__ import annotations

import functools
import itertools
import math

import torch
from torch import Tensor, nn

from pitgeo.data import PointData
from pitgeo.graphs.metric import Metric
from pitgeo.graphs.neighborhood import Neighborhood
from pitgeo.models.fno import FNO
from pitgeo.nn.checks import check_input
from pitgeo.nn.dense import at_least_single
from pitgeo.nn.interpolation import interpolate


class InterpolatedFNO(nn.Module):
    r"""An FNO on a regular grid over the bounding box of each sample, between two interpolations.

    .. math::
        u_g = \frac{\sum_{j \in N(g)} w_{gj} x_j}{\sum_{j \in N(g)} w_{gj}}, \qquad
        w_{gj} = \lVert p_g - p_j \rVert^{-2}, \qquad
        y_i = \sum_g \prod_a \max\left(0, 1 - \frac{|p_{i,a} - p_{g,a}|}{h_a}\right) \operatorname{FNO}(p, u, d)_g

    Node :math:`g` of the grid has a mean of its :math:`2^D` nearest input points :math:`N(g)`, weighted by inverse
    squared distance. It is exact for constants and for a node in the place of a point, else of first order in the point
    spacing, and never outside the range of the values. Point :math:`i` interpolates multilinearly between the corners
    of its cell: exact for linear functions, else of second order in the spacing :math:`h` of the grid. Outside of the
    box, the value of the nearest point of the box is taken. Both are differentiable, also by positions.

    The FNO also takes the distance :math:`d_g` from a node to the nearest input point: only this shows it holes and the
    boundary of the domain, because nodes in a hole have the values of nearby points.

    Args:
        fno: The network on the grid; its ``in_channels`` is one more than that of the points, for the distance.
        cells: Nodes along each axis.

    Shapes:
        - **data**: samples after :class:`pitgeo.data.transforms.GridInterpolation`, of any sizes in a batch;
          **data.pos** ``[N, D]``, **data.x** ``[N, fno.in_channels - 1 - D]``.
        - or **data.x** with ``B`` before these, for samples on one shared mesh.
        - **output** ``[M, out_channels]`` (or ``[B, M, out_channels]``), in the order of the output points.

    Raises:
        ValueError: If ``cells`` does not suit the FNO, the data has other channels, or not the grid of ``cells``.

    Example:
        >>> from pitgeo.data.transforms import GridInterpolation
        >>> data = GridInterpolation((16, 12))(PointData(pos=torch.rand(50, 2), x=torch.rand(50, 1)))
        >>> InterpolatedFNO(FNO(4, 1, dimension=2, modes=4, width=8), (16, 12))(data).shape
        torch.Size([50, 1])
    """

    def __init__(self, fno: FNO, cells: tuple[int, ...]) -> None:
        super().__init__()
        if len(cells) != fno.dimension or min(cells) < 2:
            raise ValueError(
                f"Expected 'cells' to be at least 2 for each of {fno.dimension} axes, those of the positions "
                f"(got {cells})"
            )
        self.fno, self.cells = fno, cells

    def forward(self, data: PointData) -> Tensor:
        """Values at the output points."""
        self._check(data)
        nodes = at_least_single(data.points("latent")[0])
        shared = data.x.dim() == 3
        values, distance = to_nodes(data.x, at_least_single(data.pos), nodes, data.graph("encoder"))
        geometry = torch.cat([nodes, distance], -1)
        if shared:
            geometry = geometry.expand(data.samples, -1, -1)
        features = torch.cat([geometry, values], -1).reshape(data.samples, *self.cells, -1)
        on_nodes = self.fno.on_grid(features)
        pos, batch = data.points("output")
        corners = nodes.reshape(-1, math.prod(self.cells), nodes.shape[-1])
        out = from_nodes(on_nodes, at_least_single(pos), None if shared else batch, corners[:, 0], corners[:, -1])
        return out[0] if batch is None and not shared else out

    def _check(self, data: PointData) -> None:
        check_input(data, self.fno.in_channels - 1, self.fno)
        grids = 1 if data.x.dim() == 3 else data.samples
        nodes = data.points("latent")[0].shape[0]
        if not data.has_graph("encoder") or nodes != grids * math.prod(self.cells) or not self._is_grid(data):
            raise ValueError(
                f"Expected the nodes of a grid of {self.cells} in every sample (got {nodes} latent points in {grids} "
                f"sample(s)); apply pitgeo.data.transforms.GridInterpolation({self.cells}) to each"
            )

    def _is_grid(self, data: PointData) -> bool:
        """Whether every coordinate of the nodes, in C order, grows along its own axis and is constant along others."""
        nodes = data.points("latent")[0].reshape(-1, *self.cells, len(self.cells))
        for axis in range(len(self.cells)):
            along = nodes[..., axis].movedim(axis + 1, -1)
            rows = along.reshape(len(nodes), -1, self.cells[axis])
            if not bool((rows == rows[:, :1]).all() and (rows[..., :-1] <= rows[..., 1:]).all()):
                return False
        return True


def to_nodes(x: Tensor, pos: Tensor, nodes: Tensor, graph: Neighborhood) -> tuple[Tensor, Tensor]:
    """Means of neighbours by inverse squared distance, and the distance to the nearest neighbour.

    Args:
        x: Values ``[N, C]`` or ``[B, N, C]``.
        pos: Positions of the values ``[N, D]``.
        nodes: Positions of the nodes ``[L, D]``.
        graph: The neighbours of every node.

    Returns:
        Values ``[L, C]`` or ``[B, L, C]``, and distances ``[L, 1]``.
    """
    means, nearest = interpolate(x, pos, nodes, graph, Metric())
    away = nearest > 0
    distance = torch.where(away, torch.where(away, nearest, 1.0).sqrt(), 0.0)
    return means, distance.unsqueeze(-1)


def from_nodes(values: Tensor, pos: Tensor, batch: Tensor | None, low: Tensor, high: Tensor) -> Tensor:
    """Multilinear interpolation between the nodes of regular grids; outside of a grid, the value on its surface.

    Args:
        values: Values at the nodes ``[B, n_1, ..., n_D, K]``.
        pos: Positions of the results ``[M, D]``.
        batch: The grid of every point ``[M]``; ``None``: all points in every grid.
        low: First node of every grid ``[B, D]``, or ``[1, D]`` without a batch.
        high: Last node of every grid.

    Returns:
        Values ``[M, K]``, or ``[B, M, K]`` without a batch.
    """
    shape = values.shape[1:-1]
    steps = pos.new_tensor([number - 1 for number in shape])
    flat = values.flatten(1, -2)
    rows = torch.zeros_like(pos[:, 0], dtype=torch.long) if batch is None else batch
    extent = (high - low)[rows]
    flat_axis = extent <= 0  # all points have the same coordinate
    place = torch.where(flat_axis, 0.0, (pos - low[rows]) / torch.where(flat_axis, 1.0, extent) * steps)
    place = torch.minimum(place.clamp(min=0), steps)
    base = torch.minimum(place.detach().floor(), steps - 1)
    share, base = place - base, base.long()

    def contribution(corner: tuple[int, ...]) -> Tensor:
        number, weight = torch.zeros_like(rows), torch.ones_like(share[:, 0])
        for axis, side in enumerate(corner):
            number = number * shape[axis] + base[:, axis] + side
            weight = weight * (share[:, axis] if side else 1 - share[:, axis])
        at_corner = flat[:, number] if batch is None else flat[batch, number]
        return at_corner * weight.unsqueeze(-1)

    return functools.reduce(torch.add, map(contribution, itertools.product((0, 1), repeat=len(shape))))
