"""The expansion of global attention: its remainder, and the layer that uses it, against the dense formula."""

import math

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from pitgeo.graphs.metric import Metric
from pitgeo.nn import GlobalPositionAttention
from pitgeo.nn.kernels.expansion import degree_for, expanded_attention, exponents, fastest_expansion, terms
from tests.reference import position_attention, squared_distances


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_exponents_are_all_multi_indices(dimension):
    index = exponents(4, dimension)
    assert len(index) == terms(4, dimension) == len(index.unique(dim=0))
    assert int(index.min()) == 0
    assert int(index.sum(1).max()) == 4
    assert torch.equal(index[: terms(3, dimension)], exponents(3, dimension))


@pytest.mark.parametrize("mean", [0.0, 0.1, 1.0, 6.0])
@pytest.mark.parametrize("tolerance", [1e-4, 1e-8])
def test_the_degree_is_the_smallest_that_keeps_the_remainder(mean, tolerance):
    degree = degree_for(mean, tolerance)

    def remainder(last):  # of the series of exp, relative to its sum: a Poisson tail
        return sum(math.exp(-mean) * mean**k / math.factorial(k) for k in range(last + 1, 60))

    assert remainder(degree) <= tolerance
    assert degree == 0 or remainder(degree - 1) > tolerance


def test_length_scales_out_of_reach_have_no_degree():
    assert degree_for(100.0, 1e-7) is None


def test_weights_are_those_of_the_formula_to_the_tolerance():
    pos = torch.rand(40, 2).double() - 0.5
    scale, tolerance = torch.tensor([0.3, 3.0]).double(), 1e-6
    degree = degree_for(2 * 3.0 * float(pos.square().sum(-1).max()), tolerance)
    identity = torch.eye(40).double()
    out = expanded_attention(identity[None], identity.expand(2, -1, -1), pos, scale, degree, None)[0]
    exact = torch.exp(-scale.view(-1, 1, 1) * squared_distances(pos, pos))
    exact = exact / exact.sum(-1, keepdim=True)
    difference = (out.transpose(0, 1) - exact).abs().max()
    assert 1e-10 < float(difference) < 10 * tolerance / 40  # an average weight is 1/40


@pytest.mark.parametrize("in_channels", [6, 300])  # values are projected before, and after, they are summed
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-10), (torch.float32, 1e-5)])
def test_the_layer_chooses_form_by_head_and_equals_the_dense_formula(in_channels, shared, dtype, tolerance):
    made = GlobalPositionAttention(in_channels, 8, heads=4).to(dtype)
    made.scale.raw.data.copy_(torch.tensor([0.5, 9.0, 0.0, 0.9]))
    pos = torch.rand(2, 800, 2, dtype=dtype) + 3
    pos = pos[0] if shared else pos
    x = torch.rand(2, 800, in_channels, dtype=dtype, requires_grad=True)
    out = made(x, pos)
    assert made.expanded == [0, 2, 3]
    slow = torch.stack(
        [
            position_attention(one, made.scale(), squared_distances(p, p), made.value.weight)
            for one, p in zip(x, [pos, pos] if shared else pos, strict=True)
        ]
    )
    assert float((out - slow).detach().abs().max() / slow.detach().abs().max()) < tolerance
    direction = torch.randn_like(out)
    parts = (x, made.scale.raw, made.value.weight)
    for mine, theirs in zip(
        torch.autograd.grad(out, parts, direction), torch.autograd.grad(slow, parts, direction), strict=True
    ):
        assert float((mine - theirs).abs().max() / theirs.abs().max()) < 10 * tolerance


