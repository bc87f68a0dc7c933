"""Distances to the boundary of a mesh and to its named sets."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pitgeo.geometry.cells import Block, blocks_of, boundary_pieces, pieces_of, top_blocks, weld
from pitgeo.geometry.distance import distance_to
from pitgeo.mesh import Mesh


def boundary_distance(mesh: Mesh, queries: NDArray[np.float64]) -> NDArray[np.float64]:
    """Distance to the faces that belong to one cell only, ``[Q]``.

    Where points are doubled, as at a crack, the faces are boundary; unless no cell shares a point with another.

    Raises:
        ValueError: If there are no such faces.
    """
    dimension, top = top_blocks(blocks_of(mesh))
    pieces = boundary_pieces(weld(mesh.points, top, "apart"))
    if not pieces:
        where = f"{mesh.path}: " if mesh.path else ""
        raise ValueError(
            f"{where}Expected a mesh with a boundary for boundary_distance (got a closed "
            f"{'surface' if dimension == 2 else 'curve'}); take normals, or the distance to a named set"
        )
    return distance_to(queries, mesh.points, pieces)


def set_distance(mesh: Mesh, name: str, queries: NDArray[np.float64]) -> NDArray[np.float64]:
    """Distance to a named set of cells, or of points if there is none of cells, ``[Q]``.

    A set of points stands for its points, for the faces of the boundary and for the cells of lower dimension than the
    space whose nodes all lie in it.

    Raises:
        ValueError: If there is no such set, or it is empty.
    """
    where, blocks = f"{mesh.path}: " if mesh.path else "", blocks_of(mesh)
    if name not in mesh.cell_sets and name not in mesh.point_sets:
        names = list(dict.fromkeys([*mesh.point_sets, *mesh.cell_sets]))
        near = difflib.get_close_matches(name, names, 1)
        have = ", ".join(repr(other) for other in names) or "none"
        hint = f"; did you mean {near[0]!r}?" if near else "; take boundary_distance, or a file that names its sets"
        raise ValueError(f"{where}Expected a set of points or cells named {name!r} (got {have}){hint}")
    pieces = _cell_set(mesh, name, blocks) or _point_set(mesh, name, blocks)
    if not any(len(piece) for piece in pieces):
        raise ValueError(f"{where}Expected points or cells in the set {name!r} (got none); take another set")
    return distance_to(queries, mesh.points, pieces)


def _cell_set(mesh: Mesh, name: str, blocks: Sequence[Block]) -> list[NDArray[np.int64]]:
    numbers = mesh.cell_sets.get(name, ())
    chosen = [
        block._replace(nodes=block.nodes[np.asarray(some, np.int64)])
        for block, some in zip(blocks, numbers, strict=bool(numbers))
        if len(some)
    ]
    return pieces_of(chosen) + boundary_pieces([block for block in chosen if block.kind.dimension == 3])


def _point_set(mesh: Mesh, name: str, blocks: Sequence[Block]) -> list[NDArray[np.int64]]:
    chosen = np.zeros(len(mesh.points), bool)
    chosen[np.asarray(mesh.point_sets.get(name, ()), np.int64)] = True
    _, top = top_blocks(blocks)
    lower = [block for block in blocks if block.kind.dimension < mesh.points.shape[1]]
    pieces = boundary_pieces(top) + pieces_of(lower)
    return [np.flatnonzero(chosen)[:, None], *(piece[chosen[piece].all(1)] for piece in pieces)]
