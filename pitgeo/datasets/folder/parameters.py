"""Numbers that belong to a file: from a table beside the files, or from their names."""

from __future__ import annotations

import csv
import io
import json
import logging
import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any, NamedTuple

log = logging.getLogger(__name__)

Parameters = dict[str, float]

NUMBER = r"[-+]?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?"
"""A plain number: no thousands, no underscores, no digits of other scripts."""

SHORTEST = r"[-+]?[0-9]+?(?:\.[0-9]+?)??(?:[eE][-+]?[0-9]+?)??"
"""The same, as few characters as will do."""


def read_parameters(
    files: Sequence[Path], table: str = "", pattern: str = "", wanted: Collection[str] = ()
) -> dict[Path, Parameters]:
    """The parameters of every file.

    Args:
        files: The mesh files.
        table: A CSV file with a column ``file`` (names with or without their ending) and a column for every parameter,
            or a JSON file ``{"name": {"parameter": 1.0}}``; empty for none.
        pattern: A file name with parameters in braces, ``"wing_{mach}_{angle}.vtu"``; empty for none.
        wanted: Columns that must be plain numbers; others that are not are passed over.

    Raises:
        FileNotFoundError: If there is no table.
        ValueError: If the table is broken, a file is not in it, or twice, or does not match the pattern, a wanted value
            is not a number, or the table and the name of a file say different ones.
    """
    rows = _table(Path(table)) if table else {}
    found: dict[Path, Parameters] = {}
    for path in files:
        values = dict(named_parameters(path, pattern)) if pattern else {}
        if table:
            names = dict.fromkeys((path.name, path.stem, path.as_posix(), path.with_suffix("").as_posix()))
            fitting = [name for name in names if name in rows]
            if len(fitting) != 1:
                got = f"{len(rows)} rows, the first for {next(iter(rows), 'nothing')}"
                raise ValueError(
                    f"{table}: Expected a row for {path.name}, in the column 'file' (got "
                    + (f"those for {' and '.join(fitting)}); delete all but one" if fitting else f"{got}); add it")
                    + ("" if fitting else ", or leave the file out")
                )
            row = _numbers(table, fitting[0], rows[fitting[0]], wanted)
            for key in row.keys() & values.keys():
                if row[key] != values[key]:
                    raise ValueError(
                        f"{table}: Expected {key} of {path.name} to be as in its name (got {row[key]:g}, and "
                        f"{values[key]:g} by data.meshes.name_pattern); mend one"
                    )
            values.update(row)
        found[path] = values
    return found


def new_parameters(
    files: Sequence[Path], table: str, own: str, pattern: str, wanted: Collection[str]
) -> dict[Path, Parameters]:
    """The numbers of files that a model did not see in training.

    Args:
        files: The files.
        table: A table of these files; empty for that of the training.
        own: The table of the training; a file that it does not name may hold its numbers.
        pattern: Of numbers in file names.
        wanted: Names of the numbers that are read.
    """
    if table or not own:
        return read_parameters(files, table, pattern, wanted)
    numbers, named = read_parameters(files, "", pattern, wanted), list[Path]()
    for file in files:
        try:
            numbers[file].update(read_parameters([file], own, "", wanted)[file])
            named.append(file)
        except (FileNotFoundError, ValueError) as error:
            log.debug("%s: no numbers from the table of the training files: %s", file, error)
    if named:
        others = f" and {len(named) - 1} more" if len(named) > 1 else ""
        log.info("%s%s: numbers by name from %s, the table of the training files", named[0], others, own)
    return numbers


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
    found = []
    for number in (NUMBER, SHORTEST):
        expression = re.escape(parts[0])
        for name, part in zip(names, parts[1:], strict=True):
            expression += rf"(?P<{name}>{number})" + re.escape(part)
        found.append(re.fullmatch(expression, path.name) or re.fullmatch(expression, path.stem))
    match, other = found
    if match is None or other is None:
        raise ValueError(
            f"{path}: Expected a file name like {pattern!r}, by data.meshes.name_pattern, with numbers for "
            f"{', '.join(names)} (got {path.name!r}); rename the file, or change the pattern"
        )
    if match.groupdict() != other.groupdict():
        raise ValueError(
            f"{path}: Expected numbers that can be told apart (got {path.name!r}, which {pattern!r} reads as "
            f"{', '.join(match.groups())} or {', '.join(other.groups())}); put other signs between them"
        )
    return {name: float(text) for name, text in match.groupdict().items()}


class _Row(NamedTuple):
    """What a table says of a file, and the words that say where: a line of it, or nothing."""

    place: str
    cells: Mapping[str, object]


