"""A checked scalar field on a mesh, for the pictures of meshes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pitgeo.evaluation.plots.cells import largest_cells
from pitgeo.evaluation.plots.style import color_limits
from pitgeo.mesh import Mesh


@dataclass(frozen=True, eq=False)
class MeshSample:
    """One row of :func:`mesh_fields`: a scalar field on a mesh and its prediction.

    Args:
        title: Title of the sample.
        mesh: The mesh.
        place: Whether there is a value for each point or for each cell.
        truth: True values ``[N]``, one a point; or one a cell, block after block, of all cells or of those of the
            highest dimension; ``None`` if they are not known.
        prediction: Predicted values of the same shape.
    """

    title: str
    mesh: Mesh
    place: Literal["point", "cell"]
    truth: ArrayLike | None
    prediction: ArrayLike


class DrawnField:
    """A checked row: values at all points, or at all cells."""

    def __init__(self, row: MeshSample) -> None:
        self.title, self.mesh, self.place = row.title, row.mesh, row.place
        self.dimension, self.blocks = largest_cells(row.mesh)
        if row.place not in ("point", "cell"):
            raise ValueError(f"Expected 'place' to be 'point' or 'cell' (got {row.place!r})")
        if row.place == "cell" and self.dimension == 0:
            raise ValueError("Expected a mesh with cells where values are on cells (got none); pass place='point'")
        self.prediction = self._checked("prediction", row.prediction)
        self.truth = None if row.truth is None else self._checked("truth", row.truth)
        self.error = None if self.truth is None else np.abs(self.prediction - self.truth)
        reference = self.prediction if self.truth is None else self.truth
        self.limits = color_limits(reference)
        self.shown = reference if self.truth is None else np.concatenate([reference, self.prediction])

    def _checked(self, name: str, values: ArrayLike) -> NDArray[np.float64]:
        array = np.asarray(values, dtype=float)
        if self.place == "point":
            count = len(self.mesh.points)
            if array.shape != (count,):
                raise ValueError(f"Expected '{name}' to have shape [{count}], one a point (got {list(array.shape)})")
            return array
        count, numbers = sum(len(nodes) for _, nodes in self.mesh.cells), self.numbers
        if array.shape == (count,):
            return array
        if array.shape != numbers.shape:
            or_highest = f" or [{len(numbers)}]" if len(numbers) != count else ""
            raise ValueError(
                f"Expected '{name}' to have shape [{count}]{or_highest}, one a cell (got {list(array.shape)})"
            )
        full = np.full(count, np.nan)
        full[numbers] = array
        return full

    def peak(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """The position of the largest value, ``[D]``: of a point, or the mean of a cell's corners."""
        number = int(np.argmax(np.where(np.isfinite(values), values, -np.inf)))
        if self.place == "point":
            return np.asarray(self.mesh.points[number])
        block = next(block for block in self.blocks if number in block.numbers)
        center: NDArray[np.float64] = self.mesh.points[block.corners[block.numbers == number][0]].mean(0)
        return center

    @property
    def numbers(self) -> NDArray[np.int64]:
        """Numbers of the cells of the highest dimension, among all cells."""
        return np.concatenate([block.numbers for block in self.blocks])

    @property
    def segments(self) -> NDArray[np.int64]:
        """Both ends of every line cell."""
        return np.concatenate([block.corners for block in self.blocks])
