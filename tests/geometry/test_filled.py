"""Bodies of tetrahedra from closed surfaces: their volume, boundary, points and marks."""

import sys

import numpy as np
import pytest

from pitgeo.geometry import filled, geometry_values
from pitgeo.geometry.filled import fill_surface
from pitgeo.geometry.shells import bodies, closed_surface, volume
from pitgeo.integrals import measure
from pitgeo.mesh import Mesh, from_pyvista, read_mesh

pyvista = pytest.importorskip("pyvista")


def surface(*parts):
    """Shells of PyVista in one mesh."""
    points, faces, start = [], [], 0
    for part in parts:
        own = part.triangulate()
        points.append(np.asarray(own.points, np.float64))
        faces.append(own.faces.reshape(-1, 4)[:, 1:] + start)
        start += own.n_points
    return Mesh(np.concatenate(points), (("triangle", np.concatenate(faces).astype(np.int64)),))


def sphere(radius=1.0, center=(0, 0, 0), count=24):
    return pyvista.Sphere(radius=radius, center=center, theta_resolution=count, phi_resolution=count)


def l_shape():
    """Six faces of an L with sides of 2 and arms 1 wide, 1 high, and the two ends of the L as hexagons."""
    outline = np.array([[0, 0], [2, 0], [2, 1], [1, 1], [1, 2], [0, 2]], float)
    points = np.concatenate([np.pad(outline, ((0, 0), (0, 1)), constant_values=z) for z in (0.0, 1.0)])
    sides = np.array([[k, (k + 1) % 6, 6 + (k + 1) % 6, 6 + k] for k in range(6)])
    ends = np.array([[5, 4, 3, 2, 1, 0], [6, 7, 8, 9, 10, 11]])
    return Mesh(points, (("quad", sides), ("polygon", ends)))


@pytest.mark.parametrize("spacing", [0.5, 0.25])
def test_an_l_is_filled_exactly_with_points_at_the_spacing(spacing):
    mesh = fill_surface(l_shape(), spacing)
    assert measure(mesh) == pytest.approx(3, rel=1e-12)
    assert set(map(tuple, l_shape().points)) <= set(map(tuple, mesh.points))
    ends = mesh.points[mesh.cells[0][1]]
    edges = np.concatenate([np.linalg.norm(ends[:, a] - ends[:, b], axis=1) for a in range(4) for b in range(a)])
    assert np.median(edges) == pytest.approx(spacing, rel=0.25) and edges.max() < 2 * spacing
    x, y, z = mesh.points.T
    is_inside = (x >= 0) & (y >= 0) & (x <= 2) & (y <= 2) & (z >= 0) & (z <= 1) & ~((x > 1) & (y > 1))
    assert is_inside.all()
    walls = np.stack([x, y, z, 1 - z, 2 - x, 2 - y], 1).min(1)
    corner = np.maximum(1 - np.minimum(x, y), 0)  # the two walls of the inner corner
    both = (x <= 1) & (y <= 1)
    inner = np.where(both, np.hypot(1 - x, 1 - y), corner)
    distance = geometry_values(mesh, "boundary_distance", "point")[:, 0]
    assert np.allclose(distance, np.minimum(walls, np.where(both, inner, np.where(x > 1, 1 - y, 1 - x))))


def test_a_ball_has_the_volume_of_its_surface_and_the_distance_to_it():
    errors = []
    for count in (16, 32):
        own = surface(sphere(count=count))
        mesh, found = fill_surface(own, 0.3), closed_surface(own)
        assert measure(mesh) == pytest.approx(volume(found, bodies(found)[0]), rel=1e-12)
        errors.append(4 / 3 * np.pi - measure(mesh))
        distance = geometry_values(mesh, "boundary_distance", "point")[:, 0]
        exact = 1 - np.linalg.norm(mesh.points, axis=1)
        assert np.abs(distance - exact).max() < 1 - np.cos(np.pi / count) ** 2  # flat faces lie below the sphere
        assert (distance > 0.1).sum() > 20
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.1)


def test_points_on_no_face_are_left_out():
    mesh = l_shape()
    points = np.concatenate([[[0.5, 0.5, 0.5]], mesh.points])
    more = Mesh(points, tuple((kind, nodes + 1) for kind, nodes in mesh.cells), {"one": np.ones(13, int)})
    one, other = fill_surface(more, 0.5, ["one"]), fill_surface(mesh, 0.5)
    assert np.array_equal(one.points, other.points) and np.array_equal(one.cells[0][1], other.cells[0][1])
    assert np.array_equal(one.point_data["one"] == 1, geometry_values(one, "boundary_distance", "point")[:, 0] == 0)


