"""
A roll-out in time
==================

Spots of heat are carried round by a rotating flow and spread. The model learns one step in time; from the first state
alone it then predicts step after step from its own predictions.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial import Delaunay

from pitgeo.config.config import parse_config
from pitgeo.describe.defaults import DEFAULTS
from pitgeo.mesh import Mesh, read_series, write_series
from pitgeo.prediction.files import predict_files
from pitgeo.workflows.run import train

STEPS, STEP = 8, 0.25

# %%
# A Gaussian spot in solid rotation stays one, wider and lower with time: the truth is exact. All series have one mesh.
points = np.random.default_rng(0).uniform(-1, 1, (350, 2))
cells = (("triangle", Delaunay(points).simplices.astype(np.int64)),)


def heat(spots: np.ndarray, time: float) -> np.ndarray:
    """The heat ``[N]`` of spots ``[S, 3]``: two coordinates and a strength."""
    turn = np.array([[np.cos(time), np.sin(time)], [-np.sin(time), np.cos(time)]])
    spread = 0.04 + 0.02 * time
    squares = ((points[:, None] - spots[:, :2] @ turn) ** 2).sum(-1)
    return np.asarray((spots[:, 2] * 0.04 / spread * np.exp(-squares / (2 * spread))).sum(1))


folder = tempfile.TemporaryDirectory()
for number in range(40):
    random = np.random.default_rng(number)
    spots = random.uniform((-0.6, -0.6, 0.5), (0.6, 0.6, 1.5), (int(random.integers(1, 4)), 3))
    times = STEP * np.arange(STEPS + 1)
    meshes = [Mesh(points, cells, {"heat": heat(spots, time)}) for time in times]
    write_series(Path(folder.name) / f"series_{number:02}.pvd", meshes, times)

# %%
# From files and a configuration, as ``pitgeo train`` does it.
settings = [
    f'data.meshes.files="{folder.name}/series_*.pvd"',
    'data.meshes.series="file"',
    'data.meshes.targets=["heat"]',
    f'data.meshes.cache="{folder.name}/cache"',
    "data.meshes.test=4",
    "model.pit.channels=32",
    "model.pit.latent.number=64",
    "model.pit.encoder_quantile=0.05",
    "model.pit.decoder_quantile=0.1",
    "training.epochs=12",
]
config = parse_config(DEFAULTS, settings)
run = train(config, Path(folder.name) / "run", progress=False)

# %%
# A new series: its first state goes in, all others come out.
new = np.array([[0.4, 0.3, 1.2], [-0.5, 0.1, 0.8]])
truth = [heat(new, time) for time in times]
write_series(Path(folder.name) / "new.pvd", [Mesh(points, cells, {"heat": values}) for values in truth], times)
predict_files(run.checkpoint, [f"{folder.name}/new.pvd"], f"{folder.name}/predicted")
steps = read_series(Path(folder.name) / "predicted" / "new.pvd")
predicted = [steps.mesh(k).point_data["heat_prediction"].ravel() for k in range(len(steps))]
errors = [np.linalg.norm(values - truth[k]) / np.linalg.norm(truth[k]) for k, values in enumerate(predicted)]
print("relative error of every step:", np.round(errors, 3))

figure, axes = plt.subplots(2, 4, figsize=(11, 5.4), layout="constrained")
for ax, k in zip(axes.T, (1, 3, 5, STEPS), strict=True):
    for one, name, values in zip(ax, ("true", "predicted"), (truth[k], predicted[k]), strict=True):
        one.tricontourf(*points.T, values, levels=np.linspace(-0.1, 1.3, 15), extend="both")
        one.set(title=f"{name}, step {k}", aspect="equal", xticks=[], yticks=[])
plt.show()
