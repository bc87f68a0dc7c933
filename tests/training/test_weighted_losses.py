"""Huber's loss and weights of targets against the same numbers by hand, and by torch's own function."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import huber_loss, smooth_l1_loss
from torch_geometric.data import Batch

from pitgeo.config.config import TrainingConfig, parse_config
from pitgeo.data import PointData
from pitgeo.data.fields import FieldTable, MeshField
from pitgeo.data.scaling import Scaling
from pitgeo.measures.relative_error import huber
from pitgeo.training import OperatorModule

SIZES = (7, 4, 9)
TABLE = FieldTable(
    (MeshField("load", 1, "mesh"),), (MeshField("v", 2), MeshField("heat"), MeshField("peak", 1, "mesh")), 2
)
SCALING = Scaling(torch.tensor([1.0, -1.0, 300.0, 0.5]), torch.tensor([2.0, 0.5, 40.0, 1.5]))


class Guess(nn.Module):
    """Gives functions of the place and a number, in the model's units."""

    has_local_decoder = True

    def __init__(self) -> None:
        super().__init__()
        self.shift = nn.Parameter(torch.tensor(0.25))

    def forward(self, data: PointData, rows: Tensor | None = None) -> Tensor:
        pos = data.pos if rows is None else data.pos[rows]
        values = torch.cat([4 * pos - 2, pos[:, :1] * pos[:, 1:], torch.ones_like(pos[:, :1])], 1) + self.shift
        return values if data.x.dim() == 2 else torch.stack([values * (1 + one.mean()) for one in data.x])


def module(scaling: Scaling = SCALING, reference: dict[str, str] | None = None, **options: Any) -> OperatorModule:
    metadata = {"table": TABLE.plain(), "config": {"scaling": {"reference": reference or {}}}}
    training = TrainingConfig(device="cpu", **options)
    return OperatorModule(Guess(), Scaling.identity(1), scaling, training, metadata=metadata)


def samples() -> list[PointData]:
    generator = torch.Generator().manual_seed(0)
    made = []
    for number, size in enumerate(SIZES):
        y = SCALING.unscale(2 * torch.randn(size, 4, generator=generator)).abs() + 0.1
        pos = torch.rand(size, 2, generator=generator)
        made.append(PointData(pos=pos, x=torch.full((size, 1), 2.0 + number), y=y, sample_id=number))
    return made


def test_huber_is_torchs() -> None:
    error = torch.linspace(-4, 4, 41)
    for threshold in (0.3, 1.0, 2.5):
        expected = huber_loss(error, torch.zeros(41), reduction="none", delta=threshold)
        assert torch.equal(huber(error, threshold), expected)
        smooth = smooth_l1_loss(error, torch.zeros(41), reduction="none", beta=threshold)
        assert torch.allclose(huber(error, threshold), threshold * smooth)


@pytest.mark.parametrize("threshold", [0.5, 1.0, 100.0])
def test_the_huber_loss_is_a_mean_over_points_in_scaled_units(threshold: float) -> None:
    made, data = module(loss="huber", huber_threshold=threshold), samples()
    rows = []
    for sample in data:
        error = (made(Batch.from_data_list([sample])) - sample.y).detach().double() / SCALING.std
        size = error.abs()
        small = size <= threshold
        rows.append(torch.where(small, error**2 / 2, threshold * (size - threshold / 2)).mean(0))
    assert threshold == 100.0 or not bool(small.all())
    found = made._error(Batch.from_data_list(data))
    assert torch.allclose(found.double(), torch.stack(rows), rtol=1e-5)
    assert made.training_step(Batch.from_data_list(data), 0).item() == pytest.approx(
        torch.stack(rows).mean().item(), rel=1e-5
    )


def test_huber_with_a_reference_a_logarithm_and_a_mask() -> None:
    scaling = Scaling(SCALING.mean / 100, SCALING.std / 100, logs=[2])
    made, data = module(scaling, {"v": "load ** 2"}, loss="huber"), samples()
    for sample in data:
        sample.y_mask = torch.ones(sample.y.shape, dtype=torch.bool)
        sample.y_mask[::2, 2] = False
        sample.y = torch.where(sample.y_mask, sample.y, 0.0)
    rows = []
    for sample in data:
        values, y = made(Batch.from_data_list([sample])).detach().double(), sample.y.double()
        size = torch.tensor([float(sample.x[0]) ** 2] * 2 + [1.0, 1.0])
        error = (values / size - y / size) / scaling.std
        error[:, 2] = (values[:, 2].log() - y[:, 2].log()) / scaling.std[2]
        rows.append(torch.stack([huber(error[sample.y_mask[:, k], k], 1.0).mean() for k in range(4)]))
    found = made._error(Batch.from_data_list(data))
    assert torch.allclose(found.double(), torch.stack(rows), rtol=1e-4)
    found.mean().backward()
    assert made.model.shift.grad is not None and torch.isfinite(made.model.shift.grad)


