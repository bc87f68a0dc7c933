"""What all models of the registry do alike."""

import importlib
import importlib.util
import inspect

import pytest
import torch
from torch import nn
from torch_geometric.data import Batch

from pitgeo.data import PointData
from pitgeo.models import (
    GINO,
    GNOT,
    ONO,
    DeepONet,
    Deformation,
    GalerkinTransformer,
    GeoFNO,
    OFormer,
    Sensors,
    Transolver,
)
from pitgeo.models.registry import MODELS, DataSpec
from pitgeo.nn import Body, LocalDecoder, PiT
from pitgeo.nn.blocks import PaperBlock

needs_extra = pytest.mark.skipif(importlib.util.find_spec("neuralop") is None, reason="needs pitgeo[baselines]")
NETWORKS = [name for name, options in MODELS.items() if not options.is_closed]
NAMES = [pytest.param(name, marks=needs_extra) if name == "gino" else name for name in NETWORKS]
AXIS = torch.arange(24) / 23
SHAPE = DataSpec(3, 1, 2, spacing=1 / 23, extent=1.0, points=576)


def on_a_grid(name, channels=1, dtype=torch.float32, **others):
    """A sample that every model takes, as the model wants it."""
    data = PointData(pos=torch.cartesian_prod(AXIS, AXIS), x=torch.rand(576, channels), grid=(24, 24), **others)
    ready = MODELS[name]().transform()(data)
    return ready.apply(lambda value: value.to(dtype) if value.is_floating_point() else value)


@pytest.mark.parametrize("name", NAMES)
def test_data_of_another_type_are_refused_with_what_to_do(name):
    model = MODELS[name]().build(SHAPE)
    single, double = on_a_grid(name), on_a_grid(name, dtype=torch.float64)
    assert model(single).dtype == torch.float32
    mixed = single.clone()
    mixed.x = mixed.x.double()
    for data, found in ((double, "float64 and torch.float64"), (mixed, "float32 and torch.float64")):
        with pytest.raises(ValueError, match=rf"type torch.float32 \(got torch.{found}\); .*\.float\(\).*\.double\(\)"):
            model(data)
    model = model.double()
    assert model(double).dtype == torch.float64
    with pytest.raises(ValueError, match=r"type torch.float64 \(got torch.float32 and torch.float32\); convert"):
        model(single)
    with pytest.raises(ValueError, match=r"Expected a model in single or double precision.*\(got torch.bfloat16\)"):
        model.bfloat16()(single)


@pytest.mark.parametrize("name", NAMES)
def test_data_with_other_channels_are_refused(name):
    with pytest.raises(ValueError, match=r"Expected 3 input channels, .*\(got 2 coordinates and 2 values\)"):
        MODELS[name]().build(SHAPE)(on_a_grid(name, channels=2))


@pytest.mark.parametrize("name", ["pit", "deeponet", "shift_deeponet", "geo_fno", "oformer", "gnot"])
def test_output_points_of_another_type_are_refused(name):
    data = on_a_grid(name, pos_out=torch.rand(5, 2))
    model = MODELS[name]().build(SHAPE)
    assert model(data).shape == (5, 1)
    data.pos_out = data.pos_out.double()
    with pytest.raises(ValueError, match=r"type torch.float32 \(got .*, output points of torch.float64\)"):
        model(data)


@pytest.mark.parametrize("extent", [0.0, -1.0, float("inf"), float("nan")])
def test_meshes_without_a_length_are_refused_whatever_the_model(extent):
    with pytest.raises(ValueError, match=r"at least two different points.*\(got an extent of .*all points"):
        DataSpec(3, 1, 2, spacing=0.0, extent=extent)


MADE_WITH_EXTENT = {
    "deeponet": lambda extent: DeepONet(Sensors(3, 2, 9, extent=extent), 1),
    "geo_fno": lambda extent: GeoFNO(3, 1, Deformation(2), extent),
    "galerkin": lambda extent: GalerkinTransformer(3, 1, 2, extent=extent),
    "oformer": lambda extent: OFormer(3, 1, 2, extent=extent),
    "gnot": lambda extent: GNOT(3, 1, 2, extent=extent),
    "ono": lambda extent: ONO(3, 1, extent=extent),
    "transolver": lambda extent: Transolver(3, 1, extent=extent),
    "gino": lambda extent: GINO(3, 1, 2, extent=extent),
}


