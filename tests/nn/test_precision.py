"""Mixed precision: values are rounded to bfloat16, geometry is not."""

from __future__ import annotations

import copy

import pytest
import torch
from torch_geometric.data import Batch

from pitgeo.data import PointData
from pitgeo.data.transforms import AttentionGraphs, LatentMesh
from pitgeo.graphs.neighbors import quantile
from pitgeo.models import FNO
from pitgeo.nn import (
    Body,
    GlobalPositionAttention,
    PiT,
    PointwiseMLP,
    PositionAttention,
    SelfAttention,
    SelfPositionAttention,
)
from tests.reference import position_attention, squared_distances

ROUNDING = 2e-2


def autocast():
    return torch.autocast("cpu", torch.bfloat16)


def local(backend, batch=None, near=0.2):
    torch.manual_seed(0)
    layer = PositionAttention(16, 16, heads=2, lengths=(0.1, 0.5), backend=backend)
    x, pos = torch.randn(*(() if batch is None else (batch,)), 300, 16), torch.rand(300, 2)
    graph = quantile(pos, pos, near)
    return layer, x, lambda made, values: made(values, pos, graph)


def dense(kind, shared=False, masked=False, **options):
    torch.manual_seed(0)
    layer = kind(16, 16, heads=2, **options)
    x, pos = torch.randn(3, 60, 16), torch.rand(60, 2) if shared else torch.rand(3, 60, 2)
    mask = torch.arange(60) < torch.tensor([[60], [41], [7]]) if masked else None
    return layer, x, lambda made, values: made(values, pos, mask)


LENGTHS = {"lengths": (0.2, 2.0)}
CASES = {
    "local fused": lambda: local("fused"),
    "local fused, shared mesh": lambda: local("fused", batch=3),
    "local reference": lambda: local("reference"),
    "local reference, shared mesh": lambda: local("reference", batch=3),
    "many neighbours, fused": lambda: local("fused", near=1.0),
    "many neighbours, reference": lambda: local("reference", near=1.0),
    "global dense": lambda: dense(GlobalPositionAttention, backend="dense", **LENGTHS),
    "global dense, shared mesh": lambda: dense(GlobalPositionAttention, backend="dense", shared=True, **LENGTHS),
    "global fused": lambda: dense(GlobalPositionAttention, backend="fused", **LENGTHS),
    "global fused, unequal": lambda: dense(GlobalPositionAttention, backend="fused", masked=True, **LENGTHS),
    "global expansion": lambda: dense(GlobalPositionAttention, backend="expansion", lengths=(1.0, 2.0)),
    "global both": lambda: dense(GlobalPositionAttention, backend="auto", lengths=(0.1, 5.0)),
    "self": lambda: dense(SelfAttention, masked=True),
    "self position fused": lambda: dense(SelfPositionAttention, backend="fused", **LENGTHS),
    "self position dense": lambda: dense(SelfPositionAttention, backend="dense", **LENGTHS),
}


def passes(layer, x, call, slope):
    """Output, and gradients of values and parameters."""
    layer.zero_grad()
    x = x.clone().requires_grad_()
    out = call(layer, x)
    out.backward(slope.to(out.dtype))
    return {"out": out.detach(), "x": x.grad, **{name: each.grad for name, each in layer.named_parameters()}}


@pytest.mark.parametrize("case", CASES)
def test_layers_are_right_to_the_rounding_of_values(case):
    layer, x, call = CASES[case]()
    slope = call(layer, x).detach()  # that of half the output's square: averaging more makes it smaller, so that the
    single = passes(layer, x, call, slope)  # gradients of length scales are no differences of large numbers
    with autocast():
        out = call(layer, x)
        assert out.dtype == torch.bfloat16
        mixed = passes(layer, x, call, slope)
    for name, exact in single.items():
        if name != "out":
            assert mixed[name].dtype == torch.float32, name
        error = float((mixed[name].float() - exact).norm() / exact.norm())
        assert error < ROUNDING, (name, error)
    assert float((mixed["out"].float() - single["out"]).norm()) > 0  # it was not left in single precision


@pytest.mark.parametrize("backend", ["fused", "reference"])
def test_local_attention_tells_points_apart_that_bfloat16_does_not(backend):
    # 40 points 1e-4 apart near (0.9, 0.9), where bfloat16 has steps of 4e-3; heads that look 1e-4 and 1e-3 far
    torch.manual_seed(0)
    pos = 0.9 + 1e-4 * torch.arange(40).unsqueeze(1) * torch.tensor([1.0, 0.0])
    layer = PositionAttention(4, 4, heads=2, lengths=(1e-4, 1e-3), backend=backend)
    x = torch.randn(40, 4).bfloat16().float()
    layer.value.weight.data = layer.value.weight.data.bfloat16().float()
    with autocast():
        out = layer(x, pos, quantile(pos, pos, 1.0))
    value = (x.double() @ layer.value.weight.double().T).bfloat16().double()
    squared = squared_distances(pos.double(), pos.double())
    heads = value.chunk(2, 1)
    scale = layer.scale().double().detach()
    exact = torch.cat([position_attention(heads[i], scale[i : i + 1], squared) for i in range(2)], 1)
    assert float((out.double() - exact).detach().abs().max()) < 2**-7 * float(value.detach().abs().max())


