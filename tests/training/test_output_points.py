"""Losses of some output points: over all draws they are, on average, those of all points."""

from __future__ import annotations

import copy
import itertools
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from lightning.pytorch.callbacks import Callback
from torch import Tensor, nn
from torch_geometric.data import Batch

from pitgeo.config.config import TrainingConfig
from pitgeo.data import PointData
from pitgeo.data.scaling import Scaling
from pitgeo.data.transforms import AttentionGraphs, Compose, LatentMesh
from pitgeo.measures.relative_error import relative_error
from pitgeo.models import FNO
from pitgeo.nn import Body, PiT, PointwiseMLP, Rollout
from pitgeo.training import FORMAT, InterruptionError, OperatorModule, fit, read_checkpoint
from pitgeo.training.output_points import draw_query_points
from tests.trained import At, send

SIZES = (6, 4, 9)
MOST = 4
GRAPHS = AttentionGraphs(encoder=0.5, decoder=0.7)


def samples(sizes: tuple[int, ...] = SIZES, targets: int = 2, out: bool = False) -> list[PointData]:
    generator = torch.Generator().manual_seed(1)
    prepare, made = Compose((LatentMesh("farthest", number=3), GRAPHS)), []
    for number, size in enumerate(sizes):
        pos, x = torch.rand(size, 2, generator=generator), torch.rand(size, 3, generator=generator)
        y = 1 + torch.rand(size, targets, generator=generator)
        pos_out = torch.rand(size, 2, generator=generator) if out else None
        made.append(prepare(PointData(pos=pos, x=x, y=y, pos_out=pos_out, sample_id=number)))
    return made


def pit(moments: int = 2, targets: int = 2) -> PiT:
    torch.manual_seed(0)
    return PiT(5, targets, channels=8, heads=2, graphs=GRAPHS, body=Body(layers=1, moments=moments))


def module(
    model: nn.Module | None = None, targets: int = 2, loss: str = "relative_l1", **others: Any
) -> OperatorModule:
    reference = {"mean": [1.5] * targets, "variation": [0.3 + 0.1 * number for number in range(targets)]}
    others.setdefault("metadata", {"format": FORMAT, "config": {}, "reference": reference})
    options = {"query_points": MOST, "device": "cpu", "loss": loss, **others.pop("options", {})}
    scaling = others.pop("scaling", None) or Scaling(torch.full((targets,), 1.5), torch.full((targets,), 0.3))
    return OperatorModule(
        model or pit(targets=targets), Scaling.identity(3), scaling, TrainingConfig(**options), **others
    )


def every_draw(counts: tuple[int, ...], most: int = MOST) -> Iterator[Tensor]:
    """All the rows that may be drawn, each as likely as the others."""
    starts = [0, *itertools.accumulate(counts)]
    subsets = [
        [[start + row for row in subset] for subset in itertools.combinations(range(count), min(count, most))]
        for start, count in zip(starts, counts, strict=False)
    ]
    for chosen in itertools.product(*subsets):
        yield torch.tensor([row for part in chosen for row in part])


def slopes(made: OperatorModule, loss: Tensor) -> Tensor:
    """The gradient of every parameter, one after the other."""
    made.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    return torch.cat(
        [parameter.grad.flatten().double() for parameter in made.parameters() if parameter.grad is not None]
    )


def check(made: OperatorModule, batch: PointData, counts: tuple[int, ...], power: int) -> None:
    """The mean over all draws, of the loss to a power and of its gradient, is that of the full loss."""
    full = made._error(batch).pow(power).mean()
    expected, total, draws = slopes(made, full), 0.0, 0
    mean = torch.zeros_like(expected)
    differ = 0
    for rows in every_draw(counts):
        loss = made._error(batch, rows).pow(power).mean()
        mean += slopes(made, loss)
        total, draws = total + float(loss.detach()), draws + 1
        differ += abs(float((loss - full).detach())) > 1e-3 * float(full.detach())
    assert draws >= 15 and differ > draws / 2
    assert total / draws == pytest.approx(float(full.detach()), rel=1e-5)
    assert float((mean / draws - expected).norm()) < 1e-4 * float(expected.norm())


@pytest.mark.parametrize(("loss", "power"), [("relative_l1", 1), ("relative_l2", 2), ("variation_l2", 2)])
@pytest.mark.parametrize("out", [False, True], ids=["same points", "output points"])
def test_unequal_meshes(loss: str, power: int, out: bool) -> None:
    sizes = (5, 3, 5)
    check(module(loss=loss), Batch.from_data_list(samples(sizes, out=out)), sizes, power)


