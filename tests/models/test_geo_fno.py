"""Geo-FNO: transforms of points by sums, the authors' deformation written out, and FNO layers where they agree."""

import math

import pytest
import torch
from torch_geometric.data import Batch

from pitgeo.data import PointData
from pitgeo.data.transforms import Compose
from pitgeo.models import Deformation, GeoFNO, GeoFNOOptions
from pitgeo.models.fno import SpectralConvolution
from pitgeo.models.geo_fno import PointFourier
from pitgeo.models.model_options import DataSpec
from pitgeo.nn.rollout import Rollout
from pitgeo.testing import (
    assert_gradients,
    assert_parameters_used,
)

from .common import check_samples, check_units, sample
from .heat import heat_error


def model(dimension=2, channels=2, code=True, extent=1.0, **options):
    torch.manual_seed(0)
    deformation = Deformation(dimension, channels if code else 0, width=8)
    options = {"modes": 3, "width": 6, "layers": 2, "nodes": 8, **options}
    made = GeoFNO(dimension + channels, 3, deformation, extent, **options).double()
    with torch.no_grad():
        for layer in made.modules():
            if isinstance(layer, SpectralConvolution):
                layer.weight.normal_()  # it starts too small to be seen in what comes out
    return made


def test_parameters_are_those_of_the_authors_script():
    made = GeoFNO(44, 1, Deformation(2, 42))
    complex_ones = sum(m.weight.numel() // 2 for m in made.modules() if isinstance(m, SpectralConvolution))
    count = sum(parameter.numel() for parameter in made.parameters()) - complex_ones
    # without its unused layer from 96 to 128 channels; and this one lifts 42 values too
    assert count == 1_546_403 - (96 * 128 + 128) + 42 * 32


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_transforms_of_points_are_sums(dimension):
    torch.manual_seed(0)
    points, x = torch.rand(2, 7, dimension).double(), torch.randn(2, 7, 3).double()
    waves = PointFourier.of(points, modes=2)
    spectrum, values = waves.spectrum(x), waves.values(waves.spectrum(x))
    assert spectrum.shape == (2, *[4] * (dimension - 1), 2, 3)
    expected = torch.zeros_like(values)
    for place in torch.cartesian_prod(*[torch.arange(n) for n in spectrum.shape[1:-1]]).reshape(-1, dimension):
        k = torch.where((torch.arange(dimension) < dimension - 1) & (place > 1), place - 4, place).double()
        wave = torch.exp(2j * torch.pi * (points @ k))
        found = spectrum[(slice(None), *place.tolist())]
        assert torch.allclose(found, (x * wave.conj().unsqueeze(-1)).mean(1), atol=1e-13)
        expected += (2 if k[-1] else 1) * (found.unsqueeze(1) * wave.unsqueeze(-1)).real
    assert torch.allclose(values, expected, atol=1e-12)


@pytest.mark.parametrize("grid", [(12,), (8, 8), (6, 7, 6)])
def test_on_the_points_of_a_grid_transforms_are_those_of_an_fno(grid):
    torch.manual_seed(0)
    axes = torch.meshgrid(*[torch.arange(n).double() / n for n in grid], indexing="ij")
    waves = PointFourier.of(torch.stack(axes, -1).reshape(1, -1, len(grid)), modes=3)
    layer, x = SpectralConvolution(2, 2, len(grid), modes=3).double(), torch.randn(1, *grid, 2).double()
    spectrum = waves.spectrum(x.reshape(1, -1, 2))
    assert torch.allclose(spectrum, layer.spectrum(x) / math.prod(grid), atol=1e-13)
    assert torch.allclose(waves.values(layer.times_weight(spectrum)), layer(x).reshape(1, -1, 2), atol=1e-13)


def test_padding_is_no_point():
    waves = PointFourier.of(torch.rand(1, 6, 2).double(), modes=2)
    x, mask = torch.rand(1, 6, 1).double(), torch.arange(6)[None] < 4
    expected = PointFourier(waves.cosine[:, :4], waves.sine[:, :4], waves.shape).spectrum(x[:, :4])
    x[:, 4:] = torch.nan
    assert torch.allclose(waves.spectrum(x, mask), expected, atol=1e-14)


def test_the_deformation_written_out():
    torch.manual_seed(0)
    layer = Deformation(2, code_channels=3, width=8).double()
    pos, code = torch.rand(1, 5, 2).double(), torch.rand(1, 3).double()
    linears = [part for part in layer.network if isinstance(part, torch.nn.Linear)]
    for p, found in zip(pos[0], layer(pos, code)[0], strict=True):
        x, y = (float(v) + 1e-4 for v in p)
        z = [float(p[0]), float(p[1]), math.hypot(x, y), math.atan2(y, x)]
        waves = [wave(math.pi * 2**j * part) for wave in (math.sin, math.cos) for part in z for j in range(2)]
        hidden = torch.cat([layer.code(code[0]), layer.lift(torch.tensor(z).double()), torch.tensor(waves).double()])
        for linear in linears[:-1]:
            hidden = linear(hidden).tanh()
        assert torch.allclose(found, p + p * linears[-1](hidden), atol=1e-12)
    assert len(linears) == 4 and not torch.allclose(layer(pos, code), layer(pos, code + 1), atol=1e-4)


def test_it_is_continuous_wherever_output_points_are():
    """Across the ray where the angle jumps by a turn, the axes of the box's corner, and the corner."""
    made, along = model(), torch.linspace(-0.8, 0.9, 200).double()
    fixed = torch.full_like(along, -1e-4)  # of the corner
    lines = [(along, fixed), (fixed, along), (along, 0 * along), (0 * along, along), (along, along)]
    lines = torch.cat([torch.stack(line, -1) for line in lines])
    data = sample()
    data.pos = torch.cat([data.pos[2:], torch.tensor([[0.0, 0.0], [1.0, 1.0]]).double()])  # the box is the unit square
    sides = []
    for shift in ((-1, -1), (-1, 1), (1, -1), (1, 1)):
        pos_out = lines + 1e-12 * torch.tensor(shift).double()
        sides.append(made(PointData(pos=data.pos, x=data.x, pos_out=pos_out)).detach())
    assert max((side - sides[0]).abs().max() for side in sides) < 1e-6 < 0.1 < sides[0].std(0).min()
    angles = []
    made.deformation.lift.register_forward_hook(lambda module, given, out: angles.append(given[0][0, :, -1]))
    inside = torch.rand(50, 2).double()
    made(PointData(pos=data.pos, x=data.x, pos_out=inside))
    assert torch.allclose(angles[0], torch.atan2(inside[:, 1] + 1e-4, inside[:, 0] + 1e-4), atol=1e-12)


def identity(made):
    with torch.no_grad():
        made.deformation.network[-1].weight.zero_()
        made.deformation.network[-1].bias.zero_()
    return made


def test_without_a_deformation_it_is_fno_layers_on_the_points_of_the_grid():
    made = identity(model(extent=2.0))
    axis = torch.arange(8).double() / 8
    nodes = torch.cartesian_prod(axis, axis)
    data = PointData(pos=2 * nodes + 5, x=torch.randn(64, 2).double())  # whichever place and size: the box is unit
    hidden = made.to_grid(made.lift(torch.cat([data.pos / 2, data.x], -1)).reshape(1, 8, 8, -1))
    bias = [layer(nodes).reshape(1, 8, 8, -1) for layer in made.grid_biases]
    hidden = torch.nn.functional.gelu(hidden + bias[0])
    for convolution, linear, more in zip(made.convolutions, made.linears, bias[1:], strict=True):
        hidden = torch.nn.functional.gelu(convolution(hidden) + linear(hidden) + more)
    expected = made.head(made.to_points(hidden).reshape(64, -1) + made.point_bias(nodes))
    assert torch.allclose(made(data), expected, atol=1e-11)


def test_the_code_is_the_mean_of_the_values():
    made, data = model(), sample()
    seen = []
    made.deformation.register_forward_hook(lambda module, given, out: seen.append(given[1]))
    small = sample(5, seed=1)
    made(Batch.from_data_list([data, small]))
    assert torch.allclose(seen[0], torch.stack([data.x.mean(0), small.x.mean(0)]), atol=1e-14)
    blind = model(code=False)
    blind.deformation.register_forward_hook(lambda module, given, out: seen.append(given[1]))
    blind(data)
    assert seen[1] is None


@pytest.mark.parametrize("is_free", [False, True])
@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_samples_batches_and_orders(dimension, is_free):
    check_samples(model(dimension), is_free, dimension)


def test_output_points_that_are_the_input_points_unknown_to_it():
    made, data = model(), sample()
    there = data.clone()
    there.set_points("out", there.pos.clone())
    assert torch.allclose(made(there), made(data), atol=1e-11)


def test_every_parameter_is_used_and_has_its_gradient():
    made = model(modes=2, width=3, layers=1, nodes=4)
    for data in (sample(), sample(outputs=5)):
        assert_parameters_used(made, data)
    data = sample(6, outputs=3)
    data.pos[0] = 0.0  # the corner of the box is one point
    assert_gradients(made, data, of=("x", "pos_out"))


def test_points_that_coincide_give_numbers():
    for data in (PointData(pos=torch.ones(4, 2).double(), x=torch.rand(4, 2).double()), sample(1)):
        data.pos.requires_grad_()
        out = model()(data)
        out.sum().backward()
        assert out.isfinite().all() and data.pos.grad.isfinite().all()


def test_single_precision_and_autocast_are_close():
    made, data = model(), sample()
    exact = made(data)
    data = PointData(pos=data.pos.float(), x=data.x.float())
    single = made.float()(data)
    assert exact.dtype == torch.float64 and torch.allclose(single.double(), exact, atol=1e-3)
    seen = []
    made.deformation.register_forward_hook(lambda module, given, out: seen.append(out))
    with torch.autocast("cpu", torch.bfloat16):
        out = made(data)
    assert seen[0].dtype == torch.float32 and 0 < (out - single).norm() / single.norm() < 0.03


def test_a_rollout():
    made = GeoFNO(4, 1, Deformation(2, 2, width=4), modes=2, width=4, layers=1, nodes=4).double()
    assert Rollout(made, 3)(sample()).shape == (30, 3)


def test_it_learns_the_heat_equation_on_random_points():
    torch.manual_seed(0)
    made = GeoFNO(2, 1, Deformation(1, width=8), modes=6, width=16, layers=1, nodes=16)
    error, pointwise = heat_error(made, Compose(), steps=150)
    assert error < 0.25 and pointwise > 0.5


def test_options():
    spec = DataSpec(in_channels=5, out_channels=2, dimension=2, spacing=0.1, extent=3.0)
    made = GeoFNOOptions(modes=4, width=8, nodes=10).build(spec)
    assert made.extent == 3.0 and made.deformation.code_channels == 3
    assert made(PointData(pos=torch.rand(20, 2), x=torch.rand(20, 3))).shape == (20, 2)
    assert GeoFNOOptions(code="none").build(spec).deformation.code_channels == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: GeoFNOOptions(nodes=23), r"'nodes' to be at least 24, two a mode \(got 23\)"),
        (lambda: model(nodes=5), r"at least 6, two a mode \(got 5\)"),
        (lambda: model(modes=0), "'modes'"),
        (lambda: model(width=0), "'width'"),
        (lambda: model(layers=0), "'layers'"),
        (lambda: Deformation(2, 0, width=6), r"multiple of 4 \(got 6\)"),
        (lambda: GeoFNO(4, 1, Deformation(2, 3)), r"code of 2 channels.* \(got 3\)"),
        (lambda: model()(sample(channels=3)), "4 input channels"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_units_of_length_do_not_matter():
    check_units(lambda unit: model(extent=unit))


def test_a_code_must_be_there_if_and_only_if_it_is_taken():
    pos = torch.rand(1, 4, 2)
    with pytest.raises(ValueError, match=r"a code with 'code_channels' = 2 \(got none\)"):
        Deformation(2, 2)(pos, None)
    with pytest.raises(ValueError, match=r"no code with 'code_channels' = 0 \(got one\)"):
        Deformation(2)(pos, torch.rand(1, 2))
