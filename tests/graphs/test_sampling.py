"""Sampling against its definition."""

import pytest
import torch

from pitgeo.graphs import sampling
from pitgeo.graphs.metric import Metric
from pitgeo.graphs.sampling import farthest_points, grid_points, regular_points


def slow_farthest(points: torch.Tensor, number: int) -> list[int]:
    chosen = [int((points - points.mean(0)).square().sum(1).argmax())]
    while len(chosen) < number:
        chosen.append(int(torch.cdist(points, points[chosen]).min(1).values.argmax()))
    return chosen


@pytest.mark.parametrize("number", [1, 2, 17, 60])
def test_farthest_points_equal_the_definition(number):
    points = torch.rand(60, 3, dtype=torch.float64)
    chosen = farthest_points(points, number)
    assert chosen.tolist() == slow_farthest(points, number)
    assert chosen.tolist() == farthest_points(points, number).tolist()


def test_farthest_points_do_not_depend_on_the_order_of_points():
    points, order = torch.rand(100, 2, dtype=torch.float64), torch.randperm(100)
    assert torch.equal(points[farthest_points(points, 20)], points[order][farthest_points(points[order], 20)])


@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_many_points_are_sampled_like_few(dimension, dtype, monkeypatch):
    side = {1: 300, 2: 23, 3: 9}[dimension]
    grid = torch.cartesian_prod(*[torch.linspace(0, 1, side, dtype=dtype)] * dimension).view(-1, dimension)
    clouds = [torch.rand(500, dimension, dtype=dtype), grid, torch.rand(50, dimension, dtype=dtype).repeat(4, 1)]
    clouds += [grid[torch.randperm(len(grid))] for _ in range(5)]  # ties, the first point among them
    few = [farthest_points(points, 70) for points in clouds]
    for points in clouds:
        assert torch.equal(sampling._farthest_in_numpy(points, 70), sampling._farthest_one_by_one(points, 70))
    calls, original = [], sampling._farthest_in_boxes
    monkeypatch.setattr(sampling, "_farthest_in_boxes", lambda *given: calls.append(1) or original(*given))
    monkeypatch.setattr(sampling, "MANY", 1)
    assert [farthest_points(points, 70).tolist() for points in clouds] == [chosen.tolist() for chosen in few]
    assert len(calls) == len(clouds)


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_torch_cluster_chooses_the_same(dimension):
    cluster = pytest.importorskip("torch_cluster", exc_type=ImportError)
    grid = torch.cartesian_prod(*[torch.linspace(0, 1, 7, dtype=torch.float64)] * dimension).view(-1, dimension)
    for points in (torch.rand(400, dimension, dtype=torch.float64), grid[torch.randperm(len(grid))]):
        number = len(points) // 3
        ours = sampling._farthest_one_by_one(points, number)
        theirs = cluster.fps(points, ratio=(number - 0.5) / len(points), random_start=False)[:number]
        assert ours.tolist() == theirs.tolist()


def test_farthest_points_by_number_are_that_many():
    for count, number in ((972, 243), (5000, 4999), (1000, 333), (7, 7)):
        assert farthest_points(torch.rand(count, 2), number).unique().numel() == number


def test_farthest_points_among_duplicates_are_distinct():
    points = torch.rand(5, 2).repeat(4, 1)
    chosen = farthest_points(points, 9)
    assert chosen.unique().numel() == 9
    assert torch.unique(points[chosen], dim=0).shape[0] == 5
    assert farthest_points(torch.zeros(3, 2), 3).tolist() == [0, 1, 2]


def test_farthest_points_on_a_circle_that_repeats():
    points = (torch.arange(8.0) / 8)[:, None]
    chosen = points[farthest_points(points, 2, Metric((1.0,)))].flatten()
    assert abs(float(chosen[0] - chosen[1])) == 0.5


def test_grid_points_are_means_of_cells():
    points = torch.rand(500, 2, dtype=torch.float64)
    cells = ((points - points.min(0).values) / (points.max(0).values - points.min(0).values) * 4).long().clamp(max=3)
    expected = [points[(cells == torch.tensor([i, j])).all(1)].mean(0) for i in range(4) for j in range(4)]
    assert torch.allclose(grid_points(points, (4, 4)), torch.stack(expected), atol=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda p: farthest_points(p, 5), r"1\.\.4"),
        (lambda p: farthest_points(p, 0), "got 0"),
        (lambda p: farthest_points(p * torch.nan, 1), "finite"),
        (lambda p: grid_points(p, (3,)), "each of 2 axes"),
        (lambda p: grid_points(p, (3, 0)), "positive"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call(torch.rand(4, 2))


def test_regular_points_fill_the_box_or_the_period():
    pos = torch.cartesian_prod(torch.arange(8) / 8, torch.linspace(1, 3, 5))
    points = regular_points(pos, (4, 3), Metric((1.0, 0.0)))
    assert torch.equal(points, torch.cartesian_prod(torch.arange(4) / 4, torch.tensor([1.0, 2.0, 3.0])))
    with pytest.raises(ValueError, match="2 axes"):
        regular_points(pos, (4,))
