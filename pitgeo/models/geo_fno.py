"""Geo-FNO: a Fourier Neural Operator on a grid that the points of a mesh are deformed to, learned with it."""

from __future__ import annotations

import math
from typing import Literal, cast

import torch
from pydantic import model_validator
from torch import Tensor, nn
from torch.nn.functional import gelu

from pitgeo.data import PointData
from pitgeo.models.deformation import Deformation
from pitgeo.models.dense_points import DensePoints
from pitgeo.models.fno import SpectralConvolution, check_nodes
from pitgeo.models.model_options import Count, DataSpec, ModelOptions
from pitgeo.models.point_fourier import PointFourier
from pitgeo.nn.blocks import mlp
from pitgeo.nn.checks import check_counts, check_lengths


class GeoFNO(nn.Module):
    r"""Fourier layers on a regular grid of a torus, between Fourier transforms of points that are deformed to it.

    .. math::
        V &= \sigma(\mathcal{F}^{-1}_{grid} W \mathcal{F}_{points} \operatorname{Linear}(p, x)
            + \operatorname{Linear}(\xi)), \\
        V &\leftarrow \sigma(\mathcal{K} V + \operatorname{Linear}(V) + \operatorname{Linear}(\xi)), \\
        y &= \operatorname{MLP}(\mathcal{F}^{-1}_{points} W \mathcal{F}_{grid} V + \operatorname{Linear}(p))

    with :math:`\sigma` the GELU, :math:`\mathcal{K}` a :class:`~pitgeo.models.fno.SpectralConvolution`, and
    :math:`\mathcal{F}_{points}` a :class:`~pitgeo.models.point_fourier.PointFourier` of the points
    :math:`\xi = \phi(p, c)` that a :class:`~pitgeo.models.deformation.Deformation` makes of the positions. Its code
    :math:`c` has the means of the input values over a sample: where those are parameters of its geometry, the
    parameters. Points may lie anywhere, and output points elsewhere than input points.

    It follows the authors' script for Elasticity, ``elasticity/elas_geofno.py``, with modes 12, width 32 and a grid of
    40 x 40, whose parameters it has: 1,546,403, where a complex weight is one, less 12,416 of a layer that the script
    makes and never uses, and more for other channels, as that script lifts the coordinates alone. Otherwise here:
    transforms of points are means, not sums, and those back to points are divided by the number of nodes, so that
    neither number changes what a weight means; coordinates of the grid are ``i / n``, as its transform takes them;
    positions are brought to the unit box of ``extent``, from the lowest corner of each sample's input points. The
    authors train the deformation at a tenth of the learning rate in a later script; here all parameters have one.

    Args:
        in_channels: Coordinates and values of an input point together.
        out_channels: Values of an output point.
        deformation: From positions to the torus; with ``code_channels``, of as many as there are values.
        extent: Size of the meshes.
        modes: Frequencies kept: the lowest ones of the last axis, as many of either sign along the others.
        width: Channels of the layers; the last MLP has four times as many.
        layers: Layers from grid to grid.
        nodes: Points of the grid along each axis.

    Shapes:
        - **data.pos** ``[N, D]``, **data.x** ``[N, in_channels - D]``, ``[B, N, in_channels - D]`` on a shared mesh.
        - **output** ``[M, out_channels]`` (or ``[B, M, out_channels]``), in the order of the output points.

    Raises:
        ValueError: If an option is out of range, or the data has other channels.

    Example:
        >>> data = PointData(pos=torch.rand(50, 2), x=torch.rand(50, 3))
        >>> GeoFNO(5, 1, Deformation(dimension=2, code_channels=3), modes=4, width=8, nodes=16)(data).shape
        torch.Size([50, 1])

    Reference:
        Li, Huang, Liu and Anandkumar, "Fourier Neural Operator with Learned Deformations for PDEs on General
        Geometries", arXiv:2207.05209, section 3.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        deformation: Deformation,
        extent: float = 1.0,
        modes: int = 12,
        width: int = 32,
        layers: int = 3,
        nodes: int = 40,
    ) -> None:
        super().__init__()
        dimension = deformation.dimension
        check_counts(modes=modes, width=width, layers=layers)
        check_lengths(extent=extent)
        check_nodes(nodes, modes)
        if deformation.code_channels not in (0, in_channels - dimension):
            raise ValueError(
                f"Expected a deformation with a code of {in_channels - dimension} channels, as many as a point has "
                f"values, or none (got {deformation.code_channels})"
            )
        self.in_channels = in_channels
        self.extent, self.modes, self.grid = extent, modes, (nodes,) * dimension
        self.deformation = deformation
        self.lift = nn.Linear(in_channels, width)
        self.to_grid = SpectralConvolution(width, width, dimension, modes)
        self.convolutions = nn.ModuleList(SpectralConvolution(width, width, dimension, modes) for _ in range(layers))
        self.linears = nn.ModuleList(nn.Linear(width, width) for _ in range(layers))
        self.grid_biases = nn.ModuleList(nn.Linear(dimension, width) for _ in range(layers + 1))
        self.to_points = SpectralConvolution(width, width, dimension, modes)
        self.point_bias = nn.Linear(dimension, width)
        self.head = mlp(width, 4 * width, out_channels)

    def forward(self, data: PointData) -> Tensor:
        """Values at the output points."""
        points = DensePoints.of(data, self.in_channels, self)
        with torch.autocast(points.pos.device.type, enabled=False):  # positions go into all of it
            low = points.pos if points.mask is None else points.pos.masked_fill(~points.mask.unsqueeze(-1), torch.inf)
            low = low.amin(1, keepdim=True)
            code = self._code(points)
            place = (points.pos_out - low) / self.extent
            waves_out = PointFourier.of(self.deformation(place, code), self.modes)
            waves = waves_out
            if not points.coincide:
                waves = PointFourier.of(self.deformation((points.pos - low) / self.extent, code), self.modes)
            biases = [bias(self._nodes(place)) for bias in self.grid_biases]
            spectrum = waves.spectrum(self.lift(torch.cat([points.pos / self.extent, points.x], -1)), points.mask)
            # means over points, as sums over the grid
            spectrum = self.to_grid.times_weight(spectrum) * math.prod(self.grid)
            hidden = gelu(self.to_grid.values(spectrum, self.grid) + biases[0])
        for convolution, linear, bias in zip(self.convolutions, self.linears, biases[1:], strict=True):
            hidden = gelu(convolution(hidden) + linear(hidden) + bias)
        with torch.autocast(points.pos.device.type, enabled=False):
            spectrum = self.to_points.spectrum(hidden) / math.prod(self.grid)
            back = waves_out.values(self.to_points.times_weight(spectrum)) + self.point_bias(place)
        return points.rows(cast(Tensor, self.head(back)))

    def _code(self, points: DensePoints) -> Tensor | None:
        if not self.deformation.code_channels:
            return None
        if points.mask is None:
            return points.x.mean(1)
        return points.x.sum(1) / points.mask.sum(1, keepdim=True)  # x is 0 where there is no point

    def _nodes(self, like: Tensor) -> Tensor:
        axes = [torch.arange(number, dtype=like.dtype, device=like.device) / number for number in self.grid]
        return torch.stack(torch.meshgrid(*axes, indexing="ij"), -1)


class GeoFNOOptions(ModelOptions):
    """Options of ``model.name = "geo_fno"``, see :class:`GeoFNO`.

    ``code = "none"``: the deformation sees positions alone, not the means of the input values.
    """

    modes: Count = 12
    width: Count = 32
    layers: Count = 3
    nodes: Count = 40
    code: Literal["mean", "none"] = "mean"

    @model_validator(mode="after")
    def _check(self) -> GeoFNOOptions:
        check_nodes(self.nodes, self.modes)
        return self

    def build(self, spec: DataSpec) -> nn.Module:
        """A new model."""
        code = spec.in_channels - spec.dimension if self.code == "mean" else 0
        deformation = Deformation(spec.dimension, code)
        return GeoFNO(
            spec.in_channels,
            spec.out_channels,
            deformation,
            spec.extent,
            self.modes,
            self.width,
            self.layers,
            self.nodes,
        )
