"""Models, or variants of a configuration, on one problem and one budget: a table and two pictures."""

from __future__ import annotations

import logging
import statistics
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np

from pitgeo.config.config import RunConfig, load_config
from pitgeo.evaluation import plots
from pitgeo.evaluation.evaluation import versions, write_json
from pitgeo.system.atomic_files import write_atomic
from pitgeo.system.machine import machine
from pitgeo.workflows.compare.comparison import format_comparison, to_csv
from pitgeo.workflows.compare.entry import Entry
from pitgeo.workflows.compare.harness import Harness, errors_of
from pitgeo.workflows.compare.mean_field import LABEL, mean_field
from pitgeo.workflows.compare.paired import error_key, paired
from pitgeo.workflows.compare.settings import Settings

log = logging.getLogger(__name__)

NAMES = {"val_error": "validation error", "train_loss": "training loss"}
Curve = tuple[list[float], list[float]]
"""Seconds of training up to the end of every epoch, and the error there."""


def run_compare(
    config: Path, variants: Mapping[str, Sequence[str]], output: Path, settings: Settings
) -> dict[str, Any]:
    """Train what is missing of all variants, and compare everything that the folder holds.

    Writes ``compare.md``, ``compare.csv`` and ``compare.json``, one table in three forms, ``error_time.png``, the error
    over the time of training, and ``error_parameters.png``, the error over the number of parameters. A variant that
    cannot be trained is a row with the reason. The mean of all training targets is a row too, where it has a meaning.
    Variants and seeds of earlier calls are merged; the first variant of the first call is the one that the others are
    compared with. See :class:`pitgeo.workflows.compare.harness.Harness` on budget, calibration and what is done again.

    Args:
        config: Configuration of all runs.
        variants: A label, and changes to the configuration, ``"key=value"`` each.
        output: Folder of the comparison.
        settings: Budget, seeds, and the like.

    Returns:
        What ``compare.json`` holds.

    Raises:
        ValueError: If there is no variant, or the folder holds runs with other settings.
        RuntimeError: If no run could be finished, or one was stopped.

    Example:
        >>> from pitgeo.workflows.compare import Budget, model_variants
        >>> settings = Settings(Budget(epochs=50), seeds=3)
        >>> run_compare(Path("configs/elasticity_quick.toml"), model_variants(["pit", "mlp"]), Path("runs/compare"),
        ...             settings)  # doctest: +SKIP
    """
    if not variants:
        raise ValueError("Expected a model or a variant to train (got none)")
    run = load_config(config, settings.overrides)
    harness = Harness(output, settings, failures="keep")
    harness.run([Entry(label, config, tuple(changes)) for label, changes in variants.items()], "compare")
    entries = harness.known()
    runs = harness.rows(entries)
    if not runs:
        reasons = {entry.label: next(iter(harness.reasons(entry).values()), "") for entry in entries}
        raise RuntimeError("; ".join(f"{label}: {reason}" for label, reason in reasons.items()))
    key = error_key(run.data.name)
    curves, measure = _curves(harness, entries)
    marks = _marks(settings, curves)
    result: dict[str, Any] = {
        "config_file": config.as_posix(),
        "dataset": run.data.name,
        "protocol": getattr(run.data.options, "protocol", None),
        "split_sizes": dict(zip(("train", "validation", "test"), run.data.options.counts(), strict=True)),
        "error": key,
        "budget": str(settings.budget),
        "seeds": max(row["seed"] for row in runs) + 1,
        "jobs": settings.jobs,
        "threads": settings.threads,
        "overrides": list(settings.overrides),
        "progress": measure,
        "marks_seconds": marks,
        "table": _table(harness, entries, runs, key, curves, marks),
        "failures": {entry.label: reasons for entry in entries if (reasons := harness.reasons(entry))},
        "runs": runs,
        "machine": machine(),
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "versions": versions(),
        "config": run.plain(),
    }
    control = _control(run)
    if control is not None:
        first = [row for row in runs if row["variant"] == result["table"][0]["variant"]]
        result["table"].append({**_errors([control], key), "variant": LABEL, **_ratio(first, [control], key)})
    write_json(output / "compare.json", result)
    write_atomic(output / "compare.csv", to_csv(result).encode())
    _draw(result, curves, output)
    write_atomic(output / "compare.md", format_comparison(result).encode())
    return result


def _curves(harness: Harness, entries: Sequence[Entry]) -> tuple[dict[str, list[Curve]], str]:
    """Curves of every seed of every entry, and what they are of."""
    found: dict[str, list[Curve]] = {}
    names = set()
    for entry in entries:
        for folder in harness.folders(entry):
            if (folder / "evaluation.json").exists():
                name, errors, seconds = harness.curve(folder)
                names.add(name)
                found.setdefault(entry.label, []).append((seconds, errors))
    return found, NAMES[names.pop()] if len(names) == 1 else "error"


