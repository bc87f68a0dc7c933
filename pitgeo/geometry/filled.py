"""Bodies of tetrahedra from closed surfaces."""

from __future__ import annotations

import importlib
import logging
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pitgeo.geometry.shells import Surface, bodies, closed_surface, normals, refined, volume
from pitgeo.mesh import Mesh
from pitgeo.mesh.sets import is_mark, marked

log = logging.getLogger(__name__)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST = 3_000_000
"""Most points of a filled surface: tetrahedra of more take gigabytes and many minutes."""
LONGEST = 4 / 3
"""Edges of the surface longer than so many spacings are halved."""
PER_CUBE, PER_SQUARE = 1.2, 1.0
"""Points of tetrahedra by gmsh in a cube whose side is the spacing, and on a square of the surface, about."""

NO_LIBRARIES = (
    "Expected the system's libraries that gmsh loads (got: {}); on Debian: apt install libglu1-mesa libxcursor1 "
    "libxft2 libxinerama1"
)
"""What is said where gmsh is installed and cannot be loaded."""
SAME = 1e-6
"""Volumes that differ by less than this part are the same."""


def fill_surface(surface: Mesh, spacing: float, marks: Sequence[str] = ()) -> Mesh:
    """The body inside a closed surface, in tetrahedra whose edges are about as long as the spacing.

    Its boundary is the surface itself: points of the surface are kept, and long edges are halved. Several shells may
    lie beside each other, or within each other as cavities. gmsh fills the volume.

    Named sets are kept. Fields of zeros and ones become such fields at the points: 1 at points of the surface on a
    triangle that has the mark, or all corners of which have it, and 0 inside. Numbers of the whole mesh are kept.

    Args:
        surface: Faces in space.
        spacing: The length, in the unit of the positions.
        marks: Fields or named sets of the surface that become fields of zeros and ones at the points.

    Raises:
        ImportError: If gmsh or PyVista is missing.
        ValueError: If the surface is not closed, crosses itself, or would have more than :data:`MOST` points; or a mark
            is missing, or not of zeros and ones.

    Example:
        >>> import pyvista
        >>> from pitgeo.mesh import from_pyvista
        >>> body = fill_surface(from_pyvista(pyvista.Cube().triangulate().clean()), 0.5)
        >>> [kind for kind, _ in body.cells], bool(abs(body.points).max() == 0.5)
        (['tetra'], True)
    """
    if not (spacing > 0 and math.isfinite(spacing)):
        raise ValueError(f"Expected a positive spacing of points to fill a surface (got {spacing:g})")
    gmsh = _gmsh()
    found = closed_surface(surface)
    own = bodies(found)
    inside = sum(volume(found, shells) for shells in own)
    _check_number(surface, found, inside, spacing)
    kept, triangles, parents = refined(found.points, found.triangles, LONGEST * spacing)
    on_surface = len(kept)
    chosen = [[np.flatnonzero(np.isin(parents, shell)) for shell in shells] for shells in own]
    with _session(gmsh, surface):
        points, cells = _tetrahedra(gmsh, kept, triangles, chosen, spacing)
    corners = points[cells]
    if not np.array_equal(points[:on_surface], kept):
        raise ValueError(f"{surface.where}Expected gmsh to keep the {on_surface:,} points of the surface (got others)")
    filled = float(abs(np.linalg.det(corners[:, 1:] - corners[:, :1])).sum()) / 6
    if abs(filled - inside) > SAME * inside:
        raise ValueError(
            f"{surface.where}Expected a volume of {inside:.6g} inside the surface (got {filled:.6g} filled by gmsh); "
            f"look for shells that cross or touch each other"
        )
    log.info(
        "%sfilled with %s points, %s of them on the surface, in %s tetrahedra",
        *(surface.where, f"{len(points):,}", f"{on_surface:,}", f"{len(cells):,}"),
    )
    blocks: list[tuple[str, Ints]] = [("tetra", cells)]
    cell_sets = {}
    if surface.cell_sets:
        blocks.append(("triangle", triangles))
        for name, members in surface.cell_sets.items():
            wanted = _cells_in(surface, members)[found.cells[parents]]
            cell_sets[name] = (np.zeros(0, np.int64), np.flatnonzero(wanted))
    count = len(points)
    point_sets = {
        name: np.flatnonzero(_at_points(found, triangles, parents, marked(members, len(surface.points)), count))
        for name, members in surface.point_sets.items()
    }
    fields = {name: _mark(surface, name, found, triangles, parents, count) for name in dict.fromkeys(marks)}
    return Mesh(
        points,
        tuple(blocks),
        fields,
        field_data=surface.field_data,
        point_sets=point_sets,
        cell_sets=cell_sets,
        path=surface.path,
        notes=surface.notes,
    )


def _check_number(surface: Mesh, found: Surface, inside: float, spacing: float) -> None:
    area = float(np.linalg.norm(normals(found), axis=1).sum()) / 2

    def about(length: float) -> float:
        return PER_CUBE * inside / length**3 + PER_SQUARE * area / length**2

    least = spacing
    while about(least) > MOST:
        least *= 1.05
    if least > spacing:
        raise ValueError(
            f"{surface.where}Expected a spacing of at least {least:.3g}, for {MOST:,} points at most (got {spacing:g}, "
            f"for about {about(spacing):,.0f}); take a larger one, or check the unit of the positions"
        )


