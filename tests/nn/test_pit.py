"""The model: the paper's parameter counts, and what an operator must do."""

import copy
import math
from dataclasses import replace

import pytest
import torch
from torch_geometric.data import Batch

from pitgeo.data import PointData
from pitgeo.data.transforms import AttentionGraphs, LatentMesh
from pitgeo.graphs.metric import Metric
from pitgeo.graphs.quadrature import quadrature_weights
from pitgeo.models.registry import DataSpec, PiTOptions
from pitgeo.nn import Body, PiT, PointwiseMLP
from pitgeo.testing import assert_batch_independent, assert_parameters_used, assert_permutation_equivariant

PAPER = {
    "inviscid_burgers": {"i": 2, "channels": 64, "heads": 2, "output_quantile": 0.08},
    "shock_tube": {"i": 4, "channels": 64, "heads": 2, "output_quantile": 0.02},
    "darcy2d": {"i": 3, "channels": 128, "heads": 2},
    "vorticity": {"i": 12, "channels": 256, "heads": 1},
    "elasticity": {"i": 44, "channels": 512, "heads": 8, "encoder": "block", "decoder": "block"},
    "naca": {"i": 4, "channels": 256, "heads": 2},
}
COUNTS = {
    "inviscid_burgers": (95_503, 128_263, 152_833),
    "shock_tube": (95_631, 128_391, 152_961),
    "darcy2d": (313_613, 444_677, None),
    "vorticity": (1_252_103, 1_776_387, None),
    "elasticity": (6_586_929, 8_684_049, 9_732_609),
    "naca": (1_250_061, 1_774_341, None),
}
ATTENTION = (("position",) * 3, ("position", "self", "position"), ("self",) * 3)


def count(i, **options):
    model = PiTOptions(body="paper", lengths="random", **options).build(DataSpec(i, 1, 2, 0.1, 1.0))
    return sum(parameter.numel() for parameter in model.parameters())


@pytest.mark.parametrize("name", PAPER)
def test_parameter_counts_of_the_paper(name):
    for attention, expected in zip(ATTENTION, COUNTS[name], strict=True):
        if expected is not None:
            assert count(**PAPER[name], attention=attention) == expected, attention


def test_the_smaller_elasticity_model():
    assert count(**{**PAPER["elasticity"], "channels": 256, "heads": 2}) == 1_655_053


def samples(sizes=(50, 70), latent=(20, 15)):
    torch.manual_seed(1)
    return [
        LatentMesh("farthest", number=number)(
            PointData(pos=torch.rand(size, 2).double(), x=torch.rand(size, 3).double())
        )
        for size, number in zip(sizes, latent, strict=True)
    ]


def model(moments=2, **body):
    torch.manual_seed(0)
    graphs = AttentionGraphs(encoder=0.1, decoder=0.2, output=body.pop("output", None))
    return PiT(5, 2, channels=16, heads=4, graphs=graphs, body=Body(layers=2, moments=moments, **body)).double()


@pytest.mark.parametrize("moments", [0, 2])
@pytest.mark.parametrize("output", [None, 0.1])
def test_a_batch_of_two_meshes_is_the_two_alone(moments, output):
    made = model(moments, output=output)
    data = samples()
    assert_batch_independent(made, data, tolerance=1e-11)
    ready = [made.graphs(one) for one in data]
    assert torch.allclose(made(Batch.from_data_list(data)), made(Batch.from_data_list(ready)), atol=1e-12)


@pytest.mark.parametrize("moments", [0, 2])
@pytest.mark.parametrize("output", [None, 0.1])
def test_every_parameter_is_used(moments, output):
    assert_parameters_used(model(moments, output=output), Batch.from_data_list(samples()))


@pytest.mark.parametrize("moments", [0, 2])
def test_the_order_of_points_does_not_matter(moments):
    made, data = model(moments), samples()[0]
    for sample in (data, made.graphs(data)):  # graphs that are built, and graphs that are renumbered
        assert_permutation_equivariant(made, sample, tolerance=1e-10)


