"""A script that trains on several processes, for test_distributed.py.

``script.py FOLDER RUNS.json`` does one run after the other, each by a stand-in for what starts processes: pitgeo,
srun or torchrun. All are forked from this one process, so that imports, which take most of the time, are done once.
Every process leaves what it saw of a training in ``FOLDER/<name>/seen_<rank>.json``; exit codes are in ``codes.json``,
and what processes say in ``<number of the run>*.err`` and ``.out``.
"""

from __future__ import annotations

import atexit
import json
import math
import multiprocessing
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch.callbacks import Callback
from torch import Tensor, nn
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

import pitgeo.workflows.run
from pitgeo.cli.main import main
from pitgeo.config.config import TrainingConfig
from pitgeo.data import PointData
from pitgeo.data.scaling import Scaling
from pitgeo.training import FORMAT, OperatorModule, WorkerLostError, distributed, fit, together
from pitgeo.training.distributed_context import CHILD, DistributedContext, find_context


class Pointwise(nn.Module):
    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 16), nn.GELU(), nn.Dropout(dropout), nn.Linear(16, 1))

    def forward(self, data: PointData) -> Tensor:
        out: Tensor = self.layers(torch.cat([data.pos, data.x], 1))
        return out


def samples(count: int) -> list[PointData]:
    """Meshes of different sizes, in float64."""
    generator = torch.Generator().manual_seed(1)
    made = []
    for number in range(count):
        pos = torch.rand(6 + number % 3, 2, generator=generator, dtype=torch.float64)
        x = torch.rand(len(pos), 2, generator=generator, dtype=torch.float64)
        made.append(PointData(pos=pos, x=x, y=100 + 50 * (pos[:, :1] + x[:, 1:]), sample_id=number))
    return made


class Eyes(Callback):
    """Note the loss of every step and the validation errors; do something at one step, in one process."""

    def __init__(self, rank: int, output: Path, event: dict[str, Any]) -> None:
        self.rank, self.output, self.at = rank, output, event.get("at", 0)
        self.action = event.get("action" if rank == event.get("by") else "others", "")
        self.seen: dict[str, Any] = {"losses": [], "samples": [], "errors": [], "random": []}

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        loss = trainer.strategy.reduce(outputs["loss"].detach().clone(), reduce_op="mean")
        counts = batch.get("weight") != 0
        self.seen["losses"].append(float(loss))
        self.seen["samples"].append(sorted(batch.sample_id.tolist()) if counts else [])
        self.seen["random"].append(float(torch.rand(1)))
        if trainer.global_step == self.at:
            self.act()

    def act(self) -> None:
        if self.action:
            (self.output / "event").touch()
        if self.action == "hang":
            time.sleep(1000)
        elif self.action == "raise":
            raise ValueError("a mistake of one process")
        elif self.action:
            os.kill(os.getpid(), signal.Signals[self.action])

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        self.seen["errors"].append(pl_module.validation_error)


def train(folder: Path, job: dict[str, Any]) -> Eyes:
    """One training as the job says."""
    training = TrainingConfig(device="cpu", learning_rate=1e-2, **job["training"])
    context = find_context(training)
    output = folder / job["name"]
    data = samples(job["samples"])
    torch.manual_seed(0)
    module = OperatorModule(
        Pointwise(job.get("dropout", 0.0)),
        Scaling.fit([sample.x for sample in data], "channel"),
        Scaling.fit([sample.y for sample in data], "channel"),
        training,
        metadata={"format": FORMAT, "config": {}},
    ).double()
    eyes = Eyes(context.rank, output, job.get("event", {}))
    distributed.GRACE = job.get("grace", distributed.GRACE)
    distributed.TIMEOUT = timedelta(seconds=job.get("timeout", distributed.TIMEOUT.total_seconds()))
    with together(training, output / "last.ckpt") as processes, processes.by_turns():
        eyes.seen["prepared"] = (output / "data").exists()
        if context.is_first:
            time.sleep(0.2)  # the others would be here by now
            if "from" in job:
                shutil.copytree(folder / job["from"], output)
            output.mkdir(exist_ok=True)
            (output / "data").touch()
    try:
        fit(module, data, samples(job["held_out"]), output, job.get("resume", False), callbacks=[eyes])
    except WorkerLostError:
        if job.get("is_told_to_end"):
            os.kill(os.getpid(), signal.SIGTERM)
        raise
    finally:
        if context.world > 1:
            (output / f"seen_{context.rank}.json").write_text(json.dumps(eyes.seen))
    return eyes


def do(folder: Path, jobs: list[dict[str, Any]]) -> int:
    """One training after the other, and what Python does at the end of a script; gives the exit code."""
    code = 0
    try:
        for job in jobs:
            train(folder, job)
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        code = 1
    atexit._run_exitfuncs()
    return code


