"""Training: bit-equal resumes, files that are complete or not there, losses that are finite or end the run."""

from __future__ import annotations

import math
import os
import random
import resource
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from lightning.pytorch.callbacks import Callback
from torch import nn

from pitgeo.config.config import TrainingConfig
from pitgeo.data import PointData
from pitgeo.data.scaling import Scaling
from pitgeo.measures.relative_error import relative_error
from pitgeo.nn import LengthScale
from pitgeo.training import (
    FORMAT,
    AtomicCheckpointIO,
    BatchLoader,
    InterruptionError,
    NonFiniteError,
    OperatorModule,
    fit,
    read_checkpoint,
    stop_on_signal,
)
from pitgeo.training.random_state import RandomState
from tests.trained import At, rows, send

SAMPLES, BATCH, EPOCHS = 10, 4, 3
STEPS = 3  # of an epoch


class Pointwise(nn.Module):
    """The smallest model with everything a resume must restore: dropout uses up random numbers."""

    def __init__(self) -> None:
        super().__init__()
        hidden = [nn.Linear(16, 16), nn.GELU()]
        self.layers = nn.Sequential(nn.Linear(4, 16), nn.GELU(), nn.Dropout(0.2), *hidden, nn.Linear(16, 1))

    def forward(self, data: PointData) -> torch.Tensor:
        out: torch.Tensor = self.layers(torch.cat([data.pos, data.x], 1))
        return out


def samples(count: int = SAMPLES) -> list[PointData]:
    generator = torch.Generator().manual_seed(1)
    made = []
    for number in range(count):
        pos = torch.rand(6 + number % 3, 2, generator=generator)
        x = torch.rand(len(pos), 2, generator=generator)
        made.append(PointData(pos=pos, x=x, y=100 + 50 * (pos[:, :1] + x[:, 1:]), sample_id=100 + number))
    return made


def module(**options: Any) -> OperatorModule:
    torch.manual_seed(0), np.random.seed(0), random.seed(0)
    data = samples()
    training = {"epochs": EPOCHS, "batch_size": BATCH, "learning_rate": 1e-2, "device": "cpu", **options}
    return OperatorModule(
        Pointwise(),
        Scaling.fit([sample.x for sample in data], "channel"),
        Scaling.fit([sample.y for sample in data], "channel"),
        TrainingConfig(**training),
        metadata={"format": FORMAT, "config": {}},
    )


