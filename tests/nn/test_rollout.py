"""Predictions that become inputs."""

import pytest
import torch
from torch import nn

from pitgeo.data import PointData
from pitgeo.nn import PointwiseMLP, Rollout


class Sum(nn.Module):
    """The next value is the sum of the last two: Fibonacci's numbers."""

    def forward(self, data: PointData) -> torch.Tensor:
        return data.x[..., -2:].sum(-1, keepdim=True)


@pytest.mark.parametrize("shape", [(4, 3), (2, 4, 3)])
def test_every_step_is_made_of_the_last_ones(shape):
    data = PointData(pos=torch.rand(4, 2), x=torch.ones(shape))
    out = Rollout(Sum(), 5)(data)
    assert torch.equal(out, torch.tensor([2.0, 3.0, 5.0, 8.0, 13.0]).expand(*shape[:-1], 5))
    assert torch.equal(data.x, torch.ones(shape))


def test_gradients_go_through_all_steps():
    x = torch.ones(4, 3, requires_grad=True)
    Rollout(Sum(), 3)(PointData(pos=torch.rand(4, 2), x=x))[:, 2].sum().backward()
    assert x.grad[0].tolist() == [0.0, 2.0, 3.0]


def test_bad_use_is_refused():
    with pytest.raises(ValueError, match="'steps'"):
        Rollout(Sum(), 0)
    with pytest.raises(ValueError, match="one value"):
        Rollout(PointwiseMLP(5, 2), 2)(PointData(pos=torch.rand(4, 2), x=torch.ones(4, 3)))


def test_other_output_points_are_refused():
    data = PointData(pos=torch.rand(4, 2), x=torch.rand(4, 3), pos_out=torch.rand(4, 2))
    with pytest.raises(ValueError, match="where predictions become inputs"):
        Rollout(Sum(), 2)(data)
