"""Numbers that belong to a file: from a table beside the files, or from their names."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

Parameters = dict[str, float]


def read_parameters(
    files: Sequence[Path], table: str = "", pattern: str = "", wanted: Collection[str] = ()
) -> dict[Path, Parameters]:
    """The parameters of every file.

    Args:
        files: The mesh files.
        table: A CSV file with a column ``file`` (names with or without their ending) and a column for every parameter,
            or a JSON file ``{"name": {"parameter": 1.0}}``; empty for none.
        pattern: A file name with parameters in braces, ``"wing_{mach}_{angle}.vtu"``; empty for none.
        wanted: Columns that must be numbers; others that are not are passed over.

    Raises:
        FileNotFoundError: If there is no table.
        ValueError: If a file is not in the table or does not match the pattern, or a wanted value is not a number.
    """
    rows = _table(Path(table), wanted) if table else {}
    found: dict[Path, Parameters] = {}
    for path in files:
        values = dict(named_parameters(path, pattern)) if pattern else {}
        if table:
            row = next((rows[name] for name in (path.name, path.stem, path.as_posix()) if name in rows), None)
            if row is None:
                raise ValueError(
                    f"{table}: Expected a row for {path.name}, in the column 'file' (got {len(rows)} rows, the first "
                    f"for {next(iter(rows), 'nothing')}); add it, or leave the file out"
                )
            values.update(row)
        found[path] = values
    return found


def pattern_names(pattern: str) -> list[str]:
    """The parameters in a pattern of file names.

    Raises:
        ValueError: If there is none, one is there twice, or is no name.
    """
    names = re.findall(r"{(\w+)}", pattern)
    if not names:
        raise ValueError(f"Expected parameters in braces, as in 'wing_{{mach}}.vtu' (got the pattern {pattern!r})")
    if len(set(names)) < len(names):
        raise ValueError(f"Expected every parameter once in the pattern (got {pattern!r}); give each its own name")
    if wrong := [name for name in names if not name.isidentifier()]:
        raise ValueError(f"Expected names of parameters that start with a letter (got {wrong[0]!r} in {pattern!r})")
    return names


def named_parameters(path: Path, pattern: str) -> Parameters:
    """The numbers that a file's name holds.

    Raises:
        ValueError: If the name does not match the pattern, or holds something else than a number there.
    """
    names = pattern_names(pattern)
    parts = re.split(r"{\w+}", pattern)
    expression = re.escape(parts[0])
    for name, part in zip(names, parts[1:], strict=True):
        expression += rf"(?P<{name}>[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)" + re.escape(part)
    match = re.fullmatch(expression, path.name) or re.fullmatch(expression, path.stem)
    if match is None:
        raise ValueError(
            f"{path}: Expected a file name like {pattern!r}, by data.meshes.name_pattern, with numbers for "
            f"{', '.join(names)} (got {path.name!r}); rename the file, or change the pattern"
        )
    return {name: float(text) for name, text in match.groupdict().items()}


def _table(path: Path, wanted: Collection[str]) -> Mapping[str, Parameters]:
    if not path.is_file():
        raise FileNotFoundError(
            f"Expected a table of parameters at {path} (got no such file); data.meshes.parameters names it in "
            f"training, --parameters in prediction"
        )
    if path.suffix.lower() == ".json":
        try:
            rows = json.loads(_text(path))
        except json.JSONDecodeError as error:
            raise ValueError(f"{path}: Expected JSON (got: {error}); mend it there") from error
        if not isinstance(rows, dict) or not all(isinstance(row, dict) for row in rows.values()):
            raise ValueError(
                f'{path}: Expected {{"file name": {{"parameter": number}}}} (got another structure); turn it round'
            )
    else:
        rows = _csv_rows(path)
    return {
        name: {key: value for key, text in row.items() if (value := _number(path, name, key, text, wanted)) is not None}
        for name, row in rows.items()
    }


def _csv_rows(path: Path) -> dict[str, dict[str, str]]:
    """The rows of a CSV file, by the file each is for."""
    try:
        table = [[cell.strip() for cell in line] for line in csv.reader(io.StringIO(_text(path), newline="")) if line]
    except csv.Error as error:
        raise ValueError(f"{path}: Expected a table of text, .csv or .json (got: {error}); save it as CSV") from error
    head = table[0] if table else []
    if "file" not in head:
        hint = "; separate columns by a comma" if len(head) == 1 and set(head[0]) & set(";\t") else "; name it so"
        raise ValueError(f"{path}: Expected a column 'file' in the first line (got {', '.join(head) or 'none'}){hint}")
    rows: dict[str, dict[str, str]] = {}
    for cells in table[1:]:
        row = dict(zip(head, cells, strict=False))
        name = row.pop("file", "")
        if name in rows:
            raise ValueError(f"{path}: Expected every file once in the column 'file' (got {name} twice); delete a row")
        rows[name] = row
    return rows


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(
            f"{path}: Expected a table of text in UTF-8, .csv or .json (got other bytes); save it as 'CSV UTF-8'"
        ) from None


def _number(path: Path, name: str, key: str, text: object, wanted: Collection[str]) -> float | None:
    if text is None or str(text).strip() == "":
        return None
    try:
        return float(text)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        if key not in wanted:
            return None
        raise ValueError(
            f"{path}: Expected a number for {name}, in the column {key!r} (got {text!r}); write it with a point, as 0.5"
        ) from None
