"""The solid of a bracket, by OpenCASCADE through gmsh. Lengths are in mm.

Bodies are united, then every re-entrant edge gets a fillet, so that stress is singular nowhere but at the clamp. Holes
are cut last.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

import gmsh
import numpy as np
from brackets_shapes import RING, Face, ImpossibleShape, Shape
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SHARP = np.radians(200)  # the material's angle at a re-entrant edge; 180 where faces go on smoothly
_MANY = 1 << 31
_FACES = np.array([(0, 1, 2), (0, 1, 3), (0, 2, 3), (1, 2, 3)])
_EDGES = np.array([(0, 1, 2, 3), (0, 2, 1, 3), (0, 3, 1, 2), (1, 2, 0, 3), (1, 3, 0, 2), (2, 3, 0, 1)])
_ROUNDED = 0.45  # radius of a rib's outer edges by its thickness; half would leave no face between them


@contextlib.contextmanager
def kernel() -> Iterator[None]:
    """A fresh gmsh, silent and on one thread; its errors become :class:`ImpossibleShape`."""
    gmsh.initialize(readConfigFiles=False, interruptible=False)
    try:
        gmsh.option.setNumber("General.Terminal", 0)
        gmsh.option.setNumber("General.NumThreads", 1)
        yield
    except Exception as error:  # gmsh raises nothing more precise
        if type(error) is not Exception:
            raise
        raise ImpossibleShape(str(error)) from error
    finally:
        gmsh.finalize()


def make_solid(shape: Shape) -> int:
    """Make the solid of a bracket in the gmsh of :func:`kernel`, and return its tag.

    Raises:
        ImpossibleShape: If a hole has less than 2 mm of flat material around, a fillet cannot be made, or what remains
            is not one solid.
    """
    solid, edges = {"angle": _angle, "boss": _boss, "ribbed": _ribbed, "lug": _lug}[shape.family](shape)
    if edges:
        solid = _with_fillets(solid, shape.fillet)
    for face in shape.bolts():
        solid = _with_hole(solid, face, shape.thickness)
    for one, two, radius in shape.holes:
        if shape.family == "angle":
            solid = _with_hole(solid, ((0, one, two), (1, 0, 0), radius), shape.wall)
        else:
            solid = _with_hole(solid, ((one, two, 0), (0, 0, 1), radius), shape.thickness)
    if shape.bore:
        place, axis, _ = shape.loaded()
        ends = np.array(axis) * (shape.thickness + shape.height + shape.width)
        tool = gmsh.model.occ.addCylinder(
            *(shape.length / 2, shape.width / 2, place[2]) - ends, *(2 * ends), shape.bore
        )
        solid = _one(gmsh.model.occ.cut([(3, solid)], [(3, tool)])[0])
    gmsh.model.occ.synchronize()
    return solid


def material_angles(points: Floats, cells: Ints) -> tuple[Ints, Floats]:
    """Edges of the boundary of tetrahedra, and the angle that the material takes at each.

    Args:
        points: Points.
        cells: Tetrahedra.

    Shapes:
        - **points** ``[N, 3]``; **cells** ``[T, 4]``
        - **output** ``[E, 2]``, the smaller point number first, in ascending order; and ``[E]`` in radians
    """
    faces, uses = np.unique(np.sort(cells[:, _FACES].reshape(-1, 3), axis=1), axis=0, return_counts=True)
    rim = unique_keys(faces[uses == 1][:, [(0, 1), (0, 2), (1, 2)]].reshape(-1, 2))
    corners = points[cells[:, _EDGES]]  # [T, 6, (start, end, the two others), 3]
    along = corners[..., 1, :] - corners[..., 0, :]
    one, two = (np.cross(along, corners[..., i, :] - corners[..., 0, :]) for i in (2, 3))
    angle = np.arctan2(np.linalg.norm(np.cross(one, two), axis=-1), (one * two).sum(axis=-1))
    keys, number = np.unique(unique_keys(cells[:, _EDGES[:, :2]].reshape(-1, 2)), return_inverse=True)
    total: Floats = np.bincount(number, angle.ravel()).astype(np.float64)
    outer = np.isin(keys, rim)
    return np.stack(np.divmod(keys[outer], _MANY), axis=1), total[outer]


def gmsh_tetrahedra() -> tuple[Floats, Ints]:
    """Points ``[N, 3]`` and tetrahedra ``[T, 4]`` or ``[T, 10]`` of gmsh's mesh; point k has gmsh's number k + 1."""
    tags, places, _ = gmsh.model.mesh.getNodes()
    points = np.zeros((int(tags.max()), 3))
    points[tags.astype(np.int64) - 1] = places.reshape(-1, 3)
    kinds, _, nodes = gmsh.model.mesh.getElements(3)
    if len(kinds) != 1 or kinds[0] not in (4, 11):
        raise ImpossibleShape("No tetrahedra were made")
    return points, nodes[0].astype(np.int64).reshape(-1, 4 if kinds[0] == 4 else 10) - 1


def _reentrant_curves() -> list[int]:
    """Tags of the model's curves along which the material takes more than 200 degrees, by a coarse mesh."""
    gmsh.option.setNumber("Mesh.MeshSizeMax", 15)
    gmsh.option.setNumber("Mesh.MeshSizeFromCurvature", 8)
    gmsh.model.mesh.generate(3)
    edges, angle = material_angles(*gmsh_tetrahedra())
    keys = unique_keys(edges)
    found = []
    for _, curve in gmsh.model.getEntities(1):
        _, _, nodes = gmsh.model.mesh.getElements(1, curve)
        pairs = unique_keys(nodes[0].astype(np.int64).reshape(-1, 2) - 1)
        if angle[np.searchsorted(keys, pairs)].mean() > SHARP:
            found.append(int(curve))
    gmsh.model.mesh.clear()
    return found


