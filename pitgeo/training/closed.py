"""Training without epochs, of models that are fitted in closed form."""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from pitgeo.data import PointData
from pitgeo.system.atomic_files import write_atomic
from pitgeo.training.checkpoint_io import AtomicCheckpointIO
from pitgeo.training.history import COLUMNS
from pitgeo.training.loader import BatchLoader
from pitgeo.training.module import OperatorModule
from pitgeo.training.nonfinite import NonFiniteError


def fit_closed(
    module: OperatorModule,
    train: Sequence[PointData],
    validation: Sequence[PointData],
    output: Path,
    is_first: bool = True,
) -> Path:
    """Fit a module's model by its ``fit_closed``; write ``last.ckpt``, ``best.ckpt`` and ``metrics.csv`` to a folder.

    Args:
        module: The model with its scalings, on the CPU.
        train: Training samples.
        validation: Samples whose error is noted; may be empty.
        output: The folder.
        is_first: Whether this process is the one, of several devices, that does it; others have nothing to do.

    Returns:
        The checkpoint to report: ``best.ckpt``, or ``last.ckpt`` if there is no validation; they are the same.

    Raises:
        ValueError: If the samples are none for this model.
        NonFiniteError: If a prediction is not finite.
        OSError: If a file cannot be written.
    """
    paths = [output / name for name in ("best.ckpt", "last.ckpt")]
    reported = paths[0] if validation else paths[1]
    if not is_first:
        return reported
    start, cpu = time.monotonic(), time.process_time()
    model: Any = module.eval().model
    model.fit_closed(train)
    size = module.training_config.batch_size
    row: dict[str, Any] = {
        "epoch": 1,
        "train_loss": _error(module, BatchLoader(train, size)),
        "val_error": _error(module, BatchLoader(validation, size)) if validation else None,
        "lr": 0.0,
        "seconds": round(time.monotonic() - start, 3),
        "cpu_seconds": round(time.process_time() - cpu, 3),
    }
    text = io.StringIO()
    table = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    table.writeheader()
    table.writerow(row)
    write_atomic(output / "metrics.csv", text.getvalue().encode())
    checkpoint: dict[str, Any] = {"state_dict": module.state_dict(), "epoch": 0, "global_step": 0}
    module.on_save_checkpoint(checkpoint)
    for path in paths:
        AtomicCheckpointIO().save_checkpoint(checkpoint, path)
    return reported


def _error(module: OperatorModule, batches: BatchLoader) -> float:
    """The mean relative error."""
    with torch.inference_mode():
        errors = torch.cat([module.errors(batch).double() for batch in batches])
    if not bool(torch.isfinite(errors).all()):
        raise NonFiniteError("a prediction of the fitted model is not finite; look at the ranges of the inputs")
    return float(errors.mean())
