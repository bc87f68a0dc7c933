"""A description as text for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

from pitgeo.describe.description import Description, FieldSummary

WIDTH = 100
NAME = 16
"""Names of fields are not cut below this, though lines may become longer."""


def format_description(description: Description) -> str:
    r"""A description as lines of at most 100 columns, but for names that are longer and the suggestion.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> from pitgeo.describe import describe
        >>> from pitgeo.mesh import Mesh, write_mesh
        >>> corners, heat = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0]]), np.array([1.5, 2.0, 4.0])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_mesh(f"{folder}/a.vtu", Mesh(corners, (("triangle", np.array([[0, 1, 2]])),), {"heat": heat}))
        ...     text = format_description(describe([folder]))
        >>> print("\n".join(text.splitlines()[1:11]))
        points     3 a file
        cells      1 a file: 1 triangle
        dimension  2, in files that hold three coordinates
        extent     x 0 to 2, y 0 to 1
        problem    one file alone
        try first  more files: one cannot be trained on and tested on
        <BLANKLINE>
        Fields
          name  of      components  type     range     files
          heat  points  1           float64  1.5 to 4  all
    """
    return "\n".join(
        [
            *_head(description),
            *_fields(description),
            *_section("Cannot be read", [f"{name}: {reason}" for name, reason in description.unreadable.items()]),
            *_section("How files were read", description.readings),
            *_section("What could go wrong", [finding.text for finding in description.findings]),
            *(["", "Nothing found that could go wrong"] if not description.findings else []),
            "",
            "For the configuration",
            "",
            description.suggestion.rstrip("\n"),
        ]
    )


def _head(description: Description) -> list[str]:
    files, axes = description.files, zip("xyz", description.low, description.high, strict=False)
    number = f"{len(files):,} files, {files[0]} to {files[-1]}" if len(files) > 1 else f"1 file, {files[0]}"
    more = f" ({len(description.unreadable):,} more cannot be read)" if description.unreadable else ""
    kinds = ", ".join(
        f"{_span(least, most)} {kind}" + (f" in {count:,} of {len(files):,} files" if count < len(files) else "")
        for kind, (count, least, most) in description.cell_types.items()
    )
    dimensions = " and ".join(map(str, description.dimensions))
    rows = {
        "files": f"{number}{more}",
        "steps": _steps(description),
        "points": f"{_span(*description.points)} a file",
        "cells": f"{_span(*description.cells)} a file{': ' if kinds else ''}{kinds}",
        "dimension": dimensions + (", in files that hold three coordinates" if description.is_planar_in_space else ""),
        "extent": ", ".join(f"{axis} {_number(low)} to {_number(high)}" for axis, low, high in axes),
        "mesh": "the same points and cells in all files" if description.is_shared_mesh else "",
        "point sets": _sets(description.point_sets, len(files)),
        "cell sets": _sets(description.cell_sets, len(files)),
        "problem": description.problem,
        "try first": description.advice,
    }
    kept = {name: text for name, text in rows.items() if text}
    width = max(map(len, kept))
    return [line for name, text in kept.items() for line in _wrapped(f"{name:<{width}}  {text}", "", " " * (width + 2))]


def _steps(description: Description) -> str:
    series = description.series
    if series is None:
        return ""
    some = "" if series.files == len(description.files) else f" in {series.files:,} of {len(description.files):,} files"
    low, high = map(_number, series.lengths)
    length = f"{low} apart" if series.is_even else f"{low} to {high} apart, not equally spaced"
    start, stop = map(_number, series.times)
    return f"{_span(*series.steps)} a file{some}, times {start} to {stop}, {length}; the mesh is that of the first"


def _fields(description: Description) -> list[str]:
    if not description.fields:
        return ["", "No fields"]
    rows: list[tuple[str, ...]] = [("name", "of", "components", "type", "range", "files")]
    rows += [_row(field, len(description.files)) for field in description.fields]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    widths[0] = min(widths[0], max(NAME, WIDTH - 2 - sum(2 + width for width in widths[1:])))
    rows = [(_cut(row[0], widths[0]), *row[1:]) for row in rows]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    return ["", "Fields", *(f"  {line}".rstrip() for line in lines)]


def _row(field: FieldSummary, files: int) -> tuple[str, ...]:
    name = field.name if field.name.isprintable() else repr(field.name)
    range_ = "" if field.low is None or field.high is None else f"{_number(field.low)} to {_number(field.high)}"
    return (
        name,
        field.place,
        "/".join(map(str, field.components)),
        "/".join(field.dtypes),
        range_,
        "all" if field.files == files else f"{field.files:,} of {files:,}",
    )


def _cut(name: str, width: int) -> str:
    """A name without its middle, if it is too long; names differ mostly at their ends."""
    tail = (width - 3) // 2
    return name if len(name) <= width else f"{name[: width - 3 - tail]}...{name[-tail:]}"


def _section(title: str, items: Sequence[str]) -> list[str]:
    lines = [line for item in items for line in _wrapped(item, "  - ", "    ")]
    return ["", title, *lines] if items else []


def _wrapped(text: str, first: str, rest: str) -> list[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )


def _sets(sets: Mapping[str, int], files: int) -> str:
    return ", ".join(
        name + (f" ({count:,} of {files:,} files)" if count < files else "") for name, count in sets.items()
    )


def _span(least: int, most: int) -> str:
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def _number(value: float) -> str:
    return f"{value:.4g}"
