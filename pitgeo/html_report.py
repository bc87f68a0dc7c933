"""A run as one HTML page: errors, pictures, configuration. It opens anywhere, and fetches nothing."""

from __future__ import annotations

import base64
import csv
import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import Any
from urllib.parse import quote

from pitgeo import measure_table
from pitgeo.training.checkpoint_io import write_atomic

PAGE = Template("""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<title>$title</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; color: #222; max-width: 68rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; margin-bottom: 0; }
h2 { font-size: 1.15rem; margin-top: 2rem; border-bottom: 1px solid #e3e3e3; }
p.when { color: #7a7a7a; margin-top: 0; }
table { border-collapse: collapse; }
th, td { text-align: left; padding: 0.2rem 1rem 0.2rem 0; border-bottom: 1px solid #eee; vertical-align: top; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
figure { margin: 1.2rem 0; }
figure img { max-width: 100%; height: auto; }
figcaption, .note { color: #7a7a7a; font-size: 0.9em; }
pre { background: #f6f6f6; padding: 0.8rem; overflow-x: auto; }
</style>
</head>
<body>
<h1>$title</h1>
<p class="when">$when</p>
$sections
</body>
</html>
""")

COLUMNS = {"mean": "mean", "lower_quartile": "25%", "median": "median", "upper_quartile": "75%", "largest": "largest"}
SHOWN = (
    *measure_table.COLUMNS,
    ("mean_absolute", "pooled"),
    ("relative_l1", "mean"),
    ("peak_error", "mean"),
    ("peak_distance", "mean"),
)
LEGEND = (
    "relative l1, relative l2 and peak: mean over samples; the others: all points of all samples. See docs/measures.md"
)
NAMES = {"train": "training", "validation": "validation"}
CHOSEN = ("best", "median", "worst")
CAPTIONS = {
    "fields": "Truth, prediction and absolute error of the best, the median and the worst sample",
    "loss": "Training loss and validation error over the epochs",
    "growth": "Error over the predicted steps",
    "length_scales": "Length scale of every head",
    "latent_mesh": "Latent points among the input points",
}
"""Pictures in their order on the page; others come last."""


def write_report(folder: Path | str, output: Path | str | None = None) -> Path:
    """Write a run's report, one HTML file that holds its pictures and can be passed on alone.

    What the run did not leave in its folder is left out.

    Args:
        folder: Folder of an evaluated run: ``evaluation.json``, and ``metrics.csv``, ``config.toml``,
            ``pictures/*.png``, ``meshes/*`` if they are there.
        output: The file to write; ``None`` for ``report.html`` in the folder. Links to mesh files are relative to it.

    Returns:
        The file written.

    Raises:
        FileNotFoundError: If the run has not been evaluated.
        ValueError: If its ``evaluation.json`` cannot be read.
    """
    folder = Path(folder)
    output = folder / "report.html" if output is None else Path(output)
    result = _evaluation(folder)
    model, data = result.get("model", "model"), result.get("dataset", "data")
    sections = (
        _section("Verdict", _verdict(result)),
        _section("Run", _facts(result, _history(folder / "metrics.csv"))),
        _section("Errors", _errors(result)),
        _section("Controls", _controls(result)),
        _section("Samples", _samples(result)),
        _section("Pictures", _pictures(folder / "pictures")),
        _section("Meshes", _meshes(folder / "meshes", output.parent)),
        _section("Configuration", _config(folder / "config.toml")),
        _section("Versions", _versions(result)),
    )
    page = PAGE.substitute(
        title=escape(f"{model} on {data}"),
        when=escape(", ".join(str(part) for part in (result.get("date"), result.get("checkpoint")) if part)),
        sections="\n".join(section for section in sections if section),
    )
    write_atomic(output, page.encode())
    return output


