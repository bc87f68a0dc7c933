"""Faces of cells, and the flat pieces of cells and faces, for all cell types of VTK."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pitgeo.geometry.grid import grid_of
from pitgeo.mesh import Mesh
from pitgeo.mesh.cells import first_of, grouped
from pitgeo.mesh.pieces import PIECE

Nodes = tuple[int, ...]


class Kind(NamedTuple):
    """A cell type: its dimension, flat pieces and faces, by places of nodes.

    Args:
        dimension: 0 for a vertex to 3 for a volume.
        pieces: Points, segments or polygons in the order of their corners that make up the cell; none for a volume.
            A cell of high order is made up of several, with its own nodes as corners.
        faces: The corners of each face (of a line: its ends), and the pieces of the face.
        name: Its name, where that is needed.
    """

    dimension: int
    pieces: tuple[Nodes, ...]
    faces: tuple[tuple[Nodes, tuple[Nodes, ...]], ...]
    name: str = ""


class Block(NamedTuple):
    """Cells of one type.

    Args:
        kind: The type.
        nodes: Their nodes ``[cells, nodes]``.
        first: Number of the first cell in the mesh.
        cells: Their numbers in the mesh, if some are left out; ``None``: one after another.
    """

    kind: Kind
    nodes: NDArray[np.int64]
    first: int
    cells: NDArray[np.int64] | None = None

    @property
    def numbers(self) -> NDArray[np.int64]:
        """Numbers of the cells in the mesh."""
        return np.arange(self.first, self.first + len(self.nodes)) if self.cells is None else self.cells

    def kept(self, chosen: NDArray[Any]) -> Block:
        """Some of the cells, by a mask or by their places in the block."""
        return self._replace(nodes=self.nodes[chosen], cells=self.numbers[chosen])


def blocks_of(mesh: Mesh) -> list[Block]:
    """The cells of a mesh, one block for each block of the mesh.

    Raises:
        ValueError: If there are none but vertices.
    """
    sizes = [len(nodes) for _, nodes in mesh.cells]
    first = np.cumsum([0, *sizes])
    blocks = [
        Block(_kind(name, nodes.shape[1]), nodes, int(start))
        for (name, nodes), start in zip(mesh.cells, first, strict=False)
    ]
    if not any(block.kind.dimension and len(block.nodes) for block in blocks):
        raise ValueError(
            f"{mesh.where}Expected cells, which geometry inputs are computed from (got {len(mesh.points)} points "
            f"alone); take coordinates, or a file that holds the mesh"
        )
    return blocks


def top_blocks(blocks: Sequence[Block]) -> tuple[int, list[Block]]:
    """The highest dimension of the cells, and the blocks of this dimension."""
    dimension = max(block.kind.dimension for block in blocks if len(block.nodes))
    return dimension, [block for block in blocks if block.kind.dimension == dimension]


def by_piece(mesh: Mesh, blocks: Sequence[Block]) -> list[list[Block]]:
    """The blocks of every piece of the mesh; one list of all blocks if the mesh has no pieces."""
    if PIECE not in mesh.cell_data:
        return [list(blocks)]
    numbers = np.concatenate([np.ravel(values) for values in mesh.cell_data[PIECE]])
    own = [numbers[block.numbers] for block in blocks]
    return [
        [block.kept(values == number) for block, values in zip(blocks, own, strict=True) if (values == number).any()]
        for number in np.unique(np.concatenate(own))
    ]


def pieces_of(blocks: Sequence[Block]) -> list[NDArray[np.int64]]:
    """The pieces of all cells, ``[pieces, corners]`` a kind of piece."""
    return [block.nodes[:, piece] for block in blocks for piece in block.kind.pieces]


class Faces(NamedTuple):
    """Faces of cells of one block.

    Args:
        nodes: The nodes of their cells.
        corners: Places of the corners of the face among those.
        pieces: Places of the nodes of the pieces of the face.
        cells: Numbers of their cells in the mesh.
    """

    nodes: NDArray[np.int64]
    corners: Nodes
    pieces: tuple[Nodes, ...]
    cells: NDArray[np.int64]

    def kept(self, chosen: NDArray[np.bool_]) -> Faces:
        """Some of the faces."""
        return self._replace(nodes=self.nodes[chosen], cells=self.cells[chosen])

    def cut(self) -> list[NDArray[np.int64]]:
        """The pieces of all faces, ``[pieces, corners]`` a kind of piece."""
        return [self.nodes[:, piece] for piece in self.pieces]


def boundary_pieces(blocks: Sequence[Block]) -> list[NDArray[np.int64]]:
    """The pieces of all faces that belong to one cell only, ``[pieces, corners]`` a kind of piece.

    A cell that is listed twice counts once.
    """
    return [piece for faces in boundary_faces(blocks) for piece in faces.cut()]


def boundary_faces(blocks: Sequence[Block]) -> list[Faces]:
    """The faces that belong to one cell only; a cell that is listed twice counts once."""
    blocks = each_once(blocks)
    faces = [
        (Faces(block.nodes, *face, block.numbers), block.kind.dimension)
        for block in blocks
        for face in block.kind.faces
    ]
    if not faces:
        return []
    keys = face_keys([own for own, _ in faces])
    least = np.concatenate([np.full(len(own.nodes), dimension) for own, dimension in faces])
    is_flat = (keys >= 0).sum(1) < least  # a face that repeated nodes make an edge or a point
    order, changes = grouped(keys)
    alone = np.empty(len(keys), bool)
    alone[order] = changes[1:] & changes[:-1]
    ends = np.cumsum([len(own.nodes) for own, _ in faces])[:-1]
    masks = np.split(alone & ~is_flat, ends)
    return [own.kept(mask) for (own, _), mask in zip(faces, masks, strict=True) if mask.any()]


def without_seams(points: NDArray[np.float64], parts: Sequence[Sequence[Faces]]) -> list[list[Faces]]:
    """The faces of every part without those whose corners are at the places of those of another part's face."""
    _, inverse = np.unique(points, axis=0, return_inverse=True)
    places = inverse.reshape(-1)
    faces = [own._replace(nodes=places[own.nodes]) for part in parts for own in part]
    if not faces:
        return [list(part) for part in parts]
    keys = face_keys(faces)
    part_of = np.repeat([number for number, part in enumerate(parts) for _ in part], [len(own.nodes) for own in faces])
    order, changes = grouped(keys)
    group = np.cumsum(changes[:-1]) - 1
    low, high = np.full(group[-1] + 1, len(parts)), np.full(group[-1] + 1, -1)
    np.minimum.at(low, group, part_of[order])
    np.maximum.at(high, group, part_of[order])
    keep = np.empty(len(keys), bool)
    keep[order] = (low == high)[group]
    masks = iter(np.split(keep, np.cumsum([len(own.nodes) for own in faces])[:-1]))
    return [[own.kept(next(masks)) for own in part] for part in parts]


