"""Transolver: order, batches, parameters, and a mean over the sample that no pointwise network can know."""

import pytest
import torch
from torch_geometric.data import Batch

from pitgeo.data import PointData
from pitgeo.models.model_options import DataSpec
from pitgeo.models.transolver import Transolver, TransolverOptions
from pitgeo.testing import (
    assert_batch_independent,
    assert_gradients,
    assert_parameters_used,
    assert_permutation_equivariant,
)

from .common import check_units, fit_randomly


def sample(points=30, seed=0, **others):
    generator = torch.Generator().manual_seed(seed)
    pos, x = (torch.randn(points, size, generator=generator).double() for size in (2, 3))
    return PointData(pos=pos, x=x, **others)


def model(**options):
    torch.manual_seed(0)
    return Transolver(5, 2, **{"channels": 8, "heads": 2, "layers": 2, "slices": 5, **options}).double()


def test_the_order_of_points_does_not_matter():
    assert_permutation_equivariant(model(), sample(), tolerance=1e-12)


def test_a_batch_is_its_samples_alone():
    assert_batch_independent(model(), [sample(size, size) for size in (30, 1, 12)], tolerance=1e-12)
    assert_batch_independent(model(), [sample(seed=seed) for seed in range(3)], tolerance=1e-12)


def test_samples_on_a_shared_mesh():
    made, data, x = model(), sample(), torch.randn(3, 30, 3).double()
    alone = torch.stack([made(PointData(pos=data.pos, x=one)) for one in x])
    assert torch.allclose(made(PointData(pos=data.pos, x=x)), alone, atol=1e-12)


def test_a_block_is_attention_and_mlp_beside_skips():
    made, data = model(layers=1, expansion=3), sample()
    hidden, block = made.lift(torch.cat([data.pos, data.x], 1)), made.blocks[0]
    hidden = hidden + block.attention(block.before(hidden)[None])[0]
    hidden = hidden + block.mlp(block.between(hidden))
    assert block.mlp[0].out_features == 24
    assert torch.allclose(made(data), made.head(hidden), atol=1e-12)


def test_gradients():
    made = model()
    assert_parameters_used(made, Batch.from_data_list([sample(), sample(7)]))
    assert_gradients(made, sample(9))


def test_number_of_parameters_with_the_papers_sizes():
    made = Transolver(2, 1, channels=128, heads=8, layers=8, slices=64)
    linear, size = 128 * 128 + 128, 16
    attention = 3 * linear + (size * 64 + 64) + 3 * size**2 + 8
    block = 2 * 2 * 128 + attention + 2 * linear
    expected = (2 * 256 + 256) + (256 * 128 + 128) + 8 * block + 2 * 128 + 128 + 1
    assert sum(parameter.numel() for parameter in made.parameters()) == expected == 713_537


@pytest.mark.parametrize("points", [1, 4])
def test_points_that_coincide(points):
    made = TransolverOptions().build(DataSpec(3, 1, 2, 0.0, 1.0))
    assert made(PointData(pos=torch.ones(points, 2), x=torch.rand(points, 1))).isfinite().all()


def test_autocast_is_close():
    made, data = model().float(), sample().apply(lambda v: v.float() if v.is_floating_point() else v)
    exact = made(data)
    with torch.autocast("cpu", torch.bfloat16):
        found = made(data)
    assert 0 < (found - exact).norm() / exact.norm() < 0.03


def slopes(count, points, seed):
    """Noise about a mean; the answer is the mean times a wave in space."""
    generator = torch.Generator().manual_seed(seed)
    pos = torch.rand(count, points, 2, generator=generator)
    x = torch.randn(count, 1, 1, generator=generator) + torch.randn(count, points, 1, generator=generator)
    return pos, x, x.mean(1, keepdim=True) * (3 * pos[..., :1]).cos()


def batch_of(*parts):
    names = "pos", "x", "y"
    return Batch.from_data_list([PointData(**dict(zip(names, one, strict=True))) for one in zip(*parts, strict=True)])


def test_it_learns_a_mean_over_the_sample():
    torch.manual_seed(0)
    made = Transolver(3, 1, channels=32, heads=2, layers=1, slices=8)
    pos, x, y = slopes(1024, 40, seed=0)
    fit_randomly(made, lambda chosen: batch_of(pos[chosen], x[chosen], y[chosen]), 1024, 16, steps=250, rate=0.003)
    pos, x, y = slopes(64, 40, seed=1)
    wave = (3 * pos[..., :1]).cos()
    variance = torch.tensor([1 + 1 / 40, 2.0])  # of the mean of a sample, and of a value; their covariance is the first
    pointwise = ((variance[0] / variance[1]) * x * wave - y).norm() / y.norm()  # normal, so the best guess is linear
    with torch.no_grad():
        error = (made(batch_of(pos, x, y)) - y.flatten(0, 1)).norm() / y.norm()
    assert error < 0.15 and pointwise > 0.5


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: model()(sample(pos_out=torch.rand(4, 2).double())), "output points that are the input points.*'pit'"),
        (lambda: Transolver(4, 1)(sample()), "4 input channels"),
        (lambda: model(layers=0), "'layers'"),
        (lambda: model(expansion=0), "'expansion'"),
        (lambda: model(heads=3), "'heads' to divide"),
        (lambda: TransolverOptions(channels=64, heads=3), "'heads' to divide 'channels' = 64"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_units_of_length_do_not_matter():
    def build(unit):
        torch.manual_seed(0)
        return Transolver(4, 1, channels=8, heads=2, layers=2, slices=5, extent=unit).double()

    check_units(build)
