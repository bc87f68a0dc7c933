"""GNOT: its parts by the formula, and what it alone has."""

import torch

from pitgeo.models.gnot import GNOT

from .common import sample, stirred


def model(dimension=2, **options):
    torch.manual_seed(0)
    options = {"width": 8, "heads": 2, "layers": 2, "experts": 3, **options}
    return stirred(GNOT(dimension + 2, 3, dimension, **options))


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
