"""What a browser is given to draw: values, colours, the cut mesh, and what a click meets."""

import numpy as np
import pytest

from pitgeo.mesh import Mesh
from pitgeo.view.panels import Panel, bare, panels_of, ranges
from pitgeo.view.session import Shown
from tests.datasets.folder.conftest import small_mesh

pytest.importorskip("pyvista")

from pitgeo.view.scene import HEIGHT, Clip, Scene  # VTK comes with it

AWAY, FRONT = np.array([2.0, 0, 0]), np.array([0, 0, 5.0])
CORNERS = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)]


def block(parts=4):
    """A cube of hexahedra with the corners at (10, 20, 30) and (12, 22, 32)."""
    number = np.arange((parts + 1) ** 3).reshape(parts + 1, parts + 1, parts + 1)
    ends = [slice(start, start + parts) for start in (0, 1)]
    cells = np.stack([number[ends[k], ends[j], ends[i]].ravel() for i, j, k in CORNERS], 1)
    axis = np.linspace(0, 2, parts + 1)
    z, y, x = np.meshgrid(axis, axis, axis, indexing="ij")
    return Mesh(np.stack([x, y, z], -1).reshape(-1, 3) + np.array([10, 20, 30]), (("hexahedron", cells),))


def panel(values, limits=(0.0, 1.0)):
    return Panel("Prediction", np.asarray(values, float), "viridis", limits)


def drawn(scene, number=0):
    """Points and values of a panel, as the mapper of VTK has them."""
    view = scene._views[number]
    data = view._parts["field"][1].GetInput()
    fields = data.point_data if scene.place == "point" else data.cell_data
    return np.asarray(data.points), np.asarray(fields["shares"])


def viewports(scene):
    return [view.renderer.GetViewport() for view in scene._views]


def test_values_are_drawn_where_they_are():
    mesh, scene = block(), Scene()
    scene.open(mesh, "point")
    x = mesh.points[:, 0]
    scene.show([panel(x), panel(2 * x), panel(3 * x)])
    for number in range(3):
        points, values = drawn(scene, number)
        assert np.allclose(values, (number + 1) * (2 * points[:, 0] + 11))  # of the box of length 1 about the origin
    assert viewports(scene) == [pytest.approx((k / 3, 0, (k + 1) / 3, 1)) for k in range(3)]
    scene.show([panel(x)])
    assert viewports(scene)[0] == (0, 0, 1, 1) and viewports(scene)[1][2] < 0.01
    assert not scene._views[1].renderer.GetViewProps().GetNumberOfItems()


@pytest.mark.parametrize("is_flipped", [False, True])
@pytest.mark.parametrize("place", ["point", "cell"])
def test_a_plane_cuts_one_half_away_and_values_are_those_on_the_cut(place, is_flipped):
    mesh, scene = block(), Scene()
    scene.open(mesh, place)
    values = mesh.points[:, 1] if place == "point" else np.arange(64.0)
    scene.show([panel(values)], Clip(1, 0.3, is_flipped))
    points, found = drawn(scene)
    low, high = points[:, 1].min(), points[:, 1].max()
    assert (low, high) == pytest.approx((-0.2, 0.5) if is_flipped else (-0.5, -0.2), abs=1e-6)
    if place == "point":
        assert np.allclose(found, 2 * points[:, 1] + 21, atol=1e-4)
    else:
        assert set(found) <= set(range(64)) and len(set(found)) > 10
    scene.show([panel(values)], None)
    assert drawn(scene)[0][:, 1].min() == -0.5 and drawn(scene)[0][:, 1].max() == 0.5


def test_colours_go_by_the_limits_and_keep_small_changes_of_large_values():
    mesh, scene = block(), Scene()
    scene.open(mesh, "point")
    values = 1e5 + 1e-4 * mesh.points[:, 0]
    scene.show([panel(values, (1e5 + 1e-3, 1e5 + 1.2e-3))])
    points, shares = drawn(scene)
    assert np.allclose(shares, points[:, 0] + 0.5, atol=1e-6)