def same(first: Any, second: Any) -> bool:
    if isinstance(first, torch.Tensor):
        return torch.equal(first, second)
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(same(first[key], second[key]) for key in first)
    if isinstance(first, list | tuple):
        return len(first) == len(second) and all(same(a, b) for a, b in zip(first, second, strict=True))
    return bool(first == second)


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Uninterrupted runs, one a schedule and optimiser."""
    made: dict[tuple[str, str], Path] = {}

    def run(schedule: str, optimizer: str = "adam") -> Path:
        key = (schedule, optimizer)
        if key not in made:
            made[key] = tmp_path_factory.mktemp(schedule)
            fit(module(schedule=schedule, optimizer=optimizer), samples(), samples(3), made[key])
        return made[key]

    return run


@pytest.mark.parametrize(
    ("step", "schedule", "optimizer"),
    [
        (1, "cosine", "adam"),
        (5, "cosine", "adam"),
        (5, "one_cycle", "adam"),
        (5, "one_cycle", "muon"),
        (STEPS, "cosine", "adam"),
        (2 * STEPS, "one_cycle", "adam"),
        (9, "cosine", "adam"),
    ],
    ids=["first step", "middle", "one-cycle", "Muon", "end of epoch", "end of epoch one-cycle", "end of run"],
)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_resumed_run_is_the_same_to_the_last_bit(
    straight: Callable[..., Path], tmp_path: Path, step: int, schedule: str, optimizer: str, number: int
) -> None:
    options = {"schedule": schedule, "optimizer": optimizer}
    handlers = [signal.getsignal(kind) for kind in (signal.SIGINT, signal.SIGTERM)]
    with pytest.raises(InterruptionError, match=f"after step {step} of 9") as interruption:
        fit(module(**options), samples(), samples(3), tmp_path, callbacks=[At(step, send(number))])
    assert interruption.value.number == number
    assert [signal.getsignal(kind) for kind in (signal.SIGINT, signal.SIGTERM)] == handlers
    assert read_checkpoint(tmp_path / "last.ckpt")["global_step"] == step
    assert len(rows(tmp_path)) == step // STEPS
    torch.manual_seed(99), np.random.seed(99), random.seed(99)  # another process would stand anywhere
    fit(module(**options), samples(), samples(3), tmp_path, resume=True)
    other = straight(schedule, optimizer)
    assert rows(tmp_path) == rows(other)
    for name in ("last.ckpt", "best.ckpt"):
        resumed, whole = read_checkpoint(tmp_path / name), read_checkpoint(other / name)
        for key in ("state_dict", "optimizer_states", "lr_schedulers", "global_step", "epoch"):
            assert same(resumed[key], whole[key]), f"{name}: {key}"
        for key in ("RandomState", "LoaderState", "Checkpoints"):
            assert same(resumed["callbacks"][key], whole["callbacks"][key]), f"{name}: {key}"


@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
def test_a_resumed_run_with_decay_of_some_weights_is_the_same(tmp_path: Path, optimizer: str) -> None:
    options = {"optimizer": optimizer, "schedule": "one_cycle", "weight_decay": 0.1, "epochs": 2}
    fit(module(**options), samples(), [], tmp_path / "straight")
    with pytest.raises(InterruptionError):
        fit(module(**options), samples(), [], tmp_path / "broken", callbacks=[At(2, send(signal.SIGTERM))])
    fit(module(**options), samples(), [], tmp_path / "broken", resume=True)
    first, second = (read_checkpoint(tmp_path / name / "last.ckpt") for name in ("straight", "broken"))
    assert same(first["state_dict"], second["state_dict"])
    assert same(first["optimizer_states"], second["optimizer_states"])


def test_interrupted_at_every_step(straight: Callable[..., Path], tmp_path: Path) -> None:
    for step in range(1, EPOCHS * STEPS + 1):
        callbacks = [At(step, send(signal.SIGINT))]
        with pytest.raises(InterruptionError):
            fit(module(), samples(), samples(3), tmp_path, resume=step > 1, callbacks=callbacks)
    fit(module(), samples(), samples(3), tmp_path, resume=True)
    resumed, whole = (read_checkpoint(folder / "last.ckpt") for folder in (tmp_path, straight("cosine")))
    assert same(resumed["state_dict"], whole["state_dict"])
    assert rows(tmp_path) == rows(straight("cosine"))


def test_what_a_run_writes(straight: Callable[..., Path]) -> None:
    folder = straight("cosine")
    table = rows(folder)
    assert [row["epoch"] for row in table] == ["1", "2", "3"]
    assert all(float(row["train_loss"]) > 0 and float(row["val_error"]) > 0 for row in table)
    assert float(table[0]["train_loss"]) > float(table[-1]["train_loss"])
    assert list((folder / "tensorboard").iterdir())
    checkpoint = torch.load(folder / "last.ckpt", weights_only=True)
    assert checkpoint["pitgeo"] == {"format": FORMAT, "config": {}}
    assert checkpoint["lr_schedulers"][0]["last_epoch"] == EPOCHS * STEPS
    assert checkpoint["optimizer_states"][0]["param_groups"][0]["lr"] == pytest.approx(0, abs=1e-9)
    assert {key.split(".")[0] for key in checkpoint["state_dict"]} == {
        "model",
        "input_scaling",
        "target_scaling",
        "sizes",
    }
    assert not list(folder.glob(".*"))


def test_best_is_the_epoch_with_the_lowest_validation_error(tmp_path: Path) -> None:
    made = module()

    def spoil() -> None:  # in the last epoch, which is then the worst
        with torch.no_grad():
            next(made.model.parameters()).mul_(100)

    assert fit(made, samples(), samples(3), tmp_path, callbacks=[At(8, spoil)]) == tmp_path / "best.ckpt"
    errors = [float(row["val_error"]) for row in rows(tmp_path)]
    epoch = errors.index(min(errors)) + 1
    assert len(errors) == EPOCHS and epoch < EPOCHS
    best = read_checkpoint(tmp_path / "best.ckpt")
    assert best["epoch"] + 1 == epoch
    assert best["callbacks"]["Checkpoints"] == {"best_error": min(errors), "best_epoch": epoch}
    trained = module()
    trained.load_state_dict(best["state_dict"])
    trained.eval()
    with torch.no_grad():
        error = torch.cat([relative_error(trained(sample), sample.y) for sample in samples(3)]).mean()
    assert float(error) == pytest.approx(min(errors), rel=1e-5)


def overflowing(**options: Any) -> OperatorModule:
    """A model whose logarithm of the target is predicted, far too high on the validation samples."""
    made = module(epochs=2, **options)
    made.target_scaling = Scaling(torch.zeros(1), torch.ones(1), (), [0])
    made.model.register_forward_hook(lambda model, given, out: out * 0 + (1.0 if model.training else 1000.0))
    return made


def test_validation_errors_that_are_never_finite_end_the_run_with_the_reason(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    expected = (
        r"no validation error .* no best.ckpt: the error of target channel 0 is inf in validation sample 100; its "
    )
    expected += r"logarithm is scaled.*last.ckpt is kept; try a lower learning rate .*scaling.log"
    with pytest.raises(NonFiniteError, match=expected):
        fit(overflowing(), samples(), samples(3), tmp_path)
    assert [record.message for record in caplog.records if record.levelname == "WARNING"] == [
        "Epoch 1: the error of target channel 0 is inf in validation sample 100; its logarithm is scaled, and the "
        "exponential of what is predicted is out of range; best.ckpt is of other epochs"
    ]
    assert read_checkpoint(tmp_path / "last.ckpt")["global_step"] == 2 * STEPS
    assert not (tmp_path / "best.ckpt").exists() and len(rows(tmp_path)) == 2
    with pytest.raises(NonFiniteError, match="no validation error of this run was finite"):  # there is nothing to do
        fit(overflowing(), samples(), samples(3), tmp_path, resume=True)


def test_predictions_that_are_nan_in_one_validation_sample_alone_end_the_run(tmp_path: Path) -> None:
    made = module(epochs=1)

    def spoil(model: nn.Module, given: Any, out: torch.Tensor) -> torch.Tensor:
        return out if model.training or 101 not in given[0].sample_id else out * float("nan")

    made.model.register_forward_hook(spoil)
    with pytest.raises(NonFiniteError, match=r"is nan in validation sample 10\d; what is predicted is NaN"):
        fit(made, samples(), samples(3), tmp_path)


def test_one_finite_validation_error_is_enough(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    made = overflowing()
    made.model.register_forward_hook(lambda model, given, out: out * 0 + (1.0 if made.current_epoch == 1 else out))
    assert fit(made, samples(), samples(3), tmp_path) == tmp_path / "best.ckpt"
    assert read_checkpoint(tmp_path / "best.ckpt")["callbacks"]["Checkpoints"]["best_epoch"] == 2
    assert "Epoch 1: the error of target channel 0 is inf" in caplog.text


def test_a_missing_checkpoint_names_those_that_are_there(tmp_path: Path) -> None:
    (tmp_path / "last.ckpt").touch()
    with pytest.raises(FileNotFoundError, match=r"best.ckpt \(got no such file\); there are last.ckpt beside it"):
        read_checkpoint(tmp_path / "best.ckpt")


def test_without_validation_there_is_no_best(tmp_path: Path) -> None:
    assert fit(module(epochs=1), samples(), [], tmp_path) == tmp_path / "last.ckpt"
    assert not (tmp_path / "best.ckpt").exists()
    assert rows(tmp_path)[0]["val_error"] == ""


def test_train_loss_is_the_mean_over_the_samples(tmp_path: Path) -> None:
    still = module(epochs=1, learning_rate=1e-30)
    still.model.layers[2].p = 0.0  # type: ignore[index, union-attr]
    fit(still, samples(), [], tmp_path)
    with torch.no_grad():
        losses = [relative_error(still(sample), sample.y).mean() for sample in samples()]
    assert float(rows(tmp_path)[0]["train_loss"]) == pytest.approx(float(torch.stack(losses).mean()), rel=1e-5)


def test_the_history_survives_a_lost_table(tmp_path: Path) -> None:
    with pytest.raises(InterruptionError):
        fit(module(), samples(), [], tmp_path, callbacks=[At(STEPS + 1, send(signal.SIGINT))])
    (tmp_path / "metrics.csv").unlink()
    fit(module(), samples(), [], tmp_path, resume=True)
    assert [row["epoch"] for row in rows(tmp_path)] == ["1", "2", "3"]


def test_resuming_a_finished_run_trains_no_more(tmp_path: Path) -> None:
    fit(module(epochs=1), samples(), [], tmp_path)
    before = (tmp_path / "last.ckpt").read_bytes()
    fit(module(epochs=1), samples(), [], tmp_path, resume=True)
    assert (tmp_path / "last.ckpt").read_bytes() == before


def test_a_loss_that_is_not_finite_ends_the_run_and_spares_the_checkpoint(tmp_path: Path) -> None:
    broken = module()

    def spoil() -> None:
        broken.target_scaling.std.fill_(float("nan"))

    with pytest.raises(NonFiniteError, match=r"nan at step 5 of 9 \(epoch 2\), on the samples 1\d\d, .*last.ckpt"):
        fit(broken, samples(), samples(3), tmp_path, callbacks=[At(4, spoil)])
    assert read_checkpoint(tmp_path / "last.ckpt")["global_step"] == STEPS


def test_weights_that_are_not_finite_are_not_saved(tmp_path: Path) -> None:
    broken = module(epochs=1)

    def spoil() -> None:
        with torch.no_grad():
            next(broken.model.parameters()).fill_(float("inf"))

    with pytest.raises(NonFiniteError, match=r"'layers.0.weight' .* no checkpoint had been written"):
        fit(broken, samples(), [], tmp_path, callbacks=[At(STEPS, spoil)])
    assert not (tmp_path / "last.ckpt").exists()


def test_the_loss_sees_physical_units() -> None:
    made = module().eval()
    sample = samples()[0]
    scaled = PointData(pos=sample.pos, x=made.input_scaling.scale(sample.x))
    expected = made.target_scaling.unscale(made.model(scaled))
    assert torch.equal(made(sample), expected)
    assert torch.equal(sample.x, samples()[0].x), "the caller's sample was changed"


@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("step", [2, STEPS, EPOCHS * STEPS])
def test_two_signals_at_one_moment_are_one(tmp_path: Path, step: int, second: int) -> None:
    def twice() -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.1)
        os.kill(os.getpid(), second)

    with pytest.raises(InterruptionError, match=f"stopped by SIGTERM after step {step} of 9") as interruption:
        fit(module(), samples(), samples(3), tmp_path, callbacks=[At(step, twice)])
    assert interruption.value.number == signal.SIGTERM
    assert read_checkpoint(tmp_path / "last.ckpt")["global_step"] == step
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_later_second_signal_stops_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert stop_on_signal.ECHO == 2.0
    monkeypatch.setattr(stop_on_signal, "ECHO", 0.1)

    def twice() -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(InterruptionError, match="at once"):
        fit(module(), samples(), [], tmp_path, callbacks=[At(1, twice)])
    assert not (tmp_path / "last.ckpt").exists()
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Python's own answer to Ctrl-C, which a process that was started in the background does not have."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_before_the_first_step_is_a_plain_one(tmp_path: Path) -> None:
    class Early(Callback):
        def on_fit_start(self, *others: Any) -> None:
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        fit(module(), samples(), [], tmp_path, callbacks=[Early()])
    assert signal.getsignal(signal.SIGINT) == before


def test_confined_parameters_are_projected_after_every_step(tmp_path: Path) -> None:
    class Scaled(Pointwise):
        def __init__(self) -> None:
            super().__init__()
            self.scale = LengthScale(2, "tan")

        def forward(self, data: PointData) -> torch.Tensor:
            return super().forward(data) + self.scale().sum() * data.x[:, :1]

    made = module(epochs=1, learning_rate=10.0)
    made.model = scaled = Scaled()
    seen: list[torch.Tensor] = []
    callbacks = [At(step, lambda: seen.append(scaled.scale.raw.detach().clone())) for step in range(1, STEPS + 1)]
    fit(made, samples(), [], tmp_path, callbacks=callbacks)
    assert len(seen) == STEPS
    assert all(bool(((raw >= 0) & (raw < math.pi / 2)).all()) for raw in seen)


@pytest.mark.parametrize("precision", ["32", "bf16"])
def test_clipping_and_precision(tmp_path: Path, precision: str) -> None:
    fit(module(epochs=1, clip=1.0, precision=precision, optimizer="adamw"), samples(), samples(3), tmp_path)
    assert float(rows(tmp_path)[0]["val_error"]) > 0
    state = read_checkpoint(tmp_path / "last.ckpt")["state_dict"]
    assert all(value.dtype == torch.float32 for value in state.values() if value.is_floating_point())


@pytest.mark.parametrize("before", [False, True])
def test_a_deterministic_run_gives_the_same_twice_and_leaves_torch_as_it_was(tmp_path: Path, before: bool) -> None:
    seen: list[bool] = []
    note = At(1, lambda: seen.append(torch.are_deterministic_algorithms_enabled()))
    torch.use_deterministic_algorithms(before)
    try:
        for name in ("first", "second"):
            fit(module(epochs=1, deterministic=True), samples(), samples(3), tmp_path / name, callbacks=[note])
            assert torch.are_deterministic_algorithms_enabled() == before
        fit(module(epochs=1), samples(), [], tmp_path / "other", callbacks=[note])
    finally:
        torch.use_deterministic_algorithms(False)
    assert seen == [True, True, before]
    first, second = (read_checkpoint(tmp_path / name / "last.ckpt") for name in ("first", "second"))
    assert same(first["state_dict"], second["state_dict"]) and rows(tmp_path / "first") == rows(tmp_path / "second")


class TestBatchLoader:
    def ids(self, loader: BatchLoader) -> list[int]:
        return [int(number) for batch in loader for number in batch.sample_id]

    def test_every_sample_once_an_epoch_in_another_order(self) -> None:
        loader = BatchLoader(samples(), BATCH, seed=0)
        epochs = [self.ids(loader) for _ in range(3)]
        assert all(sorted(epoch) == list(range(100, 110)) for epoch in epochs)
        assert epochs[0] != epochs[1] != epochs[2]
        assert len(loader) == STEPS

    def test_the_order_depends_on_seed_and_epoch_alone(self) -> None:
        torch.manual_seed(1)
        first = self.ids(BatchLoader(samples(), BATCH, seed=5))
        torch.manual_seed(2)
        assert self.ids(BatchLoader(samples(), 3, seed=5)) == first
        assert self.ids(BatchLoader(samples(), BATCH, seed=6)) != first
        assert self.ids(BatchLoader(samples(), BATCH)) == list(range(100, 110))

    @pytest.mark.parametrize("taken", range(7))
    def test_goes_on_anywhere(self, taken: int) -> None:
        whole, part = BatchLoader(samples(), BATCH, seed=0), BatchLoader(samples(), BATCH, seed=0)
        expected = [self.ids(whole) for _ in range(3)]
        left = taken
        while left:
            for _ in part:
                left -= 1
                if not left:
                    break
        other = BatchLoader(samples(), BATCH, seed=0)
        other.load_state_dict(part.state_dict())
        rest = self.ids(other)
        epoch, position = divmod(taken, STEPS)
        assert rest == expected[epoch][position * BATCH :]

    def test_devices_share_every_batch(self) -> None:
        loaders = [BatchLoader(samples(), BATCH, seed=0) for _ in range(2)]
        for rank, loader in enumerate(loaders):
            loader.shard(rank, 2)
        first, second = (self.ids(loader) for loader in loaders)
        assert sorted(first + second) == list(range(100, 110))

    def test_mistakes_are_named(self) -> None:
        with pytest.raises(ValueError, match="at least one sample"):
            BatchLoader([], 1)
        with pytest.raises(ValueError, match="'batch_size' to be at least 1"):
            BatchLoader(samples(), 0)


class TestAtomicCheckpointIO:
    def test_a_full_disk_leaves_the_old_file(self, tmp_path: Path) -> None:
        path = tmp_path / "last.ckpt"
        AtomicCheckpointIO().save_checkpoint({"pitgeo": {"format": FORMAT}, "weights": torch.ones(2)}, path)
        before = path.read_bytes()
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
        try:
            with pytest.raises(
                OSError, match=r"last.ckpt could not be written \(.*\); the file that was there .* kept"
            ):
                AtomicCheckpointIO().save_checkpoint({"weights": torch.ones(10_000)}, path)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert path.read_bytes() == before
        assert list(tmp_path.iterdir()) == [path]

    def test_what_is_no_checkpoint_is_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "some.ckpt"
        with pytest.raises(FileNotFoundError, match=r"some.ckpt \(got no such file\)"):
            read_checkpoint(path)
        path.write_bytes(b"not a checkpoint")
        with pytest.raises(ValueError, match=r"some.ckpt to be a checkpoint of pitgeo .* cannot be read"):
            read_checkpoint(path)
        torch.save({"state_dict": {}}, path)
        with pytest.raises(ValueError, match="without the key 'pitgeo'"):
            read_checkpoint(path)
        torch.save({"pitgeo": {"format": 7, "versions": {"pitgeo": "9.0"}}}, path)
        with pytest.raises(ValueError, match=rf"format {FORMAT} .got 7, written by pitgeo 9.0"):
            read_checkpoint(path)


def test_random_states_are_restored_exactly() -> None:
    state = RandomState()
    random.gauss(0, 1), np.random.randn(), torch.rand(1)
    saved = state.state_dict()
    expected = (random.random(), random.gauss(0, 1), np.random.randn(3).tolist(), torch.randn(3).tolist())
    state.load_state_dict(saved)
    state.on_train_start(None, None)  # type: ignore[arg-type]
    assert (random.random(), random.gauss(0, 1), np.random.randn(3).tolist(), torch.randn(3).tolist()) == expected
