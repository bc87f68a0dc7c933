"""Values at points, along lines and on planes: linear fields are exact in every type of cell."""

import numpy as np
import pytest

from pitgeo.geometry.probes import cut, probe, probe_line
from pitgeo.integrals import measure
from pitgeo.mesh import Mesh
from pitgeo.mesh.cell_types import VTK_TYPES, dimension
from tests.geometry.test_geometry_cells import CASES, turned
from tests.geometry.test_integrals_cells import one_cell, places_of

pytest.importorskip("pyvista")
KNOWN = [case for case in CASES if case[0] < 74]  # the others have nodes off the cell


def linear(points):
    return 2 - points @ np.arange(1, 1 + points.shape[1])


def inner(mesh, count=20):
    """Points inside a convex cell."""
    some = np.random.default_rng(3).dirichlet(np.ones(len(mesh.points)), count) @ mesh.points
    return some.mean(0) + 0.5 * (some - some.mean(0))


@pytest.mark.parametrize("moved", [0.0, 0.01])
@pytest.mark.parametrize(("number", "order"), KNOWN)
def test_linear_fields_are_exact_in_every_cell(number, order, moved):
    mesh = one_cell(number, order, moved)
    at = np.concatenate([inner(mesh), mesh.points, mesh.points.mean(0)[None] + 10])
    found = probe(mesh, at)
    assert found.inside[:-1].all() and not found.inside[-1]
    assert np.allclose(found.fields["pressure"][:-1], linear(at[:-1]), atol=1e-9)
    assert np.allclose(found.fields["position"][:-1], at[:-1], atol=1e-9)
    assert np.isnan(found.fields["pressure"][-1]) and np.isnan(found.fields["position"][-1]).all()


@pytest.mark.parametrize(("number", "order"), [case for case in KNOWN if dimension(VTK_TYPES[case[0]]) == 2])
def test_surfaces_have_values_on_them_alone(number, order):
    places, kind = places_of(number, order), VTK_TYPES[number]
    points = turned(places, 3)
    mesh = Mesh(points, ((kind, np.arange(len(points))[None]),), {"u": linear(points)})
    at = inner(mesh, 5)
    found = probe(mesh, np.concatenate([at, at + np.array([0.0, 0.0, 0.1])]))
    assert found.inside.tolist() == [True] * 5 + [False] * 5
    assert np.allclose(found.fields["u"][:5], linear(at), atol=1e-9)


@pytest.mark.parametrize(("number", "order"), [(24, 1), (26, 1), (27, 1), (29, 1), (71, 3), (72, 2)])
def test_quadratic_fields_are_exact_in_straight_cells_of_order_two(number, order):
    mesh = one_cell(number, order)
    at = inner(mesh)
    found = probe(mesh.with_point_data("u", mesh.points[:, 0] * mesh.points[:, 1]), at).fields["u"]
    assert np.allclose(found, at[:, 0] * at[:, 1], atol=1e-6)  # VTK places nodes in single precision


def squares(count=8):
    """The unit square in squares."""
    x = np.linspace(0, 1, count + 1)
    points, own = np.stack(np.meshgrid(x, x), -1).reshape(-1, 2), np.arange((count + 1) ** 2).reshape(count + 1, -1)
    nodes = np.stack([own[:-1, :-1], own[:-1, 1:], own[1:, 1:], own[1:, :-1]], -1).reshape(-1, 4)
    return Mesh(points, (("quad", nodes),))


def test_a_line_through_a_plane_mesh():
    mesh = squares()
    cells = np.arange(mesh.number_of_cells, dtype=float)
    mesh = Mesh(mesh.points, mesh.cells, {"u": linear(mesh.points), "name": np.array(["a"] * len(mesh.points))})
    mesh = mesh.with_cell_data("u", cells).with_cell_data("own", cells)
    low, high = mesh.points.min(0), mesh.points.max(0)
    found = probe_line(mesh, low, high + (high - low), 21)
    assert set(found.fields) == {"u", "cell:u", "own"}
    assert found.inside.tolist() == [True] * 11 + [False] * 10
    assert np.allclose(found.fields["u"][:11], linear(found.points[:11]))
    assert np.isnan(found.fields["u"][11:]).all() and np.isnan(found.fields["own"][11:]).all()
    assert found.fields["own"][0] == 0 and found.fields["own"][10] == cells[-1]


