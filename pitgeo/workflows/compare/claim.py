"""What a folder of runs was made for, in ``settings.json``: anything that does not belong to it is refused."""

from __future__ import annotations

import fcntl
import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pitgeo.config.config import MACHINE, RunConfig, difference, load_config, parse_config
from pitgeo.evaluation.evaluation import write_json
from pitgeo.workflows.compare.entry import Entry
from pitgeo.workflows.compare.settings import Settings

FIXED = ("training.epochs", "training.seed")
"""Keys that the budget and the seeds set."""


@contextmanager
def alone(output: Path) -> Iterator[None]:
    """Hold a folder, which is made where it is missing, against other commands; the system lets go of it at the end.

    Raises:
        RuntimeError: If another command holds it.
    """
    output.mkdir(parents=True, exist_ok=True)
    with (output / ".lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RuntimeError(
                f"Expected no other command to work in {output} (one is at it); wait for its end, or choose another "
                f"folder by --output"
            ) from None
        yield


def stored(output: Path) -> dict[str, Any]:
    """What ``settings.json`` holds; nothing where there is none."""
    return read_table(output / "settings.json")


def read_table(path: Path) -> dict[str, Any]:
    """A JSON file; nothing where there is none."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def claim(output: Path, settings: Settings, entries: Sequence[Entry]) -> list[RunConfig]:
    """Note what a folder is to hold, and refuse what differs from the runs that it holds.

    Budget, runs side by side and changes to all are the same in all calls; so is the configuration file in its data,
    scaling and training (for every benchmark), and an entry as a whole. The latter two count once a run is finished:
    what was never trained may be mended, and what it left is removed.

    Args:
        output: The folder.
        settings: Budget, seeds, and the like.
        entries: What is to be trained.

    Returns:
        The configuration of every entry.

    Raises:
        ValueError: If something differs, or an entry changes what budget and seeds set.
    """
    before = stored(output)
    known: dict[str, Any] = before.pop("entries", {})
    problems: dict[str, Any] = before.pop("problems", {})
    current = {
        "minutes": settings.budget.minutes,
        "epochs": settings.budget.epochs,
        "jobs": settings.jobs,
        "overrides": list(settings.overrides),
    }
    if before and (keys := difference(before, current)):
        raise ValueError(_refusal(output, "runs with these settings", f"others in {', '.join(keys)}"))
    configs, replaced = [], []
    for entry in entries:
        changes = [*settings.overrides, *entry.changes]
        if wrong := [text for text in changes if text.partition("=")[0].strip() in FIXED]:
            raise ValueError(f"Expected no change of {wrong[0].partition('=')[0]}, which budget and seeds set")
        config = load_config(entry.config, changes)
        plain, base = _essence(config), _essence(load_config(entry.config, settings.overrides))
        same = [group for group, other in known.items() if other["benchmark"] == entry.benchmark]
        if entry.benchmark in problems and any(_is_begun(output, group) for group in same):
            problem = {**problems[entry.benchmark], "model": base["model"]}
            if keys := _changed(output, problem, base):
                what = f"runs on the problem of {entry.config}"
                raise ValueError(_refusal(output, what, f"another {', '.join(keys)}"))
        if entry.group in known and (keys := _changed(output, known[entry.group]["config"], plain)):
            if _is_begun(output, entry.group):
                what = f"runs of {entry.label!r} with this configuration"
                raise ValueError(_refusal(output, what, f"another {', '.join(keys)}"))
            replaced.append(entry.group)
        problems[entry.benchmark] = {part: base[part] for part in ("data", "scaling", "training")}
        known[entry.group] = {
            "label": entry.label,
            "benchmark": entry.benchmark,
            "config_file": entry.config.as_posix(),
            "changes": list(entry.changes),
            "config": plain,
        }
        configs.append(config)
    _forget(output, replaced)
    write_json(output / "settings.json", {**current, "problems": problems, "entries": known})
    return configs


def _refusal(output: Path, expected: str, got: str) -> str:
    return f"Expected {output} to hold {expected} (got {got}); choose another folder by --output"


def _folders(output: Path, group: str) -> list[Path]:
    folder = output / "runs" / group
    return [*folder.glob("calibration"), *folder.glob("seed*")]


def _is_begun(output: Path, group: str) -> bool:
    """Whether a run or the calibration of a group is finished."""
    return any((folder / "evaluation.json").exists() for folder in _folders(output, group))


def _forget(output: Path, groups: Sequence[str]) -> None:
    """Remove what runs of groups left."""
    for group in groups:
        for folder in _folders(output, group):
            shutil.rmtree(folder)
    path = output / "calibration.json"
    if groups and (timed := read_table(path)):
        write_json(path, {group: found for group, found in timed.items() if group not in groups})


def _changed(output: Path, before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """Keys in which configurations differ; options that are new since the first was written are at their defaults."""
    old = _essence(parse_config(before, source=str(output / "settings.json")))
    return difference(old, now, MACHINE)


def _essence(config: RunConfig) -> dict[str, Any]:
    """What must be the same in all runs of an entry: the options in use alone, so that others may come and go."""
    plain = config.plain()
    for part in ("data", "model"):
        plain[part] = {key: plain[part][key] for key in ("name", plain[part]["name"])}
    plain["training"] = {key: value for key, value in plain["training"].items() if f"training.{key}" not in FIXED}
    return plain
