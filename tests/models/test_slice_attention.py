"""Slice attention: the formula by loops over heads and points."""

import pytest
import torch

from pitgeo.models.slice_attention import COLDEST, HOTTEST, SliceAttention


def layer(channels=6, heads=2, slices=4):
    torch.manual_seed(0)
    made = SliceAttention(channels, heads, slices).double()
    with torch.no_grad():
        made.temperature.copy_(torch.linspace(0.3, 0.8, heads))
    return made


def by_loops(made, points):
    """One sample: matrices of points and slices, head after head."""
    size = made.channels // made.heads
    outputs = []
    for head in range(made.heads):
        part = slice(head * size, (head + 1) * size)
        feature, value = made.feature(points)[:, part], made.value(points)[:, part]
        weights = torch.stack([(made.slice(row) / made.temperature[head]).softmax(0) for row in feature])
        tokens = []
        for column in weights.T:
            tokens.append(sum(w * v for w, v in zip(column, value, strict=True)) / (column.sum() + 1e-5))
        token = torch.stack(tokens)
        query, key, content = (token @ part.weight.T for part in made.tokens)
        token = ((query @ key.T) / size**0.5).softmax(-1) @ content
        outputs.append(weights @ token)
    return made.join(torch.cat(outputs, -1))


@pytest.mark.parametrize(("heads", "slices"), [(1, 1), (2, 4), (3, 9)])
def test_the_formula(heads, slices):
    made, x = layer(heads=heads, slices=slices), torch.randn(2, 8, 6).double()
    assert torch.allclose(made(x), torch.stack([by_loops(made, points) for points in x]), atol=1e-12)


def test_padding_does_not_leak():
    made, x, mask = layer(), torch.randn(3, 8, 6).double(), torch.ones(3, 8, dtype=torch.bool)
    mask[0, 5:] = mask[2, 1:] = False
    found = made(x, mask)
    for number, count in enumerate((5, 8, 1)):
        assert torch.allclose(found[number, :count], by_loops(made, x[number, :count]), atol=1e-12)


def test_shares_add_up_to_one():
    made, x = layer(), torch.randn(2, 300, 6).double()
    mask = torch.arange(300).expand(2, -1) < 200
    weights, shares = made.weights(x, mask)
    assert torch.allclose(weights.sum(-1), torch.ones(()).double())
    assert torch.allclose(shares.sum(2), torch.ones(()).double(), atol=1e-5) and not shares[:, :, 200:].any()


def test_temperatures_stay_in_their_bounds():
    made, x = layer(), torch.randn(1, 8, 6).double()
    found = []
    for pair in ((-1.0, 9.0), (COLDEST, HOTTEST)):
        with torch.no_grad():
            made.temperature.copy_(torch.tensor(pair, dtype=torch.float64))
        found.append(made(x))
    assert torch.equal(*found) and found[0].isfinite().all()


def test_points_that_all_are_the_same():
    made = layer()
    found = made(torch.ones(2, 5, 6).double())
    assert found.isfinite().all() and torch.allclose(found, found[:1, :1].expand_as(found))


def test_weights_are_in_single_precision_under_autocast():
    made, x = layer().float(), torch.randn(2, 2000, 6)
    exact = made(x)
    with torch.autocast("cpu", torch.bfloat16):
        found, (weights, shares) = made(x), made.weights(x)
    assert weights.dtype == shares.dtype == torch.float32
    assert (shares.sum(2) - 1).abs().max() < 1e-4
    assert 0 < (found - exact).norm() / exact.norm() < 0.02


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: SliceAttention(6, 4), "'heads' to divide 'channels' = 6"),
        (lambda: SliceAttention(6, 2, 0), "'slices'"),
        (lambda: SliceAttention(6, 0), "'heads'"),
        (lambda: layer()(torch.rand(2, 5, 4).double()), r"'x' to have shape \[B, N, 6\]"),
        (lambda: layer()(torch.rand(2, 5, 6).double(), torch.ones(2, 4, dtype=torch.bool)), "'mask'"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
