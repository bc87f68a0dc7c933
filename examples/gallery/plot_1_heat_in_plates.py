"""
Heat in plates, from meshio meshes
==================================

Square plates with a heated hole, each on its own mesh. Outside they are kept at zero; the hole has the temperature of a
number of the file. scikit-fem solves them, meshio's meshes go in, a predicted field comes out.
"""

import tempfile

import matplotlib.pyplot as plt
import meshio
import numpy as np
import skfem
from skfem.models.poisson import laplace

from pitgeo import train_surrogate

# %%
# A plate: rings of points between an elliptic hole, anywhere in the middle, and the sides of the square.


def plate(seed: int, around: int = 40, rings: int = 9) -> meshio.Mesh:
    """A solved plate, as meshio has it."""
    random = np.random.default_rng(seed)
    center, axes, heat = random.uniform(-0.4, 0.4, 2), random.uniform(0.15, 0.4, 2), random.uniform(50, 150)
    angle = np.linspace(0, 2 * np.pi, around, endpoint=False)
    circle = np.stack([np.cos(angle), np.sin(angle)], 1)
    inner, outer = center + axes * circle, circle / np.abs(circle).max(1, keepdims=True)
    share = np.linspace(0, 1, rings)[:, None, None] ** 1.3  # closer rings at the hole
    points = ((1 - share) * inner + share * outer).reshape(-1, 2)
    first = np.arange((rings - 1) * around).reshape(-1, around)
    after = np.roll(first, -1, 1)
    halves = [[first, after, first + around], [after, after + around, first + around]]
    triangles = np.concatenate([np.stack(half, -1).reshape(-1, 3) for half in halves])

    basis = skfem.Basis(skfem.MeshTri(points.T, triangles.T), skfem.ElementTriP1())
    temperature = np.zeros(len(points))
    temperature[:around] = heat
    fixed = np.r_[:around, len(points) - around : len(points)]
    temperature = skfem.solve(*skfem.condense(laplace.assemble(basis), x=temperature, D=fixed))
    fields = {"temperature": temperature}
    return meshio.Mesh(points, [("triangle", triangles)], fields, field_data={"heat": np.array([heat])})


plates = [plate(seed) for seed in range(80)]

# %%
# One call trains; the last fifth of its epochs, and more data, would still lower the error.
folder = tempfile.TemporaryDirectory()
settings = [
    "training.epochs=30",
    "model.pit.channels=32",
    "model.pit.latent.number=64",
    "model.pit.encoder_quantile=0.1",
]
settings += ["model.pit.decoder_quantile=0.1"]
model = train_surrogate(plates, ["temperature"], f"{folder.name}/plates", ["heat"], settings, progress=False)

# %%
# A plate that the model has not seen.
new = plate(1000)
predicted = model.predict_mesh(new)
truth, found = new.point_data["temperature"], predicted.point_data["temperature_prediction"].ravel()
print(
    f"root mean square error {np.sqrt(np.mean((found - truth) ** 2)):.2f} K, at most {abs(found - truth).max():.1f} K"
)

figure, axes = plt.subplots(1, 3, figsize=(11, 3.2), layout="constrained")
for ax, title, values in zip(axes, ("solved", "predicted", "error"), (truth, found, abs(found - truth)), strict=True):
    shades = ax.tripcolor(*new.points.T, new.cells[0].data, values, shading="gouraud")
    ax.triplot(*new.points.T, new.cells[0].data, color="w", linewidth=0.2)
    ax.set(title=title, aspect="equal", xticks=[], yticks=[])
    figure.colorbar(shades, label="K")
plt.show()
