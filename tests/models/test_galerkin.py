"""The Galerkin Transformer: its parts by the formula, and what it alone has."""

import torch

from pitgeo.models.galerkin import GalerkinTransformer

from .common import sample, stirred


def model(dimension=2, **options):
    torch.manual_seed(0)
    options = {"width": 8, "heads": 2, "layers": 2, **options}
    return stirred(GalerkinTransformer(dimension + 2, 3, dimension, **options))


def test_it_is_its_formula():
    made, data = model(), sample()
    hidden = made.lift(torch.cat([data.pos, data.x], -1))
    for block in made.blocks:
        hidden = hidden + block.attention(hidden[None], hidden[None], None, data.pos[None], data.pos[None])[0]
        first, _, second = block.mlp
        hidden = hidden + second(first(hidden).clamp(min=0))
    expected = made.head(made.near(torch.cat([hidden, data.pos], -1)))
    assert torch.allclose(made(data), expected, atol=1e-11)


def test_parameter_count():
    d, h, n, axes, out = 96, 1, 4, 1, 1
    attention = 3 * (d * d + d) + 2 * 2 * d + (d + h * axes) * d + d
    block = attention + (d * 2 * d + 2 * d) + (2 * d * d + d)
    head = (d + axes) * d + d + 2 * (d * d + d) + d * out + out
    made = GalerkinTransformer(2, out, axes, width=d, heads=h, layers=n)
    assert sum(p.numel() for p in made.parameters()) == (2 * d + d) + n * block + head