def face_keys(faces: Sequence[Faces]) -> NDArray[np.int64]:
    """A key for each face, equal for faces with the same corners in any order."""
    width = max(len(own.corners) for own in faces)
    return np.concatenate([_distinct(own.nodes[:, own.corners], width) for own in faces])


def _distinct(corners: NDArray[np.int64], width: int) -> NDArray[np.int64]:
    """Sorted distinct corners of faces, padded with -1."""
    keys = np.sort(corners, 1)
    again = keys[:, 1:] == keys[:, :-1]
    if again.any():
        keys[:, 1:][again] = -1
        keys = -np.sort(-keys, 1)
    elif keys.shape[1] > 1:
        keys = keys[:, ::-1]
    return np.pad(keys, [(0, 0), (0, width - keys.shape[1])], constant_values=-1)


def each_once(blocks: Sequence[Block]) -> list[Block]:
    """The cells without those that have the dimension and the nodes of an earlier one."""
    if not blocks:
        return []
    first = first_of([(block.kind.dimension, block.nodes) for block in blocks])
    is_first = first == np.arange(len(first))
    ends = np.cumsum([len(block.nodes) for block in blocks])[:-1]
    return [block.kept(keep) for block, keep in zip(blocks, np.split(is_first, ends), strict=True)]


def weld(points: NDArray[np.float64], blocks: Sequence[Block], when: Literal["always", "apart"]) -> list[Block]:
    """The cells with coincident points replaced by the first of them.

    Args:
        points: Positions.
        blocks: The cells.
        when: ``"always"``, or ``"apart"``: only if the cells share no point, so that nothing would be connected.
    """
    if when == "apart":
        used = np.concatenate([block.nodes.ravel() for block in blocks])
        if np.bincount(used).max(initial=0) > 1:
            return list(blocks)
    _, first, inverse = np.unique(points, axis=0, return_index=True, return_inverse=True)
    same = first[inverse.reshape(-1)]
    return [block._replace(nodes=same[block.nodes]) for block in blocks]


@lru_cache
def _kind(name: str, width: int) -> Kind:
    points = np.random.default_rng(0).random((width, 3))  # any will do: VTK looks the nodes up in tables
    cell = grid_of(Mesh(points, ((name, np.arange(width)[None]),))).GetCell(0)
    dimension = cell.GetCellDimension()
    faces: list[tuple[Nodes, tuple[Nodes, ...]]] = []
    if dimension == 1:
        faces = [((end,), ((end,),)) for end in _ids(cell)[:2]]
    for number in range({2: cell.GetNumberOfEdges(), 3: cell.GetNumberOfFaces()}.get(dimension, 0)):
        face = cell.GetEdge(number) if dimension == 2 else cell.GetFace(number)
        corners = 2 if dimension == 2 else face.GetNumberOfEdges()
        faces.append((_ids(face)[:corners], _pieces(face)))
    return Kind(dimension, _pieces(cell) if dimension < 3 else (), tuple(faces))


def _ids(cell: Any) -> Nodes:
    return tuple(cell.GetPointId(place) for place in range(cell.GetNumberOfPoints()))


def _pieces(cell: Any) -> tuple[Nodes, ...]:
    if cell.IsLinear():
        ids = _ids(cell)
        return ((ids[0], ids[1], ids[3], ids[2]),) if cell.GetClassName() == "vtkPixel" else (ids,)
    core = importlib.import_module("vtkmodules.vtkCommonCore")
    found = core.vtkIdList()
    cell.Triangulate(0, found, core.vtkPoints())
    ids, width = tuple(found.GetId(place) for place in range(found.GetNumberOfIds())), cell.GetCellDimension() + 1
    return tuple(ids[start : start + width] for start in range(0, len(ids), width))
