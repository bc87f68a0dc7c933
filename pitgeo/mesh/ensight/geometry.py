"""Geometry files of EnSight Gold: parts with their points and elements."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pitgeo.mesh.cell_types import width
from pitgeo.mesh.cells import grid_cells
from pitgeo.mesh.ensight.content import Content

Numbers = NDArray[np.int64]

KINDS = {
    "point": "vertex",
    "bar2": "line",
    "bar3": "line3",
    "tria3": "triangle",
    "tria6": "triangle6",
    "quad4": "quad",
    "quad8": "quad8",
    "tetra4": "tetra",
    "tetra10": "tetra10",
    "pyramid5": "pyramid",
    "pyramid13": "pyramid13",
    "penta6": "wedge",
    "penta15": "wedge15",
    "hexa8": "hexahedron",
    "hexa20": "hexahedron20",
}
"""Cell types of meshio by EnSight's names of element types."""

ORDER = {"line3": [0, 2, 1]}
"""Which of EnSight's nodes comes where in meshio's order, for types whose orders differ."""

MOST = 2**28
"""Largest number of points of a rectilinear or uniform grid, whose file is small however many points it has."""

IDS = {"off": False, "assign": False, "given": True, "ignore": True}
"""Whether the file lists the numbers of its nodes or elements, by the word after ``node id`` or ``element id``."""


@dataclass
class Elements:
    """The elements of one type.

    Args:
        word: The type, as the files call it.
        cells: Blocks of cells of one type and size.
    """

    word: str
    cells: list[tuple[str, Numbers]]

    @property
    def count(self) -> int:
        """How many there are."""
        return sum(len(nodes) for _, nodes in self.cells)


@dataclass
class Part:
    """A part of the geometry.

    Args:
        number: Its number.
        name: Its description.
        is_grid: Whether it is a structured block.
        points: Positions ``[N, 3]``.
        elements: Its elements.
        blanked: Whether each point is blanked, if some are.
        ghosts: Whether each cell of a block is a ghost, if some are.
    """

    number: int
    name: str
    is_grid: bool = False
    points: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 3)))
    elements: list[Elements] = field(default_factory=list)
    blanked: NDArray[np.bool_] | None = None
    ghosts: NDArray[np.bool_] | None = None

    def __str__(self) -> str:
        return f"part {self.number} {self.name!r}"


def read_parts(content: Content) -> list[Part]:
    """The parts of a geometry file.

    Raises:
        ValueError: If the file breaks a rule of the format.
    """
    if content.word() in ("c binary", "fortran binary"):
        content.skip()
    for number in (1, 2):
        content.line(f"line {number} of the description")
    has_ids = [_has_ids(content, f"{what} id") for what in ("node", "element")]
    if content.word() == "extents":
        content.skip()
        content.extents()
    parts: list[Part] = []
    while word := content.word():
        if word != "part":
            raise content.wrong("'part'", repr(word[:40]))
        content.skip()
        number = int(content.wholes(1, "number of a part")[0])
        part = Part(number, content.line("the name of a part"))
        if any(other.number == number for other in parts):
            raise content.wrong("parts of different numbers", f"two of number {number}")
        content.part = str(part)
        word = content.word()
        content.skip()
        if word == "coordinates":
            _read_mesh(content, part, *has_ids)
        elif word.split()[:1] == ["block"]:
            _read_grid(content, part, word.split()[1:])
        else:
            raise content.wrong("'coordinates' or 'block'", repr(word[:40]) if word else "its end")
        if not np.isfinite(part.points).all():
            raise content.wrong("finite coordinates", "others")
        parts.append(part)
        content.part = ""
    if not parts:
        raise content.wrong("parts", "none")
    return parts


def _has_ids(content: Content, key: str) -> bool:
    word = content.word()
    content.skip()
    if not word.startswith(key) or word[len(key) :].strip() not in IDS:
        raise content.wrong(f"'{key}' and one of {', '.join(IDS)}", repr(word[:40]))
    return IDS[word[len(key) :].strip()]


def count_of(content: Content, what: str) -> int:
    """The next number, which is a count.

    Raises:
        ValueError: If it is negative.
    """
    count = int(content.wholes(1, f"number of {what}")[0])
    if count < 0:
        raise content.wrong(f"a number of {what}", f"{count}")
    return count


