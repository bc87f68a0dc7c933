"""Files that come back as they were written."""

import logging
from dataclasses import replace

import meshio
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies
from hypothesis.extra import numpy as numpy_strategies

from pitgeo.mesh import Mesh, read_mesh, result_name, write_mesh
from tests.mesh.helpers import assert_same
from tests.mesh.zoo import ZOO, cells, plane, solid

SURFACES = {"vertex", "line", "triangle", "quad"}


def holds(kind, mesh):
    """Whether files of a format hold such cells."""
    kinds = {name for name, _ in mesh.cells}
    return kind != "vtp" or kinds <= SURFACES


@pytest.mark.parametrize("kind", ["vtu", "vtk", "vtp", "xdmf"])
@pytest.mark.parametrize("name", ZOO)
def test_nothing_is_lost_on_the_way_out_and_back(name, kind, tmp_path):
    mesh, random = ZOO[name], np.random.default_rng(1)
    if kind == "vtp":
        pytest.importorskip("pyvista")
    for field in ("von mises", "50%", "a%20b", 'q"<&>', "é/x"):
        mesh = mesh.with_point_data(field, random.random(len(mesh.points)))
    mesh = mesh.with_point_data("velocity", random.random((len(mesh.points), 3)))
    mesh = mesh.with_point_data("id", np.arange(len(mesh.points)))
    mesh = replace(mesh, point_sets={"left wall": np.array([0, 4]), "none": np.array([], int)})
    mesh = mesh.with_field_data("time", np.array([0.5])).with_field_data("two words", np.arange(4).reshape(2, 2))
    if mesh.cells:
        mesh = mesh.with_cell_data("part", np.arange(mesh.number_of_cells) + 0.5)
        mesh = mesh.with_cell_data("stress tensor", random.random((mesh.number_of_cells, 9)))
        last = tuple(np.array([len(nodes) - 1]) for _, nodes in mesh.cells)
        mesh = replace(mesh, cell_sets={"last": last, "nowhere": tuple(part[:0] for part in last)})
    arrays = [mesh.points, *(nodes for _, nodes in mesh.cells), *mesh.point_data.values()]
    copies = [array.copy() for array in arrays]
    path = tmp_path / f"mesh.{kind}"
    if not holds(kind, mesh):
        with pytest.raises(ValueError, match=rf"mesh\.{kind}: Expected .* or write \.vtu"):
            write_mesh(path, mesh)
        assert not list(tmp_path.iterdir())
        return
    write_mesh(path, mesh)
    assert all(np.array_equal(array, copy) for array, copy in zip(arrays, copies, strict=True))
    again = read_mesh(path)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    assert all(values.dtype.isnative for values in again.point_data.values())
    assert_same(mesh if mesh.cells else replace(mesh, cells=cells(("vertex", np.arange(9)[:, None]))), again)


@pytest.mark.parametrize("size", [1, 2**12 - 1, 2**12, 2**12 + 1, 3 * 2**12])  # 2**12 numbers fill a block
def test_compressed_blocks_come_back_in_meshio_and_vtk(size, tmp_path):
    pyvista, random, path = pytest.importorskip("pyvista"), np.random.default_rng(0), tmp_path / "mesh.vtu"
    fields = {
        "noise": random.random(size),  # stored as it is
        "steps": np.arange(size) // 7,
        "single": random.random((size, 3)).astype(np.float32),
        "byte": (np.arange(size) % 5).astype(np.int8),
    }
    mesh = Mesh(random.random((size, 3)), cells(("vertex", np.arange(size)[:, None])), fields)
    write_mesh(path, mesh)
    for found in (meshio.read(path).point_data, pyvista.read(path).point_data):
        for name, values in fields.items():
            assert found[name].dtype == values.dtype and np.array_equal(found[name], values)


@pytest.mark.parametrize(
    "kind", ["wedge15", "pyramid13", "quad6", "wedge12", "triangle7", "polygon", "VTK_LAGRANGE_CURVE"]
)
def test_cells_of_vtk(kind, tmp_path):
    pyvista = pytest.importorskip("pyvista")
    count = {"polygon": 5, "VTK_LAGRANGE_CURVE": 4}.get(kind) or int(kind.strip("abcdefghijklmnopqrstuvwxyz"))
    mesh = Mesh(solid(), cells(("wedge", [range(6)]), (kind, [range(count)]))).with_field_data("time", 1.5)
    mesh = mesh.with_point_data("a", np.arange(20.0)).with_cell_data("b", np.arange(2))
    write_mesh(tmp_path / "mesh.vtu", mesh)
    assert_same(replace(mesh, field_data={"time": [1.5]}), read_mesh(tmp_path / "mesh.vtu"))
    grid = pyvista.read(tmp_path / "mesh.vtu")
    assert grid.n_cells == 2 and grid.get_cell(0).point_ids == [0, 2, 1, 3, 5, 4]  # VTK turns wedges round
    assert grid.get_cell(1).point_ids == list(range(count))


@settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=strategies.data(), kind=strategies.sampled_from(["vtu", "vtk", "vtp", "xdmf"]))
def test_meshes_of_any_make(data, kind, tmp_path):
    pytest.importorskip("pyvista")
    axes = data.draw(strategies.integers(2, 3))
    count = data.draw(strategies.integers(4, 9))
    floats = strategies.floats(-1e12, 1e12)
    points = data.draw(numpy_strategies.arrays(np.float64, (count, axes), elements=floats))
    points[0], points[1], points[2] = np.arange(axes), -np.arange(axes) - 1.0, 0.25  # of no lower dimension
    blocks = []
    for name, width in data.draw(strategies.sampled_from([(("triangle", 3),), (("triangle", 3), ("quad", 4)), ()])):
        number = strategies.integers(0, count - 1)
        nodes = data.draw(
            numpy_strategies.arrays(np.int64, (data.draw(strategies.integers(1, 4)), width), elements=number)
        )
        blocks.append((name, nodes))
    mesh = Mesh(points, tuple(blocks) or cells(("vertex", [[0]])))
    letters = strategies.characters(codec="utf-8", categories=["L", "N", "P", "S", "Zs"])
    names = strategies.text(letters, min_size=1, max_size=8).filter(
        lambda name: name == name.strip() and name != "METADATA"
    )
    dtypes = strategies.sampled_from([np.float32, np.float64, ">f8", ">i4", np.int64, np.uint8])
    for name in data.draw(strategies.lists(names, max_size=3, unique=True)):
        width = data.draw(strategies.sampled_from([(), (3,), (9,)]))
        values = data.draw(numpy_strategies.arrays(data.draw(dtypes), (count, *width)))
        mesh = mesh.with_point_data(name, np.nan_to_num(values))
    for name in data.draw(strategies.lists(names, max_size=2, unique=True)):
        shape = data.draw(numpy_strategies.array_shapes(min_dims=1, max_dims=2, max_side=3))
        metadata = data.draw(numpy_strategies.arrays(data.draw(dtypes), shape))
        if metadata.dtype.kind == "f" and metadata.dtype.itemsize == 8:
            metadata = np.clip(
                metadata, -1e150, 1e150
            )  # VTK writes lengths of vectors, and does not read infinite ones
        mesh = mesh.with_field_data(name, metadata[:, 0] if metadata.shape[1:] == (1,) else metadata)
    marks = data.draw(numpy_strategies.arrays(bool, mesh.number_of_cells))
    mesh = replace(mesh, cell_sets={"some": tuple(np.flatnonzero(part) for part in mesh.by_block(marks))})
    path = tmp_path / f"mesh.{kind}"
    write_mesh(path, mesh)
    assert_same(mesh, read_mesh(path))


def test_vectors_whose_length_is_no_number_come_back(tmp_path):
    """VTK cannot read the range of lengths that it writes beside such values."""
    pytest.importorskip("pyvista")
    mesh = Mesh(np.eye(3), cells(("triangle", [[0, 1, 2]]))).with_field_data("far", np.full((1, 3), 1e200))
    for ending in ("vtp", "vtu"):
        write_mesh(tmp_path / f"mesh.{ending}", mesh)
        assert_same(mesh, read_mesh(tmp_path / f"mesh.{ending}"))


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
        write_mesh(path, ZOO["quads"].with_point_data("waves", np.ones(9, complex)))
    with pytest.raises(ValueError, match=r"mesh\.vtk: Expected fields"):  # the legacy format has no empty names
        write_mesh(tmp_path / "mesh.vtk", ZOO["quads"].with_point_data("", np.zeros(9)))
    with pytest.raises(ValueError, match=r"mesh\.vtu: Expected fields"):
        write_mesh(path, Mesh(plane(), (("blob", np.array([[0, 1, 2]])),)))
    assert path.read_bytes() == before and len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("kind", ["vtu", "vtk", "vtp", "xdmf"])
