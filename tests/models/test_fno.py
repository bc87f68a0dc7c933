"""The Fourier Neural Operator: the paper's parameter counts, a slow Fourier transform, and what grids must do."""

import itertools
import math

import pytest
import torch
from torch_geometric.data import Batch

from pitgeo.data import PointData
from pitgeo.models.fno import FNO, SpectralConvolution
from pitgeo.nn.rollout import Rollout
from pitgeo.testing import assert_batch_independent, assert_parameters_used

PAPER = {
    "inviscid_burgers": ({"in_channels": 2, "dimension": 1, "modes": 19, "width": 32}, 170_593),
    "shock_tube": ({"in_channels": 4, "dimension": 1, "modes": 7, "width": 32}, 72_353),
    "darcy2d": ({"in_channels": 3, "dimension": 2, "modes": 12, "width": 32}, 2_376_449),
    "vorticity": ({"in_channels": 12, "dimension": 2, "modes": 12, "width": 20}, 928_661),
    "darcy2d without the MLP": (
        {"in_channels": 3, "dimension": 2, "modes": 12, "width": 32, "block": "fno"},
        2_368_001,
    ),
}


@pytest.mark.parametrize("name", PAPER)
def test_parameter_counts_of_the_paper(name):
    options, expected = PAPER[name]
    made = FNO(out_channels=1, **options)
    assert not any(parameter.is_complex() for parameter in made.parameters())  # a complex weight counts twice
    assert sum(parameter.numel() for parameter in made.parameters()) == expected


def points(grid, ends=False):
    """Positions on the unit box, with or without the end points."""
    axes = [torch.arange(n).double() / (n - 1 if ends else n) for n in grid]
    return torch.stack([axis.flatten() for axis in torch.meshgrid(*axes, indexing="ij")], -1)


def sample(grid=(10, 14), channels=2, seed=0):
    generator = torch.Generator().manual_seed(seed)
    pos = points(grid)
    return PointData(pos=pos, x=torch.randn(len(pos), channels, generator=generator).double(), grid=grid)


def model(dimension=2, channels=2, pos=True, **options):
    torch.manual_seed(0)
    made = FNO(dimension + channels, 3, dimension, **{"modes": 4, "width": 6, "layers": 2, **options}).double()
    with torch.no_grad():
        for block in made.blocks:
            block.convolution.weight.normal_()  # it starts too small to be seen in what comes out
        if not pos:
            made.lift.weight[:, :dimension] = 0
    return made


def by_sums(x, weight, grid, modes):
    """The convolution by sums over all points and frequencies."""
    ranges = [[*range(modes), *range(-modes, 0)]] * (len(grid) - 1) + [range(modes)]
    frequency = torch.tensor(list(itertools.product(*ranges))).double()
    wave = torch.exp(2j * torch.pi * (points(grid) @ frequency.T))
    spectrum = torch.einsum("nk,bni->bki", wave.conj(), x.flatten(1, -2).to(wave.dtype))
    times = torch.where(frequency[:, -1] == 0, 1.0, 2.0)
    spectrum = torch.einsum(
        "k,bki,kio->bko", times.to(wave.dtype), spectrum, torch.view_as_complex(weight.flatten(0, -4))
    )
    return torch.einsum("nk,bko->bno", wave, spectrum).real.reshape(*x.shape[:-1], -1) / math.prod(grid)


@pytest.mark.parametrize("grid", [(16,), (21,), (8, 11), (9, 8), (6, 7, 9)])
def test_the_convolution_is_a_sum_over_frequencies(grid):
    torch.manual_seed(0)
    layer = SpectralConvolution(3, 2, len(grid), modes=3).double()
    x = torch.randn(2, *grid, 3).double()
    assert layer.weight.shape[:-3] == (*[6] * (len(grid) - 1), 3)
    assert torch.allclose(layer(x), by_sums(x, layer.weight, grid, 3), atol=1e-13)


