"""Geo-FNO: a Fourier Neural Operator on a regular grid, and a learned deformation from the mesh to this grid."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
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
from pitgeo.nn.blocks import mlp
from pitgeo.nn.checks import check_counts, check_lengths


@dataclass(frozen=True, eq=False)
class PointFourier:
    r"""The Fourier transform of values on scattered points of the unit torus, for the lowest frequencies.

    .. math::
        \hat{x}_k = \frac{1}{N} \sum_j x_j e^{-2 \pi i k \cdot \xi_j}, \qquad
        y_j = \operatorname{Re} \sum_k c_k \hat{y}_k e^{2 \pi i k \cdot \xi_j}

    with the frequencies :math:`k`, their order and :math:`c_k` of :class:`~pitgeo.models.fno.SpectralConvolution`. On
    a regular grid these are its transforms, up to a factor, the number of points; on other points they are not inverse
    to each other. :meth:`of` makes one, with ``N K`` memory for :math:`K = m (2m)^{D - 1}` frequencies.

    Args:
        cosine: Cosines of the phases ``[B, N, K]``.
        sine: Sines of the phases ``[B, N, K]``.
        shape: Frequencies along each axis, ``(2 m, ..., 2 m, m)``.

    Reference:
        Li et al., "Fourier Neural Operator with Learned Deformations for PDEs on General Geometries", arXiv:2207.05209,
        section 3, the geometric Fourier transform and its inverse.
    """

    cosine: Tensor
    sine: Tensor
    shape: tuple[int, ...]

    @classmethod
    def of(cls, points: Tensor, modes: int) -> PointFourier:
        """The transform for points.

        Args:
            points: ``[B, N, D]``, with period 1 along each axis.
            modes: Frequencies kept, ``m``.
        """
        dimension = points.shape[-1]
        signed = [*range(modes), *range(-modes, 0)]
        frequency = list(itertools.product(*[signed] * (dimension - 1), range(modes)))
        phase = 2 * math.pi * (points @ points.new_tensor(frequency).T)
        return cls(phase.cos(), phase.sin(), (*[2 * modes] * (dimension - 1), modes))

    def spectrum(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Means over the points, ``[B, 2 m, ..., 2 m, m, C]``, complex.

        Args:
            x: Values ``[B, N, C]``.
            mask: ``[B, N]``, true where a point is; ``None`` if everywhere.
        """
        if mask is None:
            x = x / x.shape[1]
        else:
            x = torch.where(mask.unsqueeze(-1), x, 0.0) / mask.sum(1)[:, None, None].clamp(min=1)
        parts = torch.complex(self.cosine.mT @ x, -(self.sine.mT @ x))
        return parts.reshape(len(x), *self.shape, -1)

    def values(self, spectrum: Tensor) -> Tensor:
        """Values ``[B, N, C]`` at the points, from a spectrum ``[B, 2 m, ..., 2 m, m, C]``."""
        flat = spectrum.flatten(1, -2)
        times = torch.full(self.shape, 2.0, dtype=self.cosine.dtype, device=self.cosine.device)
        times[..., 0] = 1.0
        times = times.reshape(-1, 1)
        return self.cosine @ (times * flat.real) - self.sine @ (times * flat.imag)


class GeoFNO(nn.Module):
    r"""Fourier layers on a regular grid of a torus, between Fourier transforms from and to deformed points.

    .. math::
        V &= \sigma(\mathcal{F}^{-1}_{grid} W \mathcal{F}_{points} \operatorname{Linear}(p, x)
            + \operatorname{Linear}(\xi)), \\
        V &\leftarrow \sigma(\mathcal{K} V + \operatorname{Linear}(V) + \operatorname{Linear}(\xi)), \\
        y &= \operatorname{MLP}(\mathcal{F}^{-1}_{points} W \mathcal{F}_{grid} V + \operatorname{Linear}(p))

    with :math:`\sigma` the GELU, :math:`\mathcal{K}` a :class:`~pitgeo.models.fno.SpectralConvolution`, and
    :math:`\mathcal{F}_{points}` a :class:`PointFourier` of the points
    :math:`\xi = \phi(p, c)` that a :class:`~pitgeo.models.deformation.Deformation` makes of the positions. Its code
    :math:`c` has the means of the input values over a sample; if these are parameters of the geometry, the means are
    the parameters. Input and output points may lie anywhere.

    It follows the authors' script for Elasticity, ``elasticity/elas_geofno.py``, with modes 12, width 32 and a grid of
    40 x 40. The parameters are the same, 1,546,403 with a complex weight counted once, less 12,416 of a layer that the
    script never uses, and plus those for input values: the script lifts only coordinates. Differences: transforms of
    points are means, not sums, and transforms back to points are divided by the number of nodes, so that the meaning
    of a weight depends on neither number; grid coordinates are ``i / n``, as in the transform of the grid; positions
    are relative to the lowest corner of each sample's input points, divided by ``extent``; all parameters have one
    learning rate (in a later script of the authors, the deformation has a tenth of it).

    Args:
        in_channels: Coordinates and values of an input point together.
        out_channels: Values of an output point.
        deformation: From positions to the torus; its ``code_channels`` is 0 or the number of input values.
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
        with torch.autocast(points.pos.device.type, enabled=False):  # positions need full precision
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
        """Coordinates of the grid, of the type and on the device of ``like``."""
        axes = [torch.arange(number, dtype=like.dtype, device=like.device) / number for number in self.grid]
        return torch.stack(torch.meshgrid(*axes, indexing="ij"), -1)


class GeoFNOOptions(ModelOptions):
    """Options of ``model.name = "geo_fno"``, see :class:`GeoFNO`.

    ``code = "none"``: the deformation depends on positions alone, not on the means of the input values.

    Example:
        >>> from pitgeo.config.config import parse_config
        >>> tables = {"data": {"name": "elasticity"}, "model": {"name": "geo_fno", "geo_fno": {"modes": 6}}}
        >>> parse_config(tables).model.options.modes
        6
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
