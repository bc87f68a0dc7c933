"""Which cell of a mesh a point lies in, and the values of its shape functions there."""

from __future__ import annotations

import contextlib
import importlib
import itertools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from pitgeo.geometry.elements import ShapeFunctions, shape_functions
from pitgeo.geometry.grid import grid_of, solid
from pitgeo.mesh import Mesh
from pitgeo.mesh.cell_types import SHAPES, base, dimension

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NEAR = 1e-6
"""Points outside of a cell by less than this part of the mesh's extent are on it."""
BULGE = 0.25
"""Curved cells leave the box of their nodes by less than this part of its size."""
STEPS, EXACT = 40, 1e-12
"""Most steps of Newton's method, and the step in reference coordinates that ends it."""
PAIRS = 50_000
"""Pairs of a point and a cell that are looked at together, about."""
CENTERS = {"triangle": (1 / 3,) * 2, "tetra": (0.25,) * 3, "wedge": (1 / 3, 1 / 3, 0.5), "pyramid": (0.5, 0.5, 0.25)}


class Located(NamedTuple):
    """Points in the cells of a mesh.

    Args:
        cells: Number of the cell of every point ``[n]``; -1 where there is none.
        weights: Values of the shape functions, ``[n, N]`` for the points of the mesh; zeros where there is no cell.
    """

    cells: Ints
    weights: csr_array