@pytest.mark.parametrize("modes", [1, 4])
def test_as_many_modes_as_a_grid_can_hold(modes):
    layer = SpectralConvolution(1, 1, 2, modes).double()
    x = torch.randn(1, 2 * modes, 2 * modes, 1).double()
    assert torch.allclose(layer(x), by_sums(x, layer.weight, x.shape[1:-1], modes), atol=1e-13)


def test_the_derivative_is_a_convolution():
    layer = SpectralConvolution(1, 1, 1, modes=6).double()
    with torch.no_grad():
        layer.weight.zero_()
        layer.weight[:, 0, 0, 1] = 2 * torch.pi * torch.arange(6)
    t = 2 * torch.pi * points((24,))
    values, slope = (3 * t).sin() + (5 * t).cos(), 2 * torch.pi * (3 * (3 * t).cos() - 5 * (5 * t).sin())
    assert torch.allclose(layer(values[None])[0], slope, atol=1e-11)


@pytest.mark.parametrize("grid", [(7,), (4, 5)])
def test_gradients_of_the_convolution(grid):
    layer = SpectralConvolution(2, 2, len(grid), modes=2).double()
    x = torch.randn(2, *grid, 2).double().requires_grad_()
    assert torch.autograd.gradcheck(
        lambda x, weight: torch.func.functional_call(layer, {"weight": weight}, (x,)), (x, layer.weight)
    )


def test_the_constant_goes_back_as_a_real_number(monkeypatch):
    # some devices' transforms do not ignore the imaginary part of what must be real
    seen, inverse = [], torch.fft.irfft
    monkeypatch.setattr(
        torch.fft, "irfft", lambda spectrum, *a, **k: seen.append(spectrum) or inverse(spectrum, *a, **k)
    )
    SpectralConvolution(2, 2, 2, modes=3)(torch.randn(1, 8, 8, 2))
    assert seen[0].dtype == torch.complex64 and not seen[0][:, :, 0].imag.any() and seen[0][:, :, 1].imag.all()


@pytest.mark.parametrize("block", ["fno", "fno++"])
def test_a_shift_of_a_periodic_grid_shifts_the_output(block):
    def shifted(values):
        return values.reshape(10, 14, -1).roll((3, -5), (0, 1)).reshape(140, -1)

    data = sample()
    moved = PointData(pos=data.pos, x=shifted(data.x), grid=data.grid)
    blind = model(pos=False, block=block)
    assert torch.allclose(blind(moved), shifted(blind(data)), atol=1e-12)
    assert blind(data).std(0).min() > 0.01
    seeing = model(block=block)
    assert not torch.allclose(seeing(moved), shifted(seeing(data)), atol=1e-3)


@pytest.mark.parametrize("grid", [(20,), (10, 14)])
def test_a_batch_is_its_samples_alone(grid):
    made, data = model(len(grid)), [sample(grid, seed=seed) for seed in range(3)]
    assert_batch_independent(made, data, tolerance=1e-12)
    alone = torch.cat([made(one) for one in data])
    batch = Batch.from_data_list(data)
    assert torch.allclose(made(batch.to("cpu")), alone, atol=1e-12)  # its grids are lists then
    assert torch.allclose(made(data[0].to("cpu")), alone[: len(data[0].x)], atol=1e-12)
    assert torch.allclose(made(Batch.from_data_list(data[:1])), alone[: len(data[0].x)], atol=1e-12)


def test_samples_on_a_shared_mesh():
    made, data = model(), [sample(seed=seed) for seed in range(3)]
    shared = PointData(pos=data[0].pos, x=torch.stack([one.x for one in data]), grid=data[0].grid)
    assert torch.allclose(made(shared), torch.stack([made(one) for one in data]), atol=1e-12)


@pytest.mark.parametrize("block", ["fno", "fno++"])
@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_every_parameter_is_used(block, dimension):
    assert_parameters_used(model(dimension, modes=2, block=block), sample((6, 5, 4)[:dimension]))


def test_no_activation_after_the_last_block():
    made, data = model(layers=1), sample()
    hidden = made.lift(torch.cat([data.pos, data.x], -1)).reshape(1, 10, 14, 6)
    block = made.blocks[0]
    expected = made.head(block.mlp(block.convolution(hidden)) + block.linear(hidden)).reshape(140, 3)
    assert torch.allclose(made(data), expected, atol=1e-13)


