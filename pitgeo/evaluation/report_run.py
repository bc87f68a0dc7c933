"""The part of a report about the run itself: size, times, settings."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pitgeo.config.toml import tomllib

NAMES = {"train": "training", "validation": "validation"}


def facts(result: Mapping[str, Any], metrics: Path) -> list[tuple[str, str]]:
    """Model, data, samples, epochs and times of a run, as names and texts."""
    history = _history(metrics)
    parameters, sizes = result.get("parameters"), result.get("split_sizes")
    protocol = f" ({result['protocol']})" if result.get("protocol") else ""
    samples = []
    if isinstance(sizes, Mapping):
        samples += [f"{sizes[part]} for {name}" for part, name in NAMES.items() if sizes.get(part)]
    if "samples" in result:
        samples.append(f"{result['samples']} evaluated ({result.get('split', 'split unknown')})")
    configured, done = result.get("epochs"), history.get("epochs")
    entries = {
        "model": result.get("model"),
        "parameters": f"{parameters:,}" if isinstance(parameters, int) else parameters,
        "data set": f"{result['dataset']}{protocol}" if "dataset" in result else None,
        "samples": "; ".join(samples),
        **history,
        "epochs": configured if done is None or str(configured) == done else f"{done} of {configured}",
        "seed": result.get("seed"),
        "prediction time": _duration(result["prediction_seconds"]) if "prediction_seconds" in result else None,
    }
    return [(name, str(value)) for name, value in entries.items() if value not in (None, "")]


def used_settings(text: str) -> str:
    r"""The settings of a configuration that a run used, without those of other data sets and models.

    Example:
        >>> print(used_settings('[model]\nname = "pit"\n\n[model.pit]\nheads = 4\n\n[model.mlp]\nlayers = 2\n'))
        [model]
        name = "pit"
        <BLANKLINE>
        [model.pit]
        heads = 4
    """
    try:
        config = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return text
    lines, is_used = [], True
    for line in text.splitlines():
        if heading := re.fullmatch(r"\[([\w-]+)(?:\.([\w-]+))?[^\]]*\]\s*", line):
            group, part = heading.groups()
            name = config.get(group, {}).get("name") if group in ("data", "model") else None
            is_used = name is None or part is None or part == name
        if is_used:
            lines.append(line)
    return "\n".join(lines).strip()


def _history(path: Path) -> dict[str, Any]:
    """Epochs, training time and lowest validation error, from the table of epochs."""
    if not path.exists():
        return {}
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    summary: dict[str, Any] = {"epochs": rows[-1].get("epoch")} if rows else {}
    if seconds := [float(row["seconds"]) for row in rows if row.get("seconds")]:
        summary["training time"] = _duration(sum(seconds))
    errors = [(float(row["val_error"]), row.get("epoch")) for row in rows if row.get("val_error")]
    if finite := [pair for pair in errors if math.isfinite(pair[0])]:
        lowest, epoch = min(finite, key=lambda pair: pair[0])
        summary["lowest validation error"] = f"{lowest:.4g} at epoch {epoch}"
    return summary


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"
