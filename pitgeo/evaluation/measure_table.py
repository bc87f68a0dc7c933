"""A table of the most important errors, for the terminal; ``evaluation.json`` has all errors."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

COLUMNS = (
    ("rmse", "pooled"),
    ("largest_absolute", "pooled"),
    ("r2", "pooled"),
    ("relative_l2", "mean"),
    ("variation_l2", "pooled"),
)
"""Errors in the table, and the number of each that is shown."""
LEGEND = "relative l2: mean over samples; the others: all points of all samples. See docs/measures.md"
QUANTITY_COLUMNS = ("mean_truth", "bias", "mean_absolute", "largest_absolute", "relative_l2", "r2")
QUANTITY_LEGEND = "one number a sample; bias: mean of prediction less truth"
APART = 2.0
"""A sentence says that two numbers differ if their ratio is larger."""
MOST = 24
"""Largest number of rows of a table; more are cut out of its middle."""
WIDTH = 100
NAME = 30


def heading(name: str) -> str:
    """The name of an error in tables and pictures: that in JSON, with spaces."""
    return name.replace("_", " ")


def rows(errors: Mapping[str, Any], indent: str = "  ") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every target with its errors; after a vector, its components."""
    for target, entry in errors.items():
        yield target, entry
        for component, numbers in entry.get("components", {}).items():
            yield f"{indent}{component}", numbers


def number(entry: Mapping[str, Any], name: str, which: str) -> float | None:
    """A number of a target; ``None`` if it is not defined, or missing in the evaluation."""
    value: float | None = entry.get(name, {}).get(which)
    return value


def reasons(errors: Mapping[str, Any], columns: Sequence[tuple[str, str]] = COLUMNS) -> list[str]:
    """The reasons for empty cells of a table, each reason once."""
    by_reason: dict[str, list[str]] = {}
    for target, entry in rows(errors, ""):
        for name, which in columns:
            part = entry.get(name, {})
            if which in part and part[which] is None and part.get("reason"):
                by_reason.setdefault(f"{heading(name)}: {part['reason']}", []).append(target)
    return [f"{', '.join(targets[:3])}{', ...' * (len(targets) > 3)}: no {text}" for text, targets in by_reason.items()]


def quantity_rows(result: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """The name and the numbers of every quantity of an evaluation, in the order of :data:`QUANTITY_COLUMNS`."""
    return [
        (name, *(entry.get(column) for column in QUANTITY_COLUMNS))
        for name, entry in (result.get("quantities") or {}).items()
    ]


def quantity_notes(result: Mapping[str, Any]) -> list[str]:
    """What to know of the quantities of an evaluation."""
    undefined = [
        f"{name}: {entry['reason']}"
        for name, entry in (result.get("quantities") or {}).items()
        if entry.get("reason") and any(entry.get(column) is None for column in QUANTITY_COLUMNS)
    ]
    return [QUANTITY_LEGEND, *(result.get("quantity_notes") or []), *undefined[:3]]


def format_quantities(result: Mapping[str, Any]) -> list[str]:
    r"""The lines of a table of quantities, after an empty one; none without quantities.

    Example:
        >>> numbers = dict(mean_truth=2.0, bias=0.5, mean_absolute=0.5, largest_absolute=0.75, relative_l2=0.25)
        >>> print("\n".join(format_quantities({"quantities": {"mean:heat": numbers | {"r2": None}}})))
        <BLANKLINE>
        quantity   mean truth       bias  mean absolute  largest absolute  relative l2         r2
        mean:heat           2        0.5            0.5              0.75         0.25          -
        one number a sample; bias: mean of prediction less truth
    """
    every = quantity_rows(result)
    if not every:
        return []
    width = max(8, *(len(name) for name, *_ in every))
    widths = [max(9, len(heading(name))) for name in QUANTITY_COLUMNS]
    head = (heading(name).rjust(size) for name, size in zip(QUANTITY_COLUMNS, widths, strict=True))
    lines = ["", f"{'quantity':{width}}  {'  '.join(head)}"]
    for name, *values in every:
        cells = ("-" if value is None else f"{value:.4g}" for value in values)
        lines.append(f"{name:{width}}  {'  '.join(cell.rjust(size) for cell, size in zip(cells, widths, strict=True))}")
    notes = (textwrap.wrap(text, WIDTH, subsequent_indent="  ") for text in quantity_notes(result))
    return [*lines, *(line for part in notes for line in part)]


def pooled_notes(errors: Mapping[str, Any]) -> list[str]:
    """A sentence for every target whose relative l2 error is another on average than over all points.

    Example:
        >>> pooled_notes({"heat": {"relative_l2": {"mean": 0.3, "pooled": 0.05}}})[0][:60]
        'heat: relative l2 is 0.3 on average over the samples and 0.0'
    """
    notes = []
    for target, entry in errors.items():
        mean, pooled = number(entry, "relative_l2", "mean"), number(entry, "relative_l2", "pooled")
        if mean is None or pooled is None or max(abs(mean), abs(pooled)) <= APART * min(abs(mean), abs(pooled)):
            continue
        why = "samples whose truth is small have large relative errors"
        if pooled > mean:
            why = "samples whose truth is large have most of the error"
        notes.append(
            f"{target}: relative l2 is {mean:.4g} on average over the samples and {pooled:.4g} over all points: {why}"
        )
    return notes


def format_sets(result: Mapping[str, Any]) -> list[str]:
    """The lines of a table of errors for every named set, each after an empty line; none without sets."""
    lines = []
    for name, errors in (result.get("errors_in_sets") or {}).items():
        lines += ["", f"in the set {name}", *(line for line in format_errors(errors) if line != LEGEND)]
    return lines


def format_errors(errors: Mapping[str, Any]) -> list[str]:
    r"""The lines of a table of errors.

    Args:
        errors: The result of :meth:`pitgeo.measures.measures.Measures.result`.

    Example:
        >>> entry = {name: {"mean": 0.125, "pooled": 0.25} for name, _ in COLUMNS}
        >>> entry["r2"] = {"mean": None, "pooled": None, "reason": "the truth is the same everywhere in a.vtu"}
        >>> print("\n".join(format_errors({"heat": entry})))
        target       rmse  largest absolute         r2  relative l2  variation l2
        heat         0.25              0.25          -        0.125          0.25
        relative l2: mean over samples; the others: all points of all samples. See docs/measures.md
        heat: no r2: the truth is the same everywhere in a.vtu
    """
    every = [(name if len(name) <= NAME else f"{name[: NAME - 3]}...", entry) for name, entry in rows(errors)]
    width = max([6, *(len(name) for name, _ in every)])
    widths = [max(9, len(heading(name))) for name, _ in COLUMNS]
    head = (heading(name).rjust(size) for (name, _), size in zip(COLUMNS, widths, strict=True))
    lines = [f"{'target':{width}}  {'  '.join(head)}"]
    body = []
    for name, entry in every:
        values = (number(entry, *column) for column in COLUMNS)
        cells = ("-" if value is None else f"{value:.4g}" for value in values)
        body.append(f"{name:{width}}  {'  '.join(cell.rjust(size) for cell, size in zip(cells, widths, strict=True))}")
    if len(body) > MOST:
        body[MOST // 2 : -(MOST // 2)] = [f"... {len(body) - MOST} more rows ..."]
    texts = [LEGEND, *pooled_notes(errors)[:3], *reasons(errors)[:3]]
    return [*lines, *body, *(line for text in texts for line in textwrap.wrap(text, WIDTH, subsequent_indent="  "))]
