"""
A layer in a graph network
==========================

The attention of pitgeo beside graph convolutions of PyTorch Geometric. The task: every point of a cloud is to find the
mean of a value over its surroundings, a fifth of the domain wide. A convolution sees the next points alone; two
networks of three layers differ in the one in the middle.
"""

import matplotlib.pyplot as plt
import torch
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import SAGEConv, Sequential

from pitgeo import PositionAttention
from pitgeo.graphs.neighbors import knn, quantile

# %%
# Two graphs: the six nearest points, and the fifth of the points that is nearest.


def cloud(number: int) -> Data:
    """Random values, and their means with weights that fall off with the distance."""
    pos, x = torch.rand(number, 2), torch.randn(number, 1)
    weights = torch.softmax(-((torch.cdist(pos, pos) / 0.1) ** 2), 1)
    near = knn(pos, pos, 6).edge_index
    return Data(x=x, pos=pos, y=weights @ x * 10, edge_index=near, far_edge_index=quantile(pos, pos, 0.2).edge_index)


torch.manual_seed(0)
samples, tests = [cloud(200) for _ in range(40)], [cloud(200) for _ in range(20)]


def network(middle: tuple[torch.nn.Module, str]) -> torch.nn.Module:
    """Two convolutions with another layer between them."""
    first, last = (SAGEConv(1, 32), "x, near -> x"), (SAGEConv(32, 1), "x, near -> x")
    gelu = (torch.nn.GELU(), "x -> x")
    made: torch.nn.Module = Sequential("x, pos, near, far", [first, gelu, middle, gelu, last])
    return made


middles = {
    "convolution": (SAGEConv(32, 32), "x, near -> x"),
    "position-attention": (PositionAttention(32, 32, heads=4, lengths=(0.03, 0.3)), "x, pos, far -> x"),
}

# %%
# Both are trained alike.
errors: dict[str, list[float]] = {name: [] for name in middles}
for name, middle in middles.items():
    model = network(middle)
    optimizer = torch.optim.AdamW(model.parameters(), 3e-3)
    for _ in range(60):
        for batch in DataLoader(samples, batch_size=4, shuffle=True):
            found = model(batch.x, batch.pos, batch.edge_index, batch.far_edge_index)
            loss = (found - batch.y).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            (batch,) = DataLoader(tests, batch_size=len(tests))
            found = model(batch.x, batch.pos, batch.edge_index, batch.far_edge_index)
            errors[name].append(float((found - batch.y).norm() / batch.y.norm()))
    print(f"{name} in the middle: relative error {errors[name][-1]:.3f} on 20 new clouds")

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
for name, values in errors.items():
    left.semilogy(range(1, len(values) + 1), values, label=name)
left.set(xlabel="epoch", ylabel="relative error")
left.legend()
right.plot(batch.y, found, ".", markersize=1)
right.set(xlabel="true mean", ylabel="found with position-attention")
plt.show()
