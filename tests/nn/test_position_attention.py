"""The sparse layer against its dense twin, and what theory promises of it."""

import copy
import math
import pickle
from functools import partial

import pytest
import torch
from torch import nn
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv, Sequential

from pitgeo.data import PointData
from pitgeo.graphs import neighborhood
from pitgeo.graphs.metric import Metric
from pitgeo.graphs.neighborhood import Neighborhood
from pitgeo.graphs.neighbors import knn, quantile, radius
from pitgeo.nn import PositionAttention
from pitgeo.nn import position_attention as module
from pitgeo.nn.kernels import source_parts
from pitgeo.testing import (
    assert_linear_in_values,
    assert_permutation_equivariant,
    assert_rigid_motion_invariant,
)
from tests.reference import position_attention, quantile_mask, squared_distances

BACKENDS = ("fused", "reference")


def layer(*arguments, dtype=torch.float64, **options):
    torch.manual_seed(0)
    made = PositionAttention(*arguments, **options).to(dtype)
    made.scale.raw.data.mul_(3)
    return made


def twin(made, x, sources, targets, mask):
    squared = squared_distances(targets, sources, made.metric.period) / made.metric.divisor
    return position_attention(x, made.scale(), squared, made.value.weight, mask)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-10), (torch.float32, 1e-5)])
@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_it_equals_the_dense_formula(backend, dtype, tolerance, dimension):
    made = layer(6, 8, heads=4, metric=Metric(divisor=2.0), backend=backend, dtype=dtype)
    sources, targets = torch.rand(90, dimension, dtype=dtype), torch.rand(35, dimension, dtype=dtype)
    x = torch.rand(90, 6, dtype=dtype, requires_grad=True)
    out = made(x, (sources, targets), quantile(targets, sources, 0.1))
    slow = twin(made, x, sources, targets, quantile_mask(squared_distances(targets, sources), 0.1))
    assert float((out - slow).detach().abs().max()) < tolerance
    parts = (x, made.scale.raw, made.value.weight)
    direction = torch.rand_like(out)
    for mine, theirs in zip(
        torch.autograd.grad(out, parts, direction), torch.autograd.grad(slow, parts, direction), strict=True
    ):
        assert float((mine - theirs).abs().max()) < 10 * tolerance


@pytest.mark.parametrize("backend", BACKENDS)
def test_gradients_of_values_positions_and_scales(backend):
    made = layer(3, 4, heads=2, backend=backend)
    x, pos = torch.rand(12, 3).double().requires_grad_(), torch.rand(12, 2).double().requires_grad_()
    graph = quantile(pos, pos, 0.3)

    def call(x, pos, raw):
        return torch.func.functional_call(made, {"scale.raw": raw}, (x, pos, graph))

    assert torch.autograd.gradcheck(call, (x, pos, made.scale.raw.detach().clone().requires_grad_()))


def test_the_reference_backend_has_second_derivatives():
    made = layer(3, 4, heads=2, backend="reference")
    pos = torch.rand(8, 2).double()
    assert torch.autograd.gradgradcheck(
        lambda x: made(x.square(), pos, knn(pos, pos, 3)), (torch.rand(8, 3).double().requires_grad_(),)
    )


@pytest.mark.parametrize("backend", BACKENDS)
def test_samples_on_a_shared_mesh(backend):
    made = layer(5, 6, heads=2, backend=backend)
    x, pos, targets = torch.rand(3, 40, 5).double(), torch.rand(40, 2).double(), torch.rand(15, 2).double()
    graph = quantile(targets, pos, 0.2)
    out = made(x, (pos, targets), graph)
    assert out.shape == (3, 15, 6)
    assert torch.allclose(out, torch.stack([made(one, (pos, targets), graph) for one in x]), atol=1e-12)


def test_without_gradients_many_edges_are_taken_in_parts(monkeypatch):
    made, calls = layer(5, 6, heads=2, dtype=torch.float32), []
    x, pos, targets = torch.rand(3, 40, 5), torch.rand(40, 2), torch.rand(30, 2)
    graph = quantile(targets, pos, 0.2)
    whole = made(x, (pos, targets), graph), made(x[0], (pos, targets), graph)
    original = module.graph_attention
    monkeypatch.setattr(module, "graph_attention", lambda *given: calls.append(1) or original(*given))
    monkeypatch.setattr(module, "_EDGES_AT_ONCE", 50)
    with torch.no_grad():
        parts = made(x, (pos, targets), graph), made(x[0], (pos, targets), graph.edge_index)
        weighted, _ = made(x[0], (pos, targets), graph, return_attention_weights=True)
    assert len(calls) == 2 * 5
    assert torch.equal(parts[0], whole[0]) and torch.equal(parts[1], whole[1]) and torch.equal(weighted, whole[1])
    calls.clear()
    made(x, (pos, targets), graph).sum().backward()
    assert len(calls) == 1


