"""Files that meshio does not read, or not rightly, read by VTK."""

import logging
import sys

import numpy as np
import pytest

from pitgeo.mesh import read_mesh, write_mesh
from pitgeo.mesh.errors import UnreadableError
from pitgeo.mesh.reading import read_with
from tests.mesh.helpers import listed_cells, written
from tests.mesh.zoo import ZOO

pyvista = pytest.importorskip("pyvista")


def grid(count=12, seed=0):
    """Two tetrahedra, a wedge and points without cells, with fields."""
    points = np.random.default_rng(seed).random((count, 3))
    cells = [4, 0, 1, 2, 3, 4, 3, 4, 5, 6, 6, 0, 1, 2, 5, 6, 7]
    result = pyvista.UnstructuredGrid(cells, [10, 10, 13], points)
    result.point_data["p"] = np.arange(count) + 0.5
    result.point_data["v"] = np.random.default_rng(1).random((count, 3)).astype(np.float32)
    result.cell_data["id"] = np.arange(3)
    result.field_data["time"] = [0.25]
    return result


def test_files_of_several_pieces(tmp_path, caplog):
    caplog.set_level(logging.INFO)
    parts = [grid(), grid(9, seed=3)]
    texts = []
    for part in parts:
        part.field_data.clear()
        part.save(tmp_path / "part.vtu", binary=False)
        texts.append((tmp_path / "part.vtu").read_text())
    piece = texts[1][texts[1].index("<Piece") : texts[1].index("</UnstructuredGrid>")]
    mesh = written(tmp_path / "mesh.vtu", texts[0].replace("</UnstructuredGrid>", piece + "</UnstructuredGrid>"))
    assert np.allclose(mesh.points, np.concatenate([part.points for part in parts]), rtol=1e-6)
    assert [(kind, len(nodes)) for kind, nodes in mesh.cells] == [("tetra", 2), ("wedge", 1)] * 2
    assert mesh.cells[2][1].tolist() == [[12, 13, 14, 15], [15, 16, 17, 18]]
    assert "read by VTK, since meshio does not: of several pieces, it keeps the cells of one" in caplog.text


def test_chains_strips_and_pixels_are_cut(tmp_path):
    points = np.random.default_rng(0).random((6, 3))
    surface = pyvista.PolyData(points, verts=[2, 0, 1], lines=[3, 0, 1, 2, 2, 3, 4], strips=[5, 0, 1, 2, 3, 4])
    surface.cell_data["id"] = [7, 8, 9, 10]
    surface.save(tmp_path / "mesh.vtp")
    mesh = read_mesh(tmp_path / "mesh.vtp")
    assert listed_cells(mesh) == [
        ("vertex", [[0], [1]]),
        ("line", [[0, 1], [1, 2], [3, 4]]),
        ("triangle", [[0, 1, 2], [2, 1, 3], [2, 3, 4]]),
    ]
    assert [part.tolist() for part in mesh.cell_data["id"]] == [[7, 7], [8, 8, 9], [10, 10, 10]]
    image = pyvista.ImageData(dimensions=(3, 2, 2))
    image.point_data["p"] = np.arange(12.0)
    image.save(tmp_path / "image.vti")
    mesh = read_mesh(tmp_path / "image.vti")
    ((kind, nodes),) = mesh.cells
    assert kind == "hexahedron" and nodes.tolist() == [[0, 1, 4, 3, 6, 7, 10, 9], [1, 2, 5, 4, 7, 8, 11, 10]]
    pyvista.ImageData(dimensions=(3, 2, 1)).save(tmp_path / "flat.vti")
    mesh = read_mesh(tmp_path / "flat.vti")
    assert mesh.points.shape == (6, 2) and [nodes.tolist() for _, nodes in mesh.cells] == [[[0, 1, 4, 3], [1, 2, 5, 4]]]


def test_colours_of_legacy_files(tmp_path):
    colours = grid()
    colours.point_data["rgb"] = np.arange(36, dtype=np.uint8).reshape(12, 3)
    colours.set_active_scalars("rgb")
    colours.save(tmp_path / "mesh.vtk")
    assert b"COLOR_SCALARS" in (tmp_path / "mesh.vtk").read_bytes()
    assert np.array_equal(read_mesh(tmp_path / "mesh.vtk").point_data["rgb"], np.arange(36).reshape(12, 3))


