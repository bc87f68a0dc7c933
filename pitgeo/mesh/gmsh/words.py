"""Sections of Gmsh files, and the numbers in them, in ASCII or binary."""

from __future__ import annotations

import re
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pitgeo.mesh.text_numbers import reals, wholes

Numbers = NDArray[np.int64]
Type = Literal["int", "size", "real"]

BYTES = {"int": "<i4", "size": "<i8", "real": "<f8"}


class AsciiWords:
    """The numbers of a text."""

    def __init__(self, section: bytes) -> None:
        self.numbers = reals(section)
        self.place = 0

    def take(self, kind: Type, count: int) -> NDArray[Any]:
        """The next ones, int64 or float64; a ValueError if there are not so many."""
        found = self.numbers[self.place : self.place + count]
        if len(found) < count or count < 0:
            raise ValueError("a section ends too early")
        self.place += count
        return found if kind == "real" else wholes(found)

    def rows(self, count: int, width: int) -> tuple[Numbers, NDArray[np.float64]]:
        """The next rows of a whole number and so many real ones."""
        table = self.take("real", count * (1 + width)).reshape(count, 1 + width)
        return wholes(table[:, 0]), table[:, 1:]


class BinaryWords:
    """The numbers of a binary section."""

    def __init__(self, section: bytes) -> None:
        self.section = section
        self.place = 0

    def take(self, kind: Type, count: int) -> NDArray[Any]:
        """The next ones."""
        size = np.dtype(BYTES[kind]).itemsize * count
        if count < 0 or self.place + size > len(self.section):
            raise ValueError("a section ends too early")
        found = np.frombuffer(self.section, BYTES[kind], count, self.place)
        self.place += size
        return found.astype(np.float64 if kind == "real" else np.int64)

    def rows(self, count: int, width: int) -> tuple[Numbers, NDArray[np.float64]]:
        """The next rows of a whole number and so many real ones."""
        row = np.dtype([("number", "<i4"), ("values", "<f8", (width,))])
        if count < 0 or self.place + row.itemsize * count > len(self.section):
            raise ValueError("a section ends too early")
        table = np.frombuffer(self.section, row, count, self.place)
        self.place += row.itemsize * count
        return table["number"].astype(np.int64), table["values"].astype(np.float64)


Words = AsciiWords | BinaryWords
"""Numbers that are taken from the front."""


def head(content: bytes) -> tuple[bytes, bool]:
    """The version of a file, and whether it is binary; no version if it has no head."""
    found = re.search(rb"\$MeshFormat\s*\n\s*(\S+)\s+([01])\s+8", content[:1000])
    return (found.group(1), found.group(2) == b"1") if found else (b"", False)


class Span(NamedTuple):
    """Place of a section: its start and end, and those of its content."""

    start: int
    end: int
    first: int
    last: int


def sections(content: bytes, name: bytes) -> list[bytes]:
    """Content of the sections of a name."""
    return [content[span.first : span.last] for span in spans(content, name)]


def spans(content: bytes, name: bytes) -> list[Span]:
    """Where the sections of a name are."""
    found, place = list[Span](), 0
    while (start := _line(content, b"$" + name, place)) >= 0:
        first = content.find(b"\n", start) + 1
        last = _line(content, b"$End" + name, first) if first else -1
        if last < 0:
            break
        place = (content.find(b"\n", last) + 1) or len(content)
        found.append(Span(start, place, first, last))
    return found


def _line(content: bytes, word: bytes, place: int) -> int:
    """The place of the next line that consists of a word; -1 if there is none."""
    while (start := content.find(word, place)) >= 0:
        place = start + len(word)
        end = content.find(b"\n", place)
        if (start == 0 or content[start - 1 : start] == b"\n") and not content[
            place : end if end >= 0 else None
        ].strip():
            return start
    return -1
