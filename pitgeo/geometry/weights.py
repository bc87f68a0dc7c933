"""Quantities that are linear in the values of a field, as sparse matrices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor

from pitgeo.geometry.integration import GaussPoints, gauss_points
from pitgeo.geometry.quantities import AXES, Quantity
from pitgeo.geometry.regions import Region
from pitgeo.mesh import Mesh

Floats = NDArray[np.float64]
Place = Literal["point", "cell"]


@dataclass(frozen=True, eq=False)
class Weights:
    """A quantity that is linear in the values, as a sparse matrix: ``matrix @ values.ravel()``.

    Args:
        labels: A name for every row.
        matrix: ``[numbers, n * components]``, for values ``[n, components]`` at the points or cells of the mesh.
        field: The field, for messages.
        place: Where its values are.
        notes: What to know of the numbers.
        where: The file of the mesh, as messages begin with it.

    Example:
        >>> import numpy as np
        >>> from pitgeo.integrals import weights
        >>> from pitgeo.mesh import Mesh
        >>> line = Mesh(np.array([[0.0], [1.0], [3.0]]), (("line", np.array([[0, 1], [1, 2]])),))
        >>> weights(line, "integral:u", place="point", components=1).matrix.toarray()
        array([[0.5, 1.5, 1. ]])
    """

    labels: tuple[str, ...]
    matrix: Any
    field: str
    place: Place
    notes: tuple[str, ...] = ()
    where: str = ""

    def __call__(self, values: Floats) -> Floats:
        """The numbers ``[numbers]`` for values ``[n]`` or ``[n, components]``.

        Raises:
            ValueError: If there are more or fewer values, or one that counts is not finite.
        """
        flat = np.asarray(values, np.float64).ravel()
        if len(flat) != self.matrix.shape[1]:
            raise ValueError(
                f"{self.where}Expected {self.matrix.shape[1]} numbers of {self.field!r} for {self.labels[0]!r} (got "
                f"{len(flat)}); give the values at all {self.place}s of the mesh"
            )
        check_finite(flat, self.matrix.indices, self)
        return np.asarray(self.matrix @ np.where(np.isfinite(flat), flat, 0.0))

    def sizes(self, values: Floats) -> Floats:
        """The sums ``[numbers]`` of the absolute values of the terms, to which rounding errors are relative."""
        return np.asarray(abs(self.matrix) @ np.abs(np.nan_to_num(np.asarray(values, np.float64).ravel())))

    def tensor(self, dtype: torch.dtype = torch.float32) -> Tensor:
        """The matrix as a sparse tensor, for ``weights.tensor() @ values.ravel()`` with gradients."""
        entries = self.matrix.tocoo()
        index = torch.from_numpy(np.stack([entries.row, entries.col]).astype(np.int64))
        values = torch.from_numpy(entries.data).to(dtype)
        return torch.sparse_coo_tensor(index, values, self.matrix.shape, check_invariants=True).coalesce()


def check_finite(values: Floats, chosen: NDArray[Any], owner: Any) -> None:
    """Refuse values that count and are not finite; ``owner`` has the names for the message."""
    bad = chosen[~np.isfinite(values[chosen])]
    if len(bad):
        raise ValueError(
            f"{owner.where}Expected finite values of {owner.field!r} for {owner.labels[0]!r} (got "
            f"{values[bad[0]]} among {len(np.unique(bad))} of {len(np.unique(chosen))}); mend the file, or name "
            f"another set"
        )


class Rule(NamedTuple):
    """What a linear quantity does at a Gauss point.

    Args:
        labels: A name for every number.
        weigh: From Gauss points to factors ``[n, q, numbers, components]`` of the values.
        power: Factors linear in position.
    """

    labels: tuple[str, ...]
    weigh: Callable[[GaussPoints], Floats]
    power: int


def rule_of(mesh: Mesh, quantity: Quantity, components: int, column: int | None) -> Rule:
    """What a linear quantity does at a Gauss point.

    Args:
        mesh: The mesh.
        quantity: The quantity.
        components: Numbers of a value.
        column: The component that is meant; ``None``: all.

    Raises:
        ValueError: If the field has a number of components that does not go with the operation, or the axis or the
            point is not one of the space.
    """
    chosen = list(range(components)) if column is None else [column]
    if quantity.operation in ("integral", "mean"):
        ends = AXES if components <= 3 else [str(number + 1) for number in range(components)]
        labels = [quantity.label(component=ends[own]) if len(chosen) > 1 else quantity.text for own in chosen]
        unit = quantity.sign * np.eye(components)[chosen]
        return Rule(tuple(labels), lambda at: at.measures[:, :, None, None] * unit, 0)
    kept = list(mesh.axes)
    vector = _vector(mesh, quantity, chosen, kept)
    push = np.zeros((3, components))  # the direction of space of every component; of a pressure, against the normal
    if vector:
        push[kept, vector] = quantity.sign
    else:
        push[:, chosen[0]] = -quantity.sign
    if quantity.operation == "flux":
        return Rule((quantity.text,), lambda at: (_in_space(at.normals, kept) @ push)[:, :, None], 0)

    def force(at: GaussPoints) -> Floats:
        factor = at.measures[:, :, None, None] if vector else _in_space(at.normals, kept)[..., None]
        return factor * push

    if quantity.operation == "force":
        axes = kept if quantity.axis is None else [_axis(mesh, quantity, kept)]
        return Rule(_labels(quantity, axes), lambda at: force(at)[:, :, axes], 0)
    center = _center(mesh, quantity, kept)
    turns = [0, 1, 2] if len(kept) == 3 else [own for own in range(3) if own not in kept]
    axes = turns if quantity.axis is None else [_axis(mesh, quantity, turns)]

    def moment(at: GaussPoints) -> Floats:
        arm = _in_space(at.positions, kept) - center
        return np.cross(arm[..., None], force(at), axis=2)[:, :, axes]

    return Rule(_labels(quantity, axes) if len(turns) > 1 else (quantity.text,), moment, 1)


def matrix_of(mesh: Mesh, region: Region, rule: Rule, components: int, place: Place) -> tuple[Any, float]:
    """The matrix of a rule over a region, and the measure of the region."""
    count = len(mesh.points) if place == "point" else mesh.number_of_cells
    total, size = np.zeros((count, len(rule.labels), components)), 0.0
    for part in region.parts:
        for at in gauss_points(mesh.points, part.kind, part.nodes, rule.power):
            at = at._replace(normals=at.normals * part.signs[at.rows, None, None])
            size += float(at.measures.sum())
            factors = rule.weigh(at)
            if place == "cell":
                np.add.at(total, part.cells[at.rows], factors.sum(1))
            else:
                np.add.at(total, part.nodes[at.rows], np.einsum("cqrk,qn->cnrk", factors, at.values))
    return csr_array(total.transpose(1, 0, 2).reshape(len(rule.labels), -1)), size


def _labels(quantity: Quantity, axes: list[int]) -> tuple[str, ...]:
    if quantity.axis is not None:
        return (quantity.text,)
    return tuple(quantity.label(axis=AXES[own]) for own in axes)


def _vector(mesh: Mesh, quantity: Quantity, chosen: list[int], kept: list[int]) -> list[int]:
    """The components along the axes of the positions; none for a pressure."""
    if len(chosen) == 1 and quantity.operation != "flux":
        return []
    if len(chosen) == len(kept) > 1:
        return chosen
    if len(chosen) == 3 and len(kept) == 2:
        return kept
    wanted = f"a vector of {len(kept)} components"
    wanted = wanted if quantity.operation == "flux" else f"a pressure, or {wanted}"
    raise ValueError(f"{mesh.where}Expected {wanted} for {quantity.text!r} (got {len(chosen)}); name another field")


def _axis(mesh: Mesh, quantity: Quantity, axes: list[int]) -> int:
    if quantity.axis not in axes:
        have = ", ".join(AXES[own] for own in axes)
        raise ValueError(f"{mesh.where}Expected one of the axes {have} in {quantity.text!r}; name one, or leave it out")
    return quantity.axis


def _center(mesh: Mesh, quantity: Quantity, kept: list[int]) -> Floats:
    center, about = np.zeros(3), quantity.about
    if len(about) not in (0, 3, len(kept)):
        raise ValueError(
            f"{mesh.where}Expected a point of {len(kept)} numbers in {quantity.text!r} (got {len(about)}); give one a "
            f"coordinate"
        )
    if len(about) == 3:
        center[kept] = np.array(about)[kept]
    elif about:
        center[kept] = about
    return center


def _in_space(vectors: Floats, kept: list[int]) -> Floats:
    """Vectors with three components."""
    found = np.zeros((*vectors.shape[:-1], 3))
    found[..., kept] = vectors
    return found
