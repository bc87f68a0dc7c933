"""GINO of neuraloperator: what it is given, its first graph operator by loops, and what its package leaves behind."""

import importlib
import importlib.util
import itertools
import math
import sys
import warnings

import pytest
import torch
from torch_geometric.data import Batch

from pitgeo.data import PointData
from pitgeo.models import GINO, GINOOptions
from pitgeo.models.gino import neuraloperator, segment_csr
from pitgeo.models.model_options import DataSpec
from pitgeo.nn.rollout import Rollout
from pitgeo.testing import assert_batch_independent, assert_parameters_used, assert_permutation_equivariant

from .common import sample
from .heat import error_after_training, smoothed_on_a_shared_mesh

needed = pytest.mark.skipif(importlib.util.find_spec("neuralop") is None, reason="needs pitgeo[baselines]")


def model(dimension=2, channels=2, **options):
    torch.manual_seed(0)
    options = {"modes": 3, "width": 8, "layers": 2, "nodes": 8, **options}
    return GINO(dimension + channels, 3, dimension, **options).double()


def test_without_the_package_its_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "neuralop.models", None)
    with pytest.raises(ImportError, match=r"neuraloperator.*pip install 'pitgeo\[baselines\]'"):
        GINOOptions().build(DataSpec(in_channels=5, out_channels=1, dimension=2, spacing=0.1, extent=1.0))


def test_filters_of_warnings_are_as_before(monkeypatch):
    def import_module(name):
        warnings.filterwarnings("once", category=UserWarning)
        return name

    before = list(warnings.filters)
    monkeypatch.setattr(importlib, "import_module", import_module)
    assert neuraloperator() == "neuralop.models" and warnings.filters == before


def seen_by(made, data):
    """What the package's network is called with."""
    calls = []
    handle = made.network.register_forward_pre_hook(lambda module, *given: calls.append(given), with_kwargs=True)
    made(data)
    handle.remove()
    return calls


@needed
def test_the_network_sees_a_unit_box():
    made, data = model(extent=4.0, spacing=0.4), sample(outputs=9)
    data.pos, data.pos_out = 4 * data.pos + 7, 3 * data.pos_out + 7
    ((place, grid, place_out), others), *more = seen_by(made, data)
    low = torch.cat([data.pos, data.pos_out]).amin(0)
    assert (
        not more
        and torch.allclose(4 * place[0] + low, data.pos)
        and torch.allclose(4 * place_out[0] + low, data.pos_out)
    )
    assert grid.shape == (1, 8, 8, 2) and grid[0, 0, 0].tolist() == [0, 0] and grid[0, -1, -1].tolist() == [1, 1]
    assert torch.allclose(others["x"], torch.cat([place, data.x[None]], -1))
    nearest = (grid.reshape(-1, 1, 2) - place).norm(dim=-1).amin(1)
    assert torch.allclose(others["latent_features"].flatten(), nearest, atol=1e-12)
    assert made.network.gno_in.radius == pytest.approx(1.05 * math.sqrt(2) / 7)  # of a cell, more than 0.2
    assert made.network.gno_out.radius == made.network.gno_in.radius
    assert model(extent=4.0, spacing=0.6).network.gno_in.radius == pytest.approx(0.3)
    larger = PointData(pos=3 * data.pos, x=data.x)  # than those it was made for
    assert float(seen_by(made, larger)[0][0][0].max()) == pytest.approx(1.0)


@needed
def test_the_first_operator_by_loops():
    made, data = model(), sample()
    found = []
    made.network.gno_in.register_forward_hook(lambda module, given, out: found.append(out))
    ((place, grid, _), others) = seen_by(made, data)[0]
    block = made.network.gno_in
    for node, value in zip(grid.reshape(-1, 2), found[0][0], strict=True):
        terms = []
        for p, f in zip(place[0], others["x"][0], strict=True):
            if (p - node).norm() <= block.radius:
                pair = torch.cat([block.pos_embedding(p[None])[0], block.pos_embedding(node[None])[0]])
                terms.append(block.integral_transform.channel_mlp(pair) * f)
        expected = torch.stack(terms).mean(0) if terms else torch.zeros_like(value)
        assert torch.allclose(value, expected, atol=1e-10)


@needed
@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_shapes_batches_and_order(dimension):
    made = model(dimension)
    samples = [sample(size, dimension, outputs=outputs, seed=size) for size, outputs in ((20, 7), (1, 3), (33, 33))]
    assert [made(one).shape for one in samples] == [(7, 3), (3, 3), (33, 3)]
    assert_batch_independent(made, samples, tolerance=1e-10)
    same = [sample(size, dimension, seed=size) for size in (20, 9)]
    assert_batch_independent(made, same, tolerance=1e-10)
    for one in (samples[0], same[0]):
        assert_permutation_equivariant(made, one, tolerance=1e-5)  # single precision inside
    assert torch.allclose(made(Batch.from_data_list(same[:1])), made(same[0]), atol=1e-10)


