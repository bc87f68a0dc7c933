"""
Sweep and optimum
=================

A fin cools a hot wall. A surrogate learns its temperature from some solved fins; it then answers for 300 loads at once,
and finds the thinnest fin that stays cool enough. The answer is solved again, as an answer always should be.
"""

import tempfile

import matplotlib.pyplot as plt
import numpy as np
import skfem
from skfem.helpers import dot, grad

from pitgeo import train_surrogate
from pitgeo.mesh import Mesh
from pitgeo.workflows.designs import Varied
from pitgeo.workflows.optimise import optimise

# %%
# Heat enters at the left end and leaves through all other sides to air at zero.


def fin(heat: float, width: float) -> Mesh:
    """A fin of length 4 and its temperature."""
    mesh = skfem.MeshQuad.init_tensor(np.linspace(0, 4, 25), np.linspace(0, width, 7))
    basis = skfem.Basis(mesh, skfem.ElementQuad1())
    wall = skfem.FacetBasis(mesh, basis.elem, facets=mesh.facets_satisfying(lambda x: np.isclose(x[0], 0)))
    air = skfem.FacetBasis(mesh, basis.elem, facets=mesh.facets_satisfying(lambda x: x[0] > 1e-9, boundaries_only=True))
    conduction = skfem.BilinearForm(lambda u, v, w: dot(grad(u), grad(v))).assemble(basis)
    cooling = skfem.BilinearForm(lambda u, v, w: 0.1 * u * v).assemble(air)
    source = skfem.LinearForm(lambda v, w: heat / width * v).assemble(wall)  # the same heat in all, whatever the width
    temperature = skfem.solve(conduction + cooling, source)
    return Mesh(mesh.p.T, (("quad", mesh.t.T),), {"temperature": temperature}, {}, {"heat": np.array([heat])})


random = np.random.default_rng(0)
fins = [fin(*random.uniform((5, 0.4), (20, 1.6))) for _ in range(60)]
folder = tempfile.TemporaryDirectory()
settings = [
    "training.epochs=30",
    "model.pit.channels=32",
    "model.pit.latent.number=40",
    "model.pit.encoder_quantile=0.1",
]
settings += ["model.pit.decoder_quantile=0.1"]
model = train_surrogate(fins, ["temperature"], f"{folder.name}/fins", ["heat"], settings, progress=False)

# %%
# The sweep: 300 loads of one fin. Points, graphs and attention weights are found once.
heat = np.linspace(5, 20, 300)
many = model.predict_many(fin(10, 1), {"heat": heat})["temperature_prediction"]

# %%
# The optimum: the smallest width whose hottest point stays below 24 at a load of 10. Every width is a mesh of its own.
best = optimise(
    model, lambda values: fin(10, values["width"]), "width", [Varied.parse("width=0.4:1.6")], ["peak:temperature<=24"]
)
width = best.values["width"]
solved = fin(10, width).point_data["temperature"].max()
print(f"width {width:.3f}: predicted peak {best.constraints['peak:temperature<=24']:.2f}, solved {solved:.2f}")

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
left.plot(heat, many.max((1, 2)), label="predicted, 300 loads")
left.plot(heat[::50], [fin(load, 1).point_data["temperature"].max() for load in heat[::50]], "ko", label="solved")
left.set(xlabel="heat", ylabel="peak temperature", title="sweep, width 1")
left.legend()
widths = np.linspace(0.4, 1.6, 13)
found = [model.predict_mesh(fin(10, one)).point_data for one in widths]
right.plot(widths, [one["temperature"].max() for one in found], "k-", label="solved")
right.plot(widths, [one["temperature_prediction"].max() for one in found], ".", label="predicted")
right.plot(width, solved, "r*", markersize=12, label="optimum, solved again")
right.axhline(24, color="grey", linestyle=":")
right.set(xlabel="width", title="load 10")
right.legend()
plt.show()