@pytest.mark.parametrize(
    ("values", "width"),
    [
        (np.arange(9, dtype=">f8"), 1),
        (np.arange(9, dtype=">i4"), 1),
        (np.asfortranarray(solid(9)), 3),
        (np.where(np.arange(9) == 4, np.nan, 0.5), 1),
        (np.arange(9, dtype=np.float16), 1),
        (plane()[:, 0].astype(np.float32), 1),
        (np.arange(9) > 4, 1),
        (np.arange(9, dtype=np.uint16), 1),
        (np.arange(81.0).reshape(9, 3, 3), 9),
        (plane(), 2),
    ],
)
def test_fields_of_every_kind(kind, values, width, tmp_path):
    path = tmp_path / f"mesh.{kind}"
    write_mesh(path, Mesh(plane(), ZOO["quads"].cells, {"a": values}))
    again = read_mesh(path).point_data["a"].reshape(9, -1)
    assert again.dtype.isnative and again.shape[1] == (3 if width == 2 and kind in ("vtk", "xdmf") else width)
    assert np.array_equal(again[:, :width], values.reshape(9, -1), equal_nan=True) and not again[:, width:].any()


def test_field_data_is_kept(tmp_path):
    metadata = {"steel <1>": np.array([3, 2]), "time": np.array([0.1]), "matrix": np.arange(4.0).reshape(2, 2)}
    mesh = Mesh(plane(), ZOO["quads"].cells, field_data=metadata)
    for kind in ("vtu", "vtk", "vtp", "xdmf"):
        if kind == "vtp":
            pytest.importorskip("pyvista")
        write_mesh(tmp_path / f"mesh.{kind}", mesh)
        again = read_mesh(tmp_path / f"mesh.{kind}").field_data
        assert set(again) == set(metadata) and all(np.array_equal(again[name], metadata[name]) for name in metadata)


def test_field_data_of_every_type(tmp_path):
    metadata = {np.dtype(kind).str: np.array([[1, 2], [3, 4]], kind) for kind in "bBhHiIlLfd"}
    for kind in ("vtu", "vtk"):
        write_mesh(tmp_path / f"mesh.{kind}", Mesh(plane(), ZOO["quads"].cells, field_data=metadata))
        again = read_mesh(tmp_path / f"mesh.{kind}").field_data
        assert all(
            np.array_equal(again[name], metadata[name]) and again[name].dtype == metadata[name].dtype
            for name in metadata
        )
    with pytest.raises(ValueError, match="is neither number nor text"):
        write_mesh(tmp_path / "other.vtu", Mesh(plane(), field_data={"name": np.ones(2, complex)}))
    assert not (tmp_path / "other.vtu").exists()


def test_field_data_of_legacy_files_is_vtk_s(tmp_path):
    pyvista = pytest.importorskip("pyvista")
    mesh = ZOO["mixed"].with_field_data("time", 0.25).with_field_data("two words", np.arange(6).reshape(2, 3))
    write_mesh(tmp_path / "mesh.vtk", mesh)
    found = pyvista.read(tmp_path / "mesh.vtk").field_data
    assert set(found) == {"time", "two words"} and found["time"] == 0.25
    assert np.array_equal(found["two words"], np.arange(6).reshape(2, 3))


def test_a_set_needs_its_name_for_itself(tmp_path):
    mesh = replace(ZOO["quads"].with_point_data("set:a", np.zeros(9)), point_sets={"a": np.array([1])})
    with pytest.raises(ValueError, match="Expected no field 'set:a' beside the set 'a'"):
        write_mesh(tmp_path / "mesh.vtu", mesh)


def test_marks_become_sets_and_other_fields_stay(tmp_path):
    mesh = ZOO["mixed"].with_point_data("set:a", np.arange(9) > 6).with_point_data("set:b", np.arange(9.0))
    mesh = mesh.with_cell_data("set:c", np.array([0, 1])).with_cell_data("set:d", np.array([0, 2]))
    write_mesh(tmp_path / "mesh.vtu", mesh)
    again = read_mesh(tmp_path / "mesh.vtu")
    assert list(again.point_data) == ["set:b"] and again.point_sets["a"].tolist() == [7, 8]
    assert list(again.cell_data) == ["set:d"] and [part.tolist() for part in again.cell_sets["c"]] == [[], [0]]


def test_results_keep_their_format_where_it_holds_fields(caplog):
    caplog.set_level(logging.INFO)
    for name in ("a.vtu", "b.VTK", "c.vtp", "d.xdmf"):
        assert result_name(f"folder/{name}") == name
    assert not caplog.records
    assert result_name("folder/a.b.su2") == "a.b.vtu"
    assert "a.b.vtu, since .su2 files do not keep every field" in caplog.text
