"""Trainings that are compared: calibrated, trained on one budget, tested. What is there is never done again."""

from __future__ import annotations

import json
import logging
import shutil
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tqdm import tqdm

from pitgeo.config import MACHINE, RunConfig, difference, load_config, parse_config
from pitgeo.evaluation import write_json
from pitgeo.studies.process import TrainingError, epoch_errors, epoch_seconds, train_once
from pitgeo.studies.settings import Settings
from pitgeo.training.checkpoint_io import write_atomic

log = logging.getLogger(__name__)

CALIBRATION_EPOCHS = 2
EVALUATE = (sys.executable, "-m", "pitgeo.cli", "evaluate")
FIXED = ("training.epochs", "training.seed")
"""Keys that the budget and the seeds set."""
Failures = Literal["raise", "keep"]


@dataclass(frozen=True)
class Entry:
    """What is trained with every seed: a configuration with some changes.

    Args:
        label: Its name in tables.
        config: The configuration file.
        changes: Changes to it, ``"key=value"``.
        benchmark: What it is trained on, where one folder holds several; its folder's name.
        resolutions: Resolutions to test at, on top of that of training.
    """

    label: str
    config: Path
    changes: tuple[str, ...] = ()
    benchmark: str = ""
    resolutions: tuple[int, ...] = ()

    @property
    def group(self) -> str:
        """Folder of its runs among all runs."""
        safe = "".join(letter if letter.isalnum() else "_" for letter in self.label)
        return f"{self.benchmark}/{safe}" if self.benchmark else safe


