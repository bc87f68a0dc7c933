"""
Pressure on surfaces
====================

Ellipsoids in a stream, as triangulated surfaces without an inside. The pressure of potential flow round them is known
in closed form. Positions and normals are the inputs, and the direction of the stream.
"""

import tempfile

import matplotlib.pyplot as plt
import numpy as np
from scipy.integrate import quad
from scipy.spatial import ConvexHull

from pitgeo import train_surrogate
from pitgeo.evaluation.plots import MeshSample, mesh_fields
from pitgeo.integrals import compute
from pitgeo.mesh import Mesh

# %%
# On an ellipsoid the velocity is the tangential part of a constant vector: axis by axis 2 / (2 - alpha) of the stream.


def ellipsoid(seed: int, number: int = 400) -> Mesh:
    """A surface and the pressure coefficient 1 - u^2 on it."""
    random = np.random.default_rng(seed)
    axes, stream = random.uniform(0.5, 1.5, 3), random.normal(size=3)
    stream /= np.linalg.norm(stream)
    height = 1 - (2 * np.arange(number) + 1) / number  # a spiral of evenly spread points
    angle = np.pi * (1 + np.sqrt(5)) * np.arange(number)
    radius = np.sqrt(1 - height**2)
    sphere = np.stack([radius * np.cos(angle), radius * np.sin(angle), height], 1)
    triangles = ConvexHull(sphere).simplices.astype(np.int64)
    corners = sphere[triangles]
    turned = np.linalg.det(corners) < 0
    triangles[turned] = triangles[turned][:, ::-1]  # all seen counter-clockwise from outside

    def integral(axis: int) -> float:
        return quad(lambda s: axes.prod() / ((axes[axis] ** 2 + s) * np.sqrt(np.prod(axes**2 + s))), 0, np.inf)[0]

    speed = 2 / (2 - np.array([integral(axis) for axis in range(3)])) * stream
    normal = sphere / axes
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    velocity = speed - (normal @ speed)[:, None] * normal
    fields = {"pressure": 1 - (velocity**2).sum(1)}
    return Mesh(sphere * axes, (("triangle", triangles),), fields, {}, {"stream": stream})


bodies = [ellipsoid(seed) for seed in range(120)]
folder = tempfile.TemporaryDirectory()
settings = [
    "training.epochs=25",
    "model.pit.channels=32",
    "model.pit.latent.number=64",
    "model.pit.encoder_quantile=0.1",
]
settings += ["model.pit.decoder_quantile=0.1"]
model = train_surrogate(bodies, ["pressure"], f"{folder.name}/run", ["stream"], settings, progress=False)

# %%
# A force is an integral over the surface. In potential flow it is zero, as d'Alembert found: a check of both.
new = ellipsoid(1000)
predicted = model.predict_mesh(new)
names = ("pressure", "pressure_prediction")
for name in names:
    print(name, {part: round(force, 3) for part, force in compute(predicted, f"force:{name}").items()})
rows = [MeshSample("new body", new, "point", *(predicted.point_data[name].ravel() for name in names))]
if picture := mesh_fields(rows, f"{folder.name}/pressure.png", "pressure coefficient"):
    plt.figure(figsize=(11, 3.5), layout="constrained")
    plt.imshow(plt.imread(picture))
    plt.axis("off")
    plt.show()