@pytest.mark.parametrize("backend", ["fused", "reference"])
def test_sums_over_many_neighbours_do_not_stall(backend):
    # 3,000 equal weights: in bfloat16 a sum stops growing at 256 times its terms
    layer = PositionAttention(2, 2, heads=1, backend=backend)
    torch.nn.init.eye_(layer.value.weight)
    torch.nn.init.zeros_(layer.scale.raw)
    sources, targets = torch.rand(3000, 2), torch.rand(3, 2)
    x = torch.ones(3000, 2, requires_grad=True)
    with autocast():
        out = layer(x, (sources, targets), quantile(targets, sources, 1.0))
    out.float().sum().backward()
    assert torch.allclose(out.float(), torch.ones(3, 2), rtol=2**-7)
    assert torch.allclose(x.grad, torch.full((3000, 2), 3 / 3000), rtol=2**-6)


@pytest.mark.parametrize(
    ("kind", "backend", "length"),
    [
        (GlobalPositionAttention, "dense", 1e-4),
        (GlobalPositionAttention, "fused", 2e-4),
        (GlobalPositionAttention, "expansion", 1e-3),
        (SelfPositionAttention, "dense", 1e-4),
        (SelfPositionAttention, "fused", 2e-4),
    ],
)
def test_global_attention_tells_points_apart_that_bfloat16_does_not(kind, backend, length):
    torch.manual_seed(0)
    pos = 0.9 + 1e-4 * torch.arange(40).unsqueeze(1) * torch.tensor([1.0, 0.0])
    layer = kind(4, 4, heads=2, lengths=(length, 1e-3), backend=backend)
    if kind is SelfPositionAttention:
        for part in (layer.query, layer.key):  # what is left is position-attention
            part.weight.data.zero_()
    x = torch.randn(1, 40, 4)
    exact = copy.deepcopy(layer).double()(x.double(), pos.double())
    with autocast():
        out = layer(x, pos.unsqueeze(0))
    assert float((out.double() - exact).detach().abs().max()) < 2**-6 * float(exact.detach().abs().max())


def pit(dtype=torch.float32, **body):
    torch.manual_seed(0)
    graphs = AttentionGraphs(encoder=0.1, decoder=0.2)
    return PiT(5, 2, 16, 4, graphs, Body(layers=2, lengths=(0.1, 1.0), **body)).to(dtype)


def meshes(latent=True):
    torch.manual_seed(1)
    data = [PointData(pos=torch.rand(size, 2), x=torch.randn(size, 3)) for size in (90, 70)]
    return Batch.from_data_list([LatentMesh("farthest", number=25)(one) for one in data] if latent else data)


SELF = {"attention": ("self", "self_position", "self"), "encoder": "block", "decoder": "block"}


@pytest.mark.parametrize(("options", "times"), [({"moments": 0}, 1), ({}, 1), (SELF, 3)])
def test_models_are_right_to_the_rounding_of_values(options, times):
    """Self-attention by values makes its weights of rounded values too."""
    made, data = pit(**options), meshes(latent="attention" not in options)
    made.zero_grad()
    exact = made(data)
    exact.square().sum().backward()
    slopes = {name: each.grad.clone() for name, each in made.named_parameters()}
    made.zero_grad()
    with autocast():
        out = made(data)
    out.float().square().sum().backward()
    assert float((out.float() - exact).detach().norm()) < times * ROUNDING * float(exact.detach().norm())
    together = torch.cat([(each.grad - slopes[name]).flatten() for name, each in made.named_parameters()])
    whole = torch.cat([slope.flatten() for slope in slopes.values()])
    assert float(together.norm()) < times * ROUNDING * float(whole.norm())


@pytest.mark.parametrize("kind", ["pit", "mlp", "fno"])
def test_models_tell_points_apart_that_bfloat16_does_not(kind):
    """Two points 1e-3 apart, near 0.9: their inputs differ by nothing else, and so must the first layer's values."""
    torch.manual_seed(0)
    pos = torch.tensor([[0.8990, 0.9], [0.9000, 0.9]])
    assert torch.equal(pos.bfloat16()[0], pos.bfloat16()[1])
    data = PointData(pos=pos, x=torch.ones(2, 3), grid=(2, 1) if kind == "fno" else None)
    seen = []
    made = {"pit": pit, "mlp": lambda: PointwiseMLP(5, 1), "fno": lambda: FNO(5, 1, 2, 1, 8, 1)}[kind]()
    layer = {"pit": lambda: made.lift[0], "mlp": lambda: made.network[0], "fno": lambda: made.lift}[kind]()
    layer.register_forward_hook(lambda module, inputs, output: seen.append(output.flatten(0, -2)))
    if kind == "fno":
        data = PointData(pos=pos.repeat(2, 1), x=torch.ones(4, 3), grid=(2, 2))
    with autocast():
        made(data)
    wanted = layer.double()(torch.cat([data.pos, data.x], 1).double()).detach()
    step = (seen[0][1] - seen[0][0]).detach().double()
    assert float((step - (wanted[1] - wanted[0])).norm()) < 1e-3 * float(step.norm())


@pytest.mark.parametrize("is_data_half", [True, False])
def test_a_model_in_half_precision_is_refused(is_data_half):
    data = meshes()
    if is_data_half:
        data = data.apply(lambda value: value.bfloat16() if value.is_floating_point() else value)
    with pytest.raises(ValueError, match=r"which positions need \(got torch.bfloat16\).*training.precision = 'bf16'"):
        pit(dtype=torch.bfloat16)(data)
