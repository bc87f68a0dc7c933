"""Distances."""

import math

import pytest
import torch

from pitgeo.graphs.metric import Metric
from tests.reference import squared_distances


@pytest.mark.parametrize("period", [(), (1.0, 1.0), (2.0, 0.5)])
def test_pairwise_equals_trying_all_images(period):
    size = torch.tensor(period or (1.0, 1.0), dtype=torch.float64)
    targets, sources = torch.rand(30, 2).double() * size, torch.rand(40, 2).double() * size
    expected = squared_distances(targets, sources, period) / 3.0
    assert torch.allclose(Metric(period, 3.0).pairwise(targets, sources), expected, atol=1e-14)


@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize("is_periodic", [False, True])
def test_distances_along_edges_are_those_of_pairs(dimension, is_periodic):
    metric = Metric((1.0, 0.5, 0.0)[:dimension] if is_periodic else (), 2.0)
    targets, sources = (torch.rand(count, dimension).double() for count in (7, 9))
    target, source = torch.arange(7).repeat_interleave(3), torch.randint(9, (21,), dtype=torch.int32)
    expected = metric.pairwise(targets, sources)[target, source.long()]
    for edges in (target, 3):  # one number for all targets, or one an edge
        assert torch.allclose(metric.along_edges(targets, sources, edges, source), expected, rtol=1e-14, atol=0)
    with pytest.raises(ValueError, match="one entry per axis"):
        Metric((1.0,) * 4).along_edges(targets, sources, 3, source)


def test_the_corner_sees_its_diagonal_image():
    corner, other = torch.tensor([0.05, 0.05]), torch.tensor([0.95, 0.95])
    assert float(Metric((1.0, 1.0)).squared_distance(corner, other)) == pytest.approx(0.02, rel=1e-4)


def test_an_axis_with_period_zero_does_not_repeat():
    assert float(Metric((0.0,)).squared_distance(torch.tensor([0.0]), torch.tensor([0.9]))) == pytest.approx(0.81)


@pytest.mark.parametrize("arguments", [((-1.0,), 1.0), ((math.nan,), 1.0), ((), 0.0), ((), math.inf)])
def test_bad_values_are_refused(arguments):
    with pytest.raises(ValueError, match="Expected"):
        Metric(*arguments)


def test_it_is_frozen_and_compares_by_value():
    assert Metric((1.0,)) == Metric((1.0,))
    assert repr(Metric()) == "Metric(period=(), divisor=1.0)"
