"""The runs of a study as a Markdown table and a picture, with differences paired over seeds."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.paper.table import Study
from pitgeo.evaluation import plots
from pitgeo.workflows.compare.paired import error_key, paired, spread
from pitgeo.workflows.compare.settings import Budget


def groups(rows: Sequence[dict[str, Any]]) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """Runs by benchmark and variant, in their order."""
    result: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        result.setdefault((row["benchmark"], row["variant"]), []).append(row)
    return result


def format_study(study: Study, result: dict[str, Any]) -> str:
    """A study as Markdown.

    Args:
        study: The study.
        result: The result of :func:`benchmarks.paper.run_study`.
    """
    runs = groups(result["runs"])
    lines = [f"# {study.title}", "", f"The paper: {study.source}.", ""]
    for benchmark in dict.fromkeys(benchmark for benchmark, _ in runs):
        key = error_key(benchmark)
        variants = {label: rows for (name, label), rows in runs.items() if name == benchmark}
        first = next(iter(variants.values()))
        lines += [
            f"## {benchmark}",
            "",
            f"| Variant | {key.replace('_', ' ')} | 25% | 75% | times the first's (worse on) | Parameters | Epochs "
            f"| Training | Peak memory |",
            "|---|---|---|---|---|---|---|---|---|",
            *(_line(label, rows, first, key) for label, rows in variants.items()),
            "",
        ]
        if any(row["resolutions"] for rows in variants.values() for row in rows):
            lines += _resolutions(variants, key)
    computer = result["machine"]
    lines += [
        f"![{study.title}]({result['study']}.png)",
        "",
        f"Quick configurations; {Budget.parse(result['budget']).words}; {result['jobs']} at a time with "
        f"{result['threads']} threads each. Errors: mean "
        f"± standard deviation over seeds of the number named (over test samples); quartiles are those of the test "
        f"samples, averaged over seeds.",
        "",
        f"- Machine: {computer['processor']}, {computer['cores']} cores, {computer['memory_gib']} GiB, "
        f"{computer['accelerator'] or 'no GPU'}",
        f"- Date: {result['date']}",
        *([f"- Changes: {', '.join(result['overrides'])}"] if result["overrides"] else []),
    ]
    return "\n".join(lines) + "\n"


def draw(study: Study, result: dict[str, Any], output: Path) -> Path:
    """Draw the picture of a study."""
    runs = groups(result["runs"])
    several = len({benchmark for benchmark, _ in runs}) > 1
    names = {group: (f"{group[0]}: {group[1]}" if several else group[1]) for group in runs}
    if study.figure == "growth":
        return plots.error_growth(
            {names[group]: np.mean([row["steps"] for row in rows], 0) for group, rows in runs.items()}, output
        )
    if study.figure == "resolutions":
        curves = {}
        for group, rows in runs.items():
            sizes = sorted({int(size) for row in rows for size in row["resolutions"]})
            key = error_key(group[0])
            tested = [[row["resolutions"].get(str(size)) for row in rows] for size in sizes]
            errors = [statistics.fmean(row[key] for row in at_size if row) for at_size in tested]
            curves[names[group]] = (sizes, errors)
        return plots.trends(curves, output, ("points a side of the test grid", "test error"), "both")
    if study.figure == "lengths":
        scales = next(iter(runs.values()))[0]["length_scales"]
        kinds = {name: ("global" if name.startswith("processor") else "local") for name in scales}
        layers = [(name, kinds[name], [np.inf if v is None else v for v in values]) for name, values in scales.items()]
        return plots.length_scales(layers, output)
    bars = [(names[group], [row[error_key(group[0])] for row in rows]) for group, rows in runs.items()]
    return plots.method_errors(bars, output, "test error")


def _line(label: str, rows: Sequence[dict[str, Any]], first: Sequence[dict[str, Any]], key: str) -> str:
    norm = key.rpartition("_")[0]
    memory = [row["peak_memory_bytes"] for row in rows if row["peak_memory_bytes"]]
    comparison = None if rows is first else paired(first, rows, key)
    cells = [
        label,
        spread([row[key] for row in rows]),
        f"{statistics.fmean(row[f'{norm}_lower_quartile'] for row in rows):.4f}",
        f"{statistics.fmean(row[f'{norm}_upper_quartile'] for row in rows):.4f}",
        "" if comparison is None else f"{comparison['ratio']:.2f} ({comparison['worse']} of {comparison['seeds']})",
        f"{rows[0]['parameters']:,}",
        str(rows[0]["epochs"]),
        f"{statistics.fmean(row['training_seconds'] for row in rows) / 60:.1f} min",
        f"{statistics.fmean(memory) / 2**20:,.0f} MiB" if memory else "",
    ]
    return f"| {' | '.join(cells)} |"


def _resolutions(variants: dict[str, list[dict[str, Any]]], key: str) -> list[str]:
    sizes = sorted({int(size) for rows in variants.values() for row in rows for size in row["resolutions"]})
    lines = [f"| Tested at | {' | '.join(str(size) for size in sizes)} |", "|---|" + "---|" * len(sizes)]
    for label, rows in variants.items():
        cells = []
        for size in sizes:
            values = [row["resolutions"][str(size)][key] for row in rows if str(size) in row["resolutions"]]
            cells.append(spread(values) if values else "")
        lines.append(f"| {label} | {' | '.join(cells)} |")
    return [*lines, ""]
