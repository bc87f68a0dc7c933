"""Quantities that depend on the order of the values: peaks, minima and percentiles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pitgeo.geometry.integration import gauss_points
from pitgeo.geometry.quantities import Quantity
from pitgeo.geometry.regions import Region
from pitgeo.geometry.weights import Floats, Place, check_finite
from pitgeo.mesh import Mesh

ROUNDING = 1e-12
"""Of sums of measures, relative."""


@dataclass(frozen=True, eq=False)
class Order:
    """A peak, a minimum or a percentile: what depends on the order of the values.

    Args:
        labels: Its name.
        pick: From values ``[n, components]`` to the number.
        column: The component that is meant; ``None``: the value, or the length of a vector.
        used: The points or cells that count.
        field: The field, for messages.
        place: Where its values are.
        notes: What to know of the number.
        where: The file of the mesh, as messages begin with it.
    """

    labels: tuple[str, ...]
    pick: Callable[[Floats], float]
    column: int | None
    used: NDArray[np.int64]
    field: str
    place: Place
    notes: tuple[str, ...] = ()
    where: str = ""

    def __call__(self, values: Floats) -> Floats:
        """The number ``[1]`` for values ``[n]`` or ``[n, components]``.

        Raises:
            ValueError: If a value that counts is not finite.
        """
        values = np.asarray(values, np.float64).reshape(len(values), -1)
        values = values if self.column is None else values[:, self.column : self.column + 1]
        check_finite(values.sum(1), self.used, self)
        return np.array([self.pick(values)])

    def sizes(self, values: Floats) -> Floats:
        """Zero ``[1]``: the number is one of the values, without a rounding error."""
        return np.zeros(1)


def extreme(mesh: Mesh, used: NDArray[np.int64], quantity: Quantity, place: Place, column: int | None) -> Order:
    """The largest or the smallest value at some points or cells."""
    choose = np.max if quantity.operation == "peak" else np.min

    def pick(values: Floats) -> float:
        return quantity.sign * float(choose(_lengths(values[used])))

    return Order((quantity.text,), pick, column, used, quantity.field, place, (), mesh.where)


def percentile(mesh: Mesh, region: Region, quantity: Quantity, place: Place, column: int | None) -> Order:
    """The smallest value that the given share of a region does not exceed, at its Gauss points."""
    used = np.unique(np.concatenate([part.nodes.ravel() if place == "point" else part.cells for part in region.parts]))

    def pick(values: Floats) -> float:
        found, sizes = [], []
        for part in region.parts:
            for at in gauss_points(mesh.points, part.kind, part.nodes):
                if place == "cell":
                    found.append(_lengths(values[part.cells[at.rows]]))
                    sizes.append(at.measures.sum(1))
                else:
                    inner = np.einsum("qn,cnk->cqk", at.values, values[part.nodes[at.rows]])
                    found.append(_lengths(inner).ravel())
                    sizes.append(at.measures.ravel())
        value, size = np.concatenate(found), np.concatenate(sizes)
        order = np.argsort(value, kind="stable")
        share = np.cumsum(size[order])
        last = np.searchsorted(share, quantity.percent / 100 * share[-1] * (1 - ROUNDING))
        return quantity.sign * float(value[order[min(int(last), len(order) - 1)]])

    return Order((quantity.text,), pick, column, used, quantity.field, place, region.notes, mesh.where)


def _lengths(values: Floats) -> Floats:
    """Numbers as they are, and the lengths of vectors."""
    return values[..., 0] if values.shape[-1] == 1 else np.asarray(np.linalg.norm(values, axis=-1))
