"""Abaqus' names of cell types, its order of nodes, and its names of sides."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from pitgeo.mesh.abaqus.lines import Block, fields, label, refusal, whole, wholes
from pitgeo.mesh.cell_types import CORNERS, FACE_CENTERS, SHAPES, base, known_width, nodes_on

Numbers = NDArray[np.int64]

SOLIDS = "C3D|DC3D|DCC3D|AC3D|Q3D|EC3D|COH3D|FC3D|F3D|SC|CSS"
FACES = (
    "CPS|CPE|CPEG|CAX|CGAX|AC2D|ACAX|DC2D|DCAX|DCC2D|DCCAX|COH2D|COHAX"  # flat
    "|S|DS|STRI|M3D|R3D|SFM3D"  # in space
)
LINES = {
    2: r"B[23][13]|T[23]D2|PIPE[23]1|ELBOW31[BC]?|FRAME[23]D|R2D2|RAX2|RB[23]D2|CONN[23]D2|(D?S|M|MG|SFM|SFMG)AX1"
    r"|(DC|DCC|AC)1D2",
    3: r"B[23]2|T[23]D3|PIPE[23]2|ELBOW32|(D?S|M|MG|SFM|SFMG)AX2|(DC|DCC|AC)1D3",
}
LEFT_OUT = r"MASS|ROTARYI|HEATCAP|CAPACITANCE|(SPRING|DASHPOT)[12A]|DCOUP[23]D|JOINT(C|2D|3D)|GAP(UNI|CYL|SPHER)T?"
"""Springs, masses and the like: they join points, and no field lives on them."""

_BODIES = "tetra pyramid wedge hexahedron tetra10 pyramid13 wedge15 wedge18 hexahedron20 hexahedron27"
BODIES = {known_width(kind): kind for kind in _BODIES.split()}
FLAT = {known_width(kind): kind for kind in ("triangle", "quad", "triangle6", "quad8", "quad9")}
"""Types by the number of nodes in Abaqus' names."""

ORDER = {"line3": (0, 2, 1), "hexahedron27": (*range(20), 26, 24, 23, 25, 21, 22, 20)}
"""Abaqus' nodes in meshio's order, where it is another: the middle of a line comes second."""

ORDER_IS_CHECKED = ("pyramid13", "wedge18", "hexahedron27")
"""Cells that programs write in orders of their own."""


def kind_of(name: str, line: int, head: str) -> str:
    """Meshio's name of a type of elements; empty for springs, masses and the like.

    Raises:
        ValueError: If the type is not known.
    """
    if re.fullmatch(LEFT_OUT, name):
        return ""
    for nodes, pattern in LINES.items():
        if re.fullmatch(rf"({pattern})[HTEDOSIPR]*", name):
            return "line" if nodes == 2 else "line3"
    if found := re.fullmatch(rf"({SOLIDS})([0-9]+)[RIHTPEMSDV]*", name):
        nodes = 18 if name.startswith("C3D15V") else int(found[2])
        if nodes in BODIES:
            return BODIES[nodes]
    if found := re.fullmatch(rf"({FACES})([0-9]+)([RIHTPEMSDW]*5?)", name):
        nodes = {65: 6}.get(int(found[2]), int(found[2]))
        if nodes in FLAT:
            return FLAT[nodes]
    raise refusal(line, "elements of a type that is known", head)


def is_shell(name: str) -> bool:
    """Whether elements are surfaces in space, with two faces and edges."""
    return re.match(r"(S|DS|STRI|M3D|R3D|SFM3D)[0-9]", name) is not None


def connectivity(block: Block, name: str, kind: str) -> tuple[list[int], list[int], int]:
    """Numbers and nodes of the elements of a block, and the number of elements with an extra orientation node.

    A line that ends before the element has all its nodes is continued by the next one.

    Raises:
        ValueError: If an element has more or fewer nodes than its type.
    """
    width = known_width(kind)
    order = ORDER.get(kind, range(width))
    directed = re.match(r"(B|PIPE|ELBOW)3", name) is not None
    numbers: list[int] = []
    nodes: list[int] = []
    more = 0
    pending: list[int] = []
    for number, line in block.rows:
        is_whole = not pending
        pending += wholes((number, line))
        if len(pending) == width + 2 and directed and is_whole:
            pending.pop()
            more += 1
        if len(pending) > width + 1:
            raise refusal(number, f"elements {name} of {width} nodes", line, "mend the line")
        if len(pending) == width + 1:
            numbers.append(pending[0])
            nodes += [pending[1 + place] for place in order]
            pending = []
    if pending:
        raise refusal(*_last(block, f"{width} nodes of the last element {name}"), "is the file whole?")
    return numbers, nodes, more


def element_numbers(block: Block) -> list[int]:
    """Numbers of elements that are left out. Their nodes are not read, since they may be missing."""
    return [whole(fields(line)[0], number, line) for number, line in block.rows]


def on_points(block: Block) -> bool:
    """Whether all elements of a block have two numbered nodes; a connector may lack one, which is then the ground."""
    return all(re.fullmatch(r"\d+\s*,\s*\d+\s*,\s*\d+[\s,]*", line) for _, line in block.rows)


def side_places(name: str, kind: str, side: str) -> list[int] | None:
    """Places of the nodes on a side of an element; ``None`` if the side is unknown."""
    side, sides, shell = label(side), SHAPES[base(kind)].sides, is_shell(name)
    if side in ("SPOS", "SNEG") and (shell or base(kind) == "line"):
        return list(range(known_width(kind)))
    found = re.fullmatch(r"([SE])([1-6])", side)
    if found is None or (found[1] == "E") != shell or int(found[2]) > len(sides):
        return None
    return nodes_on(kind, sides[int(found[2]) - 1])


def out_of_order(kind: str, corners_first: NDArray[np.float64]) -> bool:
    """Whether most cells have middle nodes of edges and sides that are not where the node order puts them.

    Args:
        kind: The type of the cells.
        corners_first: Positions of their nodes ``[cells, nodes, 3]``.
    """
    shape, count = SHAPES[base(kind)], CORNERS[base(kind)]
    corners = corners_first[:, :count]
    centers = [
        (side, place) for side, place in zip(shape.faces, FACE_CENTERS.get(kind, ()), strict=False) if place is not None
    ]
    expected = [corners[:, list(ends)].mean(1) for ends in shape.edges]
    expected += [corners[:, list(side)].mean(1) for side, _ in centers]
    places = [*range(count, count + len(shape.edges)), *(place for _, place in centers)]
    middles = corners_first[:, places]
    distance = np.linalg.norm(middles[:, :, None] - np.stack(expected, 1)[:, None], axis=-1)
    return bool((distance.argmin(2) != np.arange(len(places))).any(1).mean() > 0.5)


def _last(block: Block, expected: str) -> tuple[int, str, str]:
    number, line = block.rows[-1]
    return number, expected, line