def _table(path: Path) -> dict[str, _Row]:
    if not path.is_file():
        raise FileNotFoundError(
            f"Expected a table of parameters at {path} (got no such file); data.meshes.parameters names it in "
            f"training, 'parameters' in prediction"
        )
    rows: dict[str, _Row] = {}
    for name, row in _json_rows(path) if path.suffix.lower() == ".json" else _csv_rows(path):
        name = PurePath(name).as_posix()
        if name in rows:
            raise ValueError(f"{path}: Expected every file once (got {name} again{row.place}); delete a row")
        rows[name] = row
    return rows


def _json_rows(path: Path) -> Iterator[tuple[str, _Row]]:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in pairs:
            if not key.strip() or key.strip() in found:
                raise ValueError(f"the name {key!r} is empty, or there twice")
            found[key.strip()] = value
        return found

    def refused(word: str) -> float:
        raise ValueError(f"{word} is no number")

    try:
        rows = json.loads(_text(path), object_pairs_hook=once, parse_constant=refused)
    except (ValueError, RecursionError) as error:  # numbers of thousands of digits, too
        raise ValueError(f"{path}: Expected JSON (got: {error}); mend it there") from error
    if not isinstance(rows, dict) or not all(isinstance(row, dict) for row in rows.values()):
        raise ValueError(
            f'{path}: Expected {{"file name": {{"parameter": number}}}} (got another structure); turn it round'
        )
    return iter([(name, _Row("", row)) for name, row in rows.items()])


def _csv_rows(path: Path) -> Iterator[tuple[str, _Row]]:
    """The rows of a CSV file, each with as many cells as there are columns, by the file each is for."""
    reader = csv.reader(io.StringIO(_text(path), newline=""), strict=True)
    try:
        table = [(reader.line_num, [cell.strip() for cell in line]) for line in reader]
    except csv.Error as error:
        raise ValueError(
            f"{path}: Expected a table of text, .csv or .json (got: {error}, in line {reader.line_num}); mend it, or "
            f"save it as CSV"
        ) from error
    table = [(line, cells) for line, cells in table if any(cells)]
    head = table[0][1] if table else []
    if "file" not in head:
        hint = (
            "; separate columns by commas, and write decimals with a point"
            if len(head) == 1 and set(head[0]) & set(";\t")
            else "; name it so"
        )
        raise ValueError(f"{path}: Expected a column 'file' in the first line (got {', '.join(head) or 'none'}){hint}")
    for name, count in Counter(head).items():
        if name and count > 1:
            raise ValueError(f"{path}: Expected every column once (got {name!r} {count} times); rename or delete one")
    for line, cells in table[1:]:
        place = f" in line {line}"
        if len(cells) != len(head):
            raise ValueError(
                f"{path}: Expected {len(head)} cells, one a column of {', '.join(head)} (got {len(cells)}{place}: "
                f"{', '.join(cells)}); write decimals with a point, and thousands without a sign"
            )
        if unnamed := [cell for name, cell in zip(head, cells, strict=True) if cell and not name]:
            raise ValueError(
                f"{path}: Expected a name for every column (got {unnamed[0]!r}{place}, in one without); name it in the "
                f"first line, or delete the column"
            )
        row = dict(zip(head, cells, strict=True))
        if not (name := row.pop("file")):
            raise ValueError(f"{path}: Expected a name in the column 'file' (got none{place}); add it")
        yield name, _Row(place, row)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(
            f"{path}: Expected a table of text in UTF-8, .csv or .json (got other bytes); save it as 'CSV UTF-8'"
        ) from None


def _numbers(table: str, name: str, row: _Row, wanted: Collection[str]) -> Parameters:
    """The cells of a row that hold plain numbers; those wanted must, where they hold something."""
    found: Parameters = {}
    for key, value in row.cells.items():
        is_given = isinstance(value, (int, float)) and not isinstance(value, bool)
        if is_given or re.fullmatch(NUMBER, str(value).strip()):
            try:
                found[key] = float(value if is_given else str(value))  # type: ignore[arg-type]
            except OverflowError:
                found[key] = math.inf
        if key in wanted and not math.isfinite(found.get(key, 0.0 if value in (None, "") else math.inf)):
            raise ValueError(
                f"{table}: Expected a number for {name}, in the column {key!r} (got {value!r}{row.place}); write a "
                f"finite one in digits with a point, as 0.5 or 1e-3"
            )
    return {key: value for key, value in found.items() if math.isfinite(value)}