@pytest.mark.parametrize("moments", [0, 3])
@pytest.mark.parametrize("period", [(), (1.0, 1.0, 1.0)])
@pytest.mark.parametrize("scale", [0.0, 1.0, 1e12])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_padded_graphs_give_what_the_others_give(monkeypatch, moments, period, scale, dtype):
    made = layer(4, 8, heads=2, metric=Metric(period), moments=moments, dtype=dtype)
    made.scale.raw.data.mul_(scale)
    axis = torch.arange(5, dtype=dtype) / 5
    pos = torch.cartesian_prod(axis, axis, axis)[:-3]  # ties, not as many everywhere
    x = torch.rand(2, len(pos), 4, dtype=dtype, requires_grad=True)
    parts, found = (x, *made.parameters()), []
    for most in (2.0, 1.0):
        monkeypatch.setattr(neighborhood, "_MOST_PADDING", most)
        graph = quantile(pos, pos, 0.2, made.metric)
        assert (graph.padded[1] is not None) == (most > 1)
        out = made(x, pos, graph)
        found.append([out, *torch.autograd.grad(out.square().sum(), parts)])
    mask = torch.zeros(len(pos), len(pos), dtype=torch.bool)
    mask[graph.target, graph.source] = True
    if moments == 0:
        found.append([twin(made, x, pos, pos, mask)])
    tolerance = 1e-12 if dtype == torch.float64 else 1e-4  # the other form sums the slope of lambda less exactly
    for others in found[1:]:
        for mine, theirs in zip(found[0], others, strict=False):
            assert float((mine - theirs).detach().abs().max()) <= tolerance * (1 + float(theirs.detach().abs().max()))


@pytest.mark.parametrize("moments", [0, 2])
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_without_gradients_few_targets_take_some_sources_after_others(monkeypatch, moments, shared, weighted, dtype):
    made = layer(4, 8, heads=2, metric=Metric((1.0, 0.0)), moments=moments, moments_about="mean", dtype=dtype)
    made.scale.raw.data.mul_(3)
    sources, targets = torch.rand(200, 2, dtype=dtype), torch.rand(6, 2, dtype=dtype)
    x = torch.rand(*((3,) if shared else ()), 200, 4, dtype=dtype)
    edges = quantile(targets, sources, 0.3, made.metric).edge_index
    graph, _ = Neighborhood.from_edge_index(edges[:, edges[1] != 2], 200, 6)  # a target has none
    quadrature = torch.rand(200) + 0.5 if weighted else None
    whole = made(x, (sources, targets), graph, quadrature=quadrature)
    with torch.autocast("cpu", torch.bfloat16):
        rounded = made(x, (sources, targets), graph, quadrature=quadrature)
    calls, original = [], module.attention_by_sources
    monkeypatch.setattr(module, "attention_by_sources", lambda *given: calls.append(1) or original(*given))
    monkeypatch.setattr(module, "_EDGES_AT_ONCE", 100)
    monkeypatch.setattr(neighborhood, "SOURCES_AT_ONCE", 70)
    monkeypatch.setattr(source_parts, "SOURCES_AT_ONCE", 70)
    monkeypatch.setattr(source_parts, "_FEWEST", 5)
    with torch.no_grad():
        parts = made(x, (sources, targets), graph, quadrature=quadrature)
        with torch.autocast("cpu", torch.bfloat16):
            again = made(x, (sources, targets), graph, quadrature=quadrature)
        assert len(calls) == 2
        backwards = graph.edge_index.flip(1)  # sources do not ascend: some targets after others
        assert torch.allclose(made(x, (sources, targets), backwards, quadrature=quadrature), whole, atol=1e-4)
        assert len(calls) == 2
    assert parts.dtype == whole.dtype and torch.allclose(parts, whole, atol=1e-12 if dtype == torch.float64 else 2e-5)
    assert again.dtype == rounded.dtype and torch.allclose(again.float(), rounded.float(), atol=0.05)
    assert torch.equal(parts[..., 2, :], torch.zeros_like(parts[..., 2, :]))


