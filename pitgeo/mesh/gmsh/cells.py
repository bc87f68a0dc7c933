"""Gmsh's numbers of cell types, and its order of nodes."""

from __future__ import annotations

from pitgeo.mesh.cell_types import known_width

KINDS = {
    **{1: "line", 2: "triangle", 3: "quad", 4: "tetra", 5: "hexahedron", 6: "wedge", 7: "pyramid", 8: "line3"},
    **{9: "triangle6", 10: "quad9", 11: "tetra10", 12: "hexahedron27", 13: "wedge18", 14: "pyramid14", 15: "vertex"},
    **{16: "quad8", 17: "hexahedron20", 18: "wedge15", 19: "pyramid13", 21: "triangle10", 23: "triangle15"},
    **{25: "triangle21", 26: "line4", 27: "line5", 28: "line6", 29: "tetra20", 30: "tetra35", 31: "tetra56"},
    **{36: "quad16", 37: "quad25", 38: "quad36", 42: "triangle28", 43: "triangle36", 44: "triangle45"},
    **{45: "triangle55", 46: "triangle66", 47: "quad49", 48: "quad64", 49: "quad81", 50: "quad100", 51: "quad121"},
    **{62: "line7", 63: "line8", 64: "line9", 65: "line10", 66: "line11", 71: "tetra84", 72: "tetra120"},
    **{73: "tetra165", 74: "tetra220", 75: "tetra286", 90: "wedge40", 91: "wedge75", 92: "hexahedron64"},
    **{93: "hexahedron125", 94: "hexahedron216", 95: "hexahedron343", 96: "hexahedron512", 97: "hexahedron729"},
    **{98: "hexahedron1000", 106: "wedge126", 107: "wedge196", 108: "wedge288", 109: "wedge405", 110: "wedge550"},
}
"""Names by Gmsh's numbers; incomplete triangles and tetrahedra of high order are not among them."""

_EDGES20 = [0, 1, 2, 3, 4, 5, 6, 7, 8, 11, 13, 9, 16, 18, 19, 17, 10, 12, 14, 15]
_EDGES15 = [0, 1, 2, 3, 4, 5, 6, 9, 7, 12, 14, 13, 8, 10, 11]

ORDER = {
    "tetra10": [0, 1, 2, 3, 4, 5, 6, 7, 9, 8],
    "hexahedron20": _EDGES20,
    "hexahedron27": [*_EDGES20, 22, 23, 21, 24, 20, 25, 26],
    "wedge15": _EDGES15,
    "wedge18": [*_EDGES15, 15, 17, 16],
    "pyramid13": [0, 1, 2, 3, 4, 5, 8, 10, 6, 7, 9, 11, 12],
}
"""Gmsh's nodes in the order of VTK, where they differ."""


def kind_of(number: int) -> tuple[str, int]:
    """The name of a type, and how many nodes it has.

    Raises:
        ValueError: If the type is not known.
    """
    kind = KINDS.get(number)
    if kind is None:
        raise ValueError(f"Expected elements of known types (got type {number}); save the mesh with complete elements")
    return kind, known_width(kind)
