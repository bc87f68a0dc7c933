"""A mixture of experts is the weighted mean of networks one by one."""

import pytest
import torch
from torch import nn

from pitgeo.models.experts import Experts, PositionGate

from .common import stirred


def alone(experts, number):
    """One of the experts as a network of linear layers."""
    _, channels, hidden = experts.first.shape
    network = nn.Sequential(nn.Linear(channels, hidden), nn.GELU(), nn.Linear(hidden, channels)).double()
    with torch.no_grad():
        network[0].weight.copy_(experts.first[number].T)
        network[0].bias.copy_(experts.first_bias[number])
        network[2].weight.copy_(experts.second[number].T)
        network[2].bias.copy_(experts.second_bias[number])
    return network


@pytest.mark.parametrize("count", [1, 3])
def test_it_is_a_weighted_mean_of_networks(count):
    experts = stirred(Experts(4, 6, count))
    x, gates = torch.randn(2, 5, 4).double(), torch.rand(2, 5, count).double()
    expected = sum(gates[..., [number]] * alone(experts, number)(x) for number in range(count))
    assert torch.allclose(experts(x, gates), expected, atol=1e-12)


def test_an_expert_alone_where_the_gate_says_so():
    experts, x = stirred(Experts(4, 6, 3)), torch.randn(5, 4).double()
    chosen = torch.tensor([0, 2, 1, 1, 0])
    out = experts(x, nn.functional.one_hot(chosen, 3).double())
    for row, number in enumerate(chosen.tolist()):
        assert torch.allclose(out[row], alone(experts, number)(x[row]), atol=1e-12)


def test_experts_start_as_linear_layers_do():
    experts = Experts(64, 256, 2)
    for part, fan in ((experts.first, 64), (experts.second, 256), (experts.first_bias, 64), (experts.second_bias, 256)):
        bound = fan**-0.5
        assert 0.9 * bound < part.abs().max() <= bound and abs(part.std() * 3**0.5 / bound - 1) < 0.15


def test_gates_are_shares_of_one_and_see_positions_in_single_precision():
    gate = PositionGate(2, 16, 3)
    pos = torch.rand(50, 2)
    gates = gate(pos)
    assert (gates > 0).all() and torch.allclose(gates.sum(-1), torch.ones(50)) and gates.std(0).min() > 0
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(gate(pos), gates)


def test_gradients():
    experts, x = stirred(Experts(3, 4, 2)), torch.randn(5, 3).double().requires_grad_()
    gates = torch.rand(5, 2).double().requires_grad_()
    assert torch.autograd.gradcheck(experts, (x, gates))


def test_no_experts_are_refused():
    with pytest.raises(ValueError, match="'experts' to be at least 1"):
        PositionGate(2, 16, 0)
