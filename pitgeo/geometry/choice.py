"""Default geometry inputs of a mesh."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pitgeo.geometry.cells import blocks_of
from pitgeo.geometry.values import SET, Place, geometry_values
from pitgeo.mesh import Mesh
from pitgeo.mesh.sets import is_mark

MOST_SETS = 8
"""Distances to more named sets than this are not proposed."""

SAME = 1e-6
"""Distances that differ by less than this part of the mesh's extent are the same."""


def candidates(mesh: Mesh, place: Place, fields: Sequence[str] = ()) -> tuple[str, ...]:
    """Names of geometry inputs that are informative for a mesh; none for a point cloud.

    These are the distance to the boundary where there is one, normals of surfaces and curves, and distances to named
    sets, :data:`MOST_SETS` at most. A set is left out that is empty, the whole mesh, the whole boundary, or an earlier
    set under another name.

    Args:
        mesh: The mesh.
        place: Where values are wanted, see :func:`geometry_values`.
        fields: Fields that count as named sets where they are zeros and ones.

    Raises:
        ImportError: If PyVista is missing, and the mesh has cells.

    Example:
        >>> square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.5, 0.5]])
        >>> fan = np.array([[0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]])
        >>> sets = {"left": np.array([0, 3]), "all": np.arange(5), "wall": np.arange(4)}
        >>> candidates(Mesh(square, (("triangle", fan),), point_sets=sets), "point")
        ('boundary_distance', 'boundary_distance:left')
    """
    if not any(len(nodes) and kind != "vertex" for kind, nodes in mesh.cells):
        return ()
    try:
        blocks_of(mesh)
    except ValueError:  # cells that VTK does not have
        return ()
    known = [np.zeros(len(mesh.points) if place == "point" else mesh.number_of_cells)]
    atol = SAME * float(np.linalg.norm(np.ptp(mesh.points, axis=0)))
    found: list[str] = []
    for name in ("boundary_distance", "normals"):
        try:
            values = geometry_values(mesh, name, place)
        except ValueError:
            continue
        found.append(name)
        known += [values[:, 0]] * (name != "normals")
    sets = 0
    for name in _sets(mesh, fields):
        if sets == MOST_SETS:
            break
        try:
            distance = geometry_values(mesh, SET + name, place)[:, 0]
        except ValueError:
            continue
        if not any(np.allclose(distance, other, rtol=0, atol=atol) for other in known):
            known.append(distance)
            found.append(SET + name)
            sets += 1
    return tuple(found)


def _sets(mesh: Mesh, fields: Sequence[str]) -> list[str]:
    """Names of sets, then of fields that mark a set."""
    marked = [name for name in fields if name in mesh.point_data and is_mark(mesh.point_data[name])]
    marked += [name for name in fields if name in mesh.cell_data and all(map(is_mark, mesh.cell_data[name]))]
    return [name for name in dict.fromkeys([*mesh.point_sets, *mesh.cell_sets, *marked]) if name]
