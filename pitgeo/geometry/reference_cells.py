"""Reference cells of every type: places of their nodes, and their faces."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pitgeo.geometry.grid import grid_of
from pitgeo.mesh import Mesh
from pitgeo.mesh.cell_types import FACE_CENTERS, SHAPES, base

Floats = NDArray[np.float64]
Nodes = tuple[int, ...]

PRISMS = {"penta_prism": 5, "hexa_prism": 6}
"""Corners of the ends of prisms that have no faces in :data:`SHAPES`."""
MISSING_EDGES = {"quad6": (1, 3), "wedge12": (6, 7, 8)}
"""Edges without a node in the middle, of types that have one on the others."""
BUBBLES = {"triangle": (7, 2, 3), "wedge": (21, 2, 3), "tetra": (15, 2, 4)}
"""Nodes of a type with nodes in the centers of its triangles and of the cell; its order and degree."""


class Face(NamedTuple):
    """A face of a body, or a side of a face: its type, and places of its corners and of all its nodes in the cell.

    Faces are counterclockwise as seen from outside, sides run counterclockwise.
    """

    kind: str
    corners: Nodes
    nodes: Nodes


@lru_cache
def faces(kind: str, width: int) -> tuple[Face, ...]:
    """The faces of a body, the sides of a face, the ends of a line."""
    shape = base(kind)
    if shape == "vertex":
        return ()
    if shape == "line":
        return (Face("vertex", (0,), (0,)), Face("vertex", (1,), (1,)))
    if shape == "polygon":
        return tuple(Face("line", side, side) for side in rounds(range(width)))
    if shape in PRISMS:
        count = PRISMS[shape]
        bottom, top = tuple(range(count))[::-1], tuple(range(count, 2 * count))
        sides = [(a, b, b + count, a + count) for a, b in rounds(range(count))]
        ends = [Face("polygon", bottom, bottom), Face("polygon", top, top)]
        return (*ends, *(Face("quad", side, side) for side in sides))
    if is_high(kind, width):
        return _vtk_faces(kind, width)
    middles, centers = _middles(kind, shape, width), FACE_CENTERS.get(plain_name(kind, width), ())
    found = []
    for number, side in enumerate(SHAPES[shape].sides):
        nodes = [*side, *(middles[ends] for ends in map(frozenset, rounds(side)) if ends in middles)]
        if len(side) == 2:
            nodes = [*side, *(middles[frozenset(side)] for _ in range(frozenset(side) in middles))]
        center = centers[number] if number < len(centers) else None
        nodes += [] if center is None else [center]
        found.append(Face(_side_kind(len(side), len(nodes)), side, tuple(nodes)))
    return tuple(found)


def own_places(kind: str, shape: str, width: int) -> Floats:
    """Reference places of the nodes: corners, middles of edges, centers of faces and of the cell."""
    corners = _REFERENCE[shape]
    parts = [*corners, *(corners[sorted(ends)].mean(0) for ends in _middles(kind, shape, width))]
    for face, center in zip(SHAPES[shape].faces, FACE_CENTERS.get(plain_name(kind, width), ()), strict=False):
        if center is not None:
            parts += [np.zeros(corners.shape[1])] * (center + 1 - len(parts))
            parts[center] = corners[list(face)].mean(0)
    if len(parts) == width - 1:
        parts.append(corners[:4].mean(0) if shape == "pyramid" else corners.mean(0))
    if len(parts) != width:
        raise unknown(kind, width)
    places = np.array(parts)
    if shape == "pyramid":  # collapsed coordinates
        height = 1 - places[:, 2:]
        places[:, :2] = np.where(height > 0, places[:, :2] / np.where(height > 0, height, 1.0), 0.0)
    return places


def vtk_places(kind: str, width: int) -> Floats:
    """Reference places of the nodes of VTK's Lagrange cells."""
    places = _vtk_cell(kind, width).GetParametricCoords()
    found = np.array([places[number] for number in range(3 * width)]).reshape(-1, 3)
    order = order_of(base(kind), width)
    grid = 12 * order  # nodes are at multiples of 1 / order, or in centers of triangles; VTK has single precision
    return np.asarray(np.round(found * grid) / grid)