@pytest.mark.parametrize("moments", [0, 2])
def test_other_output_points(moments):
    made, data = model(moments), samples()[0]
    asked = PointData(pos=data.pos, x=data.x, pos_latent=data.pos_latent, pos_out=torch.rand(33, 2).double())
    assert made(asked).shape == (33, 2)
    same = PointData(pos=data.pos, x=data.x, pos_latent=data.pos_latent, pos_out=data.pos.clone())
    assert torch.allclose(made(same), made(data), atol=1e-12)  # as if they were not asked for
    rows = torch.tensor([3, 4, 20])
    for sample in (asked, made.graphs(asked)):  # graphs that are found for the rows, and parts of those that are there
        assert torch.allclose(made(sample, rows), made(asked)[rows], atol=1e-12)
        assert torch.allclose(made.in_chunks(sample, 10), made(asked), atol=1e-12)
    many = PointData(pos=data.pos, x=torch.rand(2, 50, 3).double(), pos_latent=data.pos_latent, pos_out=asked.pos_out)
    alone = PointData(pos=data.pos, x=many.x[1], pos_latent=data.pos_latent, pos_out=asked.pos_out)
    assert torch.allclose(made(many)[1], made(alone), atol=1e-12)
    own = PointData(pos=data.pos, x=data.x, pos_latent=data.pos_latent, pos_out=data.pos)  # the input points themselves
    assert torch.allclose(made(Batch.from_data_list([own, own]))[50:], made(data), atol=1e-12)
    several = made(Batch.from_data_list([asked, asked]))
    assert torch.allclose(several[33:], made(asked), atol=1e-12)


@pytest.mark.parametrize("moments", [0, 2])
@pytest.mark.parametrize("output", [None, 0.1])
def test_samples_on_a_shared_mesh(moments, output):
    made, data = model(moments, output=output), samples()[0]
    values = torch.rand(3, 50, 3).double()
    shared = PointData(pos=data.pos, x=values, pos_latent=data.pos_latent)
    alone = [made(PointData(pos=data.pos, x=x, pos_latent=data.pos_latent)) for x in values]
    assert torch.allclose(made(shared), torch.stack(alone), atol=1e-11)


@pytest.mark.parametrize("kind", ["self", "self_position"])
@pytest.mark.parametrize("moments", [0, 2])
def test_self_attention_everywhere(kind, moments):
    made = model(moments, attention=(kind,) * 3, encoder="block", decoder="block")
    data = [PointData(pos=one.pos, x=one.x) for one in samples()]
    assert_batch_independent(made, data, tolerance=1e-11)
    with pytest.raises(ValueError, match="no latent mesh"):
        made(samples()[0])


def test_a_mesh_of_one_point():
    made = model()
    assert torch.isfinite(made(PointData(pos=torch.rand(1, 2).double(), x=torch.rand(1, 3).double()))).all()


def test_duplicated_points():
    data = samples()[0]
    twice = PointData(pos=data.pos.repeat(2, 1), x=data.x.repeat(2, 1), pos_latent=data.pos_latent)
    out = model()(twice)
    assert torch.isfinite(out).all() and torch.allclose(out[:50], out[50:], atol=1e-10)


def test_length_scales_start_between_spacing_and_size():
    made = model(lengths=(0.05, 1.0))
    rows = made.length_scales()
    assert [name for name, _ in rows] == ["encoder", "processor.0", "processor.1", "decoder"]
    processor = rows[1][1]
    assert float(processor[0]) == pytest.approx(0.05, rel=1e-3) and float(processor[-1]) == pytest.approx(1.0, rel=1e-3)


def test_the_same_function_sampled_finer_gives_closer_answers():
    # discretisation convergence: one operator, ever finer random samplings of one function, answers at fixed points
    made = model(0)
    generator = torch.Generator().manual_seed(3)
    latent = torch.rand(30, 2, generator=generator, dtype=torch.float64)
    wanted = torch.rand(20, 2, generator=generator, dtype=torch.float64)

    def answer(size):
        pos = torch.rand(size, 2, generator=generator, dtype=torch.float64)
        x = torch.stack([pos[:, 0].sin(), pos[:, 1].cos(), pos.prod(1)], 1)
        return made(PointData(pos=pos, x=x, pos_latent=latent, pos_out=wanted)).detach()

    exact = torch.stack([answer(20_000) for _ in range(4)]).mean(0)
    errors = [float(torch.stack([(answer(n) - exact).norm() for _ in range(8)]).mean()) for n in (200, 3200)]
    assert errors[1] < errors[0] / 2.5  # sixteen times the points: a quarter of the error, in the mean


