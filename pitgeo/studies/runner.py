"""Run a study: calibrate, train every variant, test, and write what came out. What is there is never done again."""

from __future__ import annotations

import csv
import io
import json
import logging
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from tqdm import tqdm

from pitgeo._runs import Trainer, epoch_seconds
from pitgeo.config import difference, load_config
from pitgeo.evaluation import versions, write_json
from pitgeo.report import machine
from pitgeo.studies.summary import draw, format_study
from pitgeo.studies.table import Study, Variants
from pitgeo.training.checkpoint_io import write_atomic

log = logging.getLogger(__name__)

CALIBRATION_EPOCHS = 2
EVALUATE = (sys.executable, "-m", "pitgeo.cli", "evaluate")


@dataclass(frozen=True)
class Settings:
    """How a study is run.

    Args:
        minutes: Training time of every run, by the calibration; validation included, start-up and test not.
        seeds: Seeds of every variant.
        jobs: Runs side by side, which share the cores.
        overrides: Changes to every configuration, ``"key=value"``.
        configs: Folder of the configurations; ``<benchmark>_quick.toml`` is taken.
        progress: Show a bar over all runs (in a terminal only).

    Raises:
        ValueError: If a number is out of range, or seeds are missing or given twice.
    """

    minutes: float = 3.0
    seeds: tuple[int, ...] = (0,)
    jobs: int = 1
    overrides: tuple[str, ...] = ()
    configs: Path = Path("configs")
    progress: bool = True

    def __post_init__(self) -> None:
        if not self.minutes > 0:
            raise ValueError(f"Expected 'minutes' to be positive (got {self.minutes})")
        if self.jobs < 1:
            raise ValueError(f"Expected 'jobs' to be at least 1 (got {self.jobs})")
        if not self.seeds or len(set(self.seeds)) != len(self.seeds):
            raise ValueError(f"Expected 'seeds' to be different numbers, at least one (got {list(self.seeds)})")


@dataclass(frozen=True)
class _Task:
    """One training, and its tests."""

    benchmark: str
    label: str
    changes: tuple[str, ...]
    seed: int

    @property
    def name(self) -> str:
        return f"{self.group}/seed{self.seed}"

    @property
    def group(self) -> str:
        safe = "".join(letter if letter.isalnum() else "_" for letter in self.label)
        return f"{self.benchmark}/{safe}"


