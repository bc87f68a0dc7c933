"""Trainings that a report compares, each in a process of its own."""

from __future__ import annotations

import contextlib
import csv
import json
import logging
import os
import shlex
import signal
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

from pitgeo import _measure
from pitgeo.scores import NORMS

log = logging.getLogger(__name__)

TRAIN = (sys.executable, "-m", "pitgeo.cli", "train")


@dataclass(frozen=True)
class Run:
    """What one finished training gave.

    Args:
        method: ``"pit"``, ``"mlp"`` or ``"mean_field"``.
        seed: Seed of the training; ``None`` for a method that draws nothing.
        epochs: Epochs of training.
        parameters: Trained numbers.
        relative_l1: Test error, the mean over samples and channels.
        relative_l2: Test error, the mean over samples and channels.
        training_seconds: Sum over all epochs, validation included; without imports, data preparation and test.
        wall_seconds: The whole process, if it was measured.
        peak_memory_bytes: Largest resident memory of the process (of one of them, if it starts others).
    """

    method: str
    seed: int | None
    epochs: int
    parameters: int
    relative_l1: float
    relative_l2: float
    training_seconds: float = 0.0
    wall_seconds: float | None = None
    peak_memory_bytes: int | None = None


class Trainer:
    """Train in a process of its own, once: what is finished is read back.

    Args:
        config_path: Configuration of all runs.
        overrides: Changes to it.
        folder: Folder of all runs.
        progress: Show a bar over the epochs of a run.
        threads: Threads of each training; ``None`` for what torch takes.
    """

    def __init__(
        self, config_path: Path, overrides: Sequence[str], folder: Path, progress: bool, threads: int | None = None
    ) -> None:
        self.config_path = config_path
        self.overrides = list(overrides)
        self.folder = folder
        self.progress = progress and sys.stderr.isatty()
        self.environment = {**os.environ, **({} if threads is None else {"OMP_NUM_THREADS": str(threads)})}

    def run(self, method: str, seed: int, epochs: int, name: str | None = None) -> Run:
        """Train, unless that is done already, and say what came of it."""
        name = name or f"{method}_seed{seed}"
        folder = self.folder / name
        if not (folder / "evaluation.json").exists():
            self._train(folder, name, method, seed, epochs)
        evaluation = json.loads((folder / "evaluation.json").read_text(encoding="utf-8"))
        measured = folder / "measured.json"
        errors = [
            statistics.fmean(target[name]["mean"] for target in evaluation["errors"].values()) for name, _ in NORMS
        ]
        seconds = sum(epoch_seconds(folder / "metrics.csv"))
        used = json.loads(measured.read_text(encoding="utf-8")) if measured.exists() else {}
        return Run(method, seed, epochs, int(evaluation["parameters"]), errors[0], errors[1], seconds, **used)

    def _train(self, folder: Path, name: str, method: str, seed: int, epochs: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        record, console = folder / "measured.json", folder / "console.txt"
        resume = (folder / "last.ckpt").exists()
        if not resume:
            record.unlink(missing_ok=True)
        settings = [*self.overrides, f'model.name="{method}"', f"training.seed={seed}", f"training.epochs={epochs}"]
        command = [*TRAIN, str(self.config_path), "--output", str(folder)]
        command += [part for setting in settings for part in ("--set", setting)]
        command += ["--resume" if resume else "--overwrite"]
        log.info("%s: %s", name, shlex.join(command))
        with console.open("ab") as file, tqdm(total=epochs, desc=name, unit="epoch", disable=not self.progress) as bar:
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(_measure.__file__), str(record), *command],
                stdout=file,
                stderr=subprocess.STDOUT,
                env=self.environment,
            )
            try:
                while process.poll() is None:
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        process.wait(1.0)
                    bar.update(len(epoch_seconds(folder / "metrics.csv")) - bar.n)
            except KeyboardInterrupt:  # Ctrl-C reached the training too, which is saving what it has
                process.wait()
                raise
            except BaseException:
                process.send_signal(signal.SIGTERM)
                process.wait()
                raise
        if process.returncode or not (folder / "evaluation.json").exists():
            lines = console.read_text(encoding="utf-8", errors="replace").replace("\r", "\n").splitlines()
            raise RuntimeError(
                f"Expected the training {name} to finish (got exit status {process.returncode}); once the cause is "
                f"mended, the same command goes on from here. The end of {console}:\n" + "\n".join(lines[-15:])
            )


def epoch_seconds(metrics_csv: Path, threads: int | None = None) -> list[float]:
    """Seconds of every epoch of a run; nothing while there is no table.

    Args:
        metrics_csv: The run's table.
        threads: Threads of the run. With one, time on the processor counts where it is less than that on the clock:
            other programs lengthen the latter alone.
    """
    if not metrics_csv.exists():
        return []
    with metrics_csv.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    columns = ("seconds", "cpu_seconds") if threads == 1 else ("seconds",)
    return [min(float(row[name]) for name in columns if row.get(name)) for row in rows]
