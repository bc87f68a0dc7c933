"""Files that come back as they were written."""

import numpy as np
import pytest

from pitgeo.mesh import Mesh, read_mesh, write_mesh
from tests.mesh.zoo import ZOO, plane, solid


@pytest.mark.parametrize("kind", ["vtu", "vtk", "xdmf"])
@pytest.mark.parametrize("name", ZOO)
def test_nothing_is_lost_on_the_way_out_and_back(name, kind, tmp_path):
    mesh, random = ZOO[name], np.random.default_rng(1)
    for field in ("von mises", "50%", "a%20b", 'q"<&>', "é/x"):
        mesh = mesh.with_point_data(field, random.random(len(mesh.points)))
    mesh = mesh.with_point_data("velocity", random.random((len(mesh.points), 3)))
    mesh = mesh.with_point_data("id", np.arange(len(mesh.points)))
    cell_data = {"part": tuple(np.arange(len(nodes)) + 0.5 for _, nodes in mesh.cells)} if mesh.cells else {}
    mesh = Mesh(mesh.points, mesh.cells, mesh.point_data, cell_data, plane=mesh.plane)
    arrays = [mesh.points, *(nodes for _, nodes in mesh.cells), *mesh.point_data.values()]
    copies = [array.copy() for array in arrays]
    path = tmp_path / f"mesh.{kind}"
    write_mesh(path, mesh)
    assert all(np.array_equal(array, copy) for array, copy in zip(arrays, copies, strict=True))
    again = read_mesh(path)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    assert np.array_equal(again.points, mesh.points) and again.plane == mesh.plane
    assert again.points.dtype == np.float64 and again.points.dtype.isnative
    if mesh.cells:
        assert [kind for kind, _ in again.cells] == [kind for kind, _ in mesh.cells]
        for (_, mine), (_, theirs) in zip(mesh.cells, again.cells, strict=True):
            assert np.array_equal(mine, theirs)
        for mine, theirs in zip(cell_data["part"], again.cell_data["part"], strict=True):
            assert np.array_equal(mine, theirs.ravel())
    assert set(again.point_data) == set(mesh.point_data)
    for field, values in mesh.point_data.items():
        assert np.array_equal(again.point_data[field], values)
    assert all(values.dtype.isnative for values in again.point_data.values())


@pytest.mark.parametrize("ending", ["obj", "stl", "msh", "su2", "foo"])
def test_formats_that_lose_fields_are_not_written(ending, tmp_path):
    with pytest.raises(ValueError, match=r"mesh\.vtu instead"):
        write_mesh(tmp_path / f"mesh.{ending}", ZOO["triangles"])
    assert not list(tmp_path.iterdir())


def test_a_failed_write_keeps_the_old_file(tmp_path):
    path = tmp_path / "mesh.vtu"
    write_mesh(path, ZOO["quads"])
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"mesh\.vtu: Expected fields"):
        write_mesh(path, ZOO["quads"].with_point_data("words", np.array(["a"] * 9, dtype=object)))
    with pytest.raises(ValueError, match=r"mesh\.vtk: Expected fields"):  # the legacy format has no empty names
        write_mesh(tmp_path / "mesh.vtk", ZOO["quads"].with_point_data("", np.zeros(9)))
    with pytest.raises(ValueError, match=r"mesh\.vtu: Expected fields"):
        write_mesh(path, Mesh(plane(), (("blob", np.array([[0, 1, 2]])),)))
    assert path.read_bytes() == before and len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("kind", ["vtu", "vtk", "xdmf"])
@pytest.mark.parametrize(
    ("values", "width"),
    [
        (np.arange(9, dtype=">f8"), 1),
        (np.arange(9, dtype=">i4"), 1),
        (np.asfortranarray(solid(9)), 3),
        (np.where(np.arange(9) == 4, np.nan, 0.5), 1),
        (np.arange(9, dtype=np.float16), 1),
        (np.arange(81.0).reshape(9, 3, 3), 9),
        (plane(), 2),
    ],
)
def test_fields_of_every_kind(kind, values, width, tmp_path):
    path = tmp_path / f"mesh.{kind}"
    write_mesh(path, Mesh(plane(), ZOO["quads"].cells, {"a": values}))
    again = read_mesh(path).point_data["a"].reshape(9, -1)
    assert again.dtype.isnative and again.shape[1] == (3 if width == 2 and kind != "vtu" else width)
    assert np.array_equal(again[:, :width], values.reshape(9, -1), equal_nan=True) and not again[:, width:].any()


def test_field_data_is_kept_or_refused(tmp_path):
    facts = {"steel <1>": np.array([3, 2]), "time": np.array([0.1]), "matrix": np.arange(4.0).reshape(2, 2)}
    mesh = Mesh(plane(), ZOO["quads"].cells, field_data=facts)
    write_mesh(tmp_path / "mesh.vtu", mesh)
    again = read_mesh(tmp_path / "mesh.vtu").field_data
    assert set(again) == set(facts) and all(np.array_equal(again[name], facts[name]) for name in facts)
    with pytest.raises(ValueError, match=r"\.xdmf files do not keep \(got steel <1>, time, matrix\)"):
        write_mesh(tmp_path / "mesh.xdmf", mesh)
