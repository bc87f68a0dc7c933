"""What a mesh is made of."""

import numpy as np
import pytest

from pitgeo.mesh import Mesh
from tests.mesh.zoo import ZOO, plane


def test_meshes_do_not_change():
    mesh = ZOO["quads"]
    more = mesh.with_point_data("p", np.zeros(9))
    assert "p" not in mesh.point_data
    with pytest.raises(ValueError, match="new name"):
        more.with_point_data("p", np.ones(9))
    assert more.with_point_data("p", np.ones(9), "replace").point_data["p"].all()
    more = ZOO["mixed"].with_cell_data("part", np.array([3, 4])).with_field_data("time", 0.5)
    assert [part.tolist() for part in more.cell_data["part"]] == [[3], [4]] and not ZOO["mixed"].cell_data
    assert more.field_data["time"] == 0.5 and more.number_of_cells == 2 and not ZOO["mixed"].field_data
    with pytest.raises(ValueError, match="new name"):
        more.with_cell_data("part", np.zeros(2))
    with pytest.raises(ValueError, match="new name"):
        more.with_field_data("time", 1.0)
    assert more.with_field_data("time", 1.0, "replace").field_data["time"] == 1.0
    with pytest.raises(ValueError, match=r"2 values in the cell data 'x', one a cell \(got shape \[3\]\)"):
        more.with_cell_data("x", np.zeros(3))
    with pytest.raises(ValueError, match="'existing' to be 'refuse' or 'replace'"):
        more.with_cell_data("part", np.zeros(2), "keep")


def test_points_in_space():
    points = plane()
    for axis in range(3):
        solid = Mesh(points, plane=7.0, plane_axis=axis).points_in_space()
        assert (solid[:, axis] == 7).all() and np.array_equal(np.delete(solid, axis, 1), points)
    assert np.array_equal(Mesh(points[:, :1]).points_in_space(), np.pad(points[:, :1], ((0, 0), (0, 2))))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.zeros((0, 2)),), "N at least 1"),
        ((np.zeros(3),), "shape"),
        ((np.array([[0.0, np.inf]]),), "finite"),
        ((plane(), (("triangle", np.array([[0, 1, 9]])),)), "got number 9"),
        ((plane(), (("triangle", np.array([[0, 1, -1]])),)), "got number -1"),
        ((plane(), (), {"p": np.zeros(8)}), "9 values in 'p'"),
        ((plane(), ZOO["mixed"].cells, {}, {"part": (np.zeros(1),)}), r"\[1, 1\] values in the cell data 'part'"),
    ],
)
def test_bad_meshes_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Mesh(*arguments)


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        ({"point_sets": {"a": np.array([0, 9])}}, r"numbers in the point set 'a' to be from 0 to 8 \(got 9\)"),
        ({"point_sets": {"a": np.array([-1])}}, r"from 0 to 8 \(got -1\)"),
        ({"point_sets": {"a": np.zeros(2)}}, "list of numbers .* of float64"),
        ({"point_sets": {"a": np.zeros((2, 2), int)}}, r"list of numbers \(got shape \[2, 2\]"),
        ({"cell_sets": {"a": (np.array([0]),)}}, r"one array a block of cells in the cell set 'a', 2 \(got 1\)"),
        ({"cell_sets": {"a": (np.array([0]), np.array([1]))}}, r"cell set 'a' to be from 0 to 0 \(got 1\)"),
        ({"plane_axis": 3}, "plane_axis"),
    ],
)
def test_bad_sets_are_refused(sets, message):
    with pytest.raises(ValueError, match=message):
        Mesh(plane(), ZOO["mixed"].cells, **sets)
