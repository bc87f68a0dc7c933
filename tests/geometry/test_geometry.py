"""Geometry inputs against closed forms, VTK's own distances, and the normals stored with real surfaces."""

import sys
from pathlib import Path

import numpy as np
import pytest

from pitgeo.data.fields import FieldTable
from pitgeo.geometry import GEOMETRY, geometry_components, geometry_values, grid_of, is_geometry
from pitgeo.mesh import Mesh, centroids, read_mesh
from pitgeo.mesh.cell_types import SHAPES, base

pyvista = pytest.importorskip("pyvista")
CASES = Path(__file__).parents[3] / "shared" / "cases"
RANDOM = np.random.default_rng(0)


def lattice(n, dimension):
    axes = np.meshgrid(*[np.linspace(0, 1, n + 1)] * dimension, indexing="ij")
    return np.stack([axis.ravel() for axis in axes], 1), np.arange((n + 1) ** dimension).reshape([n + 1] * dimension)


def square(n=6, kind="quad", **more):
    points, number = lattice(n, 2)
    a, b, c, d = (part.ravel() for part in (number[:-1, :-1], number[1:, :-1], number[1:, 1:], number[:-1, 1:]))
    quads, triangles = np.stack([a, b, c, d], 1), np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)])
    half = len(quads) // 2
    cells = {
        "quad": (("quad", quads),),
        "triangle": (("triangle", triangles),),
        "mixed": (("quad", quads[:half]), ("triangle", np.concatenate([quads[half:, :3], quads[half:][:, [0, 2, 3]]]))),
    }
    return Mesh(points, cells[kind], **more)


def cube(n=4, kind="hexahedron", **more):
    points, number = lattice(n, 3)
    low, high = slice(None, -1), slice(1, None)
    bottom = [(low, low), (high, low), (high, high), (low, high)]
    nodes = np.stack([number[(*xy, z)].ravel() for z in (low, high) for xy in bottom], 1)
    tetrahedra = [[0, 1, 2, 6], [0, 2, 3, 6], [0, 3, 7, 6], [0, 7, 4, 6], [0, 4, 5, 6], [0, 5, 1, 6]]
    cells = {"hexahedron": nodes, "tetra": nodes[:, tetrahedra].reshape(-1, 4)}
    return Mesh(points, ((kind, cells[kind]),), **more)


def sphere(level=3, **more):
    ball = pyvista.Icosphere(nsub=level)
    points = np.asarray(ball.points, np.float64)
    return Mesh(
        points / np.linalg.norm(points, axis=1)[:, None], (("triangle", ball.faces.reshape(-1, 4)[:, 1:]),), **more
    )


def circle(n=200, order=1):
    angles = np.arange(n) * 2 * np.pi / n
    start = np.arange(0, n, order)
    lines = np.stack([start, (start + order) % n, *([start + 1] if order == 2 else [])], 1)
    return Mesh(np.stack([np.cos(angles), np.sin(angles)], 1), (("line3" if order == 2 else "line", lines),))


def wall(points):
    return np.minimum(points, 1 - points).min(1, keepdims=True)


def rotation(dimension):
    q, r = np.linalg.qr(np.random.default_rng(4).normal(size=(dimension, dimension)))
    q = q * np.sign(np.diag(r))
    return q * np.sign(np.linalg.det(q)) if dimension == 3 else q @ np.diag([1, np.sign(np.linalg.det(q))])


SOLIDS = [square(), square(kind="triangle"), square(kind="mixed"), cube(), cube(kind="tetra")]


@pytest.mark.parametrize("mesh", SOLIDS, ids=lambda mesh: "+".join(kind for kind, _ in mesh.cells))
def test_distance_and_coordinates_in_square_and_cube(mesh):
    for place in ("point", "cell"):
        places = geometry_values(mesh, "coordinates", place)
        assert np.allclose(geometry_values(mesh, "boundary_distance", place), wall(places), rtol=0, atol=1e-14)
    assert np.array_equal(geometry_values(mesh, "coordinates", "point"), mesh.points)
    boundary = (wall(mesh.points) == 0)[:, 0]
    assert (geometry_values(mesh, "boundary_distance", "point")[boundary] == 0).all()


# Corners; the middles of the edges follow. The mean of all nodes of the last three is another than that of the corners.
QUADRATIC = {
    "triangle6": [[0, 0], [3, 0], [0, 6]],
    "pyramid13": [[0, 0, 0], [2, 0, 0], [2, 2, 0], [0, 2, 0], [1, 1, 5]],
    "wedge15": [[0, 0, 0], [3, 0, 0], [0, 3, 0], [0, 0, 6], [3, 0, 8], [0, 3, 6]],
    "curved triangle6": [[0, 0], [3, 0], [0, 6]],
}