class Harness:
    """The folder of runs that are compared.

    Minutes become epochs once: two epochs of every entry are timed, with as many runs side by side as later (on the
    processor where each has one thread: other programs of the machine then change nothing). The number of epochs is
    kept in ``calibration.json``, so that a schedule means the same in every rerun; ``settings.json`` keeps what was
    asked for, and refuses anything else under the same label.

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
            RuntimeError: If a training is stopped.
        """
        groups = [entry.group for entry in entries]
        if twice := [entry.label for entry in entries if groups.count(entry.group) > 1]:
            raise ValueError(f"Expected labels that differ in their letters and digits (got {', '.join(twice)})")
        configs = self._claim(entries)
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
        stored = self._stored().get("entries", {})
        return [
            Entry(entry["label"], Path(entry["config_file"]), tuple(entry["changes"]), entry["benchmark"])
            for entry in stored.values()
        ]

    def rows(self, entries: Sequence[Entry]) -> list[dict[str, Any]]:
        """All finished runs of entries, those of earlier calls among them."""
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
        path = self.output / "calibration.json"
        found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        return {group: int(entry["epochs"]) for group, entry in found.items()}

    def _stored(self) -> dict[str, Any]:
        path = self.output / "settings.json"
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}

    def _claim(self, entries: Sequence[Entry]) -> list[RunConfig]:
        """Refuse a folder whose runs had another budget, or entries that were others."""
        settings, stored = self.settings, self._stored()
        known: dict[str, Any] = stored.pop("entries", {})
        problems: dict[str, Any] = stored.pop("problems", {})
        facts = {
            "minutes": settings.budget.minutes,
            "epochs": settings.budget.epochs,
            "jobs": settings.jobs,
            "overrides": list(settings.overrides),
        }
        if stored and (keys := difference(stored, facts)):
            raise ValueError(
                f"Expected {self.output} to hold runs with these settings (got others in {', '.join(keys)}); choose "
                f"another folder by --output"
            )
        configs = []
        for entry in entries:
            changes = [*settings.overrides, *entry.changes]
            if wrong := [text for text in changes if text.partition("=")[0].strip() in FIXED]:
                raise ValueError(f"Expected no change of {wrong[0].partition('=')[0]}, which budget and seeds set")
            config = load_config(entry.config, changes)
            plain, problem = _essence(config), _essence(load_config(entry.config, settings.overrides))
            del problem["model"]
            if keys := difference(problems.setdefault(entry.benchmark, problem), problem, MACHINE):
                raise ValueError(
                    f"Expected {self.output} to hold runs on the problem of {entry.config} (got another "
                    f"{', '.join(keys)}); choose another folder by --output"
                )
            if (before := known.get(entry.group)) and self._has_trained(entry):
                old = _essence(parse_config(before["config"], source=str(self.output / "settings.json")))
                if keys := difference(old, plain, MACHINE):
                    raise ValueError(
                        f"Expected {self.output} to hold runs of {entry.label!r} with this configuration (got another "
                        f"{', '.join(keys)}); choose another folder by --output"
                    )
            known[entry.group] = {
                "label": entry.label,
                "benchmark": entry.benchmark,
                "config_file": entry.config.as_posix(),
                "changes": list(entry.changes),
                "config": plain,
            }
            configs.append(config)
        self.output.mkdir(parents=True, exist_ok=True)
        write_json(self.output / "settings.json", {**facts, "problems": problems, "entries": known})
        return configs

    def _has_trained(self, entry: Entry) -> bool:
        """Whether a run of an entry is finished; else it may still be mended, and what it left is put away."""
        group = self.output / "runs" / entry.group
        if any(group.glob("*/evaluation.json")):
            return True
        if any(group.glob("*/failed.txt")):
            shutil.rmtree(group)
        return False

    def _calibrate(self, entries: Sequence[Entry]) -> list[Entry]:
        """Time what was not timed before; without those that cannot be trained."""
        minutes, threads = self.settings.budget.minutes, self.settings.threads
        if minutes is None:
            return list(entries)
        path = self.output / "calibration.json"
        known: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        new = [entry for entry in entries if entry.group not in known]
        self._parallel([(self._attempt, entry, 0, CALIBRATION_EPOCHS, "calibration") for entry in new], "calibration")
        known |= json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}  # of another command, meanwhile
        for entry in new:
            folder = self.output / "runs" / entry.group / "calibration"
            if (folder / "evaluation.json").exists():
                seconds = epoch_seconds(folder / "metrics.csv", threads)[-1]
                known[entry.group] = {"seconds_per_epoch": seconds, "epochs": max(1, round(60 * minutes / seconds))}
        write_json(path, known)
        return [entry for entry in entries if entry.group in known]

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
        found = json.loads((folder / "evaluation.json").read_text(encoding="utf-8"))
        measured = folder / "measured.json"
        used = json.loads(measured.read_text(encoding="utf-8")) if measured.exists() else {}
        row = {
            "benchmark": entry.benchmark,
            "variant": entry.label,
            "seed": int(folder.name[4:]),
            **errors_of(found),
            "parameters": found["parameters"],
            "epochs": epochs or self.settings.budget.epochs,
            "training_seconds": round(sum(epoch_seconds(folder / "metrics.csv", self.settings.threads)), 2),
            "peak_memory_bytes": used.get("peak_memory_bytes"),
            "steps": [target["relative_l2"]["mean"] for target in found["errors"].values()],
            "length_scales": found["length_scales"],
            "resolutions": {},
        }
        for resolution in entry.resolutions:
            path = folder / f"at_{resolution}" / "evaluation.json"
            if path.exists():
                row["resolutions"][str(resolution)] = errors_of(json.loads(path.read_text(encoding="utf-8")))
        return row


def errors_of(evaluation: dict[str, Any]) -> dict[str, float]:
    """Errors averaged over the targets."""
    targets = list(evaluation["errors"].values())
    return {
        f"{norm}_{statistic}": sum(target[norm][statistic] for target in targets) / len(targets)
        for norm in ("relative_l1", "relative_l2")
        for statistic in ("mean", "median", "lower_quartile", "upper_quartile")
    }


def _essence(config: RunConfig) -> dict[str, Any]:
    """What must be the same in all runs of an entry: the options in use alone, so that others may come and go."""
    plain = config.plain()
    for part in ("data", "model"):
        plain[part] = {key: plain[part][key] for key in ("name", plain[part]["name"])}
    plain["training"] = {key: value for key, value in plain["training"].items() if f"training.{key}" not in FIXED}
    return plain
