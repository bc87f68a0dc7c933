"""Ctrl-C and SIGTERM end a run in good order."""

from __future__ import annotations

import logging
import signal
import threading
import time
from pathlib import Path
from typing import Any

from lightning.pytorch import LightningModule, Trainer
from lightning.pytorch.callbacks import Callback

from pitgeo.system.interrupted import ECHO, SIGNALS, InterruptionError
from pitgeo.training.distributed import speak_first

log = logging.getLogger(__name__)


class StopOnSignal(Callback):
    """After SIGINT or SIGTERM, finish the step, write ``last.ckpt``, and raise :class:`InterruptionError`.

    At the last step of an epoch its validation is finished too, for the epoch's row and its ``best.ckpt``. Signals
    within two seconds of the first are one with it: ``timeout``, make and SLURM signal a process and its whole group. A
    later one ends the run at once, with nothing written.

    Args:
        checkpoint: The file to write.
    """

    def __init__(self, checkpoint: Path) -> None:
        self.checkpoint = checkpoint
        self.received: int | None = None
        self.since = 0.0
        self._stopped: InterruptionError | None = None
        self._previous: dict[int, Any] = {}

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Take over the signals: only now, after Lightning has set its own handlers."""
        if threading.current_thread() is threading.main_thread():
            self._previous = {number: signal.signal(number, self._handle) for number in SIGNALS}

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Stop in the middle of an epoch."""
        if not self._decide(trainer):
            return
        if batch_idx + 1 >= trainer.num_training_batches:
            log.info("Signal received; stopping when the epoch has been validated")
            return
        trainer.save_checkpoint(self.checkpoint)
        self._stop(trainer)

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Stop between epochs; ``last.ckpt`` has just been written."""
        if self._decide(trainer):
            self._stop(trainer)

    def on_exception(self, trainer: Trainer, pl_module: LightningModule, exception: BaseException) -> None:
        """Give the signals back; after an interruption Lightning does, at the end of its own work."""
        if not isinstance(exception, InterruptionError):
            self._restore()
        if trainer.world_size > 1 and not isinstance(exception, InterruptionError):
            speak_first()

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Give the signals back, heeding one that came at the very end."""
        if self.received is None:
            self._restore()
        if self._decide(trainer):
            self._stop(trainer)
        self._restore()

    def _handle(self, number: int, frame: Any) -> None:
        if self.received is None:
            self.received, self.since = number, time.monotonic()
        elif time.monotonic() - self.since > ECHO:
            raise self._stopped or InterruptionError(
                number, f"stopped at once by a second {_name(number)}; the last step is not saved"
            )

    def _decide(self, trainer: Trainer) -> bool:
        received = self.received is not None
        if trainer.world_size == 1:
            return received
        return bool(trainer.strategy.reduce_boolean_decision(received, all=False))  # all devices stop at one step

    def _stop(self, trainer: Trainer) -> None:
        number = self.received if self.received is not None else signal.SIGTERM
        self._stopped = InterruptionError(
            number,
            f"stopped by {_name(number)} after step {trainer.global_step} of "
            f"{int(trainer.num_training_batches) * (trainer.max_epochs or 0)}; {self.checkpoint} holds everything",
        )
        raise self._stopped

    def _restore(self) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)
        self._previous = {}


def _name(number: int) -> str:
    return signal.Signals(number).name