def test_cavities_stay_empty_and_bodies_apart():
    own = surface(sphere(2.0), sphere(1.0), sphere(0.5), sphere(1.0, (5, 0, 0)))
    found = closed_surface(own)
    parts = bodies(found)
    assert sorted(map(len, parts)) == [1, 1, 2]
    middle = (np.abs(np.linalg.norm(own.points, axis=1) - 1) < 1e-6).astype(int)
    mesh = fill_surface(own.with_point_data("middle", middle), 0.6, ["middle"])
    assert (mesh.point_data["middle"] == (np.abs(np.linalg.norm(mesh.points, axis=1) - 1) < 1e-3)).all()
    unit = volume(closed_surface(surface(sphere())), [np.arange(len(sphere().faces) // 4)])
    assert measure(mesh) == pytest.approx((8 - 1 + 1 / 8 + 1) * unit, rel=1e-5)
    center = np.linalg.norm(mesh.points[mesh.cells[0][1]].mean(1), axis=1)
    assert not ((center > 0.55) & (center < 0.9)).any() and (center < 0.5).any()


def test_the_way_faces_turn_in_the_file_does_not_matter():
    own = surface(sphere(), sphere(0.4))
    kind, nodes = own.cells[0]
    turned = nodes.copy()
    turned[::3] = turned[::3, ::-1]
    one, other = (fill_surface(Mesh(own.points, ((kind, part),)), 0.3) for part in (nodes, turned))
    assert measure(one) == pytest.approx(measure(other), rel=1e-12)


def test_marks_and_sets_are_those_of_the_surface():
    mesh = l_shape()
    right = (mesh.points[:, 0] == 2).astype(int)
    bottom = (np.zeros(6, int), np.array([1, 0]))
    own = Mesh(
        mesh.points,
        mesh.cells,
        {"right": right},
        {"bottom": bottom},
        {"load": np.array([2.0])},
        {"end": np.flatnonzero(right)},
        {"base": (np.zeros(0, np.int64), np.array([0]))},
    )
    found = fill_surface(own, 0.4, ["right", "bottom", "end", "base"])
    x, _, z = found.points.T
    for name in ("right", "end"):
        assert np.array_equal(found.point_data[name], x == 2)
    for name in ("bottom", "base"):
        assert np.array_equal(found.point_data[name], z == 0)
    assert np.array_equal(found.point_sets["end"], np.flatnonzero(x == 2)) and found.field_data["load"][0] == 2
    assert measure(found, "base") == pytest.approx(3)
    distance = geometry_values(found, "boundary_distance:base", "point")[:, 0]
    assert np.allclose(distance, z)


def test_an_edge_between_marked_points_of_two_faces_is_not_marked():
    """Both ends of the L's inner edges are marked, the faces between them are not."""
    mesh = l_shape()
    marked = np.isin(np.arange(12), [0, 6, 2, 8])  # two upright edges, opposite to each other
    found = fill_surface(mesh.with_point_data("edges", marked.astype(int)), 0.4, ["edges"])
    assert set(zip(*found.points[found.point_data["edges"] == 1, :2].T, strict=True)) == {(0, 0), (2, 1)}


def test_an_stl_file_is_filled(tmp_path):
    sphere().save(tmp_path / "ball.stl")
    mesh = fill_surface(read_mesh(tmp_path / "ball.stl"), 0.4)
    assert mesh.path == tmp_path / "ball.stl" and measure(mesh) == pytest.approx(sphere().volume, rel=1e-4)


def opened():
    mesh = surface(pyvista.Box())
    return Mesh(mesh.points, (("triangle", mesh.cells[0][1][1:]),))


def crossing():
    return surface(sphere(), sphere(1.0, (0.7, 0.1, 0.2)))


MISTAKES = [
    (opened, 0.5, "3 open edges"),
    (crossing, 0.5, "cross"),
    (lambda: from_pyvista(pyvista.ImageData(dimensions=(3, 3, 3))), 0.5, "got bodies"),
    (lambda: surface(sphere()), 0.0, "positive spacing"),
    (lambda: surface(sphere()), 1e-3, "spacing of at least 0.01"),
]


@pytest.mark.parametrize(("make", "spacing", "message"), MISTAKES)
def test_what_cannot_be_filled_is_refused(make, spacing, message):
    with pytest.raises(ValueError, match=message):
        fill_surface(make(), spacing)


def test_marks_that_are_none_are_refused():
    mesh = l_shape().with_point_data("heat", np.arange(12.0))
    with pytest.raises(ValueError, match="zeros and ones in the field 'heat'"):
        fill_surface(mesh, 0.5, ["heat"])
    with pytest.raises(ValueError, match=r"'tip' on the surface \(got 'heat'\)"):
        fill_surface(mesh, 0.5, ["tip"])


def test_without_gmsh_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "gmsh", None)
    with pytest.raises(ImportError, match=r"pip install .pitgeo\[fill\]"):
        fill_surface(l_shape(), 0.5)


def test_a_mesh_of_another_volume_is_refused(monkeypatch):
    monkeypatch.setattr(filled, "volume", lambda surface, shells: 2.9)
    with pytest.raises(ValueError, match=r"a volume of 2\.9 inside the surface"):
        fill_surface(l_shape(), 0.5)
