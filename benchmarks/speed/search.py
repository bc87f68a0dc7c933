"""Searches on large meshes: neighbours and farthest points, beside other programs, and the nearest boundary."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from scipy.spatial import cKDTree
from torch import Tensor

from benchmarks.speed.works import Step, Way, Work
from pitgeo.geometry.boundary import boundary_distance
from pitgeo.graphs.neighbors import knn
from pitgeo.graphs.sampling import farthest_points, torch_cluster


def farthest(points: int, latent: int) -> Work:
    """Farthest point sampling in a cube."""
    ratio = (latent - 0.5) / points
    ways = {"pitgeo": _way(points, lambda pos: farthest_points(pos, latent))}
    cluster = torch_cluster()
    if cluster is not None:
        ways["torch-cluster"] = _way(points, lambda pos: cluster.fps(pos, ratio=ratio, random_start=False))
    return Work(f"Farthest point sampling: {latent:,} of {points:,} points in a cube", ways)


def neighbors(targets: int, sources: int, k: int) -> Work:
    """The ``k`` nearest sources of every target, in a cube."""

    def by_tree(pos: Tensor) -> None:
        pos = pos.cpu()
        tree = cKDTree(pos[:sources].numpy())
        step = max(1, 2**22 // k)  # as memory allows
        for part in np.array_split(pos[-targets:].numpy(), -(-targets // step)):
            tree.query(part, k, workers=-1)

    def ours(pos: Tensor) -> None:
        knn(pos[-targets:], pos[:sources], k)

    points = max(targets, sources)
    title = f"Search: {k:,} neighbours of {targets:,} points among {sources:,} in a cube"
    return Work(title, {"pitgeo": _way(points, ours), "scipy's tree": _way(points, by_tree)})


def boundary(points: int) -> Work:
    """Distances of the points of a bent cube of hexahedra to its boundary."""

    def way(seed: int, device: str) -> Step:
        from benchmarks.speed.large_files import box_mesh  # which measures works as well

        mesh = box_mesh(points)
        return lambda: boundary_distance(mesh, mesh.points)

    return Work(f"Distances to the boundary: about {points:,} points of hexahedra", {"pitgeo": way})


def _way(points: int, do: Callable[[Tensor], object]) -> Way:
    def way(seed: int, device: str) -> Step:
        pos = torch.rand(points, 3, device=device)
        return lambda: do(pos)

    return way