def _cells_in(surface: Mesh, members: Sequence[Ints]) -> NDArray[np.bool_]:
    """Which cells, of all blocks, are in a set."""
    sizes = [len(nodes) for _, nodes in surface.cells]
    return np.concatenate([marked(part, size) for part, size in zip(members, sizes, strict=True)])


def _at_points(found: Surface, triangles: Ints, parents: Ints, old: NDArray[np.bool_], count: int) -> NDArray[np.bool_]:
    """Marks of the points of the mesh as marks of the points of the body."""
    own = np.zeros(count, bool)
    places = found.places[old]
    own[places[places >= 0]] = True
    return _on_triangles(triangles, parents, np.asarray(own[found.triangles].all(1)), own)


def _on_triangles(
    triangles: Ints, parents: Ints, chosen: NDArray[np.bool_], own: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Marks with those of the points that the chosen triangles got when they were cut."""
    own[triangles[chosen[parents]].ravel()] = True
    return own


def _mark(surface: Mesh, name: str, found: Surface, triangles: Ints, parents: Ints, count: int) -> Ints:
    """A field or a named set as a field of zeros and ones at the points of the body."""
    if name in surface.point_data or name in surface.point_sets:
        values = surface.point_data.get(name)
        own = (
            marked(surface.point_sets[name], len(surface.points))
            if values is None
            else _checked(surface, name, [values])
        )
        return _at_points(found, triangles, parents, own, count).astype(np.int64)
    if name in surface.cell_data or name in surface.cell_sets:
        parts = surface.cell_data.get(name)
        cells = _cells_in(surface, surface.cell_sets[name]) if parts is None else _checked(surface, name, parts)
        return _on_triangles(triangles, parents, cells[found.cells], np.zeros(count, bool)).astype(np.int64)
    names = [*surface.point_data, *surface.cell_data, *surface.point_sets, *surface.cell_sets]
    raise ValueError(
        f"{surface.where}Expected a field of zeros and ones, or a named set, {name!r} on the surface (got "
        f"{', '.join(map(repr, names)) or 'none'}); mark its points or faces in a .vtp file"
    )


def _checked(surface: Mesh, name: str, parts: Sequence[NDArray[Any]]) -> NDArray[np.bool_]:
    if not all(map(is_mark, parts)):
        raise ValueError(
            f"{surface.where}Expected zeros and ones in the field {name!r} of the surface, since points inside get "
            f"zero (got other values); give the field on a mesh of the body"
        )
    return np.concatenate([np.asarray(part).ravel() for part in parts]).astype(bool)


def _gmsh() -> Any:
    """The module gmsh.

    Raises:
        ImportError: If it is missing, or a library of the system that it loads.
    """
    try:
        return importlib.import_module("gmsh")
    except OSError as error:
        raise ImportError(NO_LIBRARIES.format(error)) from error
    except ImportError as error:
        raise ImportError(
            f"Expected gmsh, which fills surfaces with tetrahedra (got: {error}); pip install 'pitgeo[fill]'"
        ) from error


@contextmanager
def _session(gmsh: Any, surface: Mesh) -> Iterator[None]:
    """A fresh gmsh, silent; its errors name the file."""
    if gmsh.isInitialized():
        raise ValueError("Expected no gmsh that is in use to fill a surface (got one); finalize it first")
    gmsh.initialize(readConfigFiles=False, interruptible=False)
    try:
        gmsh.option.setNumber("General.Terminal", 0)
        yield
    except Exception as error:  # gmsh raises nothing more precise
        if type(error) is not Exception:
            raise
        raise ValueError(
            f"{surface.where}Expected a surface that does not cross itself, to fill it (got: {error}, says gmsh); mend "
            f"it in the program that made it"
        ) from error
    finally:
        gmsh.finalize()


def _tetrahedra(
    gmsh: Any, points: Floats, triangles: Ints, own: Sequence[Sequence[Ints]], spacing: float
) -> tuple[Floats, Ints]:
    """Points, those of the surface first, and tetrahedra of the bodies."""
    for name in ("MeshSizeMin", "MeshSizeMax"):
        gmsh.option.setNumber(f"Mesh.{name}", spacing)
    gmsh.option.setNumber("Mesh.MeshSizeExtendFromBoundary", 0)
    gmsh.option.setNumber("Mesh.Renumber", 0)
    tags, start = np.arange(1, len(points) + 1), 1
    entities = [[gmsh.model.addDiscreteEntity(2) for _ in shells] for shells in own]
    gmsh.model.mesh.addNodes(2, entities[0][0], tags, points.ravel())
    for shells, numbers in zip(own, entities, strict=True):
        for shell, number in zip(shells, numbers, strict=True):
            elements = np.arange(start, start + len(shell))
            start += len(shell)
            gmsh.model.mesh.addElementsByType(number, 2, elements, (triangles[shell] + 1).ravel())
        gmsh.model.geo.addVolume([gmsh.model.geo.addSurfaceLoop([number]) for number in numbers])
    gmsh.model.geo.synchronize()
    gmsh.model.mesh.reclassifyNodes()
    gmsh.model.mesh.generate(3)
    numbers, places, _ = gmsh.model.mesh.getNodes()
    order = np.argsort(numbers)
    every = np.asarray(places).reshape(-1, 3)[order]
    _, nodes = gmsh.model.mesh.getElementsByType(4)
    cells = np.searchsorted(numbers[order], np.asarray(nodes)).reshape(-1, 4)
    return every, cells.astype(np.int64)
