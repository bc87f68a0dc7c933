"""Cells of Exodus files and their sides, whose nodes have an order of their own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pitgeo.mesh.cell_types import CORNERS, base

Numbers = NDArray[np.int64]

FAMILIES = {
    **dict.fromkeys(("SPH", "CIR"), "vertex"),
    **dict.fromkeys(("BAR", "BEA", "TRU", "EDG"), "line"),
    "TRI": "triangle",
    "QUA": "quad",
    "TET": "tetra",
    "PYR": "pyramid",
    "WED": "wedge",
    "HEX": "hexahedron",
}
"""Shapes by the first letters of an element's type; those of shells go by the number of nodes."""

SIZES = {
    "vertex": (1,),
    "line": (2, 3),
    "triangle": (3, 6, 7),
    "quad": (4, 8, 9),
    "tetra": (4, 10),
    "pyramid": (5, 13),
    "wedge": (6, 15),
    "hexahedron": (8, 20, 27),
}

ORDER = {
    "wedge15": [*range(9), *range(12, 15), *range(9, 12)],
    "hexahedron20": [*range(12), *range(16, 20), *range(12, 16)],
    "hexahedron27": [*range(12), *range(16, 20), *range(12, 16), 23, 24, 25, 26, 21, 22, 20],
}
"""Exodus' nodes in meshio's order, where it is another."""

EDGES = {
    "triangle": ((0, 1), (1, 2), (2, 0)),
    "quad": ((0, 1), (1, 2), (2, 3), (3, 0)),
    "tetra": ((0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3)),
    "pyramid": ((0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (1, 4), (2, 4), (3, 4)),
    "wedge": ((0, 1), (1, 2), (2, 0), (0, 3), (1, 4), (2, 5), (3, 4), (4, 5), (5, 3)),
    "hexahedron": (
        *((0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (1, 5), (2, 6), (3, 7)),
        *((4, 5), (5, 6), (6, 7), (7, 4)),
    ),
}
"""Ends of the edges, in the order of the nodes in their middles, which follow the corners."""

SIDES: dict[str, tuple[tuple[int, ...], ...]] = {
    "triangle": EDGES["triangle"],
    "quad": EDGES["quad"],
    "tetra": ((0, 1, 3), (1, 2, 3), (0, 2, 3), (0, 1, 2)),
    "pyramid": ((0, 1, 4), (1, 2, 4), (2, 3, 4), (3, 0, 4), (0, 1, 2, 3)),
    "wedge": ((0, 1, 4, 3), (1, 2, 5, 4), (0, 2, 5, 3), (0, 1, 2), (3, 4, 5)),
    "hexahedron": ((0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (0, 3, 7, 4), (0, 1, 2, 3), (4, 5, 6, 7)),
}
"""Corners of the sides, in the order of their numbers."""

CENTRES = {("hexahedron", 27): (25, 24, 26, 23, 21, 22)}
"""Nodes in the middle of the sides."""


def kind_of(element: str, nodes: int, axes: int) -> str:
    """The name in meshio of an element of Exodus.

    Args:
        element: Its type in the file.
        nodes: How many it has.
        axes: Dimension of the space.

    Raises:
        ValueError: If it is not known.
    """
    name = element.strip().upper()
    if name.startswith("SHE"):
        family = "line" if axes == 2 else "triangle" if nodes in SIZES["triangle"] else "quad"
    else:
        family = FAMILIES.get(name[:3], "")
    if nodes not in SIZES.get(family, ()):
        raise ValueError(f"elements {element!r} of {nodes} nodes are not known")
    return family if nodes == CORNERS[family] else f"{family}{nodes}"


def side_nodes(element: str, kind: str, axes: int, nodes: Numbers, sides: Numbers) -> Numbers | None:
    """The nodes of sides of elements of one block; nothing where what its sides are is not known.

    The sides of a face in space are its two faces, and then its edges.

    Args:
        element: The type of the elements in the file.
        kind: Their type by meshio's name.
        axes: Dimension of the space.
        nodes: Their nodes ``[sides, nodes]`` in the order of Exodus.
        sides: The number of the side, from 1, of each.
    """
    shape, width = base(kind), nodes.shape[1]
    corners = SIDES.get(shape, ())
    centres = CENTRES.get((shape, width), ())
    is_shell = shape in ("triangle", "quad") and axes == 3 and not element.strip().upper().startswith("QUA")
    places = [
        [*side, *_middles(shape, width, side), *centres[number : number + 1]] for number, side in enumerate(corners)
    ]
    if is_shell:
        places = [list(range(width))] * 2 + places
    if not places or sides.min() < 1 or sides.max() > len(places):
        return None
    return np.concatenate([nodes[sides == number][:, own].ravel() for number, own in enumerate(places, start=1)])


def _middles(shape: str, width: int, side: tuple[int, ...]) -> list[int]:
    """Where the nodes in the middles of a side's edges are, in elements that have some."""
    if width == CORNERS[shape]:
        return []
    return [CORNERS[shape] + number for number, ends in enumerate(EDGES[shape]) if {*ends} <= {*side}]
