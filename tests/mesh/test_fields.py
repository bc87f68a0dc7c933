"""Fields as arrays."""

import numpy as np
import pytest

from pitgeo.mesh import Mesh, cell_fields, centroids, point_fields
from pitgeo.mesh.cell_types import width
from tests.mesh.zoo import ZOO, cells, plane


def test_fields_side_by_side():
    mesh = ZOO["quads"].with_point_data("p", np.arange(9)).with_point_data("v", np.ones((9, 2)))
    assert point_fields(mesh, ["p", "v"]).shape == (9, 3)
    assert point_fields(mesh, []).shape == (9, 0)
    with pytest.raises(ValueError, match=r"'pressure' \(got 'pressur'\); did you mean 'pressur'"):
        point_fields(ZOO["quads"].with_point_data("pressur", np.zeros(9)), ["pressure"])
    with pytest.raises(ValueError, match="at point 4, the first of 1"):
        point_fields(mesh.with_point_data("q", np.where(np.arange(9) == 4, np.nan, 0.0)), ["q"])
    with pytest.raises(ValueError, match="numbers"):
        point_fields(mesh.with_point_data("q", np.array(["a"] * 9)), ["q"])


def test_cell_fields_side_by_side():
    mesh = ZOO["mixed"].with_cell_data("p", np.array([3, 4])).with_cell_data("v", np.arange(6).reshape(2, 3))
    assert cell_fields(mesh, ["v", "p"]).tolist() == [[0, 1, 2, 3], [3, 4, 5, 4]]
    assert cell_fields(mesh, []).shape == (2, 0) and cell_fields(Mesh(plane()), []).shape == (0, 0)
    with pytest.raises(ValueError, match=r"cell field 'q' \(got 'p', 'v'\)"):
        cell_fields(mesh, ["q"])
    with pytest.raises(ValueError, match="at cell 1, the first of 1"):
        cell_fields(mesh.with_cell_data("q", np.array([0.0, np.inf])), ["q"])


def test_fields_of_another_kind_are_named():
    mesh = ZOO["mixed"].with_cell_data("c", np.zeros(2)).with_point_data("p", np.zeros(9)).with_field_data("f", 1.0)
    with pytest.raises(ValueError, match=r"point field 'c' \(got 'p'\); it is cell data"):
        point_fields(mesh, ["c"])
    with pytest.raises(ValueError, match=r"cell field 'p' \(got 'c'\); it is point data"):
        cell_fields(mesh, ["p"])
    with pytest.raises(ValueError, match=r"cell field 'f' \(got 'c'\); it is field data"):
        cell_fields(mesh, ["f"])


@pytest.mark.parametrize(
    ("kind", "corners"),
    [
        ("vertex", [[2, 3, 5]]),
        ("line3", [[0, 0, 0], [2, 0, 4]]),
        ("triangle6", [[0, 0, 0], [3, 0, 0], [0, 3, 3]]),
        ("quad9", [[0, 0, 0], [2, 0, 0], [2, 2, 0], [0, 2, 0]]),
        ("tetra10", [[0, 0, 0], [4, 0, 0], [0, 4, 0], [0, 0, 4]]),
        ("wedge15", [[0, 0, 0], [3, 0, 0], [0, 3, 0], [0, 0, 6], [3, 0, 6], [0, 3, 6]]),
        ("hexahedron27", np.array(np.meshgrid([0, 2], [0, 4], [0, 6])).reshape(3, -1).T),
        ("VTK_LAGRANGE_TRIANGLE", [[0, 0, 0], [3, 0, 0], [0, 3, 3]]),
        ("VTK_BEZIER_QUADRILATERAL", [[0, 0, 0], [2, 0, 0], [2, 2, 0], [0, 2, 0]]),
    ],
)
def test_centroids_are_means_of_corners(kind, corners):
    count = width(kind) or len(corners) + 4
    more = np.full((count - len(corners), 3), 100.0)  # nodes that are no corners
    mesh = Mesh(np.concatenate([np.array(corners, float), more]), cells((kind, [range(count)])))
    assert np.allclose(centroids(mesh), [np.mean(corners, 0)], rtol=0, atol=1e-14)


def test_centroids_of_blocks():
    mesh = Mesh(
        np.array([[0.0, 0], [3, 0], [3, 3], [0, 3]]), cells(("triangle", [[0, 1, 2]]), ("polygon", [[0, 1, 2, 3]]))
    )
    assert centroids(mesh).tolist() == [[2, 1], [1.5, 1.5]]
    assert centroids(Mesh(plane())).shape == (0, 2)
    with pytest.raises(ValueError, match="known types"):
        centroids(Mesh(plane(), cells(("blob", [[0, 1]]))))
