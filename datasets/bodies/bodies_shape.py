"""Closed, smooth surfaces of bodies, and quadrilaterals on them.

A body is the image of a cube's surface. A direction ``d`` first gives the point ``b = d / |d|_p`` of the unit ball of
the p-norm, an ellipsoid for p = 2 and a box with rounded edges for larger p. Then

    x = a b_x,    y = b b_y (1 - taper r),    z = c (b_z + cabin r exp(-((b_x - center) / length)^2)),

with r = ((1 + b_z) / 2)^2, the share of the roof. Each of the three grows with its own coordinate, so the surface never
meets itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Body:
    """A body with its middle at the origin.

    Args:
        half_lengths: a, b and c in m: half of the length along x, the width along y and, without a cabin, the height.
        exponent: The p above, at least 2.
        cabin: Height of the cabin above the rest, as a share of c; less than 0 is refused.
        center: Where the cabin is, as a share of a.
        length: Half of the cabin's length, as a share of a.
        taper: How much narrower the roof is, 0 to below 1.

    Raises:
        ValueError: If a number is out of range.
    """

    half_lengths: tuple[float, float, float]
    exponent: float = 2.0
    cabin: float = 0.0
    center: float = 0.0
    length: float = 1.0
    taper: float = 0.0

    def __post_init__(self) -> None:
        if not min(self.half_lengths) > 0 or not self.length > 0:
            raise ValueError(f"Expected positive lengths (got {self.half_lengths} and {self.length})")
        if not self.exponent >= 2 or not self.cabin >= 0 or not 0 <= self.taper < 1:
            raise ValueError(
                f"Expected an exponent of at least 2, no negative cabin and a taper from 0 to 1 (got {self.exponent}, "
                f"{self.cabin}, {self.taper})"
            )

    def position(self, directions: Floats) -> Floats:
        """Points ``[..., 3]`` of the surface in directions ``[..., 3]`` of any length."""
        base = self._base(directions)[0]
        x, y, z = np.moveaxis(base, -1, 0)
        roof, bump = ((1 + z) / 2) ** 2, self._bump(x)
        a, b, c = self.half_lengths
        return np.stack([a * x, b * y * (1 - self.taper * roof), c * (z + self.cabin * roof * bump)], axis=-1)

    def jacobian(self, directions: Floats) -> Floats:
        """Derivatives ``[..., 3, 3]`` of positions (rows) with respect to directions (columns)."""
        base, size = self._base(directions)
        slope = np.sign(base) * np.abs(base) ** (self.exponent - 1)
        inner = (np.eye(3) - base[..., :, None] * slope[..., None, :]) / size[..., None, None]
        x, y, z = np.moveaxis(base, -1, 0)
        roof, rise, bump = ((1 + z) / 2) ** 2, (1 + z) / 2, self._bump(x)
        a, b, c = self.half_lengths
        outer = np.zeros((*base.shape, 3))
        outer[..., 0, 0] = a
        outer[..., 1, 1] = b * (1 - self.taper * roof)
        outer[..., 1, 2] = -b * y * self.taper * rise
        outer[..., 2, 0] = -c * self.cabin * roof * bump * 2 * (x - self.center) / self.length**2
        outer[..., 2, 2] = c * (1 + self.cabin * rise * bump)
        product: Floats = outer @ inner
        return product

    def _base(self, directions: Floats) -> tuple[Floats, Floats]:
        size = (np.abs(directions) ** self.exponent).sum(axis=-1) ** (1 / self.exponent)
        return directions / size[..., None], size

    def _bump(self, x: Floats) -> Floats:
        bump: Floats = np.exp(-(((x - self.center) / self.length) ** 2))
        return bump


@dataclass(frozen=True)
class Panels:
    """Quadrilaterals on a body, six times n x n, as a cube's sides are divided.

    Args:
        points: Corners in m, ``[N, 3]``.
        quads: Four corners of each panel, counter-clockwise seen from outside, ``[M, 4]``.
        point_directions: Directions of the corners, ``[N, 3]``, on the cube.
        directions: Directions of the panels' middles, ``[M, 3]``, on the cube.
        outline_points: Corners, and points of the surface halfway between neighbours, ``[L, 3]``.
        outlines: The eight outline points of each panel in turn, ``[M, 8]``, from its first corner.
    """

    points: Floats
    quads: Ints
    point_directions: Floats
    directions: Floats
    outline_points: Floats
    outlines: Ints


def panels(body: Body, count: int) -> Panels:
    """Divide each side of the cube into ``count`` times ``count`` panels of equal angles.

    Raises:
        ValueError: If ``count`` is less than 8: gradients would be taken of panels too far round the body.

    Example:
        >>> len(panels(Body((1.0, 1.0, 1.0)), 8).quads)
        384
    """
    if count < 8:
        raise ValueError(f"Expected at least 8 panels along a side of the cube (got {count}); make them smaller")
    round_trip = np.array([(-1, -1), (0, -1), (1, -1), (1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0)])
    middles = np.stack(np.meshgrid(*2 * [2 * np.arange(count) + 1], indexing="ij"), axis=-1).reshape(-1, 1, 2)
    loops: list[Ints] = []
    centers: list[Ints] = []
    for axis in range(3):
        for end, order in ((0, (0, 7, 6, 5, 4, 3, 2, 1)), (2 * count, range(8))):
            for found, flat in ((loops, middles + round_trip[list(order)]), (centers, middles)):
                whole = np.full((*flat.shape[:2], 3), end)
                whole[..., (axis + 1) % 3], whole[..., (axis + 2) % 3] = flat[..., 0], flat[..., 1]
                found.append(whole)
    grid, outlines = np.unique(np.concatenate(loops).reshape(-1, 3), axis=0, return_inverse=True)
    outlines = outlines.reshape(-1, 8)
    corners, quads = np.unique(outlines[:, ::2], return_inverse=True)
    directions = _on_cube(grid, count)
    outline_points = body.position(directions)
    return Panels(
        points=outline_points[corners],
        quads=quads.reshape(-1, 4),
        point_directions=directions[corners],
        directions=_on_cube(np.concatenate(centers)[:, 0], count),
        outline_points=outline_points,
        outlines=outlines,
    )


@dataclass(frozen=True)
class Frame:
    """How a body lies at points of it.

    Args:
        axis: The cube's axis along which the direction is longest, ``[N]``.
        tangents: Derivatives of the position with respect to the angles of the next two axes, ``[N, 2, 3]``.
        areas: Their vector product, turned outwards, ``[N, 3]``.
        normals: Unit normals outwards, ``[N, 3]``.
    """

    axis: Ints
    tangents: Floats
    areas: Floats
    normals: Floats


def frame(body: Body, directions: Floats) -> Frame:
    """How a body lies in directions ``[N, 3]`` on the cube; the angles are those of :func:`angles`."""
    axis = np.abs(directions).argmax(axis=1)
    rows, jacobian = np.arange(len(axis)), body.jacobian(directions)
    tangents = np.stack(
        [
            jacobian[rows, :, along] * (1 + directions[rows, along] ** 2)[:, None]
            for along in ((axis + 1) % 3, (axis + 2) % 3)
        ],
        axis=1,
    )
    areas = np.cross(tangents[:, 0], tangents[:, 1]) * np.sign(directions[rows, axis])[:, None]
    return Frame(axis, tangents, areas, areas / np.linalg.norm(areas, axis=1, keepdims=True))


def angles(directions: Floats, axis: Ints) -> Floats:
    """Angles ``[..., 2]`` of directions ``[..., 3]``: arcus tangents of the next two coordinates over that of ``axis``.

    Seen from one side of the cube they are smooth beyond its edges, unlike the coordinates on the cube.
    """
    along, *others = (np.take_along_axis(directions, ((axis + k) % 3)[..., None], -1)[..., 0] for k in range(3))
    return np.stack([np.arctan(other / np.abs(along)) for other in others], axis=-1)


def measures(body: Body, count: int = 16) -> tuple[float, float]:
    """Volume and surface of a body, by Gauss's three points in each direction on each of 6 x count x count panels.

    With 16, relative errors are below 1e-6 for bodies like those of the data.
    """
    nodes, weights = np.polynomial.legendre.leggauss(3)
    grid = (2 * np.arange(count)[:, None] + 1 + nodes).ravel()
    side = _on_cube(np.stack(np.meshgrid(grid, grid, indexing="ij"), axis=-1).reshape(-1, 2), count)
    weight = np.multiply.outer(*2 * [np.tile(weights, count)]).ravel() * (np.pi / 4 / count) ** 2
    volume = surface = 0.0
    for axis in range(3):
        for end in (-1.0, 1.0):
            directions = np.roll(np.insert(side, 0, end, axis=1), axis, axis=1)
            areas = frame(body, directions).areas * weight[:, None]
            volume += float((areas * body.position(directions)).sum() / 3)
            surface += float(np.linalg.norm(areas, axis=1).sum())
    return volume, surface


def frontal_area(mesh: Panels, direction: Floats, rays: int = 720) -> float:
    """Area of a body's shadow in parallel light along ``direction``; the error falls with the square of the panels.

    The body is star-shaped about the origin, so its shadow is too. Along each of ``rays`` rays from the origin, the
    farthest crossing with the shadow of an edge is the rim.
    """
    across = np.linalg.svd(direction[None])[2][1:]
    pairs = np.stack([mesh.outlines, np.roll(mesh.outlines, -1, axis=1)], axis=-1).reshape(-1, 2)
    edges = np.unique(np.sort(pairs, axis=1), axis=0)
    start, stop = (mesh.outline_points @ across.T)[edges].transpose(1, 0, 2)
    area = 0.0
    for turn in np.arange(rays) * 2 * np.pi / rays:
        ray = np.array([np.cos(turn), np.sin(turn)])
        one, two = start @ (-ray[1], ray[0]), stop @ (-ray[1], ray[0])
        hit = (one <= 0) != (two <= 0)
        share = one[hit] / (one[hit] - two[hit])
        reach = ((1 - share) * (start[hit] @ ray) + share * (stop[hit] @ ray)).max()
        area += reach**2 * np.pi / rays
    return float(area)


def is_star_shaped(body: Body, directions: Floats) -> bool:
    """Whether every ray from the origin meets the surface once, as far as these directions tell."""
    return bool(((frame(body, directions).normals * body.position(directions)).sum(axis=1) > 0).all())


def _on_cube(grid: Any, count: int) -> Floats:
    cube: Floats = np.tan(np.pi / 4 * (grid / count - 1))
    return cube
