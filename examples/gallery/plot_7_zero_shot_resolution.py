"""
Resolutions not trained on
==========================

A network learns to smooth fields on 20 x 20 points, and is then used on grids up to 80 x 80 without more training. The
attention weights depend on distances alone, so nothing in the network belongs to one grid.
"""

import matplotlib.pyplot as plt
import torch

from pitgeo import PiT, PointData
from pitgeo.data.transforms import AttentionGraphs
from pitgeo.nn import Body

# %%
# Sums of waves; a Gaussian of width 0.08 damps each wave by a known factor, so the truth is exact on any grid.
WAVES = torch.pi * torch.cartesian_prod(torch.arange(1, 5.0), torch.arange(1, 5.0))


def fields(number: int, side: int, seed: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Positions ``[N, 2]`` of a grid, fields ``[number, N, 1]`` there, and the same smoothed."""
    axis = (torch.arange(side) + 0.5) / side
    pos = torch.cartesian_prod(axis, axis)
    parts = torch.randn(number, len(WAVES), generator=torch.Generator().manual_seed(seed)) / 2
    shapes = torch.cos(pos * WAVES[:, None]).prod(-1)
    damped = torch.exp(-WAVES.square().sum(1) * 0.08**2 / 2)
    return pos, (parts @ shapes)[..., None], ((parts * damped) @ shapes)[..., None]


def latent(side: int = 10) -> torch.Tensor:
    """The latent mesh, the same for all grids."""
    return fields(1, side, 0)[0]


# %%
# Samples on one grid are a batch ``[B, N, C]``; the weights are computed once for all of them.
torch.manual_seed(0)
graphs = AttentionGraphs(encoder=0.03, decoder=0.06)
model = PiT(3, 1, channels=32, heads=4, graphs=graphs, body=Body(lengths=(0.05, 1.0), latent_spacing=0.1))
optimizer = torch.optim.AdamW(model.parameters(), 4e-3)
schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, 600)
pos, x, y = fields(200, 20, seed=1)
mesh = graphs(PointData(pos=pos, pos_latent=latent()))
for _ in range(600):
    chosen = torch.randint(200, (8,))
    sample = mesh.clone()
    sample.x = x[chosen]
    loss = (model(sample) - y[chosen]).norm() / y[chosen].norm()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    schedule.step()

# %%
# 20 new fields on each grid.
sides, errors = (14, 20, 28, 40, 56, 80), []
for side in sides:
    pos, x, y = fields(20, side, seed=2)
    with torch.no_grad():
        found = model(PointData(pos=pos, x=x, pos_latent=latent()))
    errors.append(float((found - y).norm() / y.norm()))
    print(f"{side} x {side}: relative error {errors[-1]:.4f}")

figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
axes[0].semilogx(sides, errors, "o-", base=2)
axes[0].axvline(20, color="grey", linestyle=":")
axes[0].set(xlabel="points along a side (trained at 20)", ylabel="relative error", ylim=(0, None))
for ax, name, values in zip(axes[1:], ("smoothed exactly", "found, on 80 x 80"), (y, found), strict=True):
    ax.imshow(values[0].reshape(80, 80), vmin=y[0].min(), vmax=y[0].max())
    ax.set(title=name, xticks=[], yticks=[])
plt.show()