def unique_keys(pairs: Ints) -> Ints:
    """One number ``[...]`` for every unordered pair of point numbers ``[..., 2]``."""
    keys: Ints = np.sort(pairs, axis=-1) @ np.array([_MANY, 1])
    return keys


def _angle(shape: Shape) -> tuple[int, bool]:
    occ = gmsh.model.occ
    wall, thickness, bend = shape.wall, shape.thickness, shape.bend
    corners = [
        (0, 0), (shape.length, 0), (shape.length, thickness), (wall + bend, thickness),
        (wall, thickness + bend), (wall, shape.height), (0, shape.height),
    ]  # fmt: skip
    points = [occ.addPoint(x, 0, z) for x, z in corners]
    center = occ.addPoint(wall + bend, 0, thickness + bend)
    lines = [occ.addLine(points[i], points[(i + 1) % 7]) for i in range(7) if i != 3]
    lines.insert(3, occ.addCircleArc(points[3], center, points[4]))
    solid = _extruded(lines, (0, shape.width, 0))
    for place in shape.rib_places():
        solid = _united(solid, _rib(shape, (wall, place, thickness), 0.0, min(wall, thickness) / 2))
    return solid, shape.ribs > 0


def _boss(shape: Shape) -> tuple[int, bool]:
    solid = gmsh.model.occ.addBox(0, 0, 0, shape.length, shape.width, shape.thickness)
    x, y = shape.length / 2, shape.width / 2
    solid = _united(solid, gmsh.model.occ.addCylinder(x, y, 0, 0, 0, shape.thickness + shape.height, shape.radius))
    sunk = min((shape.radius - shape.bore) / 2, shape.thickness / 2)
    for number in range(shape.ribs):
        turn = np.pi * number * 2 / shape.ribs
        place = (x + shape.radius * np.cos(turn), y + shape.radius * np.sin(turn), shape.thickness)
        solid = _united(solid, _rib(shape, place, turn, sunk))
    return solid, True


def _ribbed(shape: Shape) -> tuple[int, bool]:
    occ = gmsh.model.occ
    solid = occ.addBox(0, 0, 0, shape.length, shape.width, shape.thickness)
    half, start = shape.rib_thickness / 2, shape.length - shape.rib_length
    for place in shape.rib_places():
        corners = [(start + half, place + half), (start, place), (start + half, place - half)]
        corners += [(shape.length, place - half), (shape.length, place + half)]
        points = [occ.addPoint(x, y, 0) for x, y in corners]
        center = occ.addPoint(start + half, place, 0)
        lines = [occ.addCircleArc(points[0], center, points[1]), occ.addCircleArc(points[1], center, points[2])]
        lines += [occ.addLine(points[i], points[(i + 1) % 5]) for i in (2, 3, 4)]
        solid = _united(solid, _extruded(lines, (0, 0, shape.thickness + shape.rib_height)))
    return solid, True


