"""Windows of time series: what they hold, how many there are, and that training on them can be taken up anywhere."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest
import torch
from lightning.pytorch.callbacks import Callback

from pitgeo.config import ConfigError, TrainingConfig, load_config
from pitgeo.data import PointData
from pitgeo.datasets.fields import Fields
from pitgeo.datasets.shared_mesh import SharedMesh
from pitgeo.nn import PointwiseMLP, Rollout
from pitgeo.scaling import Scaling
from pitgeo.training import FORMAT, BatchLoader, InterruptionError, OperatorModule, fit, read_checkpoint
from pitgeo.training.windows import epoch_windows, starts

KNOWN, STEPS, SAMPLES = 3, 7, 5
CONFIGS = Path(__file__).parents[2] / "configs"


def samples(count: int = SAMPLES) -> list[PointData]:
    """Series whose value at time t is ``100 * sample + 10 * point + t``, over 1000."""
    made = []
    for number in range(count):
        pos = torch.rand(4 + number % 3, 2, generator=torch.Generator().manual_seed(number))
        values = 100 * number + 10 * torch.arange(len(pos)).view(-1, 1) + torch.arange(KNOWN + STEPS) + 1.0
        x, y = (values / 1000).split([KNOWN, STEPS], 1)
        made.append(PointData(pos=pos, x=x, y=y, sample_id=number))
    return made


def shared() -> SharedMesh:
    every = [sample for sample in samples(9) if len(sample.pos) == 4]
    x, y = (torch.stack([sample[key] for sample in every]).numpy() for key in ("x", "y"))
    pos, numbers = every[0].pos.numpy(), torch.arange(len(every)).numpy()
    return SharedMesh(Fields(x=x, y=y, pos=pos, numbers=numbers, grid=(4,)), (), ("u",) * STEPS)


def seen(loader: BatchLoader) -> list[tuple[int, int, int]]:
    """Sample, first known time and number of predicted steps of every window of an epoch."""
    found = []
    for batch in loader:
        series = torch.cat([batch.x, batch.y], -1) * 1000 - 1
        numbers = None if series.dim() == 3 else batch.batch
        for place, number in enumerate(batch.sample_id.tolist()):
            values = series[place] if numbers is None else series[numbers == place]
            first = int(values[0, 0].round()) % 10
            each = torch.arange(first, first + KNOWN + batch.y.shape[-1])
            own = values - values[0, 0] + first
            torch.testing.assert_close(own, 10.0 * torch.arange(len(values)).view(-1, 1) + each, atol=1e-3, rtol=0)
            found.append((number, first, batch.window))
    return found


@pytest.mark.parametrize("kind", ["flat", "shared"])
def test_an_epoch_has_every_window_of_every_series_once(kind: str) -> None:
    data: Any = samples() if kind == "flat" else shared()
    loader = BatchLoader(data, 4, seed=0, windows=(1, 3, 7))
    for size, firsts in ((1, range(7)), (3, (0, 3, 4)), (7, (0,)), (7, (0,))):
        assert len(loader) == -(-len(data) * len(list(firsts)) // 4)
        expected = [(number, first, size) for number in range(len(data)) for first in firsts]
        assert sorted(seen(loader)) == expected


def test_values_are_those_of_the_series() -> None:
    whole = {int(sample.sample_id): torch.cat([sample.x, sample.y], 1) for sample in samples()}
    for batch in BatchLoader(samples(), 2, seed=1, windows=(2,)):
        for place, number in enumerate(batch.sample_id.tolist()):
            window = torch.cat([batch.x, batch.y], 1)[batch.batch == place]
            options = [whole[number][:, first : first + KNOWN + 2] for first in starts(STEPS, 2)]
            assert sum(torch.equal(window, option) for option in options) == 1


def test_epochs_share_the_sizes() -> None:
    assert epoch_windows((1, 4), 4) == [1, 1, 4, 4]
    assert epoch_windows((1, 2, 4), 2) == [2, 4]
    assert epoch_windows((5,), 3) == [5, 5, 5]


def module(windows: tuple[int, ...], epochs: int = 3) -> OperatorModule:
    torch.manual_seed(0)
    none = [Scaling.identity(channels) for channels in (KNOWN, STEPS)]
    training = TrainingConfig(
        epochs=epochs, batch_size=4, learning_rate=3e-3, schedule="one_cycle", device="cpu", windows=windows
    )
    return OperatorModule(
        Rollout(PointwiseMLP(2 + KNOWN, 1, 16, 2), STEPS), *none, training, facts={"format": FORMAT, "config": {}}
    )


def test_a_training_step_goes_through_as_many_steps(tmp_path: Path) -> None:
    made, calls = module((1, 7), epochs=2), []
    made.model.model.register_forward_hook(lambda *_: calls.append(made.training))
    fit(made, samples(), [], tmp_path)
    assert made.steps == 9 + 2 == read_checkpoint(tmp_path / "last.ckpt")["global_step"]
    assert len(calls) == 9 * 1 + 2 * 7
    made.eval()
    assert made(next(iter(BatchLoader(samples(), 2)))).shape[1] == STEPS  # validation and tests: all of them


class Stop(Callback):
    """Interrupt after a step, counted over the run from 1."""

    def __init__(self, step: int) -> None:
        self.step = step

    def on_train_batch_end(self, trainer: Any, *others: Any) -> None:
        if trainer.global_step == self.step:
            signal.raise_signal(signal.SIGTERM)


def test_resumed_runs_end_with_the_same_weights(tmp_path: Path) -> None:
    windows = (1, 3, 7)  # 9, 4 and 2 batches
    fit(module(windows), samples(), samples(2), tmp_path / "straight")
    whole = read_checkpoint(tmp_path / "straight" / "last.ckpt")
    for step in (3, 9, 10, 13):  # amid an epoch, after its last batch, after its first
        folder = tmp_path / str(step)
        with pytest.raises(InterruptionError):
            fit(module(windows), samples(), samples(2), folder, callbacks=[Stop(step)])
        fit(module(windows), samples(), samples(2), folder, resume=True)
        resumed = read_checkpoint(folder / "last.ckpt")
        assert whole["global_step"] == resumed["global_step"] == 15
        for name, weight in whole["state_dict"].items():
            assert torch.equal(weight, resumed["state_dict"][name]), (step, name)


def test_bad_windows_are_refused() -> None:
    with pytest.raises(ValueError, match="at most the 7 steps of a series \\(got 8\\)"):
        BatchLoader(samples(), 2, windows=(1, 8))
    for name, window, steps in (("elasticity", 2, "1 step "), ("vorticity", 21, "20 steps ")):
        with pytest.raises(ConfigError, match=f"at most the {steps}that data.name = '{name}' has .*{window}"):
            load_config(CONFIGS / f"{name}_quick.toml", [f"training.windows=[1, {window}]"])
