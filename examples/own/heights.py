"""A small model to export."""

import numpy as np

from pitgeo import train_surrogate

random = np.random.default_rng(0)
clouds = [random.random((80, 2)) for _ in range(12)]
samples = [{"points": points, "height": points[:, 0] * points[:, 1] + 1} for points in clouds]
settings = ["training.epochs=2", "model.pit.channels=16", "model.pit.latent.number=20", "data.meshes.geometry=[]"]
train_surrogate(samples, ["height"], "runs/heights", settings=settings, progress=False)
