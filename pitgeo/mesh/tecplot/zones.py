"""Zones of an ASCII Tecplot file: the values of their variables, and their cells."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pitgeo.mesh.cell_types import known_width
from pitgeo.mesh.cells import grid_cells
from pitgeo.mesh.tecplot.text import Zone, numbers
from pitgeo.mesh.text_numbers import wholes

Numbers = NDArray[np.int64]

KINDS = {
    "LINESEG": "line",
    "TRIANGLE": "triangle",
    "QUADRILATERAL": "quad",
    "TETRAHEDRON": "tetra",
    "BRICK": "hexahedron",
}
TYPES = {"LONGINT": np.int32, "SHORTINT": np.int16, "BYTE": np.uint8, "BIT": np.uint8}
"""Types of variables that are whole numbers; the others are read as float64."""


@dataclass
class Part:
    """What a zone holds: variables of points and of cells by their number, and cells."""

    zone: Zone
    title: str
    points: dict[int, NDArray[Any]]
    cells: dict[int, NDArray[Any]]
    kind: str
    nodes: Numbers


def read_zone(zone: Zone, title: str, variables: Sequence[str], before: Sequence[Part]) -> Part:
    """The variables and cells of a zone; some may be those of zones before it.

    Raises:
        ValueError: If it is not as the format says.
    """
    head, count = zone.head, len(variables)
    kind, is_ordered = _kind(head)
    shape = tuple(_count(head, (axis, f"{axis}MAX"), 1) for axis in "IJK")
    centered = _centered(head.get("VARLOCATION", ""), count)
    shared = _shared(head.get("VARSHARELIST", ""), count, before, "VARSHARELIST")
    passive = set(_list(head.get("PASSIVEVARLIST", ""), count))
    own = [number for number in range(count) if number not in shared and number not in passive]
    values = numbers(zone.body, zone.body_line)
    if is_ordered and not head.keys() & {"I", "J", "K", "IMAX", "JMAX", "KMAX"}:
        shape = (len(values) // max(1, len(own)), 1, 1)
    if is_ordered:
        size = int(np.prod(shape))
        kind, nodes = grid_cells(shape)
        wanted = 0
    else:
        size = _count(head, ("N", "NODES"), None)
        rows = _count(head, ("E", "ELEMENTS"), None)
        nodes = np.zeros((rows, known_width(kind)), np.int64)
        wanted = 0 if "CONNECTIVITYSHAREZONE" in head else nodes.size
    sizes = [len(nodes) if number in centered else size for number in own]
    total = sum(sizes) + wanted
    faces = _count(head, ("FACENEIGHBORCONNECTIONS",), 0)
    if len(values) != total and not (faces and len(values) > total):
        raise ValueError(
            f"Expected {total:,} numbers, of {len(own)} variables at {size:,} points or {len(nodes):,} cells and "
            f"{wanted:,} nodes of cells (got {len(values):,}); is the file whole?"
        )
    if _is_block(zone, len(own), size, centered):
        columns = np.split(values[: sum(sizes)], np.cumsum(sizes)[:-1])
    elif centered & set(own):
        raise ValueError("Expected DATAPACKING=BLOCK, since variables are CELLCENTERED (got POINT)")
    else:
        columns = list(values[: sum(sizes)].reshape(size, len(own)).T)
    if wanted:
        nodes = wholes(values[sum(sizes) : total], "numbers as nodes of cells").reshape(nodes.shape) - 1
    elif not is_ordered:
        nodes = _source(head["CONNECTIVITYSHAREZONE"], before, "CONNECTIVITYSHAREZONE").nodes
    if nodes.size and (nodes.min() < 0 or nodes.max() >= size):
        raise ValueError(f"Expected nodes of cells from 1 to {size} (got {nodes.min() + 1} to {nodes.max() + 1})")
    typed = [_typed(column, number, head.get("DT", "")) for column, number in zip(columns, own, strict=True)]
    part = Part(zone, title, {}, {}, kind, nodes)
    for number, column in zip(own, typed, strict=True):
        (part.cells if number in centered else part.points)[number] = column
    for number, other in shared.items():
        for mine, theirs, length in ((part.points, other.points, size), (part.cells, other.cells, len(nodes))):
            if number in theirs:
                if len(theirs[number]) != length:
                    raise ValueError(f"Expected {length} values in a shared variable (got {len(theirs[number])})")
                mine[number] = theirs[number]
    return part


def _kind(head: dict[str, str]) -> tuple[str, bool]:
    """The type of cells, and whether points are ordered."""
    name = head.get("ZONETYPE") or head.get("ET") or ""
    name = name.upper().removeprefix("FE")
    is_finite = head.get("F", "").upper().startswith("FE") or head.keys() & {"N", "NODES", "E", "ELEMENTS"}
    if name in ("", "ORDERED") and not (name == "" and is_finite):
        return "", True
    if name not in KINDS:
        raise ValueError(
            f"Expected a zone that is ORDERED or of cells {', '.join(KINDS)} (got {name or 'none named'!r}); "
            f"split other cells into triangles or tetrahedra"
        )
    return KINDS[name], False


def _count(head: dict[str, str], keys: Sequence[str], otherwise: int | None) -> int:
    found = next((head[key] for key in keys if key in head), None)
    if found is None:
        if otherwise is None:
            raise ValueError(f"Expected {' or '.join(keys)} in the head (got none)")
        return otherwise
    if not found.isdigit():
        raise ValueError(f"Expected {keys[0]} to be a whole number (got {found!r})")
    return int(found)


def _is_block(zone: Zone, variables: int, size: int, centered: set[int]) -> bool:
    """Whether the packing is BLOCK; without a word in the head, lines of one point each mean POINT."""
    packing = (zone.head.get("DATAPACKING") or zone.head.get("F") or "").upper().removeprefix("FE")
    if packing in ("POINT", "BLOCK"):
        return packing == "BLOCK"
    if packing:
        raise ValueError(f"Expected DATAPACKING to be POINT or BLOCK (got {packing!r})")
    rows = [len(numbers(line, 0)) for line in zone.body.splitlines()[: size + 1000] if line.partition("#")[0].strip()]
    if size > 1 and variables > 1 and (centered or rows[:size] != [variables] * size):
        raise ValueError("Expected DATAPACKING in the head (got none, nor a line for each point); write it there")
    return False


def _list(text: str, count: int) -> list[int]:
    """The numbers, from 0, in ``[1-3,5]``."""
    result: list[int] = []
    for word in re.findall(r"\d+(?:\s*-\s*\d+)?", text):
        first, _, last = word.partition("-")
        result += range(int(first) - 1, int(last or first))
    if any(not 0 <= number < count for number in result):
        raise ValueError(f"Expected numbers of variables from 1 to {count} (got {text!r})")
    return result


def _centered(text: str, count: int) -> set[int]:
    """Variables of cells: of ``([1-2]=NODAL,[3]=CELLCENTERED)`` or ``(NODAL,NODAL,CELLCENTERED)``."""
    if "=" not in text:
        words = re.findall(r"[A-Za-z]+", text)
        return {number for number, word in enumerate(words) if word.upper().startswith("CELL")}
    pairs = re.findall(r"(\[[^\]]*\]|\d+)\s*=\s*([A-Za-z]+)", text)
    return {
        number for numbers_, place in pairs if place.upper().startswith("CELL") for number in _list(numbers_, count)
    }


def _shared(text: str, count: int, before: Sequence[Part], key: str) -> dict[int, Part]:
    """The zones that variables are taken from: of ``([1-2]=1,[4])``; without a number, the zone before."""
    pairs = re.findall(r"(\[[^\]]*\]|\b\d+)\s*(?:=\s*(\d+))?", text)
    return {
        number: _source(zone or str(len(before)), before, key) for some, zone in pairs for number in _list(some, count)
    }


def _source(text: str, before: Sequence[Part], key: str) -> Part:
    number = int(text) if text.isdigit() else 0
    if not 1 <= number <= len(before):
        raise ValueError(f"Expected {key} to name a zone before this one, 1 to {len(before)} (got {text!r})")
    return before[number - 1]


def _typed(values: NDArray[np.float64], number: int, types: str) -> NDArray[Any]:
    names = [name for word in re.sub(r"[(),]", " ", types.upper()).split() for name in _repeated(word)]
    if number >= len(names) or names[number] not in TYPES:
        return values
    return wholes(values, f"numbers as values of type {names[number]}").astype(TYPES[names[number]])


def _repeated(word: str) -> list[str]:
    count, star, name = word.partition("*")
    return [name] * int(count) if star and count.isdigit() else [word]
