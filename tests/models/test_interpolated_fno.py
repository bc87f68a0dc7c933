"""FNOs on points anywhere: both interpolations beside slow ones, and FNOs on the grid itself."""

import numpy as np
import pytest
import torch
from scipy.interpolate import RegularGridInterpolator
from torch_geometric.data import Batch

from pitgeo.data import PointData
from pitgeo.data.transforms import Compose, GridInterpolation, UnitBox
from pitgeo.models import FNO, FNOOptions, FNOPlusOptions, InterpolatedFNO
from pitgeo.models.interpolated_fno import from_nodes, to_nodes
from pitgeo.models.model_options import DataSpec
from pitgeo.nn.rollout import Rollout
from pitgeo.testing import (
    assert_batch_independent,
    assert_gradients,
    assert_parameters_used,
    assert_permutation_equivariant,
)

from .common import sample
from .heat import heat_error


def model(cells=(10, 9), channels=2, **options):
    torch.manual_seed(0)
    dimension = len(cells)
    made = FNO(dimension + channels + 1, 3, dimension, **{"modes": 3, "width": 6, "layers": 2, **options}).double()
    with torch.no_grad():
        for block in made.blocks:
            block.convolution.weight.normal_()  # it starts too small to be seen in what comes out
    return InterpolatedFNO(made, cells)


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_nodes_take_means_by_inverse_squared_distance(dimension):
    data = GridInterpolation((4,) * dimension)(sample(25, dimension))
    values, distance = to_nodes(data.x, data.pos, data.pos_latent, data.graph("encoder"))
    for node, (found, away) in enumerate(zip(values, distance, strict=True)):
        r = (data.pos - data.pos_latent[node]).norm(dim=1).clamp(min=1e-30)  # nodes at the ends of a line are points
        near = r.argsort()[: 2**dimension]
        weight = 1 / r[near] ** 2
        assert torch.allclose(found, (weight[:, None] * data.x[near]).sum(0) / weight.sum(), atol=1e-12)
        assert torch.allclose(away, r.min(), atol=1e-12)


def test_nodes_on_points_have_their_values():
    pos = torch.tensor([[0.0], [1.0], [1.0], [3.0], [4.0]]).double()
    data = GridInterpolation((5,))(PointData(pos=pos, x=torch.tensor([[1.0], [2.0], [4.0], [8.0], [16.0]]).double()))
    values, distance = to_nodes(data.x, pos, data.pos_latent, data.graph("encoder"))
    assert values[:, 0].tolist() == [1.0, 3.0, pytest.approx(14 / 3), 8.0, 16.0]  # points at one place: their mean
    assert distance[:, 0].tolist() == [0.0, 0.0, 1.0, 0.0, 0.0]


@pytest.mark.parametrize("cells", [(7,), (5, 8), (4, 3, 6)])
def test_the_way_back_is_multilinear(cells):
    torch.manual_seed(0)
    values, low = torch.randn(2, *cells, 3).double(), torch.randn(2, len(cells)).double()
    high = low + 0.5 + torch.rand(2, len(cells)).double()
    batch = torch.tensor([0] * 20 + [1] * 30)
    pos = low[batch] + (high - low)[batch] * torch.rand(50, len(cells)).double()
    found = from_nodes(values, pos, batch, low, high)
    for number in range(2):
        axes = [np.linspace(float(a), float(b), n) for a, b, n in zip(low[number], high[number], cells, strict=True)]
        expected = RegularGridInterpolator(axes, values[number].numpy())(pos[batch == number].numpy())
        assert np.allclose(found[batch == number], expected, atol=1e-12)


def test_points_outside_of_the_grid_have_the_value_at_its_surface():
    values = torch.arange(6.0).reshape(1, 2, 3, 1)
    pos = torch.tensor([[-1.0, 5.0], [2.0, 0.5], [0.5, -3.0]])
    out = from_nodes(values, pos, None, torch.zeros(1, 2), torch.ones(1, 2))
    assert out[0, :, 0].tolist() == [2.0, 4.0, 1.5]


def there_and_back(data, cells):
    data = GridInterpolation(cells)(data)
    values, _ = to_nodes(data.x, data.pos, data.pos_latent, data.graph("encoder"))
    ends = data.pos_latent[:1], data.pos_latent[-1:]
    return from_nodes(values.reshape(1, *cells, -1), data.points("output")[0], None, *ends)[0]


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_constants_are_exact_there_and_back(dimension):
    data = sample(25, dimension, outputs=40)
    data.x = torch.tensor([[2.0, -3.0]]).double().expand(25, 2)
    assert torch.allclose(there_and_back(data, (6,) * dimension), data.x[:1], atol=1e-13)