@pytest.mark.parametrize("name", [name for name in NAMES if not isinstance(name, str) or name in MADE_WITH_EXTENT])
@pytest.mark.parametrize("extent", [0.0, -1.0, float("inf"), float("nan")])
def test_constructors_refuse_an_extent_that_is_no_length(name, extent):
    with pytest.raises(ValueError, match=r"Expected 'extent' to be positive and finite \(got "):
        MADE_WITH_EXTENT[name](extent)


def test_every_class_with_an_extent_is_among_these():
    found = {
        name
        for name in NETWORKS
        for part in vars(importlib.import_module(MODELS[name].__module__)).values()
        if inspect.isclass(part) and issubclass(part, nn.Module) and "extent" in inspect.signature(part).parameters
    }
    assert found == MADE_WITH_EXTENT.keys() - {"deeponet"}  # whose sensors have it


@pytest.mark.parametrize(
    ("body", "moments"),
    [
        (None, True),
        ("moments", True),
        ("paper", False),
    ],
)
def test_what_the_bodies_of_a_pit_are_made_of(body, moments):
    options = MODELS["pit"]() if body is None else MODELS["pit"](body=body)
    made = options.build(SHAPE)
    assert all(isinstance(stage, PaperBlock) for stage in made.processor)
    layers = [made.encoder.attention, made.decoder.attention, *(stage.attention for stage in made.processor)]
    assert all((layer.moments is not None) == moments for layer in layers)
    if moments:  # in the encoder, whose sources come at many resolutions, a constant's apart, and 0 at the start
        assert [layer.moments.is_apart for layer in layers] == [True] + [False] * (len(layers) - 1)
        first, second = made.encoder.attention.moments.weight.chunk(2, 1)
        assert not second.any() and float(first.detach().abs().min()) > 0


def test_an_encoder_of_a_whole_block_has_the_moments_of_an_encoder():
    made = PiT(4, 1, 16, 2, body=Body(encoder="block", moments=2))
    assert made.encoder.attention.moments.is_apart and not made.decoder.attention.moments.is_apart


IN_PARTS = ["pit", "mlp", "deeponet", "shift_deeponet", "oformer"]


def test_these_models_have_output_points_that_do_not_see_each_other():
    whole = {name for name in NETWORKS if name != "gino" and not is_local(MODELS[name]().build(SHAPE))}
    assert whole == {*NETWORKS} - {"gino", *IN_PARTS}


def is_local(model):
    return isinstance(model, LocalDecoder) and model.has_local_decoder


@pytest.mark.parametrize("name", IN_PARTS)
def test_output_points_in_parts_or_some_alone_have_the_values_they_have_at_once(name, monkeypatch):
    model = MODELS[name]().build(SHAPE).double().eval()
    others = {} if name == "mlp" else {"pos_out": torch.rand(101, 2)}
    data = on_a_grid(name, dtype=torch.float64, **others)
    whole = model(data)
    assert whole.std() > 1e-6
    seen, encoded = [], []
    decode, encode = model.decode, model.encode
    monkeypatch.setattr(model, "decode", lambda *given: seen.append(len(out := decode(*given))) or out)
    monkeypatch.setattr(model, "encode", lambda *given: encoded.append(1) or encode(*given))
    parts = model.in_chunks(data, 40)
    assert seen == [40] * (len(whole) // 40) + [len(whole) % 40] and encoded == [1]
    assert torch.allclose(parts, whole, rtol=1e-10, atol=1e-12)
    rows = torch.tensor([0, 3, 4, 17, 99])
    assert torch.allclose(model(data, rows), whole[rows], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", IN_PARTS)
@pytest.mark.parametrize("out", [False, True], ids=["same points", "output points"])
def test_some_output_points_of_a_batch_and_of_a_shared_mesh(name, out):
    model = MODELS[name]().build(SHAPE).double()
    samples = [
        on_a_grid(name, dtype=torch.float64, **({"pos_out": torch.rand(50 + k, 2)} if out and name != "mlp" else {}))
        for k in range(3)
    ]
    batch = Batch.from_data_list(samples)
    rows = torch.tensor([1, 7, 49, len(model(samples[0])) + 3])  # none of the last sample
    assert torch.allclose(model(batch, rows), model(batch)[rows], rtol=1e-10, atol=1e-12)
    shared = samples[0].clone()
    shared.x = torch.randn(4, 576, 1, dtype=torch.float64)
    whole = model(shared)
    assert whole.shape[0] == 4 and (whole[0] - whole[1]).abs().max() > 1e-6
    assert torch.allclose(model(shared, rows[:3]), whole[:, rows[:3]], rtol=1e-10, atol=1e-12)
    assert torch.allclose(model.in_chunks(shared, 20), whole, rtol=1e-10, atol=1e-12)
