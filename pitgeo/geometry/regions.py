"""What is integrated over: the cells of a mesh or of a set, or their surface with its normals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pitgeo.geometry.boundary import outer_faces
from pitgeo.geometry.cells import Block, Faces, Kind, each_once, face_keys
from pitgeo.geometry.elements import element
from pitgeo.geometry.integration import gauss_points, signs
from pitgeo.geometry.normals import sides_of
from pitgeo.geometry.reference_cells import faces
from pitgeo.geometry.sets import marks_of, one_kind
from pitgeo.mesh import Mesh
from pitgeo.mesh.cell_types import corners, dimension
from pitgeo.mesh.cells import split_by_block
from pitgeo.mesh.sets import marked

NAMES = ("points", "lines", "faces", "bodies")


class Part(NamedTuple):
    """Cells, or faces of cells, of one type.

    Args:
        kind: The type.
        nodes: Their nodes ``[n, nodes]``.
        cells: Number ``[n]`` of the cell that each is, or whose face it is.
        signs: -1 where the normal that is meant is not that of the nodes, 1 elsewhere ``[n]``.
    """

    kind: str
    nodes: NDArray[np.int64]
    cells: NDArray[np.int64]
    signs: NDArray[np.float64]


class Region(NamedTuple):
    """Parts of one dimension, and what a reader of the numbers should know of them."""

    axes: int
    parts: tuple[Part, ...]
    notes: tuple[str, ...] = ()


def cells_in(mesh: Mesh, within: str | None) -> Region:
    """The cells of the highest dimension, or those of a set.

    Of a set of points: the faces on the boundary, or of a surface, all of whose corners are in the set. A cell that is
    listed twice counts once.

    Raises:
        ValueError: If there are no cells, no such set, or the set is empty, has cells of several dimensions, or points
            of which no faces can be made.
    """
    chosen = _members(mesh, within)
    if isinstance(chosen, np.ndarray):
        return _faces_at(mesh, within or "", chosen)
    return Region(chosen[0], tuple(map(_part, chosen[1])))


def surface_of(mesh: Mesh, within: str | None, has_normals: bool = True) -> Region:
    """The boundary of bodies (in the plane: of faces), or the faces of a surface, with their normals.

    - Normals of a boundary point out of the cells. Without a set, it is the whole boundary; for a set of bodies, that
      of these bodies together; for a set of faces, or of points, those faces.
    - A mesh of faces alone in space, or lines alone in the plane, has the normals of its file: by the right hand rule,
      and to the right of a line. So have faces between two bodies, and faces on none.

    Args:
        mesh: The mesh.
        within: The set; ``None``: everywhere.
        has_normals: Whether normals matter; else faces may have any.

    Raises:
        ValueError: As :func:`cells_in`; if the file's faces, where their normals count, are not oriented alike; or if
            cells are neither bodies nor a surface.
    """
    chosen, space = _members(mesh, within), mesh.points.shape[1]
    if isinstance(chosen, np.ndarray):
        region = _faces_at(mesh, within or "", chosen)
        return region if _top(mesh)[0] == space or not has_normals else _as_given(mesh, region, within)
    axes, blocks = chosen
    if axes == space and space > 1:
        return Region(axes - 1, _outer(mesh, blocks))
    if axes != space - 1 or space == 1:
        raise ValueError(
            f"{mesh.where}Expected {NAMES[space]}{' or ' + NAMES[space - 1] if space > 1 else ''} in {space}D, whose "
            f"normals are wanted{_of(within)} (got {NAMES[axes]}); name another set"
        )
    region = Region(axes, tuple(map(_part, blocks)))
    if not has_normals:
        return region
    return _beside_bodies(mesh, region, within) if _top(mesh)[0] == space else _as_given(mesh, region, within)


def _of(within: str | None) -> str:
    return "" if within is None else f" of the set {within!r}"


def _blocks(mesh: Mesh) -> list[Block]:
    ends = np.cumsum([0, *(len(nodes) for _, nodes in mesh.cells)])
    return [
        Block(_kind(mesh, kind, nodes.shape[1]), nodes, int(first))
        for (kind, nodes), first in zip(mesh.cells, ends, strict=False)
    ]


def _kind(mesh: Mesh, kind: str, width: int) -> Kind:
    """A type whose faces have one piece, all their nodes."""
    try:
        element(kind, width)
    except ValueError as error:
        raise ValueError(f"{mesh.where}{error}") from error
    return Kind(dimension(kind), (), tuple((face.corners, (face.nodes,)) for face in faces(kind, width)), kind)


def _top(mesh: Mesh) -> tuple[int, list[Block]]:
    """The highest dimension, and the cells that have it."""
    blocks = _blocks(mesh)
    axes = max((block.kind.dimension for block in blocks if len(block.nodes)), default=0)
    if not axes:
        raise ValueError(
            f"{mesh.where}Expected cells to integrate over (got {len(mesh.points)} points alone); take a file that "
            f"holds the mesh"
        )
    return axes, each_once([block for block in blocks if block.kind.dimension == axes and len(block.nodes)])


def _members(mesh: Mesh, within: str | None) -> tuple[int, list[Block]] | NDArray[np.bool_]:
    """Dimension and cells that are meant, or marks of points."""
    if within is None:
        return _top(mesh)
    marks = marks_of(mesh, within, ", to integrate over")
    if not any(own.any() for own in marks.values()):
        raise ValueError(f"{mesh.where}Expected cells or points in the set {within!r} (got none); name another set")
    if one_kind(mesh, within, marks) == "point":
        return marks["point"]
    split = split_by_block(marks["cell"], mesh.cells)
    blocks = [block.kept(own) for block, own in zip(_blocks(mesh), split, strict=True) if own.any()]
    axes = sorted({block.kind.dimension for block in blocks})
    if len(axes) > 1 or axes == [0]:
        raise ValueError(
            f"{mesh.where}Expected lines, faces or bodies in the set {within!r}, of one kind (got "
            f"{' and '.join(NAMES[own] for own in axes)}); name a set for each"
        )
    return axes[0], each_once(blocks)


def _part(block: Block) -> Part:
    return Part(block.kind.name, block.nodes, block.numbers, np.ones(len(block.nodes)))


def _outer(mesh: Mesh, blocks: Sequence[Block]) -> tuple[Part, ...]:
    """The boundary of cells, normals out of them, on the nodes of the cells themselves."""
    ends, parts = np.cumsum([len(nodes) for _, nodes in mesh.cells]), []
    for found in outer_faces(mesh, blocks):
        number = int(np.searchsorted(ends, found.cells[0], "right"))
        kind, every = mesh.cells[number]
        nodes = every[found.cells - (ends[number] - len(every))]
        face = next(face for face in faces(kind, nodes.shape[1]) if face.corners == found.corners)
        parts.append(Part(face.kind, nodes[:, face.nodes], found.cells, signs(mesh.points, kind, nodes)))
    return tuple(parts)


def _faces_at(mesh: Mesh, within: str, marks: NDArray[np.bool_]) -> Region:
    """The faces of the boundary, or of a surface, all of whose corners are marked."""
    axes, blocks = _top(mesh)
    if axes == mesh.points.shape[1] > 1:
        axes, parts = axes - 1, _outer(mesh, blocks)
        used = np.concatenate([block.nodes.ravel() for block in blocks])
        inner = marks & marked(used, len(marks))
        inner[np.concatenate([np.zeros(0, np.int64), *(part.nodes.ravel() for part in parts)])] = False
        if inner.any() and len(np.unique(used)) < len(used):
            raise ValueError(
                f"{mesh.where}Expected a set of points on the boundary to integrate over (got {within!r}, with "
                f"{inner.sum()} of {marks.sum()} points inside); name a set of cells"
            )
    else:
        parts = tuple(map(_part, blocks))
    kept = []
    for part in parts:
        own = np.asarray(marks[_corners(part)].all(1))
        kept += [_kept(part, own)] if own.any() else []
    if not kept:
        raise ValueError(
            f"{mesh.where}Expected a set of points that holds all corners of some {NAMES[axes]}, to integrate over "
            f"(got {within!r}, of {marks.sum()} points, with none); name a set of cells, or take the peak, for which "
            f"points are enough"
        )
    return Region(axes, tuple(kept))


def _kept(part: Part, chosen: NDArray[np.bool_]) -> Part:
    return Part(part.kind, part.nodes[chosen], part.cells[chosen], part.signs[chosen])


def _as_given(mesh: Mesh, region: Region, within: str | None) -> Region:
    """The region, if its faces are oriented alike in the file; with a note if they enclose a body inside out."""
    space = mesh.points.shape[1]
    if region.axes != space - 1:
        raise ValueError(
            f"{mesh.where}Expected a surface in space or a curve in the plane, whose normals are wanted{_of(within)} "
            f"(got {NAMES[region.axes]} in {space}D); name another set"
        )
    _, inverse = np.unique(mesh.points, axis=0, return_inverse=True)
    own = [_corners(part) for part in region.parts]
    _, side, forward = sides_of([inverse.reshape(-1)[nodes] for nodes in own])
    uses, along = np.bincount(side), np.bincount(side, forward)
    wrong = (uses == 2) & (along != 1)
    if wrong.any():
        raise ValueError(
            f"{mesh.where}Expected faces oriented alike, whose normals are wanted{_of(within)} (got {wrong.sum()} "
            f"{'edges' if space == 3 else 'points'} where two neighbors are turned against each other); orient the "
            f"faces in the program that made the mesh"
        )
    if (uses % 2 == 0).all() and _enclosed(mesh, region) < 0:
        text = "the normals of the closed surface point inwards, as the file has them: forces have the opposite sign"
        return region._replace(notes=(*region.notes, text))
    return region


def _enclosed(mesh: Mesh, region: Region) -> float:
    """The sign of the volume inside a closed surface."""
    total, center = 0.0, mesh.points.mean(0)
    for part in region.parts:
        for some in gauss_points(mesh.points, part.kind, part.nodes):
            total += float((some.normals * (some.positions - center)).sum())
    return total


def _corners(part: Part) -> NDArray[np.int64]:
    return part.nodes[:, : corners(part.kind, part.nodes.shape[1])]


def _beside_bodies(mesh: Mesh, region: Region, within: str | None) -> Region:
    """The faces with normals out of the body that each belongs to; those of none, or of two, as in the file."""
    marks = marked(np.concatenate([part.nodes.ravel() for part in region.parts]), len(mesh.points))
    candidates, owners = [], []
    for block in _top(mesh)[1]:
        own = block.kept(marks[block.nodes].sum(1) >= mesh.points.shape[1])
        sign = signs(mesh.points, own.kind.name, own.nodes)
        for face in own.kind.faces:
            some = np.asarray(marks[own.nodes[:, face[0]]].all(1))
            candidates.append(Faces(own.nodes, *face, own.numbers).kept(some))
            owners.append(sign[some])
    mine = [Faces(part.nodes, tuple(range(_corners(part).shape[1])), (), part.cells) for part in region.parts]
    keys = face_keys([*mine, *candidates])
    group = np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1)
    count = sum(len(faces.nodes) for faces in mine)
    theirs = group[count:]
    uses = np.bincount(theirs, minlength=group.max() + 1)
    last = np.zeros(group.max() + 1, np.int64)
    last[theirs] = np.arange(len(theirs))
    places = np.split(group[:count], np.cumsum([len(faces.nodes) for faces in mine])[:-1])
    width = max(len(faces.corners) for faces in candidates)
    rings = np.concatenate([_ring(faces, width) for faces in candidates])
    owner_signs = np.concatenate(owners)
    inside, outside = [], []
    for part, groups in zip(region.parts, places, strict=True):
        is_outer = uses[groups] == 1
        owner = last[groups[is_outer]]
        chosen, ring = _kept(part, is_outer), rings[owner]
        nodes, size = _corners(chosen), _corners(chosen).shape[1]
        place = (ring[:, :size] == nodes[:, :1]).argmax(1)
        follows = np.take_along_axis(ring, ((place + 1) % size)[:, None], 1)[:, 0] == nodes[:, 1]
        same = place == 0 if size == 2 else follows
        turned = owner_signs[owner] * np.where(same, 1.0, -1.0)
        outside.append(chosen._replace(signs=turned))
        inside.append(_kept(part, ~is_outer))
    rest = tuple(part for part in inside if len(part.nodes))
    notes: tuple[str, ...] = ()
    if rest:
        number = sum(len(part.nodes) for part in rest)
        _as_given(mesh, Region(region.axes, rest), within)
        text = (
            f"{number} {NAMES[region.axes]}{_of(within)} are not on the boundary: their normals are those of the file"
        )
        notes = (text,)
    return Region(region.axes, (*(part for part in outside if len(part.nodes)), *rest), notes)


def _ring(faces: Faces, width: int) -> NDArray[np.int64]:
    """The corners of faces, padded."""
    own = faces.nodes[:, faces.corners]
    return np.pad(own, [(0, 0), (0, width - own.shape[1])], constant_values=-1)