@pytest.mark.parametrize("kind", QUADRATIC)
def test_centers_of_cells_are_the_means_of_their_corners_for_all(kind):
    """Positions of a model, coordinates as inputs, and distances agree, of cells with nodes between their corners."""
    corners = np.array(QUADRATIC[kind], float)
    middles = np.array([corners[list(edge)].mean(0) for edge in SHAPES[base(kind.split()[-1])].edges])
    if kind.startswith("curved"):
        middles[1] += 0.4
    points = np.concatenate([corners, middles])
    mesh = Mesh(points, ((kind.split()[-1], np.arange(len(points))[None]),), point_sets={"first": np.array([0])})
    expected = corners.mean(0)
    table = FieldTable.infer(mesh.with_cell_data("u", (np.ones(1),)), [], ["u"])
    assert np.allclose(centroids(mesh), [expected], rtol=0, atol=1e-14)
    assert np.allclose(geometry_values(mesh, "coordinates", "cell"), [expected], rtol=0, atol=1e-14)
    assert np.allclose(table.positions(mesh, "cell"), [expected], rtol=1e-6)
    distance = geometry_values(mesh, "boundary_distance:first", "cell")
    assert np.allclose(distance, [[np.linalg.norm(expected - corners[0])]], rtol=1e-12)


def test_distance_is_to_edges_and_not_to_their_nodes():
    mesh = Mesh(np.array([[0.0, 0], [4, 0], [2, 2], [2, 0.5]]), (("triangle", np.array([[0, 1, 2]])),))
    assert np.allclose(geometry_values(mesh, "boundary_distance", "point"), [[0], [0], [0], [0.5]])


