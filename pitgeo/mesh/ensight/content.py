"""Words and numbers of EnSight files, one after the other: in text, C Binary or Fortran Binary."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pitgeo.mesh.names import decode
from pitgeo.mesh.text_numbers import is_complete, real, whole

Form = Literal["text", "<", ">", "Fortran"]
"""Text, C Binary of either byte order, or Fortran Binary, whose records say their order."""

WIDTH = 80
"""Bytes of a text in a binary file."""

BEGIN, END, INDEX = b"BEGIN TIME STEP", b"END TIME STEP", b"FILE_INDEX"
"""What stands round each of several steps in one file, and at the end of an index of them."""


class _File:
    """A file that is read from its start to its end.

    Args:
        name: What it is called in messages.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.part = ""  # the part that is being read, for messages
        self.place = 0  # how far the file is read

    def wrong(self, expected: str, got: str) -> ValueError:
        """The error for a fault at the place that is being read."""
        where = f"{self.name}, {self.part}," if self.part else self.name
        return ValueError(f"Expected {expected} in {where} (got {got}); is the file whole? Else write it again")


class Lines(_File):
    """A file in text."""

    def __init__(self, content: bytes, name: str) -> None:
        super().__init__(name)
        text = decode(content).replace("\r\n", "\n").replace("\r", "\n")
        self.lines = text.split("\n")

    def line(self, what: str) -> str:
        """The next text, as it is."""
        if self.place >= len(self.lines):
            raise self.wrong(what, "its end")
        self.place += 1
        return self.lines[self.place - 1].strip()

    def word(self) -> str:
        """The next keyword in lower case, without moving on; empty at the end of the file."""
        while self.place < len(self.lines):
            line = self.lines[self.place].strip()
            if line and not line.startswith("#"):
                return " ".join(line.lower().split())
            self.place += 1
        return ""

    def skip(self) -> None:
        """Pass over the keyword."""
        self.place += 1

    def extents(self) -> None:
        """Pass over the corners of the box."""
        for _ in range(3):
            self.word()
            self.place += 1

    def wholes(self, count: int, what: str) -> NDArray[np.int64]:
        """Whole numbers."""
        return np.array(self._numbers(count, what, int, whole), np.int64)

    def reals(self, count: int, what: str) -> NDArray[Any]:
        """Numbers."""
        return np.array(self._numbers(count, what, float, real), np.float64)

    def _numbers(
        self, count: int, what: str, quick: Callable[[str], float], convert: Callable[[str], float]
    ) -> list[float]:
        """Numbers up to the end of a line; most files hold one a line."""
        rows = self.lines[self.place : self.place + count]
        if len(rows) == count and not any("_" in row for row in rows):
            try:
                values = list(map(quick, rows))
            except ValueError:
                pass
            else:
                self.place += count
                if quick is float or all(abs(value) < 2**31 for value in values):
                    return values
                raise self.wrong(f"{count:,} {what}", "one beyond 32 bits")
        values = []
        while len(values) < count:
            if not self.word():
                raise self.wrong(f"{count:,} {what}", f"{len(values):,} before its end")
            for word in self.lines[self.place].split():
                try:
                    values.append(convert(word))
                except ValueError:
                    raise self.wrong(f"{count:,} {what}", f"{word[:40]!r} after {len(values):,}") from None
            self.place += 1
        if len(values) > count:
            raise self.wrong(f"{count:,} {what}, which end with a line", f"{len(values):,}")
        return values