def graded_grid(count, strength):
    even = torch.arange(count, dtype=torch.float64) / (count - 1)
    axis = even - strength * torch.sin(2 * math.pi * even) / (2 * math.pi)
    return torch.cartesian_prod(axis, axis)


@pytest.mark.parametrize("strength", [0.75, -0.75])
def test_with_a_quadrature_a_graded_mesh_and_its_uniform_twin_give_closer_answers(strength):
    wanted, body = torch.rand(50, 2).double(), {"lengths": (0.1, 0.5), "moments": 2}

    def apart(quadrature, count):
        torch.manual_seed(0)
        graphs = AttentionGraphs(encoder=1.0, decoder=0.2, quadrature=quadrature)
        made = PiT(4, 2, channels=16, heads=4, graphs=graphs, body=Body(layers=2, **body)).double()
        latent, answers = LatentMesh("regular", cells=(8, 8)), []
        for pos in (graded_grid(count, strength), graded_grid(count, 0.0)):
            x = torch.stack([(3 * pos[:, 0]).sin(), pos.prod(1)], 1)
            answers.append(made(latent(PointData(pos=pos, x=x, pos_out=wanted))).detach())
        return float((answers[0] - answers[1]).norm() / answers[1].norm())

    without, coarse, fine = apart(False, 41), apart(True, 21), apart(True, 41)
    assert fine < without / 20
    assert fine < coarse / 2  # and closer the finer the mesh, where without it they stay apart
    assert without > 0.9 * apart(False, 21)


def test_a_quadrature_is_found_where_it_is_missing_and_kept_where_it_is_given():
    torch.manual_seed(0)
    graphs = AttentionGraphs(encoder=0.1, decoder=0.2, quadrature=True)
    made = PiT(5, 2, channels=16, heads=4, graphs=graphs, body=Body(layers=2)).double()
    data = samples()
    assert_batch_independent(made, data, tolerance=1e-11)
    ready = [made.graphs(one) for one in data]
    assert torch.equal(ready[0].quadrature, quadrature_weights(data[0].pos))
    assert torch.allclose(made(Batch.from_data_list(data)), made(Batch.from_data_list(ready)), atol=1e-12)
    rows = torch.tensor([0, 3, 40])
    assert torch.allclose(made(data[0], rows), made(data[0])[rows], atol=1e-12)
    other = copy.copy(ready[0])
    other.quadrature = torch.ones(50).double()
    plain = PiT(5, 2, channels=16, heads=4, graphs=replace(graphs, quadrature=False), body=made.body).double()
    plain.load_state_dict(made.state_dict())
    assert torch.allclose(made(other), plain(data[0]), atol=1e-12)
    assert not torch.allclose(made(ready[0]), plain(data[0]), atol=1e-3)


