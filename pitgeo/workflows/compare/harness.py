"""Trainings that are compared: calibrated, trained on one budget, tested. What is there is never done again."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any, Literal

from tqdm import tqdm

from pitgeo.evaluation.evaluation import write_json
from pitgeo.system.atomic_files import write_atomic
from pitgeo.workflows.compare.claim import alone, claim, read_table, stored
from pitgeo.workflows.compare.entry import Entry
from pitgeo.workflows.compare.process import TrainingError, epoch_errors, epoch_seconds, train_once
from pitgeo.workflows.compare.settings import Settings

log = logging.getLogger(__name__)

CALIBRATION_EPOCHS = 2
EVALUATE = (sys.executable, "-m", "pitgeo", "evaluate")
Failures = Literal["raise", "keep"]


class Harness:
    """The folder of runs that are compared.

    Minutes become epochs once: two epochs of every entry are timed, the entries of a call side by side (on the
    processor where each has one thread: other programs of the machine then change nothing). Where runs have several
    threads, and fewer of them are timed at once than are trained later, as with an entry that is added alone, it may
    train for longer than the others; a warning says so. The number of epochs is kept in ``calibration.json``, so that
    a schedule means the same in every rerun; ``settings.json`` keeps what was asked for, see
    :func:`pitgeo.workflows.compare.claim.claim`. One command at a time may work in the folder.

    Args:
        output: The folder; runs are in ``runs`` there.
        settings: Budget, seeds, and the like.
        failures: Of a training that fails: ``"raise"`` ends all, once those under way are done; ``"keep"`` notes the
            reason in its folder, and goes on with the others.
    """

    def __init__(self, output: Path, settings: Settings, failures: Failures = "raise") -> None:
        self.output, self.settings, self.failures = output, settings, failures

    def run(self, entries: Sequence[Entry], title: str) -> None:
        """Train what is missing.

        Args:
            entries: What to train.
            title: Name of the bar.

        Raises:
            ValueError: If the folder holds runs with other settings, two entries have one name, or one changes what
                the budget sets.
            TrainingError: If a training fails, and failures are raised.
            RuntimeError: If a training is stopped, or another command is at work in the folder.
        """
        groups = [entry.group for entry in entries]
        if twice := [entry.label for entry in entries if groups.count(entry.group) > 1]:
            raise ValueError(f"Expected labels that differ in their letters and digits (got {', '.join(twice)})")
        with alone(self.output):
            self._run(entries, title)

    def _run(self, entries: Sequence[Entry], title: str) -> None:
        configs = claim(self.output, self.settings, entries)
        for config in configs:  # files are made once, not by each run
            if not config.data.options.is_ready():
                config.data.options.prepare(self.settings.progress)
        for entry in entries:  # what failed before is tried again
            for name in ("calibration", *self._seeds()):
                (self.output / "runs" / entry.group / name / "failed.txt").unlink(missing_ok=True)
        entries = self._calibrate(entries)
        epochs = self.epochs()
        calls = [(entry, seed, epochs.get(entry.group)) for seed in range(self.settings.seeds) for entry in entries]
        self._parallel([(self._train, *call) for call in calls], title)

    def known(self) -> list[Entry]:
        """Entries that were asked for, in earlier calls too, without what they are tested at."""
        return [
            Entry(entry["label"], Path(entry["config_file"]), tuple(entry["changes"]), entry["benchmark"])
            for entry in stored(self.output).get("entries", {}).values()
        ]

    def rows(self, entries: Sequence[Entry]) -> list[dict[str, Any]]:
        """All finished runs of entries, those of earlier calls among them.

        Raises:
            ValueError: If it is not known how many epochs one had.
        """
        epochs = self.epochs()
        return [
            self._row(entry, folder, epochs.get(entry.group))
            for entry in entries
            for folder in self.folders(entry)
            if (folder / "evaluation.json").exists()
        ]

    def folders(self, entry: Entry) -> list[Path]:
        """Folders of its runs, by seed."""
        found = (self.output / "runs" / entry.group).glob("seed*")
        return sorted(found, key=lambda path: int(path.name[4:]))

    def reasons(self, entry: Entry) -> dict[str, str]:
        """Why runs of an entry failed: of ``"calibration"`` or ``"seed3"``, in one line."""
        found = sorted((self.output / "runs" / entry.group).glob("*/failed.txt"))
        return {path.parent.name: path.read_text(encoding="utf-8") for path in found}

    def curve(self, folder: Path) -> tuple[str, list[float], list[float]]:
        """What tells of a run's progress, its value at the end of every epoch, and the seconds up to there."""
        name, errors = epoch_errors(folder / "metrics.csv")
        seconds = epoch_seconds(folder / "metrics.csv", self.settings.threads)
        return name, errors, [sum(seconds[: number + 1]) for number in range(len(seconds))]

    def epochs(self) -> dict[str, int]:
        """Epochs of every group that was calibrated."""
        found = read_table(self.output / "calibration.json")
        return {group: int(entry["epochs"]) for group, entry in found.items()}

    def _calibrate(self, entries: Sequence[Entry]) -> list[Entry]:
        """Time what was not timed before; without those that cannot be trained."""
        minutes, threads = self.settings.budget.minutes, self.settings.threads
        if minutes is None:
            return list(entries)
        path = self.output / "calibration.json"
        known = read_table(path)
        new = [entry for entry in entries if entry.group not in known]
        timed = [entry for entry in new if not self._is_calibrated(entry.group)]
        if threads > 1 and 0 < len(timed) < self.settings.jobs:
            log.warning(
                "%d of %d runs side by side while epochs are timed: those of %s may take longer when more are at work",
                len(timed), self.settings.jobs, ", ".join(entry.label for entry in timed),
            )  # fmt: skip
        self._parallel([(self._attempt, entry, 0, CALIBRATION_EPOCHS, "calibration") for entry in timed], "calibration")
        for group in stored(self.output)["entries"]:  # of earlier calls too, should they be missing
            if group not in known and self._is_calibrated(group):
                seconds = epoch_seconds(self.output / "runs" / group / "calibration" / "metrics.csv", threads)[-1]
                known[group] = {"seconds_per_epoch": seconds, "epochs": max(1, round(60 * minutes / seconds))}
        write_json(path, known)
        return [entry for entry in entries if entry.group in known]

    def _is_calibrated(self, group: str) -> bool:
        return (self.output / "runs" / group / "calibration" / "evaluation.json").exists()

    def _train(self, entry: Entry, seed: int, epochs: int | None) -> None:
        """Train, unless that is done already or cannot be, and test at the entry's resolutions."""
        group = self.output / "runs" / entry.group
        folder = group / f"seed{seed}"
        if any(self._is_refused(group / name) for name in self._seeds()):
            return
        count = epochs or self.settings.budget.epochs
        if count is None or not self._attempt(entry, seed, count, folder.name):
            return
        checkpoint = folder / "best.ckpt" if (folder / "best.ckpt").exists() else folder / "last.ckpt"
        for resolution in entry.resolutions:
            output = folder / f"at_{resolution}"
            if not (output / "evaluation.json").exists():
                change = f"data.{entry.benchmark}.resolution={resolution}"
                command = [*EVALUATE, str(checkpoint), "--output", str(output), "--set", change, "--quiet"]
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                if done.returncode:
                    raise RuntimeError(
                        f"Expected {checkpoint} to be tested at {resolution} (got: {done.stderr.strip()})"
                    )

    def _attempt(self, entry: Entry, seed: int, epochs: int, name: str) -> bool:
        """Train; where failures are kept, say whether that went well."""
        folder = self.output / "runs" / entry.group / name
        changes = [*self.settings.overrides, *entry.changes, f"training.seed={seed}", f"training.epochs={epochs}"]
        try:
            train_once(folder, entry.config, changes, self.settings.threads)
        except TrainingError as error:
            if self.failures == "raise":
                raise
            log.debug("%s", error)
            write_atomic(folder / "failed.txt", error.reason.encode())
            return False
        return True

    def _seeds(self) -> list[str]:
        return [f"seed{seed}" for seed in range(self.settings.seeds)]

    def _is_refused(self, folder: Path) -> bool:
        """Whether a run failed before its first epoch was over: then others of its entry do so too."""
        return (folder / "failed.txt").exists() and not epoch_seconds(folder / "metrics.csv")

    def _parallel(self, calls: Sequence[tuple[Any, ...]], title: str) -> None:
        """Make calls, some at a time; the first failure ends it once those under way are done."""
        pool = ThreadPoolExecutor(self.settings.jobs)
        try:
            futures: list[Future[Any]] = [pool.submit(*call) for call in calls]
            bar = tqdm(as_completed(futures), total=len(futures), desc=title, unit="run",
                       disable=not self.settings.progress or not futures)  # fmt: skip
            for future in bar:
                future.result()
        finally:
            pool.shutdown(cancel_futures=True)

    def _row(self, entry: Entry, folder: Path, epochs: int | None) -> dict[str, Any]:
        found, used = (read_table(folder / name) for name in ("evaluation.json", "measured.json"))
        count = epochs or self.settings.budget.epochs
        if count is None:
            raise ValueError(
                f"Expected {self.output / 'calibration.json'} to hold the epochs of {entry.label!r} (got none, and no "
                f"calibration among its runs); remove its runs, and train it again"
            )
        row = {
            "benchmark": entry.benchmark,
            "variant": entry.label,
            "seed": int(folder.name[4:]),
            **errors_of(found),
            "parameters": found["parameters"],
            "epochs": count,
            "training_seconds": round(sum(epoch_seconds(folder / "metrics.csv", self.settings.threads)), 2),
            "peak_memory_bytes": used.get("peak_memory_bytes"),
            "steps": [target["relative_l2"]["mean"] for target in found["errors"].values()],
            "length_scales": found["length_scales"],
            "resolutions": {},
        }
        for resolution in entry.resolutions:
            if tested := read_table(folder / f"at_{resolution}" / "evaluation.json"):
                row["resolutions"][str(resolution)] = errors_of(tested)
        return row


def errors_of(evaluation: dict[str, Any]) -> dict[str, float | None]:
    """Errors averaged over the targets; ``None`` where one is not defined."""
    found: dict[str, float | None] = {}
    for name in ("relative_l1", "relative_l2", "variation_l2"):
        for which in ("mean", "median", "lower_quartile", "upper_quartile", "pooled"):
            values = [target.get(name, {}).get(which) for target in evaluation["errors"].values()]
            found[f"{name}_{which}"] = None if None in values else sum(values) / len(values)
    return found
