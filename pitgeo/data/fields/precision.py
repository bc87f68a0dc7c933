"""Positions too far from the origin for single precision."""

from __future__ import annotations

import logging

import numpy as np

from pitgeo.data.fields.reading import Floats
from pitgeo.mesh import Mesh

log = logging.getLogger(__name__)

FAR = 10.0
"""A mesh is far from the origin if its distance is more than this many of its extents."""

COARSE = 0.01
"""Single precision is too coarse if its steps are longer than this share of the shortest edge."""


def offset_of(points: Floats) -> tuple[float, ...]:
    """The center of points ``[N, D]`` that lie far from the origin; empty if they do not."""
    low, high = points.min(0), points.max(0)
    center = (low + high) / 2
    return tuple(center.tolist()) if np.abs(center).max() > FAR * (high - low).max() > 0 else ()


def warn_of_loss(mesh: Mesh, points: Floats) -> None:
    """Write a warning to the log if single precision loses the shape of a mesh.

    Args:
        mesh: The mesh.
        points: Its points before they become single precision, ``[N, D]``.
    """
    if not offset_of(points):
        return
    reach = np.abs(points).max()
    step, edge = float(np.spacing(np.float32(reach))), _shortest_edge(mesh)
    if step > COARSE * edge:
        log.warning(
            "%s: positions up to %.6g have steps of %.2g in single precision, and the shortest edge is %.2g, so shapes "
            "are lost; move the meshes to one place, near the origin or near the first mesh of training",
            mesh.path or "the mesh",
            reach,
            step,
            edge,
        )


def _shortest_edge(mesh: Mesh) -> float:
    """The least distance of nodes that follow each other in a cell; without cells, the mean spacing of the points."""
    lengths = [
        np.linalg.norm(np.diff(mesh.points[nodes], axis=1), axis=2).ravel()
        for _, nodes in mesh.cells
        if nodes.shape[1] > 1
    ]
    edges = np.concatenate([*lengths, np.zeros(0)])
    edges = edges[edges > 0]
    if len(edges):
        return float(edges.min())
    count, axes = mesh.points.shape
    return float(np.ptp(mesh.points, axis=0).max() / count ** (1 / axes))
