"""A U-shaped point network: PyG's PointNetConv down, position-attention at the bottom and up again.

The problem: at every point, the local value times the mean over the sample. Points are chosen once a sample; the first
sixteenth of farthest points is a sampling, too. Shifts do not change the result; rotations do, since PointNetConv sees
the direction to a neighbour. Neighbours are searched in every step; for long training keep them with the sample.
"""

import copy
from dataclasses import dataclass

import torch
from torch_geometric.loader import DataLoader
from torch_geometric.nn import MLP, PointNetConv

from pitgeo import PointData, PositionAttention
from pitgeo.graphs.neighbors import knn, radius
from pitgeo.graphs.sampling import farthest_points
from pitgeo.nn import DenseLayout, GlobalPositionAttention, ResidualBlock


@dataclass(frozen=True)
class Levels:
    """Number a quarter and a sixteenth of the input points, evenly spread."""

    def __call__(self, data):
        count = data.num_nodes
        chosen = farthest_points(data.pos, max(count // 4, 1))
        result = copy.copy(data)
        result.coarse_index, result.coarsest_index = chosen, chosen[: max(count // 16, 1)]
        return result


class PointUNet(torch.nn.Module):
    """Values on the points of a sample, by way of two coarser levels."""

    def __init__(self, in_channels, out_channels, channels=16, dimension=2, radii=(0.15, 0.3)):
        super().__init__()
        self.radii = radii
        self.lift = torch.nn.Linear(in_channels, channels)
        self.down = torch.nn.ModuleList(
            PointNetConv(
                local_nn=MLP([channels + dimension, channels, channels], norm=None, act="gelu"),
                global_nn=MLP([channels, channels], norm=None, plain_last=False, act="gelu"),
                add_self_loops=False,
            )
            for _ in radii
        )
        self.center = torch.nn.ModuleList(
            ResidualBlock(GlobalPositionAttention(channels, channels, heads=4, lengths=(0.2, 1.0)), channels)
            for _ in range(2)
        )
        self.up = torch.nn.ModuleList(
            ResidualBlock(PositionAttention(channels, channels, heads=4, lengths=(r / 4, r)), channels) for r in radii
        )
        self.head = torch.nn.Linear(channels, out_channels)

    def forward(self, data):
        pos, batch = data.points("input")
        levels = [(pos, batch)]
        for index in (data.coarse_index, data.coarsest_index):
            levels.append((pos[index], None if batch is None else batch[index]))

        x, skips = self.lift(data.x), []
        for layer, r, (fine, fine_batch), (coarse, coarse_batch) in zip(
            self.down, self.radii, levels[:-1], levels[1:], strict=True
        ):
            skips.append(x)
            edges = radius(coarse, fine, r, target_batch=coarse_batch, source_batch=fine_batch)
            x = layer((x, None), (fine, coarse), edges.edge_index)

        pos, batch = levels[-1]
        layout = DenseLayout.of(batch, len(pos), data.samples)
        x, pos = layout.dense(x), layout.dense(pos)
        for block in self.center:
            x = block(x, x, pos, layout.mask)
        x = layout.flat(x)

        for level in (1, 0):
            (fine, fine_batch), (coarse, coarse_batch) = levels[level], levels[level + 1]
            edges = knn(fine, coarse, 4, target_batch=fine_batch, source_batch=coarse_batch)
            x = self.up[level](x, skips[level], (coarse, fine), edges)
        return self.head(x)


torch.manual_seed(0)
samples = []
for size in (100, 120, 140, 160):
    pos, x = torch.rand(size, 2) - 0.5, torch.randn(size, 1) + torch.randn(1)
    samples.append(Levels()(PointData(pos=pos, x=x, y=x * x.mean())))

model = PointUNet(in_channels=1, out_channels=1)
optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
losses = []
for _ in range(20):
    for batch in DataLoader(samples, batch_size=2, shuffle=True):
        loss = (model(batch) - batch.y).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
assert sum(losses[-4:]) < sum(losses[:4]) / 3