class Forked:
    """In place of a process that repeats the command: forked before there are threads, it waits to be started."""

    def __init__(self, folder: Path, jobs: list[dict[str, Any]]) -> None:
        fork = multiprocessing.get_context("fork")
        self._place = fork.SimpleQueue()
        self._process = fork.Process(target=self._run, args=(folder, jobs))
        self._process.start()

    def _run(self, folder: Path, jobs: list[dict[str, Any]]) -> None:
        os.environ[CHILD] = self._place.get()
        os._exit(do(folder, jobs))

    def start(self, context: DistributedContext, port: int) -> list[Forked]:
        self._place.put(f"1 {context.world} {port} {os.getpid()}")
        return [self]

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float) -> None:
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired("forked", timeout)

    def kill(self) -> None:
        self._process.kill()


def pitgeo(folder: Path, name: str, jobs: list[dict[str, Any]]) -> list[int]:
    """As where processes are started by the first of them."""

    def first() -> int:
        distributed._start = Forked(folder, jobs).start  # type: ignore[assignment]
        return do(folder, jobs)

    return _codes([_fork(folder / f"{name}.err", first)], folder / jobs[-1]["name"] / "event")


def torchrun(folder: Path, name: str, jobs: list[dict[str, Any]]) -> list[int]:
    """What torchrun is made of, with processes that it forks."""
    return _codes([_fork(folder / f"{name}.err", _agent(name, do, folder, jobs))], folder / jobs[-1]["name"] / "event")


def commands(folder: Path, name: str, jobs: list[dict[str, Any]]) -> list[int]:
    """The same of ``pitgeo``, with arguments that a file lists."""
    arguments = json.loads((folder / jobs[0]["arguments"]).read_text())
    return _codes([_fork(folder / f"{name}.err", _agent(name, command, arguments))])


def command(arguments: list[str]) -> int:
    """A command of pitgeo; gives the exit code."""
    warnings.simplefilter("ignore")  # as for users
    return main(arguments)


def _agent(name: str, run: Callable[..., int], *arguments: Any) -> Callable[[], int]:
    """What starts two processes that do the same."""

    def agent() -> int:
        options = {"rdzv_backend": "c10d", "rdzv_endpoint": "localhost:0", "run_id": name, "start_method": "fork"}
        config = LaunchConfig(1, 1, 2, max_restarts=0, monitor_interval=0.1, **options)
        try:
            elastic_launch(config, _or_exit)(run, *arguments)
        except ChildFailedError:
            return 1
        return 0

    return agent


def _or_exit(run: Callable[..., int], *arguments: Any) -> None:
    if code := run(*arguments):  # after success the agent waits for what is returned
        os._exit(code)


def srun(folder: Path, name: str, jobs: list[dict[str, Any]]) -> list[int]:
    """Two processes with the variables that srun sets."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    said = {"STEP_NUM_TASKS": 2, "STEP_NUM_NODES": 1, "STEP_NODELIST": "localhost", "NODEID": 0}

    def process(rank: int) -> int:
        mine = {**said, "PROCID": rank, "LOCALID": rank}
        os.environ.update({f"SLURM_{key}": str(value) for key, value in mine.items()}, MASTER_PORT=str(port))
        return do(folder, jobs)

    return _codes([_fork(folder / f"{name}_{rank}.err", partial(process, rank)) for rank in range(2)])


def _fork(said: Path, run: Callable[[], int]) -> int:
    """Start a process in a group of its own."""
    if (child := os.fork()) != 0:
        os.setpgid(child, child)
        return child
    os.setpgid(0, 0)
    for path, stream in ((said.with_suffix(".out"), 1), (said, 2)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND), stream)
    os._exit(run())


def _codes(processes: list[int], event: Path | None = None) -> list[int]:
    """Exit codes, once none of these processes, and of those that they started, is left.

    After an event they have a minute to end; without one, as with ``srun --kill-on-bad-exit``, 5 s after one failed.
    """
    codes: dict[int, int] = {}
    until, left = math.inf, set(processes)
    while left:
        for process in left - codes.keys():
            found, status = os.waitpid(process, os.WNOHANG)
            if found:
                codes[process] = os.waitstatus_to_exitcode(status)
        left = {process for process in left if _is_there(process)}
        if until == math.inf and (any(codes.values()) if event is None else event.exists()):
            until = time.monotonic() + (5 if event is None else 60)
        if time.monotonic() > until:
            for process in left:
                os.killpg(process, signal.SIGKILL)
                if event is not None:
                    raise TimeoutError(f"{event.parent} did not end; see the files beside it")
        time.sleep(0.02)
    return [codes[process] for process in processes]


def _is_there(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


if __name__ == "__main__":
    warnings.simplefilter("error")
    warnings.filterwarnings("ignore", category=DeprecationWarning)
    output, given = Path(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text())
    launchers = {"pitgeo": pitgeo, "srun": srun, "torchrun": torchrun, "commands": commands}
    found = [launchers[launcher](output, str(number), jobs) for number, (launcher, jobs) in enumerate(given)]
    (output / "codes.json").write_text(json.dumps(found))
