"""The shift-DeepONet: sums by loops, and jumps that few fixed functions cannot hold."""

import pytest
import torch

from pitgeo.data import PointData
from pitgeo.models.model_options import DataSpec
from pitgeo.models.sensors import Sensors
from pitgeo.models.shift_deeponet import ShiftDeepONet, ShiftDeepONetOptions

from .common import fit_randomly
from .test_deeponet import model as deeponet
from .test_deeponet import sample


def model(mesh="shared", **options):
    return deeponet(mesh, kind=ShiftDeepONet, **options)


@pytest.mark.parametrize("outputs", [None, 4])
@pytest.mark.parametrize("mesh", ["shared", "own"])
def test_every_function_is_taken_at_its_own_coordinates(mesh, outputs):
    made, data = model(mesh), sample(outputs=outputs)
    readings = (data.x if mesh == "shared" else torch.cat([data.pos / 2.0, data.x], 1)).reshape(-1)
    coefficients, scale, shift = made.branch(readings), made.scale(readings), made.shift(readings)
    expected = []
    for point in data.points("output")[0]:
        row = made.bias.clone()
        for number in range(15):  # the functions of one output channel after those of another
            matrix = scale[4 * number : 4 * number + 4].reshape(2, 2)
            place = matrix @ (point / 2.0) + shift[2 * number : 2 * number + 2]
            row[number // 5] = row[number // 5] + coefficients[number] * made.trunk(place)[number]
        expected.append(row)
    assert torch.allclose(made(data), torch.stack(expected), atol=1e-12)


def test_without_shift_and_scale_it_is_a_deeponet():
    made, data = model(), sample(outputs=6)
    with torch.no_grad():
        made.scale[-1].weight.zero_()
        made.shift[-1].weight.zero_()
        made.shift[-1].bias.zero_()
    coefficients = made.branch(data.x.reshape(-1)).reshape(3, 5)
    basis = made.trunk(data.pos_out / 2.0).reshape(6, 3, 5)
    assert torch.allclose(made(data), (coefficients * basis).sum(-1) + made.bias, atol=1e-12)


def test_number_of_parameters():
    made = ShiftDeepONet(Sensors(4, 2, 100), 3, basis=10, width=8, layers=2)
    counts = [inputs * 8 + 8 + 8 * 8 + 8 + 8 * outputs + outputs for inputs, outputs in ((200, 30), (2, 30))]
    counts += [200 * 8 + 8 + 8 * 8 + 8 + 8 * outputs + outputs for outputs in (30 * 4, 30 * 2)]
    assert sum(parameter.numel() for parameter in made.parameters()) == sum(counts) + 3


def test_coordinates_move_in_single_precision_under_autocast():
    torch.manual_seed(0)
    made, seen = model().float(), []
    made.trunk[0].register_forward_pre_hook(lambda layer, inputs: seen.append(inputs[0]))
    data = sample(outputs=40).apply(lambda value: value.float() if value.is_floating_point() else value)
    exact = made(data)
    with torch.autocast("cpu", torch.bfloat16):
        found = made(data)
    assert torch.equal(seen[0], seen[1]) and seen[1].dtype == torch.float32
    assert 0 < (found - exact).norm() / exact.norm() < 0.02


def test_points_that_coincide():
    made = ShiftDeepONetOptions().build(DataSpec(3, 1, 2, 0.0, 1.0, points=4))
    assert made(PointData(pos=torch.ones(4, 2), x=torch.rand(4, 1))).isfinite().all()


def jumps(count, seed):
    """A smooth hill somewhere; the answer jumps from -1 to 1 where the hill is."""
    pos = torch.linspace(0, 1, 64)[:, None]
    centre = 0.2 + 0.6 * torch.rand(count, 1, 1, generator=torch.Generator().manual_seed(seed))
    return pos, torch.exp(-((pos - centre) ** 2) / 0.05), torch.tanh((pos - centre) / 0.02)


def test_few_functions_that_move_do_what_as_many_fixed_ones_cannot():
    torch.manual_seed(0)
    made = ShiftDeepONet(Sensors(2, 1, 64, extent=1.0), 1, basis=4, width=32, layers=2)
    pos, x, y = jumps(256, seed=0)
    fit_randomly(made, lambda chosen: PointData(pos=pos, x=x[chosen], y=y[chosen]), 256, 32, steps=300, rate=0.003)
    pos, x, y = jumps(128, seed=1)
    with torch.no_grad():
        error = (made(PointData(pos=pos, x=x)) - y).norm() / y.norm()
    lengths = torch.linalg.svdvals(y[..., 0])  # no four functions with a constant beside them come nearer
    best_fixed = lengths[5:].norm() / lengths.norm()
    assert error < best_fixed / 2


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: model()(sample(points=6)), r"samples of 7 points.*\(got 6\).*'pit'"),
        (lambda: ShiftDeepONetOptions().build(DataSpec(3, 1, 2, 0.1, 1.0)), "same number of points.*'pit'"),
        (lambda: model(basis=0), "'basis'"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