def test_edge_index_in_any_order_is_as_good_as_a_neighborhood():
    made = layer(5, 6, heads=2)
    x, pos = torch.rand(40, 5).double(), torch.rand(40, 2).double()
    graph = quantile(pos, pos, 0.2)
    shuffled = graph.edge_index[:, torch.randperm(graph.num_edges)]
    assert torch.allclose(made(x, pos, graph), made(x, pos, shuffled), atol=1e-12)
    out, (edges, weights) = made(x, pos, shuffled, return_attention_weights=True)
    assert torch.equal(edges, shuffled)
    assert torch.allclose(weights, made.attention_weights(pos, shuffled))
    again = (
        torch.zeros(40, 2, 3)
        .double()
        .index_add_(0, edges[1], weights.unsqueeze(-1) * made.value(x)[edges[0]].view(-1, 2, 3))
    )
    assert torch.allclose(out, again.flatten(1), atol=1e-12)
    total = torch.zeros(40, 2).double().index_add_(0, edges[1], weights)
    assert torch.allclose(total, torch.ones_like(total))


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_target_without_an_edge_gets_zeros(backend):
    made = layer(2, 2, backend=backend)
    out = made(torch.rand(3, 2).double(), torch.rand(3, 2).double(), torch.tensor([[0, 1], [0, 2]]))
    assert out[1].tolist() == [0.0, 0.0] and out[[0, 2]].abs().min() > 0
    empty = made(torch.rand(3, 2).double(), torch.rand(3, 2).double(), torch.zeros(2, 0, dtype=torch.long))
    assert not empty.any()


def test_linear_in_the_values_and_blind_to_rigid_motion_and_order():
    made = layer(4, 6, heads=3)
    x, pos = torch.rand(50, 4).double(), torch.rand(50, 3).double()
    graph = quantile(pos, pos, 0.2)

    def with_its_graph(data):
        return made(data.x, data.pos, quantile(data.pos, data.pos, 0.2))

    stored, built = Data(x=x, pos=pos, edge_index=graph.edge_index), PointData(pos=pos, x=x)
    for call, sample in ((made, stored), (with_its_graph, built)):
        assert_linear_in_values(call, sample, tolerance=1e-12)
        assert_rigid_motion_invariant(call, sample, tolerance=1e-10)
        assert_permutation_equivariant(call, sample, tolerance=1e-12)
    assert torch.allclose(made(torch.ones_like(x), pos, graph), made.value(torch.ones_like(x)), atol=1e-12)


def test_a_batch_of_two_meshes_is_the_two_alone():
    made = layer(4, 6, heads=2)
    first, second = torch.rand(50, 2).double(), torch.rand(70, 2).double()
    x = torch.rand(120, 4).double()
    batch = torch.tensor([0] * 50 + [1] * 70)
    pos = torch.cat([first, second])
    both = made(x, pos, quantile(pos, pos, 0.1, None, batch, batch))
    alone = [made(x[:50], first, quantile(first, first, 0.1)), made(x[50:], second, quantile(second, second, 0.1))]
    assert torch.allclose(both, torch.cat(alone), atol=1e-12)


@pytest.mark.parametrize("moments", [0, 1])
@pytest.mark.parametrize("local", [False, True])
def test_it_converges_to_the_integral_operator_at_the_monte_carlo_rate(local, moments):
    # Theorem 2.1 on the interval [0, 1]: v = cos(4y), lambda = 20, seen from x = 0.3; the integral by quadrature
    strength, reach = 20.0, 0.25 if local else 1.0
    y = torch.linspace(max(0.0, 0.3 - reach), min(1.0, 0.3 + reach), 200_001, dtype=torch.float64)
    kernel = torch.exp(-strength * (y - 0.3) ** 2)
    moment = moments * (y - 0.3) * math.sqrt(strength)
    exact = torch.trapezoid(kernel * (1 + moment) * torch.cos(4 * y), y) / torch.trapezoid(kernel, y)
    made = layer(1, 1, moments=moments)
    made.value.weight.data.fill_(1.0)
    if moments:
        made.moments.weight.data.fill_(1.0)
    made.scale.raw.data.fill_(math.sqrt(strength))
    target = torch.tensor([[0.3]], dtype=torch.float64)
    generator = torch.Generator().manual_seed(7)
    sizes, errors = [50, 200, 800, 3200], []
    for size in sizes:
        trials = []
        for _ in range(150):
            pos = torch.rand(size, 1, generator=generator, dtype=torch.float64)
            graph = radius(target, pos, reach)
            trials.append(float(made(torch.cos(4 * pos), (pos, target), graph).detach() - exact))
        errors.append(math.sqrt(sum(error**2 for error in trials) / len(trials)))
    slope = torch.linalg.lstsq(
        torch.stack([torch.tensor(sizes, dtype=torch.float64).log(), torch.ones(4, dtype=torch.float64)], 1),
        torch.tensor(errors, dtype=torch.float64).log()[:, None],
    ).solution[0]
    assert -0.57 < float(slope) < -0.43, errors


