"""GNOT: its parts by the formula, what it must keep, and an operator that it learns."""

import pytest
import torch
from pydantic import ValidationError

from pitgeo.models.gnot import GNOT, GNOTOptions
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
    options = {"width": 8, "heads": 2, "layers": 2, "experts": 3, **options}
    return stirred(GNOT(dimension + 2, 3, dimension, **options))


@pytest.mark.parametrize("outputs", [None, 5])
@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_samples_batches_and_orders(dimension, outputs):
    check_samples(model(dimension), outputs, dimension)


@pytest.mark.parametrize("outputs", [None, 5])
def test_gradients_coinciding_points_and_precisions(outputs):
    check_numbers(model(), outputs)


def test_units_of_length_do_not_matter():
    check_units(lambda unit: model(extent=unit))


def dense(layer, x, sources):
    """Normalised attention by all pairs of points."""
    outs = []
    parts = ((layer.query, x), (layer.key, sources), (layer.value, sources))
    for query, key, value in zip(*(part(what).chunk(layer.heads, -1) for part, what in parts), strict=True):
        query, key = query.softmax(-1), key.softmax(-1)
        weights = query @ key.T
        outs.append(query + weights @ value / weights.sum(1, keepdim=True))
    return layer.out(torch.cat(outs, -1))


def test_it_is_its_formula():
    made, data = model(), sample(outputs=4)
    hidden = made.queries(data.pos_out)
    sources = made.sources(torch.cat([data.pos, data.x], -1))
    for block in made.blocks:
        gates = block.gate.network(data.pos_out).exp()
        gates = gates / gates.sum(1, keepdim=True)
        hidden = hidden + dense(block.cross_attention, block.before_cross(hidden), block.of_sources(sources))
        hidden = hidden + block.after_first(block.first(hidden, gates))
        normal = block.before_self(hidden)
        hidden = hidden + dense(block.self_attention, normal, normal)
        hidden = hidden + block.after_second(block.second(hidden, gates))
    assert torch.allclose(made(data), made.head(hidden), rtol=1e-10, atol=1e-11)


def test_parameter_count():
    d, axes, inputs, outputs, experts, inner, layers = 128, 2, 4, 3, 3, 512, 3
    attention = 4 * (d * d + d)
    gate = axes * inner + inner + inner * inner + inner + inner * experts + experts
    block = gate + 2 * attention + 2 * experts * (2 * d * inner + inner + d) + 5 * 2 * d
    ends = (axes * d + d + d * d + d) + (inputs * d + d + d * d + d) + (d * d + d + d * outputs + outputs)
    made = GNOT(inputs, outputs, axes, width=d, heads=4, layers=layers, experts=experts, expansion=4)
    assert sum(p.numel() for p in made.parameters()) == layers * block + ends


def test_it_learns_to_smooth():
    made = GNOT(3, 1, 2, width=16, heads=2, layers=1)
    error = learned_error(made, steps=250, outputs=8, batch_size=32, rate=1e-2)
    assert error < 0.3 < 0.9 < pointwise_error(smoothing(300, 16, seed=5))


def test_options_build_it():
    options = GNOTOptions(width=12, heads=3, layers=1, experts=2, expansion=1)
    made = options.build(DataSpec(4, 3, 2, spacing=0.1, extent=5.0))
    assert made.extent == 5 and len(made.blocks) == 1 and made.blocks[0].cross_attention.heads == 3
    assert made.blocks[0].first.first.shape == (2, 12, 12)
    assert made(sample(outputs=4).apply(lambda value: value.float())).shape == (4, 3)
    assert not GNOTOptions().transform().transforms
    with pytest.raises(ValidationError, match="divide 'width' = 64"):
        GNOTOptions(heads=5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: model()(sample(channels=3)), "4 input channels"),
        (lambda: model(layers=0), "'layers'"),
        (lambda: model(width=0), "'width'"),
        (lambda: model(heads=3), "'heads'"),
        (lambda: model(experts=0), "'experts'"),
        (lambda: model(expansion=0), "'expansion'"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
