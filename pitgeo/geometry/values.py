"""Geometry inputs by name."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pitgeo.geometry.boundary import boundary_distance, set_distance
from pitgeo.geometry.normals import cell_normals, point_normals
from pitgeo.geometry.sizes import cell_sizes, point_sizes
from pitgeo.mesh import Mesh, centroids

Place = Literal["point", "cell"]

#: The names of geometry inputs, and how many components each has in so many dimensions. A distance to a named set,
#: ``boundary_distance:<set>``, has as many as ``boundary_distance``.
GEOMETRY: Mapping[str, Callable[[int], int]] = MappingProxyType(
    {
        "coordinates": lambda dimension: dimension,
        "boundary_distance": lambda dimension: 1,
        "normals": lambda dimension: dimension,
        "cell_size": lambda dimension: 1,
    }
)
SET = "boundary_distance:"
"""What names of distances to sets begin with."""


def is_geometry(name: str) -> bool:
    """Whether a name is that of a geometry input; a set in the name is not looked up.

    Example:
        >>> is_geometry("boundary_distance:wall"), is_geometry("pressure")
        (True, False)
    """
    return name in GEOMETRY or (name.startswith(SET) and name != SET)


def geometry_components(name: str, dimension: int) -> int:
    """Number of components of a geometry input in a dimension.

    Raises:
        ValueError: If there is no such input.

    Example:
        >>> geometry_components("normals", 3), geometry_components("boundary_distance", 3)
        (3, 1)
    """
    if not is_geometry(name):
        names = [*GEOMETRY, f"{SET}<set>"]
        near = difflib.get_close_matches(name, names, 1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"Expected a geometry input, one of {', '.join(names)} (got {name!r}){hint}")
    return GEOMETRY[name.split(":")[0]](dimension)


def geometry_values(mesh: Mesh, name: str, place: Place) -> NDArray[np.float64]:
    """A geometry input of a mesh, ``[points or cells, components]``.

    - ``coordinates``: positions of points, centroids of cells, the means of their corners.
    - ``boundary_distance``: Euclidean distance to the boundary, the faces that belong to one cell only (in 2D edges, of
      a curve its ends); exact for straight edges and flat faces.
    - ``boundary_distance:<set>``: the same to a named set of cells or points. A set of points stands for its points,
      for the faces of the boundary and for the cells of lower dimension than the space whose nodes all lie in it. A
      field of zeros and ones stands for the set of its ones.
    - ``normals``: unit normals of a surface in space or a curve in the plane, of any winding in the file. Each closed
      part has them outward of itself; an open one, as most of its area in the file, by the right hand rule (a curve to
      its right). At points those of the cells around, weighted by area; points at exactly one place are one.
    - ``cell_size``: length, square root of the area or cube root of the volume; at points the mean of the cells
      around, counting those of the highest dimension.

    Boundary and sizes of curved cells are those of the flat pieces between their nodes. A point without cells gets
    normals and sizes from the nearest point that has some. Cells are in the order of the mesh, all blocks.

    Args:
        mesh: The mesh.
        name: A name of the list above.
        place: ``"point"`` for the points of the mesh, ``"cell"`` for the centroids of its cells.

    Raises:
        ImportError: If PyVista is missing, which all but coordinates need.
        ValueError: If there is no such input or set, or the mesh has none: no cells, no boundary, no one normal.

    Example:
        >>> import numpy as np
        >>> from pitgeo.mesh import Mesh
        >>> points, quad = np.array([[0.0, 0], [2, 0], [2, 1], [0, 1]]), np.array([[0, 1, 2, 3]])
        >>> mesh = Mesh(points, (("quad", quad),), {"u": np.arange(4.0)})
        >>> geometry_values(mesh, "cell_size", "point").shape
        (4, 1)
    """
    geometry_components(name, mesh.points.shape[1])
    if place not in ("point", "cell"):
        raise ValueError(f"Expected 'point' or 'cell' as the place of {name} (got {place!r})")
    if name == "normals":
        return point_normals(mesh) if place == "point" else cell_normals(mesh)
    if name == "cell_size":
        return point_sizes(mesh) if place == "point" else cell_sizes(mesh)
    places = mesh.points.copy() if place == "point" else _centers(mesh)
    if name == "coordinates":
        return places
    distance = boundary_distance(mesh, places) if name == SET[:-1] else set_distance(mesh, name[len(SET) :], places)
    return distance[:, None]


def _centers(mesh: Mesh) -> NDArray[np.float64]:
    """Positions of cell values, see :func:`pitgeo.mesh.centroids`."""
    if not any(len(nodes) for _, nodes in mesh.cells):
        raise ValueError(
            f"{mesh.where}Expected cells to take centroids of (got {len(mesh.points)} points alone); take place 'point'"
        )
    return centroids(mesh)
