"""Quadrature weights of points: the share of the domain that each point stands for."""

from __future__ import annotations

import itertools
import math

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from scipy.spatial import Delaunay, QhullError
from torch import Tensor

from pitgeo.graphs.checks import batch_pointer, check_positions

_OUTSIDE = 4.0  # a simplex this many times larger than those at its corners fills a hole or a bay, not the domain
_SAME = 1e-2  # a corner this near to a circumsphere lies on it; in squares of the shortest edge
_FLAT = 1e-12  # points thinner than this, relative to their extent, do not span an axis; qhull fails on some of them


def quadrature_weights(pos: Tensor, batch: Tensor | None = None) -> Tensor:
    r"""Weights :math:`w_j`, on average 1, with which :math:`\sum_j w_j f(p_j) / N` is a mean over the domain.

    Each simplex of a Delaunay triangulation gives its corners equal shares of its volume, which is exact for functions
    that are linear on it. Simplices whose corners lie on one sphere, as in a cell of a grid, share theirs as one body.
    On a line, a point has half of the way to each neighbour. A simplex is outside of the domain, and left out, if its
    circumradius is more than four times that of the smallest simplices at its corners. Holes less than about eight
    point spacings wide count as domain. Points in the same place share the weight of one point.

    Args:
        pos: Positions ``[N, D]`` that fill a domain of ``D`` dimensions; not a surface.
        batch: The sample of every point ``[N]``, ascending.

    Returns:
        Weights ``[N]``, positive, of mean 1 in every sample.

    Raises:
        ValueError: If positions are not finite, floating-point and ``[N, D]``, or do not span all axes in a sample.

    Example:
        >>> quadrature_weights(torch.tensor([[0.0], [0.2], [1.0]])).tolist()
        [0.300..., 1.5, 1.200...]
    """
    check_positions("pos", pos)
    pointer = batch_pointer(batch, pos.shape[0])
    parts = [_weights(part.detach().double().cpu().numpy()) for part in pos.split(np.diff(pointer).tolist())]
    return torch.from_numpy(np.concatenate(parts)).to(pos)


def _weights(pos: NDArray[np.float64]) -> NDArray[np.float64]:
    if len(pos) == 0:
        return np.ones(0)
    places, place, points = np.unique(pos, axis=0, return_inverse=True, return_counts=True)
    volumes = _along_line(places[:, 0]) if pos.shape[1] == 1 else _of_simplices(places)
    volumes = np.maximum(volumes, volumes[volumes > 0].min())  # rounding may leave a point out of all simplices
    weights = (volumes / points)[place.ravel()]
    return np.asarray(weights / weights.mean())


def _along_line(pos: NDArray[np.float64]) -> NDArray[np.float64]:
    """Half of the way to each neighbour, for places in ascending order."""
    steps = np.diff(pos)
    if len(steps) == 0:
        raise _flat(pos[:, None])
    return np.asarray((np.append(steps, 0.0) + np.append(0.0, steps)) / 2)


def _of_simplices(pos: NDArray[np.float64]) -> NDArray[np.float64]:
    axes, centred = pos.shape[1], pos - pos.mean(0)
    extents = np.linalg.svd(centred, compute_uv=False)
    if len(extents) < axes or extents[-1] <= _FLAT * extents[0]:
        raise _flat(pos)
    try:
        mesh = Delaunay(centred)
    except QhullError as error:
        raise _flat(pos) from error
    corners, places = mesh.simplices, mesh.points[mesh.simplices]
    edges = places[:, 1:] - places[:, :1]
    boxes = np.abs(np.linalg.det(edges))  # volumes of parallelepipeds
    solid = boxes > 1e-12 * (edges**2).sum(-1).max(1) ** (axes / 2)
    if not solid.any():
        raise _flat(pos)
    to_center = np.full_like(edges[:, 0], np.inf)  # from the first corner
    to_center[solid] = np.linalg.solve(edges[solid], (edges[solid] ** 2).sum(-1, keepdims=True) / 2)[..., 0]
    radius = np.linalg.norm(to_center, axis=1)
    smallest = np.full(len(pos), np.inf)  # at each point
    for column in corners.T:
        np.minimum.at(smallest, column, radius)
    inside = solid & (radius <= _OUTSIDE * smallest[corners].max(1))
    body = _on_one_sphere(mesh, inside, to_center)
    volumes = np.bincount(body[inside], boxes[inside] / math.factorial(axes))
    shared = np.unique(np.stack([np.repeat(body[inside], axes + 1), corners[inside].ravel()]), axis=1)
    shares = volumes / np.maximum(np.bincount(shared[0], minlength=len(volumes)), 1)
    return np.asarray(np.bincount(shared[1], shares[shared[0]], len(pos)), np.float64)


def _flat(pos: NDArray[np.float64]) -> ValueError:
    return ValueError(
        f"Expected points that span {pos.shape[1]} axes, for their quadrature weights (got {len(pos)} that do not); "
        f"leave 'quadrature' out, or the axis along which they do not differ"
    )


def _on_one_sphere(mesh: Delaunay, inside: NDArray[np.bool_], to_center: NDArray[np.float64]) -> NDArray[np.int64]:
    """The body of every simplex; neighbours with all corners on one sphere, as in a grid cell, form one body."""
    corners, places = mesh.simplices, mesh.points[mesh.simplices]
    pairs = itertools.combinations(range(corners.shape[1]), 2)
    shortest = np.min([((places[:, a] - places[:, b]) ** 2).sum(1) for a, b in pairs], axis=0)
    simplex, neighbor = np.repeat(np.arange(len(corners)), corners.shape[1]), mesh.neighbors.ravel()
    kept = (neighbor > simplex) & inside[simplex] & inside[neighbor]
    simplex, neighbor, across = simplex[kept], neighbor[kept], corners.ravel()[kept]
    opposite = corners[neighbor].sum(1) - (corners[simplex].sum(1) - across)  # the shared corners cancel
    step = mesh.points[opposite] - places[simplex, 0]
    excess = (step * (step - 2 * to_center[simplex])).sum(1)  # squared distance from the center, less squared radius
    near = np.abs(excess) < _SAME * np.minimum(shortest[simplex], shortest[neighbor])
    links = coo_matrix((np.ones(int(near.sum())), (simplex[near], neighbor[near])), (len(corners), len(corners)))
    return np.asarray(connected_components(links, directed=False)[1], np.int64)
