"""Detection of fields that hold coordinates or normals, which are no results of a simulation."""

from __future__ import annotations

import re
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pitgeo.describe.cells import family
from pitgeo.mesh import Mesh, centroids
from pitgeo.mesh.cell_types import CORNERS

Role = Literal["", "coordinates", "normals"]

EXACT = 1e-6
"""Coordinates agree with the points up to this part of the extent, as single precision does."""

UNIT = 1e-3
"""Normals are of length one up to this."""

ACROSS = 0.7
"""Vectors stand across a cell if the cosine of the angle to its normal is larger than this."""

MOST = 0.8
"""They are normals if they stand across so many cells."""

COORDINATE = re.compile(r"(?i)([xyz]|.*(coord|position|location|points?).*)")
NORMAL = re.compile(r"(?i).*normal.*")


def role_of(mesh: Mesh, place: str, name: str, values: NDArray[Any]) -> Role:
    """The role of a field ``[count, components]`` of points or cells; empty for results.

    Coordinates are told by their values (of one component, by the name as well), normals by their length and by the
    cells of a surface, or the name.

    Example:
        >>> triangle = Mesh(np.array([[0.0, 0, 0], [1, 0, 1], [0, 1, 0]]), (("triangle", np.array([[0, 1, 2]])),))
        >>> up = np.tile([-0.5**0.5, 0, 0.5**0.5], (3, 1))
        >>> role_of(triangle, "points", "n", up), role_of(triangle, "points", "c", triangle.points)
        ('normals', 'coordinates')
    """
    if place == "mesh" or values.dtype.kind != "f" or not np.isfinite(values).all():
        return ""
    if values.shape[1] == 1 and not COORDINATE.fullmatch(name):
        return ""
    if _are_places(mesh, place, values):
        return "coordinates"
    axes = values.shape[1]
    is_unit = axes in (2, 3) and bool((np.abs(np.linalg.norm(values, axis=1) - 1) < UNIT).all())
    if is_unit and (NORMAL.fullmatch(name) or (axes == 3 and _are_across(mesh, place, values))):
        return "normals"
    return ""


def _are_places(mesh: Mesh, place: str, values: NDArray[Any]) -> bool:
    if place == "cells" and not mesh.number_of_cells:
        return False
    space = mesh.points_in_space()
    places = space if place == "points" else centroids(Mesh(space, mesh.cells))
    within = EXACT * float(np.linalg.norm(np.ptp(space, axis=0)))
    axes = [axis for axis in range(3) if np.ptp(places[:, axis]) > within]
    candidates = [places] if values.shape[1] == 3 else [places[:, axes]]
    if values.shape[1] == 1:
        candidates = [places[:, axis : axis + 1] for axis in axes]
    return any(values.shape == found.shape and bool((abs(values - found) <= within).all()) for found in candidates)


def _are_across(mesh: Mesh, place: str, values: NDArray[Any]) -> bool:
    """Whether unit vectors are normal to most triangles and quadrilaterals of a surface in space."""
    if mesh.points.shape[1] != 3 or not mesh.cells:
        return False
    cosines, start = [], 0
    for kind, nodes in mesh.cells:
        name, own = family(kind), slice(start, start + len(nodes))
        start += len(nodes)
        if name not in ("triangle", "quad"):
            continue
        corners = mesh.points[nodes[:, : CORNERS[name]]]
        first, second = (corners[:, 2] - corners[:, 0], corners[:, -1] - corners[:, 1])
        normal = np.cross(corners[:, 1] - corners[:, 0], first) if name == "triangle" else np.cross(first, second)
        length = np.linalg.norm(normal, axis=1)
        mean = values[own] if place == "cells" else values[nodes[:, : CORNERS[name]]].mean(1)
        cosines.append((normal * mean).sum(1)[length > 0] / length[length > 0])
    if not cosines:
        return False
    return bool((np.abs(np.concatenate(cosines)) > ACROSS).mean() >= MOST)
