"""A pooling network: every point sees itself, and means over its sample."""

import torch
from torch import Tensor, nn

from pitgeo import PointData
from pitgeo.models import MODELS
from pitgeo.models.dense_points import DensePoints
from pitgeo.models.model_options import Count, ModelOptions
from pitgeo.nn.blocks import from_positions, mlp


class PoolingNetwork(nn.Module):
    """Residual MLPs of a point's values and their mean over the sample."""

    def __init__(self, in_channels: int, out_channels: int, channels: int, layers: int) -> None:
        super().__init__()
        self.in_channels = in_channels
        self.lift = mlp(in_channels, channels, channels)
        self.layers = nn.ModuleList(mlp(2 * channels, channels, channels) for _ in range(layers))
        self.head = nn.Linear(channels, out_channels)

    def forward(self, data: PointData) -> Tensor:
        points = DensePoints.of(data, self.in_channels, self)
        if not points.coincide:
            raise ValueError("Expected output points that are the input points with a pooling network (got others)")
        x = from_positions(self.lift, points.features)  # positions in float32 under autocast
        inside = torch.ones_like(x[..., :1]) if points.mask is None else points.mask.unsqueeze(-1).to(x.dtype)
        for layer in self.layers:
            mean = (x * inside).sum(1, keepdim=True) / inside.sum(1, keepdim=True)
            x = x + layer(torch.cat([x, mean.expand_as(x)], -1))
        return points.rows(self.head(x))


class PoolingOptions(ModelOptions):
    """Options of ``model.name = "pooling"``."""

    channels: Count = 32
    layers: Count = 2

    def build(self, spec):
        return PoolingNetwork(spec.in_channels, spec.out_channels, self.channels, self.layers)


MODELS["pooling"] = PoolingOptions