def _lug(shape: Shape) -> tuple[int, bool]:
    occ = gmsh.model.occ
    x, y = shape.length / 2, shape.width / 2
    radius, wall, top = shape.radius, shape.wall, shape.thickness + shape.height
    outline = [occ.addPoint(x + dx, y - wall, z) for dx, z in ((-radius, 0), (radius, 0), (radius, top))]
    outline += [occ.addPoint(x, y - wall, top + radius), occ.addPoint(x - radius, y - wall, top)]
    center = occ.addPoint(x, y - wall, top)
    lines = [occ.addLine(outline[i], outline[i + 1]) for i in (0, 1)]
    lines += [occ.addCircleArc(outline[i], center, outline[i + 1]) for i in (2, 3)]
    lines.append(occ.addLine(outline[4], outline[0]))
    lug = _extruded(lines, (0, 2 * wall, 0))
    rounded = occ.addRectangle(x - radius, y - wall / 2, 0, 2 * radius, wall, roundedRadius=_ROUNDED * wall)
    column = next(tag for dim, tag in occ.extrude([(2, rounded)], 0, 0, top + radius) if dim == 3)
    lug = _one(occ.intersect([(3, lug)], [(3, column)])[0])
    solid = _united(occ.addBox(0, 0, 0, shape.length, shape.width, shape.thickness), lug)
    for number in range(shape.ribs):
        side = 1 - 2 * number
        place = (x, y + side * wall / 2, shape.thickness)
        solid = _united(solid, _rib(shape, place, side * np.pi / 2, min(wall, shape.thickness) / 2))
    return solid, True


def _rib(shape: Shape, place: Sequence[float], turn: float, sunk: float) -> int:
    """A triangle over the base plate from ``place`` outwards, its long edges rounded, sunk into what it supports."""
    occ = gmsh.model.occ
    slope, half = shape.rib_length / shape.rib_height, shape.rib_thickness / 2
    corners = [
        (-sunk, -sunk),
        (shape.rib_length + sunk * slope, -sunk),
        (-sunk, shape.rib_height + sunk / slope),
    ]
    points = [occ.addPoint(x, -half, z) for x, z in corners]
    long = occ.addLine(points[1], points[2])
    lines = [occ.addLine(points[0], points[1]), long, occ.addLine(points[2], points[0])]
    solid = _extruded(lines, (0, 2 * half, 0))
    occ.synchronize()
    edges = []
    for _, edge in gmsh.model.getBoundary([(3, solid)], combined=False, oriented=False, recursive=False):
        for _, line in gmsh.model.getBoundary([(2, edge)], oriented=False):
            low, high = (gmsh.model.getValue(1, line, bound) for bound in gmsh.model.getParametrizationBounds(1, line))
            if np.abs(high - low)[[0, 2]].min() > 1e-3:
                edges.append(line)
    solid = _one(occ.fillet([solid], sorted(set(edges)), [_ROUNDED * shape.rib_thickness]))
    occ.rotate([(3, solid)], 0, 0, 0, 0, 0, 1, turn)
    occ.translate([(3, solid)], *place)
    return solid


def _extruded(lines: Sequence[int], by: Sequence[float]) -> int:
    occ = gmsh.model.occ
    surface = occ.addPlaneSurface([occ.addCurveLoop(list(lines))])
    return int(next(tag for dim, tag in occ.extrude([(2, surface)], *by) if dim == 3))


def _united(one: int, two: int) -> int:
    return _one(gmsh.model.occ.fuse([(3, one)], [(3, two)])[0])


def _with_fillets(solid: int, radius: float) -> int:
    occ = gmsh.model.occ
    occ.synchronize()
    curves, before = _reentrant_curves(), occ.getMass(3, solid)
    solid = _one(occ.fillet([solid], curves, [radius]))
    if occ.getMass(3, solid) <= before:
        raise ImpossibleShape("OpenCASCADE left the fillets out")
    return solid


def _with_hole(solid: int, face: Face, thickness: float) -> int:
    """The solid with a hole through it, where the material around is flat and whole."""
    occ = gmsh.model.occ
    place, axis, radius = np.array(face[0]), np.array(face[1]), face[2]
    ends = np.array(axis) * 3 * thickness
    ring = occ.addCylinder(*(place - ends), *(2 * ends), radius + RING)
    around, _ = occ.intersect([(3, solid)], [(3, ring)], removeObject=False)
    whole = np.pi * (radius + RING) ** 2 * thickness
    found = sum(occ.getMass(*entity) for entity in around)
    if abs(found - whole) > 1e-6 * whole:
        raise ImpossibleShape("A hole is too close to another, to an edge or to a fillet")
    occ.remove(around, recursive=True)
    tool = occ.addCylinder(*(place - ends), *(2 * ends), radius)
    return _one(occ.cut([(3, solid)], [(3, tool)])[0])


def _one(entities: Sequence[tuple[int, int]]) -> int:
    solids = [tag for dim, tag in entities if dim == 3]
    if len(solids) != 1:
        raise ImpossibleShape(f"Expected one solid (got {len(solids)})")
    return int(solids[0])
