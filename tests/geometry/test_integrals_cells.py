"""Integrals over every type of cell: closed forms for linear fields, on straight and on curved cells."""

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from pitgeo.geometry import grid_of
from pitgeo.integrals import compute, measure
from pitgeo.mesh import Mesh
from pitgeo.mesh.cell_types import VTK_TYPES, dimension
from tests.geometry.test_geometry_cells import CASES, reference, turned

pyvista = pytest.importorskip("pyvista")


def places_of(number, order):
    """Nodes of a straight cell; VTK has those of pyramids in collapsed coordinates."""
    places = reference(number, order)
    if VTK_TYPES[number] == "pyramid13":
        places[9:] = (places[:4] + places[4]) / 2
    return places


def one_cell(number, order, moved=0.0):
    """A cell in as many dimensions as it has, its nodes moved at random, and linear fields on it."""
    kind, places = VTK_TYPES[number], places_of(number, order)
    points = turned(places)[:, : dimension(kind)]
    points = points + moved * np.random.default_rng(2).standard_normal(points.shape)
    fields = {"position": points, "pressure": 2 - points @ np.arange(1, 1 + points.shape[1])}
    return Mesh(points, ((kind, np.arange(len(points))[None]),), point_data=fields)


@pytest.mark.parametrize(("number", "order"), CASES)
def test_measure_and_mean_of_a_straight_cell_are_those_of_its_corners(number, order):
    mesh = one_cell(number, order)
    if mesh.points.shape[1] == 1:
        size, center = np.ptp(mesh.points), (mesh.points.min() + mesh.points.max()) / 2
    else:
        hull = ConvexHull(mesh.points)
        size, middle = hull.volume, mesh.points.mean(0)
        corners = np.concatenate([mesh.points[hull.simplices], np.tile(middle, (len(hull.simplices), 1, 1))], 1)
        volumes = abs(np.linalg.det(corners[:, 1:] - corners[:, :1]))
        center = volumes @ corners.mean(1) / volumes.sum()
    found = compute(mesh, "mean:position", "integral:pressure")
    means = np.array([value for name, value in found.items() if name.startswith("mean")])
    assert np.allclose(measure(mesh), size, rtol=1e-6)  # VTK places nodes in single precision
    assert np.allclose(means, center, rtol=1e-6, atol=1e-7)
    pressure = 2 - means @ np.arange(1, 1 + mesh.points.shape[1])
    assert np.allclose(found["integral:pressure"], measure(mesh) * pressure)


SURFACED = [case for case in CASES if dimension(VTK_TYPES[case[0]]) > 1]


@pytest.mark.parametrize("turn", [1, -1])
@pytest.mark.parametrize("moved", [0.0, 0.02])
@pytest.mark.parametrize(("number", "order"), SURFACED)
def test_flux_force_and_moment_on_the_boundary_follow_from_the_body(number, order, moved, turn):
    mesh = one_cell(number, order, moved)
    axes = mesh.points.shape[1]
    if turn < 0:  # mirrored, so that the nodes turn the other way
        mirror = np.array([-1.0, *np.ones(axes - 1)])
        fields = {"position": mesh.points * mirror, "pressure": mesh.point_data["pressure"]}
        mesh = Mesh(mesh.points * mirror, mesh.cells, point_data=fields)
    volume = measure(mesh)
    found = compute(mesh, "flux:position", "force:pressure", "moment:pressure", "integral:position")
    gradient = -np.arange(1, 1 + axes, dtype=float)
    gradient[0] *= turn
    force = [value for name, value in found.items() if name.startswith("force")]
    moment = [value for name, value in found.items() if name.startswith("moment")]
    center = np.array([value for name, value in found.items() if name.startswith("integral")])
    assert np.isclose(found["flux:position"], axes * volume)
    assert np.allclose(force, -volume * gradient)
    expected = np.cross(np.pad(center, (0, 3 - axes)), np.pad(-gradient, (0, 3 - axes)))
    assert np.allclose(moment, expected if axes == 3 else expected[2:], atol=1e-9)


FLAT = [case for case in CASES if dimension(VTK_TYPES[case[0]]) == 2]


@pytest.mark.parametrize(("number", "order"), FLAT)
def test_a_flat_cell_in_space_has_the_area_and_the_normal_of_its_plane(number, order):
    places = places_of(number, order)
    points = turned(places, 3)
    kind = VTK_TYPES[number]
    flow = np.array([1.0, 2.0, 3.0])
    mesh = Mesh(points, ((kind, np.arange(len(points))[None]),), point_data={"flow": np.tile(flow, (len(points), 1))})
    flat = ConvexHull(places[:, :2])
    (ax, ay), scale = turned(np.eye(3), 3)[:2] - turned(np.zeros((1, 3)), 3), flat.volume
    assert np.isclose(measure(mesh), scale * np.linalg.norm(np.cross(ax, ay)), rtol=1e-6)
    assert np.isclose(compute(mesh, "flux:flow")["flux:flow"], scale * np.cross(ax, ay) @ flow, rtol=1e-6)


@pytest.mark.parametrize(("number", "order"), [case for case in CASES if case[0] < 74])
def test_measures_agree_with_vtk_on_straight_cells(number, order):
    mesh = one_cell(number, order)
    sizes = grid_of(mesh).compute_cell_sizes(length=True, area=True, volume=True).cell_data
    name = ("", "Length", "Area", "Volume")[mesh.points.shape[1]]
    assert np.isclose(measure(mesh), abs(sizes[name][0]), rtol=1e-5)


@pytest.mark.parametrize("kind", ["triangle10", "quad16", "VTK_QUADRATIC_POLYGON", "VTK_BEZIER_TRIANGLE"])
def test_cells_without_shape_functions_are_refused(kind):
    nodes = np.arange(10 if kind != "quad16" else 16)
    mesh = Mesh(np.random.default_rng(0).random((len(nodes), 2)), ((kind, nodes[None]),))
    with pytest.raises(ValueError, match=rf"{kind}"):
        measure(mesh)
