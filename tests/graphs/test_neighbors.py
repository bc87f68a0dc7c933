"""Neighbour search against brute force."""

import math

import pytest
import torch

from pitgeo.graphs import search
from pitgeo.graphs.checks import batch_pointer
from pitgeo.graphs.metric import Metric
from pitgeo.graphs.neighbors import knn, quantile, radius, spacing
from tests.reference import quantile_mask, squared_distances


def grid(side: int, dimension: int) -> torch.Tensor:
    axes = torch.meshgrid(*[torch.arange(side) / (side - 1)] * dimension, indexing="ij")
    return torch.stack(axes, -1).reshape(-1, dimension)


def dense(graph) -> torch.Tensor:
    mask = torch.zeros(graph.num_targets, graph.num_sources, dtype=torch.bool)
    mask[graph.target, graph.source] = True
    assert int(mask.sum()) == graph.num_edges, "an edge occurs twice"
    return mask


@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize("period", [False, True])
def test_quantile_equals_brute_force(dimension, period):
    sources, targets = torch.rand(150, dimension), torch.rand(40, dimension)
    box = (1.0,) * dimension if period else ()
    for q in (0.01, 0.07, 0.5, 1.0):
        graph = quantile(targets, sources, q, Metric(box))
        assert torch.equal(dense(graph), quantile_mask(squared_distances(targets, sources, box), q))


