"""How much of the domain each point stands for."""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from scipy.spatial import Delaunay, QhullError
from torch import Tensor

from pitgeo.neighbors import batch_pointer

_OUTSIDE = 4.0  # how much larger than those about it a simplex is that fills a hole or bay between the points
_SAME = 1e-3  # how near the centers of two circumspheres are that are one, in radii
_SMALLEST = 1e-3  # weight, beside a mean of 1, of a point that stands for nothing, as one of two in one place


def quadrature_weights(pos: Tensor, batch: Tensor | None = None) -> Tensor:
    r"""Weights :math:`w_j`, on average 1, with which :math:`\sum_j w_j f(p_j) / N` is a mean over the domain.

    Each simplex of a Delaunay triangulation gives its corners equal shares of its volume, exact for functions that are
    linear on it; those whose corners lie on one sphere, as the cells of a grid, do so together. Along a line, a point
    has half of the way to either neighbour. Simplices whose circumradius is more than four times that of the smallest
    ones at their corners are left out: they fill what is not the domain. Holes of fewer than some eight spacings of
    points across are counted in.

    Args:
        pos: Positions ``[N, D]``, spread over a domain of as many dimensions as they have axes: not over a surface.
        batch: Which sample each is of, ascending.

    Returns:
        Weights ``[N]``, positive, of mean 1 in every sample.

    Raises:
        ValueError: If the points of a sample do not span all axes.

    Example:
        >>> quadrature_weights(torch.tensor([[0.0], [0.2], [1.0]])).tolist()
        [0.300..., 1.5, 1.200...]
    """
    pointer = batch_pointer(batch, pos.shape[0])
    parts = [_weights(part.detach().double().cpu().numpy()) for part in pos.split(np.diff(pointer).tolist())]
    return torch.from_numpy(np.concatenate(parts)).to(pos)


def _weights(pos: NDArray[np.float64]) -> NDArray[np.float64]:
    if len(pos) == 0:
        return np.ones(0)
    volumes = _along_line(pos[:, 0]) if pos.shape[1] == 1 else _of_simplices(pos)
    return np.asarray(np.maximum(volumes / volumes.mean(), _SMALLEST))


def _along_line(pos: NDArray[np.float64]) -> NDArray[np.float64]:
    order = np.argsort(pos, kind="stable")
    steps = np.diff(pos[order])
    if not steps.any():
        raise ValueError(f"Expected points that differ, to find how much each stands for (got {len(pos)} in one place)")
    volumes = np.empty_like(pos)
    volumes[order] = (np.append(steps, 0.0) + np.append(0.0, steps)) / 2
    return volumes


def _of_simplices(pos: NDArray[np.float64]) -> NDArray[np.float64]:
    axes = pos.shape[1]
    try:
        mesh = Delaunay(pos - pos.mean(0))
    except (QhullError, ValueError) as error:
        raise _flat(pos) from error
    corners, first = mesh.simplices, mesh.points[mesh.simplices[:, 0]]
    edges = mesh.points[corners[:, 1:]] - first[:, None]
    boxes = np.abs(np.linalg.det(edges))  # volumes of parallelepipeds
    solid = boxes > 1e-12 * (edges**2).sum(-1).max(1) ** (axes / 2)
    to_center = np.full_like(first, np.inf)
    to_center[solid] = np.linalg.solve(edges[solid], (edges[solid] ** 2).sum(-1, keepdims=True) / 2)[..., 0]
    if not solid.any():
        raise _flat(pos)
    radius = np.linalg.norm(to_center, axis=1)
    smallest = np.full(len(pos), np.inf)  # at each point
    for column in corners.T:
        np.minimum.at(smallest, column, radius)
    inside = solid & (radius <= _OUTSIDE * smallest[corners].max(1))
    group = _on_one_sphere(mesh.neighbors, inside, first + to_center, radius)
    volumes = np.bincount(group[inside], boxes[inside] / math.factorial(axes))
    shared = np.unique(np.stack([np.repeat(group[inside], axes + 1), corners[inside].ravel()]), axis=1)
    shares = volumes / np.maximum(np.bincount(shared[0], minlength=len(volumes)), 1)
    return np.asarray(np.bincount(shared[1], shares[shared[0]], len(pos)), np.float64)


def _flat(pos: NDArray[np.float64]) -> ValueError:
    return ValueError(
        f"Expected points that span {pos.shape[1]} axes, to find how much of the domain each stands for (got "
        f"{len(pos)} that do not); leave 'quadrature' out, or an axis along which they do not differ"
    )


def _on_one_sphere(
    neighbors: NDArray[np.int32], inside: NDArray[np.bool_], center: NDArray[np.float64], radius: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Numbers of the bodies that simplices form whose corners lie on one sphere, as those of a cell of a grid do."""
    one, other = np.repeat(np.arange(len(neighbors)), neighbors.shape[1]), neighbors.ravel()
    kept = (other > one) & inside[one] & inside[other]
    one, other = one[kept], other[kept]
    near = np.linalg.norm(center[one] - center[other], axis=1) < _SAME * radius[one]
    pairs = np.ones(int(near.sum())), (one[near], other[near])
    links = coo_matrix(pairs, (len(neighbors), len(neighbors)))
    return np.asarray(connected_components(links, directed=False)[1], np.int64)
