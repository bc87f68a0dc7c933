"""Values at other points."""

import itertools

import pytest
import torch

from pitgeo.graphs.metric import Metric
from pitgeo.graphs.neighbors import knn
from pitgeo.nn.interpolation import interpolate


@pytest.mark.parametrize("metric", [Metric(), Metric((1.0, 1.0), divisor=2.0)])
def test_it_is_the_mean_by_inverse_squared_distances(metric):
    torch.manual_seed(0)
    x, pos, there = torch.rand(3, 40, 2).double(), torch.rand(40, 2).double(), torch.rand(9, 2).double()
    graph = knn(there, pos, 4, metric)
    out, nearest = interpolate(x, pos, there, graph, metric)
    assert torch.allclose(nearest, metric.pairwise(there, pos).amin(1), atol=1e-15)
    for target in range(9):
        near = graph.source[graph.target == target]
        weights = 1 / metric.squared_distance(there[target], pos[near])
        slow = (weights[:, None] * x[:, near]).sum(1) / weights.sum()
        assert torch.allclose(out[:, target], slow, atol=1e-12)
    order = torch.randperm(graph.num_edges)
    assert torch.allclose(interpolate(x, pos, there, graph.edge_index[:, order], metric)[0], out, atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_points_that_are_sources_have_their_values(dtype):
    torch.manual_seed(0)
    x, pos = torch.rand(40, 2, dtype=dtype), torch.rand(40, 3, dtype=dtype)
    pos[1] = pos[0]  # of two sources in one place, the mean
    graph = knn(pos, pos, 4)
    out, _ = interpolate(x, pos, pos.clone(), graph, Metric())
    assert torch.equal(out[2:], x[2:]) and torch.allclose(out[:2], x[:2].mean(0).expand(2, -1), rtol=1e-6)


def test_it_converges_as_points_get_denser():
    torch.manual_seed(0)
    there, errors = torch.rand(200, 2).double(), []
    for number in (100, 400, 1600, 6400):
        pos = torch.rand(number, 2).double()
        values, wanted = (torch.sin(4 * part[:, :1]) * part[:, 1:] for part in (pos, there))
        out, _ = interpolate(values, pos, there, knn(there, pos, 4), Metric())
        errors.append(float((out - wanted).square().mean().sqrt()))
    rates = [before / after for before, after in itertools.pairwise(errors)]
    assert min(rates) > 1.6  # half the spacing, about half the error