def test_inside_pygs_sequential_and_beside_gcnconv():
    model = Sequential(
        "x, pos, edge_index",
        [
            (GCNConv(3, 8), "x, edge_index -> x"),
            nn.GELU(),
            (PositionAttention(8, 8, heads=2), "x, pos, edge_index -> x"),
            nn.GELU(),
            (GCNConv(8, 1), "x, edge_index -> x"),
        ],
    )
    x, pos = torch.rand(30, 3), torch.rand(30, 2)
    edges = quantile(pos, pos, 0.2).edge_index
    out = model(x, pos, edges)
    assert out.shape == (30, 1)
    out.sum().backward()
    assert all(parameter.grad is not None and torch.isfinite(parameter.grad).all() for parameter in model.parameters())


def test_pygs_explainer_machinery_takes_the_message_path():
    made = layer(3, 4, heads=2)
    x, pos = torch.rand(20, 3).double(), torch.rand(20, 2).double()
    edges = quantile(pos, pos, 0.2).edge_index
    out = made(x, pos, edges)
    made.explain = True
    made._edge_mask = torch.zeros(edges.shape[1], dtype=torch.float64)
    made._loop_mask = torch.ones(edges.shape[1], dtype=torch.bool)
    made._apply_sigmoid = True
    assert torch.allclose(made(x, pos, edges), out / 2, atol=1e-12)  # sigmoid(0) halves every message
    shuffled = edges[:, torch.randperm(edges.shape[1])]
    made._edge_mask[0] = -100.0  # silence the first edge as given: its target alone changes
    changed = (made(x, pos, shuffled) - out / 2).abs().amax(1) > 1e-12
    assert changed.nonzero().flatten().tolist() == [int(shuffled[1, 0])]


def test_half_precision_modules_measure_distances_in_single_precision():
    made = layer(8, 8, heads=2, dtype=torch.float32)
    x, pos = torch.rand(60, 8), torch.rand(60, 2).bfloat16()
    graph = quantile(pos, pos, 0.2)
    exact = made.attention_weights(pos.float(), graph).detach()
    made.bfloat16()
    made.scale.raw.data = made.scale.raw.data.float()
    assert made.attention_weights(pos, graph).dtype == torch.float32
    assert torch.allclose(made.attention_weights(pos, graph), exact, rtol=0.02)
    assert made(x.bfloat16(), pos, graph).dtype == torch.bfloat16


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor:UserWarning")  # the compiler looks
def test_compiled_copied_and_pickled_layers_give_the_same():
    made = layer(4, 4, heads=2, dtype=torch.float32)
    x, pos = torch.rand(30, 4), torch.rand(30, 2)
    graph = quantile(pos, pos, 0.2)
    out = made(x, pos, graph)
    assert torch.equal(copy.deepcopy(made)(x, pos, graph), out)
    assert torch.equal(pickle.loads(pickle.dumps(made))(x, pos, graph), out)
    assert torch.allclose(torch.compile(made, backend="eager")(x, pos, graph), out, atol=1e-6)


def test_bfloat16_autocast_keeps_geometry_in_single_precision():
    made = layer(16, 16, heads=2, dtype=torch.float32)
    made.scale.raw.data.fill_(10.0)
    x, pos = torch.rand(60, 16), torch.rand(60, 2)
    graph = quantile(pos, pos, 0.2)
    exact, weights = made(x, pos, graph), made.attention_weights(pos, graph)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(made.attention_weights(pos, graph), weights)
        out = made(x, pos, graph)
    assert out.dtype == torch.bfloat16
    assert float((out - exact).detach().abs().max()) < 0.02 * float(exact.detach().abs().max())


