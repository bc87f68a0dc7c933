"""Attention as one operator is softmax and sums one after the other."""

import pytest
import torch

from pitgeo.graphs.metric import Metric
from pitgeo.graphs.neighborhood import Neighborhood
from pitgeo.graphs.neighbors import quantile, radius
from pitgeo.nn.kernels import graph_attention as module
from pitgeo.nn.kernels.edge_sums import attend, edge_softmax, message_softmax
from pitgeo.nn.kernels.graph_attention import graph_attention


def problem(dtype=torch.float64, heads=3, shared=False, ragged=False):
    torch.manual_seed(0)
    targets, sources = torch.rand(20, 2, dtype=dtype), torch.rand(30, 2, dtype=dtype)
    graph = radius(targets, sources, 0.3) if ragged else quantile(targets, sources, 0.2)
    assert bool(graph.width) != ragged
    squared = Metric().squared_distance(targets[graph.target], sources[graph.source])
    value = torch.rand(*((4,) if shared else ()), 30, heads * 5, dtype=dtype, requires_grad=True)
    scale = torch.linspace(0.5, 40, heads, dtype=dtype).requires_grad_()
    return value, squared, scale, graph


@pytest.mark.parametrize("ragged", [False, True])
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("heads", [1, 3])
def test_values_and_gradients_are_those_of_softmax_and_sums(heads, shared, ragged):
    value, squared, scale, graph = problem(heads=heads, shared=shared, ragged=ragged)
    out = graph_attention(value, squared, scale, graph)
    weights = message_softmax(squared, scale, graph.target, graph.num_targets)
    messages = value.unflatten(-1, (heads, -1))[..., graph.source, :, :] * weights.unsqueeze(-1)
    slow = torch.zeros_like(out).index_add(-2, graph.target, messages.flatten(-2))
    assert torch.equal(out, attend(value, edge_softmax(squared, scale, graph), graph))
    assert torch.allclose(out, slow, rtol=1e-13, atol=1e-14)
    slope = torch.rand_like(out)
    for mine, theirs in zip(
        torch.autograd.grad(out, (value, scale), slope), torch.autograd.grad(slow, (value, scale), slope), strict=True
    ):
        assert torch.allclose(mine, theirs, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("ragged", [False, True])
def test_gradients_are_those_of_finite_differences(ragged):
    value, squared, scale, graph = problem(ragged=ragged)
    assert torch.autograd.gradcheck(lambda v, s: graph_attention(v, squared, s, graph), (value, scale))


def test_one_gradient_alone():
    value, squared, scale, graph = problem()
    for wanted, other in ((value, scale), (scale, value)):
        (both,) = torch.autograd.grad(graph_attention(value, squared, scale, graph).square().sum(), wanted)
        given = [part.detach() if part is other else part for part in (value, scale)]
        (alone,) = torch.autograd.grad(graph_attention(given[0], squared, given[1], graph).square().sum(), wanted)
        assert torch.equal(both, alone)


def test_targets_without_edges_get_zeros_and_no_gradient():
    value = torch.rand(4, 6, dtype=torch.float64, requires_grad=True)
    graph = Neighborhood(torch.tensor([1, 3]), torch.tensor([0, 2, 0]), 4)
    scale = torch.ones(2, dtype=torch.float64, requires_grad=True)
    out = graph_attention(value, torch.tensor([0.1, 0.2]).double(), scale, graph)
    assert torch.equal(out[[0, 2]], torch.zeros(2, 6).double())
    out.sum().backward()
    assert torch.equal(value.grad[[0, 2]], torch.zeros(2, 6).double()) and bool((value.grad[[1, 3]] > 0).all())


@pytest.mark.parametrize("ragged", [False, True])
def test_lengths_that_underflow_leave_the_nearest_alone(ragged):
    value, squared, _, graph = problem(torch.float32, heads=1, ragged=ragged)
    scale = torch.tensor([1e12], requires_grad=True)
    out = graph_attention(value, squared, scale, graph)
    nearest = torch.stack([part.argmin() for part in squared.split(graph.degree.tolist())]) + graph.pointer[:-1]
    assert torch.equal(out, value[graph.source[nearest]])
    out.square().sum().backward()
    assert torch.equal(scale.grad, torch.zeros(1)) and bool(value.grad.isfinite().all())


@pytest.mark.parametrize("ragged", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_operator_is_what_it_declares(dtype, ragged):
    value, squared, scale, graph = problem(dtype, ragged=ragged)
    width = graph.width
    graph = (graph.source, graph.target, graph.pointer, *graph.by_source)
    value = value.detach().unsqueeze(0).requires_grad_()
    torch.library.opcheck(module._attention, (value, squared, scale, *graph, width))
    torch.library.opcheck(
        module._attention, (value.detach(), squared, scale.detach(), *graph[:3], *[graph[2][:0]] * 3, width)
    )


@pytest.mark.parametrize("ragged", [False, True])
def test_a_constant_in_half_precision_does_not_move_the_length_scales(ragged):
    """Weights sum to one whatever lambda is: rounding must not make a slope of it."""
    value, squared, scale, graph = problem(torch.float32, ragged=ragged)
    constant = torch.full_like(value, 100.0, dtype=torch.bfloat16)
    direction = torch.ones(graph.num_targets, value.shape[1], dtype=torch.bfloat16)
    (slope,) = torch.autograd.grad(graph_attention(constant, squared, scale, graph), scale, direction)
    assert float(slope.abs().max()) < 1e-3
