"""Quadratic tetrahedra of a bracket, whose outer edges follow its holes and fillets, and its clamped and loaded faces.

gmsh works in mm; the mesh is in m.
"""

from __future__ import annotations

from dataclasses import dataclass

import gmsh
import numpy as np
import skfem
from brackets_shapes import Face, ImpossibleShape, Shape
from brackets_solid import Floats, Ints, gmsh_tetrahedra, kernel, make_solid, material_angles, unique_keys

from pitgeo.system.processes import CrashError, OwnProcess

MILLI = 1e-3
SIZE = 5.0
_ROUND = 12  # edges round a full circle, at the default size
_MOST_ON_EDGES = 3000
_EDGES = np.array([(0, 1), (1, 2), (0, 2), (0, 3), (2, 3), (1, 3)])  # those of gmsh's middle points
_GMSH = OwnProcess()  # it crashes at times where it was started and ended many times
_CORNERS = np.array([(0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1)], np.float64)


@dataclass(frozen=True)
class BracketMesh:
    """The mesh of a bracket.

    Args:
        mesh: Quadratic tetrahedra; their corners are the first points.
        clamped: Facets in the bolt holes.
        loaded: Facets of the loaded face.
    """

    mesh: skfem.MeshTet2
    clamped: Ints
    loaded: Ints


def check_size(size: float) -> None:
    """Raise a ``ValueError`` unless a mesh of such edges, in mm, has some hundred to some million elements."""
    if not 1 <= size <= 20:
        raise ValueError(f"Expected 'size' to be from 1 to 20 mm (got {size})")


def bracket_mesh(shape: Shape, size: float = SIZE) -> BracketMesh:
    """Mesh a bracket, by gmsh in a process of its own.

    Args:
        shape: Its numbers.
        size: Longest edge in mm; where the surface is curved there are 12 edges to a full circle at the default size,
            and in inverse proportion at others.

    Raises:
        ImpossibleShape: If the solid or its mesh cannot be made, or gmsh crashes twice.
        ValueError: If the size is not positive.
        ChildProcessError: If gmsh's process is ended from outside.
    """
    check_size(size)
    try:
        points, cells = _GMSH.call(_tetrahedra, shape, size)
    except CrashError as error:
        raise ImpossibleShape(str(error)) from error
    mesh = quadratic_mesh(MILLI * points, cells)
    bolts = np.unique(np.concatenate([facets_of(mesh, face) for face in shape.bolts()]))
    return BracketMesh(mesh, bolts, facets_of(mesh, shape.loaded()))


def _tetrahedra(shape: Shape, size: float) -> tuple[Floats, Ints]:
    """Points ``[N, 3]`` in mm and cells ``[T, 10]`` of a bracket, by the gmsh of this process."""
    with kernel():
        make_solid(shape)
        gmsh.option.setNumber("Mesh.MeshSizeMax", size)
        gmsh.option.setNumber("Mesh.MeshSizeMin", size / 5)  # fillets that meet may bend sharply in one spot
        gmsh.option.setNumber("Mesh.MeshSizeFromCurvature", _edges_round(size))
        gmsh.model.mesh.generate(1)
        if len(gmsh.model.mesh.getNodes()[0]) > _MOST_ON_EDGES * max(SIZE / size, 1):
            raise ImpossibleShape("An edge bends so sharply that its mesh is too fine")
        gmsh.model.mesh.generate(3)
        gmsh.model.mesh.setOrder(2)
        return gmsh_tetrahedra()


def quadratic_mesh(points: Floats, cells: Ints) -> skfem.MeshTet2:
    """Quadratic tetrahedra of scikit-fem from gmsh's; those that would be inside out get straight edges.

    Shapes:
        - **points** ``[N, 3]``; **cells** ``[T, 10]``
    """
    used, corners = np.unique(cells[:, :4], return_inverse=True)
    corners = corners.reshape(-1, 4)
    straight = skfem.MeshTet2.from_mesh(skfem.MeshTet(points[used].T.copy(), corners.T.copy()))
    keys = unique_keys(straight.edges.T)
    order = np.argsort(keys)
    middle = len(used) + order[np.searchsorted(keys[order], unique_keys(corners[:, _EDGES]))]
    places = straight.doflocs.copy()
    places[:, middle] = points[cells[:, 4:]].transpose(2, 0, 1)
    for _ in range(5):
        mesh = skfem.MeshTet2(places, straight.t)
        samples = np.concatenate([_CORNERS, np.full((3, 1), 0.25), (_CORNERS[:, _EDGES]).mean(axis=-1)], axis=1)
        wrong = (mesh._mapping().detDF(samples) * _signs(straight) <= 0).any(axis=1)
        if not wrong.any():
            break
        places[:, middle[wrong]] = straight.doflocs[:, middle[wrong]]
    return mesh


def facets_of(mesh: skfem.MeshTet2, face: Face) -> Ints:
    """Facets on the boundary of a mesh in m whose corners lie on a cylinder or plane in mm."""
    corners = mesh.p.T[mesh.facets[:, mesh.boundary_facets()].T] / MILLI
    axis, radius = np.array(face[1]), face[2]
    offset = corners - face[0]
    along = offset @ axis
    away = along if radius == 0 else np.linalg.norm(offset - along[..., None] * axis, axis=-1) - radius
    found: Ints = mesh.boundary_facets()[(np.abs(away) < 1e-4).all(axis=1)]
    return found


def has_sharp_edge(mesh: skfem.MeshTet2, size: float) -> bool:
    """Whether the material takes more of an angle somewhere than chords of a fillet do in a mesh of this size."""
    chords = 2 * np.pi / _edges_round(size)
    return bool(material_angles(mesh.p.T, mesh.t.T)[1].max() > np.pi + 1.5 * chords)


def _edges_round(size: float) -> int:
    return max(6, round(_ROUND * SIZE / size))


def _signs(mesh: skfem.MeshTet2) -> Floats:
    corners = mesh.p.T[mesh.t.T]
    signs: Floats = np.sign(np.linalg.det(corners[:, 1:] - corners[:, :1]))[:, None]
    return signs