def rounds(nodes: Sequence[int]) -> list[tuple[int, int]]:
    """Every node with the next one, the last with the first."""
    return [(a, nodes[(number + 1) % len(nodes)]) for number, a in enumerate(nodes)]


def plain_name(kind: str, width: int) -> str:
    """The name of a type without the word for its family."""
    shape = base(kind)
    return f"{shape}{width}" if width > SHAPES[shape].corners else shape


def is_high(kind: str, width: int) -> bool:
    """Whether a type of VTK's Lagrange cells is of higher order than the types with names of their own."""
    return kind.startswith("VTK_") and width > SHAPES[base(kind)].corners and base(kind) != "line"


def order_of(shape: str, width: int) -> int:
    """The order of a Lagrange cell with so many nodes, or of the next larger one."""
    if shape in BUBBLES and width == BUBBLES[shape][0]:
        return BUBBLES[shape][1]
    counts: dict[str, Callable[[int], int]] = {
        "triangle": lambda n: (n + 1) * (n + 2) // 2,
        "quad": lambda n: (n + 1) ** 2,
        "tetra": lambda n: (n + 1) * (n + 2) * (n + 3) // 6,
        "hexahedron": lambda n: (n + 1) ** 3,
        "wedge": lambda n: (n + 1) ** 2 * (n + 2) // 2,
    }
    return next(n for n in itertools.count(1) if counts[shape](n) >= width)


def unknown(kind: str, width: int) -> ValueError:
    """The error for a type that has no shape functions here."""
    return ValueError(
        f"Expected cells of known types, with nodes on the cell (got {kind!r} of {width} nodes); save the mesh with "
        f"cells of order 1 or 2"
    )


def _side_kind(corners: int, nodes: int) -> str:
    return {2: "line", 3: "triangle", 4: "quad"}[corners] + (str(nodes) if nodes > corners else "")


def _middles(kind: str, shape: str, width: int) -> dict[frozenset[int], int]:
    """The node in the middle of each edge that has one, by the ends of the edge."""
    corners, missing = SHAPES[shape].corners, MISSING_EDGES.get(plain_name(kind, width), ())
    if width == corners:
        return {}
    edges = [ends for number, ends in enumerate(SHAPES[shape].edges) if number not in missing]
    return {frozenset(ends): corners + number for number, ends in enumerate(edges)}


def _vtk_cell(kind: str, width: int) -> Any:
    points = np.random.default_rng(0).random((width, 3))  # any will do
    return grid_of(Mesh(points, ((kind, np.arange(width)[None]),))).GetCell(0)


def _vtk_faces(kind: str, width: int) -> tuple[Face, ...]:
    cell, shape = _vtk_cell(kind, width), SHAPES[base(kind)]
    found = []
    for number in range(cell.GetNumberOfFaces() if shape.dimension == 3 else cell.GetNumberOfEdges()):
        side = cell.GetFace(number) if shape.dimension == 3 else cell.GetEdge(number)
        nodes = tuple(side.GetPointId(place) for place in range(side.GetNumberOfPoints()))
        count = 2 if shape.dimension == 2 else side.GetNumberOfEdges()
        own = next(corners for corners in shape.sides if {*corners} == {*nodes[:count]})
        if count == 2 and nodes[:2] != own:
            nodes = (*own, *nodes[:1:-1])
        if nodes[:count] not in [own[start:] + own[:start] for start in range(count)]:
            raise unknown(kind, width)
        name = {2: f"line{len(nodes)}", 3: "VTK_LAGRANGE_TRIANGLE", 4: "VTK_LAGRANGE_QUADRILATERAL"}[count]
        found.append(Face("line" if len(nodes) == 2 else name, nodes[:count], nodes))
    return tuple(found)


_TRIANGLE, _SQUARE = [(0, 0), (1, 0), (0, 1)], [(0, 0), (1, 0), (1, 1), (0, 1)]
_REFERENCE = {
    "triangle": np.array(_TRIANGLE, float),
    "quad": np.array(_SQUARE, float),
    "tetra": np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], float),
    "wedge": np.array([(*place, z) for z in (0, 1) for place in _TRIANGLE], float),
    "hexahedron": np.array([(*place, z) for z in (0, 1) for place in _SQUARE], float),
    "pyramid": np.array([*((*place, 0) for place in _SQUARE), (0, 0, 1)], float),
}
