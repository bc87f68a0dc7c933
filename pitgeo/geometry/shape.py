"""The shape of a mesh as a few numbers, to compare it with others."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from pitgeo.geometry.cells import Block, blocks_of, boundary_pieces, top_blocks
from pitgeo.mesh import Mesh

Floats = NDArray[np.float64]
LEAST = 1e-6
"""Lengths are at least this share of the diagonal of the bounding box, so that a plane has logarithms too."""


def count(dimension: int) -> int:
    """How many numbers :func:`shape` finds in a dimension."""
    return 4 * dimension + 2


def shape(mesh: Mesh) -> tuple[float, ...]:
    r"""Numbers that tell shapes apart, wherever they are: ``4 D + 2`` of them in ``D`` dimensions.

    In this order: the logarithms of the extents along the axes (D); of the measure of the cells of the highest
    dimension (length, area or volume) and of that of their boundary, NaN without cells or without PyVista; of the
    standard deviations :math:`s_a` of the points along their principal axes (D, the square roots of the eigenvalues of
    their second moments); their mean :math:`\bar{p}`, from the center of the bounding box, divided by the extents (D);
    their skewness along the axes (D).

    .. math::
        \frac{1}{N} \sum_i \frac{(p_{ia} - \bar{p}_a)^3}{\sigma_a^3}

    Cells of high order count with the flat pieces between their nodes.
    """
    points = mesh.points
    low, extents = points.min(0), np.ptp(points, 0)
    least = LEAST * float(np.linalg.norm(extents)) or 1e-50
    lengths = np.maximum(extents, least)
    mean = points.mean(0)
    moved = points - mean
    deviations = np.sqrt(np.maximum(np.linalg.eigvalsh(moved.T @ moved / len(points)), 0.0))[::-1]
    variances = np.maximum(np.square(moved).mean(0), least**2)
    skewness = (moved**3).mean(0) / variances**1.5
    parts = [
        np.log(lengths),
        np.log(np.array(_measures(mesh))),
        np.log(np.maximum(deviations, least)),
        (mean - low - extents / 2) / lengths,
        skewness,
    ]
    return tuple(np.concatenate(parts).tolist())


def _measures(mesh: Mesh) -> tuple[float, float]:
    """Measures of the cells of the highest dimension and of their boundary; NaN where there is none."""
    if not any(len(nodes) for _, nodes in mesh.cells):
        return np.nan, np.nan
    try:
        dimension, blocks = top_blocks(blocks_of(mesh))
    except (ImportError, ValueError):  # without PyVista; vertices alone
        return np.nan, np.nan
    points = mesh.points_in_space()
    sizes = volumes(points, blocks) if dimension == 3 else map(_sizes, _corners(points, blocks))
    boundary = [points[piece] for piece in boundary_pieces(blocks)] if dimension > 1 else []
    total, around = (sum(float(part.sum()) for part in parts) for parts in (sizes, map(_sizes, boundary)))
    return total or np.nan, around or np.nan


def volumes(points: Floats, blocks: list[Block]) -> Iterator[Floats]:
    r"""The volumes of the cells of every block, as sums of pyramids from a center :math:`c` to the faces.

    .. math::
        \sum_f \frac{1}{3} \lvert A_f \cdot (c_f - c) \rvert

    :math:`A_f` is the area vector of a piece of a face and :math:`c_f` one of its corners. It is exact for cells with
    flat faces that are seen from the mean of their nodes, in whatever order they list their nodes.
    """
    for block in blocks:
        center = points[block.nodes].mean(1)
        total = np.zeros(len(block.nodes))
        for _, pieces in block.kind.faces:
            for piece in pieces:
                corners = points[block.nodes[:, piece]]
                total += np.abs((_area_vectors(corners) * (corners[:, 0] - center)).sum(1)) / 3
        yield total


def _corners(points: Floats, blocks: list[Block]) -> Iterator[Floats]:
    return (points[block.nodes[:, piece]] for block in blocks for piece in block.kind.pieces)


def _sizes(corners: Floats) -> Floats:
    """Lengths of segments or areas of polygons ``[n, corners, 3]``; points have none."""
    vectors = corners[:, -1] - corners[:, 0] if corners.shape[1] < 3 else _area_vectors(corners)
    sizes: Floats = np.linalg.norm(vectors, axis=1)
    return sizes


def _area_vectors(corners: Floats) -> Floats:
    """The area vectors of polygons ``[n, corners, 3]``."""
    arms = corners[:, 1:] - corners[:, :1]
    vectors: Floats = np.cross(arms[:, :-1], arms[:, 1:]).sum(1) / 2
    return vectors
