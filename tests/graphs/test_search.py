"""Nearest points by all distances are those of the tree."""

import numpy as np
import pytest
import torch

from pitgeo.graphs import neighbors, search
from pitgeo.graphs.metric import Metric
from pitgeo.graphs.search import AllPairs
from pitgeo.graphs.trees import kd_tree

CPU = torch.device("cpu")


@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize("periodic", [False, True])
def test_distances_and_numbers_are_those_of_the_tree(dimension, periodic, monkeypatch):
    monkeypatch.setattr(search, "_ALL_PAIRS_AT_ONCE", 500)  # several parts
    random = np.random.default_rng(0)
    sources, targets = random.random((90, dimension)), random.random((40, dimension))
    period = [1.0] + [0.0] * (dimension - 1) if periodic else None
    ranks = np.arange(1, 8)
    distance, index = AllPairs(sources, period, CPU).query(targets, ranks)
    truth, numbers = kd_tree(sources, boxsize=period).query(targets, k=ranks)
    assert np.allclose(distance, truth, rtol=1e-14, atol=1e-15)
    assert np.array_equal(index, numbers)


@pytest.mark.parametrize("period", [(), (1.0, 0.0)])
def test_neighbourhoods_are_the_same_ties_included(period, monkeypatch):
    axis = torch.linspace(0, 1, 13)
    grid = torch.cartesian_prod(axis, axis)  # every point has ties
    metric = Metric(period)
    calls = [
        lambda: neighbors.quantile(grid, grid, 0.05, metric),
        lambda: neighbors.knn(grid[::3], grid, 4, metric),
        lambda: neighbors.radius(grid, grid[::2], 0.17, metric),
    ]
    wanted = [call() for call in calls]
    monkeypatch.setattr(search, "searches_all_pairs", lambda points: True)
    for call, truth in zip(calls, wanted, strict=True):
        found = call()
        assert torch.equal(found.index, truth.index) and torch.equal(found.degree, truth.degree)


def test_points_on_the_cpu_take_the_tree():
    assert not search.searches_all_pairs(torch.rand(3, 2))
