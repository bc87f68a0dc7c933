"""Whether a mesh is inside or outside of the training set."""

import numpy as np

from pitgeo import train_surrogate

random = np.random.default_rng(0)


def plate(load, width):
    points = random.random((60, 2)) * [width, 1]
    return {"points": points, "height": load * points[:, 0], "load": np.array([load])}


samples = [plate(*random.uniform([1, 1], [10, 2])) for _ in range(36)]
settings = ["training.epochs=1", "model.pit.channels=8"]
model = train_surrogate(samples, ["height"], "runs/plates", ["load"], settings, progress=False)
print(model.trust(plate(14, 1.5)).sentence)
