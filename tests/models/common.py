"""What the tests of several models share: samples on scattered points, and an operator that is not pointwise."""

import copy
import itertools

import torch
from torch_geometric.data import Batch

from pitgeo.data import PointData
from pitgeo.testing import assert_batch_independent, assert_parameters_used, assert_permutation_equivariant


def sample(points=30, dimension=2, channels=2, outputs=None, seed=0):
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape):
        return torch.rand(*shape, generator=generator, dtype=torch.float64)

    pos_out = None if outputs is None else draw(outputs, dimension)
    return PointData(pos=draw(points, dimension), x=draw(points, channels) - 0.5, pos_out=pos_out)


def stirred(model, by=0.3):
    """The model in double precision, with every parameter moved away from special values it starts with."""
    model = model.double()
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += by * torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
    return model


def check_samples(model, is_free=False, dimension=2):
    """A sample, a batch of unequal samples and samples on one mesh give the same; so do points in another order."""
    few = [sample(n, dimension, outputs=m if is_free else None, seed=n) for n, m in ((11, 16), (1, 3), (17, 17))]
    alone = [model(one) for one in few]
    assert [list(out.shape) for out in alone] == [[len(one.points("output")[0]), 3] for one in few]
    assert alone[2].std(0).min() > 1e-6
    assert_batch_independent(model, few, tolerance=1e-10)
    assert_batch_independent(model, few[::-1], tolerance=1e-10)
    assert_permutation_equivariant(model, few[0], tolerance=1e-10)
    values = torch.stack([few[0].x, 2 * few[0].x, few[0].x.flip(0)])
    shared = PointData(pos=few[0].pos, x=values, pos_out=few[0].get("pos_out"))
    expected = torch.stack([model(PointData(pos=few[0].pos, x=x, pos_out=few[0].get("pos_out"))) for x in values])
    assert torch.allclose(model(shared), expected, rtol=1e-10, atol=1e-12)


def check_numbers(model, outputs=None):
    """Every parameter has a gradient; points that coincide give numbers; lower precisions are near double's."""
    few = [sample(n, outputs=outputs and outputs + n, seed=n) for n in (11, 17)]
    batch = Batch.from_data_list(few)
    assert_parameters_used(model, batch)
    same = sample(5, outputs=outputs)
    same.pos = same.pos[:1].expand(5, -1).clone()
    same.pos.requires_grad_()
    out = model(same)
    out.sum().backward()
    assert out.isfinite().all() and same.pos.grad.isfinite().all()
    exact = model(batch).detach()
    single = copy.deepcopy(model).float()
    batch = batch.apply(lambda value: value.float() if value.is_floating_point() else value)
    near = single(batch)
    assert near.dtype == torch.float32 and (near - exact).norm() / exact.norm() < 1e-4
    with torch.autocast("cpu", torch.bfloat16):
        out = single(batch)
    out.float().square().sum().backward()
    assert 0 < (out - exact).norm() / exact.norm() < 0.1
    assert all(p.grad.dtype == torch.float32 and p.grad.isfinite().all() for p in single.parameters())


def check_units(build):
    """A mesh in another unit of length gives the same, for a model built with lengths in that unit."""
    data = sample()
    moved = PointData(pos=1000 * data.pos, x=data.x)
    assert torch.allclose(build(1.0)(data), build(1000.0)(moved), rtol=1e-9, atol=1e-10)


def smoothing(count, points, seed, outputs=None):
    """Values that are noise on random points of the unit square, and their averages by a wide Gaussian."""
    generator = torch.Generator().manual_seed(seed)
    samples = []
    for _ in range(count):
        pos, x = torch.rand(points, 2, generator=generator), torch.randn(points, 1, generator=generator)
        pos_out = None if outputs is None else torch.rand(outputs, 2, generator=generator)
        weights = torch.exp(-torch.cdist(pos if pos_out is None else pos_out, pos).square())
        samples.append(PointData(pos=pos, x=x, pos_out=pos_out, y=5 * weights @ x / points))
    return samples


def pointwise_error(samples):
    """The error of the best pointwise answer among polynomials of the third degree in position times (1, x)."""
    pos, x, y = (torch.cat([one[key] for one in samples]) for key in ("pos", "x", "y"))
    powers = [pos[:, :1] ** i * pos[:, 1:] ** j for i in range(4) for j in range(4 - i)]
    features = torch.cat([*powers, *(x * power for power in powers)], 1)
    found = features @ torch.linalg.lstsq(features, y).solution
    return float((found - y).norm() / y.norm())


def fit_randomly(model, batch_of, count, size, steps, rate):
    """Train on ``size`` of ``count`` samples in every step."""
    optimizer = torch.optim.Adam(model.parameters(), rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    fit(model, (batch_of(torch.randint(count, (size,))) for _ in range(steps)), optimizer, schedule)


def fit(model, batches, optimizer, schedule):
    """Train on one batch after the other, and leave the model as it is evaluated."""
    for batch in batches:
        loss = (model(batch) - batch.y).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    model.eval()


def learned_error(model, steps, outputs=None, rate=5e-3, points=16, batch_size=16):
    """The error on new samples, some with fewer points, after training on 30 batches."""
    batches = [Batch.from_data_list(smoothing(batch_size, points, seed, outputs)) for seed in range(30)]
    optimizer = torch.optim.Adam(model.parameters(), rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps)
    fit(model, itertools.islice(itertools.cycle(batches), steps), optimizer, schedule)
    new = Batch.from_data_list(smoothing(32, points, 10_000, outputs) + smoothing(32, points - 5, 10_001, outputs))
    with torch.no_grad():
        return float((model(new) - new.y).norm() / new.y.norm())
