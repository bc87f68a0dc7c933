"""Mesh files: nothing lost, nothing misread."""

from pathlib import Path

import numpy as np
import pytest

from pitgeo.mesh import Mesh, point_fields, read_mesh, write_mesh

CASES = Path(__file__).parents[2] / "shared" / "cases"


def plane(count=9):
    return np.random.default_rng(0).random((count, 2))


def solid(count=20):
    return np.random.default_rng(0).random((count, 3))


ZOO = {
    "line": Mesh(np.linspace(0, 1, 5)[:, None], (("line", np.array([[0, 1], [1, 2], [2, 3], [3, 4]])),)),
    "triangles": Mesh(plane(), (("triangle", np.array([[0, 1, 2], [2, 3, 4]])),)),
    "quads": Mesh(plane(), (("quad", np.array([[0, 1, 2, 3]])),)),
    "mixed": Mesh(plane(), (("triangle", np.array([[0, 1, 2]])), ("quad", np.array([[3, 4, 5, 6]])))),
    "tri6": Mesh(plane(), (("triangle6", np.array([[0, 1, 2, 3, 4, 5]])),)),
    "quad9": Mesh(plane(), (("quad9", np.arange(9)[None]),)),
    "tetrahedra": Mesh(solid(), (("tetra", np.array([[0, 1, 2, 3], [4, 5, 6, 7]])),)),
    "hexahedra": Mesh(solid(), (("hexahedron", np.arange(8)[None]),)),
    "surface": Mesh(solid(), (("triangle", np.array([[0, 1, 2], [2, 3, 4]])),)),
    "planar at z = 2.5": Mesh(plane(), (("triangle", np.array([[0, 1, 2]])),), plane=2.5),
    "orphans and duplicates": Mesh(plane().repeat(2, 0), (("triangle", np.array([[0, 1, 2]])),)),
    "points alone": Mesh(plane()),
}


@pytest.mark.parametrize("kind", ["vtu", "vtk", "xdmf"])
@pytest.mark.parametrize("name", ZOO)
def test_nothing_is_lost_on_the_way_out_and_back(name, kind, tmp_path):
    mesh, random = ZOO[name], np.random.default_rng(1)
    mesh = mesh.with_point_data("von_mises" if kind == "vtk" else "von mises", random.random(len(mesh.points)))
    mesh = mesh.with_point_data("velocity", random.random((len(mesh.points), 3)))
    mesh = mesh.with_point_data("id", np.arange(len(mesh.points)))
    cell_data = {"part": tuple(np.arange(len(nodes)) + 0.5 for _, nodes in mesh.cells)} if mesh.cells else {}
    mesh = Mesh(mesh.points, mesh.cells, mesh.point_data, cell_data, plane=mesh.plane)
    path = tmp_path / f"mesh.{kind}"
    write_mesh(path, mesh)
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


@pytest.mark.parametrize("ending", ["inp", "obj", "su2", "vtu", "msh", "vtk", "stl", "ply", "mesh", "bdf", "foo"])
@pytest.mark.parametrize("content", [b"", b"garbage\n1 2 3\n", bytes(range(256)) * 4])
def test_garbage_gives_one_clear_error(ending, content, tmp_path):
    path = tmp_path / f"broken.{ending}"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"broken\.") as caught:
        read_mesh(path)
    assert "Expected" in str(caught.value)


def test_missing_files_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nothing\.vtu"):
        read_mesh(tmp_path / "nothing.vtu")


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
    with pytest.raises(ValueError, match="spaces"):  # the legacy format cannot hold blanks in names
        write_mesh(tmp_path / "mesh.vtk", ZOO["quads"].with_point_data("von mises", np.zeros(9)))
    assert path.read_bytes() == before and len(list(tmp_path.iterdir())) == 1


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


def test_meshes_do_not_change():
    mesh = ZOO["quads"]
    more = mesh.with_point_data("p", np.zeros(9))
    assert "p" not in mesh.point_data
    with pytest.raises(ValueError, match="new name"):
        more.with_point_data("p", np.ones(9))
    assert more.with_point_data("p", np.ones(9), "replace").point_data["p"].all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.zeros((0, 2)),), "N at least 1"),
        ((np.zeros(3),), "shape"),
        ((np.array([[0.0, np.inf]]),), "finite"),
        ((plane(), (("triangle", np.array([[0, 1, 9]])),)), "got number 9"),
        ((plane(), (), {"p": np.zeros(8)}), "9 values in 'p'"),
    ],
)
def test_bad_meshes_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Mesh(*arguments)


@pytest.mark.parametrize("rows", ["0.0 0.0 0\n1.0 0.0 1\n0.0 1.0 2\n", "0.0 0.0\n1.0 0.0\n0.0 1.0\n"])
def test_su2_with_an_index_column_is_not_misread(rows, tmp_path):
    path = tmp_path / "mesh.su2"
    path.write_text(f"NDIME= 2\nNELEM= 1\n5 0 1 2\nNPOIN= 3\n{rows}NMARK= 0\n")
    if "0.0 0.0 0" in rows:
        with pytest.raises(ValueError, match="index"):
            read_mesh(path)
    else:
        assert np.array_equal(read_mesh(path).points, [[0, 0], [1, 0], [0, 1]])


@pytest.mark.skipif(not CASES.is_dir(), reason="the collection of other programs' meshes is not beside the project")
def test_other_programs_files_are_read_or_refused():
    readable = 0
    for path in sorted([*CASES.glob("meshes/*"), *CASES.glob("fields/*"), *CASES.glob("hard/*")]):
        try:
            mesh = read_mesh(path)
        except ValueError as error:
            assert path.name in str(error) and "Expected" in str(error)
            continue
        readable += 1
        assert np.isfinite(mesh.points).all() and len(mesh.points) > 10
        assert all(values.dtype.isnative for values in mesh.point_data.values())
    assert readable >= 20
    cars = read_mesh(CASES / "fields" / "car_0.vtu")
    assert cars.points.shape == (3586, 3) and {"pressure", "normal"} <= set(cars.point_data)
    with pytest.raises(ValueError, match="index"):
        read_mesh(CASES / "hard" / "fea_beam_index_column.su2")
