"""One grid of an XDMF file: its points, cells and fields."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray

from pitgeo.mesh.cell_types import known_width, width
from pitgeo.mesh.notes import Note
from pitgeo.mesh.raw import Raw
from pitgeo.mesh.xdmf.items import read_item

_TYPES = """
1 vertex polyvertex | 2 line polyline | 3 polygon polygon | 4 triangle triangle | 5 quad quadrilateral
6 tetra tetrahedron | 7 pyramid pyramid | 8 wedge wedge | 9 hexahedron hexahedron
34 line3 edge_3 | 35 quad9 quadrilateral_9 quad_9 | 36 triangle6 triangle_6 tri_6 | 37 quad8 quadrilateral_8 quad_8
38 tetra10 tetrahedron_10 tet_10 | 39 pyramid13 pyramid_13 | 40 wedge15 wedge_15 | 41 wedge18 wedge_18
48 hexahedron20 hexahedron_20 hex_20 | 49 hexahedron24 hexahedron_24 hex_24 | 50 hexahedron27 hexahedron_27 hex_27
51 hexahedron64 hexahedron_64 hex_64 | 52 hexahedron125 hexahedron_125 hex_125
""".replace("\n", "|")
_ROWS = [row.split() for row in _TYPES.split("|") if row.strip()]
BY_NUMBER = {int(number): kind for number, kind, *_ in _ROWS}
"""Types by their numbers in mixed topologies."""
BY_NAME = {name: int(number) for number, _, *names in _ROWS for name in names}

Block = tuple[str, NDArray[np.int64], NDArray[np.int64]]
"""Type and nodes of cells, and the number in the file that each comes from."""

Content = tuple[Any, ...]


def content(element: Element) -> Content:
    """Content of an element and all elements below it, for comparison."""
    return tuple((part.tag, *sorted(part.items()), (part.text or "").strip()) for part in element.iter())


def key_of(grid: Element) -> Content:
    """A key that is equal for grids on one mesh."""
    return tuple(content(part) for tag in ("Topology", "Geometry") for part in grid.findall(tag))


def digest_of(grid: Element) -> bytes:
    """A digest that is equal for grids with equal points and cells.

    Raises:
        ValueError: If they cannot be read.
    """
    points = _read("its points", _points, grid)
    digest = hashlib.blake2b(points.tobytes(), digest_size=16)
    for kind, nodes, _ in _read("its cells", _blocks, grid, len(points)):
        digest.update(f"{kind} {nodes.shape}".encode() + np.ascontiguousarray(nodes).tobytes())
    return digest.digest()


def read_grid(grids: Sequence[Element]) -> Raw:
    """The mesh of one or more grids that have the same points and cells, with the fields of all.

    Raises:
        ValueError: If it cannot be read, with the reason.
    """
    first = grids[0]
    points = _read("its points", _points, first)
    blocks = _read("its cells", _blocks, first, len(points))
    raw = Raw(points, [(kind, nodes) for kind, nodes, _ in blocks])
    texts: dict[tuple[str, str], Content] = {}
    for grid in grids:
        for part in grid:
            name, center = part.get("Name", ""), part.get("Center", "Node").capitalize()
            if part.tag not in ("Attribute", "Set", "Information"):
                continue
            place = center if part.tag == "Attribute" else part.tag
            text = content(part)
            if (place, name) in texts and texts[place, name] != text and grid is not first:
                raise ValueError(
                    f"two functions have the name {name!r}; give them names of their own, in dolfinx as in "
                    f"u.name = 'u', and write the file again"
                )
            if (place, name) in texts:
                raw.notes += [Note("left out", f"the second {name!r} is left out")] * (texts[place, name] != text)
                continue
            texts[place, name] = text
            _add(raw, part, name, place, blocks)
    return raw


def _add(raw: Raw, part: Element, name: str, place: str, blocks: Sequence[Block]) -> None:
    """Add a field, a set, or a value of the whole mesh."""
    if part.get("ItemType") == "FiniteElementFunction":
        raise ValueError(
            f"{name!r} is a checkpoint of dolfin's XDMFFile.write_checkpoint, which holds coefficients, not values at "
            f"points; write it by XDMFFile.write, or as .pvd, which interpolate to points"
        )
    if place == "Information":
        text = (part.text or "").strip()
        if text.startswith("<"):  # names of materials, as old meshio wrote them
            for entry in ElementTree.fromstring(text):
                raw.field_data[entry.attrib["key"]] = np.array([int(entry.text or 0), int(entry.attrib["dim"])])
        else:
            raw.field_data[name] = np.array([part.get("Value", text)])
        return
    count = int(max((source.max(initial=-1) for _, _, source in blocks), default=-1)) + 1
    if place == "Set":
        members = _read(f"the set {name!r}", read_item, *part.findall("DataItem")[:1]).astype(np.int64).ravel()
        if part.get("SetType", "Node") == "Node":
            raw.point_sets[name] = members
        elif part.get("SetType") == "Cell":
            raw.cell_sets[name] = [np.flatnonzero(np.isin(source, members)) for _, _, source in blocks]
        else:
            raw.notes.append(Note("left out", f"{name!r}, a set of {part.get('SetType')}s, is left out"))
    elif place == "Node":
        raw.point_data[name] = _read(f"the field {name!r}", _values, part, len(raw.points), "points")
    elif place == "Cell":
        values = _read(f"the field {name!r}", _values, part, count, "cells")
        raw.cell_data[name] = [values[source] for _, _, source in blocks]
    elif place == "Grid":
        try:
            raw.field_data[name] = read_item(_only(part))
        except ValueError as error:
            raw.notes.append(Note("left out", f"{name!r} of the grid is left out: {error}"))
    else:
        raw.notes.append(Note("left out", f"{name!r}, a field of {place.lower()}s, is left out"))


def _read(what: str, reader: Any, *args: Any) -> Any:
    try:
        return reader(*args)
    except (ValueError, TypeError, KeyError, IndexError) as error:
        raise ValueError(f"{what} cannot be read: {error}") from error


def _only(part: Element) -> Element:
    items = part.findall("DataItem")
    if len(items) != 1:
        raise ValueError(f"{part.tag} has {len(items)} data items in place of one")
    return items[0]


def _values(part: Element, count: int, what: str) -> NDArray[Any]:
    values = read_item(_only(part))
    if len(values) == count and values.ndim:
        return values
    if not count or values.size % count:
        raise ValueError(f"there are {values.size} numbers for {count} {what}")
    return values.reshape(count, -1) if values.size > count else values.reshape(count)


def _points(grid: Element) -> NDArray[np.float64]:
    geometry = grid.find("Geometry")
    if geometry is None:
        raise ValueError("there is no Geometry")
    kind = geometry.get("GeometryType", geometry.get("Type", "XYZ")).upper()
    arrays = [read_item(item).astype(np.float64) for item in geometry.findall("DataItem")]
    if kind in ("X_Y_Z", "X_Y") and len(arrays) == kind.count("_") + 1:
        points = np.stack([array.ravel() for array in arrays], 1)
    elif kind in ("XYZ", "XY", "X") and len(arrays) == 1:
        points = _rows(arrays[0], len(kind))
    else:
        raise ValueError(f"points of the type {kind} are not read; save the file in ParaView as .vtu")
    return np.pad(points, ((0, 0), (0, 3 - points.shape[1])))


def _blocks(grid: Element, points: int) -> list[Block]:
    topology = grid.find("Topology")
    if topology is None:
        raise ValueError("there is no Topology")
    kind = topology.get("TopologyType", topology.get("Type", "")).lower()
    if kind != "mixed" and kind not in BY_NAME:
        raise ValueError(f"cells of the type {kind!r} are not read; save the file in ParaView as .vtu")
    if topology.get("Order"):
        raise ValueError("an order of nodes is not read; save the file in ParaView as .vtu")
    if kind == "polyvertex" and not topology.findall("DataItem"):
        numbers = np.arange(points)
    else:
        numbers = read_item(_only(topology)).astype(np.int64)
    base = int(topology.get("BaseOffset", 0))
    parts = _mixed(numbers.ravel(), base) if kind == "mixed" else _uniform(topology, kind, numbers - base)
    blocks: list[Block] = []
    for name, nodes, source in parts:
        if blocks and blocks[-1][0] == name and blocks[-1][1].shape[1] == nodes.shape[1]:
            last = blocks.pop()
            nodes, source = np.concatenate([last[1], nodes]), np.concatenate([last[2], source])
        blocks.append((name, nodes, source))
    given = topology.get("NumberOfElements", topology.get("Dimensions"))
    cells = int(max((source.max(initial=-1) for _, _, source in blocks), default=-1)) + 1
    if given is not None and int(np.prod([int(word) for word in given.split()])) != cells:
        raise ValueError(f"there are {cells} cells in place of {given}")
    return blocks


def _uniform(topology: Element, kind: str, numbers: NDArray[np.int64]) -> Iterable[Block]:
    number = BY_NAME[kind]
    nodes = width(BY_NUMBER[number]) or 1
    if number < 4:
        nodes = int(topology.get("NodesPerElement") or (numbers.shape[1] if numbers.ndim == 2 else nodes))
    return [_block(number, _rows(numbers, nodes), 0)] if numbers.size else []


def _rows(numbers: NDArray[Any], size: int) -> NDArray[Any]:
    """The numbers as rows of a size."""
    if numbers.ndim > 1 and numbers.shape[-1] != size:
        raise ValueError(f"there are rows of {numbers.shape[-1]} numbers in place of {size}")
    return numbers.reshape(-1, size)


def _block(number: int, nodes: NDArray[np.int64], first: int) -> Block:
    """Cells of one type and size; chains are cut into lines, and clouds into points."""
    kind, source = BY_NUMBER[number], np.arange(first, first + len(nodes))
    size = nodes.shape[1]
    if kind == "vertex":
        return kind, nodes.reshape(-1, 1), source.repeat(size)
    if kind == "line":
        return kind, np.stack([nodes[:, :-1], nodes[:, 1:]], 2).reshape(-1, 2), source.repeat(size - 1)
    if kind == "polygon":
        kind = {3: "triangle", 4: "quad"}.get(size, kind)
    return kind, nodes, source


def _mixed(numbers: NDArray[np.int64], base: int) -> Iterator[Block]:
    """Blocks of a list in which every cell has its type before it, and some their number of nodes."""
    words = numbers.tolist()
    place, first, cell = 0, 0, 0
    before: tuple[int, int] | None = None
    rows: list[list[int]] = []
    while place < len(words):
        number = words[place]
        if number not in BY_NUMBER:
            raise ValueError(f"cells of the type of number {number} are not read; save the file in ParaView as .vtu")
        place += 1
        size = known_width(BY_NUMBER[number]) if number > 3 else words[place]
        place += number < 4  # these have their number of nodes
        row = words[place : place + size]
        if len(row) != size:
            raise ValueError("the list of mixed cells ends within a cell")
        place += size
        if before != (number, size) and before is not None:
            yield _block(before[0], np.array(rows) - base, first)
            rows, first = [], cell
        before = (number, size)
        rows.append(row)
        cell += 1
    if before is not None:
        yield _block(before[0], np.array(rows) - base, first)
