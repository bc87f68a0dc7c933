"""With torch's deterministic algorithms every layer works, and gives the same twice, also on several threads."""

from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Batch

from pitgeo.data import PointData
from pitgeo.data.transforms import AttentionGraphs, LatentMesh
from pitgeo.graphs.neighbors import quantile
from pitgeo.models import FNO
from pitgeo.nn import Body, GlobalPositionAttention, PiT, PositionAttention, SelfAttention, SelfPositionAttention


@pytest.fixture(autouse=True)
def deterministic():
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)
    torch.set_num_threads(threads)


def twice(call, leaves):
    """Two forward and backward passes give the same bits."""
    found = []
    for _ in range(2):
        for leaf in leaves:
            leaf.grad = None
        out = call()
        out.float().square().sum().backward()
        found.append([out.detach(), *(leaf.grad for leaf in leaves)])
    assert all(grad is not None for grad in found[0])
    assert all(torch.equal(a, b) for a, b in zip(*found, strict=True))


@pytest.mark.parametrize("precision", ["32", "bf16"])
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("backend", ["fused", "reference"])
def test_local_attention(backend, shared, precision):
    pos, x = torch.rand(2000, 2), torch.rand(*((3,) if shared else ()), 2000, 16)
    layer = PositionAttention(16, 16, heads=4, lengths=(0.05, 0.5), backend=backend)
    graph = quantile(pos, pos, 0.02)
    leaves = [pos.requires_grad_(), x.requires_grad_(), *layer.parameters()]
    with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
        twice(lambda: layer(x, pos, graph), leaves)


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (GlobalPositionAttention, {"backend": "dense"}),
        (GlobalPositionAttention, {"backend": "fused"}),
        (GlobalPositionAttention, {"backend": "expansion"}),
        (SelfPositionAttention, {"backend": "fused"}),
        (SelfPositionAttention, {"backend": "dense"}),
        (SelfAttention, {}),
    ],
)
@pytest.mark.parametrize("masked", [False, True])
def test_global_attention(kind, options, masked):
    layer = kind(16, 16, heads=4, **options, **({} if kind is SelfAttention else {"lengths": (1.0, 2.0)}))
    pos, x = torch.rand(2, 500, 2), torch.rand(2, 500, 16)
    mask = torch.arange(500) < torch.tensor([[500], [300]]) if masked else None
    of_pos = [] if kind is SelfAttention else [pos.requires_grad_()]
    twice(lambda: layer(x, pos, mask), [*of_pos, x.requires_grad_(), *layer.parameters()])


def meshes(sizes=(700, 400)):
    return [PointData(pos=torch.rand(size, 2), x=torch.rand(size, 3)) for size in sizes]


@pytest.mark.parametrize("checkpoint", [False, True])
@pytest.mark.parametrize("moments", [0, 2])
def test_models(moments, checkpoint):
    graphs = AttentionGraphs(encoder=0.05, decoder=0.1, output=0.01)
    made = PiT(5, 1, 16, 4, graphs, Body(layers=2, lengths=(0.05, 1.0), moments=moments))
    made.checkpoint_activations = checkpoint
    batch = Batch.from_data_list([graphs(LatentMesh("farthest", number=60)(one)) for one in meshes()])
    twice(lambda: made(batch), [batch.pos.requires_grad_(), batch.x.requires_grad_(), *made.parameters()])


def test_some_output_points():
    graphs = AttentionGraphs(encoder=0.05, decoder=0.1)
    made = PiT(5, 1, 16, 4, graphs)
    batch = Batch.from_data_list([graphs(LatentMesh("farthest", number=60)(one)) for one in meshes()])
    rows = torch.arange(0, 1100, 7)
    twice(lambda: made(batch, rows), [batch.pos.requires_grad_(), batch.x.requires_grad_(), *made.parameters()])


def test_fourier_layers():
    made = FNO(5, 1, 2, 4, 8, 2, padding=0.1)
    pos = torch.cartesian_prod(torch.arange(20) / 20, torch.arange(16) / 16)
    data = PointData(pos=pos, x=torch.rand(320, 3), grid=(20, 16))
    twice(lambda: made(data), [data.x.requires_grad_(), *made.parameters()])


def test_an_operation_that_is_not_deterministic_would_be_found():
    # what the tests above rely on: torch refuses what it has no deterministic form of
    with pytest.raises(RuntimeError, match="deterministic"):
        torch.nn.functional.max_unpool1d(torch.rand(1, 1, 2), torch.tensor([[[0, 3]]]), 2)
