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
    for kind in ("vtk", "xdmf"):
        with pytest.raises(ValueError, match=r"only \.vtu keeps \(got steel <1>, time, matrix\)"):
            write_mesh(tmp_path / f"mesh.{kind}", mesh)


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
        ((plane(), (("triangle", np.array([[0, 1, -1]])),)), "got number -1"),
        ((plane(), (), {"p": np.zeros(8)}), "9 values in 'p'"),
        ((plane(), ZOO["mixed"].cells, {}, {"part": (np.zeros(1),)}), r"\[1, 1\] values in the cell data 'part'"),
    ],
)
def test_bad_meshes_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Mesh(*arguments)


@pytest.mark.parametrize("index", ["none", "one", "two"])
@pytest.mark.parametrize("ends", ["\n", "\r\n", "mixed"])
@pytest.mark.parametrize("order", ["points first", "cells first"])
def test_su2_is_not_misread(index, ends, order, tmp_path):
    points, cells = np.random.default_rng(0).random((300, 2)), np.random.default_rng(1).integers(0, 300, (300, 3))
    more = {"none": "", "one": " {0}", "two": " {0} {0}"}[index]
    rows = ["NPOIN= 300", *(f"{x!r}\t {y!r}{more.format(k)}" for k, (x, y) in enumerate(points.tolist()))]
    elements = ["NELEM = 300", *(f"5 {a} {b} {c}{more.format(k)[:4]}" for k, (a, b, c) in enumerate(cells.tolist()))]
    head = ["% naïve comment, as exported", "", "NDIME= 2 % planar"]
    if index == "two":
        elements = [" ".join(line.split()[:4]) for line in elements]
    blocks = [*rows, "%", *elements] if order == "points first" else [*elements, "%", *rows]
    lines = [*head, *blocks, "NMARK= 0"]
    path = tmp_path / "mesh.su2"
    breaks = ["\r\n" if k % 3 else "\n" for k in range(len(lines))] if ends == "mixed" else [ends] * len(lines)
    path.write_bytes("".join(line + end for line, end in zip(lines, breaks, strict=True)).encode())
    mesh = read_mesh(path)
    assert np.array_equal(mesh.points, points) and mesh.path == path
    assert [kind for kind, _ in mesh.cells] == ["triangle"] and np.array_equal(mesh.cells[0][1], cells)


@pytest.mark.parametrize(
    ("ending", "text", "message"),
    [
        ("su2", "NDIME= 2\nNELEM= 1\n5 0 1 2\nNPOIN= 3\n0. 0.\n1. 0. 1\n0. 1. 2\nNMARK= 0\n", "3 rows of 2"),
        ("su2", "NDIME= 3\nNELEM= 1\n5 0 1 2\nNPOIN= 3\n0. 0.\n1. 0.\n0. 1.\nNMARK= 0\n", "3 rows of 3"),
        ("su2", "NZONE= 2\n" + 2 * "NDIME= 2\nNPOIN= 1\n0. 0.\nNMARK= 0\n", "one zone"),
        ("bdf", "BEGIN BULK\nGRID    1       5       1.0     90.0    3.0\nENDDATA\n", "system 5"),
        ("bdf", "BEGIN BULK\nGRDSET          5\nGRID    1               1.0     90.0    3.0\nENDDATA\n", "GRDSET"),
        ("bdf", "BEGIN BULK\nGRID\t1\t\t1.0\t2.0\t3.0\nENDDATA\n", "GRID"),
        ("bdf", "BEGIN BULK\nINCLUDE 'more.bdf'\nGRID,1,,1.,2.,3.\nENDDATA\n", "INCLUDE"),
        ("inp", "*NODE\n1, 0., 0.\n2, 1., 0.\n*NODE\n3, 0., 1.\n", "NODE"),
        ("inp", "*Node, nset=all, system=C\n1, 1., 90.\n2, 1., 0.\n", "system=C"),
        ("inp", "*SYSTEM\n5., 5., 5.\n*NODE\n1, 0., 0.\n", "SYSTEM"),
        ("inp", "*Node\n1, 0., 0.\n*Instance, name=a, part=b\n 10., 0., 0.\n*End Instance\n", "Instance"),
    ],
)
def test_what_would_be_misread_is_refused(ending, text, message, tmp_path):
    path = tmp_path / f"mesh.{ending}"
    path.write_text(text)
    with pytest.raises(ValueError, match=message) as caught:
        read_mesh(path)
    assert str(path) in str(caught.value) and "save" in str(caught.value)


def test_large_fields_are_read_rightly(tmp_path):
    path = tmp_path / "mesh.bdf"
    values = [(7, "1.5", "-2.5-3", "3.5E+1"), (9, "0.123456789012", ".5", "7.0")]
    rows = [f"GRID*   {k:<32}{x:>16}{y:>16}\n*       {z:>16}\n" for k, x, y, z in values]
    path.write_text("BEGIN BULK\n" + "".join(rows) + "ENDDATA\n")
    assert np.array_equal(read_mesh(path).points, [[1.5, -2.5e-3, 35.0], [0.123456789012, 0.5, 7.0]])


