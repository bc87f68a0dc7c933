"""A script that trains on several processes, for test_distributed.py.

``script.py FOLDER JOBS.json`` does one training after the other. ``script.py FOLDER RUNS.json srun`` stands in for
srun: it starts two processes for each list of trainings, with the variables that srun sets. Every process leaves what
it saw of a training in ``FOLDER/<name>/seen_<rank>.json``.
"""

from __future__ import annotations

import json
import math
import os
import signal
import socket
import sys
import time
import traceback
import warnings
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch.callbacks import Callback
from torch import Tensor, nn

from pitgeo.config.config import TrainingConfig
from pitgeo.data import PointData
from pitgeo.data.scaling import Scaling
from pitgeo.training import FORMAT, OperatorModule, WorkerLostError, distributed, fit, together
from pitgeo.training.distributed_context import find_context


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


def srun(folder: Path, runs: list[list[dict[str, Any]]]) -> None:
    """Start two processes for every list of jobs; leave their exit codes and what they say.

    As with ``srun --kill-on-bad-exit``, one that fails ends the other.
    """
    codes = []
    for run, jobs in enumerate(runs):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        ranks = [_fork(folder, f"{run}_{rank}", rank, port, jobs) for rank in range(2)]
        codes.append(_codes(ranks))
    (folder / "codes.json").write_text(json.dumps(codes))


def _fork(folder: Path, name: str, rank: int, port: int, jobs: list[dict[str, Any]]) -> int:
    if (child := os.fork()) != 0:
        return child
    os.dup2(os.open(folder / f"{name}.err", os.O_WRONLY | os.O_CREAT), 2)
    said = {"STEP_NUM_TASKS": 2, "STEP_NUM_NODES": 1, "STEP_NODELIST": "localhost", "NODEID": 0}
    said |= {"PROCID": rank, "LOCALID": rank}
    os.environ.update({f"SLURM_{key}": str(value) for key, value in said.items()}, MASTER_PORT=str(port))
    try:
        for job in jobs:
            train(folder, job)
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
    os._exit(0)


def _codes(processes: list[int]) -> list[int]:
    codes: dict[int, int] = {}
    until = math.inf
    while len(codes) < len(processes):
        for process in set(processes) - codes.keys():
            if time.monotonic() > until:
                os.kill(process, signal.SIGKILL)
            found, status = os.waitpid(process, os.WNOHANG)
            if found:
                codes[process] = os.waitstatus_to_exitcode(status)
                until = min(until, time.monotonic() + 5) if codes[process] else until
        time.sleep(0.05)
    return [codes[process] for process in processes]


if __name__ == "__main__":
    warnings.simplefilter("error")
    warnings.filterwarnings("ignore", category=DeprecationWarning)
    given = json.loads(Path(sys.argv[2]).read_text())
    if sys.argv[3:] == ["srun"]:
        srun(Path(sys.argv[1]), given)
    else:
        for number in given:
            train(Path(sys.argv[1]), number)