@pytest.mark.parametrize("side", [7, 11, 20, 33, 43, 61, 85, 106])
@pytest.mark.parametrize("q", [0.02, 0.05])
def test_quantile_keeps_every_tie_on_a_grid(side, q):
    # positions i/(s-1) are rounded to float32; integer arithmetic on i tells the true ties
    points = grid(side, 2)
    number = (points.double() * (side - 1)).round().long()
    rows = torch.arange(0, side**2, max(1, side**2 // 60))
    squared = (number[rows, None] - number[None]).square().sum(-1)
    k = math.floor(q * (side**2 - 1) + 1e-9) + 1
    expected = squared <= squared.sort(1).values[:, k - 1 : k]
    assert torch.equal(dense(quantile(points[rows], points, q)), expected)


@pytest.mark.parametrize("at_once", [1, 40, 1000])
def test_searches_in_parts_find_the_same(at_once, monkeypatch):
    points, cloud = grid(7, 3), torch.rand(90, 3)
    calls = [
        lambda: quantile(points, points, 0.05),  # many ties: rows are widened
        lambda: quantile(cloud, points, 0.3, Metric((1.5, 0.0, 1.2))),
        lambda: radius(cloud, points, 0.12),
        lambda: knn(points, cloud, 4, None, torch.arange(343) // 200, torch.arange(90) // 50),
    ]
    whole = [call() for call in calls]
    monkeypatch.setattr(search, "_AT_ONCE", at_once)
    for call, graph in zip(calls, whole, strict=True):
        assert torch.equal(call().edge_index, graph.edge_index)


def test_one_axis_may_repeat_alone():
    targets, sources = torch.tensor([[0.05, 0.05]]), torch.tensor([[0.95, 0.05], [0.05, 0.95], [0.5, 0.5]])
    assert radius(targets, sources, 0.2, Metric((1.0, 0.0))).index.tolist() == [0]
    assert radius(targets, sources, 0.2, Metric((0.0, 1.0))).index.tolist() == [1]


def test_periodic_search_takes_points_outside_the_box():
    sources = torch.rand(60, 2)
    inside = knn(sources, sources, 5, Metric((1.0, 1.0)))
    outside = knn(sources + torch.tensor([3.0, -2.0]), sources, 5, Metric((1.0, 1.0)))
    assert torch.equal(inside.edge_index, outside.edge_index)


def test_knn_and_radius_are_not_capped():
    points = torch.rand(500, 2)
    degree = knn(points, points, 200).degree
    assert int(degree.min()) == 200 and int(degree.max()) <= 203  # a few chance ties
    assert radius(points, points, 2.0).degree.tolist() == [500] * 500
    assert knn(points, points, 1000).num_edges == 500 * 500


def test_radius_includes_its_edge_and_never_leaves_a_target_alone(caplog):
    line = torch.arange(5.0)[:, None]
    assert radius(line, line, 2.0).degree.tolist() == [3, 4, 5, 4, 3]
    caplog.set_level("INFO", "pitgeo.graphs.search")
    far = torch.tensor([[100.0], [1.0]])
    assert radius(far, line, 1.0).edge_index.tolist() == [[4, 0, 1, 2], [0, 1, 1, 1]]
    assert "1 of 2 targets" in caplog.text


def test_radius_agrees_with_brute_force():
    targets, sources = torch.rand(50, 3, dtype=torch.float64), torch.rand(300, 3, dtype=torch.float64)
    squared = squared_distances(targets, sources)
    expected = (squared <= 0.3**2) | (squared <= squared.min(1, keepdim=True).values)
    assert torch.equal(dense(radius(targets, sources, 0.3)), expected)


def test_a_batch_is_its_samples():
    first, second = torch.rand(50, 2), torch.rand(70, 2)
    batch = torch.tensor([0] * 50 + [1] * 70)
    both = quantile(torch.cat([first, second]), torch.cat([first, second]), 0.1, None, batch, batch)
    alone = [quantile(first, first, 0.1), quantile(second, second, 0.1)]
    assert torch.equal(both.degree, torch.cat([graph.degree for graph in alone]))
    assert torch.equal(both.index, torch.cat([alone[0].index, alone[1].index + 50]))


def test_far_from_the_origin_and_among_duplicates():
    points = torch.rand(40, 2, dtype=torch.float64)
    near = quantile(points, points, 0.1).edge_index
    assert torch.equal(near, quantile(points + 1e6, points + 1e6, 0.1).edge_index)
    twice = torch.cat([points, points])
    assert int(knn(twice, twice, 1).degree.min()) == 2  # its own copy is as near as the point itself


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda p: quantile(p, p, 0.0), "above 0 and at most 1"),
        (lambda p: quantile(p, p, 1.5), "got 1.5"),
        (lambda p: knn(p, p, 0), "at least 1"),
        (lambda p: radius(p, p, -1.0), "positive"),
        (lambda p: knn(p, torch.rand(4, 3), 1), "one dimension"),
        (lambda p: knn(p, p[:0], 1), "at least one source"),
        (lambda p: knn(p * torch.nan, p, 1), "finite"),
        (lambda p: knn(p, p.long(), 1), "floating-point"),
        (lambda p: knn(p, p, 1, Metric((1.0,))), "one entry per axis"),
        (lambda p: knn(p, p, 1, None, torch.tensor([0, 1, 0, 1]), torch.zeros(4, dtype=torch.long)), "sorted"),
        (lambda p: knn(p, p, 1, None, torch.tensor([0, 0, 0, 1]), torch.zeros(4, dtype=torch.long)), "every sample"),
        (lambda p: knn(p, p, 1, None, torch.zeros(4, dtype=torch.long)), "both"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call(torch.rand(4, 2))


def test_spacing():
    assert spacing(grid(11, 2)) == pytest.approx(0.1, rel=1e-5)
    assert spacing(grid(11, 2).repeat(2, 1)) == pytest.approx(0.1, rel=1e-5)
    assert spacing(torch.zeros(4, 2)) == 0.0
    assert spacing(torch.tensor([[0.0], [0.9]]), Metric((1.0,))) == pytest.approx(0.1)
    assert spacing(torch.tensor([[0.0], [0.5], [1.0]]), Metric((1.0,))) == pytest.approx(0.5)


def test_batch_pointer_knows_empty_samples():
    assert batch_pointer(torch.tensor([0, 0, 2]), 3) == [0, 2, 2, 3]
    assert batch_pointer(torch.tensor([0]), 1, 3) == [0, 1, 1, 1]
    with pytest.raises(ValueError, match="below 1"):
        batch_pointer(torch.tensor([0, 1]), 2, 1)
