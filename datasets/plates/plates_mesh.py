"""The mesh of a plate with holes: quadratic triangles round the holes, extruded through the thickness.

The plane is triangulated by relaxing points as if the edges were springs (Persson and Strang, *A Simple Mesh Generator
in MATLAB*, SIAM Review 2004), with the points on the boundary held. Points of the solid are numbered through the
thickness fastest, so that point ``k`` of plane ``p`` has the number ``k * planes + p``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import skfem
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import Delaunay, cKDTree

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LENGTH, WIDTH = 2.0, 1.0
_GRADING = 0.3  # how fast edges may grow with the distance from the boundary
_STEPS = 60  # a multiple of 12
_TRIES = 8
_LEAST_QUALITY = 0.35
# A quadratic triangle (three corners, middles of 01, 12, 02) as four linear ones.
_QUARTERS = np.array([(0, 3, 5), (3, 1, 4), (5, 4, 2), (3, 4, 5)])


@dataclass(frozen=True)
class Hole:
    """An elliptic hole.

    Args:
        center: Its centre.
        semi_axes: Half of its length and width; neither more than five times the other.
        angle: Angle in radians between its first axis and x.

    Raises:
        ValueError: If a semi-axis is not positive, or the hole too narrow.
    """

    center: tuple[float, float]
    semi_axes: tuple[float, float]
    angle: float = 0.0

    def __post_init__(self) -> None:
        if not min(self.semi_axes) > 0 or max(self.semi_axes) > 5 * min(self.semi_axes):
            raise ValueError(f"Expected positive semi-axes with a ratio of at most 5 (got {self.semi_axes})")

    def rim(self, parameter: ArrayLike) -> Floats:
        """Points ``[..., 2]`` of the rim, counter-clockwise; the parameter runs from 0 to 2 pi."""
        parameter = np.asarray(parameter, np.float64)
        one, two = self.semi_axes[0] * np.cos(parameter), self.semi_axes[1] * np.sin(parameter)
        cosine, sine = np.cos(self.angle), np.sin(self.angle)
        rim: Floats = np.stack([one * cosine - two * sine, one * sine + two * cosine], axis=-1) + self.center
        return rim

    def level(self, points: Floats) -> Floats:
        """Less than 1 in the hole, 1 on its rim, more outside: ``[..., 2]`` to ``[...]``."""
        x, y = np.moveaxis(points - self.center, -1, 0)
        cosine, sine = np.cos(self.angle), np.sin(self.angle)
        level: Floats = np.hypot(
            (x * cosine + y * sine) / self.semi_axes[0], (y * cosine - x * sine) / self.semi_axes[1]
        )
        return level


def smallest_ligament(holes: Sequence[Hole], length: float = LENGTH, width: float = WIDTH) -> float:
    """The narrowest strip of material between two holes, or a hole and a side; negative where they overlap."""
    rims = [hole.rim(np.linspace(0, 2 * np.pi, 256, endpoint=False)) for hole in holes]
    least = float("inf")
    for number, (hole, rim) in enumerate(zip(holes, rims, strict=True)):
        least = min(least, float(rim.min()), float((np.array([length, width]) - rim).min()))
        for other, other_rim in zip(holes[:number], rims[:number], strict=True):
            apart = hole.level(other_rim).min() > 1 and other.level(rim).min() > 1
            distance = float(np.min(cKDTree(rim).query(other_rim)[0]))
            least = min(least, distance if apart else -distance)
    return least


def plane_mesh(holes: Sequence[Hole], size: float, length: float = LENGTH, width: float = WIDTH) -> skfem.MeshTri2:
    """Quadratic triangles that cover a rectangle but for its holes; edges on a rim follow the ellipse.

    Args:
        holes: The holes.
        size: Length of an edge far from the holes; half as much at their rims, and at most a 16th of them.
        length: Length of the rectangle, from x = 0.
        width: Width of the rectangle, from y = 0.

    Raises:
        ValueError: If the size is not positive, or the holes touch each other or the sides.
        ArithmeticError: If no mesh of good triangles is found.
    """
    if not size > 0:
        raise ValueError(f"Expected 'size' to be positive (got {size})")
    if smallest_ligament(holes, length, width) <= 0:
        raise ValueError("Expected holes apart from each other and the sides (got some that touch); move them")
    parameters = [_rim_parameters(hole, size) for hole in holes]
    rims = [hole.rim(parameter) for hole, parameter in zip(holes, parameters, strict=True)]
    spacing = _Spacing(rims, size)
    sides = _side_points(spacing, length, width)
    fixed = np.concatenate([*rims, sides])
    owner = np.repeat(np.arange(len(holes) + 1), [*map(len, rims), len(sides)])
    for attempt in range(_TRIES):
        points = _relaxed(fixed, owner, holes, spacing, length, width, attempt)
        triangles = _triangles(points, owner)
        if _is_good(points, triangles, owner):
            return _curved(points, triangles, holes, rims, parameters)
    raise ArithmeticError(f"No mesh of good triangles was found in {_TRIES} tries")


def quality(corners: Floats) -> Floats:
    """Twice the inscribed radius of triangles by the circumscribed, 1 at best: ``[..., 3, 2]`` to ``[...]``."""
    a, b, c = (np.linalg.norm(corners[..., i, :] - corners[..., i - 1, :], axis=-1) for i in range(3))
    ratio: Floats = (b + c - a) * (c + a - b) * (a + b - c) / (a * b * c)
    return ratio


def solid_points(plane: Floats, height: Floats) -> Floats:
    """Points ``[K P, 3]`` of all heights ``[P]`` over all points ``[K, 2]`` of the plane."""
    solid = np.empty((len(plane), len(height), 3))
    solid[..., :2], solid[..., 2] = plane[:, None], height
    return solid.reshape(-1, 3)


def solid_tetrahedra(points: Floats, triangles: Ints) -> Ints:
    """Linear tetrahedra between the points of a solid, of positive volume as VTK counts it.

    Each quadratic triangle is cut in four, each prism over a quarter in three. How a side is cut depends on the numbers
    of its points alone, so that neighbours fit.

    Args:
        points: What :func:`solid_points` gave.
        triangles: Point numbers, in the plane, of the quadratic triangles.

    Shapes:
        - **points** ``[K P, 3]``; **triangles** ``[E, 6]``; **output** ``[12 E (P - 1), 4]``
    """
    planes = len(points) // (int(triangles.max()) + 1)
    quarters = np.sort(triangles[:, _QUARTERS].reshape(-1, 3), axis=1)
    below = quarters[:, None] * planes + np.arange(planes - 1)[:, None]
    a, b, c = np.moveaxis(below, -1, 0)
    cut = np.array([(a, b, c, c + 1), (a, b, b + 1, c + 1), (a, a + 1, b + 1, c + 1)])
    tetrahedra: Ints = cut.transpose(2, 3, 0, 1).reshape(-1, 4)
    wrong = np.linalg.det(points[tetrahedra[:, 1:]] - points[tetrahedra[:, :1]]) < 0
    tetrahedra[wrong] = tetrahedra[wrong][:, [0, 1, 3, 2]]
    return tetrahedra


class _Spacing:
    """Wanted length of edges: that of the nearest rims, growing with the distance from them, up to ``size``."""

    def __init__(self, rims: Sequence[Floats], size: float) -> None:
        self.size = size
        around = [np.linalg.norm(np.roll(rim, -1, axis=0) - np.roll(rim, 1, axis=0), axis=1) / 2 for rim in rims]
        self.lengths = np.concatenate([np.zeros(0), *around])
        self.tree = cKDTree(np.concatenate([np.zeros((0, 2)), *rims]))

    def __call__(self, points: Floats) -> Floats:
        if not len(self.lengths):
            return np.full(len(points), self.size)
        distance, nearest = self.tree.query(points, k=min(8, len(self.lengths)))
        wanted: Floats = np.minimum(self.size, (self.lengths[nearest] + _GRADING * distance).min(axis=1))
        return wanted


def _rim_parameters(hole: Hole, size: float) -> Floats:
    """Even in the parameter, so that the ends of an ellipse, where it bends most, have shorter edges."""
    circle = hole.rim(np.linspace(0, 2 * np.pi, 256))
    length = np.linalg.norm(np.diff(circle, axis=0), axis=1).sum()
    number = max(16, int(np.ceil(length / (size / 2))))
    return np.linspace(0, 2 * np.pi, number, endpoint=False)


def _side_points(spacing: _Spacing, length: float, width: float) -> Floats:
    corners = np.array([(0, 0), (length, 0), (length, width), (0, width)], np.float64)
    sides = []
    for start, end in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        share = np.linspace(0, 1, 201)
        density = np.linalg.norm(end - start) / spacing(start + share[:, None] * (end - start))
        count = np.concatenate([[0], np.cumsum((density[1:] + density[:-1]) / 2 * np.diff(share))])
        number = max(1, int(np.ceil(count[-1] - 1e-9)))
        places = np.interp(np.arange(number) * count[-1] / number, count, share)
        sides.append(start + places[:, None] * (end - start))
    return np.concatenate(sides)


def _relaxed(
    fixed: Floats, owner: Ints, holes: Sequence[Hole], spacing: _Spacing, length: float, width: float, attempt: int
) -> Floats:
    """The fixed points, then free ones spread evenly by the wanted lengths."""
    random = np.random.default_rng(attempt)
    least = min(spacing.size, spacing.lengths.min(initial=np.inf))
    rows = np.arange(least / 2, width, least * np.sqrt(3) / 2)
    columns = np.arange(0, length + least, least)
    x, y = np.meshgrid(columns, rows)
    x = x + np.where(np.arange(len(rows)) % 2, least / 2, 0.0)[:, None]
    free = np.stack([x.ravel(), y.ravel()], axis=-1)
    free = free[random.random(len(free)) < (least / spacing(free)) ** 2]
    free = free[_is_inside(free, fixed, holes, spacing, length, width)]
    points = np.concatenate([fixed, free])
    for step in range(_STEPS):
        if step % 3 == 0:
            edges = _edges(_triangles(points, owner))
        vector = points[edges[:, 0]] - points[edges[:, 1]]
        now = np.linalg.norm(vector, axis=1)
        wanted = spacing(points[edges].mean(axis=1))
        wanted *= 1.2 * np.sqrt((now**2).sum() / (wanted**2).sum())
        push = (np.maximum(wanted - now, 0) / now)[:, None] * vector
        move = np.zeros_like(points)
        np.add.at(move, edges[:, 0], push)
        np.add.at(move, edges[:, 1], -push)
        points[len(fixed) :] += 0.2 * move[len(fixed) :]
        if step % 12 == 11:
            kept = np.ones(len(points), dtype=bool)
            kept[len(fixed) :] = _is_inside(points[len(fixed) :], fixed, holes, spacing, length, width)
            points = points[kept]
    return points


def _is_inside(
    points: Floats, fixed: Floats, holes: Sequence[Hole], spacing: _Spacing, length: float, width: float
) -> NDArray[np.bool_]:
    """Whether points lie in the material, not too close to its boundary."""
    outside = ~((points > 0) & (points < (length, width))).all(axis=1)
    for hole in holes:
        outside |= hole.level(points) <= 1
    distance, _ = cKDTree(fixed).query(points)
    outside |= np.asarray(distance) <= 0.5 * spacing(points)
    return ~outside


def _triangles(points: Floats, owner: Ints) -> Ints:
    """Delaunay triangles ``[E, 3]``, but for those whose corners are all on the rim of one hole and flat ones."""
    simplices = np.asarray(Delaunay(points).simplices, np.int64)
    sides = owner.max()
    label = np.full(len(points), sides)
    label[: len(owner)] = owner
    corner = label[simplices]
    in_hole = (corner[:, 0] < sides) & (corner == corner[:, :1]).all(axis=1)
    kept: Ints = simplices[~in_hole & (quality(points[simplices]) > 1e-6)]
    return kept


def _edges(triangles: Ints) -> Ints:
    pairs = np.sort(triangles[:, [(0, 1), (1, 2), (0, 2)]].reshape(-1, 2), axis=1)
    count = int(triangles.max()) + 1
    return np.stack(np.divmod(np.unique(pairs @ (count, 1)), count), axis=-1)


def _is_good(points: Floats, triangles: Ints, owner: Ints) -> bool:
    """Whether triangles are well shaped, use all points, and their outer edges are those of the boundary."""
    pairs = np.sort(triangles[:, [(0, 1), (1, 2), (0, 2)]].reshape(-1, 2), axis=1)
    edges, uses = np.unique(pairs, axis=0, return_counts=True)
    following = np.arange(len(owner)) + 1
    last = np.flatnonzero(np.diff(owner, append=owner.max() + 1))
    following[last] = np.concatenate([[0], last[:-1] + 1])
    boundary = np.sort(np.stack([np.arange(len(owner)), following], axis=1), axis=1)
    return (
        len(np.unique(triangles)) == len(points)
        and np.array_equal(edges[uses == 1], np.unique(boundary, axis=0))
        and quality(points[triangles]).min() > _LEAST_QUALITY
    )


def _curved(
    points: Floats, triangles: Ints, holes: Sequence[Hole], rims: Sequence[Floats], parameters: Sequence[Floats]
) -> skfem.MeshTri2:
    """Quadratic triangles with the middles of edges on a rim moved to it."""
    mesh = skfem.MeshTri2.from_mesh(skfem.MeshTri(points.T.copy(), triangles.T.copy()))
    places = mesh.doflocs.copy()
    tree = cKDTree(places.T)
    for hole, rim, parameter in zip(holes, rims, parameters, strict=True):
        _, number = tree.query((rim + np.roll(rim, -1, axis=0)) / 2)
        places[:, number] = hole.rim(parameter + np.pi / len(parameter)).T
    return skfem.MeshTri2(places, mesh.t)
