"""The dense-batch layers against their twins."""

import pytest
import torch

from pitgeo.data import PointData
from pitgeo.graphs.metric import Metric
from pitgeo.nn import DenseLayout, GlobalPositionAttention, SelfAttention, SelfPositionAttention
from pitgeo.testing import (
    assert_linear_in_values,
    assert_permutation_equivariant,
    assert_rigid_motion_invariant,
)
from tests.reference import position_attention, squared_distances


def layer(kind, *arguments, dtype=torch.float64, **options):
    torch.manual_seed(0)
    made = kind(*arguments, **options).to(dtype)
    if hasattr(made, "scale"):
        made.scale.raw.data.mul_(3)
    return made


def twin(made, x, pos):
    squared = squared_distances(pos, pos, made.metric.period) / made.metric.divisor
    return position_attention(x, made.scale(), squared, made.value.weight)


@pytest.mark.parametrize("backend", ["expansion", "fused", "dense"])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-10), (torch.float32, 1e-5)])
@pytest.mark.parametrize(("dimension", "channels"), [(1, 8), (2, 8), (3, 4), (3, 32)])
def test_it_equals_the_dense_formula(backend, dtype, tolerance, dimension, channels):
    made = layer(
        GlobalPositionAttention, 6, channels, heads=4, metric=Metric(divisor=2.0), backend=backend, dtype=dtype
    )
    x, pos = torch.rand(2, 90, 6, dtype=dtype, requires_grad=True), torch.rand(2, 90, dimension, dtype=dtype)
    out = made(x, pos)
    slow = torch.stack([twin(made, *one) for one in zip(x, pos, strict=True)])
    assert float((out - slow).detach().abs().max()) < tolerance
    direction = torch.rand_like(out)
    parts = (x, made.scale.raw, made.value.weight)
    for mine, theirs in zip(
        torch.autograd.grad(out, parts, direction), torch.autograd.grad(slow, parts, direction), strict=True
    ):
        assert float((mine - theirs).abs().max() / theirs.abs().max()) < 10 * tolerance


@pytest.mark.parametrize("backend", ["expansion", "fused", "dense"])
def test_gradcheck(backend):
    made = layer(GlobalPositionAttention, 3, 4, heads=2, backend=backend)

    def call(x, pos, raw):
        return torch.func.functional_call(made, {"scale.raw": raw}, (x, pos))

    x, pos = torch.rand(2, 6, 3).double().requires_grad_(), torch.rand(2, 6, 2).double().requires_grad_()
    assert torch.autograd.gradcheck(call, (x, pos, made.scale.raw.detach().clone().requires_grad_()))


KINDS = [
    (GlobalPositionAttention, {"backend": "expansion"}),
    (GlobalPositionAttention, {"backend": "fused"}),
    (GlobalPositionAttention, {"backend": "dense"}),
    (GlobalPositionAttention, {"backend": "auto"}),
    (SelfPositionAttention, {"backend": "fused"}),
    (SelfPositionAttention, {"backend": "dense"}),
    (SelfPositionAttention, {"backend": "auto"}),
    (SelfAttention, {}),
]


@pytest.mark.parametrize(("kind", "options"), KINDS)
def test_samples_of_unequal_size_are_those_alone(kind, options):
    made = layer(kind, 5, 8, heads=2, **options)
    sizes = (50, 70, 0, 1)
    batch = torch.arange(4).repeat_interleave(torch.tensor(sizes))
    x, pos = torch.rand(121, 5).double().requires_grad_(), torch.rand(121, 2).double()
    layout = DenseLayout.of(batch, 121, 4)
    out = layout.flat(made(layout.dense(x), layout.dense(pos), layout.mask))
    start = 0
    for size in (50, 70, 1):
        alone = made(x[None, start : start + size], pos[None, start : start + size])[0]
        assert torch.allclose(out[start : start + size], alone, atol=1e-11)
        start += size
    out.sum().backward()
    assert torch.isfinite(x.grad).all()


@pytest.mark.parametrize(("kind", "options"), KINDS)
def test_a_sample_that_is_all_padding_spoils_nothing(kind, options):
    made = layer(kind, 5, 8, heads=2, **options)
    x, pos = torch.rand(2, 6, 5).double(), torch.rand(2, 6, 2).double()
    mask = torch.tensor([[True] * 6, [False] * 6])
    out = made(x, pos, mask)
    assert torch.allclose(out[:1], made(x[:1], pos[:1]), atol=1e-12)
    out[0].sum().backward()
    assert all(p.grad is None or torch.isfinite(p.grad).all() for p in made.parameters())


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor:UserWarning")  # the compiler looks
@pytest.mark.parametrize(("kind", "options"), KINDS)
def test_compiled_layers_give_the_same(kind, options):
    made = layer(kind, 5, 8, heads=2, **options, dtype=torch.float32)
    x, pos = torch.rand(2, 20, 5), torch.rand(2, 20, 2)
    out = made(x, pos)
    assert torch.allclose(torch.compile(made, backend="eager", fullgraph=True)(x, pos), out, atol=1e-6)


@pytest.mark.parametrize("kind", [GlobalPositionAttention, SelfPositionAttention])
def test_samples_on_a_shared_mesh(kind):
    made = layer(kind, 5, 8, heads=2)
    x, pos = torch.rand(3, 40, 5).double(), torch.rand(40, 2).double()
    assert torch.allclose(made(x, pos), made(x, pos.expand(3, -1, -1)), atol=1e-12)


