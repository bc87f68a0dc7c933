"""The table of cell types, by the names of meshio: dimension, corners, edges, faces, and VTK's numbers.

A format's own names and numbers stay in its folder, and refer to the names here. Nodes are in the order of meshio: the
corners, the middles of the edges, the centers of the faces, the center of the cell.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

Nodes = tuple[int, ...]


class Shape(NamedTuple):
    """What cells with the same corners have in common.

    Args:
        dimension: 0 for a point, 1 for a line, 2 for a face, 3 for a body.
        corners: Number of corners, which are the first nodes.
        edges: Ends of the edges, in the order of the nodes in their middles, which follow the corners.
        faces: Corners of the faces of a body, counterclockwise as seen from outside.
    """

    dimension: int
    corners: int
    edges: tuple[Nodes, ...] = ()
    faces: tuple[Nodes, ...] = ()

    @property
    def sides(self) -> tuple[Nodes, ...]:
        """Faces of a body, edges of a face."""
        return self.faces or self.edges


SHAPES = {
    "vertex": Shape(0, 1),
    "line": Shape(1, 2),
    "triangle": Shape(2, 3, ((0, 1), (1, 2), (2, 0))),
    "quad": Shape(2, 4, ((0, 1), (1, 2), (2, 3), (3, 0))),
    "tetra": Shape(
        *(3, 4),
        edges=((0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3)),
        faces=((0, 2, 1), (0, 1, 3), (1, 2, 3), (2, 0, 3)),
    ),
    "pyramid": Shape(
        *(3, 5),
        edges=((0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (1, 4), (2, 4), (3, 4)),
        faces=((0, 3, 2, 1), (0, 1, 4), (1, 2, 4), (2, 3, 4), (3, 0, 4)),
    ),
    "wedge": Shape(
        *(3, 6),
        edges=((0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (0, 3), (1, 4), (2, 5)),
        faces=((0, 2, 1), (3, 4, 5), (0, 1, 4, 3), (1, 2, 5, 4), (2, 0, 3, 5)),
    ),
    "hexahedron": Shape(
        *(3, 8),
        edges=((0, 1), (1, 2), (2, 3), (3, 0), (4, 5), (5, 6), (6, 7), (7, 4), (0, 4), (1, 5), (2, 6), (3, 7)),
        faces=((0, 3, 2, 1), (4, 5, 6, 7), (0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7)),
    ),
    "penta_prism": Shape(3, 10),
    "hexa_prism": Shape(3, 12),
}
"""Shapes by the name of a type without its number of nodes. A polygon has as many corners as nodes."""

FACE_CENTERS: dict[str, tuple[int | None, ...]] = {
    "wedge18": (None, None, 15, 16, 17),
    "hexahedron24": (None, None, 22, 21, 23, 20),
    "hexahedron27": (24, 25, 22, 21, 23, 20),
}
"""Nodes in the centers of the faces, in the order of :attr:`Shape.faces`."""

CORNERS = {name: shape.corners for name, shape in SHAPES.items()}

ORDER_VERTICAL_EDGES_FIRST = {
    "wedge15": (*range(9), *range(12, 15), *range(9, 12)),
    "hexahedron20": (*range(12), *range(16, 20), *range(12, 16)),
}
"""Where formats that number the vertical edges before those of the top (Exodus, CGNS) have the nodes of these cells."""

_ANY_ORDER = {
    "CURVE": "line",
    "TRIANGLE": "triangle",
    "QUADRILATERAL": "quad",
    "TETRAHEDRON": "tetra",
    "HEXAHEDRON": "hexahedron",
    "WEDGE": "wedge",
    "PYRAMID": "pyramid",
}
"""Shapes of VTK's types of any order, by the last word of names such as ``VTK_LAGRANGE_CURVE``."""

VTK_TYPES = {
    **{1: "vertex", 3: "line", 5: "triangle", 7: "polygon", 9: "quad", 10: "tetra", 12: "hexahedron", 13: "wedge"},
    **{14: "pyramid", 15: "penta_prism", 16: "hexa_prism", 21: "line3", 22: "triangle6", 23: "quad8", 24: "tetra10"},
    **{25: "hexahedron20", 26: "wedge15", 27: "pyramid13", 28: "quad9", 29: "hexahedron27", 30: "quad6"},
    **{31: "wedge12", 32: "wedge18", 33: "hexahedron24", 34: "triangle7", 35: "line4"},
    **{68 + number: f"VTK_LAGRANGE_{word}" for number, word in enumerate(_ANY_ORDER)},
    **{75 + number: f"VTK_BEZIER_{word}" for number, word in enumerate(_ANY_ORDER)},
}
"""Names by VTK's numbers."""

VTK_NUMBERS = {kind: number for number, kind in VTK_TYPES.items()}


def base(kind: str) -> str:
    """The shape of a type.

    Example:
        >>> base("triangle6"), base("VTK_LAGRANGE_CURVE")
        ('triangle', 'line')
    """
    if kind.startswith("VTK_"):
        return _ANY_ORDER.get(kind.rsplit("_", 1)[-1], kind)
    return kind.rstrip("0123456789")


def width(kind: str) -> int | None:
    """Number of nodes of cells of a type; ``None`` if the name does not say.

    Example:
        >>> width("triangle"), width("triangle6"), width("polygon")
        (3, 6, None)
    """
    name = base(kind)
    if kind.startswith("VTK_") or name not in SHAPES:
        return None
    return int(kind[len(name) :] or CORNERS[name])


def known_width(kind: str) -> int:
    """Number of nodes of cells of a type whose name says it."""
    found = width(kind)
    assert found is not None, kind
    return found


def corners(kind: str, nodes: int) -> int:
    """Number of corners of a cell, which are its first nodes; all nodes of a polygon.

    Raises:
        ValueError: If the type is not known.
    """
    if kind == "polygon":
        return nodes
    if base(kind) not in SHAPES:
        raise ValueError(f"Expected cells of known types (got {kind!r}); convert them to one of {', '.join(SHAPES)}")
    return CORNERS[base(kind)]


def dimension(kind: str) -> int:
    """Dimension of a cell: 0 of a point, 1 of a line, 2 of a face, 3 of a body."""
    name = base(kind)
    return 2 if name == "polygon" else SHAPES[name].dimension if name in SHAPES else 3


def nodes_on(kind: str, side: Collection[int]) -> list[int]:
    """Places of the nodes on a side of a cell: its corners, the middles of its edges, and its center.

    Args:
        kind: The type of the cell.
        side: The corners of the side, as in :attr:`Shape.sides`.

    Example:
        >>> nodes_on("tetra10", (0, 1, 3)), nodes_on("wedge18", (0, 1, 4, 3))
        ([0, 1, 3, 4, 7, 8], [0, 1, 4, 3, 6, 9, 12, 13, 15])
    """
    shape = SHAPES[base(kind)]
    found = [*side]
    if known_width(kind) > shape.corners:
        found += [shape.corners + number for number, ends in enumerate(shape.edges) if {*ends} <= {*side}]
    centers = zip(shape.faces, FACE_CENTERS.get(kind, ()), strict=False)
    return found + [center for face, center in centers if center is not None and {*face} == {*side}]
