"""Whether every model of the registry learns what cannot be told from a point alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pitgeo.evaluation.evaluation import write_json
from pitgeo.workflows.compare.compare import run_compare
from pitgeo.workflows.compare.settings import Settings
from pitgeo.workflows.compare.variants import model_variants

CONTROL = "mlp"
LIMIT = 0.6
"""Relative l2 error that a model must reach on smoothed fields; of single points alone, about 0.79 can be had."""


def run_learning_check(
    output: Path, settings: Settings, models: Sequence[str] = ("all",), config: Path = Path("configs/smoothing.toml")
) -> dict[str, Any]:
    """Train models to smooth random fields: on random points, and on a regular grid those that cannot take them.

    Writes ``check.json`` and ``check.md``, and a comparison for each kind of points. The pointwise MLP is trained on
    both, and must stay above the limit that all others must reach.

    Args:
        output: Folder of the check.
        settings: Budget, seeds, and the like.
        models: Names of the registry; ``("all",)`` for all.
        config: Configuration of all runs, on the data set ``smoothing``.

    Returns:
        ``rows``, one a model, with ``points``, ``error`` and ``reached``; and ``passed``, whether all are as they
        should.

    Raises:
        ValueError: If there is no such model, or the folder holds runs with other settings.
        RuntimeError: If a run is stopped.
    """
    chosen = [name for name in model_variants(models) if name != CONTROL]
    rows: list[dict[str, Any]] = []
    left = chosen
    for points in ("random", "grid"):
        if not left and points == "grid":
            break
        own = replace(settings, overrides=(*settings.overrides, f'data.smoothing.points="{points}"'))
        found = run_compare(config, model_variants([CONTROL, *left]), output / points, own)["table"]
        table = {row["variant"]: row for row in found}
        refused = [name for name in left if "regular grid" in table[name].get("reason", "")]
        names = [CONTROL, *left] if points == "grid" else [CONTROL, *(name for name in left if name not in refused)]
        rows += [_row(points, table[name]) for name in names]
        left = refused
    result = {"limit": LIMIT, "budget": str(settings.budget), "rows": rows, "passed": all(row["good"] for row in rows)}
    write_json(output / "check.json", result)
    (output / "check.md").write_text(format_check(result), encoding="utf-8")
    return result


def format_check(result: dict[str, Any]) -> str:
    """A check as Markdown."""
    lines = ["| Model | Points | Relative l2 error | |", "|---|---|---|---|"]
    for row in result["rows"]:
        error = "" if row["error"] is None else f"{row['error']:.4f}"
        note = f": {row['note']}" if row["note"] else ""
        lines.append(f"| {row['model']} | {row['points']} | {error} | {'good' if row['good'] else '**bad**'}{note} |")
    limit = f"Every model must reach {result['limit']:g} within {result['budget']}"
    return "\n".join([*lines, "", f"{limit}; {CONTROL}, which sees single points, must not."]) + "\n"


def _row(points: str, row: dict[str, Any]) -> dict[str, Any]:
    error, is_control = row.get("relative_l2"), row["variant"] == CONTROL
    good = error is not None and (error > LIMIT if is_control else error <= LIMIT)
    note = "the control" if is_control else row.get("reason", "")
    return {"model": row["variant"], "points": points, "error": error, "good": good, "note": note}