def locate(mesh: Mesh, points: Floats) -> Located:
    """Find the cells of points, among those of the highest dimension, by Newton's method in reference coordinates.

    Of several cells the one with the lowest number counts.

    Args:
        mesh: The mesh.
        points: Positions ``[n, D]``.

    Raises:
        ImportError: If PyVista is missing.
        ValueError: If the mesh has no cells, or some of an unknown type.
    """
    blocks = top_cells(mesh)
    extent = float(np.ptp(mesh.points, axis=0).max())
    pairs = _pairs(Mesh(mesh.points, tuple((kind, nodes) for kind, nodes, _ in blocks)), points, extent)
    parts, first = [], 0
    for kind, nodes, start in blocks:
        own = pairs[(pairs[:, 1] >= first) & (pairs[:, 1] < first + len(nodes))] - [0, first]
        first += len(nodes)
        parts += [(functions, nodes, start, own) for functions in shape_functions(kind, nodes.shape[1])]
    cells, best = np.full(len(points), -1), np.full(len(points), np.inf)
    weights: dict[int, tuple[Ints, Floats]] = {}
    for number in range(max(len(_starts(functions)) for functions, *_ in parts)):
        lost = cells < 0
        for functions, nodes, start, own in parts:
            if number >= len(_starts(functions)):
                continue
            todo = own[lost[own[:, 0]]]
            for some in np.array_split(todo, len(todo) // PAIRS + 1):
                at, corners = _starts(functions)[number], mesh.points[nodes[some[:, 1]]]
                outside, values = _inside(functions, corners, points[some[:, 0]], at, NEAR * extent)
                for row in np.flatnonzero(outside < best[some[:, 0]]):
                    point, cell = some[row].tolist()
                    if outside[row] < best[point]:
                        best[point], cells[point] = outside[row], start + cell
                        weights[point] = nodes[cell], values[row]
    columns = [nodes for nodes, _ in weights.values()]
    rows = np.repeat(np.array([*weights], np.int64), [len(nodes) for nodes in columns])
    entries = [np.zeros(0), *(values for _, values in weights.values())]
    own = np.concatenate([np.zeros(0, np.int64), *columns])
    return Located(cells, csr_array((np.concatenate(entries), (rows, own)), shape=(len(points), len(mesh.points))))


def top_cells(mesh: Mesh) -> list[tuple[str, Ints, int]]:
    """Type, nodes, and number of the first cell in the mesh, of the blocks of the highest dimension.

    Raises:
        ValueError: If there are no cells but vertices.
    """
    sizes = [len(nodes) for _, nodes in mesh.cells]
    starts = np.cumsum([0, *sizes]).tolist()
    blocks = [(kind, nodes, start) for (kind, nodes), start in zip(mesh.cells, starts, strict=False) if len(nodes)]
    highest = max((dimension(kind) for kind, _, _ in blocks), default=0)
    if not highest:
        raise ValueError(
            f"{mesh.where}Expected cells, to take values within (got {len(mesh.points)} points alone); take a file "
            f"that holds the mesh"
        )
    return [block for block in blocks if dimension(block[0]) == highest]


def _pairs(mesh: Mesh, points: Floats, extent: float) -> Ints:
    """Points, and cells in whose boxes they are ``[pairs, 2]``, by the numbers of points and then of cells."""
    core = importlib.import_module("vtkmodules.vtkCommonCore")
    locator = importlib.import_module("vtkmodules.vtkCommonDataModel").vtkStaticCellLocator()
    locator.SetDataSet(grid_of(mesh))
    locator.BuildLocator()
    curved = [
        nodes for kind, nodes in mesh.cells if base(kind) in SHAPES and nodes.shape[1] > SHAPES[base(kind)].corners
    ]
    sizes = [float(np.ptp(mesh.points[nodes], axis=1).max()) for nodes in curved]
    margin = NEAR * extent + BULGE * max(sizes, default=0.0)
    ids, found = core.vtkIdList(), []
    for number, (low, high) in enumerate(zip(solid(points - margin), solid(points + margin), strict=True)):
        locator.FindCellsWithinBounds([end for pair in zip(low, high, strict=True) for end in pair], ids)
        own = sorted(ids.GetId(place) for place in range(ids.GetNumberOfIds()))
        found += [(number, cell) for cell in own]
    pairs = np.array(found, np.int64).reshape(-1, 2)
    ends = [(mesh.points[nodes].min(1), mesh.points[nodes].max(1)) for _, nodes in mesh.cells]
    lows, highs = (np.concatenate(part)[pairs[:, 1]] for part in zip(*ends, strict=True))
    at = points[pairs[:, 0]]
    return pairs[((lows - margin <= at) & (at <= highs + margin)).all(1)]


def _starts(functions: ShapeFunctions) -> list[Floats]:
    """Where Newton's method starts in a reference cell: its center; in curved cells then towards each corner."""
    shape = functions.shape
    axes = SHAPES[shape].dimension
    center = np.array(CENTERS.get(shape, (0.5,) * axes))
    if functions.degree == 1:
        return [center]
    corners = np.array(list(itertools.product((0.0, 1.0), repeat=axes)))
    return [center, *(0.3 * center + 0.7 * corners[_beyond(shape, corners) <= 0])]


def _inside(
    functions: ShapeFunctions, corners: Floats, points: Floats, start: Floats, near: float
) -> tuple[Floats, Floats]:
    """How far outside each point lies of its own cell, 0 inside and infinite if not on it; and the shape functions.

    Shapes:
        - **corners** ``[P, nodes, D]``; **points** ``[P, D]``
        - **output** ``[P]`` in reference coordinates, and ``[P, nodes]``
    """
    places, todo = np.tile(start, (len(points), 1)), np.arange(len(points))
    if not len(points):
        return np.zeros(0), np.zeros((0, corners.shape[1]))
    for _ in range(STEPS):
        values, slopes = functions.at(places[todo])
        gaps = points[todo] - np.einsum("pn,pnd->pd", values, corners[todo])
        tangents = np.einsum("pna,pnd->pda", slopes, corners[todo])
        before = places[todo]
        places[todo] = np.clip(before + _solved(tangents, gaps), -1.0, 2.0)
        todo = todo[np.abs(places[todo] - before).max(1) > EXACT]
        if not len(todo):
            break
    values, _ = functions.at(places)
    gap = np.linalg.norm(points - np.einsum("pn,pnd->pd", values, corners), axis=1)
    size = np.ptp(corners, axis=1).max(1)
    outside = np.maximum(_beyond(functions.shape, places), 0.0)
    return np.asarray(np.where((gap <= near) & (outside * size <= near), outside, np.inf)), values


def _solved(tangents: Floats, gaps: Floats) -> Floats:
    """Steps in reference coordinates ``[P, axes]`` that close gaps ``[P, D]``; on surfaces, up to their normals."""
    if tangents.shape[1] == tangents.shape[2]:
        with contextlib.suppress(np.linalg.LinAlgError):  # at the apex of a pyramid
            return np.asarray(np.linalg.solve(tangents, gaps[..., None])[..., 0])
    return np.asarray(np.einsum("pad,pd->pa", np.linalg.pinv(tangents), gaps))


def _beyond(shape: str, places: Floats) -> Floats:
    """How far places are outside of a reference cell, negative inside."""
    if shape in ("triangle", "tetra"):
        return np.asarray(np.maximum(-places.min(1), places.sum(1) - 1))
    box = np.asarray(np.maximum(-places, places - 1))
    if shape == "wedge":
        return np.asarray(np.maximum(_beyond("triangle", places[:, :2]), box[:, 2]))
    if shape == "pyramid":  # in collapsed coordinates
        box[:, :2] *= np.maximum(1 - places[:, 2:], 0.0)
    return np.asarray(box.max(1))
