"""The table of a comparison, as Markdown and CSV."""

from __future__ import annotations

import csv
import io
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pitgeo.workflows.compare.mean_field import LABEL
from pitgeo.workflows.compare.settings import Budget

COLUMNS = (
    "variant", "seeds", "error", "deviation", "relative_l1", "relative_l2", "variation_l2", "ratio", "worse", "pairs",
    "parameters", "seconds_per_epoch", "epochs", "training_seconds", "peak_memory_bytes",
)  # fmt: skip


def format_comparison(result: Mapping[str, Any]) -> str:
    """A comparison as Markdown.

    Args:
        result: What :func:`pitgeo.workflows.compare.run_compare` returns.
    """
    key, computer, count = result["error"], result["machine"], result["seeds"]
    norm, _, statistic = key.rpartition("_")
    sizes, measure = result["split_sizes"], result["progress"]
    protocol = f", protocol {result['protocol']}" if result["protocol"] else ""
    headings = [
        "Model", f"{norm.replace('_', ' ').capitalize()} error", "times the first's (worse on)", "Parameters",
        "An epoch", "Epochs", "Training", "Peak memory",
        *(f"{measure.capitalize()} after {duration(mark)}" for mark in result["marks_seconds"]),
    ]  # fmt: skip
    rows = result["table"]
    failures = [
        f"- {label}, {part}: {reason}"
        for label, reasons in result["failures"].items()
        for part, reason in reasons.items()
        if any(row["variant"] == label and row.get("seeds") for row in rows)
    ]
    lines = [
        f"# {_sentence(result['dataset'].replace('_', ' '))}: comparison by `{Path(result['config_file']).name}`",
        "",
        f"| {' | '.join(headings)} |",
        f"|{'---|' * len(headings)}",
        *(_line(row, len(headings)) for row in rows),
        "",
        *(["Runs that failed, of models whose other runs did not:", "", *failures, ""] if failures else []),
        f"Data: {result['dataset']}{protocol}, {sizes['train']} samples to train on, {sizes['validation']} for "
        f"validation, {sizes['test']} to test on. The error is {_STATISTIC[statistic]}, averaged over targets "
        f"(docs/measures.md); "
        + (f"mean ± standard deviation over the seeds 0 to {count - 1}. " if count > 1 else "one seed, 0. ")
        + "Ratios are geometric means over the seeds that both have.",
        "",
        f"{_sentence(Budget.parse(result['budget']).words)}; {result['jobs']} at a time, with {result['threads']} "
        f"thread{'s' if result['threads'] > 1 else ''} each. Training is the sum over epochs, with validation, without "
        "start-up and test"
        + (" (time on the processor, where that is less)" if result["threads"] == 1 else "")
        + f"; peak memory is the largest resident memory of the process, test included. The last columns have the "
        f"lowest {measure} up to that time of training.",
        "",
        *(_MEAN_FIELD if any(row["variant"] == LABEL for row in rows) else []),
        f"![{_sentence(measure)} over time](error_time.png)",
        "",
        "![Test error over parameters](error_parameters.png)",
        "",
        f"- Machine: {computer['processor']}, {computer['cores']} cores, {computer['memory_gib']} GiB, "
        f"{computer['accelerator'] or 'no GPU'}, {computer['system']}",
        f"- Versions: {', '.join(f'{name} {version}' for name, version in result['versions'].items())}",
        f"- Date: {result['date']}",
        *([f"- Changes: `{shlex.join(result['overrides'])}`"] if result["overrides"] else []),
    ]
    return "\n".join(lines) + "\n"


def to_csv(result: Mapping[str, Any]) -> str:
    """The same table as CSV, with plain numbers."""
    marks = [f"error_after_{mark:g}_seconds" for mark in result["marks_seconds"]]
    text = io.StringIO()
    table = csv.DictWriter(text, [*COLUMNS, *marks, "reason"], lineterminator="\n", extrasaction="ignore")
    table.writeheader()
    for row in result["table"]:
        table.writerow({**row, **dict(zip(marks, row.get("error_at_marks", ()), strict=False))})
    return text.getvalue()


def duration(seconds: float) -> str:
    """A time in seconds, minutes or hours."""
    if seconds < 0.1:
        return f"{1000 * seconds:.2g} ms"
    if seconds < 100:
        return f"{seconds:.3g} s"
    return f"{seconds / 60:.3g} min" if seconds < 6000 else f"{seconds / 3600:.3g} h"


_STATISTIC = {
    "mean": "the mean over the test samples",
    "median": "the median over the test samples",
    "pooled": "that of all points of all test samples together",
}

_MEAN_FIELD = [
    "The mean field predicts, at point number i, the mean of the training samples at their point number i, wherever "
    "that point lies in each sample.",
    "",
]


def _line(row: Mapping[str, Any], columns: int) -> str:
    if row.get("seeds") is None:
        cells = [row["variant"], f"not trained: {row['reason']}", *[""] * (columns - 2)]
        return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
    deviation = f" ± {row['deviation']:.4f}" if row["deviation"] is not None else ""
    cells = [
        row["variant"].replace("|", "\\|"),
        "not defined" if row["error"] is None else f"{row['error']:.4f}{deviation}",
        "" if row["ratio"] is None else f"{row['ratio']:.2f} ({row['worse']} of {row['pairs']})",
    ]
    if row.get("epochs"):
        memory = row["peak_memory_bytes"]
        cells += [
            f"{row['parameters']:,}",
            duration(row["seconds_per_epoch"]),
            str(row["epochs"]),
            duration(row["training_seconds"]),
            "" if memory is None else f"{memory / 2**20:,.0f} MiB",
            *("" if error is None else f"{error:.4f}" for error in row["error_at_marks"]),
        ]
    return f"| {' | '.join([*cells, *[''] * (columns - len(cells))])} |"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