def test_huber_on_a_shared_mesh_with_a_scaling_of_every_point() -> None:
    one = samples()[0]
    mean, std = torch.rand(7, 4), 0.5 + torch.rand(7, 4)
    made = module(Scaling(mean, std), loss="huber", query_points=3)
    shared = PointData(pos=one.pos, x=torch.stack([one.x, 3 * one.x]), y=torch.stack([one.y, 2 * one.y]))
    error = (made(shared).detach() - shared.y).double() / std
    assert torch.allclose(made._error(shared).double(), huber(error, 1.0).mean(1), rtol=1e-5)
    rows = torch.tensor([1, 4, 5])
    assert torch.allclose(made._error(shared, rows).double(), huber(error[:, rows], 1.0).mean(1), rtol=1e-5)
    batch, chosen = Batch.from_data_list(samples()), torch.tensor([0, 3, 8, 12, 15])
    plain = module(loss="huber")
    whole = (plain(batch).detach() - batch.y).double() / SCALING.std
    parts = [whole[chosen[batch.batch[chosen] == number]] for number in range(3)]
    expected = torch.stack([huber(part, 1.0).mean(0) for part in parts])
    assert torch.allclose(plain._error(batch, chosen).double(), expected, rtol=1e-5)


@pytest.mark.parametrize("loss", ["relative_l2", "huber"])
@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        ({}, [0.25, 0.25, 0.25, 0.25]),
        ({"v": 1.0}, [1 / 6, 1 / 6, 1 / 3, 1 / 3]),
        ({"v": 3.0, "heat": 1.0, "peak": 0.0}, [0.375, 0.375, 0.25, 0.0]),
    ],
)
def test_weights_are_of_targets(loss: str, weights: dict[str, float], expected: list[float]) -> None:
    batch, plain = Batch.from_data_list(samples()), module(loss=loss)
    made = module(loss=loss, field_weights=weights)
    errors = plain._error(batch).double()
    assert made.training_step(batch, 0).item() == pytest.approx(
        (errors @ torch.tensor(expected).double()).mean().item(), rel=1e-5
    )
    made.eval().on_validation_epoch_start()
    made.validation_step(batch, 0)
    assert torch.cat(made._errors).mean().item() == pytest.approx(
        (errors @ torch.tensor(expected).double()).mean().item(), rel=1e-5
    )


def test_without_weights_every_channel_counts_by_its_own_norm() -> None:
    """Targets of other sizes and units do not count more or less, and each component of a vector counts once."""
    data = samples()
    errors = module()._error(Batch.from_data_list(data)).double()
    rows = []
    for sample in data:
        values, y = module()(Batch.from_data_list([sample])).detach().double(), sample.y.double()
        size = y.square().sum(0).sqrt()
        size[:2] = (size[:2].square().mean()).sqrt()
        rows.append((values - y).square().sum(0).sqrt() / size)
    assert torch.allclose(errors, torch.stack(rows), rtol=1e-5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"field_weights": {"u": 1.0}}, r"among \['v', 'heat', 'peak'\] .got 'u'"),
        ({"field_weights": {"v": 0.0, "heat": 0.0, "peak": 0.0}}, "positive weight of some target"),
    ],
)
def test_weights_that_are_none(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        module(**options)


def test_what_a_configuration_refuses() -> None:
    given = {"data": {"name": "vorticity"}, "model": {"name": "pit"}, "scaling": {"targets": "none"}}
    for training, message in (
        ({"loss": "huber", "window": 1}, r"'relative_l2' or 'relative_l1' with training.window .got 'huber'"),
        ({"field_weights": {"u": 1.0}}, "no training.field_weights where predictions become inputs"),
        ({"field_weights": {"u": -1.0}}, "training.field_weights: .*greater than or equal to 0"),
        ({"huber_threshold": 0.0}, "training.huber_threshold: .*greater than 0"),
    ):
        with pytest.raises(ValueError, match=message):
            parse_config({**given, "training": training})
    with pytest.raises(ValueError, match="'metadata' with a 'table'"):
        OperatorModule(Guess(), Scaling.identity(1), SCALING, TrainingConfig(field_weights={"v": 1.0}))


def test_huber_needs_no_norm_of_the_target() -> None:
    data = samples()
    data[0].y = torch.zeros_like(data[0].y)
    assert np.isfinite(module(loss="huber")._error(Batch.from_data_list(data)).detach().numpy()).all()
