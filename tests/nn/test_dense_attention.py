"""Dense attention as one operator is softmax and products one after the other."""

import pytest
import torch

from pitgeo.graphs.metric import Metric
from pitgeo.nn.kernels import dense_attention as module
from pitgeo.nn.kernels.dense_attention import dense_attention

METRICS = [Metric(divisor=2.0), Metric((1.0, 0.7)), Metric((0.0, 0.3), 0.5)]


def problem(dtype=torch.float64, shared=False, strength=40.0):
    torch.manual_seed(0)
    pos = torch.rand(*(() if shared else (3,)), 25, 2, dtype=dtype)
    value = torch.rand(3, 4, 25, 5, dtype=dtype, requires_grad=True)
    return value, pos, torch.linspace(0.5, strength, 4, dtype=dtype).requires_grad_()


def slow(value, pos, scale, metric=METRICS[0], keys=None):
    squared = metric.pairwise(pos, pos).expand(3, -1, -1)
    logits = -scale.view(-1, 1, 1) * squared.unsqueeze(-3)
    if keys is not None:
        logits = logits.masked_fill(~keys[:, None, None], -torch.inf)
    return logits.softmax(-1) @ value


@pytest.mark.parametrize(("shared", "padded"), [(False, False), (False, True), (True, False), (True, True)])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 1e-5)])
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("pairs", [2**20, 2 * 4 * 25**2, 900, 1])  # all at once, two samples, nine targets, one
def test_values_and_gradients_are_those_of_softmax_and_products(
    monkeypatch, shared, padded, dtype, tolerance, metric, pairs
):
    monkeypatch.setattr(module, "_PAIRS_AT_ONCE", pairs)
    value, pos, scale = problem(dtype, shared)
    keys = torch.arange(25) < torch.tensor([25, 10, 1]).unsqueeze(1) if padded else None
    out, twin = dense_attention(value, pos, scale, metric, keys), slow(value, pos, scale, metric, keys)
    where = torch.ones(3, 25, dtype=torch.bool) if keys is None else keys
    slope = torch.rand_like(out) * where[:, None, :, None]  # places without a point have none
    assert torch.allclose(out * where[:, None, :, None], twin * where[:, None, :, None], atol=tolerance)
    for mine, theirs in zip(
        torch.autograd.grad(out, (value, scale), slope), torch.autograd.grad(twin, (value, scale), slope), strict=True
    ):
        assert torch.allclose(mine, theirs, rtol=100 * tolerance, atol=10 * tolerance)


def test_gradients_are_those_of_finite_differences():
    value, pos, scale = problem()
    assert torch.autograd.gradcheck(lambda v, s: dense_attention(v, pos, s, METRICS[0]), (value, scale))


def test_values_of_another_type_than_positions():
    value, pos, scale = problem()
    single = [part.detach().float().requires_grad_() for part in (pos, scale)]
    out = dense_attention(value, single[0].detach(), single[1], METRICS[0])
    assert out.dtype == torch.float64
    slopes = torch.autograd.grad(out.square().sum(), (value, single[1]))
    assert [slope.dtype for slope in slopes] == [torch.float64, torch.float32]
    twin = dense_attention(value, pos, scale, METRICS[0])
    for mine, theirs in zip(slopes, torch.autograd.grad(twin.square().sum(), (value, scale)), strict=True):
        assert torch.allclose(mine.double(), theirs, rtol=1e-4, atol=1e-5)


def test_one_gradient_alone():
    value, pos, scale = problem()
    for wanted in (value, scale):
        given = [part if part is wanted else part.detach() for part in (value, scale)]
        (both,) = torch.autograd.grad(dense_attention(value, pos, scale, METRICS[0]).square().sum(), wanted)
        (alone,) = torch.autograd.grad(dense_attention(given[0], pos, given[1], METRICS[0]).square().sum(), wanted)
        assert torch.allclose(both, alone, rtol=1e-14)


@pytest.mark.parametrize("strength", [1e3, 1e6, 1e12])
def test_heads_that_see_themselves_alone(strength):
    value, pos, scale = problem(torch.float32, strength=strength)
    out = dense_attention(value, pos, scale, METRICS[0])
    out.sum().backward()
    assert torch.allclose(out, slow(value, pos, scale), atol=1e-5)
    assert bool(torch.isfinite(value.grad).all()) and bool(torch.isfinite(scale.grad).all())


@pytest.mark.parametrize(("dtype", "least"), [(torch.float32, 1e-25), (torch.float64, 1e-50)])
def test_no_number_is_denormal(dtype, least):
    _, pos, scale = problem(dtype, strength=2e4)
    squared = Metric().pairwise(pos, pos)
    assert float(module._weights(squared, scale.detach(), None, slice(None)).min()) > least


def test_no_points():
    value, pos, scale = problem()
    for empty, there in ((value[:, :, :0], pos[:, :0]), (value[:0], pos[:0])):
        out = dense_attention(empty, there, scale, METRICS[0])
        assert out.shape == empty.shape
        assert torch.equal(torch.autograd.grad(out.sum(), scale)[0], torch.zeros(4).double())


def test_the_compiler_knows_the_operators():
    value, pos, scale = problem()
    other = value.detach().transpose(1, 2).contiguous().transpose(1, 2).requires_grad_()  # as the layer has it
    period = METRICS[1].period
    for given, keys in ((value, None), (value, torch.ones(3, 25, dtype=torch.bool)), (other, None)):
        torch.library.opcheck(module._attention, (given, pos, scale, keys, period))
    out, total = (part.detach() for part in module._attention(value, pos, scale, None, period))
    given = (out, value.detach(), pos, scale.detach(), None, out, total, period, True)
    torch.library.opcheck(module._attention_backward, given)
