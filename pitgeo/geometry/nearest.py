"""The nearest place on points, segments and polygons, as a mean of their nodes: for derivatives of a distance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pitgeo.geometry.distance import simplices_of
from pitgeo.geometry.grid import solid
from pitgeo.mesh.vtk.pyvista_extra import pyvista

Floats = NDArray[np.float64]
ON = 1e-10
"""Places nearer than this share of the extent are on the piece."""


def nearest_on(
    queries: Floats, points: Floats, pieces: Sequence[NDArray[np.int64]]
) -> tuple[NDArray[np.int64], Floats]:
    """The place nearest to each query ``[Q, D]``: three nodes ``[Q, 3]`` and their shares ``[Q, 3]``, of sum 1.

    Args:
        queries: Where to look from.
        points: Positions of the nodes ``[N, D]``.
        pieces: Nodes ``[pieces, corners]`` of points, segments or polygons, at least one.

    Raises:
        ImportError: If PyVista is missing; its locator of cells finds the places.
    """
    queries, points = solid(queries), solid(points)
    parts = _with_size(points, [simplices_of(points, pieces, width) for width in (1, 2, 3)])
    nodes = np.concatenate([np.pad(part, [(0, 0), (0, 3 - part.shape[1])], mode="edge") for part in parts if len(part)])
    vtk = pyvista()
    kinds = np.repeat([vtk.CellType.VERTEX, vtk.CellType.LINE, vtk.CellType.TRIANGLE], [len(part) for part in parts])
    cells = np.concatenate([np.insert(part, 0, part.shape[1], axis=1).ravel() for part in parts if len(part)])
    grid = vtk.UnstructuredGrid(cells, kinds, points)
    number, place = grid.find_closest_cell(queries, return_closest_point=True)
    nodes = nodes[np.atleast_1d(number)]
    return nodes, _shares(np.atleast_2d(place), points[nodes])


def distances(queries: Tensor, points: Tensor, nodes: NDArray[np.int64], shares: Floats) -> Tensor:
    r"""Distances ``[Q]`` to the places of :func:`nearest_on`, differentiable by queries and nodes.

    .. math:: d_i = \lVert q_i - \sum_k s_{ik} p_{n_{ik}} \rVert

    The nearest place moves along the piece without a change of the distance in first order, so shares are constants. At
    distance 0 the derivative is 0: a node of the boundary stays on it.

    Args:
        queries: ``[Q, D]``.
        points: ``[N, D]``.
        nodes: ``[Q, 3]``.
        shares: ``[Q, 3]``.
    """
    places = (points[torch.from_numpy(nodes)] * torch.from_numpy(shares).to(points)[:, :, None]).sum(1)
    squared = (queries - places).square().sum(1)
    apart = squared > (ON * (points.detach().amax(0) - points.detach().amin(0)).max()) ** 2
    return torch.where(apart, torch.where(apart, squared, 1.0).sqrt(), 0.0)


def _with_size(points: Floats, parts: Sequence[NDArray[np.int64]]) -> list[NDArray[np.int64]]:
    """Points, segments and triangles, with the sides in place of those without length or area."""
    nodes, segments, triangles = parts
    sides = points[triangles[:, 1:]] - points[triangles[:, :1]]
    flat = np.linalg.norm(np.cross(sides[:, 0], sides[:, 1]), axis=1) <= 1e-12 * np.square(sides).sum((1, 2))
    segments = np.concatenate([segments, *(triangles[flat][:, side] for side in ([0, 1], [1, 2], [2, 0]))])
    short = (points[segments[:, 0]] == points[segments[:, 1]]).all(1)
    return [np.concatenate([nodes, segments[short][:, :1]]), segments[~short], triangles[~flat]]


def _shares(places: Floats, corners: Floats) -> Floats:
    """The shares of the corners ``[Q, 3, 3]`` of which places ``[Q, 3]`` are means; doubled corners get none."""
    sides = corners[:, 1:] - corners[:, :1]
    rest = np.linalg.pinv(np.swapaxes(sides, 1, 2), rcond=1e-10) @ (places - corners[:, 0])[:, :, None]
    shares: Floats = np.concatenate([1.0 - rest.sum(1), rest[:, :, 0]], 1)
    return shares
