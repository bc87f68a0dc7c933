"""A first surrogate: the sag of a membrane under a load that differs from place to place."""

import numpy as np
from scipy.spatial import Delaunay

from pitgeo import train_surrogate
from pitgeo.mesh import write_mesh
from pitgeo.mesh.in_memory import as_mesh

random = np.random.default_rng(0)


def case():
    """A square membrane under a load that differs from place to place: a mesh and a load of its own every time."""
    points = random.random((300, 2))
    load, sag = np.zeros(300), np.zeros(300)
    for m, n in np.ndindex(3, 3):
        wave = random.normal() * np.sin(np.pi * (m + 1) * points[:, 0]) * np.sin(np.pi * (n + 1) * points[:, 1])
        load, sag = load + wave, sag + wave / (np.pi**2 * ((m + 1) ** 2 + (n + 1) ** 2))
    return as_mesh({"points": points, "cells": {"triangle": Delaunay(points).simplices}, "load": load, "sag": sag})


cases = [case() for _ in range(100)]
settings = [
    "training.epochs=20",
    "model.pit.channels=32",
    "model.pit.latent.number=64",
    "model.pit.encoder_quantile=0.1",
]
model = train_surrogate(cases, targets=["sag"], inputs=["load"], output="runs/membrane", settings=settings)

new = model.predict_mesh(case())
print(sorted(new.point_data))
write_mesh("new.vtu", new)
