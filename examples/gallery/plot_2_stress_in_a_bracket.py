"""
Stress in a 3D bracket
======================

Steel angles, bolted at one leg and loaded at the end of the other. Lengths, thickness and load differ. scikit-fem
solves them with hexahedra; the surrogate predicts the von Mises stress on new ones.
"""

import tempfile

import matplotlib.pyplot as plt
import numpy as np
import skfem
from skfem.io.meshio import to_meshio
from skfem.models.elasticity import lame_parameters, linear_elasticity, linear_stress

from pitgeo import train_surrogate
from pitgeo.evaluation.plots import MeshSample, mesh_fields
from pitgeo.mesh import Mesh, from_meshio

YOUNG, POISSON = 210e3, 0.3  # MPa, so lengths are in mm and forces in N


def bracket(seed: int) -> Mesh:
    """An angle of two legs: the upright one is held, a load pulls at the end of the other."""
    random = np.random.default_rng(seed)
    reach, height, thickness, width = random.uniform((40, 40, 6, 20), (80, 80, 10, 30))
    angle, size = random.uniform((0, 1), (2 * np.pi, 3))
    load = size * np.array([np.cos(angle), np.sin(angle)])  # MPa on the end face, along x and z
    lines = (np.r_[0, thickness / 2, np.linspace(thickness, reach, 9)], np.linspace(0, width, 4))
    mesh = skfem.MeshHex.init_tensor(*lines, np.r_[0, thickness / 2, np.linspace(thickness, height, 9)])
    middle = mesh.p[:, mesh.t].mean(1)
    mesh = mesh.remove_elements(np.flatnonzero((middle[0] > thickness) & (middle[2] > thickness)))

    basis = skfem.Basis(mesh, skfem.ElementVector(skfem.ElementHex1()))
    end = skfem.FacetBasis(mesh, basis.elem, facets=mesh.facets_satisfying(lambda x: np.isclose(x[0], reach)))
    force = skfem.LinearForm(lambda v, w: load[0] * v[0] + load[1] * v[2]).assemble(end)
    stiffness = linear_elasticity(*lame_parameters(YOUNG, POISSON)).assemble(basis)
    held = basis.get_dofs(lambda x: np.isclose(x[2], height)).flatten()
    solved = skfem.solve(*skfem.condense(stiffness, force, D=held))

    gradient = basis.interpolate(solved).grad
    stress = linear_stress(*lame_parameters(YOUNG, POISSON))((gradient + gradient.transpose(1, 0, 2, 3)) / 2)
    deviator = stress - np.einsum("ii...,jk->jk...", stress, np.eye(3)) / 3
    mises = basis.with_element(skfem.ElementHex1()).project(np.sqrt(1.5 * (deviator**2).sum((0, 1))))
    return from_meshio(to_meshio(mesh, {"von_mises": mises})).with_field_data("load", load)


brackets = [bracket(seed) for seed in range(60)]

# %%
# The shape is in the positions and in the distance to the boundary, which is an input by default.
folder = tempfile.TemporaryDirectory()
settings = [
    "training.epochs=30",
    "model.pit.channels=32",
    "model.pit.latent.number=64",
    "model.pit.encoder_quantile=0.1",
]
settings += ["model.pit.decoder_quantile=0.1"]
model = train_surrogate(brackets, ["von_mises"], f"{folder.name}/run", ["load"], settings, progress=False)

# %%
# Two new brackets.
rows = []
for seed in (1001, 1002):
    new = bracket(seed)
    predicted = model.predict_mesh(new).point_data["von_mises_prediction"].ravel()
    truth = new.point_data["von_mises"]
    print(f"largest stress {truth.max():.0f} MPa, predicted {predicted.max():.0f} MPa")
    rows.append(MeshSample(f"bracket {seed}", new, "point", truth, predicted))
if picture := mesh_fields(rows, f"{folder.name}/stress.png", "von Mises stress, MPa"):
    plt.figure(figsize=(11, 6), layout="constrained")
    plt.imshow(plt.imread(picture))
    plt.axis("off")
    plt.show()
