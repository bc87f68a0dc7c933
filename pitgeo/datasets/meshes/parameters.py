"""Numbers that belong to a file: from a table beside the files, or from their names."""

from __future__ import annotations

import csv
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
            row = rows.get(path.name, rows.get(path.stem))
            if row is None:
                raise ValueError(
                    f"{table}: Expected a row for {path.name}, in the column 'file' (got {len(rows)} rows, the first "
                    f"for {next(iter(rows), 'nothing')})"
                )
            values.update(row)
        found[path] = values
    return found


def named_parameters(path: Path, pattern: str) -> Parameters:
    """The numbers that a file's name holds.

    Raises:
        ValueError: If the name does not match the pattern, or holds something else than a number there.
    """
    names = re.findall(r"{(\w+)}", pattern)
    if not names:
        raise ValueError(f"Expected parameters in braces, as in 'wing_{{mach}}.vtu' (got the pattern {pattern!r})")
    parts = re.split(r"{\w+}", pattern)
    expression = re.escape(parts[0])
    for name, part in zip(names, parts[1:], strict=True):
        expression += rf"(?P<{name}>[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)" + re.escape(part)
    match = re.fullmatch(expression, path.name) or re.fullmatch(expression, path.stem)
    if match is None:
        raise ValueError(f"{path}: Expected a file name like {pattern!r}, with numbers for {names} (got {path.name!r})")
    return {name: float(text) for name, text in match.groupdict().items()}


def _table(path: Path, wanted: Collection[str]) -> Mapping[str, Parameters]:
    if not path.is_file():
        raise FileNotFoundError(f"Expected a table of parameters at {path} (got no such file)")
    if path.suffix.lower() == ".json":
        try:
            rows = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise ValueError(f"{path}: Expected JSON (got: {error})") from error
        if not isinstance(rows, dict) or not all(isinstance(row, dict) for row in rows.values()):
            raise ValueError(f'{path}: Expected {{"file name": {{"parameter": number}}}} (got another structure)')
    else:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file)
            lines = list(reader)
        if "file" not in (reader.fieldnames or ()):
            raise ValueError(f"{path}: Expected a column 'file' (got {', '.join(reader.fieldnames or ()) or 'none'})")
        rows = {line["file"]: {key: line[key] for key in line if key not in ("file", None)} for line in lines}
        if len(rows) != len(lines):
            raise ValueError(f"{path}: Expected every file once in the column 'file' (got one twice)")
    return {
        name: {key: value for key, text in row.items() if (value := _number(path, name, key, text, wanted)) is not None}
        for name, row in rows.items()
    }


def _number(path: Path, name: str, key: str, text: object, wanted: Collection[str]) -> float | None:
    if text is None or str(text).strip() == "":
        return None
    try:
        return float(text)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        if key not in wanted:
            return None
        raise ValueError(f"{path}: Expected a number for {name}, in the column {key!r} (got {text!r})") from None
