"""A run as one HTML page: errors, pictures, configuration. It opens in any browser, and loads nothing else."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pitgeo.evaluation import measure_table
from pitgeo.evaluation.report_page import PAGE, folded, items, note, section, table
from pitgeo.evaluation.report_pictures import Figure, embed
from pitgeo.evaluation.report_run import facts, used_settings
from pitgeo.evaluation.trust import format_trust
from pitgeo.system.atomic_files import write_atomic

LIMIT = 1_500_000
"""Largest size of a page, in bytes."""
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
CHOSEN = ("best", "median", "worst")
FIELDS = "Truth, prediction and absolute error of the best, the median and the worst sample"
CAPTIONS = {
    "scatter": "Predicted against true numbers, a dot for each sample: the peak of every target, and quantities",
    "growth": "Error over the predicted steps",
    "loss": "Training loss and validation error over the epochs",
    "length_scales": "Length scale of every head",
    "latent_mesh": "Latent points among the input points",
}
"""Pictures for those who tune a model, in their order; others come last."""
MODEL, OVERALL = "the model", "relative l2"
BESIDE = 3
"""Largest number of targets in the table of controls."""
NAME = measure_table.NAME


def write_report(folder: Path | str, output: Path | str | None = None) -> Path:
    """Write the report of a run: one HTML file that contains its pictures.

    Parts whose files are missing in the folder are left out.

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
    title = f"{model} on {data}"
    words = [
        section("Verdict", items((result.get("verdict") or {}).get("sentences") or [])),
        section("Errors", _errors(result.get("errors"))),
        section("Quantities", _quantities(result)),
        section("Bounds and training set", items(format_trust(result))),
        section("Controls", _controls(result)),
    ]
    config = folder / "config.toml"
    settings = escape(used_settings(config.read_text(encoding="utf-8"))) if config.exists() else ""
    details = [
        folded("Run", table((), facts(result, folder / "metrics.csv"))),
        folded("All errors", _all_errors(result)),
        *(
            folded(f"Errors in the set {shortened(name)}", _errors(errors))
            for name, errors in (result.get("errors_in_sets") or {}).items()
        ),
        folded("Samples", _samples(result)),
        folded("Mesh files", _meshes(folder / "meshes", output.parent)),
        folded("Versions", _versions(result)),
    ]

    def page(first: str, foldable: Sequence[str], experts: Sequence[str]) -> bytes:
        left = "\n".join(filter(None, words))
        top = f'<div class="first"><div>\n{left}\n</div><div>\n{section("Pictures", first)}\n</div></div>'
        shown = section("Settings", f'<pre class="settings">{settings}</pre>' if settings else "")
        parts = [
            top if first else left,
            shown,
            section("Details", "\n".join(filter(None, (*foldable, *details, *experts)))),
        ]
        text = PAGE.substitute(
            title=escape(title),
            when=escape(", ".join(str(part) for part in (result.get("date"), result.get("checkpoint")) if part)),
            sections="\n".join(filter(None, parts)),
        )
        return text.encode()

    fields, experts = _pictures(folder / "pictures", result.get("errors") or {})
    figures = [*fields, *experts]
    room = LIMIT - len(page("", [], [])) - sum(len(_figure(figure, "").encode()) + 200 for figure in figures)
    images, _ = embed(figures, max(room, 0))
    drawn = [_figure(figure, image) for figure, image in zip(figures, images, strict=True)]
    foldable = [folded(figure.caption, text) for figure, text in zip(figures, drawn, strict=True)]
    count = len(fields)
    content = page(drawn[0] if fields else "", foldable[min(1, count) : count], foldable[count:])
    write_atomic(output, content)
    return output


def _evaluation(folder: Path) -> dict[str, Any]:
    path = folder / "evaluation.json"
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise FileNotFoundError(
            f"Expected an evaluated run in {folder} (got no evaluation.json there); run: pitgeo evaluate "
            f"{folder / 'last.ckpt'}"
        ) from None
    except ValueError as error:
        raise ValueError(f"{path}: Expected JSON as 'pitgeo evaluate' writes it (got: {error})") from None
    if not isinstance(content, dict):
        raise ValueError(f"{path}: Expected a table as 'pitgeo evaluate' writes it (got {type(content).__name__})")
    return content


def _errors(errors: Any) -> str:
    """The table of errors that the command line prints."""
    targets = _targets(errors)
    rows = list(measure_table.rows(targets, "\u2003"))
    if not any("rmse" in entry for _, entry in rows):
        return ""
    columns = measure_table.COLUMNS
    lines = [(shortened(label), *_numbers(entry, columns)) for label, entry in rows]
    notes = [measure_table.LEGEND, *measure_table.pooled_notes(targets)[:3], *measure_table.reasons(targets)[:3]]
    return table(("target", *(measure_table.heading(name) for name, _ in columns)), lines) + "".join(map(note, notes))


def _quantities(result: Mapping[str, Any]) -> str:
    """The table of quantities that the command line prints."""
    rows = [(shortened(name), *map(_dash, values)) for name, *values in measure_table.quantity_rows(result)]
    head = ("quantity", *map(measure_table.heading, measure_table.QUANTITY_COLUMNS))
    return table(head, rows) + "".join(map(note, measure_table.quantity_notes(result))) if rows else ""


