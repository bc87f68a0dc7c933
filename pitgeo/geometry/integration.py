"""Cells at their Gauss points: positions, measures and normals, for a bounded number of cells at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pitgeo.geometry.elements import element

Floats = NDArray[np.float64]
AT_ONCE = 2_000_000
"""Most numbers of one kind in memory at once."""


class GaussPoints(NamedTuple):
    """Some cells of one type, at their Gauss points.

    Args:
        rows: Which of the cells.
        values: Shape functions ``[q, nodes]``.
        positions: ``[n, q, D]``.
        measures: The length, area or volume that each point stands for ``[n, q]``.
        normals: The same as a vector along the normal ``[n, q, D]``, of faces in space and lines in the plane; else
            zeros.
    """

    rows: slice
    values: Floats
    positions: Floats
    measures: Floats
    normals: Floats


def gauss_points(points: Floats, kind: str, nodes: NDArray[np.int64], power: int = 0) -> Iterator[GaussPoints]:
    """Cells of one type at their Gauss points.

    A cell of as many axes as the space has the sign that makes its measure positive, whichever way its nodes turn.

    Args:
        points: Positions ``[N, D]``.
        kind: The type.
        nodes: Nodes of the cells ``[n, nodes]``.
        power: Factors of the integrand that are linear in position, see :func:`~pitgeo.geometry.elements.element`.
    """
    own, space = element(kind, nodes.shape[1], power), points.shape[1]
    axes = own.slopes.shape[2]
    step = max(1, AT_ONCE // (own.values.size * max(space * axes, 1)))
    for start in range(0, len(nodes), step):
        rows = slice(start, min(start + step, len(nodes)))
        corners = points[nodes[rows]]
        tangents = np.einsum("qna,cnd->cqda", own.slopes, corners)
        normals = _normals(tangents)
        if axes == space:
            measures = np.linalg.det(tangents) * own.weights
            measures = measures * np.where(measures.sum(1, keepdims=True) < 0, -1.0, 1.0)
        elif axes == space - 1 and axes > 0:
            normals = normals * own.weights[:, None]
            measures = np.linalg.norm(normals, axis=2)
        else:  # a line in space, a point
            measures = np.linalg.norm(tangents, axis=2).prod(2) * own.weights
        yield GaussPoints(rows, own.values, np.einsum("qn,cnd->cqd", own.values, corners), measures, normals)


def signs(points: Floats, kind: str, nodes: NDArray[np.int64]) -> Floats:
    """-1 for cells, of as many axes as the space, whose nodes turn the other way; else 1."""
    own = element(kind, nodes.shape[1])
    step, found = max(1, AT_ONCE // own.slopes.size), []
    for start in range(0, len(nodes), step):
        tangents = np.einsum("qna,cnd->cqda", own.slopes, points[nodes[start : start + step]])
        found.append(np.where(np.linalg.det(tangents) @ own.weights < 0, -1.0, 1.0))
    return np.concatenate([*found, np.zeros(0)])


def _normals(tangents: Floats) -> Floats:
    """The vector product of the tangents ``[n, q, D, axes]``; zeros where there is none."""
    space, axes = tangents.shape[2:]
    if (space, axes) == (3, 2):
        return np.cross(tangents[..., 0], tangents[..., 1])
    if (space, axes) == (2, 1):  # to the right
        return np.stack([tangents[..., 1, 0], -tangents[..., 0, 0]], -1)
    return np.zeros(tangents.shape[:3])
