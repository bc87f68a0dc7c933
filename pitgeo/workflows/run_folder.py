"""The folder of a run: whose results it holds, and whether a run can be resumed from them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pitgeo.config.config import MACHINE, RunConfig, difference, parse_config
from pitgeo.system.atomic_files import remove_parts
from pitgeo.training import read_checkpoint

RESULTS = ("best.ckpt", "last.ckpt", "evaluation.json", "ensemble.json")
OTHERS = ("metrics.csv", "config.toml", "log.txt", "tensorboard", "pictures", "meshes", "report.html", "split.json")


@dataclass(frozen=True)
class Trained:
    """What a run leaves behind.

    Args:
        checkpoint: The checkpoint that was evaluated.
        evaluation: What :func:`pitgeo.evaluation.evaluation.evaluate` found on the test set.
    """

    checkpoint: Path
    evaluation: dict[str, Any]


def claim(config: RunConfig, output: Path, resume: bool = False, overwrite: bool = False) -> None:
    """Make the folder of a run; refuse one that holds another run.

    Raises:
        ValueError: If there are results, and they are neither to be resumed nor to be deleted; if the run starts
            from one of them; or if there is nothing to test on.
        FileNotFoundError: If there is nothing to resume, or to start from.
    """
    if resume and overwrite:
        raise ValueError("Expected either to resume a run or to overwrite it (got both)")
    if config.data.options.counts()[2] == 0:  # found out now, not after training
        raise ValueError(
            f"Expected samples to test on, with which a run ends (got 0 by data.{config.data.name}.test); take 1"
        )
    if output.exists() and not output.is_dir():
        raise ValueError(f"Expected the output to be a folder (got the file {output})")
    output.mkdir(parents=True, exist_ok=True)
    if resume:
        _check_resume(config, output / "last.ckpt")
        return
    remove_parts(output)
    if not overwrite:
        check_free(output)
    if read_start(config) is not None:
        _check_start(Path(config.training.start_from), output)
    for name in (*RESULTS, *OTHERS) if overwrite else ():
        path = output / name
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def check_free(
    output: Path,
    advice: str = "go on with it by 'resume', choose another 'output', or delete it by 'overwrite'",
) -> None:
    """Refuse a folder that holds a run.

    Raises:
        ValueError: If there are results; the message ends in the advice.
    """
    found = [name for name in RESULTS if (output / name).exists()]
    if found:
        raise ValueError(f"Expected {output} to hold no other run (got {', '.join(found)}); {advice}")


def read_start(config: RunConfig) -> dict[str, Any] | None:
    """The checkpoint to start from, if any.

    Raises:
        FileNotFoundError: If it is not there.
        ValueError: If it is none of pitgeo's.
    """
    if not config.training.start_from:
        return None
    try:
        return read_checkpoint(Path(config.training.start_from))
    except (FileNotFoundError, ValueError) as error:
        raise type(error)(f"{error}; it is named by training.start_from") from error


def _check_start(start: Path, output: Path) -> None:
    """Refuse a checkpoint to start from that would be deleted or written over."""
    if start.resolve().parent == output.resolve():
        raise ValueError(
            f"Expected another folder than {output}, whose {start.name} training.start_from names and which would be "
            f"overwritten; choose another 'output'"
        )


def _check_resume(config: RunConfig, last: Path) -> None:
    if not last.exists():
        raise FileNotFoundError(f"Expected a checkpoint {last} to resume from (got none); start without 'resume'")
    metadata, config = read_checkpoint(last)["pitgeo"], as_begun(config, last)
    old, new = parse_config(metadata["config"], source=str(last)).plain(), config.plain()  # with newer keys' defaults
    if keys := difference(old, new, MACHINE):
        changes = ", ".join(f"{key} was {_at(old, key)!r} and is {_at(new, key)!r}" for key in keys)
        raise ValueError(
            f"Expected the configuration that {last} was trained with ({changes}); resume with that one, or start "
            f"another run in another 'output'"
        )
    _check_split(config, metadata.get("split"), last)


def as_begun(config: RunConfig, last: Path) -> RunConfig:
    """The configuration with the geometry inputs that a run began with, where the configuration says ``"auto"``."""
    options = config.data.options
    if getattr(options, "geometry", ()) != "auto":
        return config
    names = read_checkpoint(last)["pitgeo"]["config"]["data"][config.data.name].get("geometry", ())
    return config if names == "auto" else config.with_data(options.model_copy(update={"geometry": tuple(names)}))


def _check_split(config: RunConfig, before: dict[str, list[str]] | None, last: Path) -> None:
    """Refuse files that are not those the run began with: some may have been tested on, or trained on, by now."""
    now = config.data.options.split_files()
    if before is None or now is None:
        return
    changed = [name for part in now for name in sorted({*now[part]} ^ {*before.get(part, ())})]
    if changed:
        raise ValueError(
            f"Expected the files that {last} was trained with, by split.json beside it (got others: {changed[0]} is "
            f"new, missing or in another split); put the files back, or start another run in another 'output'"
        )


def _at(table: Any, key: str) -> Any:
    for part in key.split("."):
        table = table.get(part) if isinstance(table, dict) else None
    return table


def check_places(metadata: Mapping[str, Any], last: Path) -> None:
    """Refuse to go on where positions would be moved or scaled otherwise than before.

    Raises:
        ValueError: If the checkpoint says so: the data, or the run it started from, have changed.
    """
    before = read_checkpoint(last)["pitgeo"]
    advice = (
        "the data, or the checkpoint named by training.start_from, have changed since; put them back, or start another "
        "run in another 'output'"
    )
    if (scale := metadata["box_scale"]) != before["box_scale"]:
        raise ValueError(
            f"Expected positions to be scaled by {before['box_scale']}, as in {last} (got {scale}): {advice}"
        )
    offsets = [tuple(metadata["table"].get("offset", ())) for metadata in (before, metadata)]
    if offsets[0] != offsets[1]:
        raise ValueError(
            f"Expected positions to be relative to {offsets[0] or 'the origin'}, as in {last} (got "
            f"{offsets[1] or 'the origin'}): {advice}"
        )


def finished(config: RunConfig, output: Path) -> Trained | None:
    """What a finished run left: the test set is not touched again."""
    report, metrics = output / "evaluation.json", output / "metrics.csv"
    if not report.exists() or not metrics.exists():
        return None
    epochs = len(metrics.read_text(encoding="utf-8").splitlines()) - 1
    name = "best.ckpt" if config.data.options.counts()[1] else "last.ckpt"
    evaluation = json.loads(report.read_text(encoding="utf-8"))
    wanted = 1 if config.model.options.is_closed else config.training.epochs
    if epochs < wanted or evaluation["checkpoint"] != name:  # it was evaluated on the way
        return None
    return Trained(output / name, evaluation)