def test_distance_in_a_disk_of_quadratic_triangles_converges():
    errors = []
    for n in (16, 32):
        angles = np.arange(2 * n) * np.pi / n
        rim = np.stack([np.cos(angles), np.sin(angles)], 1)
        points = np.concatenate([rim, rim[::2] / 2, [[0, 0]]])
        corner = np.arange(0, 2 * n, 2)
        cells = np.stack([corner, (corner + 2) % (2 * n), 0 * corner + 3 * n, corner + 1,
                          2 * n + (corner // 2 + 1) % n, 2 * n + corner // 2], 1)  # fmt: skip
        distance = geometry_values(Mesh(points, (("triangle6", cells),)), "boundary_distance", "point")[:, 0]
        errors.append(np.abs(distance - (1 - np.linalg.norm(points, axis=1))).max())
        assert (distance[: 2 * n] < 1e-15).all()
    assert errors[1] < 2e-3 and 3.8 < errors[0] / errors[1] < 4.2


def test_crack_is_boundary_and_cells_that_share_no_point_are_joined():
    mesh = square(2)
    apart = Mesh(mesh.points[mesh.cells[0][1]].reshape(-1, 2), (("quad", np.arange(16).reshape(4, 4)),))
    assert np.allclose(geometry_values(apart, "boundary_distance", "point"), wall(apart.points))
    cells = mesh.cells[0][1].copy()
    points = np.concatenate([mesh.points, [[0.5, 0.0], [0.5, 0.5]]])
    cells[2:] = np.where(cells[2:] == 3, 9, cells[2:])  # doubled nodes at x = 0.5, y <= 0.5: a slit from below
    cells[2:] = np.where(cells[2:] == 4, 10, cells[2:])
    slit = geometry_values(Mesh(points, (("quad", cells),)), "boundary_distance", "point")
    assert np.allclose(slit[[4, 10]], 0)


@pytest.mark.parametrize("kind", ["tetra", "hexahedron"])
def test_quadratic_solids(kind):
    grid = grid_of(cube(2, kind))
    linear = cube(2, kind).cells[0][1]
    middles = np.asarray(grid.points)[linear[:, SHAPES[kind].edges]].mean(2).reshape(-1, 3)
    added, number = np.unique(middles, axis=0, return_inverse=True)
    nodes = np.concatenate([linear, len(grid.points) + number.reshape(len(linear), -1)], 1)
    name = {"tetra": "tetra10", "hexahedron": "hexahedron20"}[kind]
    mesh = Mesh(np.concatenate([np.asarray(grid.points), added]), ((name, nodes),))
    assert np.allclose(geometry_values(mesh, "boundary_distance", "point"), wall(mesh.points), atol=1e-14)
    volumes = geometry_values(mesh, "cell_size", "cell") ** 3
    assert np.isclose(volumes.sum(), 1) and np.allclose(volumes, volumes[0])


def test_ends_of_a_curve_and_of_an_interval_are_its_boundary():
    arc = Mesh(circle(200).points[:51], (("line", np.stack([np.arange(50), np.arange(1, 51)], 1)),))
    ends = np.linalg.norm(arc.points[:, None] - arc.points[[0, 50]], axis=2).min(1)
    assert np.allclose(geometry_values(arc, "boundary_distance", "point")[:, 0], ends)
    x = np.linspace(0, 1, 9)[:, None]
    interval = Mesh(x, (("line", np.stack([np.arange(8), np.arange(1, 9)], 1)),))
    assert np.allclose(geometry_values(interval, "boundary_distance", "point"), np.minimum(x, 1 - x))


def test_normals_of_a_sphere_converge_and_do_not_depend_on_windings():
    errors = []
    for level in (2, 3, 4):
        mesh = sphere(level)
        normals = geometry_values(mesh, "normals", "point")
        errors.append(np.sqrt(((normals - mesh.points) ** 2).sum(1).mean()))
        faces = mesh.cells[0][1].copy()
        turned = RANDOM.random(len(faces)) < 0.7
        faces[turned] = faces[turned][:, ::-1]
        again = Mesh(mesh.points, (("triangle", faces[:50]), ("triangle", faces[50:])))
        for place in ("point", "cell"):
            assert np.allclose(geometry_values(again, "normals", place), geometry_values(mesh, "normals", place))
        centers = geometry_values(mesh, "coordinates", "cell")
        outward = (geometry_values(mesh, "normals", "cell") * centers).sum(1) / np.linalg.norm(centers, axis=1)
        assert (outward > 0.99).all()
    assert errors[-1] < 2e-3 and errors[0] > 2.5 * errors[1] > 2.5 * 3 * errors[2]


@pytest.mark.parametrize("order", [1, 2])
def test_normals_of_a_closed_curve(order):
    mesh = circle(200, order)
    lines = mesh.cells[0][1]
    turned = RANDOM.random(len(lines)) < 0.7
    lines[turned] = lines[turned][:, [1, 0, *([2] if order == 2 else [])]]
    assert np.allclose(geometry_values(mesh, "normals", "point"), mesh.points, atol=1e-12)
    middle = (lines[:, :2].min(1) * 2 + order) * np.pi / 200
    middle[lines[:, :2].max(1) - lines[:, :2].min(1) > order] = -order * np.pi / 200
    wanted = np.stack([np.cos(middle), np.sin(middle)], 1)
    assert np.allclose(geometry_values(mesh, "normals", "cell"), wanted, atol=1e-12)


def test_each_closed_part_is_outward_of_itself_and_an_open_one_as_in_the_file():
    ball = sphere(2)
    count, faces = len(ball.points), ball.cells[0][1]
    sheet = square(3, "triangle")
    flat = np.pad(sheet.points, [(0, 0), (0, 1)]) + 5
    sides = sheet.cells[0][1].copy()
    sides[[0, 4, 5]] = sides[[0, 4, 5]][:, ::-1]
    points = np.concatenate([ball.points, 0.5 * ball.points, flat])
    cells = np.concatenate([faces[:, ::-1], faces + count, sides + 2 * count])
    normals = geometry_values(Mesh(points, (("triangle", cells),)), "normals", "point")
    assert ((normals[: 2 * count] * np.tile(ball.points, (2, 1))).sum(1) > 0.9).all()
    assert np.allclose(normals[2 * count :], [0, 0, 1])
    below = Mesh(flat, (("triangle", sides[:, ::-1]),))
    assert np.allclose(geometry_values(below, "normals", "point"), [0, 0, -1])


def test_point_normals_are_weighted_by_area_of_quads_and_triangles():
    points = np.array([[0.0, 0, 0], [3, 0, 0], [3, 1, 0], [0, 1, 0], [0, 0, 1], [9, 9, 9]])
    mesh = Mesh(points, (("quad", np.array([[0, 1, 2, 3]])), ("triangle", np.array([[0, 3, 4]]))))
    normals = geometry_values(mesh, "normals", "point")
    both = np.array([0.5, 0, 3]) / np.hypot(0.5, 3)
    assert np.allclose(normals, [both, [0, 0, 1], [0, 0, 1], both, [1, 0, 0], [0, 0, 1]])
    assert np.allclose(geometry_values(mesh, "normals", "cell"), [[0, 0, 1], [1, 0, 0]])


def test_doubled_points_of_a_seam_do_not_open_a_surface():
    mesh = sphere(2)
    faces = mesh.cells[0][1][:, ::-1]
    apart = Mesh(mesh.points[faces].reshape(-1, 3), (("triangle", np.arange(faces.size).reshape(-1, 3)),))
    wanted = geometry_values(mesh, "normals", "point")[faces].reshape(-1, 3)
    assert np.allclose(geometry_values(apart, "normals", "point"), wanted)


def test_sizes():
    for mesh in (square(5), cube(5)):
        for place in ("point", "cell"):
            assert np.allclose(geometry_values(mesh, "cell_size", place), 0.2)
    sizes = geometry_values(square(4, "mixed"), "cell_size", "cell")[:, 0]
    assert np.allclose(sizes, [0.25] * 8 + [np.sqrt(1 / 32)] * 16)
    x = np.array([[0.0], [1], [3], [10]])
    line = Mesh(x, (("line", np.array([[0, 1], [2, 1]])), ("vertex", np.array([[1]]))))
    assert np.allclose(geometry_values(line, "cell_size", "point")[:, 0], [1, 1.5, 2, 2])
    assert np.allclose(geometry_values(line, "cell_size", "cell")[:, 0], [1, 2, 1.5])
    turned = Mesh(cube(2, "tetra").points, (("tetra", cube(2, "tetra").cells[0][1][:, [1, 0, 2, 3]]),))
    assert np.allclose(geometry_values(turned, "cell_size", "cell") ** 3, 1 / 48)


def test_distance_to_named_sets():
    left = np.flatnonzero(square().points[:, 0] == 0)
    mesh = square(point_sets={"left": left, "one": left[3:4], "none": left[:0]})
    for place in ("point", "cell"):
        places = geometry_values(mesh, "coordinates", place)
        assert np.allclose(geometry_values(mesh, "boundary_distance:left", place)[:, 0], places[:, 0])
        one = np.linalg.norm(places - mesh.points[left[3]], axis=1)
        assert np.allclose(geometry_values(mesh, "boundary_distance:one", place)[:, 0], one)
    lines = np.stack([left[:-1], left[1:]], 1)
    lined = Mesh(
        mesh.points,
        (*mesh.cells, ("line", lines)),
        cell_sets={"wall": (np.arange(0), np.arange(3)), "in": (np.arange(6), np.arange(0))},
    )
    far = np.hypot(mesh.points[:, 0], np.maximum(mesh.points[:, 1] - 0.5, 0))
    assert np.allclose(geometry_values(lined, "boundary_distance:wall", "point")[:, 0], far)
    inside = np.maximum(mesh.points[:, 0] - 1 / 6, 0)
    assert np.allclose(geometry_values(lined, "boundary_distance:in", "point")[:, 0], inside, atol=1e-15)
    assert np.allclose(geometry_values(lined, "boundary_distance", "point"), wall(mesh.points))
    floor = np.flatnonzero(cube().points[:, 2] == 0)
    solid = cube(point_sets={"floor": floor})
    centers = geometry_values(solid, "coordinates", "cell")
    assert np.allclose(geometry_values(solid, "boundary_distance:floor", "cell")[:, 0], centers[:, 2])


@pytest.mark.parametrize("name", GEOMETRY)
@pytest.mark.parametrize("place", ["point", "cell"])
def test_rigid_motions(name, place):
    for mesh in (sphere(2), circle(40)) if name == "normals" else (square(4, "mixed"), cube(3, "tetra")):
        turn = rotation(mesh.points.shape[1])
        moved = Mesh(mesh.points @ turn.T + 7, mesh.cells)
        before, after = geometry_values(mesh, name, place), geometry_values(moved, name, place)
        assert before.shape[1] == after.shape[1] == geometry_components(name, mesh.points.shape[1])
        wanted = (
            {"coordinates": before @ turn.T + 7, "normals": before @ turn.T}.get(name, before)
            if before.shape[1] > 1
            else before
        )
        assert np.allclose(after, wanted, rtol=0, atol=1e-12)


def test_orphans_get_finite_values():
    mesh = square()
    more = Mesh(np.concatenate([mesh.points, [[2.0, 0.5]]]), mesh.cells)
    assert np.isclose(geometry_values(more, "boundary_distance", "point")[-1, 0], 1)
    assert np.isclose(geometry_values(more, "cell_size", "point")[-1, 0], 1 / 6)


@pytest.mark.parametrize("number", range(3))
def test_normals_of_car_surfaces_are_those_stored_with_them(number):
    path = CASES / "fields" / f"car_{number}.vtu"
    if not path.exists():
        pytest.skip(f"{path} is not here")
    mesh = read_mesh(path)
    normals = geometry_values(mesh, "normals", "point")
    cosines = (normals * mesh.point_data["normal"]).sum(1) / np.linalg.norm(mesh.point_data["normal"], axis=1)
    angles = np.degrees(np.arccos(np.clip(cosines, -1, 1)))
    assert angles.max() < 3 and np.quantile(angles, 0.99) < 1e-3


def test_grid_keeps_numbers_and_the_plane():
    mesh = square(3, "mixed", plane=2.5)
    grid = grid_of(mesh)
    assert np.array_equal(grid.points[:, :2], mesh.points) and (grid.points[:, 2] == 2.5).all()
    assert np.allclose(grid.cell_centers().points[:, :2], geometry_values(mesh, "coordinates", "cell"))
    assert grid_of(Mesh(mesh.points)).n_cells == len(mesh.points)
    assert grid_of(Mesh(np.zeros((2, 1)))).points.shape == (2, 3)


def moebius(n=20):
    angle = np.arange(n) * 2 * np.pi / n
    points = [
        np.stack(
            [
                (1 + w * np.cos(angle / 2)) * np.cos(angle),
                (1 + w * np.cos(angle / 2)) * np.sin(angle),
                w * np.sin(angle / 2),
            ],
            1,
        )
        for w in (-0.3, 0.3)
    ]
    this, following = np.arange(n), (np.arange(n) + 1) % n
    cells = np.stack([this, following, following + n, this + n], 1)
    cells[-1] = [n - 1, n, 0, 2 * n - 1]
    return Mesh(np.concatenate(points), (("quad", cells),))


ERRORS = {
    "no cells": (Mesh(square().points), "cell_size", r"Expected cells.*got 49 points alone"),
    "vertices": (Mesh(square().points, (("vertex", np.arange(49)[:, None]),)), "boundary_distance", "Expected cells"),
    "closed surface": (sphere(1), "boundary_distance", "got a closed surface.*take normals"),
    "closed curve": (circle(9), "boundary_distance", "got a closed curve"),
    "solid": (cube(2), "normals", "take boundary_distance"),
    "plane": (square(2), "normals", "take boundary_distance"),
    "space curve": (Mesh(np.eye(3), (("line", np.array([[0, 1], [1, 2]])),)), "normals", "curve in space"),
    "one side": (moebius(), "normals", "Moebius"),
    "unknown": (square(2), "boundry_distance", "did you mean 'boundary_distance'"),
    "no name of a set": (square(2), "boundary_distance:", "Expected a geometry input"),
    "no such set": (square(2, point_sets={"inlet": np.arange(2)}), "boundary_distance:inlt", "did you mean 'inlet'"),
    "no sets": (square(2), "boundary_distance:inlet", r"got none\).*take boundary_distance"),
    "empty set": (square(2, point_sets={"inlet": np.arange(0)}), "boundary_distance:inlet", "Expected points or cells"),
    "strange cells": (Mesh(RANDOM.random((10, 2)), (("triangle10", np.arange(10)[None]),)), "cell_size", "triangle10"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors(case):
    mesh, name, message = ERRORS[case]
    with pytest.raises(ValueError, match=message):
        geometry_values(mesh, name, "point")


def test_errors_of_place_and_of_cells_without_cells():
    with pytest.raises(ValueError, match="Expected 'point' or 'cell'"):
        geometry_values(square(2), "coordinates", "face")
    with pytest.raises(ValueError, match="take place 'point'"):
        geometry_values(Mesh(square(2).points), "coordinates", "cell")
    assert len(geometry_values(Mesh(square(2).points), "coordinates", "point")) == 9


def test_names():
    assert all(map(is_geometry, [*GEOMETRY, "boundary_distance:inlet"]))
    assert not any(map(is_geometry, ["pressure", "boundary_distance:", "normals:inlet"]))
    assert geometry_components("boundary_distance:inlet", 3) == 1 and geometry_components("normals", 3) == 3


def test_without_pyvista_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyvista", None)
    with pytest.raises(ImportError, match=r"pip install .pitgeo\[vtk\]"):
        geometry_values(square(2), "cell_size", "point")
    assert len(geometry_values(square(2), "coordinates", "cell")) == 4
