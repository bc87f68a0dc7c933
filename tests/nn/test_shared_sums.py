"""Sums of values that all heads share, before the heads' matrices: the same results as the other way round."""

import pytest
import torch

from pitgeo.graphs.metric import Metric
from pitgeo.graphs.neighborhood import Neighborhood
from pitgeo.graphs.neighbors import knn, radius
from pitgeo.nn import PositionAttention
from pitgeo.nn import position_attention as module
from pitgeo.nn.kernels import shared_sums as kernel
from pitgeo.nn.kernels.shared_sums import shared_sums, suits_shared_sums


def problem(ragged, dtype=torch.float64, shared=False):
    torch.manual_seed(0)
    sources, targets = torch.rand(90, 2, dtype=dtype), torch.rand(7, 2, dtype=dtype)
    graph = radius(targets, sources, 0.3) if ragged else knn(targets, sources, 12)
    assert bool(graph.width) != ragged
    squared = Metric().squared_distance(targets[graph.target], sources[graph.source])
    factors = torch.rand(3, graph.num_edges, dtype=dtype)
    value = torch.rand(*((4,) if shared else ()), 90, 5, dtype=dtype, requires_grad=True)
    return value, factors, squared, torch.linspace(0.5, 40, 2, dtype=dtype).requires_grad_(), graph


@pytest.mark.parametrize("ragged", [False, True])
@pytest.mark.parametrize("shared", [False, True])
def test_values_and_gradients_are_those_of_the_formula(ragged, shared):
    value, factors, squared, scale, graph = problem(ragged, shared=shared)
    out = shared_sums(value, factors, squared, scale, graph)
    logits = torch.full((2, 7, 90), -torch.inf, dtype=squared.dtype)
    logits = logits.index_put((torch.arange(2).unsqueeze(1), graph.target, graph.source), -scale.unsqueeze(1) * squared)
    dense = torch.zeros(3, 7, 90, dtype=squared.dtype)
    dense[:, graph.target, graph.source] = factors
    weights = logits.softmax(-1).unsqueeze(1) * dense  # [heads, F, M, N]
    slow = (weights @ value[..., None, None, :, :], weights.sum(-1))
    slopes = [torch.rand_like(part) for part in slow]
    for mine, theirs in zip(out, slow, strict=True):
        assert torch.allclose(mine, theirs, rtol=1e-13, atol=1e-14)
    given = value, scale
    for mine, theirs in zip(
        torch.autograd.grad(out, given, slopes), torch.autograd.grad(slow, given, slopes), strict=True
    ):
        assert torch.allclose(mine, theirs, rtol=1e-11, atol=1e-13)


def test_targets_without_edges_get_zeros_and_no_gradient():
    value = torch.rand(4, 3, dtype=torch.float64, requires_grad=True)
    graph = Neighborhood(torch.tensor([1, 3]), torch.tensor([0, 2, 0]), 4)
    scale, squared = torch.ones(2, dtype=torch.float64, requires_grad=True), torch.tensor([0.1, 0.2]).double()
    sums, totals = shared_sums(value, torch.ones(1, 2).double(), squared, scale, graph)
    assert not bool(sums[:, :, [0, 2]].any()) and totals.detach().tolist() == [[[0.0, 1.0, 0.0]]] * 2
    (sums.sum() + totals.sum()).backward()
    assert not bool(value.grad[[0, 2]].any()) and bool((value.grad[[1, 3]] > 0).all())


@pytest.mark.parametrize("ragged", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_operator_is_what_it_declares(dtype, ragged):
    value, factors, squared, scale, graph = problem(ragged, dtype)
    edges = (graph.source, graph.target, graph.pointer, *graph.by_source)
    given = (value.detach().unsqueeze(0).requires_grad_(), factors, squared, scale)
    torch.library.opcheck(kernel._shared_sums, (*given, *edges, graph.width))


def both_ways(monkeypatch, made, x, pos, graph, autocast=False):
    """Results and gradients, matrices first and sums first."""
    results = []
    for answer in (False, True):
        calls, original = [], module.attention_from_sums
        monkeypatch.setattr(module, "suits_sums", lambda *given, answer=answer: answer)
        monkeypatch.setattr(
            module, "attention_from_sums", lambda *given, calls=calls, to=original: calls.append(1) or to(*given)
        )
        given = x.clone().requires_grad_()
        with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
            out = made(given, pos, graph)
        slope = torch.linspace(-1, 1, out.numel()).view(out.shape).to(out.dtype)
        results.append((out, *torch.autograd.grad(out, [given, *made.parameters()], slope)))
        assert len(calls) == answer
        monkeypatch.undo()
    return zip(*results, strict=True)


@pytest.mark.parametrize("metric", [Metric(divisor=2.0), Metric((1.0, 1.0)), Metric((0.0, 1.0))])
@pytest.mark.parametrize(("moments", "about"), [(0, "point"), (2, "point"), (2, "mean")])
@pytest.mark.parametrize("graph", ["even", "padded", "ragged"])
@pytest.mark.parametrize("samples", [0, 3])
def test_a_layer_gives_the_same(monkeypatch, metric, moments, about, graph, samples):
    torch.manual_seed(0)
    made = PositionAttention(5, 8, heads=2, metric=metric, moments=moments, moments_about=about).double()
    if moments:
        torch.nn.init.normal_(made.moments.weight)  # some start at 0
    x, pos = torch.rand(*([samples] if samples else []), 60, 5).double(), (torch.rand(60, 2), torch.rand(9, 2))
    degree = {"even": [10] * 9, "padded": [10, 9] * 4 + [10], "ragged": [10, 0, 3] * 3}[graph]
    edges = Neighborhood(torch.cat([torch.randperm(60)[:count] for count in degree]), torch.tensor(degree), 60)
    assert (bool(edges.width), edges.padded[1] is not None) == (graph == "even", graph == "padded")
    for before, after in both_ways(monkeypatch, made, x, tuple(part.double() for part in pos), edges):
        assert torch.allclose(before, after, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("moments", [0, 2])
@pytest.mark.parametrize(
    ("values", "positions", "autocast", "tolerance"),
    [
        (torch.float32, torch.float32, False, 1e-5),
        (torch.float32, torch.float32, True, 0.03),
        (torch.float64, torch.float32, False, 1e-5),
        (torch.float64, torch.float32, True, 1e-5),
        (torch.float32, torch.float64, False, 1e-5),
        (torch.bfloat16, torch.bfloat16, False, 0.03),
    ],
)
def test_every_precision(monkeypatch, moments, values, positions, autocast, tolerance):
    torch.manual_seed(0)
    made = PositionAttention(5, 8, heads=2, lengths=(0.1, 0.5), moments=moments, moments_about="mean").to(values)
    x, pos = torch.rand(60, 5).to(values), (torch.rand(60, 2).to(positions), torch.rand(9, 2).to(positions))
    for before, after in both_ways(monkeypatch, made, x, pos, knn(pos[1].float(), pos[0].float(), 10), autocast):
        assert before.dtype == after.dtype
        assert float((before - after).detach().abs().max()) <= tolerance * float(before.detach().abs().max())


def test_few_targets_with_many_sources_each_in_few_neighbourhoods():
    few, many = torch.rand(40, 2), torch.rand(1000, 2)
    assert suits_shared_sums(knn(few, many, 50), 64, 64, 4, 3)
    assert not suits_shared_sums(knn(few, many, 200), 64, 64, 4, 3)  # every source in eight
    assert not suits_shared_sums(knn(many, few, 8), 64, 64, 4, 3)
