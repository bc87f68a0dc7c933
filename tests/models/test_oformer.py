"""OFormer: its parts by the formula, and what it alone has."""

import pytest
import torch
from pydantic import ValidationError

from pitgeo.data import PointData
from pitgeo.models.linear_attention import rotary_angles
from pitgeo.models.model_options import DataSpec
from pitgeo.models.oformer import OFormer, OFormerOptions

from .common import sample, stirred


def model(dimension=2, extent=1.0, **options):
    torch.manual_seed(0)
    options = {"width": 8, "decoder_width": 12, "heads": 2, "layers": 2, "spacing": 0.2 * extent, **options}
    return stirred(OFormer(dimension + 2, 3, dimension, extent=extent, **options))


def test_an_output_point_does_not_see_others():
    made, data = model(), sample(outputs=6)
    few = PointData(pos=data.pos, x=data.x, pos_out=data.pos_out[:2])
    assert torch.allclose(made(few), made(data)[:2], atol=1e-12)


def test_it_is_its_formula():
    made, data = model(), sample(outputs=4)

    def gated(network, x):
        inner = network.first(x)
        half = inner.shape[-1] // 2
        return network.second(inner[:, :half] * 0.5 * (1 + torch.erf(inner[:, :half] / 2**0.5)) * inner[:, half:])

    angles = rotary_angles(data.pos, 8, 0.2)[None]
    hidden = made.lift(torch.cat([data.pos, data.x], -1))
    for block in made.blocks:
        hidden = block.before(hidden)
        hidden = hidden + block.attention(hidden[None], hidden[None], None, angles, angles)[0]
        hidden = block.between(hidden)
        hidden = hidden + gated(block.mlp, hidden)
    phase = 2 * torch.pi * data.pos_out @ made.waves
    query = made.queries(torch.cat([phase.sin(), phase.cos()], -1))
    turns = [rotary_angles(pos, 12, 0.2)[None] for pos in (data.pos_out, data.pos)]
    query = query + made.attention(query[None], made.bridge(hidden)[None], None, *turns)[0]
    query = query + gated(made.mlp, query)
    expected = made.head(torch.cat([query, data.pos_out], -1))
    assert torch.allclose(made(data), expected, rtol=1e-10, atol=1e-11)


def test_parameter_count():
    def attention(d):
        return 3 * d * 4 * d + 4 * d * d + d

    def gated(d):
        return d * 2 * d + 2 * d + d * d + d

    d, e = 96, 256
    expected = 3 * d + 6 * (attention(d) + gated(d) + 4 * d) + d * e
    expected += 2 * e * e + attention(e) + gated(e) + (e + 2) * e + e * e // 2 + e // 2 + 1
    made = OFormer(3, 1, 2, width=d, decoder_width=e, heads=4, layers=6)
    assert sum(p.numel() for p in made.parameters()) == expected == 2_556_321
    assert abs(expected / 2.51e6 - 1) < 0.02  # the paper's, in millions


def test_waves_stay_as_they_were_drawn():
    made = OFormer(4, 3, 2, decoder_width=512, frequency=3.0)
    assert abs(made.waves.std() - 3) < 0.4 and "waves" in made.state_dict() and not made.waves.requires_grad
    again = OFormer(4, 3, 2, decoder_width=512, frequency=3.0)
    again.load_state_dict(made.state_dict())
    data = sample(outputs=3).apply(lambda value: value.float())
    assert torch.equal(made(data), again(data))


def test_options():
    assert OFormerOptions().build(DataSpec(4, 3, 2, spacing=0.3, extent=5.0)).spacing == 0.3
    assert OFormerOptions().build(DataSpec(4, 3, 2, spacing=0.0, extent=5.0)).spacing == 0.05
    with pytest.raises(ValidationError, match="frequency"):
        OFormerOptions(frequency=0)
