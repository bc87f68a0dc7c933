"""A scalar field on a mesh, checked, as the pictures of meshes take it."""

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
    """One row of :func:`mesh_fields`: a scalar field on a mesh, and what was predicted for it.

    Args:
        title: What to call the sample.
        mesh: The mesh.
        place: Whether there is a value a point or a value a cell.
        truth: True values, or ``None`` where they are not known: ``[N]``, one a point; or one a cell, block after
            block, of all cells or of those of the highest dimension.
        prediction: Predicted values, as many.
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
        known = self.prediction if self.truth is None else self.truth
        self.limits = color_limits(known)
        self.known = known if self.truth is None else np.concatenate([known, self.prediction])

    def _checked(self, name: str, values: ArrayLike) -> NDArray[np.float64]:
        found = np.asarray(values, dtype=float)
        if self.place == "point":
            count = len(self.mesh.points)
            if found.shape != (count,):
                raise ValueError(f"Expected '{name}' to have shape [{count}], one a point (got {list(found.shape)})")
            return found
        count, numbers = sum(len(nodes) for _, nodes in self.mesh.cells), self.numbers
        if found.shape == (count,):
            return found
        if found.shape != numbers.shape:
            few = f" or [{len(numbers)}]" if len(numbers) != count else ""
            raise ValueError(f"Expected '{name}' to have shape [{count}]{few}, one a cell (got {list(found.shape)})")
        full = np.full(count, np.nan)
        full[numbers] = found
        return full

    @property
    def numbers(self) -> NDArray[np.int64]:
        """The cells of the highest dimension among all."""
        return np.concatenate([block.numbers for block in self.blocks])

    @property
    def segments(self) -> NDArray[np.int64]:
        """Both ends of every line cell."""
        return np.concatenate([block.corners for block in self.blocks])
