"""Muon's batched steps beside torch's, one matrix at a time."""

import copy

import pytest
import torch
from torch import nn

from pitgeo.training.muon import Muon

SHAPES = [(24, 24), (24, 40), (40, 24), (24, 24), (40, 40), (16, 24)]


def matrices(dtype=torch.float32):
    torch.manual_seed(0)
    return [nn.Parameter(torch.randn(shape, dtype=dtype)) for shape in SHAPES]


def torchs(weights, **options):
    return torch.optim.Muon(weights, adjust_lr_fn="match_rms_adamw", **options)


def set_gradients(weights, number, rank=None):
    torch.manual_seed(number)
    for weight in weights:
        rows, columns = weight.shape
        inner = rank or max(rows, columns)
        weight.grad = torch.randn(rows, inner).matmul(torch.randn(inner, columns)).to(weight.dtype)


@pytest.mark.parametrize("rank", [None, 3], ids=["full rank", "rank 3"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_steps_are_torchs(dtype, rank):
    mine, theirs = matrices(dtype), matrices(dtype)
    optimizers = Muon(mine, 0.01, 0.1), torchs(theirs, lr=0.01, weight_decay=0.1)
    for number in range(4):
        for weights, optimizer in zip((mine, theirs), optimizers, strict=True):
            set_gradients(weights, number, rank)
            optimizer.step()
    for before, a, b in zip(matrices(dtype), mine, theirs, strict=True):
        moved = (b - before).norm()
        assert moved > 0.1 and (a - b).norm() < 0.01 * moved  # a step of bfloat16 is 0.004 of a number
    for a, b in zip(mine, theirs, strict=True):
        kept = [
            optimizer.state[weight]["momentum_buffer"] for optimizer, weight in zip(optimizers, (a, b), strict=True)
        ]
        assert torch.equal(*kept)


def test_a_run_of_torchs_optimizer_goes_on():
    mine, theirs = matrices(), matrices()
    first = torchs(theirs, lr=0.01, weight_decay=0.0)
    set_gradients(theirs, 0)
    first.step()
    ours = Muon(mine, 0.5, 0.5)
    ours.load_state_dict(copy.deepcopy(first.state_dict()))
    for a, b in zip(mine, theirs, strict=True):
        a.data.copy_(b)
    for weights, optimizer in ((mine, ours), (theirs, first)):
        set_gradients(weights, 1)
        optimizer.step()
    assert all(torch.allclose(a, b, rtol=0, atol=1e-4) for a, b in zip(mine, theirs, strict=True))


def test_a_weight_without_a_gradient_stays_and_a_closure_runs_first():
    weights = matrices()
    before = [weight.detach().clone() for weight in weights]
    optimizer = Muon(weights, 0.01, 0.1)

    def closure():
        loss = weights[1].square().sum()
        loss.backward()
        return float(loss.detach())

    assert optimizer.step(closure) == pytest.approx(float(before[1].square().sum()))
    assert [torch.equal(a, b) for a, b in zip(weights, before, strict=True)] == [True, False, *[True] * 4]


def test_zero_gradients_move_nothing():
    weights = matrices()
    for weight in weights:
        weight.grad = torch.zeros_like(weight)
    Muon(weights, 0.01, 0.0).step()
    assert all(torch.equal(a, b) for a, b in zip(weights, matrices(), strict=True))
