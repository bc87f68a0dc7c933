"""Fields of any make in copies of Exodus and Gmsh files."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies
from hypothesis.extra import numpy as numpy_strategies

from pitgeo.mesh import read_mesh, write_mesh
from tests.mesh.test_sets import gmsh

LETTERS = strategies.characters(codec="utf-8", categories=["L", "N", "P", "S"], exclude_characters='"')
NAMES = strategies.text(LETTERS, min_size=1, max_size=40)
NUMBERS = strategies.floats(width=64) | strategies.sampled_from([0.1, -0.0, 5e-324, np.inf])


def source(kind, folder):
    if kind == "msh":
        (folder / "source.msh").write_text(gmsh([40, 10, 30, 20], [10, 20, 30, 40]))
        return folder / "source.msh"
    pytest.importorskip("netCDF4")
    exodus_files = pytest.importorskip("tests.mesh.exodus_files")
    square = [[0, 0], [1, 0], [1, 1], [0, 1]]
    blocks = [("TRI3", [[0, 1, 2]], "one"), ("TRI3", [[0, 2, 3]], "two"), ("BAR2", [[0, 1]], "three")]
    exodus_files.write(folder / "source.e", square, blocks, steps=2, nod={"T": np.arange(8).reshape(2, 4)})
    return folder / "source.e"


@settings(max_examples=20, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=strategies.data(), kind=strategies.sampled_from(["msh", "e"]))
def test_any_field_comes_back(data, kind, tmp_path):
    mesh = read_mesh(source(kind, tmp_path))
    draw, expected = data.draw, {"point": {}, "cell": {}, "field": {}}
    for name in draw(strategies.lists(NAMES, max_size=4, unique=True)):
        place = draw(strategies.sampled_from(["point", "cell", "field"]))
        width = draw(strategies.sampled_from([(), (3,), (6,), (9,)]))
        size = {"point": 4, "cell": 3, "field": 1}[place]
        values = draw(numpy_strategies.arrays(np.float64, (size, *width), elements=NUMBERS))
        values = values[0] if place == "field" and width else values
        mesh = getattr(mesh, f"with_{place}_data")(name, values)
        expected[place][name] = values
    path = tmp_path / f"result.{kind}"
    write_mesh(path, mesh)
    again = read_mesh(path)
    assert set(again.point_data) == set(mesh.point_data) and set(again.field_data) == set(mesh.field_data)
    assert set(again.cell_data) == set(mesh.cell_data)
    for name, values in expected["point"].items():
        assert np.array_equal(again.point_data[name], values, equal_nan=True)
    for name, values in expected["cell"].items():
        assert np.array_equal(np.concatenate(again.cell_data[name]), values, equal_nan=True)
    for name, values in expected["field"].items():
        assert np.array_equal(again.field_data[name], values, equal_nan=True)
    assert again.point_data["T"].tolist() == mesh.point_data["T"].tolist()
    assert [nodes.tolist() for _, nodes in again.cells] == [nodes.tolist() for _, nodes in mesh.cells]
    path.unlink()
