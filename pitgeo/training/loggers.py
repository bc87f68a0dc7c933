"""Where the numbers of a run go beside its own ``metrics.csv``: TensorBoard, MLflow, Weights & Biases."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from lightning.pytorch.loggers import Logger, MLFlowLogger, TensorBoardLogger, WandbLogger

from pitgeo.system.atomic_files import write_atomic

Name = Literal["tensorboard", "mlflow", "wandb"]
PROJECT = "pitgeo"


def make_loggers(names: Sequence[Name], output: Path, config: Mapping[str, Any], done: int) -> list[Logger]:
    """Lightning's loggers of these names.

    TensorBoard's files are in ``tensorboard/`` of the run's folder. MLflow writes to the server of
    ``MLFLOW_TRACKING_URI``, or to ``mlflow.db`` of the folder. Weights & Biases uploads if ``WANDB_API_KEY`` is set,
    and else writes to ``wandb/`` of the folder, for ``wandb sync``; its other variables, as ``WANDB_PROJECT``, count
    too.
    A run that goes on writes to the same run of a tracker.

    Args:
        names: The loggers.
        output: The run's folder.
        config: The configuration, for trackers that compare runs.
        done: Steps that were done before; TensorBoard drops what a stopped run wrote after them.

    Raises:
        ImportError: If the package of a tracker is missing.
    """
    loggers: list[Logger] = []
    for name in dict.fromkeys(names):
        try:
            loggers.append(_logger(name, output, done))
        except ModuleNotFoundError as error:
            raise ImportError(
                f"Expected the package of {name!r}, which training.logger names (got none); install it: "
                f"pip install pitgeo[trackers]"
            ) from error
        if name != "tensorboard":
            loggers[-1].log_hyperparams(dict(config))
    return loggers


def _logger(name: Name, output: Path, done: int) -> Logger:
    if name == "tensorboard":
        return TensorBoardLogger(output, name="tensorboard", version="", purge_step=done + 1 if done else None)
    if name == "mlflow":
        return _mlflow(output, bool(done))
    folder = output / "wandb"
    folder.mkdir(parents=True, exist_ok=True)
    key = hashlib.sha256(str(output.resolve()).encode()).hexdigest()[:16]
    offline = "WANDB_API_KEY" not in os.environ and os.environ.get("WANDB_MODE", "offline") == "offline"
    return WandbLogger(
        output.name,
        save_dir=output,
        offline=offline,
        id=key,
        resume="allow",
        project=os.environ.get("WANDB_PROJECT", PROJECT),
    )


def _mlflow(output: Path, goes_on: bool) -> Logger:
    uri = os.environ.get("MLFLOW_TRACKING_URI", f"sqlite:///{(output / 'mlflow.db').resolve()}")
    kept = output / "mlflow_run.txt"
    run = kept.read_text(encoding="utf-8") if goes_on and kept.exists() else None
    logger = MLFlowLogger(PROJECT, output.name, uri, run_id=run)
    write_atomic(kept, str(logger.run_id).encode())
    return logger
