"""Scalings are undone exactly enough, and survive a checkpoint."""

from __future__ import annotations

import math

import pytest
import torch
from torch_geometric.data import Batch

from pitgeo.config.config import TrainingConfig
from pitgeo.data import PointData
from pitgeo.data.scaling import Scaling
from pitgeo.training import OperatorModule


def fields() -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    shift = torch.tensor([200.0, -1e-3, 5.0])
    spread = torch.tensor([50.0, 1e-4, 0.0])
    return [torch.randn(n, 3, generator=generator) * spread + shift for n in (5, 40, 11)]


def test_scaled_training_fields_have_mean_zero_and_spread_one() -> None:
    scaling = Scaling.fit(fields(), "channel")
    scaled = torch.cat([scaling.scale(field) for field in fields()])
    assert torch.allclose(scaled.mean(0), torch.zeros(3), atol=1e-4)
    assert torch.allclose(scaled.std(0, unbiased=False)[:2], torch.ones(2), atol=1e-4)


def test_a_constant_channel_is_only_shifted() -> None:
    scaling = Scaling.fit(fields(), "channel")
    assert scaling.std[2] == 1
    assert torch.equal(scaling.scale(fields()[0])[:, 2], torch.zeros(5))


def test_equal_values_that_are_not_exact_in_binary_count_as_constant() -> None:
    scaling = Scaling.fit([torch.full((1000, 1), 0.1), torch.full((7, 1), 0.1)], "channel")
    assert scaling.std.item() == 1


@pytest.mark.parametrize("kind", ["none", "channel"])
def test_unscale_undoes_scale(kind: str) -> None:
    scaling = Scaling.fit(fields(), kind)  # type: ignore[arg-type]
    for field in fields():
        assert torch.allclose(scaling.unscale(scaling.scale(field)), field, rtol=1e-5, atol=1e-5)


def test_none_changes_nothing_at_all() -> None:
    scaling = Scaling.fit(fields(), "none")
    assert torch.equal(scaling.scale(fields()[0]), fields()[0])
    assert torch.equal(scaling.unscale(fields()[0]), fields()[0])


def test_no_channels() -> None:
    scaling = Scaling.fit([torch.zeros(4, 0)], "channel")
    assert scaling.scale(torch.zeros(4, 0)).shape == (4, 0)


def test_the_state_dict_is_enough() -> None:
    scaling = Scaling.fit(fields(), "channel")
    other = Scaling.identity(3)
    other.load_state_dict(scaling.state_dict())
    assert torch.equal(other.scale(fields()[1]), scaling.scale(fields()[1]))


def test_float64_fields_stay_float64() -> None:
    assert Scaling.identity(1).scale(torch.zeros(2, 1, dtype=torch.float64)).dtype == torch.float64


def test_mistakes_are_named() -> None:
    with pytest.raises(ValueError, match="at least one field"):
        Scaling.fit([], "channel")
    with pytest.raises(ValueError, match=r"field 1 to have shape \[N, 2\]"):
        Scaling.fit([torch.zeros(3, 2), torch.zeros(3, 1)], "channel")
    with pytest.raises(ValueError, match="finite"):
        Scaling.fit([torch.tensor([[float("nan")]])], "channel")
    with pytest.raises(ValueError, match="'none' or 'channel'"):
        Scaling.fit(fields(), "point")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="3 channels"):
        Scaling.identity(3).scale(torch.zeros(4, 1))
    with pytest.raises(ValueError, match="positive"):
        Scaling(torch.zeros(1), torch.zeros(1))


def test_a_scaling_of_every_point_standardises_every_point() -> None:
    values = torch.randn(50, 12, 2) * torch.linspace(1, 5, 12)[:, None] + 3
    values[:, 0, 0] = 7.0  # a boundary value, the same in all samples
    scaling = Scaling.fit_points(values, (4, 3))
    scaled = scaling.scale(values)
    assert torch.allclose(scaled.mean(0), torch.zeros(12, 2), atol=1e-5)
    assert torch.allclose(scaled.std(0, unbiased=False)[1:], torch.ones(11, 2), atol=1e-4)
    assert torch.equal(scaled[:, 0, 0], torch.zeros(50))
    assert torch.allclose(scaling.unscale(scaled), values, atol=1e-4)
    assert float(scaling.std[0, 0]) < 0.05  # and predictions stay near it


def test_a_scaling_of_every_point_carries_over_to_other_resolutions() -> None:
    def grid(number: int) -> torch.Tensor:
        axis = torch.linspace(0, 1, number)
        return (2 * axis[:, None] + axis[None]).reshape(-1, 1)  # bilinear: interpolated without error

    coarse = Scaling(grid(5), 1 + grid(5), (5, 5))
    fine = coarse.unscale(torch.zeros(81, 1), (9, 9))
    assert torch.allclose(fine, grid(9), atol=1e-6)
    assert torch.allclose(coarse.scale(torch.zeros(3, 81, 1), (9, 9)), (-grid(9) / (1 + grid(9))).expand(3, -1, -1))
    loaded = Scaling(torch.zeros(25, 1), torch.ones(25, 1), (5, 5))
    loaded.load_state_dict(coarse.state_dict())
    assert torch.equal(loaded.unscale(torch.zeros(81, 1), (9, 9)), fine)


def test_a_scaling_of_every_point_refuses_other_points() -> None:
    with pytest.raises(ValueError, match="another resolution"):
        Scaling(torch.zeros(25, 1), torch.ones(25, 1)).scale(torch.zeros(24, 1))
    with pytest.raises(ValueError, match="25 points of a grid"):
        Scaling(torch.zeros(24, 1), torch.ones(24, 1), (5, 5))