def _read_mesh(content: Content, part: Part, has_node_ids: bool, has_element_ids: bool) -> None:
    count = count_of(content, "nodes")
    if has_node_ids:
        content.wholes(count, "numbers of nodes")
    part.points = content.reals(3 * count, f"coordinates of {count:,} nodes").reshape(3, count).T.astype(np.float64)
    while (word := content.word()) and word != "part":
        content.skip()
        kind = KINDS.get(word.removeprefix("g_"))
        if word.removeprefix("g_") == "nfaced":
            raise content.wrong(
                "elements of known types",
                "nfaced, which are polyhedra: split them into tetrahedra where it was written",
            )
        if kind is None and word.removeprefix("g_") != "nsided":
            raise content.wrong(f"a type of elements, {', '.join(KINDS)} or nsided,", repr(word[:40]))
        cells = count_of(content, f"{word} elements")
        if has_element_ids:
            content.wholes(cells, f"numbers of {word} elements")
        part.elements.append(Elements(word, _nodes(content, word, kind, cells, count)))


def _nodes(content: Content, word: str, kind: str | None, cells: int, points: int) -> list[tuple[str, Numbers]]:
    size = width(kind) if kind else None
    sizes = np.zeros(0, np.int64) if size else content.wholes(cells, f"sizes of {word} elements")
    if not size and (sizes < 3).any():
        raise content.wrong(f"3 nodes or more of every {word} element", f"{sizes.min()}")
    total = size * cells if size else int(sizes.sum())
    nodes = content.wholes(total, f"nodes of {cells:,} {word} elements") - 1
    if total and not (nodes.min() >= 0 and nodes.max() < points):
        raise content.wrong(f"nodes from 1 to {points:,} of {word} elements", f"{nodes.min() + 1} to {nodes.max() + 1}")
    if kind and size:
        return [(kind, nodes.reshape(cells, size)[:, ORDER.get(kind, slice(None))])]
    starts = np.flatnonzero(np.diff(sizes, prepend=0))
    ends = np.cumsum(sizes)
    return [
        ("polygon", nodes[ends[start] - sizes[start] : ends[end - 1]].reshape(end - start, sizes[start]))
        for start, end in zip(starts, [*starts[1:], cells], strict=True)
    ]


def _read_grid(content: Content, part: Part, words: list[str]) -> None:
    shape = next((word for word in words if word in ("curvilinear", "rectilinear", "uniform")), "curvilinear")
    unknown = [word for word in words if word not in (shape, "iblanked", "with_ghost", "range")]
    if unknown:
        raise content.wrong("a block that is iblanked, with_ghost or of a range", " ".join(unknown)[:40])
    sizes = content.wholes(3, "numbers of nodes along the axes").tolist()
    if "range" in words:
        low, high = content.wholes(6, "ends of the range").reshape(3, 2).T.tolist()
        if any(not 1 <= a <= b <= size for a, b, size in zip(low, high, sizes, strict=True)):
            raise content.wrong(f"a range within {sizes}", f"{low} to {high}")
        sizes = [b - a + 1 for a, b in zip(low, high, strict=True)]
    count, cells = int(np.prod(sizes, dtype=object)), int(np.prod([max(1, size - 1) for size in sizes], dtype=object))
    if min(sizes) < 1 or (count > MOST and shape != "curvilinear"):
        raise content.wrong(f"1 node or more along every axis, and at most {MOST:,}", " x ".join(map(str, sizes)))
    part.is_grid = True
    if shape == "curvilinear":
        part.points = content.reals(3 * count, f"coordinates of {count:,} nodes").reshape(3, count).T.astype(np.float64)
    else:
        part.points = _lattice(content, shape, sizes)
    if "iblanked" in words:
        part.blanked = content.wholes(count, "blanks of nodes") == 0
    if "with_ghost" in words:
        if content.word() != "ghost_flags":
            raise content.wrong("'ghost_flags'", repr(content.word()[:40]))
        content.skip()
        part.ghosts = content.wholes(cells, "flags of ghosts") != 0
    for key, number in (("node_ids", count), ("element_ids", cells)):
        if content.word() == key:
            content.skip()
            content.wholes(number, key)
    part.elements = [Elements("block", [grid_cells(sizes)])]


def _lattice(content: Content, shape: str, sizes: list[int]) -> NDArray[np.float64]:
    if shape == "uniform":
        starts, steps = content.reals(6, "origin and spacing").astype(np.float64).reshape(2, 3)
        axes = [start + step * np.arange(size) for start, step, size in zip(starts, steps, sizes, strict=True)]
    else:
        axes = [content.reals(size, "coordinates along an axis").astype(np.float64) for size in sizes]
    z, y, x = np.meshgrid(*reversed(axes), indexing="ij")
    return np.stack([x.ravel(), y.ravel(), z.ravel()], 1)
