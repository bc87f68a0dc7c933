"""Boxes of points hold every point once; the search by boxes finds what all distances say."""

import tracemalloc

import numpy as np
import pytest
import torch
from scipy.spatial import cKDTree

from pitgeo.graphs import boxes as boxes_module
from pitgeo.graphs import search
from pitgeo.graphs.boxes import Boxes, nearest_in_boxes, squared_across_boxes, squared_to_boxes
from pitgeo.graphs.neighbors import quantile


def clouds(dimension: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(dimension)
    side = {1: 200, 2: 14, 3: 6}[dimension]
    grid = np.stack(np.meshgrid(*[np.arange(side) / side] * dimension), -1).reshape(-1, dimension)
    near = np.concatenate([random.random((150, dimension)) * 1e-6, random.random((50, dimension))])
    return {
        "uniform": random.random((203, dimension)),
        "grid": grid,
        "graded": near,
        "repeated": random.random((20, dimension)).repeat(9, 0),
        "one place": np.zeros((37, dimension)),
    }


@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize("size", [1, 7, 64, 1000])
def test_boxes_hold_every_point_once(dimension, size):
    for points in clouds(dimension).values():
        boxes = Boxes(points, size)
        inside = boxes.number < len(points)
        assert np.array_equal(np.sort(boxes.number[inside]), np.arange(len(points)))
        assert boxes.number.shape[1] <= size and (boxes.counts == inside.sum(1)).all() and boxes.counts.min() >= 1
        assert (np.diff(boxes.number, axis=1)[inside[:, 1:]] > 0).all()
        here = points[boxes.number[inside]]
        group = np.nonzero(inside)[0]
        assert (here >= boxes.low[group]).all() and (here <= boxes.high[group]).all()
        assert np.array_equal(np.stack([axis[inside] for axis in boxes.axes], -1), here)


def test_bounds_of_distances_hold():
    points, others = np.random.default_rng(0).random((2, 100, 3))
    boxes = Boxes(points, 10)
    low, high = others.min(0), others.max(0)
    squared = np.square(others[:, None] - points).sum(-1)
    for group, number in enumerate(boxes.number):
        found = squared[:, number[number < 100]]
        assert squared_to_boxes(low, high, boxes.low, boxes.high)[group] <= found.min()
        assert squared_across_boxes(low, high, boxes.low, boxes.high)[group] >= found.max()


@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize("boxes", [3, 50, 4096])
@pytest.mark.parametrize("k", [1, 5, 30, 100, "all"])
def test_neighbours_are_those_of_all_distances(dimension, boxes, k, monkeypatch):
    monkeypatch.setattr(boxes_module, "_BOXES", boxes)
    monkeypatch.setattr(boxes_module, "_RUN", 5)  # several runs of boxes
    monkeypatch.setattr(boxes_module, "_TARGETS", 6)
    every = clouds(dimension)
    for targets in every.values():
        for sources in (every["uniform"], every["grid"], every["repeated"], targets):
            number = len(sources) if k == "all" else min(k, len(sources))
            squared = np.zeros((len(targets), len(sources)))
            for axis in range(dimension):
                squared += np.square(targets[:, axis, None] - sources[:, axis])
            limit = np.sqrt(np.sort(squared, 1)[:, number - 1, None]) + 1e-9
            row, column = np.nonzero(squared <= limit**2)
            index, degree = nearest_in_boxes(targets, sources, number, 1e-9)
            assert np.array_equal(index, column) and np.array_equal(degree, np.bincount(row))


def test_distances_held_at_once_are_bounded():
    random = np.random.default_rng(0)
    sources = np.concatenate([0.01 * random.random((40_000, 3)), random.random((500, 3))])
    targets = np.concatenate([0.01 * random.random((300, 3)), random.random((1_500, 3))])
    tracemalloc.start()
    index, degree = nearest_in_boxes(targets, sources, 64, 0.0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2**27
    _, expected = cKDTree(sources).query(targets, 64)
    assert (degree == 64).all() and np.array_equal(index.reshape(-1, 64), np.sort(expected, 1))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_graphs_are_those_of_the_tree(dtype, monkeypatch):
    grid = torch.cartesian_prod(*[torch.linspace(0, 1, 9, dtype=dtype)] * 3)
    cloud = torch.rand(500, 3, dtype=dtype)
    pairs = [(cloud, grid), (grid, grid), (grid, cloud)]
    batches = (torch.arange(len(grid)) // 400, torch.arange(len(cloud)) // 300)
    calls = [
        *[lambda t=t, s=s: quantile(t, s, 0.1) for t, s in pairs],
        lambda: quantile(grid, cloud, 0.2, None, *batches),
    ]
    by_tree = [call() for call in calls]
    used = []
    monkeypatch.setattr(search, "_MANY", 1)
    monkeypatch.setattr(search, "_MANY_PAIRS", 1)
    monkeypatch.setattr(search, "_SHARE", 10**9)
    monkeypatch.setattr(search, "nearest_in_boxes", lambda *given: used.append(1) or nearest_in_boxes(*given))
    for call, graph in zip(calls, by_tree, strict=True):
        found = call()
        assert torch.equal(found.index, graph.index) and torch.equal(found.degree, graph.degree)
        assert found.index.dtype == graph.index.dtype and found.degree.dtype == graph.degree.dtype
    assert len(used) == 5


def test_few_neighbours_among_many_sources_are_for_the_tree():
    assert search._is_for_boxes(4_096, 1_000_000, 20_000) and search._is_for_boxes(65_536, 4_096, 82)
    assert not search._is_for_boxes(50_000, 200_000, 64) and not search._is_for_boxes(8_192, 100_000, 800)
