"""What is known of the types of cells, by meshio's names."""

from __future__ import annotations

CORNERS = {
    "vertex": 1,
    "line": 2,
    "triangle": 3,
    "quad": 4,
    "tetra": 4,
    "pyramid": 5,
    "wedge": 6,
    "hexahedron": 8,
    "penta_prism": 10,
    "hexa_prism": 12,
    "CURVE": 2,
    "TRIANGLE": 3,
    "QUADRILATERAL": 4,
    "TETRAHEDRON": 4,
    "HEXAHEDRON": 8,
    "WEDGE": 6,
    "PYRAMID": 5,
}
"""Corners by name without the number of nodes; of VTK's own types of any order (VTK_LAGRANGE_...) by the last word."""

DIMENSIONS = {"vertex": 0, "line": 1, "triangle": 2, "quad": 2, "polygon": 2}
"""Axes of a cell, of those types that do not fill space."""

VTK_TYPES = {
    1: "vertex",
    3: "line",
    5: "triangle",
    7: "polygon",
    9: "quad",
    10: "tetra",
    12: "hexahedron",
    13: "wedge",
    14: "pyramid",
    15: "penta_prism",
    16: "hexa_prism",
    21: "line3",
    22: "triangle6",
    23: "quad8",
    24: "tetra10",
    25: "hexahedron20",
    26: "wedge15",
    27: "pyramid13",
    28: "quad9",
    29: "hexahedron27",
    30: "quad6",
    31: "wedge12",
    32: "wedge18",
    33: "hexahedron24",
    34: "triangle7",
    35: "line4",
    **{
        first + number: f"VTK_{family}_{shape}"
        for first, family in ((68, "LAGRANGE"), (75, "BEZIER"))
        for number, shape in enumerate(
            ("CURVE", "TRIANGLE", "QUADRILATERAL", "TETRAHEDRON", "HEXAHEDRON", "WEDGE", "PYRAMID")
        )
    },
}
"""Names by VTK's numbers."""


def width(kind: str) -> int | None:
    """How many nodes cells of a type have; ``None`` where the name does not say.

    Example:
        >>> width("triangle"), width("triangle6"), width("polygon")
        (3, 6, None)
    """
    name, digits = base(kind), kind[len(base(kind)) :]
    if kind.startswith("VTK_") or name not in CORNERS:
        return None
    return int(digits) if digits else CORNERS[name]


def base(kind: str) -> str:
    """The name without the number of nodes: ``triangle6`` is a ``triangle``."""
    return kind.rsplit("_", 1)[-1] if kind.startswith("VTK_") else kind.rstrip("0123456789")


def corners(kind: str, nodes: int) -> int:
    """How many of a cell's nodes, which come first, are its corners; all of a polygon's.

    Raises:
        ValueError: If the type is not known.
    """
    if kind == "polygon":
        return nodes
    if base(kind) not in CORNERS:
        raise ValueError(f"Expected cells of known types (got {kind!r}); convert them to one of {', '.join(CORNERS)}")
    return CORNERS[base(kind)]


def dimension(kind: str) -> int:
    """Axes of a cell: 0 of a point, 1 of a line, 2 of a face, 3 of a body."""
    name = base(kind)
    return {"CURVE": 1, "TRIANGLE": 2, "QUADRILATERAL": 2}.get(name, DIMENSIONS.get(name, 3))
