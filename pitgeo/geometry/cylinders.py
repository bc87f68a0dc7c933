"""Points, segments and triangles in groups of near ones, each group within a cylinder."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pitgeo.graphs.boxes import Boxes

Array = NDArray[np.float64]
Numbers = NDArray[np.int64]
Singles = NDArray[np.float32]

BRANCHES = 8
"""Members of a group: simplices, or groups of the level below."""


class Cylinders:
    """Simplices in groups, groups of groups, and so on, with a cylinder round every one.

    A wall that is nearly flat lies within flat cylinders: few of them can be nearest to a point, however far it is. Of
    balls, which are as thick as they are wide, it is the more the farther the point is.

    Args:
        corners: Corners of the simplices ``[S, 1 to 3, D]``, at least one simplex.

    Attributes:
        levels: From the coarsest to the simplices themselves. A row ``[8]`` is a cylinder: its center, which lies on
            one of its simplices, a unit vector along its axis (zeros for a ball), half its length, its radius.
        members: For every level but the last, the numbers of the cylinders in the next one, ``[groups, BRANCHES]``;
            -1 where there are fewer.
    """

    def __init__(self, corners: Array) -> None:
        self.levels = [_around(corners)]
        self.members: list[Numbers] = []
        members, within = _near_ones(self.levels[0]), corners
        while True:
            filled = np.where(members < 0, members[:, :1], members)
            within = within[filled].reshape(len(members), -1, 3)
            self.levels.insert(0, _around(within, self.levels[0][filled, :3], corners.shape[1] == 2))
            self.members.insert(0, members)
            if len(members) <= BRANCHES:
                return
            number = np.arange(len(members) + -len(members) % BRANCHES)
            members = np.where(number < len(members), number, -1).reshape(-1, BRANCHES)


def squared_bounds(queries: Array, cylinders: Array) -> tuple[Singles, Singles]:
    """Bounds of squared distances of queries ``[Q, 3]`` to what lies in cylinders ``[C, 8]``, however they are rounded.

    Returns:
        To each cylinder at least ``[Q, C]``; to the nearest of all at most ``[Q]``, since centers lie on simplices.
    """
    middle = 0.5 * (queries.min(0) + queries.max(0))  # positions about it are small: squares hardly cancel
    queries, centers = (queries - middle).astype(np.float32), (cylinders[:, :3] - middle).astype(np.float32)
    axes, half, radius = (part.astype(np.float32) for part in np.split(cylinders[:, 3:], [3, 4], axis=1))
    own, other = np.square(queries).sum(1), np.square(centers).sum(1)
    rounding = 16 * np.finfo(np.float32).eps * (own.max() + other + np.square(half[:, 0]) + np.square(radius[:, 0]))
    squared = queries @ (-2.0 * centers.T)
    squared += own[:, None]
    squared += other + rounding
    nearest = squared.min(1)
    along = queries @ axes.T
    along -= np.einsum("ij,ij->i", centers, axes)
    squared -= np.square(along)
    beside = np.sqrt(np.maximum(squared, 0.0, out=squared), out=squared)
    np.abs(along, out=along)
    along -= half.T
    beside -= radius.T
    least = np.square(np.maximum(along, 0.0, out=along), out=along)
    least += np.square(np.maximum(beside, 0.0, out=beside), out=beside)
    least -= 2.0 * rounding
    return least, nearest


def _near_ones(cylinders: Array) -> Numbers:
    """Cylinders of about one size in groups of near ones: numbers ``[groups, BRANCHES]``, padded with -1.

    A large one among small ones would make every group large.
    """
    radii = np.hypot(cylinders[:, 6], cylinders[:, 7])
    sizes = np.frexp(np.maximum(radii, radii.max() * 2.0**-40))[1] // 2
    groups = []
    for size in np.unique(sizes):
        some = np.flatnonzero(sizes == size)
        number = Boxes(cylinders[some, :3], BRANCHES).number
        number = np.append(some, -1)[number]
        groups.append(np.pad(number, [(0, 0), (0, BRANCHES - number.shape[1])], constant_values=-1))
    return np.concatenate(sorted(groups, key=len, reverse=True))  # powers of 2 mostly: few groups of groups are mixed


def _around(points: Array, centers: Array | None = None, is_curve: bool = False) -> Array:
    """Cylinders ``[G, 8]`` round groups of points ``[G, P, 3]``.

    Args:
        points: Corners of one simplex each, or of several.
        centers: Points of the simplices, one of which becomes the center, ``[G, C, 3]``; default: there is one simplex.
        is_curve: Whether several simplices are a curve, along which the axis lies, or a surface, across which it lies.
    """
    center = points.mean(1)
    if centers is not None:
        nearest = np.square(centers - center[:, None]).sum(2).argmin(1)
        center = centers[np.arange(len(centers)), nearest]
    offset = points - center[:, None]
    if centers is not None:
        axis = np.linalg.eigh(offset.transpose(0, 2, 1) @ offset)[1][:, :, -1 if is_curve else 0]
    elif points.shape[1] == 3:
        axis = unit(np.cross(offset[:, 1] - offset[:, 0], offset[:, 2] - offset[:, 0]))
    else:
        axis = unit(offset[:, -1] - offset[:, 0])
    along = np.einsum("gpi,gi->gp", offset, axis)
    beside = np.sqrt(np.square(offset - along[:, :, None] * axis[:, None]).sum(2)).max(1)
    return np.concatenate([center, axis, np.abs(along).max(1)[:, None], beside[:, None]], 1)


def unit(vectors: Array) -> Array:
    """Vectors ``[N, 3]`` divided by their lengths; those of length 0 as they are."""
    length = np.linalg.norm(vectors, axis=1)[:, None]
    return np.asarray(vectors / np.where(length > 0, length, 1.0))