def _evaluation(folder: Path) -> dict[str, Any]:
    path = folder / "evaluation.json"
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise FileNotFoundError(
            f"Expected an evaluated run in {folder} (got no evaluation.json there); run: pitgeo evaluate "
            f"{folder / 'last.ckpt'}"
        ) from None
    except ValueError as error:
        raise ValueError(f"{path}: Expected JSON as 'pitgeo evaluate' writes it (got: {error})") from None
    if not isinstance(found, dict):
        raise ValueError(f"{path}: Expected a table as 'pitgeo evaluate' writes it (got {type(found).__name__})")
    return found


def _history(path: Path) -> dict[str, Any]:
    """What the table of epochs adds up to."""
    if not path.exists():
        return {}
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    found: dict[str, Any] = {"epochs": rows[-1].get("epoch")} if rows else {}
    if seconds := [float(row["seconds"]) for row in rows if row.get("seconds")]:
        found["training time"] = _duration(sum(seconds))
    errors = [(float(row["val_error"]), row.get("epoch")) for row in rows if row.get("val_error")]
    if finite := [pair for pair in errors if math.isfinite(pair[0])]:
        lowest, epoch = min(finite, key=lambda pair: pair[0])
        found["lowest validation error"] = f"{lowest:.4g} at epoch {epoch}"
    return found


def _facts(result: Mapping[str, Any], history: Mapping[str, Any]) -> str:
    parameters, sizes = result.get("parameters"), result.get("split_sizes")
    protocol = f" ({result['protocol']})" if result.get("protocol") else ""
    samples = []
    if isinstance(sizes, Mapping):
        samples += [f"{sizes[part]} for {name}" for part, name in NAMES.items() if sizes.get(part)]
    if "samples" in result:
        samples.append(f"{result['samples']} evaluated ({result.get('split', 'split unknown')})")
    asked, done = result.get("epochs"), history.get("epochs")
    facts = {
        "model": result.get("model"),
        "parameters": f"{parameters:,}" if isinstance(parameters, int) else parameters,
        "data set": f"{result['dataset']}{protocol}" if "dataset" in result else None,
        "samples": "; ".join(samples),
        **history,
        "epochs": asked if done is None or str(asked) == done else f"{done} of {asked}",
        "seed": result.get("seed"),
        "prediction time": _duration(result["prediction_seconds"]) if "prediction_seconds" in result else None,
    }
    return _table((), [(name, str(value)) for name, value in facts.items() if value not in (None, "")])


def _errors(result: Mapping[str, Any]) -> str:
    """The table of the command line with a few more columns, then every error over the samples."""
    found = {name: entry for name, entry in (result.get("errors") or {}).items() if isinstance(entry, Mapping)}
    parts, every = [], list(measure_table.rows(found, "\u2003"))
    if any("rmse" in entry for _, entry in every):
        head = [measure_table.heading(name) for name, _ in SHOWN]
        lines = [(label, *_numbers(entry)) for label, entry in every]
        notes = [LEGEND, *measure_table.reasons(found, SHOWN)]
        parts += [_table(("target", *head), lines), *(f'<p class="note">{escape(note)}</p>' for note in notes)]
    over = [
        (label, measure_table.heading(name), *(numbers.get(key) for key in COLUMNS))
        for label, entry in every
        for name, numbers in entry.items()
        if isinstance(numbers, Mapping) and "mean" in numbers
    ]
    if over:
        note = '<p class="note">A number per sample; statistics over the samples.</p>'
        parts.append(_table(("target", "error", *COLUMNS.values()), over) + note)
    return "\n".join(parts)


def _numbers(entry: Mapping[str, Any]) -> list[float | str]:
    """The numbers of a target, or a dash."""
    peak = {f"peak_{key}": part for key, part in entry.get("peak", {}).items() if isinstance(part, Mapping)}
    values = (measure_table.number({**entry, **peak}, *column) for column in SHOWN)
    return ["-" if value is None else float(value) for value in values]