def test_linear_functions_are_exact_between_the_points_of_a_grid():
    axes = torch.linspace(0, 2, 6).double(), torch.linspace(-1, 1, 9).double()
    pos = torch.cartesian_prod(*axes)
    out = torch.rand(50, 2).double() * 2 - torch.tensor([0, 1])
    data = PointData(pos=pos, x=3 * pos[:, :1] - pos[:, 1:] + 1, pos_out=out)
    assert torch.allclose(there_and_back(data, (6, 9)), 3 * out[:, :1] - out[:, 1:] + 1, atol=1e-12)


@pytest.mark.parametrize("dimension", [1, 2])
def test_smooth_functions_converge(dimension):
    def error(size, n):
        data = sample(size, dimension)
        data.x = (5 * data.pos).sin().prod(-1, keepdim=True)
        return float((there_and_back(data, (n,) * dimension) - data.x).norm() / data.x.norm())

    # four times as many points along an axis: a fourth of the distance between them
    coarse, fine = (error(50 * 4**k if dimension == 1 else 200 * 16**k, 16 * 4**k) for k in (0, 1))
    assert coarse < 0.2 and 2.5 < coarse / fine < 8


def test_on_the_points_of_a_grid_it_is_the_fno_on_that_grid():
    pos = torch.cartesian_prod(torch.arange(12).double() / 12, torch.arange(10).double() / 10)
    data = PointData(pos=pos, x=torch.randn(120, 2, generator=torch.Generator().manual_seed(0)).double())
    made = model((12, 10))
    with torch.no_grad():
        made.fno.lift.weight[:, 2] = 1e3  # of the distance, which is 0 here
    plain = FNO(4, 3, 2, modes=3, width=6, layers=2).double()
    state = made.fno.state_dict()
    state["lift.weight"] = state["lift.weight"][:, [0, 1, 3, 4]]
    plain.load_state_dict(state)
    expected = plain(PointData(pos=pos, x=data.x, grid=(12, 10)))
    assert torch.allclose(made(GridInterpolation((12, 10))(data)), expected, atol=1e-11)
    # single precision, in which nodes and points differ by rounding
    single = made.float()(GridInterpolation((12, 10))(PointData(pos=pos.float(), x=data.x.float())))
    assert torch.allclose(single.double(), expected, atol=1e-3)


@pytest.mark.parametrize("cells", [(8,), (7, 9), (6, 7, 8)])
def test_shapes_batches_and_order(cells):
    made, prepare = model(cells), GridInterpolation(cells)
    samples = [sample(size, len(cells), outputs=outputs, seed=size) for size, outputs in ((20, 7), (1, 3), (33, 33))]
    assert [made(prepare(one)).shape for one in samples] == [(7, 3), (3, 3), (33, 3)]
    assert_batch_independent(made, [prepare(one) for one in samples], tolerance=1e-11)
    same = [sample(size, len(cells), seed=size) for size in (20, 9)]
    assert_batch_independent(made, [prepare(one) for one in same], tolerance=1e-11)
    one = made(Batch.from_data_list([prepare(samples[0])]))
    assert torch.allclose(one, made(prepare(samples[0])), atol=1e-12)
    for one in (samples[0], same[0]):
        assert_permutation_equivariant(lambda given: made(prepare(given)), one, tolerance=1e-11)


def test_samples_on_a_shared_mesh():
    made, data = model(), [sample(outputs=11) for _ in range(3)]
    for number, one in enumerate(data):
        one.x = torch.randn(30, 2, generator=torch.Generator().manual_seed(number)).double()
    prepared = [GridInterpolation((10, 9))(one) for one in data]
    shared = GridInterpolation((10, 9))(PointData(pos=data[0].pos, pos_out=data[0].pos_out))
    shared.x = torch.stack([one.x for one in data])
    expected = torch.stack([made(one) for one in prepared])
    assert torch.allclose(made(shared), expected, atol=1e-12)
    shared.x = shared.x[:1]
    assert torch.allclose(made(shared), expected[:1], atol=1e-12)


