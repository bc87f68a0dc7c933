"""Activations that are computed again: the same results and gradients, from less that is kept."""

from __future__ import annotations

import pytest
import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch_geometric.data import Batch

from pitgeo.config.config import TrainingConfig
from pitgeo.data import PointData
from pitgeo.data.transforms import AttentionGraphs, LatentMesh
from pitgeo.models import FNO
from pitgeo.nn import Body, GlobalPositionAttention, PiT, PointwiseMLP, Rollout
from pitgeo.nn.kernels import fused
from pitgeo.nn.recompute import is_recomputed, recomputed
from pitgeo.training.options import prepare_model

SELF = {"attention": ("self", "self_position", "self_position"), "encoder": "block", "decoder": "block"}


def model(output=None, dtype=torch.float64, **body):
    torch.manual_seed(0)
    graphs = AttentionGraphs(encoder=0.1, decoder=0.2, output=output)
    return PiT(5, 2, 16, 4, graphs, Body(layers=3, lengths=(0.05, 1.0), **body)).to(dtype)


def batch(dtype=torch.float64, latent=True, sizes=(150, 120)):
    torch.manual_seed(1)
    data = [PointData(pos=torch.rand(size, 2).to(dtype), x=torch.rand(size, 3).to(dtype)) for size in sizes]
    return Batch.from_data_list([LatentMesh("farthest", number=40)(one) for one in data] if latent else data)


def slopes(made, data, rows=None):
    made.zero_grad()
    data.pos.grad = data.x.grad = None
    data.pos.requires_grad_(), data.x.requires_grad_()
    out = made(data) if rows is None else made(data, rows)
    out.square().sum().backward()
    return [out.detach(), data.pos.grad, data.x.grad, *(parameter.grad for parameter in made.parameters())]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    ("options", "latent"),
    [
        ({"moments": 0}, True),
        ({"moments": 2}, True),
        ({"moments": 0, "output": 0.1}, True),
        ({"output": 0.1}, True),
        ({**SELF}, False),
    ],
)
def test_results_and_gradients_are_the_same_to_the_last_bit(options, latent, dtype):
    made, data = model(dtype=dtype, **options), batch(dtype, latent)
    kept = slopes(made, data)
    made.checkpoint_activations = True
    assert all(torch.equal(a, b) for a, b in zip(kept, slopes(made, data), strict=True))


def test_some_output_points_and_a_shared_mesh():
    made, rows = model(), torch.tensor([3, 60, 149])
    shared = PointData(pos=torch.rand(150, 2).double(), x=torch.rand(2, 150, 3).double())
    for data in (batch(), LatentMesh("farthest", number=40)(shared)):
        made.checkpoint_activations = False
        kept = slopes(made, data, rows)
        made.checkpoint_activations = True
        assert all(torch.equal(a, b) for a, b in zip(kept, slopes(made, data, rows), strict=True))


def test_under_autocast():
    made, data = model(dtype=torch.float32), batch(torch.float32)
    found = []
    for checkpoint in (False, True):
        made.checkpoint_activations = checkpoint
        made.zero_grad()
        with torch.autocast("cpu", torch.bfloat16):
            out = made(data)
        out.float().square().sum().backward()
        found.append([out.detach(), *(parameter.grad for parameter in made.parameters())])
    assert all(torch.equal(a, b) for a, b in zip(*found, strict=True))


def saved_bytes(made, data):
    """What the graph of a forward pass holds, every storage once."""
    storages = {}

    def pack(tensor):
        storages[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        out = made(data)
    assert out.requires_grad
    return sum(storages.values())


@pytest.mark.parametrize("moments", [0, 2])
def test_less_is_kept(moments):
    made, data = model(moments=moments), model().graphs(batch(sizes=(600, 500)))
    kept = saved_bytes(made, data)
    made.checkpoint_activations = True
    assert saved_bytes(made, data) < kept / 3


@pytest.mark.parametrize("options", [{}, SELF])
def test_what_fused_attention_works_on_is_gone_after_the_forward_pass(options, monkeypatch):
    # it keeps some by hooks of its own, which would take precedence over those of the checkpoints
    made, data = model(**options), batch(latent=not options)
    for layer in made.modules():
        if isinstance(layer, GlobalPositionAttention):
            layer.backend, layer.is_fused = "fused", True
    values, original = [], fused._attention

    def noted(padded, mask):
        values.append(StorageWeakRef(padded[2].untyped_storage()))
        return original(padded, mask)

    monkeypatch.setattr(fused, "_attention", noted)
    kept = {}
    for checkpoint in (False, True):
        made.checkpoint_activations = checkpoint
        values.clear()
        out = made(data)
        assert len(values) >= 3 and out.requires_grad
        kept[checkpoint] = sum(not value.expired() for value in values)
    assert kept == {False: len(values), True: 0}


def test_nothing_is_recomputed_where_no_gradient_is_wanted():
    made, data, calls = model(), batch(), []
    made.checkpoint_activations = True
    made.encoder.register_forward_pre_hook(lambda *_: calls.append(is_recomputed()))
    with torch.no_grad():
        made(data)
    assert calls == [False]
    made(data).sum().backward()
    assert calls == [False, True, True] and not is_recomputed()


def test_an_error_leaves_the_mark_as_it_was():
    with pytest.raises(ZeroDivisionError):
        recomputed(lambda x: x / (1 // 0), torch.ones(1, requires_grad=True))
    assert not is_recomputed()


def test_training_tells_the_model_or_refuses():
    asked = TrainingConfig(checkpoint_activations=True)
    made = model()
    prepare_model(made, asked)
    assert made.checkpoint_activations
    prepare_model(made, TrainingConfig())
    assert not made.checkpoint_activations
    rolled = Rollout(model(), 2)
    prepare_model(rolled, asked)
    assert rolled.model.checkpoint_activations
    for other in (PointwiseMLP(5, 1), FNO(5, 1, 2, 2)):
        with pytest.raises(ValueError, match=r"training\.checkpoint_activations \(got a " + type(other).__name__):
            prepare_model(other, asked)