class Bytes(_File):
    """A binary file."""

    def __init__(self, content: bytes, order: str, name: str) -> None:
        super().__init__(name)
        self.content = content
        self.order = order

    def line(self, what: str) -> str:
        """The next text, as it is."""
        text = self.content[self.place : self.place + WIDTH]
        if len(text) < WIDTH:
            raise self.wrong(f"{what}, {WIDTH} bytes,", f"{len(text)} before its end")
        self.place += WIDTH
        return decode(text.split(b"\0", 1)[0]).strip()

    def word(self) -> str:
        """The next keyword in lower case, without moving on; empty at the end of the file."""
        if self.place == len(self.content):
            return ""
        text = self.line("a keyword")
        self.place -= WIDTH
        return " ".join(text.lower().split()) or "an empty text"

    def skip(self) -> None:
        """Pass over the keyword."""
        self.place += WIDTH

    def extents(self) -> None:
        """Pass over the corners of the box."""
        self.reals(6, "corners of the box")

    def wholes(self, count: int, what: str) -> NDArray[np.int64]:
        """Whole numbers."""
        return self._numbers(count, what, "i4").astype(np.int64)

    def reals(self, count: int, what: str) -> NDArray[Any]:
        """Numbers."""
        return self._numbers(count, what, "f4").astype(np.float32)

    def _numbers(self, count: int, what: str, kind: str) -> NDArray[Any]:
        left = (len(self.content) - self.place) // 4
        if count > left:
            raise self.wrong(f"{count:,} {what}", f"{left:,} before its end")
        found = np.frombuffer(self.content, self.order + kind, count, self.place)
        self.place += 4 * count
        return found


Content = Lines | Bytes


def form_of(content: bytes) -> tuple[Form, ...]:
    """The possible forms of a geometry file."""
    if content[:WIDTH].lower().lstrip().startswith(b"c binary"):
        return ("<", ">")
    return ("Fortran",) if b"fortran binary" in content[: WIDTH + 4].lower() else ("text",)


def contents(content: bytes, form: Form, name: str, number: int, count: int) -> Content:
    """One of the steps that a file holds.

    Args:
        content: The file.
        form: How it is written.
        name: What it is called in messages.
        number: Number of the step in the file.
        count: How many it should hold.

    Raises:
        ValueError: If it holds another number of steps, or ends within one.
    """
    order = str(form)
    if form == "text" and not is_complete(decode(content[-1000:])):
        raise _File(name).wrong("the last line ended by a line break", "none")
    if form == "Fortran":
        content, order = _records(content, name)
    content = _step(content, form == "text", name, number, count)
    return Lines(content, name) if form == "text" else Bytes(content, order, name)


def _records(content: bytes, name: str) -> tuple[bytes, str]:
    """The content of Fortran's records, without the lengths round each, and the byte order."""
    order = next((order for order in "<>" if content[:4] == np.array(WIDTH, order + "i4").tobytes()), "")
    if not order:
        raise _File(name).wrong(f"a first record of {WIDTH} bytes", f"{content[:4]!r} for its length")
    found, place = [], 0
    while place < len(content):
        mark = content[place : place + 4]
        end = place + 4 + (int(np.frombuffer(mark, order + "i4")[0]) if len(mark) == 4 else 0)
        if end < place + 4 or content[end : end + 4] != mark:
            raise _File(name).wrong("records of Fortran", f"one at byte {place:,} without its length at its end")
        found.append(content[place + 4 : end])
        place = end + 4
    return b"".join(found), order


def _step(content: bytes, is_text: bool, name: str, number: int, count: int) -> bytes:
    wrong = _File(name).wrong
    starts = [found.start() for found in re.finditer(BEGIN, content)]
    if len(starts) != count and (starts or count != 1):
        raise wrong(f"{count} times", f"{len(starts) or 1}")
    if not starts:
        return content
    before, result = 0, b""
    for step, start in enumerate(starts):
        between = content[before:start].split(b"\0")[0].split()
        end = content.find(END, start)
        if between and [word.lower() for word in between] not in ([b"c", b"binary"], [b"fortran", b"binary"]):
            raise wrong(f"nothing before {BEGIN.decode()}", f"{b' '.join(between)[:40]!r}")
        if not start < end < (starts[step + 1] if step + 1 < count else len(content)):
            raise wrong(f"{END.decode()} after every time", f"none after number {step}")
        if step == number:
            result = content[_after(content, start, is_text) : content.rfind(b"\n", 0, end) + 1 if is_text else end]
        before = _after(content, end, is_text)
    rest = content[before:]
    is_index = INDEX in rest and (is_text or len(rest) == 4 + 8 * count + 4 + 8 + WIDTH)
    if before > len(content) or (rest.strip() and not is_index):
        raise wrong(f"nothing after the last {END.decode()}", f"{len(rest):,} bytes")
    return result


def _after(content: bytes, place: int, is_text: bool) -> int:
    """The place after a mark."""
    if not is_text:
        return place + WIDTH
    end = content.find(b"\n", place)
    return end + 1 if end >= 0 else len(content)
