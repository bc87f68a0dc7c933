"""Exodus' names of cell types, its order of nodes, and its numbers of sides."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pitgeo.mesh.cell_types import CORNERS, ORDER_VERTICAL_EDGES_FIRST, SHAPES, base, nodes_on

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

KINDS = {
    *("vertex", "line", "line3", "triangle", "triangle6", "triangle7", "quad", "quad8", "quad9", "tetra", "tetra10"),
    *("pyramid", "pyramid13", "wedge", "wedge15", "hexahedron", "hexahedron20", "hexahedron27"),
}

ORDER = {
    **ORDER_VERTICAL_EDGES_FIRST,
    "hexahedron27": (*ORDER_VERTICAL_EDGES_FIRST["hexahedron20"], 23, 24, 25, 26, 21, 22, 20),
}
"""Exodus' nodes in meshio's order, where it is another."""

ENDS = {"tetra": 1, "pyramid": 1, "wedge": 2, "hexahedron": 2}
"""How many faces at the bottom and the top of a body Exodus numbers after the others."""


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
        family = "line" if axes == 2 else "triangle" if nodes in (3, 6, 7) else "quad"
    else:
        family = FAMILIES.get(name[:3], "")
    kind = family if nodes == CORNERS.get(family) else f"{family}{nodes}"
    if kind not in KINDS:
        raise ValueError(f"elements {element!r} of {nodes} nodes are not known")
    return kind


def side_nodes(element: str, kind: str, axes: int, nodes: Numbers, sides: Numbers) -> Numbers | None:
    """The nodes of sides of elements of one block; ``None`` if the sides are unknown.

    The sides of a face in space are its two faces, and then its edges.

    Args:
        element: The type of the elements in the file.
        kind: Their type by meshio's name.
        axes: Dimension of the space.
        nodes: Their nodes ``[sides, nodes]`` in meshio's order.
        sides: The number of the side, from 1, of each.
    """
    shape = base(kind)
    own, ends = SHAPES[shape].sides, ENDS.get(shape, 0)
    places = [nodes_on(kind, side) for side in (*own[ends:], *own[:ends])]
    if shape in ("triangle", "quad") and axes == 3 and not element.strip().upper().startswith("QUA"):  # a shell
        places = [list(range(nodes.shape[1]))] * 2 + places
    if not places or sides.min() < 1 or sides.max() > len(places):
        return None
    return np.concatenate([nodes[sides == number][:, own].ravel() for number, own in enumerate(places, start=1)])