def test_names_of_the_legacy_format_are_unescaped(tmp_path):
    path = tmp_path / "mesh.vtk"
    path.write_text(
        "# vtk DataFile Version 3.0\nt\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 3 float\n0 0 0 1 0 0 0 1 0\n"
        "CELLS 1 4\n3 0 1 2\nCELL_TYPES 1\n5\nPOINT_DATA 3\n"
        "SCALARS von%20Mises%25 double 1\nLOOKUP_TABLE default\n1 2 3\n"
    )
    assert list(read_mesh(path).point_data) == ["von Mises%"]


READ = {  # points, axes, cells in each block
    "meshes/abaqus_tri.inp": (34, 2, [48]),
    "meshes/airplane.ply": (1335, 3, [2452]),
    "meshes/annulus.msh": (60, 2, [7, 15, 98]),
    "meshes/box.msh": (358, 3, [312, 1105]),
    "meshes/bridge3d.vtk": (881, 3, [576, 25]),
    "meshes/cube.bdf": (64, 3, [26]),
    "meshes/cylinder.vtk": (354, 3, [1348]),
    "meshes/cylinder_stokes.msh": (171, 2, [293]),
    "meshes/interface.msh": (102, 2, [8, 86, 84]),
    "meshes/mixedtriquad.msh": (56, 2, [22, 16, 36]),
    "meshes/quadratic_quad.msh": (995, 2, [1, 46, 237]),
    "meshes/quadratic_tri.msh": (262, 2, [1, 23, 119]),
    "meshes/square.msh": (109, 2, [24, 184]),
    "meshes/square_triquad.mesh": (470, 2, [458, 200]),
    "fields/car_0.vtu": (3586, 3, [7168]),
    "fields/car_1.vtu": (3586, 3, [7168]),
    "fields/car_2.vtu": (3586, 3, [7168]),
    "fields/notch_stress_fixed.vtk": (3537, 3, [1172, 2, 38, 2, 978]),
    "fields/post.vtk": (2288, 3, [8750]),
    "hard/fea_beam_index_column.su2": (1331, 2, [1200, 260]),
    "hard/tigerfighter_decimated.obj": (15713, 3, [31421]),
}
REFUSED = {
    "fields/can.vtu": "offset",
    "fields/notch_disp.vtu": "wedge15",
    "hard/0012_20.bdf": "invalid literal",
    "hard/disk_out_ref_surface.vtp": "file format",
}
FIELDS = {
    "fields/car_0.vtu": {"pressure": (), "normal": (3,)},
    "fields/notch_stress_fixed.vtk": {"Nodal Stress-0": (1,), "Nodal Stress": (6,), "Nodal Stress-normed": ()},
    "fields/post.vtk": {"Pressure": ()},
}
needs_cases = pytest.mark.skipif(not CASES.is_dir(), reason="other programs' meshes are not beside the project")


@needs_cases
@pytest.mark.parametrize("name", READ)
def test_other_programs_files_are_read(name, tmp_path):
    mesh = read_mesh(CASES / name)
    assert (*mesh.points.shape, [len(nodes) for _, nodes in mesh.cells]) == READ[name]
    assert all(values.dtype.isnative for values in mesh.point_data.values())
    if name in FIELDS:
        assert {field: values.shape[1:] for field, values in mesh.point_data.items()} == FIELDS[name]
    write_mesh(tmp_path / "again.vtu", mesh)
    again = read_mesh(tmp_path / "again.vtu")
    assert np.array_equal(again.points, mesh.points) and set(again.point_data) == set(mesh.point_data)


@needs_cases
@pytest.mark.parametrize("name", REFUSED)
def test_other_programs_files_are_refused(name):
    with pytest.raises(ValueError, match=REFUSED[name]) as caught:
        read_mesh(CASES / name)
    assert str(CASES / name) in str(caught.value) and "ParaView" in str(caught.value)


@needs_cases
def test_every_file_of_other_programs_is_read_or_refused():
    for path in sorted([*CASES.glob("meshes/*"), *CASES.glob("fields/*"), *CASES.glob("hard/*")]):
        try:
            assert np.isfinite(read_mesh(path).points).all()
        except ValueError as error:
            assert path.name in str(error) and "Expected" in str(error)


@needs_cases
def test_coordinates_of_the_su2_file_are_right():
    text = (CASES / "hard" / "fea_beam_index_column.su2").read_text().split("NPOIN= 1331\n")[1].splitlines()[:1331]
    expected = np.array([[float(word) for word in line.split()[:2]] for line in text])
    assert np.array_equal(read_mesh(CASES / "hard" / "fea_beam_index_column.su2").points, expected)
