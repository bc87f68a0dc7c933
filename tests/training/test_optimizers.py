"""Optimisers: which weights Muon moves and how far, and that several are as one."""

import copy

import pytest
import torch
from torch import nn

from pitgeo.config import TrainingConfig
from pitgeo.training.optimizers import Optimizers, make_optimizer


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 32), nn.GELU(), nn.Linear(32, 48), nn.GELU(), nn.Linear(48, 1))


def training(**options):
    return TrainingConfig(**{"learning_rate": 0.01, "optimizer": "muon", **options})


def step(model, optimizer, number):
    torch.manual_seed(number)
    optimizer.zero_grad()
    x = torch.rand(20, 3)
    (model(x) - x.prod(1, keepdim=True)).square().mean().backward()
    optimizer.step()


def test_muon_moves_what_lies_between_hidden_layers_and_adamw_the_rest():
    model, other = network(), network()
    optimizer = make_optimizer(model, training(weight_decay=0.1))
    hidden = model[2].weight
    before = hidden.detach().clone()
    step(model, optimizer, 0)
    move = (before * (1 - 0.01 * 0.1) - hidden).detach()
    sizes, slopes = torch.linalg.svdvals(move) / (0.01 * 0.2 * 48**0.5), torch.linalg.svdvals(hidden.grad)
    assert float(slopes[4] / slopes[0]) < 0.1  # directions of very unequal gradients move alike, at AdamW's scale
    assert 0.4 < float(sizes[4]) <= float(sizes[0]) < 1.4
    adamw = torch.optim.AdamW(other.parameters(), lr=0.01, weight_decay=0.1)
    step(other, adamw, 0)
    for (name, mine), theirs in zip(model.named_parameters(), other.parameters(), strict=True):
        assert torch.allclose(mine, theirs, rtol=1e-6, atol=1e-8) == (name != "2.weight"), name


@pytest.mark.parametrize("kind", ["adam", "adamw"])
def test_the_fused_step_is_that_of_torch(kind):
    model, other = network(), network()
    mine = make_optimizer(model, training(optimizer=kind, weight_decay=0.1))
    theirs = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[kind](
        other.parameters(), lr=0.01, weight_decay=0.1, fused=False
    )
    assert mine.defaults["fused"]
    for number in range(3):
        step(model, mine, number), step(other, theirs, number)
    for a, b in zip(model.parameters(), other.parameters(), strict=True):
        assert torch.allclose(a, b, rtol=1e-4, atol=1e-6)


def test_complex_weights_and_mixed_precision_take_the_plain_step():
    weights = nn.ParameterList([nn.Parameter(torch.ones(20, 20, dtype=torch.complex64)), nn.Parameter(torch.ones(2))])
    optimizer = make_optimizer(weights, training(optimizer="adamw"))
    assert not optimizer.defaults["fused"]
    (part,) = make_optimizer(weights, training()).parts  # Muon takes no complex ones
    assert type(part) is torch.optim.AdamW and not part.defaults["fused"]
    assert not make_optimizer(network(), training(optimizer="adamw", precision="bf16")).defaults["fused"]


def test_a_model_without_hidden_matrices():
    model = nn.Linear(3, 1)
    optimizer = make_optimizer(model, training())
    assert [type(part) for part in optimizer.parts] == [torch.optim.AdamW]
    step(model, optimizer, 0)


def test_state_goes_and_comes_back(tmp_path):
    model = network()
    optimizer = make_optimizer(model, training())
    for number in range(3):
        step(model, optimizer, number)
    torch.save([model.state_dict(), optimizer.state_dict()], tmp_path / "kept.pt")
    again = network()
    restored = make_optimizer(again, training())
    weights, state = torch.load(tmp_path / "kept.pt", weights_only=True)
    again.load_state_dict(weights), restored.load_state_dict(state)
    assert set(restored.state) == set(again.parameters())
    for one in (optimizer, restored):
        for group in one.param_groups:  # as a schedule does
            group["lr"] = 0.005
    assert [group["lr"] for part in restored.parts for group in part.param_groups] == [0.005, 0.005]
    for number in range(3, 6):
        step(model, optimizer, number), step(again, restored, number)
    for a, b in zip(model.parameters(), again.parameters(), strict=True):
        assert torch.equal(a, b)


def test_a_closure_runs_once():
    model, calls = network(), []
    optimizer = make_optimizer(model, training())
    before = copy.deepcopy(model.state_dict())

    def closure():
        calls.append(torch.is_grad_enabled())
        loss = model(torch.rand(5, 3)).square().mean()
        loss.backward()
        return loss

    with torch.no_grad():
        assert float(optimizer.step(closure).detach()) > 0
    assert calls == [True] and isinstance(optimizer, Optimizers)
    assert not any(torch.equal(before[name], weight) for name, weight in model.state_dict().items())