def test_a_grid_of_another_layout_is_refused_in_space():
    made = InterpolatedFNO(FNO(5, 1, 3, 1, 4, 1), (3, 4, 5))
    data = PointData(pos=torch.rand(30, 3), x=torch.rand(30, 1))
    assert made(GridInterpolation((3, 4, 5))(data)).shape == (30, 1)
    with pytest.raises(ValueError, match=r"a grid of \(3, 4, 5\)"):
        made(GridInterpolation((4, 3, 5))(data))


def test_gradients():
    assert_parameters_used(model(), GridInterpolation((10, 9))(sample()))
    data = sample(12, outputs=5)
    data.pos[0], data.pos[1] = -1.0, 2.0  # no output point at the surface of the grid, where it has a kink
    assert_gradients(model((6, 6)), GridInterpolation((6, 6))(data), of=("x", "pos", "pos_out"))


def test_points_that_coincide_and_flat_boxes_give_numbers():
    made = model((6, 6))
    for pos in (torch.ones(4, 2), torch.tensor([[0.0, 1.0], [0.3, 1.0], [0.3, 1.0], [1.0, 1.0]]), torch.rand(1, 2)):
        data = PointData(pos=pos.double(), x=torch.rand(len(pos), 2).double())
        data.pos.requires_grad_()
        out = made(GridInterpolation((6, 6))(data))
        out.sum().backward()
        assert out.isfinite().all() and data.pos.grad.isfinite().all()


def test_the_unit_box_changes_nothing_but_the_positions():
    made, data = model(), sample(outputs=9)
    with torch.no_grad():
        made.fno.lift.weight[:, :3] = 0  # blind to positions and distance
    far = PointData(pos=5 * data.pos + 3, x=data.x, pos_out=5 * data.pos_out + 3)
    boxed = Compose((GridInterpolation((10, 9)), UnitBox(0.2)))(far)
    assert torch.allclose(made(boxed), made(GridInterpolation((10, 9))(data)), atol=1e-11)


def test_autocast_is_close():
    made, data = model().float(), sample()
    data = GridInterpolation((10, 9))(PointData(pos=data.pos.float(), x=data.x.float()))
    exact = made(data)
    with torch.autocast("cpu", torch.bfloat16):
        out = made(data)
    assert 0 < (out - exact).norm() / exact.norm() < 0.03


def test_a_rollout_keeps_the_grid():
    made = InterpolatedFNO(FNO(5, 1, 2, 3, 4, 1).double(), (8, 8))
    assert Rollout(made, 3)(GridInterpolation((8, 8))(sample())).shape == (30, 3)


def test_it_learns_the_heat_equation_on_random_points():
    torch.manual_seed(0)
    made = InterpolatedFNO(FNO(3, 1, 1, modes=6, width=16, layers=1), (24,))
    error, pointwise = heat_error(made, GridInterpolation((24,)), steps=100)
    assert error < 0.2 and pointwise > 0.5


SHAPE = DataSpec(in_channels=4, out_channels=1, dimension=2, spacing=0.1, extent=1.0)


@pytest.mark.parametrize("options", [FNOOptions, FNOPlusOptions])
def test_options(options):
    made = options(cells=(16, 8), modes=4, width=8)
    data = made.transform()(PointData(pos=torch.rand(20, 2), x=torch.rand(20, 2)))
    assert made.build(SHAPE)(data).shape == (20, 1)
    assert isinstance(options().build(SHAPE), FNO) and options().transform() == Compose()
    options(cells=(16,), modes=12, padding=0.5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: FNOOptions(cells=(16, 64)), r"at most 8, half the fewest of 'cells' = \[16, 64\] .* \(got 12\)"),
        (lambda: FNOOptions(cells=(1, 64), modes=1), "at least 2 along every axis"),
        (lambda: FNOOptions(cells=(32,)).build(SHAPE), r"each of 2 axes.* \(got \(32,\)\)"),
        (lambda: model()(sample()), r"GridInterpolation\(\(10, 9\)\)"),
        (lambda: model()(GridInterpolation((9, 10))(sample())), r"a grid of \(10, 9\)"),
        (lambda: model()(GridInterpolation((9, 9))(sample())), r"\(got 81 latent points in 1 sample\(s\)\)"),
        (lambda: model()(GridInterpolation((10, 9))(sample(channels=3))), "4 input channels"),
        (lambda: model().float()(GridInterpolation((10, 9))(sample())), r"\.float\(\)"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
