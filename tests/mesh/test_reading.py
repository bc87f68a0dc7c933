"""Files that are read rightly or refused with one clear error."""

import meshio
import numpy as np
import pytest

from pitgeo.mesh import read_mesh
from tests.mesh.helpers import listed_cells, written


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
    mesh = written(path, "".join(line + end for line, end in zip(lines, breaks, strict=True)).encode())
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


def test_shells_of_nastran_have_nodes_alone(tmp_path):
    path = tmp_path / "mesh.bdf"
    points = "".join(
        f"GRID    {k:<8}{'':8}{x:<8}{y:<8}0.0\n"
        for k, x, y in ((3, 0.0, 0.0), (5, 1.0, 0.0), (7, 1.0, 1.0), (9, 0.0, 1.0))
    )
    shells = (
        "CTRIA3  1       1       3       5       7       30.     0.1\n"
        "                        0.5     0.5     0.5\n"
        "CQUAD4  2       1       3       5       7       9       0.      0.      +1\n"
        "+1              0.1     0.1\n"
        "CQUAD4,3,1,9,7,5,3,12\n"
    )
    mesh = written(path, f"BEGIN BULK\n{points}{shells}ENDDATA\n")
    assert listed_cells(mesh) == [("triangle", [[0, 1, 2]]), ("quad", [[0, 1, 2, 3], [3, 2, 1, 0]])]


def test_vertices_in_mixed_xdmf_are_not_misread(tmp_path):
    path = tmp_path / "mesh.xdmf"
    mesh = written(
        path,
        '<Xdmf Version="3.0"><Domain><Grid><Geometry GeometryType="XYZ">'
        '<DataItem Dimensions="5 3" Precision="8" Format="XML">0 0 0 1 0 0 0 1 0 0 0 1 1 1 1</DataItem></Geometry>'
        '<Topology TopologyType="Mixed" NumberOfElements="2"><DataItem Dimensions="7" NumberType="Int" Precision="8" '
        'Format="XML">1 1 4 1 2 3 0</DataItem></Topology></Grid></Domain></Xdmf>',
    )  # two elements: one of a single point, one of two
    assert listed_cells(mesh) == [("vertex", [[4], [3], [0]])]


def test_planes(tmp_path):
    """Planar meshes lose the coordinate that does not vary, and lines on the first axis the other two."""
    for axis in range(3):
        points = np.insert(np.array([[0.0, 1], [2, 0], [3, 4]]), axis, 1.5, axis=1)
        meshio.Mesh(points, [("triangle", np.array([[0, 1, 2]]))]).write(tmp_path / "mesh.vtu")
        mesh = read_mesh(tmp_path / "mesh.vtu")
        assert mesh.points.tolist() == [[0, 1], [2, 0], [3, 4]] and (mesh.plane, mesh.plane_axis) == (1.5, axis)
    points = np.array([[0.0, 0, 0], [2, 0, 0]])
    meshio.Mesh(points, [("line", np.array([[0, 1]]))]).write(tmp_path / "mesh.vtu")
    assert read_mesh(tmp_path / "mesh.vtu").points.tolist() == [[0], [2]]
    meshio.Mesh(points + np.array([0, 1, 0]), [("line", np.array([[0, 1]]))]).write(tmp_path / "mesh.vtu")
    assert read_mesh(tmp_path / "mesh.vtu").points.tolist() == [[0, 1], [2, 1]]


def test_tensors_keep_their_axes(tmp_path):
    path = tmp_path / "mesh.vtk"
    tensor = "1 2 3\n4 5 6\n7 8 9\n\n"
    mesh = written(
        path,
        "# vtk DataFile Version 3.0\nt\nASCII\nDATASET UNSTRUCTURED_GRID\nFIELD FieldData 2\ntime 1 1 double\n0.5\n"
        "a%20b 2 2 int\n1 2\n3 4\nPOINTS 3 float\n0 0 0 1 0 0 0 1 0\n"
        f"CELLS 1 4\n3 0 1 2\nCELL_TYPES 1\n5\nPOINT_DATA 3\nTENSORS stress double\n{3 * tensor}",
    )
    assert mesh.point_data["stress"].shape == (3, 3, 3)
    assert mesh.point_data["stress"][1].tolist() == [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
    assert mesh.field_data["time"].tolist() == [0.5] and mesh.field_data["a b"].tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("head", ['(0 "by hand")\n', "", "\n  "])
def test_cells_by_their_faces_are_refused(head, tmp_path):
    path = tmp_path / "square.msh"
    path.write_text(
        head + "(2 2)\n(10 (0 1 4 0 2))\n(10 (1 1 4 1 2)(\n0 0\n1 0\n1 1\n0 1\n))\n(12 (0 1 2 0))\n(12 (2 1 2 1 1))\n"
        "(13 (0 1 5 0))\n(13 (3 1 1 2 2)(\n1 3 1 2\n))\n(13 (4 2 5 3 2)(\n1 2 1 0\n2 3 1 0\n3 4 2 0\n4 1 2 0\n))\n"
    )
    with pytest.raises(ValueError, match=r"square\.msh: Expected a mesh of Gmsh .got one of Fluent.*\.vtu"):
        read_mesh(path)