def test_a_click_meets_the_front():
    scene = Scene()
    scene.open(block(), "point")
    scene.show([panel(np.zeros(125))])
    start, end = np.array([0.1, -0.2, 9.0]), np.array([0.1, -0.2, -9.0])
    assert scene.pick(start, end) == pytest.approx([11.2, 20.6, 32.0])
    assert scene.pick(end, start) == pytest.approx([11.2, 20.6, 30.0])
    assert scene.pick(start + AWAY, end + AWAY) is None
    scene.show([panel(np.zeros(125))], Clip(2, 0.5))
    assert scene.pick(start, end) == pytest.approx([11.2, 20.6, 31.0])


def test_points_without_cells_are_met_nearby():
    points = np.array([[0.0, 0.0], [4.0, 2.0], [8.0, 0.0]])
    scene = Scene()
    scene.open(Mesh(points), "point")
    scene.show([panel([0, 1, 2])])
    place = scene.to_scene(points[1:2])[0] + 0.005 * AWAY
    assert scene.pick(place + FRONT, place - FRONT) == pytest.approx([4.0, 2.0])
    assert scene.pick(place + FRONT + AWAY, place - FRONT + AWAY) is None
    assert scene.fit(1.0).up.tolist() == [0, 1, 0]


def test_a_line_is_a_curve_as_high_as_its_values():
    points, values = np.array([[1.0], [2.0], [5.0]]), np.array([0.0, 1.0, 2.0])
    scene = Scene()
    scene.open(Mesh(points, (("line", np.array([[0, 1], [1, 2]])),)), "point")
    scene.show([panel(values, (0.0, 2.0)), panel(values, (0.0, 4.0))])
    assert drawn(scene)[0][:, :2] == pytest.approx(np.array([[-0.5, -HEIGHT / 2], [-0.25, 0], [0.5, HEIGHT / 2]]))
    assert drawn(scene, 1)[0][2, 1] == pytest.approx(0)
    top = np.array([0.5, HEIGHT / 2, 0.0])
    assert scene.pick(top + FRONT, top - FRONT) == pytest.approx([5.0])


@pytest.mark.parametrize("aspect", [0.4, 1.0, 3.0])
@pytest.mark.parametrize("mesh", [block(), small_mesh(0), Mesh(np.array([[0.0], [3.0]]))], ids=["3D", "2D", "1D"])
def test_the_camera_sees_the_whole_mesh(mesh, aspect):
    scene = Scene()
    scene.open(mesh, "point")
    scene.show(bare(len(mesh.points)))
    camera = scene.fit(aspect)
    forward = (camera.target - camera.position) / np.linalg.norm(camera.target - camera.position)
    own = drawn(scene)[0] - camera.position
    depth, limit = own @ forward, np.tan(np.radians(15))
    up, right = own @ camera.up / depth, own @ np.cross(forward, camera.up) / depth
    assert (depth > 0).all() and np.abs(up).max() < limit and np.abs(right).max() < limit * aspect
    assert max(np.abs(up).max() / limit, np.abs(right).max() / limit / aspect) > 0.4  # and fills a part of it


def test_truth_and_prediction_have_one_range_of_colours():
    truth, prediction = np.linspace(0, 1, 1001), np.linspace(0, 3, 1001)
    shown = Shown(prediction, truth, np.abs(prediction - truth), None)
    limits = ranges(shown)
    panels, legends = panels_of(shown, "u", limits)
    assert [own.title for own in panels] == ["Truth", "Prediction", "Error"]
    assert panels[0].limits == panels[1].limits == limits[0] and panels[2].limits == limits[1]
    assert limits[1][0] == 0 and [(own.label, own.panels) for own in legends] == [("u", 2), ("error of u", 1)]
    assert (legends[0].plain()["least"], legends[0].plain()["most"]) == ("0", "3")
    alone = Shown(prediction, None, None, None)
    assert [own.title for own in panels_of(alone, "u", ranges(alone))[0]] == ["Prediction"]
