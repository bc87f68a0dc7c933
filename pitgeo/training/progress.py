"""One bar over all steps of the run."""

from __future__ import annotations

import sys
from typing import Any, cast

from lightning.pytorch import LightningModule, Trainer
from lightning.pytorch.callbacks import Callback
from tqdm import tqdm

from pitgeo.training.history import History
from pitgeo.training.module import OperatorModule


class Progress(Callback):
    """Steps done, time left, mean loss of the epoch, last validation error; on the standard error stream.

    Args:
        history: Where the loss is found.
    """

    def __init__(self, history: History) -> None:
        self.history = history
        self.bar: Any = None

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Show the bar."""
        if trainer.is_global_zero:
            self.bar = tqdm(
                total=cast(OperatorModule, pl_module).steps,
                initial=trainer.global_step,
                desc="training",
                unit="step",
                dynamic_ncols=True,
                mininterval=0.1 if sys.stderr.isatty() else 10.0,  # a log file wants fewer lines
            )
            self._show()

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """A step on."""
        if self.bar is not None:
            self._show()
            self.bar.update()

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Show the validation error."""
        if self.bar is not None:
            self._show()
            if sys.stderr.isatty():
                self.bar.refresh()

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Leave the bar as it stands."""
        self._close()

    def on_exception(self, trainer: Trainer, pl_module: LightningModule, exception: BaseException) -> None:
        """Leave the bar as it stands."""
        self._close()

    def _show(self) -> None:
        last = self.history.rows[-1] if self.history.rows else {}
        loss = self.history.mean_loss if self.history.samples else last.get("train_loss")
        shown = {"epoch": len(self.history.rows) + bool(self.history.samples), "loss": loss}
        shown["val"] = last.get("val_error")
        numbers = {name: f"{value:.4g}" for name, value in shown.items() if value is not None}
        self.bar.set_postfix(numbers, refresh=False)

    def _close(self) -> None:
        if self.bar is not None:
            self.bar.close()
            self.bar = None
