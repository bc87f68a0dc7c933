"""Optimisers: which weights Muon moves and how far, and that several are as one."""

import copy

import pytest
import torch
from torch import nn

from pitgeo.config.config import TrainingConfig
from pitgeo.models.experts import Experts
from pitgeo.models.linear_attention import _HeadNorm
from pitgeo.nn import Body, PiT
from pitgeo.training.optimizers import Optimizers, make_optimizer


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 32), nn.GELU(), nn.Linear(32, 48), nn.GELU(), nn.Linear(48, 1))


def training(**options):
    return TrainingConfig(**{"learning_rate": 0.01, "optimizer": "muon", **options})


def convention(model):
    """Decay of matrices alone."""
    weights = list(model.parameters())
    vectors = {"params": [weight for weight in weights if weight.dim() == 1], "weight_decay": 0.0}
    return [{"params": [weight for weight in weights if weight.dim() == 2]}, vectors]


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
    adamw = torch.optim.AdamW(convention(other), lr=0.01, weight_decay=0.1)
    step(other, adamw, 0)
    for (name, mine), theirs in zip(model.named_parameters(), other.parameters(), strict=True):
        assert torch.allclose(mine, theirs, rtol=1e-6, atol=1e-8) == (name != "2.weight"), name


@pytest.mark.parametrize("kind", ["adam", "adamw"])
def test_the_fused_step_is_that_of_torch(kind):
    model, other = network(), network()
    mine = make_optimizer(model, training(optimizer=kind, weight_decay=0.1))
    theirs = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[kind](
        other.parameters() if kind == "adam" else convention(other), lr=0.01, weight_decay=0.1, fused=False
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


class Everything(nn.Module):
    """Weights of every kind that models here have."""

    def __init__(self):
        super().__init__()
        self.pit = PiT(3, 1, 16, 2, body=Body(layers=1))
        self.experts, self.heads = Experts(16, 16, experts=20), _HeadNorm(2, 8)
        self.norm, self.shift = nn.LayerNorm((4, 16)), nn.Parameter(torch.ones(()))
        self.kernel, self.spectrum = nn.Conv1d(3, 3, 3), nn.Parameter(torch.ones(4, 4, dtype=torch.complex64))


@pytest.mark.parametrize("kind", ["adamw", "muon"])
def test_weights_that_multiply_values_decay_and_no_others(kind):
    """A step without a gradient's direction: what decays is multiplied by 1 - rate * decay, all else is as it was."""
    model = Everything()
    before = copy.deepcopy(model.state_dict())
    optimizer = make_optimizer(model, training(optimizer=kind, weight_decay=0.1))
    for weight in model.parameters():
        weight.grad = torch.zeros_like(weight)
    optimizer.step()
    decayed = set()
    for name, weight in model.named_parameters():
        if torch.equal(weight, before[name]):
            continue
        decayed.add(name)
        assert torch.allclose(weight.detach(), before[name] * (1 - 0.01 * 0.1), rtol=1e-6), name
    zero = {name for name, weight in before.items() if not weight.any()}
    vectors = {name for name, weight in before.items() if weight.dim() < 2}
    spared = {"experts.first_bias", "experts.second_bias", "heads.weight", "heads.bias", "norm.weight", "norm.bias"}
    assert "pit.encoder.attention.scale.raw" in vectors and "pit.head.0.bias" in vectors
    assert decayed == before.keys() - vectors - spared - zero


def test_adam_is_that_of_the_papers_with_a_penalty_on_all_weights():
    model = Everything()
    (group,) = make_optimizer(model, training(optimizer="adam", weight_decay=0.1)).param_groups
    assert group["weight_decay"] == 0.1 and len(group["params"]) == len(list(model.parameters()))


@pytest.mark.parametrize("kind", ["adamw", "muon"])
def test_without_decay_there_is_one_group_as_ever(kind):
    made = make_optimizer(network(), training(optimizer=kind))
    assert len((made.parts[0] if kind == "muon" else made).param_groups) == 1


@pytest.mark.parametrize("kind", ["adamw", "muon"])
def test_a_state_with_decay_of_all_weights_is_refused_with_what_to_do(kind):
    model = network()
    made = make_optimizer(model, training(optimizer=kind, weight_decay=0.1))
    part = made.parts[0] if kind == "muon" else made
    weights = [weight for group in part.param_groups for weight in group["params"]]
    state = torch.optim.AdamW(weights, lr=0.01, weight_decay=0.1).state_dict()
    with pytest.raises(ValueError, match=r"weight_decay = 0.1 on all weights.*start from it by training.start_from"):
        part.load_state_dict(state)
