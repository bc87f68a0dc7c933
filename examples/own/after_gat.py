"""Position-attention in a stack, after a GATConv: smooth a noisy function of the position."""

import torch
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GATConv, Sequential

from pitgeo import PositionAttention
from pitgeo.graphs.neighbors import knn

torch.manual_seed(0)
samples = []
for size in (60, 70, 80, 90, 100, 110):
    pos = torch.rand(size, 2)
    y = torch.sin(6 * pos[:, :1])
    x = y + 0.5 * torch.randn(size, 1)
    samples.append(Data(x=x, pos=pos, y=y, edge_index=knn(pos, pos, 12).edge_index))

model = Sequential(
    "x, pos, edge_index",
    [
        (GATConv(1, 8, heads=2), "x, edge_index -> x"),
        (torch.nn.GELU(), "x -> x"),
        (PositionAttention(16, 16, heads=4, lengths=(0.05, 0.3)), "x, pos, edge_index -> x"),
        (torch.nn.GELU(), "x -> x"),
        (torch.nn.Linear(16, 1), "x -> x"),
    ],
)
optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
losses = []
for _ in range(15):
    for batch in DataLoader(samples, batch_size=3, shuffle=True):
        loss = (model(batch.x, batch.pos, batch.edge_index) - batch.y).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
assert losses[-1] < losses[0] / 3
