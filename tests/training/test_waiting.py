"""What a training step must not do on a GPU: look at numbers, for which it would have to wait."""

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from pitgeo.config.config import TrainingConfig
from pitgeo.data import PointData
from pitgeo.data.scaling import Scaling
from pitgeo.data.transforms import AttentionGraphs, Compose, LatentMesh
from pitgeo.graphs.neighborhood import Neighborhood
from pitgeo.nn import GlobalPositionAttention, PiT
from pitgeo.training import OperatorModule, nonfinite
from pitgeo.training.loader import collate

WAITING = {"_local_scalar_dense", "nonzero", "equal", "masked_select", "bincount", "_unique2", "unique_consecutive"}


class NoWaiting(TorchDispatchMode):
    """Fails on operators whose results, or shapes of results, depend on numbers on the device."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func._schema.name.removeprefix("aten::")
        sized = "output_size" in (kwargs or {})
        assert name not in WAITING and (func is not torch.ops.aten.repeat_interleave.Tensor or sized), func
        return func(*args, **(kwargs or {}))


def sample(number, points):
    data = PointData(pos=torch.rand(points, 2), x=torch.rand(points, 1), y=torch.rand(points, 2), sample_id=number)
    return Compose([LatentMesh("farthest", number=12), AttentionGraphs(0.2, 0.2)])(data)


@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
@pytest.mark.parametrize("loss", ["relative_l1", "relative_l2"])
def test_a_step_looks_at_no_number(loss, optimizer, monkeypatch):
    model = PiT(3, 2, channels=16, heads=2, graphs=AttentionGraphs(0.2, 0.2))
    training = TrainingConfig(learning_rate=0.01, optimizer=optimizer, loss=loss)
    module = OperatorModule(model, Scaling.identity(1), Scaling.identity(2), training)
    step = module.configure_optimizers()["optimizer"]
    batch = collate([sample(0, 30), sample(1, 50)], [0, 1])
    choose = GlobalPositionAttention.choose  # the one exception: which form suits the length scales

    def chosen(self, *args):
        with torch.utils._python_dispatch._disable_current_modes():
            choose(self, *args)

    monkeypatch.setattr(GlobalPositionAttention, "choose", chosen)
    monkeypatch.setattr(Neighborhood, "_degrees", lambda self: (0, 0))  # as on a GPU
    monkeypatch.setattr("pitgeo.training.module.check_loss", lambda *_: None)  # on a GPU, after the step
    with pytest.raises(AssertionError, match="aten"), NoWaiting():
        module.training_step(batch, 0)
    batch = module.on_before_batch_transfer(batch, 0)
    for _ in range(2):
        with NoWaiting():
            step.zero_grad()
            module.training_step(batch, 0).backward()
            step.step()


def test_the_loss_of_a_prepared_batch_is_the_same():
    model = PiT(3, 2, channels=16, heads=2, graphs=AttentionGraphs(0.2, 0.2))
    module = OperatorModule(model, Scaling.identity(1), Scaling.identity(2), TrainingConfig(query_points=20))
    batch = collate([sample(0, 30), sample(1, 50)], [0, 1])
    losses = []
    for prepare in (lambda batch, _: batch, module.on_before_batch_transfer):
        torch.manual_seed(1)
        losses.append(module.training_step(prepare(batch, 0), 0))
    assert torch.equal(*losses)
    module.eval()
    whole = module.on_before_batch_transfer(batch, 0)
    assert torch.equal(module.errors(whole), module.errors(batch)) and "error_sizes" not in batch


def test_what_is_found_beforehand_moves_with_the_batch():
    module = OperatorModule(PiT(3, 2, 16, 2), Scaling.identity(1), Scaling.identity(2), TrainingConfig(query_points=20))
    batch = module.on_before_batch_transfer(collate([sample(0, 30), sample(1, 50)], [0, 1]), 0)
    there = module.transfer_batch_to_device(batch, torch.device("meta"), 0)
    for record in (there.error_sizes, there.output_layout):
        assert {value.device.type for value in vars(record).values() if isinstance(value, torch.Tensor)} == {"meta"}


def test_a_loss_that_is_not_finite_is_named():
    batch = collate([sample(3, 30), sample(8, 50)], [0, 1])
    with pytest.raises(nonfinite.NonFiniteError, match="the loss became nan at step 4, on the samples 3, 8"):
        nonfinite.check_loss(torch.tensor(torch.nan), batch, "step 4")