def test_periodic_domains_take_the_dense_form():
    made = layer(GlobalPositionAttention, 5, 8, heads=2, metric=Metric((1.0, 1.0)))
    x, pos = torch.rand(1, 40, 5).double(), torch.rand(1, 40, 2).double()
    assert torch.allclose(made(x, pos)[0], twin(made, x[0], pos[0]), atol=1e-12)
    assert not made.is_fused
    with pytest.raises(ValueError, match="periodic"):
        GlobalPositionAttention(5, 8, metric=Metric((1.0,)), backend="fused")


@pytest.mark.parametrize("strength", [1.0, 100.0, 1e3, 1e4, 1e6])
@pytest.mark.parametrize("shift", [0.0, 10.0])
@pytest.mark.parametrize("moves", [False, True])  # whether positions have a gradient
def test_auto_is_accurate_in_single_precision_whatever_lambda_and_origin(strength, shift, moves):
    made = layer(GlobalPositionAttention, 4, 8, dtype=torch.float32)
    made.scale.raw.data.fill_(strength**0.5)
    x, pos = torch.rand(1, 200, 4), torch.rand(1, 200, 2) + shift
    exact = twin(made.double(), x[0].double(), pos[0].double())
    made.float()
    error = float((made(x, pos.requires_grad_(moves))[0] - exact).detach().abs().max() / exact.detach().abs().max())
    assert error < 1e-5
    assert made.is_fused == (moves and strength <= 100)


def test_self_position_attention_equals_the_formula():
    for backend in ("fused", "dense"):
        made = layer(SelfPositionAttention, 5, 8, heads=2, backend=backend)
        x, pos = torch.rand(30, 5).double(), torch.rand(30, 2).double()
        heads = []
        for head in range(2):
            q, k, v = (part.weight.chunk(2)[head] for part in (made.query, made.key, made.value))
            logits = -made.scale()[head] * squared_distances(pos, pos) + (x @ q.T) @ (x @ k.T).T / 4**0.5
            heads.append(logits.softmax(-1) @ (x @ v.T))
        assert torch.allclose(made(x[None], pos[None])[0], torch.cat(heads, -1), atol=1e-12)


def test_self_attention_ignores_positions():
    made = layer(SelfAttention, 5, 8, heads=2)
    x = torch.rand(2, 30, 5).double()
    assert torch.equal(made(x), made(x, torch.rand(2, 30, 2).double()))
    logits = made.query(x).unflatten(-1, (2, 4)).transpose(1, 2) @ made.key(x).unflatten(-1, (2, 4)).permute(0, 2, 3, 1)
    slow = (logits / 2).softmax(-1) @ made.value(x).unflatten(-1, (2, 4)).transpose(1, 2)
    assert torch.allclose(made(x), slow.transpose(1, 2).flatten(2), atol=1e-12)


def test_weights_sum_to_one_and_vanish_rather_than_turn_denormal():
    made = layer(GlobalPositionAttention, 2, 2, dtype=torch.float32)
    made.scale.raw.data.fill_(100.0)
    weights = made.attention_weights(torch.rand(2, 100, 2))
    assert torch.allclose(weights.sum(-1), torch.ones(2, 1, 100))
    assert float(weights.detach()[weights > 0].min()) > torch.finfo(torch.float32).tiny


def test_linear_rigid_permutation():
    made = layer(GlobalPositionAttention, 4, 6, heads=3)
    sample = PointData(pos=torch.rand(50, 3).double(), x=torch.rand(50, 4).double())

    def call(data):
        return made(data.x[None], data.pos[None])[0]

    assert_linear_in_values(call, sample, tolerance=1e-12)
    assert_rigid_motion_invariant(call, sample, tolerance=1e-10)
    assert_permutation_equivariant(call, sample, tolerance=1e-12)


def test_bfloat16_autocast_keeps_geometry_in_single_precision():
    made = layer(GlobalPositionAttention, 16, 16, heads=2, dtype=torch.float32, lengths=(0.1, 0.5))
    x, pos = torch.rand(2, 60, 16), torch.rand(2, 60, 2)
    exact = made(x, pos)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = made(x, pos)
    assert float((out - exact).detach().abs().max()) < 0.02 * float(exact.detach().abs().max())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m(torch.rand(5, 4), torch.rand(5, 2)), r"\[B, N, 4\]"),
        (lambda m: m(torch.rand(2, 5, 3), torch.rand(2, 5, 2)), r"\[B, N, 4\]"),
        (lambda m: m(torch.rand(2, 5, 4), torch.rand(2, 6, 2)), "'pos'"),
        (lambda m: m(torch.rand(2, 5, 4), torch.rand(2, 5, 2), torch.ones(2, 4).bool()), "'mask'"),
        (lambda m: m(torch.rand(2, 5, 4), torch.rand(2, 5, 2), torch.ones(2, 5)), "boolean"),
        (lambda m: SelfPositionAttention(4, 4, backend="fast"), "backend"),
        (lambda m: GlobalPositionAttention(4, 4, backend="fast"), "backend"),
        (lambda m: GlobalPositionAttention(4, 4, heads=3), "heads"),
        (lambda m: SelfPositionAttention(4, 4)(torch.rand(1, 5, 4)), "'pos'"),
        (lambda m: DenseLayout.of(torch.tensor([1, 0]), 2), "sorted"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call(GlobalPositionAttention(4, 4))
