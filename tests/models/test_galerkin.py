"""The Galerkin Transformer: its parts by the formula, what it must keep, and an operator that it learns."""

import pytest
import torch
from pydantic import ValidationError

from pitgeo.models.galerkin import GalerkinOptions, GalerkinTransformer
from pitgeo.models.model_options import DataSpec

from .common import (
    check_numbers,
    check_samples,
    check_units,
    learned_error,
    pointwise_error,
    sample,
    smoothing,
    stirred,
)


def model(dimension=2, **options):
    torch.manual_seed(0)
    options = {"width": 8, "heads": 2, "layers": 2, **options}
    return stirred(GalerkinTransformer(dimension + 2, 3, dimension, **options))


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_samples_batches_and_orders(dimension):
    check_samples(model(dimension), dimension=dimension)


def test_gradients_coinciding_points_and_precisions():
    check_numbers(model())


def test_units_of_length_do_not_matter():
    check_units(lambda unit: model(extent=unit))


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


def test_it_learns_to_smooth():
    made = GalerkinTransformer(3, 1, 2, width=32, heads=4, layers=2)
    assert learned_error(made, steps=300) < 0.25 < 0.9 < pointwise_error(smoothing(300, 16, seed=5))


def test_options_build_it():
    made = GalerkinOptions(width=12, heads=3, layers=1).build(DataSpec(4, 3, 2, spacing=0.1, extent=5.0))
    assert made.extent == 5 and len(made.blocks) == 1 and made.blocks[0].attention.heads == 3
    assert made(sample().apply(lambda value: value.float())).shape == (11, 3)
    assert not GalerkinOptions().transform().transforms
    with pytest.raises(ValidationError, match="divide 'width' = 64"):
        GalerkinOptions(heads=5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: model()(sample(outputs=4)), "output points that are the input points.*'oformer'"),
        (lambda: model()(sample(channels=3)), "4 input channels"),
        (lambda: model(layers=0), "'layers'"),
        (lambda: model(width=0), "'width'"),
        (lambda: model(heads=3), "'heads'"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
