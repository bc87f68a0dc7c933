"""First moments against their formula, closed forms and symmetries."""

import math

import pytest
import torch
from torch_geometric.data import Batch

from pitgeo.data import PointData
from pitgeo.data.transforms import AttentionGraphs, Compose, LatentMesh
from pitgeo.graphs.metric import Metric
from pitgeo.graphs.neighbors import quantile
from pitgeo.nn import Body, GlobalPositionAttention, PiT, PositionAttention
from pitgeo.nn import position_attention as module
from pitgeo.testing import assert_linear_in_values, assert_permutation_equivariant, assert_rigid_motion_invariant

METRICS = [Metric(divisor=2.0), Metric((1.0, 1.0)), Metric((0.0, 1.0))]


def layer(kind, *arguments, dtype=torch.float64, **options):
    torch.manual_seed(0)
    made = kind(*arguments, **options).to(dtype)
    made.scale.raw.data.mul_(3)
    torch.nn.init.normal_(made.moments.weight)  # some start at 0
    return made


def twin(made, x, sources, targets, graph):
    """A loop over heads, targets and sources."""
    heads, size, axes = made.value.heads, made.value.out_channels // made.value.heads, sources.shape[1]
    out = torch.zeros(len(targets), heads * size, dtype=x.dtype)
    periods, few = made.metric.period or (0.0,) * axes, made.moments.moment_channels
    matrices = made.moments.weight.view(heads * size, -1, axes, heads, few)  # one or two of them
    for head, scale in enumerate(made.scale()):
        reach = (made.metric.divisor / scale).sqrt()
        mine = slice(head * size, (head + 1) * size)
        for target in range(len(targets)):
            near = graph.source[graph.target == target]
            weights = (-scale * made.metric.squared_distance(targets[target], sources[near])).softmax(0)
            average = weights @ (x[near] @ made.value.weight[mine].T)
            for weight, source in zip(weights, near, strict=True):
                value = weight * made.value.weight[mine] @ x[source]
                row = out[target].clone()
                row[mine] = row[mine] + value
                for axis in range(axes):
                    step = sources[source, axis] - targets[target, axis]
                    if period := periods[axis]:
                        step = period / (2 * math.pi) * torch.sin(2 * math.pi / period * step)
                    if matrices.shape[1] == 1:  # about the point
                        row = row + matrices[:, 0, axis, head] @ value[:few] * step / reach
                    else:
                        row = row + matrices[:, 0, axis, head] @ (value - weight * average)[:few] * step / reach
                        row = row + matrices[:, 1, axis, head] @ average[:few] * weight * step / reach
                out = out.index_put((torch.tensor(target),), row)
    return out


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("backend", ["fused", "reference"])
@pytest.mark.parametrize(("channels", "heads"), [(8, 2), (9, 3), (3, 3), (16, 2)])
@pytest.mark.parametrize("about", ["point", "mean"])
def test_it_equals_the_formula(metric, backend, channels, heads, about):
    options = {"metric": metric, "moments": 2, "moments_about": about, "backend": backend}
    made = layer(PositionAttention, 3, channels, heads=heads, **options)
    x, sources, targets = torch.rand(40, 3).double(), torch.rand(40, 2).double(), torch.rand(15, 2).double()
    graph = quantile(targets, sources, 0.2, metric)
    out, slow = made(x, (sources, targets), graph), twin(made, x, sources, targets, graph)
    assert torch.allclose(out, slow, atol=1e-12)
    given = [*made.parameters()]
    for mine, theirs in zip(
        torch.autograd.grad(out.square().sum(), given), torch.autograd.grad(slow.square().sum(), given), strict=True
    ):
        assert torch.allclose(mine, theirs, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize(
    ("period", "axes", "channels", "few"),
    [
        ((), 1, 16, 8),
        ((), 2, 16, 8),
        ((), 3, 16, 5),
        ((1.0,), 1, 16, 8),
        ((1.0, 1.0), 2, 16, 4),
        ((0.0, 1.0), 2, 7, 2),
        ((), 2, 3, 1),
        ((), 2, 1, 1),
    ],
)
def test_how_many_values_have_moments(period, axes, channels, few):
    assert PositionAttention(3, channels, metric=Metric(period), moments=axes).moments.moment_channels == few


@pytest.mark.parametrize("metric", METRICS)
def test_global_attention_is_that_over_all_points(metric):
    made = layer(PositionAttention, 3, 8, heads=2, metric=metric, moments=2)
    sizes, x, pos = (30, 20), torch.rand(2, 30, 3).double(), torch.rand(2, 30, 2).double()
    mask = torch.arange(30) < torch.tensor(sizes).unsqueeze(1)
    for backend in ("auto", "dense") if metric.is_periodic else ("auto", "dense", "fused"):
        dense = GlobalPositionAttention(3, 8, heads=2, metric=metric, moments=2, backend=backend).double()
        dense.load_state_dict(made.state_dict())
        out, shared = dense(x, pos, mask), dense(x, pos[0])
        for sample, size in enumerate(sizes):
            values, here = x[sample, :size], pos[sample, :size]
            alone = made(values, here, quantile(here, here, 1.0, metric))
            assert torch.allclose(out[sample, :size], alone, atol=1e-12)
        assert torch.allclose(shared[1], dense(x[1:], pos[:1])[0], atol=1e-12)


def test_the_slope_of_a_linear_field():
    """A Gaussian of length l has the second moment l^2 / 2: the layer reads off slope * l / 2, and no constant."""
    axis = torch.linspace(-1, 1, 81, dtype=torch.float64)
    pos = torch.cartesian_prod(axis, axis)
    made = PositionAttention(1, 2, heads=1, lengths=(0.15, 0.15), moments=2).double()
    made.value.weight.data.fill_(1.0)
    made.moments.weight.data.copy_(torch.eye(2))  # channel a takes axis a
    middle = torch.tensor([[0.0, 0.0], [0.05, -0.1]]).double()
    slope = torch.tensor([0.7, -1.3]).double()
    values = (pos @ slope + 5.0).unsqueeze(1)
    out = made(values, (pos, middle), quantile(middle, pos, 0.5)) - (middle @ slope + 5.0).unsqueeze(1)
    assert torch.allclose(out, (slope * 0.15 / 2).expand(2, -1), atol=1e-6)


def test_constants_show_where_points_end():
    pos = torch.linspace(0, 1, 101, dtype=torch.float64).unsqueeze(1)
    made = PositionAttention(1, 1, heads=1, lengths=(0.05, 0.05), moments=1).double()
    made.value.weight.data.fill_(1.0)
    made.moments.weight.data.fill_(1.0)
    out = made(torch.ones(101, 1).double(), pos, quantile(pos, pos, 1.0)).detach().squeeze(1) - 1.0
    assert float(out.detach()[50].abs()) < 1e-12  # nothing in the middle
    half = 5 / 2 / (5 * math.sqrt(math.pi) / 2 + 1 / 2)  # the mean of half a Gaussian, 5 points a length
    assert float(out[0]) == pytest.approx(half, rel=0.01)
    assert float(out[100]) == pytest.approx(-float(out[0]), abs=1e-12)


def test_about_the_mean_a_constant_has_no_moment_but_where_points_end_shows():
    pos = torch.rand(60, 2).double()
    graph = quantile(pos, pos, 0.2)
    point, mean = (layer(PositionAttention, 1, 4, heads=2, moments=2, moments_about=a) for a in ("point", "mean"))
    mean.value.load_state_dict(point.value.state_dict())
    mean.scale.load_state_dict(point.scale.state_dict())
    x, ones = torch.rand(60, 1).double(), torch.ones(60, 1).double()
    first, weight = point.moments.weight.data, mean.moments.weight.data
    weight.copy_(torch.cat([first, torch.zeros_like(first)], 1))
    assert torch.allclose(mean(ones, pos, graph), mean.value(ones), rtol=0, atol=1e-13)
    assert float((point(ones, pos, graph) - point.value(ones)).detach().abs().max()) > 1e-2
    assert float((mean(x, pos, graph) - mean.value(x)).detach().abs().max()) > 1e-2
    weight.copy_(torch.cat([first, first], 1))  # now about the point
    assert torch.allclose(mean(x, pos, graph), point(x, pos, graph), rtol=0, atol=1e-13)


@pytest.mark.parametrize("about", ["point", "mean"])
def test_it_is_linear_and_does_not_see_where_the_origin_is(about):
    made = layer(PositionAttention, 4, 8, heads=2, moments=3, moments_about=about)
    sample = PointData(pos=torch.rand(60, 3).double(), x=torch.rand(60, 4).double())

    def call(data):
        return made(data.x, data.pos, quantile(data.pos, data.pos, 0.3))

    assert_linear_in_values(call, sample, tolerance=1e-12)
    assert_permutation_equivariant(call, sample, tolerance=1e-12)
    assert_rigid_motion_invariant(call, sample, tolerance=1e-10, motion="translation")
    with pytest.raises(AssertionError):  # directions matter
        assert_rigid_motion_invariant(call, sample, tolerance=1e-3)


@pytest.mark.parametrize("about", ["point", "mean"])
def test_positions_far_from_the_origin_in_single_precision(about):
    options = {"lengths": (0.05, 0.2), "moments": 2, "moments_about": about}
    made = layer(PositionAttention, 4, 8, heads=2, dtype=torch.float32, **options)
    x, pos = torch.rand(80, 4), torch.rand(80, 2) + 500
    graph = quantile(pos, pos, 0.1)
    single = made(x, pos, graph)
    whole = made.double()(x.double(), pos.double(), graph)
    assert float((single - whole).detach().abs().max() / whole.detach().abs().max()) < 1e-5


@pytest.mark.parametrize("about", ["point", "mean"])
def test_values_in_double_and_positions_in_single_precision(about):
    x, pos = torch.rand(30, 4).double(), torch.rand(30, 2)
    graph = quantile(pos, pos, 0.3)
    made = layer(PositionAttention, 4, 8, heads=2, moments=2, moments_about=about)
    out = made(x, pos, graph)
    assert out.dtype == torch.float64 and torch.allclose(out, made(x, pos.double(), graph), atol=1e-4)
    whole = layer(GlobalPositionAttention, 4, 8, heads=2, moments=2)
    out = whole(x.unsqueeze(0), pos.unsqueeze(0))
    assert out.dtype == torch.float64
    assert torch.allclose(out, whole(x.unsqueeze(0), pos.double().unsqueeze(0)), atol=1e-4)


@pytest.mark.parametrize("about", ["point", "mean"])
def test_half_precision_keeps_the_geometry(about):
    options = {"lengths": (0.02, 0.1), "moments": 2, "moments_about": about}
    made = layer(PositionAttention, 4, 8, heads=2, dtype=torch.float32, **options)
    pos, x = torch.rand(200, 2), torch.rand(200, 4)
    graph = quantile(pos, pos, 0.05)
    whole = made(x, pos, graph)
    with torch.autocast("cpu", torch.bfloat16):
        half = made(x, pos, graph)
    assert (
        half.dtype == torch.bfloat16 and float((half - whole).detach().abs().max() / whole.detach().abs().max()) < 0.03
    )


@pytest.mark.parametrize("about", ["point", "mean"])
def test_a_head_that_looks_everywhere_alike_has_gradients(about):
    made = PositionAttention(4, 8, heads=2, moments=2, moments_about=about)
    made.scale.raw.data.zero_()
    pos = torch.rand(20, 2)
    made(torch.rand(20, 4), pos, quantile(pos, pos, 0.5)).square().sum().backward()
    assert all(bool(torch.isfinite(part.grad).all()) for part in made.parameters())


def test_gradients_are_those_of_finite_differences():
    made = layer(GlobalPositionAttention, 3, 4, heads=2, moments=2)

    def call(x, pos, raw):
        return torch.func.functional_call(made, {"scale.raw": raw}, (x, pos))

    x, pos = torch.rand(2, 6, 3).double().requires_grad_(), torch.rand(2, 6, 2).double()
    for where in (pos, pos.clone().requires_grad_()):
        assert torch.autograd.gradcheck(call, (x, where, made.scale.raw.detach().clone().requires_grad_()))


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor:UserWarning")  # the compiler looks
def test_a_compiled_model_gives_the_same():
    torch._dynamo.reset()
    graphs = AttentionGraphs(encoder=0.1, decoder=0.2)
    model = PiT(3, 1, channels=16, heads=2, graphs=graphs, body=Body(layers=1, moments=2))
    torch.nn.init.normal_(model.encoder.attention.moments.weight)  # some start at 0
    prepare = Compose((LatentMesh("farthest", ratio=0.3), graphs))
    batch = Batch.from_data_list([prepare(PointData(pos=torch.rand(n, 2), x=torch.rand(n, 1))) for n in (40, 60)])
    prepared = model.prepare(batch)
    compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
    assert torch.allclose(compiled(prepared), model(prepared), atol=1e-5)


def test_refusals():
    with pytest.raises(ValueError, match="one entry per axis"):
        PositionAttention(3, 4, metric=Metric((1.0,)), moments=2)
    with pytest.raises(ValueError, match="'moments' to be 0 or the number of axes"):
        Body(moments=-1)
    for backend in ("auto", "expansion"):
        with pytest.raises(ValueError, match="2 axes"):
            GlobalPositionAttention(3, 4, moments=2, backend=backend)(torch.rand(1, 9, 3), torch.rand(1, 9, 3))
    with pytest.raises(ValueError, match="'moments_about' to be 'point' or 'mean'"):
        PositionAttention(3, 4, moments_about="origin")
    made = PositionAttention(3, 4, moments=2)
    pos = torch.rand(10, 3)
    with pytest.raises(ValueError, match="2 axes"):
        made(torch.rand(10, 3), pos, quantile(pos, pos, 0.5))


@pytest.mark.parametrize(("about", "constant"), [("point", 0), ("mean", 1)])
def test_many_edges_are_taken_in_parts_and_head_by_head(monkeypatch, about, constant):
    made = layer(PositionAttention, 3, 8, heads=4, moments=2, moments_about=about)
    x, pos = torch.rand(2, 60, 3).double(), torch.rand(60, 2).double()
    graph, sizes = quantile(pos[:20], pos, 0.3), []
    whole = made(x, (pos, pos[:20]), graph)
    monkeypatch.setattr(module, "_EDGES_AT_ONCE", 100)
    expand = made.moments.expand
    monkeypatch.setattr(made.moments, "expand", lambda *a: sizes.append(expand(*a).numel()) or expand(*a))
    with torch.no_grad():
        assert torch.allclose(made(x, (pos, pos[:20]), graph), whole, atol=1e-13)
    assert sizes == [2 * 60 * (2 + 2 * (1 + constant))] * 4