def test_padding_keeps_the_ends_apart():
    made, data = model(layers=1, padding=0.25), sample()
    hidden = made.lift(torch.cat([data.pos, data.x], -1)).reshape(1, 10, 14, 6)
    longer = torch.zeros(1, 13, 18, 6).double()  # a quarter more, rounded up
    longer[:, :10, :14] = hidden
    expected = made.head(made.blocks[0](longer)[:, :10, :14]).reshape(140, 3)
    assert torch.allclose(made(data), expected, atol=1e-13)
    assert not torch.allclose(made(data), model(layers=1)(data), atol=1e-3)


def wave(pos):
    t = 2 * torch.pi * pos
    return torch.stack([t[:, 0].sin() + (t[:, 0] + 2 * t[:, 1]).cos(), (2 * t[:, 0] - t[:, 1]).sin()], -1)


def test_the_convolution_does_not_depend_on_the_resolution():
    layer = SpectralConvolution(2, 2, 2, modes=4).double()
    coarse, fine = (layer(wave(points(grid)).reshape(1, *grid, 2)) for grid in ((9, 8), (27, 16)))
    assert torch.allclose(coarse, fine[:, ::3, ::2], atol=1e-13)


@pytest.mark.parametrize("block", ["fno", "fno++"])
def test_the_answer_on_a_periodic_grid_does_not_depend_on_the_resolution(block):
    made = model(pos=False, block=block)

    def answer(n):
        pos = points((n, n))
        return made(PointData(pos=pos, x=wave(pos), grid=(n, n))).reshape(n, n, 3)[:: n // 16, :: n // 16].detach()

    exact = answer(128)
    errors = [float((answer(n) - exact).norm() / exact.norm()) for n in (16, 32, 64)]
    assert errors[1] < 1e-4 and errors[2] < 1e-8  # the GELU's frequencies that a grid cannot hold: ever fewer


def test_the_answer_on_a_grid_with_end_points_depends_on_the_spacing():
    made = model()

    def answer(n):  # away from the ends, between which the continued grid jumps
        pos, step = points((n, n), ends=True), (n - 1) // 16
        out = made(PointData(pos=pos, x=wave(pos), grid=(n, n))).reshape(n, n, 3)
        return out[::step, ::step][4:-4, 4:-4].detach()

    exact = answer(513)
    errors = [float((answer(n) - exact).norm() / exact.norm()) for n in (33, 65)]
    assert 1.7 < errors[0] / errors[1] < 2.6  # first order: the period is one spacing too long


def heat(n, count, seed):
    """Five waves of random size and phase, and what the heat equation makes of them, on a periodic grid."""
    wave_number = torch.arange(1, 6)
    sine, cosine = torch.randn(2, count, 5, generator=torch.Generator().manual_seed(seed))
    pos = torch.arange(n)[:, None] / n
    angle = 2 * torch.pi * pos * wave_number

    def at(share):
        return ((sine * share) @ angle.sin().T + (cosine * share) @ angle.cos().T)[..., None]

    return pos, at(torch.ones(5)), at(torch.exp(-0.01 * (2 * torch.pi * wave_number) ** 2))


@pytest.mark.parametrize("block", ["fno", "fno++"])
def test_it_learns_the_heat_equation(block):
    def error(out, y):
        return ((out - y).norm(dim=1) / y.norm(dim=1)).mean()

    torch.manual_seed(0)
    made = FNO(2, 1, 1, modes=6, width=16, layers=2, block=block)
    pos, x, y = heat(32, 256, seed=0)
    optimizer = torch.optim.Adam(made.parameters(), 0.01)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 300)
    for _ in range(300):
        chosen = torch.randint(256, (32,))
        loss = error(made(PointData(pos=pos, x=x[chosen], grid=(32,))), y[chosen])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    for n in (32, 96):  # new samples, also on a grid it has not seen
        pos, x, y = heat(n, 64, seed=1)
        with torch.no_grad():
            assert error(made(PointData(pos=pos, x=x, grid=(n,))), y) < 0.01


