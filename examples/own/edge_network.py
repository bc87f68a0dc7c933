"""A network with edge features, as MeshGraphNets, in which position-attention lets a point see farther at once.

The problem: the mean over the nearest tenth of the points, minus the point's own value. Messages go one edge a step.
Rotations change the result, since a relative position turns with the mesh. With the length alone they would not.
"""

import torch
from scipy.spatial import Delaunay
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import MLP
from torch_geometric.transforms import FaceToEdge
from torch_geometric.utils import scatter

from pitgeo import PointData, PositionAttention
from pitgeo.data.transforms import AttentionGraphs


class Step(torch.nn.Module):
    """Update the edges from their ends, then the points from their edges and from those near by."""

    def __init__(self, channels, heads=4):
        super().__init__()
        self.edge = MLP([3 * channels, channels, channels], norm=None, act="gelu")
        self.attention = PositionAttention(channels, channels, heads, lengths=(0.05, 0.3))
        self.node = MLP([3 * channels, channels, channels], norm=None, act="gelu")

    def forward(self, x, edges, pos, edge_index, near):
        source, target = edge_index
        edges = edges + self.edge(torch.cat([x[source], x[target], edges], -1))
        total = scatter(edges, target, dim=0, dim_size=len(x), reduce="sum")
        return x + self.node(torch.cat([x, total, self.attention(x, pos, near)], -1)), edges


class EdgeNetwork(torch.nn.Module):
    """Values on the points of a mesh; takes ``edge_index`` and the graph called ``output``."""

    def __init__(self, in_channels, out_channels, channels=16, dimension=2, steps=2):
        super().__init__()
        self.points = torch.nn.Linear(in_channels, channels)
        self.edges = torch.nn.Linear(dimension + 1, channels)
        self.steps = torch.nn.ModuleList(Step(channels) for _ in range(steps))
        self.head = torch.nn.Linear(channels, out_channels)

    def forward(self, data):
        source, target = data.edge_index
        between = data.pos[source] - data.pos[target]
        edges = self.edges(torch.cat([between, between.norm(dim=-1, keepdim=True)], -1))
        x = self.points(data.x)
        for step in self.steps:
            x, edges = step(x, edges, data.pos, data.edge_index, data.graph("output"))
        return self.head(x)


torch.manual_seed(0)
near = AttentionGraphs(encoder=None, decoder=None, output=0.1)
samples = []
for size in (80, 100, 120, 140):
    pos, x = torch.rand(size, 2), torch.randn(size, 1)
    faces = torch.from_numpy(Delaunay(pos.numpy()).simplices).long().t()
    mesh = FaceToEdge()(Data(pos=pos, face=faces))
    sample = near(PointData(pos=pos, x=x, edge_index=mesh.edge_index))
    edges = sample.graph("output")
    sample.y = scatter(x[edges.source], edges.target, dim=0, reduce="mean") - x
    samples.append(sample)

model = EdgeNetwork(in_channels=1, out_channels=1)
optimizer = torch.optim.AdamW(model.parameters(), 3e-3)
losses = []
for _ in range(20):
    for batch in DataLoader(samples, batch_size=2, shuffle=True):
        loss = (model(batch) - batch.y).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
assert sum(losses[-4:]) < sum(losses[:4]) / 3