def test_huge_lambda_leaves_no_denormal_weights():
    made = layer(2, 2, dtype=torch.float32)
    made.scale.raw.data.fill_(100.0)  # lambda = 1e4
    pos = torch.rand(300, 2)
    weights = made.attention_weights(pos, quantile(pos, pos, 0.3)).detach()
    positive = weights[weights > 0]
    assert float(positive.min()) > torch.finfo(torch.float32).tiny
    assert (weights == 0).any()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: PositionAttention(4, 6, heads=4), "divide out_channels"),
        (lambda: PositionAttention(4, 6, backend="fast"), "backend"),
        (lambda: layer(4, 6)(torch.rand(5, 3).double(), torch.rand(5, 2).double(), torch.zeros(2, 0).long()), "shape"),
        (lambda: layer(4, 6)(torch.rand(5, 4).double(), torch.rand(4, 2).double(), torch.zeros(2, 0).long()), "each"),
        (lambda: layer(4, 6)(torch.rand(5, 4).double(), torch.rand(5, 2).double(), torch.zeros(3, 1).long()), "2, E"),
        (lambda: layer(4, 6)(torch.rand(5, 4).double(), torch.rand(5, 2).double(), torch.full((2, 1), 5)), r"0\.\.4"),
        (
            lambda: layer(4, 6)(
                torch.rand(5, 4).double(),
                torch.rand(5, 2).double(),
                Neighborhood(torch.zeros(1, dtype=torch.int32), torch.ones(1, dtype=torch.int32), 5),
            ),
            "5 sources to 5 targets",
        ),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def weighed_twin(made, x, sources, targets, mask, quadrature):
    """Sources of weight w count w times in the sums of the softmax."""
    squared = squared_distances(targets, sources) / made.metric.divisor
    heads = []
    for scale, matrix in zip(made.scale(), made.value.weight.chunk(made.value.heads), strict=True):
        kernel = torch.exp(-scale * squared) * mask * quadrature
        heads.append(kernel / kernel.sum(1, keepdim=True) @ x @ matrix.T)
    return torch.cat(heads, -1)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_quadrature_weighs_the_sources(backend):
    made = layer(6, 8, heads=4, metric=Metric(divisor=2.0), backend=backend)
    sources, targets = torch.rand(90, 2).double(), torch.rand(35, 2).double()
    x, weights = torch.rand(90, 6).double().requires_grad_(), (torch.rand(90).double() + 0.1).requires_grad_()
    out = made(x, (sources, targets), quantile(targets, sources, 0.1), quadrature=weights)
    mask = quantile_mask(squared_distances(targets, sources), 0.1)
    slow = weighed_twin(made, x, sources, targets, mask, weights)
    assert torch.allclose(out, slow, atol=1e-12)
    parts, direction = (x, weights, made.scale.raw, made.value.weight), torch.rand_like(out)
    for mine, theirs in zip(
        torch.autograd.grad(out, parts, direction), torch.autograd.grad(slow, parts, direction), strict=True
    ):
        assert torch.allclose(mine, theirs, atol=1e-11)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("moments", [0, 2])
def test_a_source_of_weight_two_is_the_source_twice(backend, moments):
    made = layer(3, 8, heads=2, moments=moments, backend=backend)
    sources, targets = torch.rand(30, 2).double(), torch.rand(7, 2).double()
    x, doubled = torch.rand(2, 30, 3).double(), torch.tensor([0, 4, 11])
    weights = torch.ones(30).double().index_fill(0, doubled, 2.0)
    edges = torch.stack([torch.arange(30).repeat(7), torch.arange(7).repeat_interleave(30)])
    more = torch.stack([30 + torch.arange(3).repeat(7), torch.arange(7).repeat_interleave(3)])
    out = made(x, (sources, targets), edges, quadrature=weights)
    again = torch.cat([x, x[:, doubled]], 1), (torch.cat([sources, sources[doubled]]), targets)
    twice = made(*again, torch.cat([edges, more], 1))
    # moments are taken from the middle of the sources, which is another one: to rounding the same
    assert torch.allclose(out, twice, atol=1e-12)
    assert torch.allclose(made(x, (sources, targets), edges, quadrature=7 * weights), out, atol=1e-12)


