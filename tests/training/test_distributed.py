"""Several processes train as one does; the loss of one ends all, and what was saved goes on."""

from __future__ import annotations

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

from pitgeo.cli.main import main
from pitgeo.config.config import TrainingConfig, load_config
from pitgeo.mesh import write_mesh
from pitgeo.models.registry import DataSpec, build
from pitgeo.training import BatchLoader, WorkerLostError, distributed, find_context, read_checkpoint, together
from pitgeo.training.distributed_context import DistributedContext
from pitgeo.training.fit import _shared_cores
from pitgeo.training.random_state import RandomState
from tests.datasets.folder.conftest import small_mesh
from tests.pictures import without_pictures
from tests.training.script import samples, train

ROOT = Path(__file__).parents[2]
SCRIPT = Path(__file__).with_name("script.py")
LIMIT = 240  # seconds of one launch, most of which are imports on a busy machine
SHORT = 60  # seconds from the loss of a process to the end of the run
LAUNCHERS = ("PITGEO_", "SLURM_", "TORCHELASTIC_", "RANK", "LOCAL_", "GROUP_", "WORLD_SIZE", "MASTER_")

EVEN = {"samples": 10, "held_out": 3, "training": {"epochs": 4, "batch_size": 4}}
ALONE = {"samples": 5, "held_out": 1, "training": {"epochs": 2, "batch_size": 1}}
STEPS = 3  # of an epoch of EVEN
COLUMNS = ("epoch", "train_loss", "val_error", "lr")


@pytest.fixture(autouse=True)
def same_signals() -> Iterator[None]:
    """A failure in this process has it ignore SIGTERM until it ends; the tests go on."""
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


def environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(LAUNCHERS)}
    return {**kept, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}


class Launched:
    """A command, its output, and an end."""

    def __init__(self, folder: Path, command: Sequence[object]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.out, self.err = (folder / f"{name}_{time.monotonic_ns()}.txt" for name in ("out", "err"))
        with open(self.out, "w") as out, open(self.err, "w") as err:
            self.process = subprocess.Popen(
                [str(part) for part in command],
                stdout=out,
                stderr=err,
                env=environment(),
                cwd=folder,
                start_new_session=True,
            )

    def wait(self, seconds: float = LIMIT) -> int:
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            pytest.fail(f"still running after {seconds} s: {self.err.read_text()}")
        finally:
            self.end()

    def wait_for(self, path: Path) -> None:
        until = time.monotonic() + LIMIT
        while not path.exists():
            if self.process.poll() is not None or time.monotonic() > until:
                self.end()
                pytest.fail(f"{path} did not come: {self.err.read_text()}")
            time.sleep(0.02)

    def is_gone(self) -> bool:
        """Whether none of the processes is left."""
        try:
            os.killpg(self.process.pid, 0)
        except ProcessLookupError:
            return True
        return False

    def end(self) -> None:
        if not self.is_gone():
            os.killpg(self.process.pid, signal.SIGKILL)


def job(name: str, of: Mapping[str, Any], devices: int = 2, **changes: Any) -> dict[str, Any]:
    return {"name": name, **of, "training": {**of["training"], "devices": devices}, **changes}


def alone(folder: Path, of: Mapping[str, Any], **changes: Any) -> Any:
    """The same training in this process."""
    return train(folder, job("alone", of, devices=1, **changes))


def seen(folder: Path, rank: int) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / f"seen_{rank}.json").read_text())
    return found


def rows(folder: Path) -> list[dict[str, float]]:
    with open(folder / "metrics.csv", newline="") as file:
        return [{key: float(row[key]) for key in COLUMNS} for row in csv.DictReader(file)]


def weights(folder: Path) -> torch.Tensor:
    state = read_checkpoint(folder / "last.ckpt")["state_dict"]
    return torch.cat([value.flatten() for name, value in state.items() if name.startswith("model.")])


def close(first: Any, second: Any) -> None:
    torch.testing.assert_close(torch.as_tensor(first), torch.as_tensor(second), rtol=1e-10, atol=0)


def event(action: str, at: int, by: int = 1, **others: Any) -> dict[str, Any]:
    return {"action": action, "at": at, "by": by, **others}


