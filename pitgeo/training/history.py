"""A table with one row an epoch, which is complete whenever a run is interrupted."""

from __future__ import annotations

import csv
import io
import logging
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import torch
from lightning.pytorch import LightningModule, Trainer
from lightning.pytorch.callbacks import Callback

from pitgeo.system.atomic_files import write_atomic
from pitgeo.training.module import OperatorModule

log = logging.getLogger(__name__)

COLUMNS = ("epoch", "train_loss", "val_error", "lr", "seconds", "cpu_seconds")


class History(Callback):
    """Write ``epoch, train_loss, val_error, lr, seconds, cpu_seconds`` of every epoch to a CSV file and to the loggers.

    ``train_loss`` is the mean over the samples of the epoch as they were met (with ``training.window``, over windows,
    of a few steps, while ``val_error`` is of whole series), ``lr`` the last one used, ``seconds`` the time of the epoch
    with its validation, ``cpu_seconds`` what the process used of the processors meanwhile, which other programs do not
    lengthen. The rows, and the sums of an unfinished epoch, are in the checkpoint: a resumed run writes all.

    Args:
        path: The CSV file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: list[dict[str, float | int | None]] = []
        self.loss = 0.0
        self.samples = 0
        self.seconds = 0.0
        self.cpu_seconds = 0.0
        self.rate = 0.0
        self._since: tuple[float, float] | None = None

    @property
    def mean_loss(self) -> float:
        """Mean loss of the epoch so far."""
        return self.loss / max(self.samples, 1)

    @property
    def elapsed(self) -> tuple[float, float]:
        """Seconds, and seconds of the processors, of the epoch so far, interruptions left out."""
        now = _clocks()
        wall, cpu = self._since or now
        return self.seconds + now[0] - wall, self.cpu_seconds + now[1] - cpu

    def state_dict(self) -> dict[str, Any]:
        """The rows, and the sums of the unfinished epoch."""
        seconds, cpu_seconds = self.elapsed
        return {
            "rows": [dict(row) for row in self.rows],
            "loss": self.loss,
            "samples": self.samples,
            "seconds": seconds,
            "cpu_seconds": cpu_seconds,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on with another run's rows and sums."""
        self.rows = [dict(row) for row in state_dict["rows"]]
        self.loss, self.samples = state_dict["loss"], state_dict["samples"]
        self.seconds, self.cpu_seconds = state_dict["seconds"], state_dict.get("cpu_seconds", 0.0)

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Start the clock, and drop rows that a crashed run wrote after its last checkpoint."""
        self._since = _clocks()
        if trainer.is_global_zero:
            self._write()

    def on_before_optimizer_step(self, trainer: Trainer, pl_module: LightningModule, optimizer: Any) -> None:
        """Note the learning rate."""
        self.rate = float(optimizer.param_groups[0]["lr"])

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Add the loss of a batch."""
        loss = outputs["loss"] if isinstance(outputs, Mapping) else outputs
        loss = float(cast(torch.Tensor, trainer.strategy.reduce(loss.detach(), reduce_op="mean")))
        samples = int(batch.get("together", batch.samples))
        self.loss += loss * samples
        self.samples += samples
        for logger in trainer.loggers:
            logger.log_metrics({"step/train_loss": loss, "step/lr": self.rate}, trainer.global_step)

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Add the row of an epoch."""
        seconds, cpu_seconds = self.elapsed
        row: dict[str, float | int | None] = {
            "epoch": trainer.current_epoch + 1,
            "train_loss": self.mean_loss,
            "val_error": cast(OperatorModule, pl_module).validation_error,
            "lr": self.rate,
            "seconds": round(seconds, 3),
            "cpu_seconds": round(cpu_seconds, 3),
        }
        self.rows.append(row)
        self.loss, self.samples, self.seconds, self.cpu_seconds = 0.0, 0, 0.0, 0.0
        self._since = _clocks()
        for logger in trainer.loggers:
            numbers = {f"epoch/{name}": value for name, value in row.items() if value is not None and name != "epoch"}
            logger.log_metrics(numbers, trainer.global_step)
        if trainer.is_global_zero:
            self._write()
            log.debug(
                "Epoch %d of %s: %s", row["epoch"], trainer.max_epochs, ", ".join(f"{k} {v}" for k, v in row.items())
            )

    def _write(self) -> None:
        text = io.StringIO()
        table = csv.DictWriter(text, COLUMNS, lineterminator="\n")
        table.writeheader()
        table.writerows(self.rows)
        write_atomic(self.path, text.getvalue().encode())


def _clocks() -> tuple[float, float]:
    return time.monotonic(), time.process_time()