def _marks(settings: Settings, curves: Mapping[str, Sequence[Curve]]) -> list[float]:
    """Three times of training to compare at: thirds of the budget, or of the time of the slowest."""
    minutes = settings.budget.minutes
    whole = max(_seconds(runs) for runs in curves.values()) if minutes is None else 60 * minutes
    return [whole * part / 3 for part in (1, 2, 3)]


def _seconds(runs: Sequence[Curve]) -> float:
    return statistics.fmean(seconds[-1] for seconds, _ in runs)


def _table(
    harness: Harness,
    entries: Sequence[Entry],
    runs: Sequence[dict[str, Any]],
    key: str,
    curves: Mapping[str, Sequence[Curve]],
    marks: Sequence[float],
) -> list[dict[str, Any]]:
    groups = {entry.label: [row for row in runs if row["variant"] == entry.label] for entry in entries}
    first = next(rows for rows in groups.values() if rows)
    table: list[dict[str, Any]] = []
    for entry in entries:
        rows = groups[entry.label]
        if not rows:
            reason = next(iter(harness.reasons(entry).values()), "it was stopped before it had finished a run")
            table.append({"variant": entry.label, "reason": reason})
            continue
        memory = [row["peak_memory_bytes"] for row in rows if row["peak_memory_bytes"]]
        seconds = statistics.fmean(row["training_seconds"] for row in rows)
        table.append(
            {
                "variant": entry.label,
                **_errors(rows, key),
                **_ratio(first, rows, key),
                "parameters": rows[0]["parameters"],
                "seconds_per_epoch": seconds / rows[0]["epochs"],
                "epochs": rows[0]["epochs"],
                "training_seconds": seconds,
                "peak_memory_bytes": statistics.fmean(memory) if memory else None,
                "error_at_marks": [_error_after(curves[entry.label], mark) for mark in marks],
            }
        )
    table.sort(key=lambda row: row.get("seeds") is None)  # reasons come last
    return table


def _errors(rows: Sequence[dict[str, Any]], key: str) -> dict[str, Any]:
    values = [row[key] for row in rows]
    return {
        "seeds": len(rows),
        "error": _mean(values),
        "deviation": statistics.stdev(values) if len(values) > 1 and None not in values else None,
        "relative_l1": _mean([row["relative_l1_mean"] for row in rows]),
        "relative_l2": _mean([row["relative_l2_mean"] for row in rows]),
        "variation_l2": _mean([row["variation_l2_pooled"] for row in rows]),
    }


def _mean(values: Sequence[float | None]) -> float | None:
    """The mean over seeds; ``None`` where the error of one is not defined."""
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if len(known) == len(values) else None


def _ratio(first: Sequence[dict[str, Any]], rows: Sequence[dict[str, Any]], key: str) -> dict[str, Any]:
    found = None if rows[0]["variant"] == first[0]["variant"] else paired(first, rows, key)
    return {"ratio": None, "worse": None, "pairs": None} if found is None else {
        "ratio": found["ratio"], "worse": found["worse"], "pairs": found["seeds"],
    }  # fmt: skip


def _error_after(runs: Sequence[Curve], mark: float) -> float | None:
    """Mean over seeds of the lowest error up to a time, 5% of it more at most; ``None`` before the first epoch."""
    found = []
    for seconds, errors in runs:
        reached = [error for time, error in zip(seconds, errors, strict=True) if time <= 1.05 * mark]
        if not reached:
            return None
        found.append(min(reached))
    return statistics.fmean(found)


def _control(config: RunConfig) -> dict[str, Any] | None:
    """The mean field as a run without a seed; ``None`` where it has no meaning."""
    try:
        found = mean_field(config)
    except ValueError as error:
        log.info("No mean field: %s", error)
        return None
    return {"variant": LABEL, "seed": None, **errors_of(found)}


def _draw(result: Mapping[str, Any], curves: Mapping[str, Sequence[Curve]], output: Path) -> None:
    norm = result["error"].rpartition("_")[0].replace("_", " ")
    unit, name = (60.0, "minutes") if result["marks_seconds"][-1] >= 100 else (1.0, "seconds")
    plots.error_times(
        {label: [(np.asarray(seconds) / unit, errors) for seconds, errors in runs] for label, runs in curves.items()},
        output / "error_time.png",
        (f"{name} of training", f"{result['progress']}, {result['config']['training']['loss'].replace('_', ' ')}"),
    )
    errors = {
        label: [row[result["error"]] for row in result["runs"] if row["variant"] == label and row[result["error"]]]
        for label in curves
    }
    sizes = {row["variant"]: row["parameters"] for row in result["table"] if row.get("parameters")}
    controls = {row["variant"]: row["error"] for row in result["table"] if row["variant"] == LABEL and row["error"]}
    if not any(errors.values()):
        return
    plots.error_sizes(
        {label: (sizes[label], values) for label, values in errors.items() if values},
        output / "error_parameters.png",
        ("parameters", f"test error, {norm}"),
        controls,
    )