RUNS = [
    ("pitgeo", [job("killed", EVEN, event=event("SIGKILL", STEPS + 2))]),
    ("srun", [job("stopped", EVEN, dropout=0.2, event=event("SIGTERM", STEPS + 1))]),
    (
        "srun",
        [
            job("even", EVEN),
            job("alone", ALONE),
            job("resumed", EVEN, resume=True, **{"from": "killed"}),
            job("dropout", EVEN, dropout=0.2),
            job("stopped", EVEN, dropout=0.2, resume=True),
        ],
    ),
    ("srun", [job("hang", EVEN, timeout=3.0, event=event("hang", 2))]),
    ("pitgeo", [job("before", ALONE), job("first", EVEN, event=event("SIGKILL", STEPS + 1, by=0))]),
    ("pitgeo", [job("mistake", EVEN, grace=2.0, event=event("raise", 2, others="hang"))]),
    (
        "torchrun",
        [job("torchrun", EVEN, devices=1, event=event("SIGKILL", STEPS + 1), is_told_to_end=True)],
    ),
    ("commands", [{"name": "command", "arguments": "arguments.json"}]),
]
EPOCHS = 20  # of the command, which is stopped after the first


def write_arguments(folder: Path) -> list[str]:
    """Mesh files, and what ``pitgeo`` is called with to train on them, but for the number of processes."""
    for number in range(9):
        write_mesh(folder / "cases" / f"case_{number}.vtu", small_mesh(number))
    settings = [
        f'data.meshes.files="{folder}/cases/*.vtu"',
        f'data.meshes.cache="{folder}/cache"',
        'data.meshes.inputs=["load"]',
        'data.meshes.targets=["q"]',
        f"training.epochs={EPOCHS}",
        "training.batch_size=3",
        'training.device="cpu"',
        "model.pit.channels=8",
        "model.pit.heads=2",
        "model.pit.layers=1",
        "model.pit.latent.number=10",
    ]
    config = str(ROOT / "configs" / "meshes.toml")
    arguments = ["train", config, "--quiet", *(part for key in settings for part in ("--set", key))]
    again = [*arguments, "--output", str(folder / "command"), "--resume"]
    (folder / "arguments.json").write_text(json.dumps(again))
    return arguments


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Trainings of several kinds, and processes that are killed, told to stop, hang or fail."""
    folder = tmp_path_factory.mktemp("together")
    output, two = folder / "command", ["--set", "training.devices=2"]
    command = Launched(folder, [sys.executable, "-m", "pitgeo", *write_arguments(folder), *two, "--output", output])
    command.wait_for(output / "last.ckpt")
    os.kill(command.process.pid, signal.SIGTERM)
    (folder / "stopped.json").write_text(json.dumps([command.wait(SHORT), command.err.read_text()]))
    (folder / "runs.json").write_text(json.dumps(RUNS))
    run = Launched(folder, [sys.executable, SCRIPT, folder, folder / "runs.json"])
    assert run.wait() == 0, run.err.read_text()
    return folder


def codes(trained: Path, number: int) -> list[int]:
    found: list[int] = json.loads((trained / "codes.json").read_text())[number]
    return found


def test_the_loss_of_a_process_ends_the_run(trained: Path) -> None:
    text = (trained / "0.err").read_text()
    assert codes(trained, 0) == [1]
    assert f"process 1 of 2 was lost, killed by SIGKILL, and with it the run; go on from {trained / 'killed'}" in text
    assert "the same command and 'resume'" in text and text.count("WorkerLostError: ") == 1


@pytest.mark.parametrize(("name", "of"), [("even", EVEN), ("alone", ALONE)])
def test_losses_and_errors_are_those_of_one_process(
    trained: Path, tmp_path: Path, name: str, of: Mapping[str, Any]
) -> None:
    one, folder = alone(tmp_path, of).seen, trained / name
    first, second = seen(folder, 0), seen(folder, 1)
    assert len(one["losses"]) >= 10
    for both in (first, second):
        close(both["losses"], one["losses"])
        close(both["errors"], one["errors"])
    assert first["errors"] == second["errors"]
    assert [sorted(a + b) for a, b in zip(first["samples"], second["samples"], strict=True)] == one["samples"]
    assert all(0 <= len(a) - len(b) <= 1 for a, b in zip(first["samples"], second["samples"], strict=True))
    for ours, theirs in zip(rows(folder), rows(tmp_path / "alone"), strict=True):
        close(list(ours.values()), list(theirs.values()))
    close(weights(folder), weights(tmp_path / "alone"))
    best, other = (read_checkpoint(path / "best.ckpt") for path in (folder, tmp_path / "alone"))
    assert best["epoch"] == other["epoch"]


def test_the_first_process_alone_writes(trained: Path) -> None:
    found = sorted(path.relative_to(trained / "even").as_posix() for path in (trained / "even").rglob("*"))
    events = [path for path in found if "events" in path]
    assert len(events) == 1
    assert [path for path in found if path not in events] == [
        "best.ckpt",
        "data",
        "last.ckpt",
        "metrics.csv",
        "seen_0.json",
        "seen_1.json",
        "tensorboard",
        "tensorboard/hparams.yaml",
    ]


def test_a_run_that_lost_a_process_goes_on_with_any_number(trained: Path, tmp_path: Path) -> None:
    assert read_checkpoint(trained / "killed" / "last.ckpt")["global_step"] == STEPS
    assert torch.equal(weights(trained / "resumed"), weights(trained / "even"))
    assert rows(trained / "resumed") == rows(trained / "even")
    shutil.copytree(trained / "killed", tmp_path / "alone")
    alone(tmp_path, EVEN, resume=True)
    close(weights(tmp_path / "alone"), weights(trained / "even"))
    assert len(rows(tmp_path / "alone")) == 4


def test_processes_stop_at_one_step_and_resume_to_the_same_bits(trained: Path) -> None:
    assert codes(trained, 1) == [1, 1] and codes(trained, 2) == [0, 0]
    for rank in (0, 1):
        said = (trained / f"1_{rank}.err").read_text()
        assert f"InterruptionError: stopped by SIGTERM after step {STEPS + 1} of 12" in said
        said = (trained / f"2_{rank}.err").read_text()
        assert said == "" or "training.batch_size = 1 is the batch of all 2 devices" in said.rstrip().splitlines()[0]
        assert len(said.splitlines()) <= 1
        whole, rest = seen(trained / "dropout", rank), seen(trained / "stopped", rank)
        assert rest["losses"] == whole["losses"][STEPS + 1 :] and rest["random"] == whole["random"][STEPS + 1 :]
    assert torch.equal(weights(trained / "stopped"), weights(trained / "dropout"))


def test_a_process_that_does_not_answer_is_lost(trained: Path) -> None:
    assert codes(trained, 3)[0] == 1
    assert "another process did not answer in time, 3 s, and with it the run" in (trained / "3_0.err").read_text()


def test_the_first_process_prepares_what_the_others_read(trained: Path) -> None:
    assert [seen(trained / "even", rank)["prepared"] for rank in (0, 1)] == [False, True]


def test_processes_draw_random_numbers_of_their_own(trained: Path) -> None:
    first, second = (seen(trained / "dropout", rank)["random"] for rank in (0, 1))
    assert not set(first) & set(second)


def test_the_loss_of_the_first_process_ends_the_others(trained: Path) -> None:
    assert codes(trained, 4) == [-signal.SIGKILL]
    assert len(rows(trained / "before")) == 2, "a script may train several times"
    assert "process 0 of 2 was lost, and with it the run; go on from" in (trained / "4.err").read_text()


def test_a_process_that_does_not_notice_is_ended(trained: Path) -> None:
    text = (trained / "5.err").read_text()
    assert codes(trained, 5) == [1] and "ValueError: a mistake of one process" in text
    assert "process 1 of 2 ended with exit code 1; what it said is above, and with it the run; no checkpoint" in text


def test_torchrun_ends_all_when_a_process_is_lost(trained: Path) -> None:
    text = (trained / "6.err").read_text()
    assert codes(trained, 6) == [1]
    assert "another process was lost, or has ended, and with it the run; go on from" in text
    assert read_checkpoint(trained / "torchrun" / "last.ckpt")["global_step"] == STEPS


def test_a_run_of_the_command_line_stops_and_goes_on_under_torchrun(trained: Path, tmp_path: Path) -> None:
    code, text = json.loads((trained / "stopped.json").read_text())
    assert code == 128 + signal.SIGTERM
    assert text.count("stopped by SIGTERM after step") == 1 and "Error" not in text
    assert codes(trained, 7) == [0], (trained / "7.err").read_text()
    output = trained / "command"
    assert (trained / "7.out").read_text().count("checkpoint: ") == 1
    assert len(rows(output)) == EPOCHS and (output / "evaluation.json").exists() and (output / "split.json").exists()
    assert not list(output.glob(".*"))
    with without_pictures():
        assert main([*write_arguments(tmp_path), "--output", str(tmp_path / "one")]) == 0
    torch.set_flush_denormal(False)
    close_to = [[row["val_error"] for row in rows(folder)] for folder in (output, tmp_path / "one")]
    np.testing.assert_allclose(*close_to, rtol=0.01)


class TestFindPlace:
    """What launchers say, and what the configuration does."""

    @pytest.fixture(autouse=True)
    def empty(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in [name for name in os.environ if name.startswith(LAUNCHERS)]:
            monkeypatch.delenv(name)

    def test_one_process_by_itself(self) -> None:
        assert find_context(TrainingConfig()).world == 1
        context = find_context(TrainingConfig(devices=3))
        assert (context.rank, context.world, context.launcher, context.nodes) == (0, 3, "pitgeo", 1)

    def test_several_machines_need_a_launcher(self) -> None:
        with pytest.raises(ValueError, match=r"torchrun or srun to start the processes on 2 machines"):
            find_context(TrainingConfig(nodes=2))

    def test_torchrun(self, monkeypatch: pytest.MonkeyPatch) -> None:
        numbers = {"RANK": 5, "WORLD_SIZE": 8, "LOCAL_RANK": 1, "LOCAL_WORLD_SIZE": 4, "GROUP_RANK": 1}
        for name, value in {**numbers, "TORCHELASTIC_RUN_ID": "a", "MASTER_ADDR": "b", "MASTER_PORT": 9}.items():
            monkeypatch.setenv(name, str(value))
        for training in (TrainingConfig(), TrainingConfig(devices=4, nodes=2)):
            context = find_context(training)
            assert (context.rank, context.world, context.local_rank, context.node, context.nodes) == (5, 8, 1, 1, 2)
            assert (context.address, context.port, context.is_first) == ("b", 9, False)
        for training in (TrainingConfig(devices=4), TrainingConfig(devices=2, nodes=4)):
            with pytest.raises(ValueError, match=r"training.devices = 4 and training.nodes = 2, as torchrun started"):
                find_context(training)

    def test_srun(self, monkeypatch: pytest.MonkeyPatch) -> None:
        numbers = {"PROCID": 5, "LOCALID": 1, "NODEID": 1, "STEP_NUM_TASKS": 8, "STEP_NUM_NODES": 2, "JOB_ID": 123456}
        for name, value in {**numbers, "STEP_NODELIST": "gpu[07-08]"}.items():
            monkeypatch.setenv(f"SLURM_{name}", str(value))
        context = find_context(TrainingConfig(devices=4, nodes=2))
        assert (context.rank, context.world, context.local_rank, context.node, context.nodes) == (5, 8, 1, 1, 2)
        assert (context.address, context.port) == ("gpu07", 18456)
        assert find_context(TrainingConfig()).world == 1
        with pytest.raises(ValueError, match=r"= 8 on 2 machines, as srun started \(got 4 x 1\)"):
            find_context(TrainingConfig(devices=4))

    def test_a_process_of_pitgeo_keeps_its_number(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PITGEO_PROCESS", "1 2 4000 77")
        context = find_context(TrainingConfig(devices=2))
        assert (context.rank, context.world, context.port, context.parent) == (1, 2, 4000, 77)
        with pytest.raises(ValueError, match=r"as many processes as its first with several, 2 \(got 1\)"):
            find_context(TrainingConfig())

    def test_ensembles_are_not_for_torchrun(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
    ) -> None:
        numbers = {"RANK": 0, "WORLD_SIZE": 2, "LOCAL_RANK": 0, "LOCAL_WORLD_SIZE": 2, "GROUP_RANK": 0}
        for name, value in {**numbers, "TORCHELASTIC_RUN_ID": "a", "MASTER_ADDR": "b", "MASTER_PORT": 9}.items():
            monkeypatch.setenv(name, str(value))
        config = str(ROOT / "configs" / "elasticity_quick.toml")
        assert main(["train", config, "--members", "2", "--output", str(tmp_path)]) == 2
        assert "with --members (got 2); set both to 1, and start it without torchrun" in capsys.readouterr().err


def test_one_process_needs_nothing(tmp_path: Path) -> None:
    with together(TrainingConfig(), tmp_path) as processes, processes.by_turns():
        processes.connect()
    assert not torch.distributed.is_initialized() and not processes.children


def test_an_interactive_session_cannot_be_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "__main__", ModuleType("__main__"))
    monkeypatch.setattr(distributed, "_JOINED", [])
    training = TrainingConfig(devices=2)
    with (
        pytest.raises(ValueError, match="a script or a command, which can be repeated for each of 2 devices"),
        together(training, tmp_path),
    ):
        pass
    with pytest.raises(WorkerLostError, match="start the script again"), together(training, tmp_path):
        pass


@pytest.mark.parametrize(("size", "world"), [(4, 2), (4, 3), (1, 4), (7, 3)])
def test_shares_weigh_to_the_mean_of_the_batch(size: int, world: int) -> None:
    loaders = [BatchLoader(samples(10), size, seed=0) for _ in range(world)]
    for rank, loader in enumerate(loaders):
        loader.shard(rank, world)
    for whole, *shares in zip(BatchLoader(samples(10), size, seed=0), *loaders, strict=True):
        means = [share.sample_id.double().mean() * share["weight"] for share in shares]
        assert float(sum(means) / world) == pytest.approx(float(whole.sample_id.double().mean()), rel=1e-14)
        assert {share["together"] for share in shares} == {whole.samples}


def test_more_processes_than_before_begin_with_other_random_numbers() -> None:
    class Trainer:
        global_step = 7

    stored = RandomState().state_dict()
    drawn = []
    for rank in range(3):
        state = RandomState(rank, 3)
        state.load_state_dict(stored)
        torch.manual_seed(5)
        state.on_train_start(Trainer(), None)  # type: ignore[arg-type]
        drawn.append((float(torch.rand(1)), float(np.random.rand())))
    assert len(set(drawn)) == 3
    torch.set_rng_state(stored["torch"])
    assert drawn[0][0] == float(torch.rand(1))


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("elasticity_quick", "model.name=pit"),
        ("elasticity_quick", "model.name=mlp"),
        ("inviscid_burgers_quick", "model.name=pit"),
        ("darcy_small_quick", "model.name=pit"),
        ("darcy2d_quick", "model.name=fno"),
        ("vorticity_quick", "model.name=pit"),
    ],
)
def test_every_parameter_takes_part(name: str, setting: str) -> None:
    """Else torch's data-parallel module would wait for a gradient that never comes."""
    config = load_config(ROOT / "configs" / f"{name}.toml", [setting])
    sample = config.transform(None)(config.data.options.template())
    steps = config.data.options.rollout
    out = int(sample.y.shape[1]) if steps == 1 else 1
    spec = DataSpec(sample.input_dim, out, sample.pos.shape[1], 0.1, 1.0, 0.1, steps)
    model = build(config.model.options, spec)
    model(sample).square().mean().backward()
    assert [key for key, parameter in model.named_parameters() if parameter.grad is None] == []


@pytest.mark.parametrize(("set_by_hand", "threads"), [(False, 2), (True, 4)])
def test_processes_on_the_cpu_share_its_cores(set_by_hand: bool, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    before = torch.get_num_threads()
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if set_by_hand:
        monkeypatch.setenv("OMP_NUM_THREADS", "4")
    try:
        torch.set_num_threads(4)
        with _shared_cores(DistributedContext(world=2, local_world=2), TrainingConfig(device="cpu")):
            assert torch.get_num_threads() == threads
        assert torch.get_num_threads() == 4
    finally:
        torch.set_num_threads(before)
