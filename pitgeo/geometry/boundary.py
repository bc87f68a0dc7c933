"""Distances to the boundary of a mesh and to its named sets."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pitgeo.geometry.cells import (
    Block,
    Faces,
    blocks_of,
    boundary_faces,
    boundary_pieces,
    by_piece,
    pieces_of,
    top_blocks,
    weld,
    without_seams,
)
from pitgeo.geometry.distance import distance_to
from pitgeo.mesh import Mesh
from pitgeo.mesh.sets import is_mark, marked

ON = 1e-3
"""The center of a face lies on another piece if it is no farther from it than this part of the face's size."""


def boundary_distance(mesh: Mesh, queries: NDArray[np.float64]) -> NDArray[np.float64]:
    """Distance to the faces of :func:`boundary_of`, ``[Q]``."""
    return distance_to(queries, mesh.points, boundary_of(mesh))


def boundary_of(mesh: Mesh) -> list[NDArray[np.int64]]:
    """The flat pieces of the faces that belong to one cell only.

    Where points are doubled, as at a crack, the faces are boundary; unless no cell shares a point with another. Faces
    where the pieces of a mesh meet are no boundary, see :func:`pitgeo.mesh.pieces.join`.

    Raises:
        ValueError: If there are no such faces.
    """
    dimension, top = top_blocks(blocks_of(mesh))
    pieces = _boundary(mesh, top)
    if not pieces:
        raise ValueError(
            f"{mesh.where}Expected a mesh with a boundary for boundary_distance (got a closed "
            f"{'surface' if dimension == 2 else 'curve'}); take normals, or the distance to a named set"
        )
    return pieces


def outer_faces(mesh: Mesh, top: Sequence[Block]) -> list[Faces]:
    """The boundary faces of cells, without seams between the pieces of the mesh.

    The nodes are those of the first of coincident points where cells share none.
    """
    parts = [boundary_faces(weld(mesh.points, part, "apart")) for part in by_piece(mesh, top)]
    if len(parts) == 1:
        return parts[0]
    return _off_others(mesh.points, without_seams(mesh.points, parts))


def _boundary(mesh: Mesh, top: Sequence[Block]) -> list[NDArray[np.int64]]:
    """The flat pieces of the boundary faces, without seams between the pieces of the mesh."""
    return [piece for faces in outer_faces(mesh, top) for piece in faces.cut()]


def _off_others(points: NDArray[np.float64], parts: Sequence[Sequence[Faces]]) -> list[Faces]:
    """The faces of several pieces without those on a face of another piece, as at hanging nodes."""
    found: list[Faces] = []
    for number, own in enumerate(parts):
        others = [
            faces.nodes[:, faces.corners]
            for other, part in enumerate(parts)
            if other != number
            for faces in part
            if len(faces.nodes)
        ]
        for faces in (faces for faces in own if len(faces.nodes)):
            corners = points[faces.nodes[:, faces.corners]]
            size = np.ptp(corners, axis=1).max(1)
            gap = distance_to(corners.mean(1), points, others) if others else np.full(len(corners), np.inf)
            found.append(faces.kept(gap > ON * size if corners.shape[1] > 1 else gap > 0.0))
    return [faces for faces in found if len(faces.nodes)]


def set_distance(mesh: Mesh, name: str, queries: NDArray[np.float64]) -> NDArray[np.float64]:
    """Distance to the pieces of :func:`set_pieces`, ``[Q]``."""
    return distance_to(queries, mesh.points, set_pieces(mesh, name))


def set_pieces(mesh: Mesh, name: str) -> list[NDArray[np.int64]]:
    """The pieces of a named set of cells, or of points if there is none of cells.

    A set of points stands for its points, for the faces of the boundary and for the cells of lower dimension than the
    space whose nodes all lie in it. A field of zeros and ones stands for the set of its ones.

    Raises:
        ValueError: If there is no such set, or it is empty.
    """
    blocks = blocks_of(mesh)
    mesh = with_marked(mesh, name)
    if name not in mesh.cell_sets and name not in mesh.point_sets:
        names = list(dict.fromkeys([*mesh.point_sets, *mesh.cell_sets]))
        near = difflib.get_close_matches(name, names, 1)
        have = ", ".join(repr(other) for other in names) or "none"
        hint = f"; did you mean {near[0]!r}?" if near else "; take boundary_distance, or a file that names its sets"
        raise ValueError(f"{mesh.where}Expected a set of points or cells named {name!r} (got {have}){hint}")
    pieces = _cell_set(mesh, name, blocks) or _point_set(mesh, name, blocks)
    if not any(len(piece) for piece in pieces):
        raise ValueError(f"{mesh.where}Expected points or cells in the set {name!r} (got none); take another set")
    return pieces


def with_marked(mesh: Mesh, name: str) -> Mesh:
    """A copy with a field of zeros and ones as an additional set, unless the name is taken by a set.

    Raises:
        ValueError: If there is such a field alone, and it has other values.
    """
    if name in mesh.point_sets or name in mesh.cell_sets:
        return mesh
    parts = [mesh.point_data[name]] if name in mesh.point_data else list(mesh.cell_data.get(name, ()))
    if not parts:
        return mesh
    if not all(is_mark(part) for part in parts):
        raise ValueError(
            f"{mesh.where}Expected zeros and ones in the field {name!r}, which is taken for a set (got other values); "
            f"mark the points or cells of the set by ones, or take a named set"
        )
    members = tuple(np.flatnonzero(np.asarray(part).ravel()).astype(np.int64) for part in parts)
    if name in mesh.point_data:
        return replace(mesh, point_sets={**mesh.point_sets, name: members[0]})
    return replace(mesh, cell_sets={**mesh.cell_sets, name: members})


def _cell_set(mesh: Mesh, name: str, blocks: Sequence[Block]) -> list[NDArray[np.int64]]:
    numbers = mesh.cell_sets.get(name, ())
    chosen = [
        block.kept(np.asarray(some, np.int64))
        for block, some in zip(blocks, numbers, strict=bool(numbers))
        if len(some)
    ]
    return pieces_of(chosen) + boundary_pieces([block for block in chosen if block.kind.dimension == 3])


def _point_set(mesh: Mesh, name: str, blocks: Sequence[Block]) -> list[NDArray[np.int64]]:
    chosen = marked(mesh.point_sets.get(name, ()), len(mesh.points))
    _, top = top_blocks(blocks)
    lower = [block for block in blocks if block.kind.dimension < mesh.points.shape[1]]
    pieces = _boundary(mesh, top) + pieces_of(lower)
    return [np.flatnonzero(chosen)[:, None], *(piece[chosen[piece].all(1)] for piece in pieces)]