@pytest.mark.parametrize("ending", ["stl", "ply", "obj"])
def test_surfaces(ending, tmp_path):
    cube = pyvista.Cube().triangulate().clean()
    cube.clear_data()
    cube.save(tmp_path / f"cube.{ending}")
    mesh = read_mesh(tmp_path / f"cube.{ending}")
    assert mesh.points.shape == (8, 3) and sum(len(nodes) for _, nodes in mesh.cells) == 12
    corners = np.concatenate([mesh.points[nodes] for _, nodes in mesh.cells])
    assert np.isclose(np.linalg.norm(np.cross(*np.diff(corners, axis=1).swapaxes(0, 1)), axis=1).sum() / 2, 6)


def test_obj_files_of_other_numbers(tmp_path, caplog):
    caplog.set_level(logging.INFO)
    points = "v 0 0 0\nv 1 0 0\nv 0 1 0.5\n"
    (tmp_path / "a.obj").write_text(points + "f -3 -2 -1\n")
    assert read_mesh(tmp_path / "a.obj").cells[0][1].tolist() == [[0, 1, 2]]
    mesh = written(tmp_path / "b.obj", points + "vn 0 0 1\nvn 0 1 0\nvn 1 0 0\nf 1//3 2//2 3//1\n")
    assert not mesh.point_data and "obj:vn left out" in caplog.text
    (tmp_path / "c.obj").write_text(points + "vn 0 0 1\nvn 0 1 0\nvn 1 0 0\nf 1//1 2//2 3//3\n")
    assert read_mesh(tmp_path / "c.obj").point_data["obj:vn"].tolist() == [[0, 0, 1], [0, 1, 0], [1, 0, 0]]
    (tmp_path / "d.obj").write_text(points + "f 1 2 3\nl 1 2\n")
    assert {kind for kind, _ in read_mesh(tmp_path / "d.obj").cells} == {"triangle", "line"}


def test_a_broken_file_gives_both_reasons(tmp_path):
    grid().save(tmp_path / "mesh.vtu")
    content = (tmp_path / "mesh.vtu").read_bytes()
    (tmp_path / "mesh.vtu").write_bytes(content[: len(content) // 2])
    with pytest.raises(ValueError, match=r"mesh\.vtu: Expected .*got from meshio: .*; from VTK: .*save it as \.vtu"):
        read_mesh(tmp_path / "mesh.vtu")


def test_polyhedra_are_refused(tmp_path):
    points = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]]
    faces = [4, 3, 0, 1, 2, 3, 0, 1, 3, 3, 1, 2, 3, 3, 0, 2, 3]
    pyvista.UnstructuredGrid([len(faces), *faces], [42], np.array(points)).save(tmp_path / "mesh.vtu")
    with pytest.raises(ValueError, match=r"polyhedra.*split them into tetrahedra"):
        read_mesh(tmp_path / "mesh.vtu")


def test_a_missing_pyvista_is_named(tmp_path, monkeypatch):
    pyvista.Sphere().save(tmp_path / "mesh.vtp")
    monkeypatch.setitem(sys.modules, "pyvista", None)
    with pytest.raises(UnreadableError, match=r"Expected PyVista.*pip install .pitgeo\[vtk\]"):
        read_with("VTK", tmp_path / "mesh.vtp")
    with pytest.raises(ValueError, match=r"pip install .pitgeo\[vtk\]"):
        write_mesh(tmp_path / "other.vtp", ZOO["triangles"])
    write_mesh(tmp_path / "other.vtu", ZOO["triangles"])
    assert len(read_mesh(tmp_path / "other.vtu").points) == 9


def test_polydata_holds_surfaces_alone(tmp_path):
    with pytest.raises(ValueError, match=r"\.vtp holds vertex, line, then triangle, quad and polygon cells, not tetra"):
        write_mesh(tmp_path / "mesh.vtp", ZOO["tetrahedra"])
    assert not list(tmp_path.iterdir())
