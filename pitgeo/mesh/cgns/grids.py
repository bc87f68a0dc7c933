"""Zones of CGNS files: points and cells, and the members of ranges and lists."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray

from pitgeo.mesh.cell_types import dimension
from pitgeo.mesh.cells import grid_cells
from pitgeo.mesh.cgns.elements import Block, Section, read_sections
from pitgeo.mesh.cgns.nodes import Node, Numbers
from pitgeo.mesh.notes import Note

CONVERTED = Note("units", "values are read as they are stored; their DataConversion is not applied")

NONE = np.zeros(0, np.int64)

LARGEST = 1e100
"""Coordinates are smaller; others are damaged."""

LOCATIONS = ("Vertex", "CellCenter", "FaceCenter", "IFaceCenter", "JFaceCenter", "KFaceCenter", "EdgeCenter")
"""Where values may be, and what points of boundary conditions may number."""


@dataclass
class Grid:
    """A zone without its fields.

    Args:
        node: Its node.
        shape: Vertices along every axis; one number if it is unstructured.
        is_structured: Whether it is.
        points: Positions ``[N, 3]``.
        blocks: The cells.
        sections: What the cells of an unstructured zone are in.
        notes: What is not literal.
    """

    node: Node
    shape: tuple[int, ...]
    is_structured: bool
    points: NDArray[np.float64]
    blocks: list[Block] = field(default_factory=list)
    sections: list[Section] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)

    @property
    def cells(self) -> tuple[int, ...]:
        """Cells along every axis; one number if it is unstructured."""
        if self.is_structured:
            return _cells_of(self.shape)
        return (sum(len(block.nodes) for block in self.blocks if dimension(block.kind) == self.dimension),)

    @cached_property
    def dimension(self) -> int:
        """The highest dimension of its cells."""
        return max((dimension(block.kind) for block in self.blocks), default=0)

    @cached_property
    def _ends(self) -> NDArray[np.int64]:
        """The first and the last number of every block, ``[blocks, 2]``."""
        return np.array([(block.numbers[0], block.numbers[-1]) for block in self.blocks], np.int64).reshape(-1, 2)

    def members(self, numbers: Numbers) -> list[Numbers]:
        """Cells with the given increasing numbers, one array a block."""
        result = [NONE] * len(self.blocks)
        ends = np.searchsorted(numbers, self._ends + np.array([0, 1]))
        for place in np.flatnonzero(ends[:, 0] < ends[:, 1]):
            own, known = numbers[ends[place, 0] : ends[place, 1]], self.blocks[place].numbers
            found = np.searchsorted(known, own)
            result[place] = found[known[found] == own]
        return result

    def members_between(self, low: int, high: int) -> list[Numbers]:
        """Cells with numbers from ``low`` to ``high``, one array a block."""
        result = [NONE] * len(self.blocks)
        for place in np.flatnonzero((self._ends[:, 0] <= high) & (self._ends[:, 1] >= low)):
            result[place] = np.arange(*np.searchsorted(self.blocks[place].numbers, (low, high + 1)))
        return result

    def rows(self) -> list[Numbers | None]:
        """Places of the cells among those of the highest dimension, one array a block; ``None`` for others."""
        own = [dimension(block.kind) == self.dimension for block in self.blocks]
        tops = [block.numbers for block, is_own in zip(self.blocks, own, strict=True) if is_own]
        order = np.sort(np.concatenate([NONE, *tops]))
        return [
            np.searchsorted(order, block.numbers) if is_own else None
            for block, is_own in zip(self.blocks, own, strict=True)
        ]


def read_grid(zone: Node, axes: int, space: int, coordinates: str) -> Grid:
    """The points and cells of a zone.

    Args:
        zone: Its node.
        axes: The dimension of cells that the base says.
        space: That of the space.
        coordinates: The name of the coordinates to read; the original ones if empty.

    Raises:
        ValueError: If it is damaged, or of a kind that is not followed.
    """
    kind = zone.needed("ZoneType").text()
    if kind not in ("Structured", "Unstructured"):
        raise zone.refusal("a zone that is structured or unstructured", repr(kind))
    axes = axes if kind == "Structured" else 1
    sizes = zone.numbers(3 * axes).reshape(3, axes)
    shape, cells = tuple(map(int, sizes[0])), tuple(map(int, sizes[1]))
    if min(shape) < 1 or min(cells) < 0:
        raise zone.refusal("one vertex or more", f"{shape} vertices and {cells} cells")
    grid = Grid(zone, shape, kind == "Structured", np.zeros((0, 3)))
    grid.points = _points(grid, coordinates, space)
    if grid.is_structured:
        if any(have not in (size - 1, max(size - 1, 1)) for have, size in zip(cells, shape, strict=True)):
            raise zone.refusal(f"one cell less than {shape} vertices along every axis", str(cells))
        kind, nodes = grid_cells(shape)
        grid.blocks = [Block(kind, nodes, np.arange(1, len(nodes) + 1))]
        return grid
    grid.sections = read_sections(zone, shape[0], grid.notes)
    grid.blocks = [block for section in grid.sections for block in section.blocks]
    total = sum(len(block.nodes) for block in grid.blocks)
    if cells[0] not in (grid.cells[0], total) and grid.blocks:
        raise zone.refusal(f"{cells[0]:,} cells, as the zone says", f"{grid.cells[0]:,} in its sections")
    if cells[0] and not grid.blocks:
        raise zone.refusal(f"sections of elements with {cells[0]:,} cells", "none")
    return grid


def core(node: Node, holder: Node, sizes: Sequence[int]) -> NDArray[np.float64] | NDArray[np.int64]:
    """The values of a node without its rind (ghost) values; the first axis varies fastest.

    Args:
        node: Holds the values.
        holder: The coordinates or the solution that the node is in, which may say what its rind is.
        sizes: Values along every axis without the rind.

    Raises:
        ValueError: If there are more or fewer.
    """
    rind_node = holder.named("Rind")
    rind = np.zeros((len(sizes), 2), np.int64)
    if rind_node is not None:
        rind = rind_node.numbers(2 * len(sizes)).reshape(-1, 2)
        if rind.min() < 0:
            raise rind_node.refusal("a number of rind planes", rind.ravel().tolist())
    full = tuple(int(size + rind[axis].sum()) for axis, size in enumerate(sizes))[::-1]
    if node.shape != full and not (node.size == math.prod(full) and len(node.shape) == 1):
        words = "x".join(map(str, full[::-1]))
        raise node.refusal(f"{words} values", "x".join(map(str, node.shape[::-1])) or "none")
    keep = tuple(slice(rind[axis, 0], rind[axis, 0] + size) for axis, size in enumerate(sizes))[::-1]
    return node.values().reshape(full)[keep].ravel()


def _points(grid: Grid, wanted: str, space: int) -> NDArray[np.float64]:
    found = grid.node.all("GridCoordinates_t")
    holder = next((node for name in (wanted, "GridCoordinates") for node in found if node.name == name), None)
    holder = holder or next(iter(found), None)
    if holder is None:
        raise grid.node.refusal("coordinates", "none")
    if len(found) > 1:
        others = ", ".join(repr(node.name) for node in found if node is not holder)
        text = f"the coordinates {holder.name!r} are read, not {others[:200]}"
        grid.notes.append(Note("one of several coordinates", text))
    columns = []
    for name in _coordinate_names(holder, space):
        node = holder.needed(name)
        if node.named("DataConversion") is not None:
            grid.notes.append(CONVERTED)
        columns.append(core(node, holder, grid.shape))
    points = np.zeros((len(columns[0]), 3))
    points[:, : len(columns)] = np.stack(columns, 1)
    bad = ~(np.abs(points) < LARGEST).all(1)
    if bad.any():
        raise holder.refusal("finite coordinates", points[bad.argmax()].tolist())
    return points


def _coordinate_names(holder: Node, space: int) -> list[str]:
    """``CoordinateX`` to ``CoordinateZ``: as many as the space has dimensions, or more."""
    names = [
        node.name for node in holder.all("DataArray_t") if node.kind in ("i", "f") and node.name[:10] == "Coordinate"
    ]
    cartesian = ["CoordinateX", "CoordinateY", "CoordinateZ"][: max(space, len(names))]
    if set(names) != set(cartesian):
        advice = "convert them to Cartesian coordinates"
        raise holder.refusal(", ".join(cartesian), ", ".join(names)[:200] or "none", advice)
    return cartesian


def _cells_of(shape: Sequence[int]) -> tuple[int, ...]:
    """Cells along every axis; an axis of one vertex, as a plane in space has, counts as one cell."""
    return tuple(max(size - 1, 1) for size in shape)


def index_rows(node: Node, axes: int, limit: Sequence[int]) -> Numbers:
    """Indices of a range or a list, ``[rows, axes]``, counted from 1.

    Args:
        node: A range, of two rows, or a list.
        axes: How many numbers a row has.
        limit: The largest number along every axis.

    Raises:
        ValueError: If it is none, or a number is too small or too large.
    """
    is_range = node.label == "IndexRange_t" or node.name in ("PointRange", "PointRangeDonor", "ElementRange")
    if node.size % axes or (is_range and node.size != 2 * axes):
        raise node.refusal(f"{'two rows' if is_range else 'rows'} of {axes} numbers", f"{node.size:,} numbers")
    rows = node.numbers().reshape(-1, axes)
    if rows.size and (rows.min() < 1 or (rows > np.asarray(limit)).any()):
        raise node.refusal(f"numbers from 1 to {', '.join(map(str, limit))}", f"{rows.min(0)} to {rows.max(0)}")
    if not is_range:
        return rows
    low, high = rows.min(0), rows.max(0)
    ranges = [np.arange(a, b + 1) for a, b in zip(low, high, strict=True)]
    return np.stack([part.ravel(order="F") for part in np.meshgrid(*ranges, indexing="ij")], 1)


def points_of_faces(rows: Numbers, axis: int, shape: Sequence[int]) -> Numbers:
    """Numbers (from 0) of the points of structured faces across an axis."""
    steps = np.cumprod([1, *shape[:-1]])
    reach = [(0,) if other == axis or size == 1 else (0, 1) for other, size in enumerate(shape)]
    corners = list(product(*reach))
    base = (rows - 1) @ steps
    return np.unique(base[:, None] + np.array([np.dot(corner, steps) for corner in corners], np.int64))
