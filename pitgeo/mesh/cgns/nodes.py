"""Nodes of CGNS files in HDF5: names, labels and values, whose sizes are checked before they are read."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from pitgeo.mesh.names import decode, ended

Numbers = NDArray[np.int64]

SIGNATURE = b"\x89HDF\r\n\x1a\n"
"""How HDF5 files begin; CGNS is in HDF5, or in ADF, which is older."""

COMPRESSION = 1100
"""No filter of HDF5 makes values smaller than this part of them."""

LINKS = 16
"""Links that are followed from one to the next."""

TEXT = 100_000
"""Characters of a text at most."""

ADVICE = "export the mesh again, or save it as .vtu in ParaView"


class Node:
    """A node in the tree of a CGNS file.

    Args:
        group: Where it is in the file.
        name: Its name, which a link may give to another node.
        parent: The names of the nodes above it, for messages.
    """

    def __init__(self, group: h5py.Group, name: str, parent: str = "") -> None:
        self._group = group
        self.name = name
        self.where = f"{parent}/{name}" if parent else name
        self.label = _attribute(group, "label")

    def refusal(self, expected: str, got: Any, advice: str = ADVICE) -> ValueError:
        """The error for a fault in this node."""
        return ValueError(f"Expected {expected} (got {got} in {self.where}); {advice}")

    @cached_property
    def children(self) -> tuple[Node, ...]:
        """Child nodes in natural order of their names; links are followed."""
        return tuple(sorted(self._children(), key=lambda node: natural(node.name)))

    def _children(self) -> Iterator[Node]:
        for key in self._group:
            stored = key if isinstance(key, bytes) else key.encode()  # bytes where they are no UTF-8
            if stored.startswith(b" "):  # such hold the value of a node
                continue
            group = self._followed(self._group, stored)
            if group is not None:
                is_own = self._group.id.links.get_info(stored).type == h5py.h5l.TYPE_HARD  # then it may say its name
                name = _attribute(self._group[stored], "name") if is_own else ""
                yield Node(group, name or decode(stored), self.where)

    def _followed(self, group: h5py.Group, key: bytes) -> h5py.Group | None:
        """A group by its name, or the group that it links to; ``None`` for a data set."""
        name = decode(key)
        for _ in range(LINKS):
            try:
                found = group[key]
            except (KeyError, OSError, RuntimeError, ValueError) as error:
                is_other = group.id.links.get_info(key).type == h5py.h5l.TYPE_EXTERNAL
                file = f"the file {decode(group.id.links.get_val(key)[0])!r}" if is_other else "another node"
                advice = "put it beside this file, or write all into one file"
                raise self.refusal(f"{file}, to which {name!r} links", "none that can be read", advice) from error
            if not isinstance(found, h5py.Group):
                return None
            if _attribute(found, "type") != "LK":
                return found
            if " link" not in found:
                raise self.refusal(f"the link of {name!r}", "nothing that can be followed", "write all into one file")
            group, key = found, b" link"
        what = f"at most {LINKS} links after each other"
        raise self.refusal(what, f"more from {name!r}", "write all into one file")

    def all(self, *labels: str) -> list[Node]:
        """The nodes under this one of some labels."""
        return [node for node in self.children if node.label in labels]

    def named(self, *names: str) -> Node | None:
        """The first node under this one that has one of these names."""
        return next((node for name in names for node in self.children if node.name == name), None)

    def needed(self, name: str) -> Node:
        """The node of a name under this one.

        Raises:
            ValueError: If there is none.
        """
        node = self.named(name)
        if node is None:
            raise self.refusal(f"a node {name!r}", "none")
        return node

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the value as HDF5 has it, whose axes are in the opposite order of those of CGNS."""
        data = self._data
        return () if data is None or data.shape is None else data.shape

    @property
    def size(self) -> int:
        """How many numbers there are; 0 if none."""
        return math.prod(self.shape) if self.shape else 0

    @property
    def kind(self) -> str:
        """``"i"`` for whole numbers, ``"f"`` for others, ``"c"`` for texts; empty for what is neither, or no value."""
        if self._data is None or _attribute(self._group, "type") == "C1":
            return "" if self._data is None else "c"
        return {"i": "i", "u": "i", "f": "f", "S": "c"}.get(self._data.dtype.kind, "")

    @cached_property
    def _data(self) -> h5py.Dataset | None:
        data = self._group.get(" data")
        return data if isinstance(data, h5py.Dataset) else None

    def values(self) -> NDArray[Any]:
        """The value in the machine's byte order.

        Raises:
            ValueError: If the file does not hold as much as it says.
        """
        data = self._data
        if data is None or not self.size:
            return np.zeros(self.shape or (0,))
        stored, held = data.id.get_storage_size(), data.size * data.dtype.itemsize
        is_plain = data.id.get_create_plist().get_nfilters() == 0
        if data.is_virtual or data.external or stored > data.file.id.get_filesize():
            raise self.refusal("values in the file itself", "values elsewhere")
        if held > stored * (1 if is_plain else COMPRESSION):
            raise self.refusal(f"{held:,} bytes of values", f"{stored:,}", "the file is damaged: write it again")
        try:
            values = np.asarray(data[()])
        except (OSError, RuntimeError, ValueError, TypeError) as error:
            raise self.refusal("values that can be read", " ".join(str(error).split())[:100]) from error
        return values.astype(values.dtype.newbyteorder("="), copy=False)

    def numbers(self, size: int | None = None) -> Numbers:
        """Whole numbers in one row, as many as asked for.

        Raises:
            ValueError: If there are others.
        """
        if self.kind != "i" or (size is not None and self.size != size):
            count = "" if size is None else f"{size:,} "
            raise self.refusal(f"{count}whole numbers", f"{self.size:,} {'' if self.kind == 'i' else 'other '}values")
        return self.values().astype(np.int64).ravel()

    def text(self) -> str:
        """The value as a text; empty if there is none.

        Raises:
            ValueError: If it is no text.
        """
        if self._data is None:
            return ""
        if self.kind != "c" or self.size > TEXT:
            raise self.refusal("a text", f"{self.size:,} values")
        return decode(ended(_letters(self.values())))

    def texts(self) -> list[list[str]]:
        """A table of texts of fixed width, row by row.

        Raises:
            ValueError: If it is none.
        """
        if self.kind != "c" or self.size > 100 * TEXT or not self.shape or not self.size:
            raise self.refusal("a table of texts", f"{self.size:,} values")
        values, width = _letters(self.values()), self.shape[-1]
        words = [decode(ended(values[start : start + width])) for start in range(0, len(values), width)]
        columns = self.shape[-2] if len(self.shape) > 1 else 1
        return [words[start : start + columns] for start in range(0, len(words), columns)]


def natural(name: str) -> tuple[tuple[int, str], ...]:
    """A sort key by which numbers in names are compared as numbers.

    Example:
        >>> sorted(["Zone 10", "Zone 2"], key=natural)
        ['Zone 2', 'Zone 10']
    """
    parts = re.findall(r"[0-9]+|[^0-9]+", name)
    return tuple((int(part), "") if part.isdecimal() and part.isascii() else (-1, part) for part in parts)


def _letters(values: NDArray[Any]) -> bytes:
    return values.astype(values.dtype if values.dtype.kind == "S" else np.uint8).tobytes()


def _attribute(group: h5py.Group, name: str) -> str:
    """An attribute of a group as a text; empty if there is none."""
    try:
        value = group.attrs.get(name)
    except (KeyError, OSError, RuntimeError, ValueError, TypeError):
        return ""
    if isinstance(value, str):
        return value.split("\0")[0]
    return decode(ended(bytes(value))) if isinstance(value, bytes) else ""
