"""The DeepONet: coefficients from the input times functions of the output point."""

from __future__ import annotations

import itertools

import torch
from torch import Tensor, nn

from pitgeo.data import PointData
from pitgeo.models.dense_points import query_points
from pitgeo.models.model_options import Count, DataSpec, ModelOptions
from pitgeo.models.sensors import Sensors
from pitgeo.nn.blocks import from_positions
from pitgeo.nn.checks import check_counts
from pitgeo.nn.local_decoder import LocalDecoder, Rows


class DeepONet(LocalDecoder):
    r"""The (unstacked) DeepONet, an operator from values at fixed sensors to values at any points.

    .. math:: y_k(p) = \sum_{b = 1}^{P} \beta_{kb}(u) \, \tau_{kb}(p) + c_k

    with :math:`u` the readings of all input points, see :class:`Sensors`. The branch :math:`\beta` and the trunk
    :math:`\tau` are fully connected networks with GELUs; the trunk has one after its last layer too. Each output
    channel :math:`k` has its own coefficients and basis functions. Every value is linear in the coefficients:
    solutions that move, such as shocks, need many basis functions.

    The order of the input points matters, and all samples need the same number of them. The first layer of the branch
    has ``width`` weights for each number read, so its size grows with the mesh. Output points may be anywhere; on a
    shared mesh the trunk runs once for all samples.

    Lu et al. have ReLUs or tanh, and convolutions in the branch on some grids; this network has GELUs, and the same
    layers on grids and meshes. Chen and Wu list 618,085 parameters on InviscidBurgers and 3,190,673 on ShockTube,
    without the sizes that give them.

    Args:
        sensors: The readings of a sample.
        out_channels: Values of an output point.
        basis: Basis functions of each output channel, ``P``.
        width: Size of the hidden layers of both networks.
        layers: Number of hidden layers of both networks.

    Shapes:
        - **data.pos** ``[N, D]``, **data.x** ``[N, C]``, a batch of samples of ``N`` points included; **output**
          ``[M, out_channels]``, a row for each output point.
        - or **data.x** ``[B, N, C]`` and **output** ``[B, M, out_channels]``, for samples on one shared mesh.

    Raises:
        ValueError: If an option is not positive, or the data has other channels or samples of other sizes.

    Example:
        >>> model = DeepONet(Sensors(in_channels=3, dimension=2, points=50), out_channels=1)
        >>> model(PointData(pos=torch.rand(50, 2), x=torch.rand(50, 1), pos_out=torch.rand(7, 2))).shape
        torch.Size([7, 1])

    Reference:
        Lu et al., Learning nonlinear operators via DeepONet, Nature Machine Intelligence 2021, the unstacked form
        with bias; Lu et al., A comprehensive and fair comparison of two neural operators, CMAME 2022, on several
        outputs.
    """

    def __init__(self, sensors: Sensors, out_channels: int, basis: int = 64, width: int = 64, layers: int = 3) -> None:
        super().__init__()
        check_counts(out_channels=out_channels, basis=basis, width=width, layers=layers)
        self.sensors, self.out_channels = sensors, out_channels
        self.branch = fully_connected(sensors.size, width, layers, out_channels * basis)
        self.trunk = fully_connected(sensors.dimension, width, layers, out_channels * basis).append(nn.GELU())
        self.bias = nn.Parameter(torch.zeros(out_channels))

    def encode(self, data: PointData) -> tuple[Tensor, Tensor]:
        """The readings ``[B, size]`` of all samples, and coefficients ``[B, channels, P]``."""
        readings = self.sensors.read(data, self)
        return readings, from_positions(self.branch, readings).unflatten(-1, (self.out_channels, -1))

    def decode(self, data: PointData, code: tuple[Tensor, Tensor], rows: Rows = None) -> Tensor:
        """Values at some of the output points."""
        readings, coefficients = code
        pos, layout = query_points(data, rows)
        basis = self.functions(pos / self.sensors.extent, readings).unflatten(-1, (self.out_channels, -1))
        values = torch.einsum("bkp,bmkp->bmk", coefficients, basis) + self.bias
        return values if layout is None else layout.flat(values)

    def functions(self, pos: Tensor, readings: Tensor) -> Tensor:
        """Basis functions at positions ``[B or 1, M, D]``, of all output channels: ``[B or 1, M, channels * P]``."""
        return from_positions(self.trunk, pos)


class DeepONetOptions(ModelOptions):
    """Options of ``model.name = "deeponet"``, see :class:`DeepONet`; for samples with one number of points.

    Example:
        >>> from pitgeo.config.config import parse_config
        >>> tables = {"data": {"name": "elasticity"}, "model": {"name": "deeponet", "deeponet": {"basis": 32}}}
        >>> parse_config(tables).model.options.basis
        32
    """

    basis: Count = 64
    width: Count = 64
    layers: Count = 3

    def build(self, spec: DataSpec) -> nn.Module:
        """A new model."""
        return DeepONet(Sensors.of(spec), spec.out_channels, self.basis, self.width, self.layers)


def fully_connected(in_channels: int, width: int, layers: int, out_channels: int) -> nn.Sequential:
    """A network with ``layers`` hidden layers and GELUs."""
    sizes = [in_channels, *[width] * layers]
    hidden = [part for a, b in itertools.pairwise(sizes) for part in (nn.Linear(a, b), nn.GELU())]
    return nn.Sequential(*hidden, nn.Linear(width, out_channels))
