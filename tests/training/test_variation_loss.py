"""The loss relative to the variation of the training set: its value, offsets, zeros, masks, shared meshes, vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Batch

from pitgeo.config.config import TrainingConfig, parse_config
from pitgeo.config.losses import LOSSES, Loss
from pitgeo.data import PointData
from pitgeo.data.fields import FieldTable, MeshField
from pitgeo.data.scaling import Scaling
from pitgeo.measures.reference import Reference
from pitgeo.measures.relative_error import relative_error
from pitgeo.training import OperatorModule
from pitgeo.workflows.surrogate import DEFAULTS

SIZES = (7, 4, 9)
REFERENCE = Reference((1.0, -2.0), (0.5, 3.0))


class Shift(nn.Module):
    """Gives the input values plus a number."""

    def __init__(self) -> None:
        super().__init__()
        self.shift = nn.Parameter(torch.tensor(0.25))

    def forward(self, data: PointData) -> Tensor:
        return data.x + self.shift


def module(reference: Reference | None = REFERENCE, loss: str = "variation_l2", **metadata: Any) -> OperatorModule:
    metadata |= {} if reference is None else {"reference": reference.plain()}
    training = TrainingConfig(loss=loss, device="cpu")
    return OperatorModule(Shift(), Scaling.identity(2), Scaling.identity(2), training, metadata=metadata)


def samples(offset: float = 0.0) -> list[PointData]:
    generator = torch.Generator().manual_seed(0)
    made = []
    for number, size in enumerate(SIZES):
        x, y = (offset + torch.randn(size, 2, generator=generator) for _ in range(2))
        made.append(PointData(pos=torch.rand(size, 2, generator=generator), x=x, y=y, sample_id=number))
    return made


def expected(data: list[PointData], variation: tuple[float, ...] = REFERENCE.variation) -> np.ndarray[Any, Any]:
    rows = []
    for sample in data:
        mask = np.ones(sample.y.shape, bool) if sample.get("y_mask") is None else sample.y_mask.numpy()
        error = np.where(mask, (sample.x + 0.25 - sample.y).double().numpy(), 0)
        rows.append(np.sqrt(np.square(error).sum(0) / mask.sum(0)) / variation)
    return np.stack(rows)


def test_the_value_is_the_error_over_the_variation() -> None:
    data = samples()
    made = module()
    batch = Batch.from_data_list(data)
    np.testing.assert_allclose(made._error(batch).detach().numpy(), expected(data), rtol=1e-6)
    assert float(made.training_step(batch, 0).detach()) == pytest.approx(expected(data).mean(), rel=1e-6)
    np.testing.assert_allclose(
        made._error(Batch.from_data_list(data[1:2])).detach().numpy(), expected(data[1:2]), rtol=1e-6
    )


def test_an_offset_changes_neither_loss_nor_gradient() -> None:
    found = []
    for offset in (0.0, 1024.0):
        made = module(Reference.fit(samples(offset)))
        loss = made.training_step(Batch.from_data_list(samples(offset)), 0)
        loss.backward()  # type: ignore[no-untyped-call]
        found.append((float(loss.detach()), float(made.model.shift.grad)))
    assert found[0] == pytest.approx(found[1], rel=1e-3)


def test_targets_of_zeros_have_a_loss() -> None:
    data = samples()
    data[1].y = torch.zeros_like(data[1].y)
    batch = Batch.from_data_list(data)
    np.testing.assert_allclose(module()._error(batch).detach().numpy(), expected(data), rtol=1e-6)
    with pytest.raises(ValueError, match="zeros everywhere in sample 1"):
        module(loss="relative_l2")._error(batch)


def test_only_points_that_a_target_belongs_to_count() -> None:
    data = samples()
    for sample in data:
        sample.y_mask = torch.ones(sample.y.shape, dtype=torch.bool)
        sample.y_mask[: len(sample.y) // 2, 0] = False
        sample.y_mask[-1, 1] = False
        sample.y = torch.where(sample.y_mask, sample.y, 0.0)
    batch = Batch.from_data_list(data)
    np.testing.assert_allclose(module()._error(batch).detach().numpy(), expected(data), rtol=1e-6)
    np.testing.assert_allclose(
        module()._error(Batch.from_data_list(data[2:])).detach().numpy(), expected(data[2:]), rtol=1e-6
    )


@pytest.mark.parametrize("masked", [False, True])
def test_samples_on_a_shared_mesh(masked: bool) -> None:
    generator = torch.Generator().manual_seed(0)
    x, y = (torch.randn(3, 8, 2, generator=generator) for _ in range(2))
    mask = torch.rand(8, 2, generator=generator) < 0.5
    mask[0] = True
    y = torch.where(mask, y, 0.0) if masked else y
    shared = PointData(pos=torch.rand(8, 2, generator=generator), x=x, y=y)
    single = [PointData(pos=shared.pos, x=a, y=b) for a, b in zip(x, y, strict=True)]
    for sample in [shared, *single] if masked else []:
        sample.y_mask = mask
    np.testing.assert_allclose(module()._error(shared).detach().numpy(), expected(single), rtol=1e-6)


def test_a_component_of_a_vector_is_relative_to_its_own_variation() -> None:
    table = FieldTable((MeshField("f", 2),), (MeshField("v", 2),), 2).plain()
    batch = Batch.from_data_list(samples())
    found = module(table=table)._error(batch).detach().numpy()
    np.testing.assert_allclose(found, expected(samples()), rtol=1e-6)
    weak = module(Reference((0.0, 0.0), (2.0, 1e-12)), table=table)._error(batch).detach().numpy()
    np.testing.assert_allclose(weak, expected(samples(), (2.0, 0.02 / 2**0.5)), rtol=1e-6)


def test_without_a_reference_it_is_refused() -> None:
    with pytest.raises(ValueError, match="'metadata' with a 'reference'"):
        module(None)
    module(None, loss="relative_l2")


def test_sizes_take_the_place_of_norms() -> None:
    prediction, target = torch.tensor([[3.0], [4.0]]), torch.zeros(2, 1)
    assert relative_error(prediction, target, sizes=torch.tensor([[10.0]])).item() == 0.5


def test_losses_are_those_of_the_table() -> None:
    """The names and norms users know; the variation is a root mean square, which goes with the l2 norm alone."""
    assert {name: TrainingConfig(loss=name).norm for name in LOSSES} == {
        "relative_l1": 1,
        "relative_l2": 2,
        "variation_l2": 2,
        "huber": 1,
    }
    assert all(loss.norm == 2 for loss in LOSSES.values() if loss.by_variation)
    with pytest.raises(ValueError, match="'relative_l2', 'relative_l1', 'variation_l2' or 'huber'"):
        TrainingConfig(loss="l2")


def test_a_loss_is_an_entry_of_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Norm and division follow the entry, not the name."""
    monkeypatch.setitem(LOSSES, "relative_l2", Loss(2, by_variation=True))
    own, known = module(loss="relative_l2"), module()
    batch = Batch.from_data_list(samples())
    torch.testing.assert_close(own.errors(batch), known.errors(batch))
    given = {"data": {"name": "vorticity"}, "model": {"name": "pit"}, "scaling": {"targets": "none"}}
    with pytest.raises(ValueError, match=r"'relative_l1' with training.window \(got 'relative_l2'\)"):
        parse_config({**given, "training": {"loss": "relative_l2", "window": 1}})


def test_it_is_the_default_for_meshes_of_ones_own() -> None:
    assert DEFAULTS["training"]["loss"] == "variation_l2" and TrainingConfig().loss == "relative_l2"
    given = {"data": {"name": "vorticity"}, "model": {"name": "pit"}, "scaling": {"targets": "none"}}
    window = {"loss": "variation_l2", "window": 1}
    with pytest.raises(ValueError, match=r"relative_l1' with training.window"):
        parse_config({**given, "training": window})