def test_a_rollout_keeps_the_grid():
    torch.manual_seed(0)
    made = Rollout(FNO(4, 1, 2, modes=3, width=4, layers=1).double(), steps=3)
    assert made(sample()).shape == (140, 3)


def test_single_and_double_precision_agree():
    made, data = model(), sample()
    exact = made(data)
    single = made.float()(PointData(pos=data.pos.float(), x=data.x.float(), grid=data.grid))
    assert exact.dtype == torch.float64 and single.dtype == torch.float32
    assert torch.allclose(single.double(), exact, atol=1e-5)


def test_transforms_run_in_single_precision_under_autocast():
    torch.manual_seed(0)
    layer = SpectralConvolution(4, 4, 2, modes=3)
    x = torch.randn(2, 9, 8, 4)
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(layer(x), layer.float()(x))
        rounded = layer(x.bfloat16())
    assert rounded.dtype == torch.bfloat16
    assert torch.equal(rounded, layer(x.bfloat16().float()).bfloat16())
    assert layer.bfloat16()(x.bfloat16()).dtype == torch.bfloat16


def test_autocast_is_close():
    made = model().float()
    data = PointData(pos=points((10, 14)).float(), x=sample().x.float(), grid=(10, 14))
    exact = made(data)
    with torch.autocast("cpu", torch.bfloat16):
        out = made(data)
    out.float().square().sum().backward()
    assert 0 < (out - exact).norm() / exact.norm() < 0.02
    assert all(p.grad.dtype == torch.float32 and p.grad.isfinite().all() for p in made.parameters())


def changed(**changes):
    data = sample()
    for name, value in changes.items():
        setattr(data, name, value)
    return data


def odd_one():
    return PointData(pos=torch.rand(141, 2).double(), x=torch.rand(141, 2).double(), grid=(10, 14))


def without_grid():
    data = sample()
    return PointData(pos=data.pos, x=data.x)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: model()(without_grid()), r"regular grid.*model\.fno_plus\.cells = \[64, 64\].*'pit'"),
        (lambda: model(block="fno")(without_grid()), r"model\.fno\.cells = \[64, 64\]"),
        (lambda: model()(Batch.from_data_list([without_grid()] * 2)), "regular grid"),
        (lambda: model()(changed(grid=(10, 15))), r"150 points .* \(10, 15\) \(got 140 in 1"),
        (lambda: model()(Batch.from_data_list([changed(grid=(10, 15))] * 2)), r"150 points .* \(got 280 in 2"),
        (lambda: odd_one(), r"140 points .* \(got 141"),
        (lambda: model()(Batch.from_data_list([sample(), sample((14, 10))])), r"\(10, 14\) and \(14, 10\)"),
        (lambda: model()(Batch.from_data_list([sample(), sample((10, 12))])), "one size in a batch"),
        (lambda: model()(changed(grid=(140,))), "grid of 2 axes"),
        (lambda: model(modes=6)(sample()), r"half the points .* 5 on the grid \(10, 14\) \(got 6\)"),
        (lambda: model(channels=3)(sample()), "5 input channels"),
        (lambda: model().float()(sample()), r"\.float\(\)"),
        (
            lambda: model()(PointData(pos=points((10, 14)), x=sample().x, pos_out=torch.rand(3, 2).double())),
            r"output points.*model\.fno_plus\.cells",
        ),
        (lambda: SpectralConvolution(1, 1, 2, 2)(torch.rand(1, 8, 1)), "2 axes"),
        (lambda: FNO(5, 1, 4), "'dimension'"),
        (lambda: FNO(5, 1, 2, modes=0), "'modes'"),
        (lambda: FNO(5, 1, 2, width=0), "'width'"),
        (lambda: FNO(5, 1, 2, layers=0), "'layers'"),
        (lambda: FNO(5, 1, 2, block="fno+"), "'block'"),
        (lambda: FNO(5, 1, 2, padding=-0.1), "'padding'"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