@pytest.mark.parametrize(("loss", "power"), [("relative_l1", 1), ("relative_l2", 2), ("variation_l2", 2)])
def test_a_shared_mesh_with_a_scaling_of_every_point(loss: str, power: int) -> None:
    data = copy.copy(samples((8,))[0])
    data.x, data.y = torch.rand(3, 8, 3), 1 + torch.rand(3, 8, 2)
    data.sample_id = torch.arange(3)
    scaling = Scaling(torch.rand(8, 2), 0.5 + torch.rand(8, 2))
    check(module(loss=loss, scaling=scaling), data, (8,), power)


@pytest.mark.parametrize(("loss", "power"), [("relative_l1", 1), ("relative_l2", 2), ("variation_l2", 2)])
def test_vectors_and_targets_that_are_not_known_everywhere(loss: str, power: int) -> None:
    data = samples((4, 6))
    for sample in data:
        sample.y_mask = torch.rand(sample.num_nodes, 2) < 0.7
        sample.y_mask[0] = True
        sample.y = torch.where(sample.y_mask, sample.y, 0.0)
    made = module(loss=loss)
    made.groups = (2,)
    check(made, Batch.from_data_list(data), (4, 6), power)


def test_a_scaling_of_every_point_of_a_grid_and_a_batch_of_samples_on_it() -> None:
    data = samples((6, 6))
    for sample in data:
        sample.grid = (2, 3)
    batch = Batch.from_data_list(data)
    scaling = Scaling(torch.rand(12, 2), 0.5 + torch.rand(12, 2), grid=(3, 4))  # another resolution: interpolated
    made = module(scaling=scaling)
    rows = torch.tensor([1, 4, 5, 6, 9, 10])
    assert torch.allclose(made(batch, rows=rows), made(batch)[rows], atol=1e-6)


def test_numbers_of_a_mesh_are_means_over_the_points_drawn() -> None:
    made, counts = module(scalars=torch.ones(1)), (5, 3, 6)
    batch = Batch.from_data_list(samples(counts))
    mean, full, draws = torch.zeros(3), made(batch)[[0, 5, 8], 1], 0
    for rows in every_draw(counts):
        values = made(batch, rows=rows)[:, 1]
        numbers = batch.batch[rows]
        firsts = torch.searchsorted(numbers, torch.arange(3))
        assert torch.equal(values, values[firsts][numbers])
        mean, draws = mean + values[firsts].detach(), draws + 1
    assert torch.allclose(mean / draws, full, atol=1e-5)


@pytest.mark.parametrize("moments", [0, 2])
@pytest.mark.parametrize("has_graph", [True, False])
def test_some_output_points_have_the_values_they_have_among_all(moments: int, has_graph: bool) -> None:
    made, data = pit(moments).double(), [one.clone() for one in samples((30, 12))]
    for one in data:
        one.pos, one.x, one.pos_latent = one.pos.double(), one.x.double(), one.pos_latent.double()
        if not has_graph:
            del one.decoder_index, one.decoder_degree
    batch, rows = Batch.from_data_list(data), torch.tensor([3, 4, 29, 31, 41])
    assert torch.allclose(made(batch, rows), made(batch)[rows], atol=1e-12)
    shared = copy.copy(data[0])
    shared.x = torch.rand(3, 30, 3).double()
    assert torch.allclose(made(shared, rows[:3]), made(shared)[:, rows[:3]], atol=1e-12)


def test_a_pointwise_model_at_some_points() -> None:
    made, batch, rows = PointwiseMLP(5, 2, 8, 1), Batch.from_data_list(samples()), torch.tensor([0, 7, 18])
    assert torch.allclose(made(batch, rows), made(batch)[rows], atol=1e-6)
    check(module(made), Batch.from_data_list(samples((4, 6))), (4, 6), 1)


def test_time_and_memory_of_the_decoder_are_those_of_the_points_drawn() -> None:
    made, data = pit(), samples((2000,))[0]
    kept: list[Tensor] = []
    held = {}
    for name, rows in (("all", None), ("some", torch.arange(0, 2000, 100))):
        code = made.encode(data)
        kept.clear()
        with torch.autograd.graph.saved_tensors_hooks(lambda tensor: kept.append(tensor) or tensor, lambda held: held):
            edges = data.graph("decoder")
            chosen = torch.arange(2000) if rows is None else rows
            made._decode(data, code, chosen, edges.restricted(chosen))
        held[name] = sum(tensor.numel() for tensor in kept)
        if rows is not None:
            assert max(len(tensor) for tensor in kept) <= max(20 * 3, 16)
    assert held["some"] < held["all"] / 20


