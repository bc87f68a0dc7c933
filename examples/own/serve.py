"""A model exported by pitgeo, run by torch alone: latent points and graphs take a few lines."""

import json

import numpy as np
import torch
from scipy.spatial import KDTree

texts = {"pitgeo.json": ""}
program = torch.export.load("heights.pt2", extra_files=texts).module()
metadata = json.loads(texts["pitgeo.json"])  # inputs, outputs, attention, graphs, latent, period, offset


def farthest(points, number):
    chosen = [int(((points - points.mean(0)) ** 2).sum(1).argmax())]
    nearest = np.full(len(points), np.inf)
    while len(chosen) < number:
        nearest = np.minimum(nearest, ((points - points[chosen[-1]]) ** 2).sum(1))
        chosen.append(int(nearest.argmax()))
    return points[chosen]


def edges(targets, sources, quantile):
    number = int(quantile * (len(sources) - 1) + 1e-9) + 1
    _, nearest = KDTree(sources).query(targets, np.arange(1, number + 1))
    return torch.from_numpy(np.stack([nearest.ravel(), np.arange(len(targets)).repeat(number)]))


points = np.random.default_rng(99).random((200, 2))
latent = farthest(points, metadata["latent"]["number"])
inputs = {
    "pos": torch.from_numpy(points).float(),
    "pos_latent": torch.from_numpy(latent).float(),
    "encoder_edge_index": edges(latent, points, metadata["graphs"]["encoder"]),
    "decoder_edge_index": edges(points, latent, metadata["graphs"]["decoder"]),
}
values = program(**inputs).numpy()
print(metadata["outputs"], values[:3])
