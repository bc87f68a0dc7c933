"""Nodes, elements and sets of Abaqus input files that are numbered together."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pitgeo.mesh.abaqus.elements import side_places
from pitgeo.mesh.cell_types import known_width
from pitgeo.mesh.numbering import Index, Numbers, Wanted


class Chosen(NamedTuple):
    """Members of a set.

    Args:
        piece: What they belong to; ``None`` for the piece that the set belongs to.
        wanted: Their numbers.
        side: Of a set of nodes, whose nodes: ``""`` for nodes by number, ``"all"`` for those of the elements with
            these numbers, ``"S1"`` for those on a side of the elements.
    """

    piece: Piece | None
    wanted: Wanted
    side: str = ""


@dataclass
class Named:
    """A set under the name that it has in the file."""

    name: str
    members: list[Chosen] = field(default_factory=list)


class Cells:
    """Elements in the order of the file; a repeated element replaces the earlier one."""

    def __init__(self) -> None:
        self.rows: dict[int, int] = {}
        self.left_out: set[int] = set()
        self.replaced = 0
        self._types: list[tuple[str, str]] = []
        self._starts: list[int] = []
        self._nodes: list[array[int]] = []
        self._labels: array[int] = array("q")

    def __len__(self) -> int:
        return len(self.rows)

    def add(self, name: str, kind: str, numbers: Iterable[int], nodes: Iterable[int]) -> None:
        """Add elements of Abaqus' type ``name``, which is meshio's ``kind``; their nodes follow one another."""
        if not self._types or self._types[-1] != (name, kind):
            self._types.append((name, kind))
            self._starts.append(len(self._labels))
            self._nodes.append(array("q"))
        for number in numbers:
            self.replaced += number in self.rows
            self.rows[number] = len(self._labels)
            self._labels.append(number)
        self._nodes[-1].extend(nodes)

    def find(self, number: int) -> tuple[str, str, Numbers]:
        """Abaqus' type, meshio's type, and the nodes of an element."""
        row = self.rows[number]
        block = bisect_right(self._starts, row) - 1
        name, kind = self._types[block]
        width, first = known_width(kind), row - self._starts[block]
        return name, kind, np.array(self._nodes[block][first * width : (first + 1) * width], np.int64)

    def blocks(self) -> list[tuple[str, str, Numbers, Numbers]]:
        """Abaqus' type, meshio's type, numbers and nodes of every block."""
        kept = np.zeros(len(self._labels), bool)
        kept[np.fromiter(self.rows.values(), np.int64, len(self.rows))] = True
        labels, ends = np.array(self._labels, np.int64), [*self._starts, len(self._labels)][1:]
        found = []
        for (name, kind), start, end, nodes in zip(self._types, self._starts, ends, self._nodes, strict=True):
            own = kept[start:end]
            if own.any():
                rows = np.array(nodes, np.int64).reshape(end - start, known_width(kind))
                found.append((name, kind, labels[start:end][own], rows[own]))
        return found


@dataclass(eq=False)
class Piece:
    """Nodes, elements and sets of a flat file, a part, an instance, or the assembly itself.

    Args:
        name: Its name.
        rotation: Of an instance, ``[3, 3]``.
        shift: Of an instance, ``[3]``, after the rotation.
        is_instance: Whether it is one.
        moved: Nodes that were given again elsewhere.
    """

    name: str
    rows: dict[int, int] = field(default_factory=dict)
    coordinates: array[float] = field(default_factory=lambda: array("d"))
    cells: Cells = field(default_factory=Cells)
    point_sets: dict[str, Named] = field(default_factory=dict)
    cell_sets: dict[str, Named] = field(default_factory=dict)
    surfaces: dict[str, Named] = field(default_factory=dict)
    rotation: NDArray[np.float64] | None = None
    shift: NDArray[np.float64] | None = None
    is_instance: bool = False
    moved: int = 0

    def add_node(self, number: int, position: list[float]) -> None:
        """Add a node; one that is given again is moved."""
        row = self.rows.get(number)
        if row is None:
            self.rows[number] = len(self.rows)
            self.coordinates.extend(position)
        else:
            self.moved += self.position(number) != position
            self.coordinates[3 * row : 3 * row + 3] = array("d", position)

    def position(self, number: int) -> list[float]:
        """Where a node is."""
        row = self.rows[number]
        return self.coordinates[3 * row : 3 * row + 3].tolist()

    def points(self) -> NDArray[np.float64]:
        """All nodes where they are in the assembly."""
        points = np.array(self.coordinates).reshape(-1, 3)
        if self.rotation is not None and self.shift is not None:
            points = points @ self.rotation.T + self.shift
        return points

    def instance(self, name: str, rotation: NDArray[np.float64] | None, shift: NDArray[np.float64] | None) -> Piece:
        """This part at another place; later sets belong to the instance alone."""
        points, cells, surfaces = (
            {key: Named(one.name, [*one.members]) for key, one in sets.items()}
            for sets in (self.point_sets, self.cell_sets, self.surfaces)
        )
        return Piece(
            name, self.rows, self.coordinates, self.cells, points, cells, surfaces, rotation, shift, is_instance=True
        )


class Table:
    """The nodes and elements of a piece as arrays, with their offsets among those of all pieces."""

    first = 0
    first_block = 0

    def __init__(self, piece: Piece) -> None:
        self.blocks = piece.cells.blocks()
        self.left_out = np.fromiter(piece.cells.left_out, np.int64, len(piece.cells.left_out))
        self.points = Index(np.fromiter(piece.rows, np.int64, len(piece.rows)))
        self.cells = Index(np.concatenate([np.zeros(0, np.int64), *(labels for _, _, labels, _ in self.blocks)]))
        self.starts = np.cumsum([0, *(len(labels) for _, _, labels, _ in self.blocks)])

    def missing(self, chosen: Chosen) -> int:
        """Number of the chosen nodes that are missing, or of the elements whose nodes are chosen."""
        wanted, index = chosen.wanted, self.cells if chosen.side else self.points
        return self._absent(wanted, index)

    def missing_cells(self, chosen: Chosen) -> int:
        """Number of the chosen elements that are missing."""
        return self._absent(chosen.wanted, self.cells)

    def _absent(self, wanted: Wanted, index: Index) -> int:
        if isinstance(wanted, range):
            out = sum(int(number) in wanted for number in self.left_out) if index is self.cells else 0
            return len(wanted) - len(index.places(wanted)) - out
        absent = np.unique(wanted[index.find(wanted) < 0])
        return len(np.setdiff1d(absent, self.left_out)) if index is self.cells else len(absent)

    def point_places(self, chosen: Chosen) -> Numbers | None:
        """Places of the chosen points; ``None`` if a side is unknown."""
        if not chosen.side:
            return self.points.places(chosen.wanted)
        rows = self.cells.places(chosen.wanted)
        found = [np.zeros(0, np.int64)]
        for (name, kind, _, nodes), start, end in zip(self.blocks, self.starts, self.starts[1:], strict=False):
            own = nodes[rows[(rows >= start) & (rows < end)] - start]
            places = list(range(nodes.shape[1])) if chosen.side == "all" else side_places(name, kind, chosen.side)
            if len(own):
                if places is None:
                    return None
                found.append(self.points.places(np.unique(own[:, places])))
        return np.concatenate(found)
