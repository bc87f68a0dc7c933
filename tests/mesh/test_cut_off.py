"""Files that end too early are refused, not read as far as they go."""

import meshio
import numpy as np
import pytest

from pitgeo.mesh import read_mesh

POINTS = np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [2, 0, 0.5]])
TRIANGLES = np.array([[0, 1, 2], [0, 2, 3], [1, 4, 2]])
T = np.array([1.5, -2.0, 3.25, 4.0, 77.0])


def written(path, **options):
    fields = {"point_data": {"T": T}} if path.suffix != ".stl" else {}
    meshio.Mesh(POINTS, [("triangle", TRIANGLES)], **fields).write(path, **options)
    return path


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("ending", ["ply", "stl", "vtk"])
def test_a_file_without_its_end_is_refused(ending, binary, tmp_path):
    pytest.importorskip("pyvista")
    path = written(tmp_path / f"mesh.{ending}", binary=binary)
    whole = read_mesh(path)
    assert len(whole.points) == 5 and whole.number_of_cells == 3
    if ending != "stl":
        assert np.array_equal(np.ravel(whole.point_data["T"]), T)
    content = path.read_bytes()
    for part in (0.4, 0.7, 0.9, 0.97):
        path.write_bytes(content[: int(part * len(content))])
        with pytest.raises(ValueError, match=rf"mesh\.{ending}: Expected a mesh file that meshio or VTK reads"):
            read_mesh(path)


@pytest.mark.parametrize("binary", [False, True])
def test_legacy_files_that_vtk_alone_reads_are_refused_without_their_end(binary, tmp_path):
    pyvista = pytest.importorskip("pyvista")
    path = tmp_path / "mesh.vtk"
    grid = pyvista.PolyData(POINTS, faces=np.insert(TRIANGLES, 0, 3, axis=1).ravel())
    grid.point_data["T"] = T
    grid.save(path, binary=binary)
    assert np.array_equal(read_mesh(path).point_data["T"], T)
    content = path.read_bytes()
    for cut in (4, 30):
        path.write_bytes(content.rstrip()[:-cut])
        with pytest.raises(ValueError, match=r"mesh\.vtk: Expected a mesh file"):
            read_mesh(path)


def test_a_polygon_of_two_corners_is_refused(tmp_path):
    (tmp_path / "mesh.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\nf 1 2\n")
    with pytest.raises(ValueError, match=r"mesh\.obj: Expected .*polygons of at least 3 corners \(got 2\)"):
        read_mesh(tmp_path / "mesh.obj")