def run_study(
    name: str,
    study: Study,
    output: Path,
    settings: Settings,
    benchmarks: Sequence[str] | None = None,
    variants: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Run what is missing of a study, and write ``<name>.json``, ``.csv``, ``.md`` and ``.png`` to a folder.

    Minutes become epochs once: two epochs of every variant are timed, with as many runs side by side as later (on the
    processor where each has one thread: other programs of the machine then change nothing). The number of epochs is
    kept in ``calibration.json``, so that a schedule means the same in every rerun. Runs of other benchmarks and seeds
    that the folder already holds are merged into the tables.

    Args:
        name: The study's name, for the files.
        study: What to run.
        output: Folder of the study.
        settings: Budget, seeds, and the like.
        benchmarks: What to run it on; ``None`` for the study's default.
        variants: Labels of the variants to run; ``None`` for all.

    Returns:
        What the JSON file holds.

    Raises:
        ValueError: If the study does not run on a benchmark or has no such variant, or the folder holds runs with
            another budget.
        RuntimeError: If a training fails; the message ends with its last lines.
    """
    chosen = tuple(benchmarks or study.benchmarks)
    if wrong := [benchmark for benchmark in chosen if benchmark not in study.full]:
        raise ValueError(f"Expected benchmarks among {study.full} for the study {name!r} (got {wrong})")
    output.mkdir(parents=True, exist_ok=True)
    _claim(output, settings)
    for benchmark in chosen:  # files are generated once, not by every run
        options = load_config(_config(settings, benchmark), settings.overrides).data.options
        if not options.is_ready():
            options.prepare(settings.progress)
    tasks = [
        _Task(benchmark, label, changes, seed)
        for benchmark in chosen
        for label, changes in _chosen(study, benchmark, variants).items()
        for seed in settings.seeds
    ]
    epochs = _calibrate(tasks, output, settings)
    _parallel([(_train, task, epochs[task.group], study, output, settings) for task in tasks], name, settings)
    result: dict[str, Any] = {
        "study": name,
        "title": study.title,
        "source": study.source,
        "minutes": settings.minutes,
        "jobs": settings.jobs,
        "threads": _threads(settings),
        "overrides": list(settings.overrides),
        "runs": _collect(study, output, epochs, _threads(settings)),
        "machine": machine(),
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "versions": versions(),
    }
    write_json(output / f"{name}.json", result)
    write_atomic(output / f"{name}.csv", _csv(result["runs"]).encode())
    draw(study, result, output / f"{name}.png")
    write_atomic(output / f"{name}.md", format_study(study, result).encode())
    return result


def _chosen(study: Study, benchmark: str, labels: Sequence[str] | None) -> Variants:
    every = study.variants(benchmark)
    if wrong := [label for label in labels or () if label not in every]:
        raise ValueError(f"Expected variants among {list(every)} (got {wrong})")
    return {label: changes for label, changes in every.items() if labels is None or label in labels}


def _config(settings: Settings, benchmark: str) -> Path:
    return settings.configs / f"{benchmark}_quick.toml"


def _threads(settings: Settings) -> int:
    return max(1, int(machine()["cores"]) // settings.jobs)


def _claim(output: Path, settings: Settings) -> None:
    """Refuse a folder whose runs had another budget or other changes."""
    facts = {"minutes": settings.minutes, "jobs": settings.jobs, "overrides": list(settings.overrides)}
    path = output / "settings.json"
    if path.exists() and (keys := difference(json.loads(path.read_text(encoding="utf-8")), facts)):
        raise ValueError(
            f"Expected {output} to hold runs with these settings (got others in {', '.join(keys)}); choose another "
            f"folder by --output"
        )
    write_json(path, facts)


def _trainer(task: _Task, output: Path, settings: Settings) -> Trainer:
    overrides = [*settings.overrides, *task.changes]
    return Trainer(_config(settings, task.benchmark), overrides, output / "runs", False, _threads(settings))


def _model(task: _Task) -> str:
    named = [change for change in task.changes if change.startswith("model.name=")]
    return named[-1].partition("=")[2].strip('"') if named else "pit"


def _calibrate(tasks: Sequence[_Task], output: Path, settings: Settings) -> dict[str, int]:
    """Epochs of every variant; measured where that was not done before."""
    path = output / "calibration.json"
    known: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    groups = {task.group: task for task in tasks if task.group not in known}
    _parallel([(_time, task, output, settings) for task in groups.values()], "calibration", settings)
    for group in groups:
        seconds = epoch_seconds(output / "runs" / group / "calibration" / "metrics.csv", _threads(settings))[-1]
        known[group] = {"seconds_per_epoch": seconds, "epochs": max(1, round(60 * settings.minutes / seconds))}
    write_json(path, known)
    return {group: int(entry["epochs"]) for group, entry in known.items()}


def _time(task: _Task, output: Path, settings: Settings) -> None:
    _trainer(task, output, settings).run(_model(task), 0, CALIBRATION_EPOCHS, f"{task.group}/calibration")


def _train(task: _Task, epochs: int, study: Study, output: Path, settings: Settings) -> None:
    """Train, unless that is done already, and test at the study's resolutions."""
    folder, trainer = output / "runs" / task.name, _trainer(task, output, settings)
    trainer.run(_model(task), task.seed, epochs, task.name)
    checkpoint = folder / "best.ckpt" if (folder / "best.ckpt").exists() else folder / "last.ckpt"
    for resolution in study.resolutions:
        if not (folder / f"at_{resolution}" / "evaluation.json").exists():
            change = f"data.{task.benchmark}.resolution={resolution}"
            command = [
                *EVALUATE,
                str(checkpoint),
                "--output",
                str(folder / f"at_{resolution}"),
                "--set",
                change,
                "--quiet",
            ]
            done = subprocess.run(command, env=trainer.environment, capture_output=True, text=True, check=False)
            if done.returncode:
                raise RuntimeError(f"Expected {checkpoint} to be tested at {resolution} (got: {done.stderr.strip()})")


def _parallel(calls: Sequence[tuple[Any, ...]], title: str, settings: Settings) -> None:
    """Make calls, some at a time; the first failure ends it once those under way are done."""
    pool = ThreadPoolExecutor(settings.jobs)
    try:
        futures: list[Future[None]] = [pool.submit(*call) for call in calls]
        for future in tqdm(as_completed(futures), total=len(futures), desc=title, disable=not settings.progress):
            future.result()
    finally:
        pool.shutdown(cancel_futures=True)


def _collect(study: Study, output: Path, epochs: dict[str, int], threads: int) -> list[dict[str, Any]]:
    """All finished runs of the folder, those of earlier calls among them."""
    rows = []
    for benchmark in study.full:
        for label, changes in study.variants(benchmark).items():
            group = _Task(benchmark, label, changes, 0).group
            for folder in sorted((output / "runs" / group).glob("seed*"), key=lambda path: int(path.name[4:])):
                if (folder / "evaluation.json").exists():
                    rows.append(_row(benchmark, label, folder, epochs[group], study.resolutions, threads))
    return rows


def _row(
    benchmark: str, label: str, folder: Path, epochs: int, resolutions: Sequence[int], threads: int
) -> dict[str, Any]:
    found = json.loads((folder / "evaluation.json").read_text(encoding="utf-8"))
    measured = folder / "measured.json"
    used = json.loads(measured.read_text(encoding="utf-8")) if measured.exists() else {}
    row = {
        "benchmark": benchmark,
        "variant": label,
        "seed": int(folder.name[4:]),
        **_errors(found),
        "parameters": found["parameters"],
        "epochs": epochs,
        "training_seconds": round(sum(epoch_seconds(folder / "metrics.csv", threads)), 2),
        "peak_memory_bytes": used.get("peak_memory_bytes"),
        "steps": [target["relative_l2"]["mean"] for target in found["errors"].values()],
        "length_scales": found["length_scales"],
        "resolutions": {},
    }
    for resolution in resolutions:
        path = folder / f"at_{resolution}" / "evaluation.json"
        if path.exists():
            row["resolutions"][str(resolution)] = _errors(json.loads(path.read_text(encoding="utf-8")))
    return row


def _errors(evaluation: dict[str, Any]) -> dict[str, float]:
    """Errors averaged over the targets."""
    targets = list(evaluation["errors"].values())
    return {
        f"{norm}_{statistic}": sum(target[norm][statistic] for target in targets) / len(targets)
        for norm in ("relative_l1", "relative_l2")
        for statistic in ("mean", "median", "lower_quartile", "upper_quartile")
    }


def _csv(rows: Sequence[dict[str, Any]]) -> str:
    """Runs as a table; a line for every resolution that was tested."""
    text = io.StringIO()
    lines = []
    for row in rows:
        plain = {key: value for key, value in row.items() if key not in ("steps", "length_scales", "resolutions")}
        lines.append({**plain, "test_resolution": ""})
        lines += [{**plain, **errors, "test_resolution": size} for size, errors in row["resolutions"].items()]
    if lines:
        table = csv.DictWriter(text, list(lines[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(lines)
    return text.getvalue()