@needed
def test_samples_on_a_shared_mesh():
    made, data = model(), sample(outputs=11)
    x = torch.randn(3, 30, 2).double()
    shared = PointData(pos=data.pos, x=x, pos_out=data.pos_out)
    expected = torch.stack([made(PointData(pos=data.pos, x=one, pos_out=data.pos_out)) for one in x])
    assert torch.allclose(made(shared), expected, atol=1e-6)


@needed
@pytest.mark.parametrize("outputs", [None, 12])
def test_every_parameter_is_used(outputs):
    assert_parameters_used(model(), Batch.from_data_list([sample(outputs=outputs), sample(9, outputs=outputs)]))


@needed
def test_points_that_coincide_give_numbers():
    for data in (PointData(pos=torch.ones(4, 2).double(), x=torch.rand(4, 2).double()), sample(1)):
        data.pos.requires_grad_()
        out = model(spacing=0.0)(data)
        out.sum().backward()
        assert out.isfinite().all() and data.pos.grad.isfinite().all()


@needed
def test_single_precision_and_autocast():
    made, data = model(), sample()
    exact = made(data)
    data = PointData(pos=data.pos.float(), x=data.x.float())
    single = made.float()(data)
    assert exact.dtype == torch.float64 and torch.allclose(single.double(), exact, atol=1e-5)
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(made(data), single)


@needed
def test_checkpoints_hold_weights_alone(tmp_path):
    made, data = model(), sample()
    state = Rollout(made, 1).state_dict()
    assert all(isinstance(value, torch.Tensor) for value in state.values())
    torch.save(made.state_dict(), tmp_path / "weights.pt")
    other = model()
    for parameter in other.parameters():
        parameter.data.zero_()
    other.load_state_dict(torch.load(tmp_path / "weights.pt", weights_only=True))
    assert torch.equal(other(data), made(data))


@needed
def test_it_learns_the_heat_equation_on_random_points(capsys):
    torch.manual_seed(0)
    made = GINO(2, 1, 1, spacing=0.01, modes=6, width=16, layers=1, nodes=24)
    batches = [smoothed_on_a_shared_mesh(32, seed) for seed in range(5)]
    error, pointwise = error_after_training(made, batches, smoothed_on_a_shared_mesh(50, seed=9), steps=80)
    assert error < 0.25 and pointwise > 0.5
    assert capsys.readouterr().out == ""  # the package may print


@needed
def test_options():
    spec = DataSpec(in_channels=5, out_channels=2, dimension=2, spacing=0.1, extent=3.0)
    made = GINOOptions(modes=4, width=8, nodes=10, layers=2).build(spec)
    assert made.extent == 3.0 and made.network.fno_blocks.n_layers == 2
    assert made(PointData(pos=torch.rand(20, 2), x=torch.rand(20, 3))).shape == (20, 2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: GINOOptions(nodes=15), r"'nodes' to be at least 16, two a mode \(got 15\)"),
        (lambda: model(nodes=5), r"at least 6, two a mode \(got 5\)"),
        (lambda: model(4), r"1, 2 or 3 \(got 4\)"),
        (lambda: model(modes=0), "'modes'"),
        (lambda: model(width=0), "'width'"),
        (lambda: model(layers=0), "'layers'"),
        pytest.param(lambda: model()(sample(channels=3)), "4 input channels", marks=needed),
        pytest.param(lambda: model().float()(sample()), r"\.float\(\)", marks=needed),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("reduction", ["sum", "mean"])
@pytest.mark.parametrize("samples", [(), (3,)])
def test_sums_over_neighbours_are_those_of_a_loop(samples, reduction, dtype):
    pointer = torch.tensor([0, 2, 2, 5, 9])
    rows = torch.randn(*samples, 9, 4, dtype=dtype, requires_grad=True)
    parts = [rows[..., a:b, :] for a, b in itertools.pairwise(pointer.tolist())]
    counts = [max(1, part.shape[-2]) if reduction == "mean" else 1 for part in parts]
    expected = torch.stack([part.sum(-2) / n for part, n in zip(parts, counts, strict=True)], -2)
    found = segment_csr(rows, pointer.expand(*samples, -1), reduction)
    assert found.dtype == dtype and torch.allclose(found, expected, atol=1e-6)
    direction = torch.randn_like(found)
    slopes = [torch.autograd.grad((values * direction).sum(), rows)[0] for values in (found, expected)]
    assert torch.allclose(*slopes, atol=1e-6)
