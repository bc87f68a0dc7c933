"""Records of an ASCII Tecplot file: variables, and zones with a head of keys and values and a body of numbers."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pitgeo.mesh.names import read_text
from pitgeo.mesh.notes import Note
from pitgeo.mesh.text_numbers import reals

RECORD = re.compile(
    r"^[ \t]*(TITLE|FILETYPE|VARIABLES|ZONE|TEXT|GEOMETRY|CUSTOMLABELS|DATASETAUXDATA|VARAUXDATA|USERREC)\b",
    re.IGNORECASE | re.MULTILINE,
)
SPACE = re.compile(r"(?:[\s,]|#[^\n]*(?:\n|\Z))+")
NUMBER = re.compile(r"[-+]?(?:\.?\d|nan\b|inf)", re.IGNORECASE)
KEY = re.compile(r"(AUXDATA\s+[^\s=]+|[A-Za-z]\w*)\s*=\s*", re.IGNORECASE)
TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"|\'([^\']*)\'', re.DOTALL)
GROUP = re.compile(r"\(([^()]*)\)")
WORD = re.compile(r"[^\s,=()\"']+")


@dataclass
class Zone:
    """A zone as the file has it.

    Args:
        line: Where it begins, counted from 1.
        head: What its head says, by keys in capitals.
        aux: Its auxiliary data, by name.
        body: What follows the head, and the line where that begins.
    """

    line: int
    head: dict[str, str] = field(default_factory=dict)
    aux: dict[str, str] = field(default_factory=dict)
    body: str = ""
    body_line: int = 0


@dataclass
class Records:
    """What an ASCII file holds.

    Args:
        variables: Names of all variables.
        zones: The zones in the order of the file.
        aux: Auxiliary data of the file, by name.
        notes: What is passed over.
    """

    variables: list[str] = field(default_factory=list)
    zones: list[Zone] = field(default_factory=list)
    aux: dict[str, str] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)


def read_records(path: Path) -> Records:
    """Split a file into its records.

    Raises:
        ValueError: If it is binary, or not as the format says; the message names the line.
    """
    if path.read_bytes()[:5] in (b"#!TDV", b"#!SZP"):
        raise ValueError("Expected an ASCII file of Tecplot (got a binary one); save it as .dat in ASCII, or as .vtu")
    result = Records()
    text = read_text(path, result.notes)
    starts = [found.start() for found in RECORD.finditer(text)]
    if not starts or SPACE.sub("", text[: starts[0]]):
        raise ValueError("Expected TITLE, VARIABLES or ZONE first (got something else); is this a file of Tecplot?")
    line, before = 1, 0
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        line, before = line + text.count("\n", before, start), start
        _record(result, text[start:end], line)
    if not result.variables:
        raise ValueError("Expected VARIABLES, the names of what the file holds (got none); write them at its head")
    return result


def _record(result: Records, text: str, line: int) -> None:
    found = RECORD.match(text)
    assert found is not None
    kind, place = found.group(1).upper(), found.end()
    if kind == "ZONE":
        result.zones.append(_zone(text, place, line))
    elif kind == "VARIABLES":
        names, place = _names(text, place, line)
        if result.variables and names != result.variables:
            raise ValueError(f"Expected one list of VARIABLES (got a second one in line {line}); split the file there")
        result.variables = names
        if text[place:].strip():  # numbers without a zone's head
            result.zones.append(Zone(line, {}, {}, text[place:], line + text.count("\n", 0, place)))
    elif kind == "DATASETAUXDATA":
        name, _, value = text[place:].partition("=")
        result.aux[name.strip()] = _unquoted(value)
    elif kind == "FILETYPE" and "SOLUTION" in text.upper():
        raise ValueError(f"Expected a file with a grid (got FILETYPE=SOLUTION in line {line}); save both in one file")
    elif kind in ("TEXT", "GEOMETRY", "CUSTOMLABELS", "VARAUXDATA", "USERREC"):
        result.notes.append(Note("left out", f"{kind} records are left out"))
        result.notes = list(dict.fromkeys(result.notes))


def _names(text: str, place: int, line: int) -> tuple[list[str], int]:
    place = _skip(text, place)
    place = _skip(text, place + 1) if text[place : place + 1] == "=" else place
    names: list[str] = []
    while place < len(text):
        found = TEXT.match(text, place) or (None if names and _first_number(text, place) else WORD.match(text, place))
        if found is None:
            break
        names.append(_unquoted(found.group()).strip())
        place = _skip(text, found.end())
    if not names or (place < len(text) and not NUMBER.match(text, place)):
        raise ValueError(f"Expected names of VARIABLES (got {text[place : place + 20].strip()!r} in line {line})")
    return names, place


def _first_number(text: str, place: int) -> bool:
    """Whether a line begins here with a number."""
    return not text[text.rfind("\n", 0, place) + 1 : place].strip() and NUMBER.match(text, place) is not None


def _zone(text: str, place: int, line: int) -> Zone:
    zone = Zone(line)
    place = _skip(text, place)
    while place < len(text):
        found = KEY.match(text, place)
        if found is None:
            if NUMBER.match(text, place):
                break
            where = line + text.count("\n", 0, place)
            raise ValueError(
                f"Expected key=value or a number (got {text[place : place + 20].split()[0]!r} in line {where})"
            )
        value = TEXT.match(text, found.end()) or GROUP.match(text, found.end()) or WORD.match(text, found.end())
        if value is None:
            where = line + text.count("\n", 0, place)
            raise ValueError(f"Expected a value of {found.group(1)} (got none in line {where})")
        words = found.group(1).split(None, 1)
        if len(words) == 2:
            zone.aux[words[1]] = _unquoted(value.group())
        else:
            zone.head[words[0].upper()] = _unquoted(value.group())
        place = _skip(text, value.end())
    zone.body, zone.body_line = text[place:], line + text.count("\n", 0, place)
    return zone


def _skip(text: str, place: int) -> int:
    found = SPACE.match(text, place)
    return found.end() if found else place


def _unquoted(value: str) -> str:
    value = value.strip()
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        value = value[1:-1]
    return re.sub(r'\\(["\\])', r"\1", value)


def numbers(text: str, line: int) -> NDArray[np.float64]:
    """All numbers of a text; ``3*0.5`` stands for three.

    Raises:
        ValueError: If something is no number; the message names the line.
    """
    if "#" in text:
        text = re.sub(r"#[^\n]*", "", text)
    if "," in text:
        text = text.replace(",", " ")
    if "*" not in text:
        with contextlib.suppress(ValueError):  # as of Fortran's exponents
            return reals(text.encode())
    try:
        return _values(text.split())
    except ValueError as error:
        for number, row in enumerate(text.split("\n"), line):
            for word in row.split():
                if not _is_number(word):
                    raise ValueError(f"Expected numbers (got {word!r} in line {number})") from error
        raise


def _is_number(word: str) -> bool:
    try:
        _values([word])
    except ValueError:
        return False
    return True


def _values(words: list[str]) -> NDArray[np.float64]:
    repeated = [number for number, word in enumerate(words) if "*" in word]
    counts = np.ones(len(words), np.int64)
    if repeated:
        words = list(words)
        for number in repeated:
            count, words[number] = words[number].split("*")
            counts[number] = int(count)
        if (counts < 0).any():
            raise ValueError("a negative count")
    try:
        values = np.array(words, np.str_).astype(np.float64)
    except ValueError:
        values = np.array([re.sub("[dD]", "e", word) for word in words], np.str_).astype(np.float64)
    return np.repeat(values, counts) if repeated else values