@pytest.mark.parametrize("grid", [(3, 4), (5, 4), None])
def test_some_points_are_unscaled_as_among_all(grid):
    own = Scaling(torch.rand(12, 2), 0.5 + torch.rand(12, 2), grid=(3, 4), logs=[1])
    points = 12 if grid is None else math.prod(grid)
    x, rows = torch.rand(2 * points, 2), torch.tensor([0, 5, points, 2 * points - 1])
    batch = torch.arange(2).repeat_interleave(points)
    whole = own.unscale(x, grid, batch)
    assert torch.equal(own.unscale(x[rows], grid, batch, (rows, 2 * points)), whole[rows])
    shared = x.reshape(2, points, 2)
    assert torch.equal(own.unscale(shared, grid).flatten(0, 1), whole)
    assert torch.equal(
        own.unscale(shared[:, rows[:2]], grid, None, (rows[:2], points)), own.unscale(shared, grid)[:, rows[:2]]
    )
    channel = Scaling(torch.rand(2), 0.5 + torch.rand(2))
    assert torch.equal(channel.unscale(x[rows], grid, batch, (rows, 2 * points)), channel.unscale(x, grid)[rows])
    with pytest.raises(ValueError, match="12 points that the scaling was fitted to"):
        own.unscale(x[rows], None, None, (rows, 2 * points + 1))


@pytest.mark.parametrize(
    ("points", "batch"),
    [
        (512, None),  # one sample, twice as many points
        (768, None),
        (512, [0] * 512),
        (512, [0] * 200 + [1] * 312),  # two samples of other sizes, as many points together
        (256, [0] * 128 + [1] * 128),
        (1024, [0] * 512 + [1] * 512),
    ],
)
def test_a_scaling_of_every_point_is_not_repeated_over_a_sample(points, batch):
    scaling = Scaling(torch.rand(256, 1), 0.5 + torch.rand(256, 1))
    numbers = None if batch is None else torch.tensor(batch)
    for change in (scaling.scale, scaling.unscale):
        with pytest.raises(ValueError, match=r"256 points that the scaling was fitted to.*take 'channel'"):
            change(torch.rand(points, 1), None, numbers)
    with pytest.raises(ValueError, match="256 points"):
        scaling.unscale(torch.rand(2, 1), None, numbers, (torch.tensor([0, 3]), points))
    x, two = torch.rand(512, 1), torch.arange(2).repeat_interleave(256)
    assert torch.equal(scaling.scale(x, None, two), torch.cat([scaling.scale(x[:256]), scaling.scale(x[256:])]))


def test_a_module_with_a_scaling_of_every_point_refuses_other_points() -> None:
    scaling, other = Scaling(torch.rand(256, 1), 0.5 + torch.rand(256, 1)), Scaling.identity(1)

    class Same(torch.nn.Module):
        def forward(self, data: PointData) -> torch.Tensor:
            return data.x

    def batch(*sizes: int) -> PointData:
        return Batch.from_data_list([PointData(pos=torch.rand(n, 2), x=torch.rand(n, 1)) for n in sizes])

    for inputs, targets in ((scaling, other), (other, scaling)):
        module = OperatorModule(Same(), inputs, targets, TrainingConfig())
        for data in (PointData(pos=torch.rand(512, 2), x=torch.rand(512, 1)), batch(512), batch(200, 312)):
            with pytest.raises(ValueError, match="256 points that the scaling was fitted to"):
                module(data)
        data = batch(256, 256)
        change = targets.unscale if inputs is other else inputs.scale
        expected = torch.cat([change(part) for part in data.x.split(256)])
        assert torch.equal(module(data), expected)


def test_logarithms_of_some_channels():
    values = torch.tensor([[1.0, 5.0], [100.0, 7.0], [10_000.0, 9.0]])
    scaling = Scaling.fit([values[:1], values[1:]], "channel", [0])
    assert scaling.mean.tolist() == pytest.approx([math.log(100), 7.0])
    assert scaling.std.tolist() == pytest.approx([math.log(100) * math.sqrt(2 / 3), math.sqrt(8 / 3)], rel=1e-6)
    scaled = scaling.scale(values)
    assert torch.allclose(scaled.mean(0), torch.zeros(2), atol=1e-6)
    assert torch.allclose(scaling.unscale(scaled), values, rtol=1e-5)
    assert (scaling.unscale(torch.full((3, 2), -5.0))[:, 0] > 0).all()
    with pytest.raises(ValueError, match=r"positive values .*\(got 0 in field 1\); leave the name out of scaling.log"):
        Scaling.fit([values, values * 0], "channel", [0])


def test_logarithms_have_finite_gradients_beside_channels_without():
    scaling = Scaling(torch.zeros(2), torch.ones(2), (), [1])
    x = torch.tensor([[-3.0, 2.0]], requires_grad=True)
    scaling.scale(x).sum().backward()
    assert x.grad.tolist() == [[1.0, 0.5]]
    y = torch.tensor([[1e4, 1.0]], requires_grad=True)  # whose exponential would overflow
    scaling.unscale(y).sum().backward()
    assert y.grad.tolist() == [[1.0, pytest.approx(math.e)]]


def test_fields_one_by_one_give_what_all_together_do():
    generator = torch.Generator().manual_seed(0)
    fields = [1e4 + torch.rand(count, 2, generator=generator) for count in (3, 50, 7)]
    scaling, whole = Scaling.fit(iter(fields), "channel"), torch.cat(fields).double()
    assert torch.allclose(scaling.mean.double(), whole.mean(0), rtol=1e-7)
    assert torch.allclose(scaling.std.double(), whole.std(0, correction=0), rtol=1e-6)
