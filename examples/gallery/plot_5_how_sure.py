"""
How sure: bounds, and inside or outside
=======================================

Beams that bend under a load, by a formula in place of a solver. Every prediction comes with a bound of its error and
with a sentence on whether the case belongs to what was trained on. Both are put to the test.
"""

import logging
import tempfile

import matplotlib.pyplot as plt
import numpy as np

from pitgeo import train_surrogate

logging.getLogger("pitgeo").setLevel(logging.ERROR)  # it warns of every case outside

# %%
# The bend of a clamped beam under a load at its end, at points anywhere in it.


def beam(random: np.random.Generator, low: float, high: float) -> dict[str, np.ndarray]:
    """A beam with a load between two values."""
    length, load = random.uniform(2, 4), random.uniform(low, high)
    points = random.random((120, 2)) * [length, 0.5]
    x = points[:, 0]
    return {"points": points, "bend": load * x**2 * (3 * length - x) / 6, "load": np.array([load])}


random = np.random.default_rng(0)
beams = [beam(random, 1, 10) for _ in range(120)]

# %%
# A quarter of the samples calibrates the bounds: at least 9 are needed for 90%.
folder = tempfile.TemporaryDirectory()
settings = [
    "training.epochs=15",
    "model.pit.channels=32",
    "model.pit.latent.number=32",
    "model.pit.encoder_quantile=0.1",
]
settings += ["model.pit.decoder_quantile=0.1", "data.meshes.validation=0.25"]
model = train_surrogate(beams, ["bend"], f"{folder.name}/run", ["load"], settings, progress=False)

# %%
# 100 new beams of the same kind, and 100 with loads that were never seen.
for name, (low, high) in {"same loads": (1, 10), "larger loads": (12, 20)}.items():
    cases = [beam(random, low, high) for _ in range(100)]
    found = [model.predict_mesh(case).point_data for case in cases]
    inside = [np.abs(one["bend_error"]) <= one["bend_bound"] for one in found]
    outside = sum(model.trust(case).status == "outside" for case in cases)
    print(f"{name}: {100 * np.mean(inside):.0f}% of the points within the bound of 90%; {outside} of 100 outside")
print(model.trust(beam(random, 15, 15)).sentence)

# %%
# Predictions with their bounds over the true values.
figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
for ax, load in zip(axes, (3, 8, 16), strict=True):
    case = beam(random, load, load)
    data = model.predict_mesh(case).point_data
    order = np.argsort(case["points"][:, 0])
    x, prediction, bound = (
        values.ravel()[order] for values in (case["points"][:, 0], data["bend_prediction"], data["bend_bound"])
    )
    ax.fill_between(x, prediction - bound, prediction + bound, alpha=0.25, label="bound of 90%")
    ax.plot(x, prediction, ".", markersize=3, label="predicted")
    ax.plot(x, case["bend"][order], "k-", linewidth=1, label="true")
    ax.set(title=f"load {load}: {model.trust(case).status}", xlabel="x")
axes[0].set_ylabel("bend")
axes[0].legend()
plt.show()