@pytest.mark.parametrize(
    ("dimension", "points", "in_channels"), [(1, 600, 6), (2, 800, 300), (2, 800, 6), (3, 900, 300)]
)
@pytest.mark.parametrize(
    ("form", "dtype", "tolerance"),
    [
        ("shared", torch.float64, 1e-10),
        ("padded", torch.float64, 1e-10),
        ("padded", torch.float32, 1e-5),
        ("moved", torch.float64, 1e-10),  # positions have a gradient
    ],
)
def test_with_moments_far_and_near_heads_equal_the_dense_form(in_channels, dimension, points, form, dtype, tolerance):
    torch.manual_seed(0)
    options = {"heads": 4, "metric": Metric(divisor=2.0), "moments": dimension}
    made, dense = (GlobalPositionAttention(in_channels, 12, backend=way, **options) for way in ("auto", "dense"))
    made.scale.raw.data.copy_(torch.tensor([0.2, 9.0, 0.0, 0.3]))
    dense.load_state_dict(made.double().state_dict())
    dense.double()
    pos = torch.rand(2, points, dimension).double() + 3
    pos = pos[0] if form == "shared" else pos
    mask = torch.arange(points) < torch.tensor([[points], [points - 300]]) if form == "padded" else None
    x, there = torch.rand(2, points, in_channels).double(), 1.0 if mask is None else mask.unsqueeze(-1).double()

    def results(layer, dtype):
        given = [part.to(dtype).requires_grad_(wanted) for part, wanted in ((x, True), (pos, form == "moved"))]
        out = layer.to(dtype)(*given, mask) * there
        wanted = [part for part in (*given, *layer.parameters()) if part.requires_grad]
        return out.detach(), *torch.autograd.grad(out.square().sum(), wanted)

    mine, theirs = results(made, dtype), results(dense, torch.float64)
    assert made.expanded == [0, 2, 3]
    for number, (one, other) in enumerate(zip(mine, theirs, strict=True)):
        assert float((one - other).abs().max()) <= (10 if number else 1) * tolerance * float(other.abs().max())


def test_all_heads_expanded_with_moments():
    torch.manual_seed(0)
    made, dense = (GlobalPositionAttention(5, 8, heads=2, moments=2, backend=way) for way in ("expansion", "dense"))
    dense.load_state_dict(made.state_dict())
    x, pos = torch.rand(2, 40, 5).double(), torch.rand(2, 40, 2).double()
    assert torch.allclose(made.double()(x, pos), dense.double()(x, pos), atol=1e-12)
    assert torch.autograd.gradgradcheck(lambda p: made(x[:1, :5], p), pos[:1, :5].clone().requires_grad_())


def test_heads_are_expanded_while_this_takes_less_time():
    assert fastest_expansion([3, 4], 4, 243, 2, 32) == [0, 1]
    assert fastest_expansion([3, None], 4, 243, 2, 32) == []  # pairs are there all the same
    assert fastest_expansion([3, None], 4, 2000, 2, 32) == [0]
    assert fastest_expansion([5, 40, 4], 1, 600, 3, 32) == [0, 2]  # 12,341 terms
    assert fastest_expansion([3, 4], 1, 20, 2, 32) == []
    assert fastest_expansion([None, None], 4, 2000, 2, 32) == []


def test_the_expansion_has_second_derivatives():
    made = GlobalPositionAttention(3, 4, heads=2, backend="expansion").double()

    def call(x, pos):
        return made(x, pos)

    x, pos = torch.rand(2, 6, 3).double().requires_grad_(), torch.rand(2, 6, 2).double().requires_grad_()
    assert torch.autograd.gradgradcheck(call, (x, pos))


def test_cost_grows_linearly_where_the_expansion_is_taken():
    made = GlobalPositionAttention(4, 4)
    made.scale.raw.data.fill_(1.0)
    count = {}
    for points in (2000, 4000):
        x, pos = torch.rand(1, points, 4), torch.rand(1, points, 2)
        with FlopCounterMode(display=False) as counter:
            made(x, pos)
        count[points] = counter.get_total_flops()
    assert made.expanded == [0]
    assert count[4000] < 2.01 * count[2000]


def test_many_points_of_one_place():
    made = GlobalPositionAttention(3, 4, backend="expansion")
    x = torch.rand(1, 50, 3)
    out = made(x, torch.full((1, 50, 2), 0.3))
    assert made.expanded == [0]
    assert torch.allclose(out, made.value(x).mean(1, keepdim=True).expand_as(out), atol=1e-6)
    out.sum().backward()
    assert torch.isfinite(made.scale.raw.grad).all()


def test_length_scales_out_of_reach_are_refused_where_the_expansion_is_asked_for():
    made = GlobalPositionAttention(3, 4, backend="expansion")
    made.scale.raw.data.fill_(30.0)
    with pytest.raises(ValueError, match="lambda = 900 for head 0"):
        made(torch.rand(1, 50, 3), torch.rand(1, 50, 2))