def _verdict(result: Mapping[str, Any]) -> str:
    """What is said of the model."""
    said = (result.get("verdict") or {}).get("sentences") or []
    return f"<ul>\n{''.join(f'<li>{escape(str(sentence))}</li>' for sentence in said)}\n</ul>" if said else ""


def _controls(result: Mapping[str, Any]) -> str:
    keys = ("name", "relative_l2", "seconds", "note")
    rows = [tuple(control.get(key) for key in keys) for control in result.get("controls") or ()]
    return _table(("control", "relative l2", "seconds to fit", ""), rows)


def _samples(result: Mapping[str, Any]) -> str:
    """Best, median and worst sample; and the samples with the largest errors, where the evaluation lists them."""
    chosen = [(which, _name(result[which]), result[which].get("relative_l2")) for which in CHOSEN if which in result]
    parts = [_table(("", "sample", "relative l2"), chosen)] if chosen else []
    if worst := result.get("worst_samples"):
        rows = [(_name(sample), sample.get("relative_l2")) for sample in worst]
        parts.append("<p>Largest errors:</p>" + _table(("sample", "relative l2"), rows))
    return "\n".join(parts)


def _name(sample: Mapping[str, Any]) -> str:
    return str(sample.get("name", sample.get("sample_id", "unknown")))


def _pictures(folder: Path) -> str:
    order = list(CAPTIONS)
    found = []
    for path in folder.glob("*.png"):
        kind = next((name for name in order if path.stem == name or path.stem.startswith(f"{name}_")), None)
        found.append((len(order) if kind is None else order.index(kind), path.name, kind, path))
    figures = []
    for _, _, kind, path in sorted(found):
        text = path.stem.replace("_", " ")
        if kind is not None:
            text = CAPTIONS[kind] + (f": {path.stem.removeprefix(kind + '_')}" if path.stem != kind else "")
        picture = base64.b64encode(path.read_bytes()).decode()
        figures.append(
            f'<figure><img alt="{escape(text)}" src="data:image/png;base64,{picture}"/>'
            f"<figcaption>{escape(text)}</figcaption></figure>"
        )
    return "\n".join(figures)


def _meshes(folder: Path, start: Path) -> str:
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    links = [
        f'<li><a href="{escape(_link(path, start))}">{escape(path.relative_to(folder).as_posix())}</a></li>'
        for path in paths
    ]
    return f"<ul>\n{''.join(links)}\n</ul>" if links else ""


def _link(path: Path, start: Path) -> str:
    return quote(Path(os.path.relpath(path.resolve(), start.resolve())).as_posix())


def _config(path: Path) -> str:
    if not path.exists():
        return ""
    text = escape(path.read_text(encoding="utf-8"))
    return f"<details><summary>{escape(path.name)}</summary><pre>{text}</pre></details>"


def _versions(result: Mapping[str, Any]) -> str:
    now, then = result.get("versions") or {}, result.get("trained_with") or {}
    names = list(dict.fromkeys([*then, *now]))
    return _table(("", "trained with", "evaluated with"), [(name, then.get(name), now.get(name)) for name in names])


def _section(title: str, content: str) -> str:
    return f"<section>\n<h2>{escape(title)}</h2>\n{content}\n</section>" if content else ""


def _table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table; numbers to four digits, right-aligned; ``None`` is an empty cell."""
    rows = list(rows)
    if not rows:
        return ""
    numbers = [' class="number"' if isinstance(value, float) else "" for value in rows[0]]
    first = "".join(f"<th{kind}>{escape(name)}</th>" for name, kind in zip(head, numbers, strict=False))
    body = "\n".join(f"<tr>{''.join(_cell(value) for value in row)}</tr>" for row in rows)
    return f"<table>\n{f'<thead><tr>{first}</tr></thead>' if head else ''}<tbody>\n{body}\n</tbody>\n</table>"


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f'<td class="number">{value:#.4g}</td>'
    return f"<td>{'' if value is None else escape(str(value))}</td>"


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"
