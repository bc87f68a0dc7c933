"""The nearest place on pieces, against the exact distance; its derivative against differences."""

import numpy as np
import pytest
import torch

from pitgeo.geometry.distance import distance_to
from pitgeo.geometry.nearest import distances, nearest_on


def scene(dimension, seed=0):
    """Points, segments and in space triangles, and queries."""
    rng = np.random.default_rng(seed)
    points = rng.random((60, dimension))
    pieces = [rng.integers(0, 60, (4, 1)), np.array([[k, k + 7] for k in range(8)])]
    if dimension == 3:
        pieces.append(np.array([[k, k + 9, k + 23] for k in range(10)]))
    return points, pieces, rng.random((200, dimension)) * 3 - 0.5


@pytest.mark.parametrize("dimension", [2, 3])
def test_the_nearest_place_is_at_the_distance(dimension):
    points, pieces, queries = scene(dimension)
    queries = np.concatenate([queries, points[pieces[1][0]]])  # two on a piece
    points[59] = points[58]  # without length and area
    pieces += [np.array([[58, 59]]), *([np.array([[3, 58, 59], [4, 4, 4]])] if dimension == 3 else [])]
    if dimension == 3:
        points = np.concatenate([points, [[2.0, 0, 0], [3, 0, 0], [3, 1, 0], [2, 1, 0]]])
        pieces.append(np.arange(60, 64)[None])
    nodes, shares = nearest_on(queries, points, pieces)
    assert np.allclose(shares.sum(1), 1.0) and shares.min() > -1e-9
    found = distances(torch.from_numpy(queries), torch.from_numpy(points), nodes, shares).numpy()
    assert np.allclose(found, distance_to(queries, points, pieces), atol=1e-9)


@pytest.mark.parametrize("dimension", [2, 3])
def test_derivatives_are_those_of_the_exact_distance(dimension):
    points, pieces, queries = scene(dimension)
    rng = np.random.default_rng(1)
    moves, weights, step = rng.normal(size=points.shape), rng.random(len(queries)), 1e-6
    own = rng.normal(size=queries.shape)
    ends = [
        weights @ distance_to(queries + sign * step * own, points + sign * step * moves, pieces) for sign in (1, -1)
    ]
    at, nodes = torch.from_numpy(queries).requires_grad_(), torch.from_numpy(points).requires_grad_()
    (torch.from_numpy(weights) @ distances(at, nodes, *nearest_on(queries, points, pieces))).backward()
    slope = (at.grad.numpy() * own).sum() + (nodes.grad.numpy() * moves).sum()
    assert slope == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-5)


def test_nodes_of_the_boundary_stay_on_it():
    points = torch.tensor([[0.0, 0.0], [1.0, 0.0]], dtype=torch.float64, requires_grad=True)
    line = [np.array([[0, 1]])]
    found = distances(points, points, *nearest_on(points.detach().numpy(), points.detach().numpy(), line))
    found.sum().backward()
    assert not found.any() and not points.grad.any()
