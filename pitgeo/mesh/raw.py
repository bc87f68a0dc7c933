"""The result of a reader, before it becomes a mesh."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from pitgeo.mesh.cell_types import dimension
from pitgeo.mesh.mesh import Mesh, native
from pitgeo.mesh.names import each_once, plain_keys
from pitgeo.mesh.notes import Note
from pitgeo.mesh.sets import from_fields

T = TypeVar("T")


@dataclass
class Raw:
    """Arrays as a file holds them, in any byte order and with empty blocks; numbers of points and cells start at 0.

    Args:
        points: Positions ``[N, axes]``, two or three axes.
        cells: Blocks: a cell type of :mod:`pitgeo.mesh.cell_types`, and point numbers ``[cells, nodes]`` in its order.
        point_data: Fields by name.
        cell_data: For each name one array a block.
        field_data: Values of the whole mesh by name.
        point_sets: Numbers of the points in each named set.
        cell_sets: For each name one array a block, numbers within the block, or ``None`` for a block without members.
        ghost_points: Whether each point is a copy of another piece's, if some are.
        notes: What the reader did that is not literally what the file holds.
    """

    points: NDArray[Any]
    cells: list[tuple[str, NDArray[Any]]] = field(default_factory=list)
    point_data: dict[str, NDArray[Any]] = field(default_factory=dict)
    cell_data: dict[str, list[NDArray[Any]]] = field(default_factory=dict)
    field_data: dict[str, NDArray[Any]] = field(default_factory=dict)
    point_sets: dict[str, NDArray[Any]] = field(default_factory=dict)
    cell_sets: dict[str, list[NDArray[Any]]] = field(default_factory=dict)
    ghost_points: NDArray[np.bool_] | None = None
    notes: list[Note] = field(default_factory=list)

    def mesh(self, path: Path) -> Mesh:
        """Make the mesh: of its true dimension, native-endian, without empty blocks, with sets in place of set fields.

        Raises:
            ValueError: If something does not fit together.
        """
        if any(kind.startswith("polyhedron") for kind, _ in self.cells):
            raise ValueError(
                f"{path}: Expected cells of known types (got polyhedra); split them into tetrahedra in ParaView"
            )
        kept = [index for index, (_, nodes) in enumerate(self.cells) if len(nodes)]
        kinds = [self.cells[index][0] for index in kept]
        points, plane, axis = _flat(native(np.asarray(self.points), np.float64), kinds)
        notes = list(self.notes)
        point_data, point_sets = from_fields(
            plain_keys({name: _array(values) for name, values in self.point_data.items()}, "point field", notes)
        )
        blocks_of = {
            name: tuple(_array(blocks[index]) for index in kept if index < len(blocks))
            for name, blocks in self.cell_data.items()
        }
        cell_data, cell_sets = from_fields(plain_keys(blocks_of, "cell field", notes))
        own_points = {name: _members(members) for name, members in self.point_sets.items()}
        own_cells = {
            name: tuple(_members(blocks[index] if index < len(blocks) else ()) for index in kept)
            for name, blocks in self.cell_sets.items()
        }
        return Mesh(
            points=points,
            cells=tuple((self.cells[index][0], native(np.asarray(self.cells[index][1]), np.int64)) for index in kept),
            point_data=point_data,
            cell_data=cell_data,
            field_data=plain_keys(
                {name: _array(values) for name, values in self.field_data.items()}, "field of the mesh", notes
            ),
            point_sets=_with_sets(point_sets, own_points, "point set", notes),
            cell_sets=_with_sets(cell_sets, own_cells, "cell set", notes),
            plane=plane,
            plane_axis=axis,
            path=path,
            notes=tuple(notes),
        )


def _flat(points: NDArray[np.float64], kinds: list[str]) -> tuple[NDArray[np.float64], float, int]:
    """The points without a constant coordinate, with its value and axis."""
    if points.ndim != 2 or points.shape[1] != 3 or not len(points):
        return np.ascontiguousarray(points), 0.0, 2
    level = (points == points[0]).all(0)
    lines = all(dimension(kind) < 2 for kind in kinds)
    if lines and level[1:].all() and not points[0, 1:].any():
        return np.ascontiguousarray(points[:, :1]), 0.0, 2
    for axis in (2, 1, 0):
        if level[axis]:
            return np.ascontiguousarray(np.delete(points, axis, axis=1)), float(points[0, axis]), axis
    return np.ascontiguousarray(points), 0.0, 2


def _array(values: Any) -> NDArray[Any]:
    return native(np.ma.getdata(np.asarray(values)))


def _with_sets(found: dict[str, T], own: dict[str, T], what: str, notes: list[Note]) -> dict[str, T]:
    """Sets stored as fields together with a format's own sets; equal ones are kept once."""
    own = {name: members for name, members in own.items() if name not in found or not _same(found[name], members)}
    names = each_once([*found, *own], what, notes)
    return dict(zip(names, [*found.values(), *own.values()], strict=True))


def _same(mine: Any, theirs: Any) -> bool:
    if isinstance(mine, tuple):
        return len(mine) == len(theirs) and all(map(_same, mine, theirs))
    return np.array_equal(mine, theirs)


def _members(members: Any) -> NDArray[np.int64]:
    """The numbers in a set, each once."""
    return np.unique(np.asarray([] if members is None else members).astype(np.int64).ravel())
