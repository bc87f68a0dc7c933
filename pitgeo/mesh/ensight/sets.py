"""Time sets and file sets of EnSight cases, and the files that they name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pitgeo.mesh.names import read_text
from pitgeo.mesh.text_numbers import real, whole

Lines = list[tuple[str, str]]
"""Keys in small letters, and what is behind the colon; an empty key where there is no colon."""


FileSet = Sequence[tuple[int | None, int]]
"""Number in the name, if there is one, and steps of every file."""


class TimeSet(NamedTuple):
    """Times, and the numbers in the names of their files, if any."""

    times: list[float]
    numbers: list[int]

    def step(self, time: float) -> int:
        """The number of the last time that is not later than the given one."""
        return max(0, int(np.searchsorted(self.times, time, side="right")) - 1)


class Located(NamedTuple):
    """The location of values: a file, the number of the step in it, and its number of steps."""

    path: Path
    number: int
    steps: int


@dataclass(frozen=True)
class Entry:
    """The files of the geometry or of a variable.

    Args:
        folder: The folder of the case.
        what: What it is, for messages.
        file: The name, with ``*`` for numbers.
        times: Its times, if it has some.
        pieces: Of a file set: number in the name, if there is one, and steps of every file.
        name: Of a variable: its name,
        components: how many numbers a value has,
        place: and what has values, ``"node"`` or ``"element"``.
        connected: Of a geometry whose points alone change: the step that holds the elements.
    """

    folder: Path
    what: str
    file: str
    times: TimeSet | None
    pieces: FileSet = ()
    name: str = ""
    components: int = 1
    place: str = ""
    connected: int | None = None

    def at(self, step: int) -> Located:
        """The location of the values of a step.

        Raises:
            ValueError: If the case does not say it, or there is no such file.
        """
        number, count, index = 0, 1, None
        if self.pieces:
            ends = np.cumsum([steps for _, steps in self.pieces])
            piece = int(np.searchsorted(ends, step, side="right"))
            if piece == len(ends):
                raise ValueError(f"Expected step {step} of {self.what} in its file set (got {ends[-1]} steps)")
            index, count = self.pieces[piece]
            number = step - int(ends[piece]) + count
        elif self.times and self.times.numbers:
            index = self.times.numbers[step]
        stars = re.search(r"\*+", self.file)
        if stars and index is None:
            raise ValueError(
                f"Expected a time set with numbers for the name {self.file!r} of {self.what} (got none); give "
                f"'filename start number' and 'filename increment', or 'filename numbers'"
            )
        if self.times and len(self.times.times) > 1 and self.name and not stars and not self.pieces:
            raise ValueError(
                f"Expected a '*' in the name of the file of {self.what}, or a file set, for {len(self.times.times)} "
                f"times (got {self.file!r}); mend its line"
            )
        file = self.file
        if stars:
            file = file[: stars.start()] + f"{index:0{len(stars.group())}d}" + file[stars.end() :]
        path = self.folder / file
        if not path.is_file():
            raise ValueError(
                f"Expected the file {file!r} of {self.what} beside the case (got no such file); put it there, or "
                f"delete its line"
            )
        return Located(path, number, count)


def joined(lines: Lines) -> Lines:
    """The lines; a line without a colon continues the line before.

    Raises:
        ValueError: If the first has none.
    """
    result: Lines = []
    for key, value in lines:
        if key:
            result.append((key, value))
        elif result:
            result[-1] = (result[-1][0], f"{result[-1][1]} {value}")
        else:
            raise ValueError(f"Expected a key and a colon (got {value[:60]!r})")
    return result


def reals(text: str, what: str) -> list[float]:
    """The numbers of a text.

    Raises:
        ValueError: If it holds something else.
    """
    try:
        return [real(word) for word in text.split()]
    except ValueError as error:
        raise ValueError(f"Expected numbers for the {what} (got {str(error)[:40]!r})") from None


def whole_number(text: str, what: str) -> int:
    """The number that a text begins with.

    Raises:
        ValueError: If it is no whole one.
    """
    try:
        return whole(text.split()[0])
    except (ValueError, IndexError):
        raise ValueError(f"Expected a whole number for the {what} (got {text[:40]!r})") from None


def _groups(lines: Lines, head: str) -> dict[int, Lines]:
    """The lines of every set, by its number."""
    found: dict[int, Lines] = {}
    own: Lines = []
    for key, value in joined(lines):
        if key == head:
            number = whole_number(value, head)
            if number in found:
                raise ValueError(f"Expected each {head} once (got {number} twice)")
            own = found[number] = []
        elif not found:
            raise ValueError(f"Expected '{head}:' (got {key!r})")
        else:
            own.append((key, value))
    return found


def time_sets(lines: Lines, folder: Path) -> dict[int, TimeSet]:
    """The time sets of a case by their numbers.

    Raises:
        ValueError: If one is not whole, or its times do not increase.
    """
    result = {}
    for number, pairs in _groups(lines, "time set").items():
        own, where = dict(pairs), f"of time set {number}"
        for name in ("time values", "filename numbers"):
            if f"{name} file" in own:
                file = folder / own[f"{name} file"].strip('"')
                if not file.is_file():
                    raise ValueError(f"Expected the {name} {where} at {file.name} beside the case (got no such file)")
                own[name] = read_text(file)
        count = whole_number(own.get("number of steps", ""), f"number of steps {where}")
        times = reals(own.get("time values", ""), f"time values {where}")
        numbers = [whole_number(word, f"filename numbers {where}") for word in own.get("filename numbers", "").split()]
        if "filename start number" in own:
            start = whole_number(own["filename start number"], f"filename start number {where}")
            increment = whole_number(own.get("filename increment", "1"), f"filename increment {where}")
            numbers = [start + increment * step for step in range(len(times))]
        if count < 1 or len(times) != count or len(numbers) not in (0, count) or min(numbers, default=0) < 0:
            raise ValueError(
                f"Expected {count} time values {where}, and as many numbers of files or none (got {len(times)} and "
                f"{len(numbers)}); is the file whole?"
            )
        if not np.isfinite(times).all() or (np.diff(times) <= 0).any():
            raise ValueError(f"Expected times that increase {where} (got {times[:10]}); mend its time values")
        result[number] = TimeSet(times, numbers)
    return result


def file_sets(lines: Lines) -> dict[int, FileSet]:
    """The file sets of a case by their numbers.

    Raises:
        ValueError: If one does not say how many steps its files hold.
    """
    result: dict[int, FileSet] = {}
    for number, pairs in _groups(lines, "file set").items():
        where = f"of file set {number}"
        index: int | None = None
        pieces: list[tuple[int | None, int]] = []
        for key, value in pairs:
            if key == "filename index":
                index = whole_number(value, f"filename index {where}")
            elif key == "number of steps":
                pieces.append((index, whole_number(value, f"number of steps {where}")))
        if not pieces or min(steps for _, steps in pieces) < 1 or (len(pieces) > 1 and None in dict(pieces)):
            raise ValueError(f"Expected numbers of steps {where}, each of a filename index if several (got {pairs})")
        result[number] = pieces
    return result
