"""A script that trains on several processes, for test_distributed.py: ``script.py FOLDER JOB.json``.

Every process leaves what it saw of a training in ``FOLDER/<name>/seen_<rank>.json``.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch.callbacks import Callback
from torch import Tensor, nn

from pitgeo.config import TrainingConfig
from pitgeo.data import PointData
from pitgeo.scaling import Scaling
from pitgeo.training import OperatorModule, fit
from pitgeo.training.place import find_place


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

    def __init__(self, rank: int, action: str = "", at: int = 0, by: int = 0) -> None:
        self.rank, self.action, self.at, self.by = rank, action, at, by
        self.seen: dict[str, Any] = {"losses": [], "samples": [], "errors": [], "shares": [], "random": []}

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        loss = trainer.strategy.reduce(outputs["loss"].detach().clone(), reduce_op="mean")
        counts = batch.get("weight") != 0
        self.seen["losses"].append(float(loss))
        self.seen["samples"].append(sorted(batch.sample_id.tolist()) if counts else [])
        self.seen["random"].append(float(torch.rand(1)))
        if trainer.global_step == self.at and self.rank == self.by:
            self.act()

    def act(self) -> None:
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
    place = find_place(training)
    output = folder / job["name"]
    data = samples(job["samples"])
    torch.manual_seed(0)
    module = OperatorModule(
        Pointwise(job.get("dropout", 0.0)),
        Scaling.fit([sample.x for sample in data], "channel"),
        Scaling.fit([sample.y for sample in data], "channel"),
        training,
        facts={"format": 3, "config": {}},
    ).double()
    eyes = Eyes(place.rank, **job.get("event", {}))
    try:
        fit(module, data, samples(job["held_out"]), output, job.get("resume", False), callbacks=[eyes])
    finally:
        if place.world > 1:
            (output / f"seen_{place.rank}.json").write_text(json.dumps(eyes.seen))
    return eyes


if __name__ == "__main__":
    warnings.simplefilter("error")
    warnings.filterwarnings("ignore", category=DeprecationWarning)
    for number in json.loads(Path(sys.argv[2]).read_text()):
        train(Path(sys.argv[1]), number)