@pytest.mark.parametrize("backend", BACKENDS)
def test_weights_of_edges_with_a_quadrature(backend):
    made = layer(3, 4, heads=2, backend=backend)
    pos, x, quadrature = torch.rand(20, 2).double(), torch.rand(20, 3).double(), torch.rand(20).double() + 0.5
    edges = torch.randint(0, 19, (2, 70)).unique(dim=1)  # in no order of targets; the last point has none
    out, (given, weights) = made(x, pos, edges, return_attention_weights=True, quadrature=quadrature)
    assert torch.equal(given, edges)
    assert torch.equal(weights, made.attention_weights(pos, edges, quadrature))
    plain = made.attention_weights(pos, edges)
    ratio = weights / plain / quadrature[edges[0]].unsqueeze(1)
    for target in edges[1].unique():
        there = edges[1] == target
        assert torch.allclose(weights[there].sum(0), torch.ones(2).double())
        assert torch.allclose(ratio[there], ratio[there][:1].expand(int(there.sum()), -1))
    values = made.value(x).view(20, 2, 2)
    sums = torch.zeros(20, 2, 2).double().index_add(0, edges[1], values[edges[0]] * weights.unsqueeze(-1))
    assert torch.allclose(out, sums.flatten(1), atol=1e-12)
    assert torch.equal(out[19], torch.zeros(4).double())
    assert torch.equal(out, made(x, pos, edges, quadrature=quadrature))


@pytest.mark.parametrize("moments", [0, 2])
def test_a_quadrature_in_parts_and_in_half_precision(monkeypatch, moments):
    made = layer(3, 8, heads=2, moments=moments)
    x, pos, weights = torch.rand(60, 3).double(), torch.rand(60, 2).double(), torch.rand(60).double() + 0.5
    graph = quantile(pos, pos, 0.3)
    whole = made(x, pos, graph, quadrature=weights)
    with torch.no_grad():
        monkeypatch.setattr(module, "_EDGES_AT_ONCE", 100)
        assert torch.allclose(made(x, pos, graph, quadrature=weights), whole, atol=1e-13)
    single = made.float()
    with torch.autocast("cpu", torch.bfloat16):
        low = single(x.float(), pos.float(), graph, quadrature=weights.float())
    assert low.dtype == torch.bfloat16
    assert float((low.double() - whole).detach().abs().max()) < 0.02 * float(whole.detach().abs().max())


def test_a_quadrature_of_another_size_is_refused():
    pos, made = torch.rand(10, 2), PositionAttention(3, 4)
    graph = quantile(pos, pos, 0.5)
    for call in (partial(made, torch.rand(10, 3)), made.attention_weights):
        with pytest.raises(ValueError, match=r"'quadrature' to have shape \[10\], .* \(got \[9\]\)"):
            call(pos, graph, quadrature=torch.ones(9))


@pytest.mark.parametrize(
    ("number", "weight", "said"), [(3, 0.0, "0"), (0, -1.0, "-1"), (9, 1e-40, "1e-40"), (2, math.inf, "inf")]
)
@pytest.mark.parametrize("moments", [0, 2])
def test_weights_that_are_not_positive_are_refused_on_all_paths(number, weight, said, moments):
    """Or else a target that sees such sources alone gets NaN on one path and zeros on another."""
    pos, x = torch.rand(10, 2).double(), torch.rand(10, 3).double()
    weights = torch.ones(10).double()
    weights[number] = weight
    graph = quantile(pos, pos, 0.2)
    for backend in ("fused", "reference"):
        made = PositionAttention(3, 8, 2, backend=backend, moments=moments).double()
        for call in (
            lambda made=made: made(x, pos, graph, quadrature=weights),
            lambda made=made: made(x, pos, graph.edge_index, quadrature=weights),
            lambda made=made: made(x, pos, graph, return_attention_weights=True, quadrature=weights),
            lambda made=made: made.attention_weights(pos, graph, quadrature=weights),
        ):
            with pytest.raises(ValueError, match=rf"positive and finite, .* \(got {said} of source {number}, 1 such"):
                call()


@pytest.mark.parametrize("backend", ["fused", "reference"])
@pytest.mark.parametrize("moments", [0, 2])
def test_the_smallest_and_largest_weights_do_as_in_double_precision(backend, moments):
    torch.manual_seed(0)
    pos, x, weights = torch.rand(12, 2), torch.rand(12, 3), torch.ones(12)
    weights[:6], weights[6:9] = 1e-30, 1e30
    targets = pos[:3] + 1e-3
    made = PositionAttention(3, 8, 2, backend=backend, moments=moments)
    for index in (torch.arange(6), torch.arange(12)):  # light sources alone, and all
        edges = torch.stack([index.repeat(3), torch.arange(3).repeat_interleave(len(index))])
        out = made(x, (pos, targets), edges, quadrature=weights)
        twin = copy.deepcopy(made).double()
        expected = twin(x.double(), (pos.double(), targets.double()), edges, quadrature=weights.double())
        assert torch.isfinite(out).all()
        assert torch.allclose(out.double(), expected, rtol=1e-4, atol=1e-5)