def test_a_quadrature_on_a_shared_mesh_compiled_recomputed_and_in_chunks():
    torch.manual_seed(0)
    graphs = AttentionGraphs(encoder=0.1, decoder=0.2, quadrature=True)
    made = PiT(5, 2, channels=16, heads=4, graphs=graphs, body=Body(layers=1, moments=2)).double()
    torch.nn.init.normal_(made.encoder.attention.moments.weight)  # some start at 0
    data = made.graphs(samples()[0])
    whole = made(data)
    assert torch.allclose(made.in_chunks(data, 7), whole, atol=1e-12)
    compiled = torch.compile(made, backend="eager", fullgraph=True)
    assert torch.allclose(compiled(made.prepare(data)), whole, atol=1e-12)
    shared = copy.copy(data)
    shared.x = torch.stack([data.x, 2 * data.x])
    assert torch.allclose(made(shared)[0], whole, atol=1e-12)
    grads = torch.autograd.grad(whole.square().sum(), [*made.parameters()])
    made.checkpoint_activations = True
    again = torch.autograd.grad(made(data).square().sum(), [*made.parameters()])
    assert all(torch.allclose(mine, theirs, atol=1e-12) for mine, theirs in zip(again, grads, strict=True))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: PiT(5, 1, channels=10, heads=4), "divide the encoding dimension"),
        (lambda: PiT(5, 1, graphs=AttentionGraphs(encoder=None)), "quantile for the encoder"),
        (lambda: AttentionGraphs(metric=Metric((1.0, 0.0)), quadrature=True), "no period with 'quadrature'"),
        (lambda: PiTOptions(quadrature=True, period=(1.0, 1.0)), "no 'period' with 'quadrature'"),
        (lambda: PiTOptions(quadrature=True, latent={"method": "input"}), "latent points other than the input points"),
        (lambda: PiTOptions(quadrature=True, attention=("self",) * 3), "latent points other than the input points"),
        (lambda: model().float()(samples()[0]), r"\.float\(\)"),
        (lambda: Body(encoder="modern"), "'encoder'"),
        (lambda: Body(attention=("position", "value", "position")), "'attention'"),
        (lambda: Body(layers=0), "'layers'"),
        (lambda: model()(PointData(pos=torch.rand(9, 2).double(), x=torch.rand(9, 2).double())), "5 input channels"),
        (lambda: model(encoder="block")(samples()[0]), "one point set"),
        (lambda: PointwiseMLP(5, 1)(PointData(pos=torch.rand(9, 2))), "5 input channels"),
        (lambda: PointwiseMLP(2, 1)(PointData(pos=torch.rand(9, 2), pos_out=torch.rand(3, 2))), "output points"),
        (lambda: PointwiseMLP(2, 1, layers=0), "'layers'"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_moments_of_samples_far_apart_in_single_precision():
    torch.manual_seed(0)
    made = PiT(3, 1, channels=16, heads=2, body=Body(layers=1, lengths=(0.05, 1.0), moments=2))
    torch.nn.init.normal_(made.encoder.attention.moments.weight)  # some start at 0
    data = [PointData(pos=torch.rand(60, 2) + shift, x=torch.rand(60, 1)) for shift in (0, 5000)]
    data = [LatentMesh("farthest", number=20)(one) for one in data]
    both = made(Batch.from_data_list(data)).detach()
    assert float((both[:60] - made(data[0])).detach().abs().max()) < 1e-5


@pytest.mark.parametrize(
    ("dimension", "given"),
    [(2, {}), (2, {"body": Body()}), (1, {"body": Body(moments=1)}), (3, {"body": Body(moments=3)})],
)
def test_the_default_is_that_of_a_configuration(dimension, given):
    built = PiTOptions(lengths="random").build(DataSpec(dimension + 2, 1, dimension, 0.1, 1.0))
    made = PiT(dimension + 2, 1, **given)
    assert made.body == built.body and made.body.moments == dimension
    assert made.graphs == built.graphs
    shapes = [{name: value.shape for name, value in part.state_dict().items()} for part in (made, built)]
    assert shapes[0] == shapes[1] and "decoder.attention.moments.weight" in shapes[0]


def test_the_paper_body_says_so():
    made = PiT(4, 1, 16, 2, body=Body(moments=0))
    built = PiTOptions(body="paper", channels=16, heads=2, lengths="random").build(DataSpec(4, 1, 2, 0.1, 1.0))
    assert made.body == built.body
    assert not any("moments" in name for name in made.state_dict())


def test_periods_say_how_many_axes_there_are():
    graphs = AttentionGraphs(0.1, 0.1, metric=Metric((1.0, 0.0, 0.0)))
    made = PiT(4, 1, 16, 2, graphs, Body(layers=1))
    assert made.body.moments == 3
    assert made(PointData(pos=torch.rand(30, 3), x=torch.rand(30, 1))).shape == (30, 1)
    assert PiT(4, 1, 16, 2, body=Body(attention=("self",) * 3)).body.moments == 0


@pytest.mark.parametrize("dimension", [1, 3])
def test_positions_of_other_axes_say_what_to_set(dimension):
    sample = PointData(pos=torch.rand(30, dimension), x=torch.rand(30, 1))
    with pytest.raises(
        ValueError, match=rf"along 2 axes for moments \(got {dimension}\); set 'moments' to {dimension}"
    ):
        PiT(dimension + 1, 1, 16, 2)(sample)