@pytest.mark.parametrize("loss", ["relative_l1", "relative_l2"])
def test_enough_points_for_all_are_the_full_loss_to_the_last_bit(loss: str) -> None:
    batch = Batch.from_data_list(samples())
    losses = []
    for most in (None, 9, 1000):
        made = module(loss=loss, options={"query_points": most})
        state = torch.get_rng_state()
        value = made.training_step(batch, 0)
        assert torch.equal(torch.get_rng_state(), state)
        losses.append((value.detach(), slopes(made, value)))
    for value, slope in losses[1:]:
        assert torch.equal(value, losses[0][0]) and torch.equal(slope, losses[0][1])
    rows = torch.cat([torch.arange(6), torch.arange(6, 10), torch.arange(10, 19)])
    whole = relative_error(batch.y + 1, batch.y, batch.batch, rows=rows)
    assert torch.equal(whole, relative_error(batch.y + 1, batch.y, batch.batch))


def test_validation_takes_all_points() -> None:
    batch = Batch.from_data_list(samples())
    made = module()
    made.on_validation_epoch_start()
    with torch.no_grad():
        made.validation_step(batch, 0)
        assert torch.equal(torch.cat(made._errors), made._error(batch))


def test_every_subset_is_drawn_as_often_as_the_others() -> None:
    batch = Batch.from_data_list(samples((4, 2, 5)))
    counts: dict[tuple[int, ...], int] = {}
    for _ in range(3000):
        rows = draw_query_points(batch, 2)
        assert rows is not None
        counts[tuple(rows.tolist())] = counts.get(tuple(rows.tolist()), 0) + 1
    expected = 3000 / 60  # 6 subsets of the first, 1 of the second, 10 of the third
    chi = sum((count - expected) ** 2 / expected for count in counts.values())
    assert len(counts) == 60 and chi < 105  # one in ten thousand is larger, at 59 degrees of freedom
    assert all(set(key) & {4, 5} == {4, 5} for key in counts)


@pytest.mark.parametrize("step", [2, 3])
def test_a_resumed_run_draws_the_same_points(tmp_path: Path, step: int) -> None:
    def run(folder: Path, resume: bool = False, callbacks: tuple[Callback, ...] = ()) -> None:
        torch.manual_seed(0 if not resume else 99)
        fit(module(options={"epochs": 2, "batch_size": 2}), samples((6, 4, 9, 7, 5)), samples((6,)), folder, resume,
            callbacks=callbacks)  # fmt: skip

    run(tmp_path / "straight")
    with pytest.raises(InterruptionError):
        run(tmp_path / "torn", callbacks=(At(step, send(signal.SIGINT)),))
    run(tmp_path / "torn", resume=True)
    straight, torn = (read_checkpoint(tmp_path / name / "last.ckpt")["state_dict"] for name in ("straight", "torn"))
    assert all(torch.equal(straight[key], torn[key]) for key in straight)
    run(tmp_path / "whole")
    again = read_checkpoint(tmp_path / "whole" / "last.ckpt")["state_dict"]
    assert all(torch.equal(straight[key], again[key]) for key in straight)


GLOBAL = PiT(5, 2, 8, 2, GRAPHS, Body(attention=("position", "position", "self")))
WITH_OUTPUT = PiT(5, 2, 8, 2, AttentionGraphs(0.5, 0.5, 0.5))
BLOCK = PiT(5, 2, 8, 2, GRAPHS, Body(decoder="block"))


@pytest.mark.parametrize("model", [FNO(5, 2, 2, 2, 4, 1), GLOBAL, WITH_OUTPUT, BLOCK, Rollout(pit(targets=1), 2)])
def test_a_model_whose_output_points_depend_on_each_other_is_refused(model: nn.Module) -> None:
    name = type(getattr(model, "model", model)).__name__
    with pytest.raises(ValueError, match=r"training\.query_points = 4 \(got a " + name):
        module(model)
    module(model, options={"query_points": None})
    if isinstance(model, PiT):
        bare = PointData(pos=torch.rand(6, 2), x=torch.rand(6, 3))
        with pytest.raises(ValueError, match="do not depend on each other"):
            model(bare, torch.tensor([0]))


@pytest.mark.parametrize(
    ("rows", "message"),
    [([1, 0], "increasing"), ([0, 0], "increasing"), ([], "increasing"), ([0, 19], "0..18"), ([0, 6], "of sample 2")],
)
def test_rows_that_cannot_be(rows: list[int], message: str) -> None:
    batch = Batch.from_data_list(samples())
    with pytest.raises(ValueError, match=message):
        relative_error(torch.ones(len(rows), 2), batch.y, batch.batch, rows=torch.tensor(rows, dtype=torch.long))


def test_predictions_at_other_points_than_rows_are_refused() -> None:
    with pytest.raises(ValueError, match="one shape"):
        relative_error(torch.ones(3, 2), torch.ones(5, 2), rows=torch.tensor([0, 1]))