def _all_errors(result: Mapping[str, Any]) -> str:
    """A table with more columns, then the statistics of every error over the samples."""
    targets = _targets(result.get("errors"))
    parts, rows = [], list(measure_table.rows(targets, "\u2003"))
    if any("rmse" in entry for _, entry in rows):
        head = [measure_table.heading(name) for name, _ in SHOWN]
        lines = [(shortened(label), *_numbers(entry, SHOWN)) for label, entry in rows]
        parts += [table(("target", *head), lines), *map(note, [LEGEND, *measure_table.reasons(targets, SHOWN)])]
    over = [
        (shortened(label), measure_table.heading(name), *(numbers.get(key) for key in COLUMNS))
        for label, entry in rows
        for name, numbers in entry.items()
        if isinstance(numbers, Mapping) and "mean" in numbers
    ]
    if over:
        text = note("A number per sample; statistics over the samples.")
        parts.append(table(("target", "error", *COLUMNS.values()), over, 8 * measure_table.MOST) + text)
    return "\n".join(parts)


def _targets(errors: Any) -> dict[str, Any]:
    return {name: entry for name, entry in (errors or {}).items() if isinstance(entry, Mapping)}


def shortened(name: str) -> str:
    """A name; if it is long, without its middle part."""
    return name if len(name) <= NAME else f"{name[: NAME // 2 - 3]}...{name[-NAME // 2 :]}"


def _numbers(entry: Mapping[str, Any], columns: Sequence[tuple[str, str]]) -> list[float | str]:
    """The numbers of a target, or a dash."""
    peak = {f"peak_{key}": part for key, part in entry.get("peak", {}).items() if isinstance(part, Mapping)}
    values = (measure_table.number({**entry, **peak}, *column) for column in columns)
    return ["-" if value is None else float(value) for value in values]


def _controls(result: Mapping[str, Any]) -> str:
    """Model and controls: the error that the verdict compares, and up to three targets' own errors."""
    controls = [control for control in result.get("controls") or () if isinstance(control, Mapping)]
    if not controls:
        return ""
    targets = list(_targets(result.get("errors")))
    targets = targets if 1 < len(targets) <= BESIDE else []
    own = {"relative_l2": (result.get("verdict") or {}).get("error"), "errors": result.get("errors")}
    rows: list[tuple[Any, ...]] = []
    for name, entry in ((MODEL, own), *((control.get("name"), control) for control in controls)):
        errors = _targets(entry.get("errors"))
        by_target = (measure_table.number(errors.get(target, {}), "relative_l2", "mean") for target in targets)
        rows.append((name, *(_dash(value) for value in (entry.get("relative_l2"), *by_target)), entry.get("seconds")))
    notes = [f"{control.get('name')}: {control['note']}" for control in controls if control.get("note")]
    head = ("predictor", OVERALL, *(shortened(target) for target in targets), "seconds to fit")
    return table(head, rows) + "".join(map(note, notes))


def _dash(value: Any) -> Any:
    return "-" if value is None else value


def _samples(result: Mapping[str, Any]) -> str:
    """Best, median and worst sample, and the samples with the largest errors if the evaluation lists them."""
    chosen = [(which, _name(result[which]), result[which].get("relative_l2")) for which in CHOSEN if which in result]
    parts = [table(("", "sample", "relative l2"), chosen)] if chosen else []
    if worst := result.get("worst_samples"):
        rows = [(_name(sample), sample.get("relative_l2")) for sample in worst]
        parts.append("<p>Largest errors:</p>" + table(("sample", "relative l2"), rows))
    if cases := result.get("quantity_cases"):
        names = list(dict.fromkeys(name for case in cases for name in case["truth"]))
        head = [f"{shortened(name)}, {kind}" for name in names for kind in ("truth", "prediction")]
        values = [
            (Path(case["name"]).name, *(case[kind].get(name) for name in names for kind in ("truth", "prediction")))
            for case in cases
        ]
        parts.append("<p>Quantities:</p>" + table(("sample", *head), values))
    return "\n".join(parts)


def _name(sample: Mapping[str, Any]) -> str:
    return str(sample.get("name", sample.get("sample_id", "unknown")))


def _pictures(folder: Path, errors: Mapping[str, Any]) -> tuple[list[Figure], list[Figure]]:
    """Pictures of fields in the order of the targets, and all others."""
    labels = [str(name) for name, entry in _targets(errors).items() for name in (name, *entry.get("components", {}))]
    fields: list[tuple[int, str, Figure]] = []
    others: list[tuple[int, str, Figure]] = []
    order = list(CAPTIONS)
    for path in folder.glob("*.png"):
        kind, _, name = path.stem.partition("_")
        if kind == "fields":
            place = next((at for at, label in enumerate(labels) if label == name), len(labels))
            fields.append((place, path.name, Figure(path, f"{FIELDS}: {shortened(name)}" if name else FIELDS)))
        else:
            place = order.index(path.stem) if path.stem in order else len(order)
            others.append((place, path.name, Figure(path, CAPTIONS.get(path.stem, path.stem.replace("_", " ")))))
    return [figure for *_, figure in sorted(fields)], [figure for *_, figure in sorted(others)]


def _figure(figure: Figure, image: str | None) -> str:
    """A picture with its caption, or its file name if the page has no room for it."""
    if image is None:
        return note(f"Too large for this page: pictures/{figure.path.name}")
    return f"<figure>{image}<figcaption>{escape(figure.caption)}</figcaption></figure>"


def _meshes(folder: Path, start: Path) -> str:
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    links = [
        f'<li><a href="{escape(_link(path, start))}">{escape(path.relative_to(folder).as_posix())}</a></li>'
        for path in paths
    ]
    return f"<ul>\n{''.join(links)}\n</ul>" if links else ""


def _link(path: Path, start: Path) -> str:
    return quote(Path(os.path.relpath(path.resolve(), start.resolve())).as_posix())


def _versions(result: Mapping[str, Any]) -> str:
    now, then = result.get("versions") or {}, result.get("trained_with") or {}
    names = list(dict.fromkeys([*then, *now]))
    return table(("", "trained with", "evaluated with"), [(name, then.get(name), now.get(name)) for name in names])
