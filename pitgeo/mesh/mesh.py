"""A mesh with fields on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pitgeo.mesh.cell_types import width
from pitgeo.mesh.notes import Note

Existing = Literal["refuse", "replace"]


@dataclass(frozen=True, eq=False)
class Mesh:
    """A mesh with fields on it.

    Args:
        points: Positions ``[N, D]``, float64, D the true dimension: a planar mesh stored in 3D has D = 2.
        cells: Pairs of a meshio cell type and its connectivity ``[cells, nodes]``.
        point_data: Fields ``[N]`` or ``[N, components]`` by name.
        cell_data: For each name one array a block of cells.
        field_data: Values of the whole mesh by name.
        point_sets: Numbers of the points in each named set.
        cell_sets: For each name the numbers of its cells in every block, one array a block.
        plane: The coordinate that a planar mesh lacks, put back when it is written.
        plane_axis: Which one that is: 2 for a mesh in the plane of x and y.
        path: The file it came from, for messages.
        notes: What its reader did that is not literally what the file holds.

    Raises:
        ValueError: If a shape does not fit, cells have another number of nodes than their type, a position is not
            finite, or a set names what is not there.

    Example:
        >>> import numpy as np
        >>> points, quad = np.array([[0.0, 0], [2, 0], [2, 1], [0, 1]]), np.array([[0, 1, 2, 3]])
        >>> mesh = Mesh(points, (("quad", quad),), {"u": np.arange(4.0)})
        >>> mesh.with_cell_data("k", np.array([5.0])).cell_data["k"]
        (array([5.]),)
    """

    points: NDArray[np.float64]
    cells: tuple[tuple[str, NDArray[np.int64]], ...] = ()
    point_data: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    cell_data: Mapping[str, tuple[NDArray[Any], ...]] = field(default_factory=dict)
    field_data: Mapping[str, Any] = field(default_factory=dict)
    point_sets: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    cell_sets: Mapping[str, tuple[NDArray[np.int64], ...]] = field(default_factory=dict)
    plane: float = 0.0
    plane_axis: int = 2
    path: Path | None = None
    notes: tuple[Note, ...] = ()

    def __post_init__(self) -> None:
        if self.points.ndim != 2 or self.points.shape[1] not in (1, 2, 3) or not len(self.points):
            raise ValueError(
                f"{self.where}Expected points of shape [N, 1], [N, 2] or [N, 3] with N at least 1 "
                f"(got {list(self.points.shape)}); the file holds no mesh that can be read"
            )
        bad = ~np.isfinite(self.points).all(1)
        if bad.any():
            raise ValueError(
                f"{self.where}Expected finite positions (got {self.points[bad.argmax()].tolist()} at point "
                f"{bad.argmax()})"
            )
        if self.plane_axis not in (0, 1, 2):
            raise ValueError(f"{self.where}Expected 'plane_axis' to be 0, 1 or 2 (got {self.plane_axis!r})")
        for name, values in self.point_data.items():
            if len(values) != len(self.points):
                raise ValueError(f"{self.where}Expected {len(self.points)} values in {name!r} (got {len(values)})")
        for kind, nodes in self.cells:
            if kind == "polygon" and nodes.ndim == 2 and nodes.shape[1] < 3:
                raise ValueError(
                    f"{self.where}Expected polygons of at least 3 corners (got {nodes.shape[1]}); mend the file"
                )
            if nodes.ndim != 2 or nodes.dtype.kind not in "iu" or nodes.shape[1] != (width(kind) or nodes.shape[1]):
                raise ValueError(
                    f"{self.where}Expected whole numbers [cells, {width(kind) or 'nodes'}] as nodes of {kind} cells "
                    f"(got {nodes.dtype} of shape {list(nodes.shape)}); take the type that has as many nodes"
                )
            if nodes.size and (nodes.min() < 0 or nodes.max() >= len(self.points)):
                wrong = nodes.min() if nodes.min() < 0 else nodes.max()
                raise ValueError(f"{self.where}Expected the nodes of {kind} cells to be points (got number {wrong})")
        for name, blocks in self.cell_data.items():
            if [len(values) for values in blocks] != self._sizes:
                raise ValueError(
                    f"{self.where}Expected {self._sizes} values in the cell data {name!r}, one array a block of cells "
                    f"(got {[len(values) for values in blocks]})"
                )
        for name, members in self.point_sets.items():
            self._check_members(f"the point set {name!r}", members, len(self.points))
        for name, groups in self.cell_sets.items():
            if len(groups) != len(self.cells):
                raise ValueError(
                    f"{self.where}Expected one array a block of cells in the cell set {name!r}, {len(self.cells)} "
                    f"(got {len(groups)})"
                )
            for members, size in zip(groups, self._sizes, strict=True):
                self._check_members(f"the cell set {name!r}", members, size)

    def _check_members(self, what: str, members: NDArray[np.int64], size: int) -> None:
        if np.ndim(members) != 1 or np.asarray(members).dtype.kind not in "iu":
            raise ValueError(
                f"{self.where}Expected {what} to be a list of numbers (got shape {list(np.shape(members))} of "
                f"{np.asarray(members).dtype})"
            )
        wrong = [number for number in (members.min(), members.max()) if not 0 <= number < size] if len(members) else []
        if wrong:
            raise ValueError(f"{self.where}Expected the numbers in {what} to be from 0 to {size - 1} (got {wrong[0]})")

    @property
    def where(self) -> str:
        """The file's name as messages begin with it, or nothing."""
        return f"{self.path}: " if self.path else ""

    @property
    def _sizes(self) -> list[int]:
        return [len(nodes) for _, nodes in self.cells]

    @property
    def number_of_cells(self) -> int:
        """Cells in all blocks together."""
        return sum(self._sizes)

    @property
    def axes(self) -> tuple[int, ...]:
        """The axes of space that the positions have: 0 and 2 for a mesh in the plane of x and z."""
        count = self.points.shape[1]
        return tuple(axis for axis in range(3) if axis != self.plane_axis) if count == 2 else tuple(range(count))

    def points_in_space(self) -> NDArray[np.float64]:
        """The points with three coordinates, as files hold them: ``[N, 3]``."""
        if self.points.shape[1] == 2:
            return np.insert(self.points, self.plane_axis, self.plane, axis=1)
        points = np.zeros((len(self.points), 3))
        points[:, : self.points.shape[1]] = self.points
        return points

    def with_point_data(self, name: str, values: NDArray[Any], existing: Existing = "refuse") -> Mesh:
        """A copy with one more field on its points, ``[N]`` or ``[N, components]``.

        Raises:
            ValueError: If the name is taken and not to be replaced, or the number of values is wrong.
        """
        self._check_new(name, self.point_data, existing)
        return replace(self, point_data={**self.point_data, name: native(np.asarray(values))})

    def with_cell_data(self, name: str, values: NDArray[Any], existing: Existing = "refuse") -> Mesh:
        """A copy with one more field on its cells, ``[cells]`` or ``[cells, components]``, block after block.

        Raises:
            ValueError: If the name is taken and not to be replaced, or the number of values is wrong.
        """
        self._check_new(name, self.cell_data, existing)
        values = native(np.asarray(values))
        if values.ndim == 0 or len(values) != self.number_of_cells:
            raise ValueError(
                f"{self.where}Expected {self.number_of_cells} values in the cell data {name!r}, one a cell "
                f"(got shape {list(values.shape)})"
            )
        return replace(self, cell_data={**self.cell_data, name: self.by_block(values)})

    def with_field_data(self, name: str, values: Any, existing: Existing = "refuse") -> Mesh:
        """A copy with one more value of the whole mesh: a number or an array of numbers.

        Raises:
            ValueError: If the name is taken and not to be replaced.
        """
        self._check_new(name, self.field_data, existing)
        return replace(self, field_data={**self.field_data, name: native(np.asarray(values))})

    def by_block(self, values: NDArray[Any]) -> tuple[NDArray[Any], ...]:
        """Values of all cells, ``[cells, ...]``, as one array a block."""
        return tuple(np.split(values, np.cumsum(self._sizes)[:-1])) if self.cells else ()

    def _check_new(self, name: str, taken: Mapping[str, Any], existing: Existing) -> None:
        if existing not in ("refuse", "replace"):
            raise ValueError(f"Expected 'existing' to be 'refuse' or 'replace' (got {existing!r})")
        if name in taken and existing == "refuse":
            raise ValueError(
                f"{self.where}Expected a new name for the field (got {name!r}, which is there already); take another, "
                f"or pass existing='replace'"
            )


def native(values: NDArray[Any], kind: Any = None) -> NDArray[Any]:
    """A copy in the machine's own byte order."""
    return values.astype(values.dtype.newbyteorder("=") if kind is None else kind)


def joined(cell_data: Mapping[str, Sequence[NDArray[Any]]]) -> dict[str, NDArray[Any]]:
    """Every field with its blocks one after another."""
    return {name: np.concatenate(list(blocks)) for name, blocks in cell_data.items() if len(blocks)}