def test_faces_among_bodies_do_not_count():
    points = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    blocks = (("triangle", np.array([[0, 1, 2]])), ("tetra", np.array([[0, 1, 2, 3]])))
    mesh = Mesh(points, blocks, {}, {"u": (np.array([5.0]), np.array([7.0]))})
    assert probe(mesh, [[0.2, 0.2, 0.0], [0.2, 0.2, -0.1]]).fields["u"].tolist() == pytest.approx(
        [7, np.nan], nan_ok=True
    )


def hexahedra(count=4):
    """The unit cube in cubes."""
    x = np.linspace(0, 1, count + 1)
    points = np.stack(np.meshgrid(x, x, x, indexing="ij"), -1).reshape(-1, 3)
    own = np.arange((count + 1) ** 3).reshape((count + 1,) * 3)
    low, high = slice(None, -1), slice(1, None)
    ends = [(a, b, c) for c in (low, high) for a, b in ((low, low), (high, low), (high, high), (low, high))]
    return Mesh(points, (("hexahedron", np.stack([own[end].ravel() for end in ends], 1)),), {"u": linear(points)})


@pytest.mark.parametrize("normal", [[0, 0, 1], [1.0, 1.0, 0.0], [1.0, 2.0, 3.0]])
def test_a_cut_has_the_area_and_the_values_of_the_plane(normal):
    mesh = hexahedra().with_cell_data("number", np.arange(64.0))
    found = cut(mesh, [0.5, 0.5, 0.45], normal)
    unit = np.array(normal) / np.linalg.norm(normal)
    assert np.allclose((found.points - [0.5, 0.5, 0.45]) @ unit, 0)
    assert np.allclose(found.point_data["u"], linear(found.points))
    if normal == [0, 0, 1]:
        assert measure(found) == pytest.approx(1)
        (kind, nodes), centers = found.cells[0], found.points[found.cells[0][1]].mean(1)
        assert (kind, len(nodes)) == ("quad", 16)
        expected = (np.floor(centers * 4) @ [16, 4, 1]).astype(float)
        assert np.array_equal(found.cell_data["number"][0], expected)
    if normal == [1.0, 1.0, 0.0]:
        assert measure(found) == pytest.approx(np.sqrt(2))


@pytest.mark.parametrize("level", [0.0, 0.25, 1.0])
@pytest.mark.parametrize("normal", [[0, 0, 1], [0, 0, -1]])
def test_a_cut_along_faces_has_them_once_also_at_the_ends_of_the_mesh(level, normal):
    found = cut(hexahedra(), [0.5, 0.5, level], normal)
    assert measure(found) == pytest.approx(1)
    assert np.allclose(found.point_data["u"], linear(found.points)) and np.allclose(found.points[:, 2], level)


def test_a_cut_through_a_surface_is_a_line():
    mesh = hexahedra(2)
    faces = np.array([[0, 2, 8, 6]])  # one side of the cube
    found = cut(Mesh(mesh.points, (("quad", faces),), {"u": linear(mesh.points)}), [0, 0.25, 0], [0, 1, 0])
    assert found.cells[0][0] == "line" and measure(found) == pytest.approx(1)


MISTAKES = [
    (lambda: probe(hexahedra(2), [[0.0, 0.0]]), r"shape \[n, 3\]"),
    (lambda: probe(hexahedra(2), [[0.0, 0.0, np.nan]]), "not finite"),
    (lambda: probe(Mesh(np.zeros((2, 3))), [[0.0, 0.0, 0.0]]), "got 2 points alone"),
    (lambda: probe_line(hexahedra(2), [0, 0, 0], [1, 1, 1], 1), "at least 2 points"),
    (lambda: cut(squares(), [0, 0], [0, 1]), "a mesh in space to cut by a plane"),
    (lambda: cut(hexahedra(2), [0, 0, 2], [0, 0, 1]), "a plane that meets the mesh"),
    (lambda: cut(hexahedra(2), [0, 0, 0.5], [0, 0, 0]), "a normal that is not zero"),
]


@pytest.mark.parametrize(("call", "message"), MISTAKES)
def test_mistakes_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
