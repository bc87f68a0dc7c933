"""The shift-DeepONet: a DeepONet whose basis functions move with the input."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu

from pitgeo.models.deeponet import DeepONet, fully_connected
from pitgeo.models.model_options import Count, DataSpec, ModelOptions
from pitgeo.models.sensors import Sensors
from pitgeo.nn.blocks import from_positions


class ShiftDeepONet(DeepONet):
    r"""A DeepONet that takes the output point in separate coordinates for each basis function.

    .. math:: y_k(p) = \sum_{b = 1}^{P} \beta_{kb}(u) \, \tau_{kb}\left(A_{kb}(u) \, p + \gamma_{kb}(u)\right) + c_k

    The scale net :math:`A`, with a matrix ``[D, D]`` for each basis function, and the shift net :math:`\gamma`, with a
    vector, are fully connected networks of the readings :math:`u`. So basis functions depend on the input: a single one
    can follow a shock. The geometry has single precision under autocast.

    The initial matrices are near the identity. :math:`\tau` is one trunk with many outputs, as in the DeepONet. Each
    output is taken at its own coordinates, so the hidden layers of the trunk run once for each basis function: time and
    memory are ``basis * out_channels`` times those of the trunk of a DeepONet. By default it is therefore smaller, with
    fewer basis functions. Chen and Wu list 1,835,297 parameters on InviscidBurgers and 6,047,633 on ShockTube, without
    the sizes that give them.

    Args:
        sensors: The readings of a sample.
        out_channels: Values of an output point.
        basis: Basis functions of each output channel, ``P``.
        width: Size of the hidden layers of all four networks.
        layers: Number of hidden layers of all four networks.

    Shapes:
        - As for :class:`DeepONet`.

    Raises:
        ValueError: As for :class:`DeepONet`.

    Example:
        >>> from pitgeo import PointData
        >>> model = ShiftDeepONet(Sensors(in_channels=3, dimension=2, points=50), out_channels=1)
        >>> model(PointData(pos=torch.rand(50, 2), x=torch.rand(50, 1), pos_out=torch.rand(7, 2))).shape
        torch.Size([7, 1])

    Reference:
        Lanthaler, Molinaro, Hadorn and Mishra, Nonlinear reconstruction for operator learning of PDEs with
        discontinuities, ICLR 2023, section 2.
    """

    def __init__(self, sensors: Sensors, out_channels: int, basis: int = 16, width: int = 32, layers: int = 3) -> None:
        super().__init__(sensors, out_channels, basis, width, layers)
        size, dimension = out_channels * basis, sensors.dimension
        self.scale = fully_connected(sensors.size, width, layers, size * dimension**2)
        self.shift = fully_connected(sensors.size, width, layers, size * dimension)
        with torch.no_grad():
            cast(nn.Linear, self.scale[-1]).bias.copy_(torch.eye(dimension).flatten().repeat(size))

    def functions(self, pos: Tensor, readings: Tensor) -> Tensor:
        """Basis functions at positions ``[B or 1, M, D]``, of all output channels: ``[B, M, channels * P]``."""
        dimension = pos.shape[-1]
        with torch.autocast(pos.device.type, enabled=False):
            scale = self.scale(readings).unflatten(-1, (-1, dimension, dimension))
            shift = self.shift(readings).unflatten(-1, (-1, dimension))
            moved = torch.einsum("bpij,bmj->bmpi", scale, pos) + shift.unsqueeze(1)
        last = cast(nn.Linear, self.trunk[-2])
        hidden = from_positions(cast(nn.Sequential, self.trunk[:-2]), moved)
        return gelu(torch.einsum("bmpw,pw->bmp", hidden, last.weight) + last.bias)


class ShiftDeepONetOptions(ModelOptions):
    """Options of ``model.name = "shift_deeponet"``, see :class:`ShiftDeepONet`; for samples of one number of points.

    Example:
        >>> from pitgeo.config.config import parse_config
        >>> model = {"name": "shift_deeponet", "shift_deeponet": {"basis": 8}}
        >>> tables = {"data": {"name": "elasticity"}, "model": model}
        >>> parse_config(tables).model.options.basis
        8
    """

    basis: Count = 16
    width: Count = 32
    layers: Count = 3

    def build(self, spec: DataSpec) -> nn.Module:
        """A new model."""
        return ShiftDeepONet(Sensors.of(spec), spec.out_channels, self.basis, self.width, self.layers)
