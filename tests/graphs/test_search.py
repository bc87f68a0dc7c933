"""Nearest points by all distances are those of the tree."""

import numpy as np
import pytest
import torch

from pitgeo.graphs import neighbors, search
from pitgeo.graphs.metric import Metric
from pitgeo.graphs.search import AllPairs
from pitgeo.graphs.trees import kd_tree
from tests.reference import squared_distances

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


@pytest.mark.parametrize("at_once", [7, 200, 2**19])
@pytest.mark.parametrize("period", [(), (1.5, 0.0)])
@pytest.mark.parametrize("k", [1, 4, 9, 70])
def test_few_and_many_ties_in_any_order_are_those_of_all_distances(k, period, at_once, monkeypatch):
    monkeypatch.setattr(search, "_IN_ORDER", 30)
    monkeypatch.setattr(search, "_AT_ONCE", at_once)
    axis, random = torch.linspace(0, 1, 9), torch.rand(70, 2)
    grid = torch.cartesian_prod(axis, axis)[torch.randperm(81)]
    mixed = torch.cat([random, grid])  # some rows are searched again
    for targets, sources in [(mixed, mixed), (mixed, grid), (grid, random.repeat(2, 1)), (random[:3], mixed)]:
        distance = squared_distances(targets, sources, period).sqrt()
        tie = 2 * 2.0**-23 * float(max(targets.max(), sources.max()))
        graph = neighbors.knn(targets, sources, k, Metric(period))
        expected = distance <= distance.sort(1).values[:, k - 1, None] + tie
        assert torch.equal(graph.edge_index, expected.nonzero().flip(1).t())
        graph = neighbors.radius(targets, sources, 0.13, Metric(period))
        expected = distance <= distance.min(1, keepdim=True).values.clamp(min=0.13) + tie
        assert torch.equal(graph.edge_index, expected.nonzero().flip(1).t())


def test_points_on_the_cpu_take_the_tree():
    assert not search.searches_all_pairs(torch.rand(3, 2))
