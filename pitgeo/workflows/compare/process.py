"""A training in a process of its own, whose time and memory are measured."""

from __future__ import annotations

import csv
import logging
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from pitgeo.workflows.compare import measured_command as _measure

log = logging.getLogger(__name__)

TRAIN = (sys.executable, "-m", "pitgeo", "train")
STOPPED = (128 + signal.SIGINT, 128 + signal.SIGTERM)
KILLED = 128 + signal.SIGKILL


class TrainingError(RuntimeError):
    """A training that failed by itself.

    Args:
        message: All there is to say.
        reason: What it said itself, in one line.
    """

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


def train_once(folder: Path, config: Path, changes: Sequence[str], threads: int) -> None:
    """Train, unless that is done already; what was interrupted goes on from its checkpoint.

    Args:
        folder: Folder of the run.
        config: Configuration file.
        changes: Changes to it, ``"key=value"``.
        threads: Threads of torch.

    Raises:
        TrainingError: If the training fails.
        RuntimeError: If it was stopped by a signal.
    """
    if (folder / "evaluation.json").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    record, console = folder / "measured.json", folder / "console.txt"
    resume = (folder / "last.ckpt").exists()
    if not resume:
        record.unlink(missing_ok=True)
    command = [*TRAIN, str(config), "--output", str(folder), *(part for text in changes for part in ("--set", text))]
    command += ["--resume" if resume else "--overwrite", "--quiet"]
    log.info("%s: %s", folder, shlex.join(command))
    with console.open("ab") as file:
        status = _run(command, record, file.fileno(), threads)
    if status in STOPPED:
        raise RuntimeError(f"Expected the training in {folder} to finish (it was stopped); the same command goes on")
    if status or not (folder / "evaluation.json").exists():
        lines = console.read_text(encoding="utf-8", errors="replace").replace("\r", "\n").splitlines()
        raise TrainingError(
            f"Expected the training in {folder} to finish (got exit status {status}); once the cause is mended, the "
            f"same command goes on from here. The end of {console}:\n" + "\n".join(lines[-15:]),
            _reason(status, lines),
        )


def epoch_seconds(metrics_csv: Path, threads: int | None = None) -> list[float]:
    """Seconds of every epoch of a run; nothing while there is no table.

    Args:
        metrics_csv: The run's table.
        threads: Threads of the run. With one, time on the processor counts where it is less than that on the clock:
            other programs lengthen the latter alone.
    """
    columns = ("seconds", "cpu_seconds") if threads == 1 else ("seconds",)
    return [min(float(row[name]) for name in columns if row.get(name)) for row in _rows(metrics_csv)]


def epoch_errors(metrics_csv: Path) -> tuple[str, list[float]]:
    """What tells of a run's progress, and its value at every epoch: the validation error, or else the training loss."""
    rows = _rows(metrics_csv)
    name = "val_error" if all(row.get("val_error") for row in rows) else "train_loss"
    return name, [float(row[name]) for row in rows]


def _rows(metrics_csv: Path) -> list[dict[str, str]]:
    if not metrics_csv.exists():
        return []
    with metrics_csv.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _run(command: Sequence[str], record: Path, console: int, threads: int) -> int:
    """Run a command and measure it; return its exit status."""
    measure = [sys.executable, "-I", "-S", str(_measure.__file__), str(record), *command]
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    with subprocess.Popen(measure, stdout=console, stderr=subprocess.STDOUT, env=environment) as process:
        return process.wait()


def _reason(status: int, lines: Sequence[str]) -> str:
    if status == KILLED:
        return "the system ended it (signal 9), as it does where memory runs out"
    said = [line.strip() for line in lines if line.strip()]
    errors = [line.partition("error: ")[2] for line in said[-5:] if line.startswith("pitgeo: error: ")]
    last = errors[-1:] or said[-1:]
    return last[0] if last else f"exit status {status}"
