"""Lightning's Trainer round an operator module: everything of training but where data and model come from."""

from __future__ import annotations

import logging
import os
import signal
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch
from lightning.pytorch import Trainer
from lightning.pytorch.callbacks import Callback
from lightning.pytorch.loggers import Logger
from lightning.pytorch.strategies import DDPStrategy

from pitgeo.config.config import TrainingConfig
from pitgeo.data import PointData
from pitgeo.system.interrupted import hear_again
from pitgeo.training.checkpoint_io import AtomicCheckpointIO, read_checkpoint
from pitgeo.training.checkpoints import Checkpoints
from pitgeo.training.closed import fit_closed
from pitgeo.training.distributed import TIMEOUT, together
from pitgeo.training.distributed_context import ContextEnvironment, DistributedContext
from pitgeo.training.history import History
from pitgeo.training.loader import BatchLoader, LoaderState
from pitgeo.training.loggers import make_loggers
from pitgeo.training.module import OperatorModule
from pitgeo.training.nonfinite import NonFiniteError
from pitgeo.training.progress import Progress
from pitgeo.training.random_state import RandomState
from pitgeo.training.stop_on_signal import StopOnSignal

log = logging.getLogger(__name__)


def fit(
    module: OperatorModule,
    train: Sequence[PointData],
    validation: Sequence[PointData],
    output: Path,
    resume: bool = False,
    progress: bool = False,
    callbacks: Sequence[Callback] = (),
) -> Path:
    """Train a module; write ``last.ckpt``, ``best.ckpt``, ``metrics.csv`` and ``tensorboard/`` to a folder.

    A model that has a ``fit_closed`` is fitted by it, in place of epochs (:mod:`pitgeo.training.closed`).
    An interrupted and resumed run ends, on the CPU, with the very same weights as one that was not interrupted. With
    several devices every process calls this; the first one writes.

    Args:
        module: The model with its scalings and training options.
        train: Training samples, with all the model needs.
        validation: Samples on which ``best`` is chosen; may be empty, and then there is no ``best``.
        output: The folder.
        resume: Go on from the folder's ``last.ckpt``.
        progress: Show a bar on the standard error stream.
        callbacks: Further callbacks of Lightning; they come first.

    Returns:
        The checkpoint to report: ``best.ckpt``, or ``last.ckpt`` if there is no validation.

    Raises:
        InterruptionError: If SIGINT or SIGTERM arrived; ``last.ckpt`` has been written.
        NonFiniteError: If the loss or a weight became NaN or infinite, and ``last.ckpt`` is left as it was; or if no
            validation error was finite, and there is no best.
        WorkerLostError: If another process of several ended.
        OSError: If a file cannot be written.
    """
    training = module.training_config
    with together(training, output / "last.ckpt") as processes, _shared_cores(processes.context, training):
        processes.connect()
        if hasattr(module.model, "fit_closed"):
            return fit_closed(module, train, validation, output, processes.context.is_first)
        return _fit(module, train, validation, output, resume, progress, callbacks, processes.context)


def _fit(
    module: OperatorModule,
    train: Sequence[PointData],
    validation: Sequence[PointData],
    output: Path,
    resume: bool,
    progress: bool,
    callbacks: Sequence[Callback],
    context: DistributedContext,
) -> Path:
    training = module.training_config
    if training.batch_size < context.world and context.is_first:
        log.warning(
            "training.batch_size = %d is the batch of all %d devices together: the others have no work",
            training.batch_size,
            context.world,
        )
    loader = BatchLoader(train, training.batch_size, training.seed, training.window)
    held_out = [BatchLoader(validation, training.batch_size)] if validation else []
    for every in (loader, *held_out):
        every.shard(context.rank, context.world)
    module.steps = len(loader) * training.epochs
    history, checkpoints = History(output / "metrics.csv"), Checkpoints(output)
    last = checkpoints.last
    done = int(read_checkpoint(last)["global_step"]) if resume else 0
    trained: list[Callback] = [*callbacks, RandomState(context.rank, context.world), LoaderState(loader), history]
    trained += [Progress(history)] if progress else []
    trained += [checkpoints, StopOnSignal(last)]
    hear_again()
    on_interrupt = signal.getsignal(signal.SIGINT)
    with _quiet(), _algorithms_restored():
        config = module.metadata.get("config", {})
        loggers = make_loggers(training.logger, output, config, done) if context.is_first else []
        trainer = _trainer(training, context, output, trained, loggers, bool(validation))
        try:
            trainer.fit(module, loader, held_out, ckpt_path=last if resume else None, weights_only=True)
        except NonFiniteError as error:
            kept = f"the last good checkpoint is {last}" if last.exists() else "no checkpoint had been written yet"
            raise NonFiniteError(f"{error}; {kept}; try a lower learning rate or training.clip") from error
        except SystemExit as error:  # what Lightning makes of a Ctrl-C before the first step
            if isinstance(error.__context__, KeyboardInterrupt):
                signal.signal(signal.SIGINT, on_interrupt)  # Lightning leaves it ignored
                raise KeyboardInterrupt from None
            raise
    return checkpoints.chosen() if validation else last


@contextmanager
def _shared_cores(context: DistributedContext, training: TrainingConfig) -> Iterator[None]:
    """Let the processes of a machine that train on the CPU share its cores, unless the environment says otherwise."""
    before = torch.get_num_threads()
    if context.local_world > 1 and torch_device(training.device) == "cpu" and "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(max(1, before // context.local_world))
    try:
        yield
    finally:
        torch.set_num_threads(before)


def torch_device(device: str) -> str:
    """Name in torch of ``"auto"``, ``"cpu"`` or ``"gpu"``.

    Raises:
        ValueError: If a GPU is asked for and there is none.
    """
    available = torch.cuda.is_available()
    if device == "gpu" and not available:
        raise ValueError("Expected a GPU, as 'gpu' was asked for (got none that torch can use); choose 'cpu' or 'auto'")
    return "cuda" if available and device != "cpu" else "cpu"


def _trainer(
    training: TrainingConfig,
    context: DistributedContext,
    output: Path,
    callbacks: list[Callback],
    loggers: list[Logger],
    validate: bool,
) -> Trainer:
    accelerator = "gpu" if torch_device(training.device) == "cuda" else "cpu"
    return Trainer(
        accelerator=accelerator,
        devices=context.local_world,
        num_nodes=context.nodes,
        strategy="auto" if context.world == 1 else DDPStrategy(timeout=TIMEOUT),
        deterministic=training.deterministic or None,
        precision="bf16-mixed" if training.precision == "bf16" else "32-true",
        max_epochs=training.epochs,
        gradient_clip_val=training.clip,
        logger=loggers,
        callbacks=callbacks,
        plugins=[AtomicCheckpointIO(), *([] if context.world == 1 else [ContextEnvironment(context)])],
        limit_val_batches=None if validate else 0,
        log_every_n_steps=1,
        num_sanity_val_steps=0,
        use_distributed_sampler=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=output,
    )


@contextmanager
def _algorithms_restored() -> Iterator[None]:
    """Leave the process with torch's choice of algorithms as it was, whatever Lightning makes of it meanwhile."""
    enabled = torch.are_deterministic_algorithms_enabled()
    warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(enabled, warn_only=warn_only)


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep Lightning's notes on devices and tips out of the output, and its quarrel with a newer torch."""
    logger = logging.getLogger("lightning.pytorch")
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", r"`isinstance\(treespec, LeafSpec\)` is deprecated", FutureWarning)
            yield
    finally:
        logger.setLevel(level)
