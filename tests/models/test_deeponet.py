"""The DeepONet: sums by loops, what sensors read, and an operator that no pointwise network can learn."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch_geometric.data import Batch

from pitgeo import load
from pitgeo.config.config import load_config
from pitgeo.data import PointData
from pitgeo.mesh import Mesh, write_mesh
from pitgeo.models.deeponet import DeepONet, DeepONetOptions
from pitgeo.models.model_options import DataSpec
from pitgeo.models.sensors import Sensors
from pitgeo.models.shift_deeponet import ShiftDeepONet
from pitgeo.testing import assert_batch_independent, assert_gradients, assert_parameters_used
from pitgeo.workflows.run import train
from tests.datasets.folder.conftest import small_mesh
from tests.pictures import without_pictures

from .common import fit_randomly

CONFIG = Path(__file__).parents[2] / "configs" / "meshes.toml"
POINTS = 7
BOTH = pytest.mark.parametrize("kind", [DeepONet, ShiftDeepONet])


def sample(seed=0, outputs=None, points=POINTS, channels=2):
    generator = torch.Generator().manual_seed(seed)
    pos, x = (torch.randn(points, size, generator=generator).double() for size in (2, channels))
    pos_out = None if outputs is None else torch.randn(outputs, 2, generator=generator).double()
    return PointData(pos=pos, x=x, pos_out=pos_out)


def model(mesh="shared", extent=2.0, out_channels=3, kind=DeepONet, **options):
    torch.manual_seed(0)
    sensors = Sensors(4, 2, POINTS, mesh, extent)
    made = kind(sensors, out_channels, **{"basis": 5, "width": 8, "layers": 2, **options}).double()
    torch.nn.init.normal_(made.bias)
    return made


def by_loops(made, data):
    """One value after the other, as the formula has it."""
    columns = [data.x] if made.sensors.mesh == "shared" else [data.pos / made.sensors.extent, data.x]
    readings = [number for point in torch.cat(columns, 1) for number in point]
    coefficients = made.branch(torch.stack(readings))
    count = len(coefficients) // made.out_channels
    rows = []
    for point in data.points("output")[0]:
        basis = made.trunk(point / made.sensors.extent)
        sums = [sum(coefficients[k * count + b] * basis[k * count + b] for b in range(count)) for k in range(3)]
        rows.append(torch.stack([total + c for total, c in zip(sums, made.bias, strict=True)]))
    return torch.stack(rows)


@pytest.mark.parametrize("outputs", [None, 4])
@pytest.mark.parametrize("mesh", ["shared", "own"])
def test_values_are_sums_over_basis_functions(mesh, outputs):
    made, data = model(mesh), sample(outputs=outputs)
    assert torch.allclose(made(data), by_loops(made, data), atol=1e-12)


@BOTH
@pytest.mark.parametrize("mesh", ["shared", "own"])
def test_a_batch_is_its_samples_alone(mesh, kind):
    made, data = model(mesh, kind=kind), [sample(seed, outputs) for seed, outputs in ((0, 4), (1, 9), (2, 1))]
    assert_batch_independent(made, data, tolerance=1e-12)
    assert_batch_independent(made, [sample(seed) for seed in range(3)], tolerance=1e-12)


@BOTH
@pytest.mark.parametrize("outputs", [None, 4])
@pytest.mark.parametrize("mesh", ["shared", "own"])
def test_samples_on_a_shared_mesh(mesh, outputs, kind):
    made, data = model(mesh, kind=kind), sample(outputs=outputs)
    x = torch.randn(3, POINTS, 2).double()
    alone = [made(PointData(pos=data.pos, x=one, pos_out=data.get("pos_out"))) for one in x]
    together = made(PointData(pos=data.pos, x=x, pos_out=data.get("pos_out")))
    assert torch.allclose(together, torch.stack(alone), atol=1e-12)


@BOTH
@pytest.mark.parametrize("mesh", ["shared", "own"])
def test_some_output_points_alone(mesh, kind):
    made, batch = model(mesh, kind=kind), Batch.from_data_list([sample(0, 4), sample(1, 9)])
    rows = torch.tensor([1, 3, 4, 10])
    assert torch.allclose(made(batch, rows), made(batch)[rows], atol=1e-12)
    shared = PointData(pos=sample().pos, x=torch.randn(3, POINTS, 2).double())
    assert torch.allclose(made(shared, rows[:2]), made(shared)[:, rows[:2]], atol=1e-12)


def test_output_points_are_free_and_their_order_does_not_matter():
    made, data, order = model(), sample(outputs=6), torch.tensor([3, 0, 5, 1, 4, 2])
    changed = PointData(pos=data.pos, x=data.x, pos_out=data.pos_out[order])
    assert torch.allclose(made(changed), made(data)[order], atol=1e-12)


def test_the_order_of_input_points_matters():
    made, data, order = model(), sample(outputs=6), torch.arange(POINTS - 1, -1, -1)
    changed = PointData(pos=data.pos[order], x=data.x[order], pos_out=data.pos_out)
    assert not torch.allclose(made(changed), made(data), atol=1e-3)


def test_positions_are_read_where_meshes_differ():
    data = sample(outputs=6)
    moved = PointData(pos=data.pos + 1, x=data.x, pos_out=data.pos_out)
    assert torch.equal(model()(moved), model()(data))
    assert not torch.allclose(model("own")(moved), model("own")(data), atol=1e-3)


@pytest.mark.parametrize("mesh", ["shared", "own"])
def test_units_of_length_do_not_matter(mesh):
    data = sample(outputs=6)
    longer = PointData(pos=1000 * data.pos, x=data.x, pos_out=1000 * data.pos_out)
    assert torch.allclose(model(mesh, extent=2000.0)(longer), model(mesh)(data), atol=1e-12)


@BOTH
@pytest.mark.parametrize("mesh", ["shared", "own"])
def test_gradients(mesh, kind):
    made = model(mesh, kind=kind)
    assert_parameters_used(made, Batch.from_data_list([sample(0), sample(1, 4)]))
    assert_gradients(made, sample(outputs=4), of=("x", "pos_out"))


def test_number_of_parameters():
    made = DeepONet(Sensors(4, 2, 100, "own"), 3, basis=10, width=8, layers=2)
    branch = (400 * 8 + 8) + (8 * 8 + 8) + (8 * 30 + 30)
    trunk = (2 * 8 + 8) + (8 * 8 + 8) + (8 * 30 + 30)
    assert sum(parameter.numel() for parameter in made.parameters()) == branch + trunk + 3


@pytest.mark.parametrize(("is_shared", "size"), [(True, 14), (False, 28)])
def test_the_shape_of_the_data_decides_what_is_read(is_shared, size):
    made = DeepONetOptions().build(DataSpec(4, 1, 2, 0.1, 3.0, points=POINTS, is_shared=is_shared))
    assert made.sensors.size == made.branch[0].in_features == size and made.sensors.extent == 3.0


def test_points_that_coincide():
    made = DeepONetOptions().build(DataSpec(3, 1, 2, 0.0, 1.0, points=4))
    data = PointData(pos=torch.ones(4, 2), x=torch.rand(4, 1))
    assert made(data).isfinite().all()
    one = DeepONetOptions().build(DataSpec(3, 1, 2, 0.0, 1.0, points=1))
    assert one(PointData(pos=torch.ones(1, 2), x=torch.rand(1, 1))).isfinite().all()


@pytest.mark.parametrize("mesh", ["shared", "own"])
def test_autocast_is_close(mesh):
    made, data = model(mesh).float(), sample(outputs=40)
    data = data.apply(lambda value: value.float() if value.is_floating_point() else value)
    exact = made(data)
    with torch.autocast("cpu", torch.bfloat16):
        found = made(data)
    assert 0 < (found - exact).norm() / exact.norm() < 0.02


def integral(samples, points, queries, seed):
    """Polynomials with random coefficients, and their integrals from 0."""
    degree = torch.arange(5)
    coefficients = torch.randn(samples, 5, generator=torch.Generator().manual_seed(seed))
    pos, pos_out = torch.linspace(0, 1, points)[:, None], torch.linspace(0, 1, queries)[:, None]
    x = (coefficients @ (pos**degree).T)[..., None]
    return pos, x, pos_out, (coefficients @ (pos_out ** (degree + 1) / (degree + 1)).T)[..., None]


def test_it_learns_to_integrate():
    torch.manual_seed(0)
    made = DeepONet(Sensors(2, 1, 20), 1, basis=16, width=32, layers=2)
    pos, x, pos_out, y = integral(400, 20, 20, seed=0)
    fit_randomly(
        made, lambda chosen: PointData(pos=pos, x=x[chosen], y=y[chosen], pos_out=pos_out), 400, 64, 700, 0.005
    )
    pos, x, pos_out, y = integral(200, 20, 33, seed=1)  # new samples, at other points
    with torch.no_grad():
        error = (made(PointData(pos=pos, x=x, pos_out=pos_out)) - y).norm() / y.norm()
    pos, x, _, y = integral(20_000, 20, 20, seed=2)
    slope = (x * y).mean(0) / x.square().mean(0)  # both are normal, so the best guess from x at the point is linear
    pointwise = (slope * x - y).norm() / y.norm()
    assert error < 0.03 and pointwise > 0.3


@pytest.mark.parametrize("is_shared", [True, False])
@without_pictures()
def test_a_run_finds_out_whether_the_mesh_is_shared(is_shared, tmp_path):
    first = small_mesh(0, points=20)
    for number in range(5):
        mesh = first if is_shared else small_mesh(number, points=20)
        u, size = first.point_data["u"] * (number + 1), np.array([number + 1.0])
        path = tmp_path / "cases" / f"case_{number}.vtu"
        write_mesh(path, Mesh(mesh.points, mesh.cells, {"u": u}, {}, {"load": size}))
    changes = [f'data.meshes.files="{tmp_path}/cases/*.vtu"', f'data.meshes.cache="{tmp_path}/cache"']
    changes += ['data.meshes.inputs=["load"]', 'data.meshes.targets=["u"]', "training.epochs=1"]
    changes += ["data.meshes.geometry=[]"]
    config = load_config(CONFIG, [*changes, 'model.name="deeponet"'])
    predictor = load(train(config, tmp_path / "out").checkpoint)
    assert predictor.model.sensors.size == (20 if is_shared else 60)
    with pytest.raises(ValueError, match=r"samples of 20 points.*\(got 21\)"):
        predictor.predict(PointData(pos=torch.rand(21, 2), x=torch.ones(21, 1)))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: model()(sample(points=6)), r"samples of 7 points.*\(got 6\).*'pit'"),
        (lambda: model()(Batch.from_data_list([sample(), sample(points=5)])), r"samples of 7 points.*\(got 5 to 7\)"),
        (lambda: model()(Batch.from_data_list([sample(points=5)] * 2)), r"\(got 5\)"),
        (lambda: model()(sample(channels=1)), "4 input channels"),
        (lambda: DeepONetOptions().build(DataSpec(3, 1, 2, 0.1, 1.0)), "same number of points.*'pit'"),
        (lambda: DeepONetOptions().build(DataSpec(2, 1, 2, 0.1, 1.0, points=9, is_shared=True)), "input values"),
        (lambda: Sensors(3, 2, 9, "both"), "'mesh'"),
        (lambda: Sensors(3, 2, 0), "'points'"),
        (lambda: model(basis=0), "'basis'"),
        (lambda: model(width=0), "'width'"),
        (lambda: model(layers=0), "'layers'"),
        (lambda: model(out_channels=0), "'out_channels'"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
