"""The best and the last state of a run, in two files."""

from __future__ import annotations

import logging
import math
from pathlib import Path
from typing import Any, cast

from lightning.pytorch import LightningModule, Trainer
from lightning.pytorch.callbacks import Callback

from pitgeo.training.module import OperatorModule
from pitgeo.training.nonfinite import NonFiniteError

log = logging.getLogger(__name__)


class Checkpoints(Callback):
    """Write ``last.ckpt`` after every epoch, and ``best.ckpt`` when the validation error is lower than ever.

    Args:
        folder: Where the files go.
    """

    def __init__(self, folder: Path) -> None:
        self.best = folder / "best.ckpt"
        self.last = folder / "last.ckpt"
        self.best_error = math.inf
        self.best_epoch = 0
        self.flaw = ""

    def state_dict(self) -> dict[str, Any]:
        """The lowest error, and its epoch."""
        return {"best_error": self.best_error, "best_epoch": self.best_epoch}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on with another run's."""
        self.best_error, self.best_epoch = state_dict["best_error"], state_dict["best_epoch"]

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Write the files."""
        module = cast(OperatorModule, pl_module)
        error = module.validation_error
        if error is not None and not math.isfinite(error):
            flaw = module.validation_flaw or "the validation error is not finite"
            if not self.flaw and trainer.is_global_zero:
                log.warning("Epoch %d: %s; best.ckpt is of other epochs", trainer.current_epoch + 1, flaw)
            self.flaw = flaw
        if error is not None and trainer.strategy.broadcast(error < self.best_error):
            self.best_error, self.best_epoch = error, trainer.current_epoch + 1
            trainer.save_checkpoint(self.best)
        trainer.save_checkpoint(self.last)

    def chosen(self) -> Path:
        """The best checkpoint of a run that has ended.

        Raises:
            NonFiniteError: If there is none, as no validation error was finite.
        """
        if self.best_epoch == 0:
            raise NonFiniteError(
                f"no validation error of this run was finite, so that there is no {self.best.name}: "
                f"{self.flaw or 'the last one neither'}; {self.last} is kept; try a lower learning rate or "
                f"training.clip, or leave the name out of scaling.log"
            )
        return self.best
