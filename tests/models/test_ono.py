"""ONO: orthonormal features, and its parts by the formula."""

import pytest
import torch
from torch_geometric.data import Batch

from pitgeo.data import PointData
from pitgeo.models.ono import ONO, OrthogonalAttention

from .common import sample, stirred


def model(dimension=2, trained=3, **options):
    """A model in evaluation, after it has seen some batches in training."""
    torch.manual_seed(0)
    options = {"width": 8, "heads": 2, "layers": 2, "features": 4, **options}
    made = stirred(ONO(dimension + 2, 3, **options))
    for seed in range(trained):
        made(Batch.from_data_list([sample(n, dimension=dimension, seed=seed) for n in (20, 30)]))
    return made.eval()


def layer(features=4, momentum=0.75):
    torch.manual_seed(0)
    return stirred(OrthogonalAttention(8, features, momentum))


def by_hand(made, covariance, u, h):
    """One sample: features made orthonormal by Gram and Schmidt, then the sum over all pairs of points."""
    basis, count = [], len(made.strength)
    metric = covariance + 1e-5 * covariance.diagonal().mean() * torch.eye(count).double()
    for number in range(count):
        vector = torch.eye(count).double()[number]
        for other in basis:
            vector = vector - (other @ metric @ vector) * other
        basis.append(vector / (vector @ metric @ vector).sqrt())
    features = (u @ made.features.weight.T + made.features.bias) @ torch.stack(basis).T
    kernel = torch.stack([(features * made.strength.exp().log1p() * one).sum(1) for one in features])
    return kernel @ h / len(h)


def covariance_of(made, u):
    features = u @ made.features.weight.T + made.features.bias
    return torch.stack([torch.outer(one, one) for one in features]).mean(0)


def test_attention_is_a_sum_over_all_pairs_in_training_and_in_evaluation():
    made = layer()
    u, h = torch.randn(2, 2, 9, 8).double()
    mask = torch.arange(9) < torch.tensor([9, 5])[:, None]
    first = covariance_of(made, u[mask])
    out = made(u, h, mask)
    for number, size in enumerate((9, 5)):
        expected = by_hand(made, first, u[number, :size], h[number, :size])
        assert torch.allclose(out[number, :size], expected, rtol=1e-9, atol=1e-10)
    assert torch.allclose(made.covariance, first, atol=1e-12)
    other = torch.randn(1, 30, 8).double()
    made(other, other)
    running = 0.75 * first + 0.25 * covariance_of(made, other[0])
    assert torch.allclose(made.covariance, running, atol=1e-12) and made.steps == 2
    made.eval()
    out = made(u, h, mask)
    for number, size in enumerate((9, 5)):
        expected = by_hand(made, running, u[number, :size], h[number, :size])
        assert torch.allclose(out[number, :size], expected, rtol=1e-9, atol=1e-10)
    assert torch.equal(made(u, h, mask), out) and made.steps == 2


def test_a_new_layer_evaluates_with_its_features_as_they_are():
    made = layer().eval()
    u, h = torch.randn(2, 1, 9, 8).double()
    assert torch.allclose(made(u, h)[0], by_hand(made, torch.eye(4).double(), u[0], h[0]), rtol=1e-9, atol=1e-11)


def test_features_are_orthonormal_over_a_batch_in_training():
    made = layer()
    u = torch.randn(3, 40, 8).double()
    raw = made.features(u)
    features = (raw @ made._whitening(raw, None)).flatten(0, 1)
    assert torch.allclose(features.T @ features / 120, torch.eye(4).double(), atol=1e-3)
    assert not torch.allclose(covariance_of(made, u.flatten(0, 1)), torch.eye(4).double(), atol=0.1)


def test_padding_does_not_leak():
    made = layer()
    u, h = torch.randn(2, 2, 7, 8).double()
    mask = torch.arange(7) < torch.tensor([7, 3])[:, None]
    before = made(u, h, mask)[mask]
    after = made(torch.where(mask[..., None], u, 1e3), torch.where(mask[..., None], h, -1e3), mask)[mask]
    assert torch.allclose(after, before, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("training", [True, False])
def test_gradients(training):
    made = layer()
    u, h = (torch.randn(2, 6, 8).double().requires_grad_() for _ in range(2))
    made(u, h)
    made.train(training)
    assert torch.autograd.gradcheck(made, (u, h), fast_mode=True)


@pytest.mark.parametrize("rows", [1, 3])
def test_fewer_points_than_features_are_no_trouble(rows):
    made = OrthogonalAttention(8, 16)
    u, h = torch.randn(2, 1, rows, 8).requires_grad_()
    out = made(u, h)
    out.square().sum().backward()
    assert out.isfinite().all() and made.features.weight.grad.isfinite().all()
    assert made.eval()(torch.randn(1, 50, 8), torch.randn(1, 50, 8)).isfinite().all()


def test_points_in_another_order_in_training():
    made, data, order = model().train(), sample(), torch.randperm(30)
    turned = PointData(pos=data.pos[order], x=data.x[order])
    assert torch.allclose(made(turned), made(data)[order], rtol=1e-8, atol=1e-9)


def test_it_is_its_formula():
    made, data = model(), sample()
    u, h = made.lift(torch.cat([data.pos, data.x], -1)).chunk(2, -1)
    for block in made.blocks:
        normal = block.before(u)[None]
        u = u + block.attention(normal, normal)[0]
        u = u + block.mlp(block.between(u))
        h = h + by_hand(block.orthogonal, block.orthogonal.covariance, u, h)
        h = block.head(block.after(h))
    assert torch.allclose(made(data), h, rtol=1e-8, atol=1e-9)


def test_parameter_count():
    d, heads, inputs, outputs, features, layers = 128, 8, 4, 3, 16, 5
    two = 2 * (d * d + d)
    block = 4 * (d * d + d) + 2 * 2 * d + two + d * features + features + features + 3 * 2 * d
    lift = inputs * 2 * d + 2 * d + 2 * d * 2 * d + 2 * d
    expected = lift + layers * block + (layers - 1) * two + d * outputs + outputs
    made = ONO(inputs, outputs, width=d, heads=heads, layers=layers, features=features)
    assert sum(p.numel() for p in made.parameters()) == expected


def test_the_running_covariance_is_kept_with_the_weights():
    made, again = model(), model(trained=0)
    again.load_state_dict(made.state_dict())
    assert torch.equal(again(sample()), made(sample()))
    assert not torch.allclose(model(trained=0)(sample()), made(sample()), atol=1e-3)
