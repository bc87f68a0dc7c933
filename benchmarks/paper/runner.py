"""Run a study: train and test every variant on one budget, and write tables and a picture."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import origin
from benchmarks.paper.summary import draw, format_study
from benchmarks.paper.table import Study
from pitgeo.evaluation.evaluation import write_json
from pitgeo.system.atomic_files import write_atomic
from pitgeo.workflows.compare.entry import Entry
from pitgeo.workflows.compare.harness import Harness
from pitgeo.workflows.compare.settings import Settings


def run_study(
    name: str,
    study: Study,
    output: Path,
    settings: Settings,
    benchmarks: Sequence[str] | None = None,
    variants: Sequence[str] | None = None,
    configs: Path = Path("configs"),
) -> dict[str, Any]:
    """Run what is missing of a study, and write ``<name>.json``, ``.csv``, ``.md`` and ``.png`` to a folder.

    Runs of other benchmarks and seeds that the folder already holds are merged into the tables; see
    :class:`pitgeo.workflows.compare.harness.Harness`.

    Args:
        name: Name of the study, for the files.
        study: The study.
        output: Folder of the study.
        settings: Budget, seeds and other settings of the runs.
        benchmarks: Benchmarks to run on; ``None`` for the default of the study.
        variants: Labels of the variants to run; ``None`` for all.
        configs: Folder with the configurations ``<benchmark>_quick.toml``.

    Returns:
        The content of the JSON file.

    Raises:
        ValueError: If the study does not run on a benchmark or has no such variant, or the folder holds runs with
            other settings.
        RuntimeError: If a training fails; the message ends with its last lines.
    """
    chosen = tuple(benchmarks or study.benchmarks)
    if wrong := [benchmark for benchmark in chosen if benchmark not in study.full]:
        raise ValueError(f"Expected benchmarks among {study.full} for the study {name!r} (got {wrong})")
    entries = {benchmark: _entries(study, benchmark, configs) for benchmark in study.full}
    harness = Harness(output, settings)
    harness.run([entry for benchmark in chosen for entry in _chosen(entries[benchmark], variants)], name)
    rows = harness.rows([entry for group in entries.values() for entry in group])
    result: dict[str, Any] = {
        "study": name,
        "title": study.title,
        "source": study.source,
        "budget": str(settings.budget),
        "jobs": settings.jobs,
        "threads": settings.threads,
        "overrides": list(settings.overrides),
        "runs": rows,
        **origin(),
    }
    write_json(output / f"{name}.json", result)
    write_atomic(output / f"{name}.csv", _csv(rows).encode())
    draw(study, result, output / f"{name}.png")
    write_atomic(output / f"{name}.md", format_study(study, result).encode())
    return result


def _entries(study: Study, benchmark: str, configs: Path) -> list[Entry]:
    return [
        Entry(label, configs / f"{benchmark}_quick.toml", changes, benchmark, study.resolutions)
        for label, changes in study.variants(benchmark).items()
    ]


def _chosen(entries: Sequence[Entry], labels: Sequence[str] | None) -> list[Entry]:
    known = [entry.label for entry in entries]
    if wrong := [label for label in labels or () if label not in known]:
        raise ValueError(f"Expected variants among {known} (got {wrong})")
    return [entry for entry in entries if labels is None or entry.label in labels]


def _csv(rows: Sequence[dict[str, Any]]) -> str:
    """Runs as a table, with one more line for every other resolution that was tested."""
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
