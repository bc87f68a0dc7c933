"""Windows of time series: what they hold, how many there are, and that training on them can be taken up anywhere."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from pitgeo.config.config import TrainingConfig, load_config
from pitgeo.config.toml import ConfigError
from pitgeo.data import PointData
from pitgeo.data.scaling import Scaling
from pitgeo.datasets.fields import Fields
from pitgeo.datasets.shared_mesh import SharedMesh
from pitgeo.measures.relative_error import relative_error
from pitgeo.nn import PointwiseMLP, Rollout
from pitgeo.training import FORMAT, BatchLoader, InterruptionError, OperatorModule, fit, read_checkpoint
from pitgeo.workflows.run import dry_run
from tests.trained import At, rows, send

KNOWN, STEPS, SAMPLES = 3, 6, 5
CONFIGS = Path(__file__).parents[2] / "configs"


def samples(count: int = SAMPLES, alike: bool = False) -> list[PointData]:
    """Series whose value is ``100 * sample + 10 * point + time + 1``, over 1000."""
    made = []
    for number in range(count):
        pos = torch.rand(4 if alike else 4 + number % 3, 2, generator=torch.Generator().manual_seed(number))
        values = 100 * number + 10 * torch.arange(len(pos)).view(-1, 1) + torch.arange(KNOWN + STEPS) + 1.0
        x, y = (values / 1000).split([KNOWN, STEPS], 1)
        made.append(PointData(pos=pos, x=x, y=y, sample_id=number))
    return made


def shared() -> SharedMesh:
    every = samples(alike=True)
    x, y = (torch.stack([sample[key] for sample in every]).numpy() for key in ("x", "y"))
    fields = Fields(x=x, y=y, pos=every[0].pos.numpy(), numbers=np.arange(len(every)), grid=(4,))
    return SharedMesh(fields, (), ("u",) * STEPS)


def seen(loader: BatchLoader, size: int) -> list[tuple[int, int]]:
    """Sample and first predicted step of every window of an epoch, whose values are those of the series to the bit."""
    found = []
    for batch in loader:
        assert batch.window == size
        series = torch.cat([batch.x, batch.y], -1)
        for place, number in enumerate(batch.sample_id.tolist()):
            values = series[place] if series.dim() == 3 else series[batch.batch == place]
            whole = torch.cat([loader.samples[number].x, loader.samples[number].y], 1)
            first = int((values[0, 0] * 1000).round()) % 10 - 1
            assert torch.equal(values, whole[:, first : first + KNOWN + size])
            found.append((number, first))
    return found


@pytest.mark.parametrize("kind", ["flat", "shared"])
@pytest.mark.parametrize("size", [1, 3, 6])
def test_an_epoch_has_every_window_of_every_series_once(kind: str, size: int) -> None:
    data: Any = samples() if kind == "flat" else shared()
    loader = BatchLoader(data, 4, seed=0, window=size)
    expected = [(number, first) for number in range(SAMPLES) for first in range(0, STEPS, size)]
    assert len(loader) == -(-len(expected) // 4)
    first, second = seen(loader, size), seen(loader, size)
    assert sorted(first) == sorted(second) == expected and first != second


def test_devices_share_windows() -> None:
    loaders = [BatchLoader(shared(), 4, seed=0, window=2) for _ in range(2)]
    for rank, loader in enumerate(loaders):
        loader.shard(rank, 2)
    whole = seen(BatchLoader(shared(), 4, seed=0, window=2), 2)
    first, second = (seen(loader, 2) for loader in loaders)
    assert sorted(first + second + [second[-1]]) == sorted([*whole, second[-1]])
    assert len(whole) == 15


def module(window: int, epochs: int = 3) -> OperatorModule:
    torch.manual_seed(0)
    none = [Scaling.identity(channels) for channels in (KNOWN, STEPS)]
    training = TrainingConfig(epochs=epochs, batch_size=4, learning_rate=3e-3, device="cpu", window=window)
    model = Rollout(PointwiseMLP(2 + KNOWN, 1, 16, 2), STEPS)
    return OperatorModule(model, *none, training, metadata={"format": FORMAT, "config": {}})


def test_training_goes_through_windows_validation_through_series(tmp_path: Path) -> None:
    made, calls = module(2, epochs=1), []
    made.model.model.register_forward_hook(lambda model, *_: calls.append(model.training))
    fit(made, samples(), samples(2), tmp_path)
    batches = -(-SAMPLES * 3 // 4)
    assert made.steps == batches == read_checkpoint(tmp_path / "last.ckpt")["global_step"]
    assert calls == [True] * batches * 2 + [False] * STEPS
    with torch.no_grad():
        errors = [
            relative_error(made.eval()(sample), sample.y, None, 1, 2).mean()
            for sample in (next(iter(BatchLoader([one], 1))) for one in samples(2))
        ]
    assert float(rows(tmp_path)[0]["val_error"]) == pytest.approx(float(sum(errors)) / 2, rel=1e-5)


def test_resumed_runs_end_with_the_same_weights(tmp_path: Path) -> None:
    fit(module(2), samples(), samples(2), tmp_path / "straight")
    whole = read_checkpoint(tmp_path / "straight" / "last.ckpt")
    for step in (3, 4):  # amid an epoch, after its last batch
        folder = tmp_path / str(step)
        with pytest.raises(InterruptionError, match=f"after step {step} of 12"):
            fit(module(2), samples(), samples(2), folder, callbacks=[At(step, send(signal.SIGTERM))])
        fit(module(2), samples(), samples(2), folder, resume=True)
        resumed = read_checkpoint(folder / "last.ckpt")
        assert whole["global_step"] == resumed["global_step"] == 12
        assert rows(folder) == rows(tmp_path / "straight")
        for name, weight in whole["state_dict"].items():
            assert torch.equal(weight, resumed["state_dict"][name]), (step, name)


def test_a_dry_run_says_so() -> None:
    config = load_config(CONFIGS / "vorticity_quick.toml")
    assert "training: on windows of 1 of 20 steps" in dry_run(config)
    whole = load_config(CONFIGS / "vorticity_quick.toml", ["training.window=0"])
    assert not any("windows" in line for line in dry_run(whole))


def test_bad_windows_are_refused() -> None:
    with pytest.raises(ValueError, match=r"divide the 6 steps of a series \(got 4\)"):
        BatchLoader(samples(), 2, window=4)
    for name, window, message in (
        ("elasticity", 1, r"no training.window .* data.name = 'elasticity' \(got 1\)"),
        ("vorticity", 3, r"training.window to divide the 20 steps of a series \(got 3\)"),
        ("vorticity", 40, r"training.window to divide the 20 steps of a series \(got 40\)"),
        ("vorticity", -1, "training.window: expected greater than or equal to 0"),
    ):
        with pytest.raises(ConfigError, match=message):
            load_config(CONFIGS / f"{name}_quick.toml", [f"training.window={window}"])
    identity, training = Scaling.identity(1), TrainingConfig(window=1)
    with pytest.raises(ValueError, match="a model that is rolled out"):
        OperatorModule(PointwiseMLP(3, 1), identity, identity, training)
    with pytest.raises(ValueError, match="scalings that change nothing"):
        OperatorModule(Rollout(PointwiseMLP(3, 1), 2), identity, Scaling(torch.ones(1), torch.ones(1)), training)
