"""Linear attention is what its weights, written out for every pair of points, say."""

import pytest
import torch

from pitgeo.models.linear_attention import LinearAttention, rotary_angles, rotate

from .common import stirred

KINDS = [
    ("layer", "none", None),
    ("layer", "concatenated", None),
    ("instance", "rotated", None),
    ("instance", "rotated", 8),
    ("softmax", "none", None),
]


def made(norm, place, head_channels=None):
    torch.manual_seed(0)
    return stirred(LinearAttention(8, 2, norm, place, dimension=2, head_channels=head_channels))


def places(layer, pos):
    channels = layer.query.weight.shape[0] // layer.heads
    return {"none": None, "concatenated": pos, "rotated": rotary_angles(pos, channels, 0.1)}[layer.place]


def turned(vector, pos, unit=0.1):
    """A feature turned pair by pair."""
    pairs = len(vector) // (2 * len(pos))
    out, number = vector.clone(), len(pos) * pairs
    for axis, coordinate in enumerate(pos):
        for k in range(pairs):
            place = axis * pairs + k
            turn = torch.polar(torch.ones(()).double(), coordinate / unit * 10000.0 ** (-k / pairs))
            pair = torch.complex(vector[place], vector[place + number]) * turn
            out[place], out[place + number] = pair.real, pair.imag
    return out


def by_pairs(layer, x, sources, pos, pos_sources):
    """One sample, point by point and head by head."""
    size = layer.query.weight.shape[0] // layer.heads
    outs = []
    for head in range(layer.heads):
        rows = slice(head * size, (head + 1) * size)

        def project(part, values, rows=rows):
            out = values @ part.weight[rows].T
            return out if part.bias is None else out + part.bias[rows]

        query, key, value = project(layer.query, x), project(layer.key, sources), project(layer.value, sources)
        if layer.norm == "layer":
            key, value = (
                (part - part.mean(1, keepdim=True))
                / (part.var(1, keepdim=True, unbiased=False) + 1e-5).sqrt()
                * norm.weight[head]
                + norm.bias[head]
                for part, norm in zip((key, value), layer.norms, strict=True)
            )
        elif layer.norm == "instance":
            key, value = ((part - part.mean(0)) / (part.var(0, unbiased=False) + 1e-5).sqrt() for part in (key, value))
        else:
            query, key = query.exp(), key.exp()
            query, key = query / query.sum(1, keepdim=True), key / key.sum(1, keepdim=True)
        if layer.place == "concatenated":
            query, key, value = (
                torch.cat([p, part], 1) for p, part in ((pos, query), (pos_sources, key), (pos_sources, value))
            )
        elif layer.place == "rotated":
            query = torch.stack([turned(*both) for both in zip(query, pos, strict=True)])
            key = torch.stack([turned(*both) for both in zip(key, pos_sources, strict=True)])
        weights = torch.stack([torch.stack([(q * k).sum() for k in key]) for q in query])
        if layer.norm == "softmax":
            outs.append(query + weights / weights.sum(1, keepdim=True) @ value)
        else:
            outs.append(weights / len(sources) @ value)
    return torch.cat(outs, 1) @ layer.out.weight.T + layer.out.bias


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_a_sum_over_all_pairs(kind):
    layer = made(*kind)
    sizes, width = (9, 4, 1), 9
    sources, pos_sources = torch.randn(3, width, 8).double(), torch.rand(3, width, 2).double()
    x, pos = torch.randn(3, 6, 8).double(), torch.rand(3, 6, 2).double()
    mask = torch.arange(width) < torch.tensor(sizes)[:, None]
    out = layer(x, sources, mask, places(layer, pos), places(layer, pos_sources))
    for number, size in enumerate(sizes):
        there = sources[number, :size], pos[number], pos_sources[number, :size]
        assert torch.allclose(out[number], by_pairs(layer, x[number], *there), rtol=1e-10, atol=1e-10)
    everywhere = layer(x[:1], sources[:1], None, places(layer, pos[:1]), places(layer, pos_sources[:1]))
    assert torch.allclose(everywhere, out[:1], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_padding_does_not_leak(kind):
    layer = made(*kind)
    x, pos = torch.randn(2, 7, 8).double(), torch.rand(2, 7, 2).double()
    mask = torch.arange(7) < torch.tensor([7, 3])[:, None]
    other = torch.where(mask[..., None], x, 1e3)
    elsewhere = torch.where(mask[..., None], pos, -50.0)
    before = layer(x, x, mask, places(layer, pos), places(layer, pos))
    after = layer(x, other, mask, places(layer, pos), places(layer, elsewhere))
    assert torch.allclose(after, before, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_gradients(kind):
    layer = made(*kind)
    x, sources = (torch.randn(2, n, 8).double().requires_grad_() for n in (3, 5))
    pos, pos_sources = (torch.rand(2, n, 2).double().requires_grad_() for n in (3, 5))
    mask = torch.arange(5) < torch.tensor([5, 2])[:, None]
    assert torch.autograd.gradcheck(
        lambda x, sources, pos, pos_sources: layer(x, sources, mask, places(layer, pos), places(layer, pos_sources)),
        (x, sources, pos, pos_sources),
        fast_mode=True,
    )


@pytest.mark.parametrize(("axes", "channels"), [(1, 6), (2, 9), (3, 12)])
def test_products_of_rotated_features_see_differences_of_positions(axes, channels):
    query, key = torch.randn(2, channels).double()
    pos, other, shift = torch.rand(3, axes).double()

    def product(a, b):
        return rotate(query, rotary_angles(a, channels, 0.3)) @ rotate(key, rotary_angles(b, channels, 0.3))

    assert torch.allclose(product(pos, other), product(pos + shift, other + shift), atol=1e-13)
    assert not torch.allclose(product(pos, other), product(pos + shift, other), atol=1e-3)
    assert torch.allclose(rotate(query, rotary_angles(pos, channels, 0.3)).norm(), query.norm())


def test_it_starts_near_a_small_multiple_of_the_identity():
    layer = LinearAttention(12, 2, "instance", head_channels=12, diagonal=1e-2)
    bound = 1e-2 * (6 / (24 + 12)) ** 0.5
    for weight in (layer.query.weight, layer.key.weight, layer.value.weight):
        noise = weight.detach() - 1e-2 * torch.eye(12).repeat(2, 1)
        assert 0.5 * bound < noise.abs().max() <= bound + 1e-8


def test_normalisers_are_taken_in_single_precision():
    torch.manual_seed(0)
    layer = LinearAttention(8, 2, "softmax")
    x = torch.randn(1, 3000, 8)
    exact = layer.double()(x.double(), x.double())
    with torch.autocast("cpu", torch.bfloat16):
        out = layer.float()(x, x)
    assert out.dtype == torch.bfloat16 and (out - exact).abs().max() < 0.02  # sums of 3000 in bfloat16 stop at 256
    assert layer.bfloat16()(x.bfloat16(), x.bfloat16()).dtype == torch.bfloat16


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: LinearAttention(8, 3, "layer"), "'heads' to divide channels = 8"),
        (lambda: LinearAttention(8, 2, "batch"), "'norm'"),
        (lambda: LinearAttention(8, 2, "layer", "added"), "'place'"),
        (
            lambda: made("layer", "concatenated")(torch.rand(1, 2, 8).double(), torch.rand(1, 2, 8).double()),
            "positions",
        ),
        (lambda: rotary_angles(torch.rand(4, 3), 5, 1.0), r"two channels in a head for each of 3 axes.*got 5"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
