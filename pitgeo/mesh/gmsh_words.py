"""The sections of Gmsh files, and the numbers in them one after another, whether in ASCII or binary."""

from __future__ import annotations

import re
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
Type = Literal["int", "size", "real"]

BYTES = {"int": "<i4", "size": "<i8", "real": "<f8"}


class Words(Protocol):
    """Numbers that are taken from the front."""

    def take(self, kind: Type, count: int) -> NDArray[Any]:
        """The next ones, int64 or float64; a ValueError if there are not so many."""
        ...

    def rows(self, count: int, width: int) -> tuple[Numbers, NDArray[np.float64]]:
        """The next rows of a whole number and so many real ones."""
        ...


class AsciiWords:
    """The numbers of a text."""

    def __init__(self, section: bytes) -> None:
        self.words = section.split()
        self.place = 0

    def take(self, kind: Type, count: int) -> NDArray[Any]:
        """The next ones."""
        found = self.words[self.place : self.place + count]
        if len(found) < count or count < 0:
            raise ValueError("a section ends too early")
        self.place += count
        return np.array(found).astype(np.float64 if kind == "real" else np.int64)

    def rows(self, count: int, width: int) -> tuple[Numbers, NDArray[np.float64]]:
        """The next rows of a whole number and so many real ones."""
        table = self.take("real", count * (1 + width)).reshape(count, 1 + width)
        return table[:, 0].astype(np.int64), table[:, 1:]


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


def head(content: bytes) -> tuple[bytes, bool]:
    """The version of a file, and whether it is binary; no version if it has no head."""
    found = re.search(rb"\$MeshFormat\s*\n\s*(\S+)\s+([01])\s+8", content[:1000])
    return (found.group(1), found.group(2) == b"1") if found else (b"", False)


def sections(content: bytes, name: bytes) -> list[bytes]:
    """What the sections of a name hold."""
    return [content[slice(*found.span(1))] for found in spans(content, name)]


def spans(content: bytes, name: bytes) -> list[re.Match[bytes]]:
    """Where the sections of a name are, and what they hold as the first group."""
    pattern = rb"^\$" + name + rb"\s*?\n(.*?)^\$End" + name + rb"[^\S\n]*\n?"
    return list(re.finditer(pattern, content, re.DOTALL | re.MULTILINE))
