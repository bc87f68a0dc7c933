"""Files that other programs wrote, each compared with what another reader finds in it."""

import re
from pathlib import Path

import numpy as np
import pytest

from pitgeo.mesh import centroids, read_mesh, result_name, write_mesh
from tests.mesh import vtk_xml

CASES = Path(__file__).parents[3] / "shared" / "cases"
pytestmark = pytest.mark.skipif(not CASES.is_dir(), reason="other programs' meshes are not beside the project")

FILES = {  # points, axes, cells in each block
    "fields/can.vtu": (6724, 3, [4800]),
    "fields/car_0.vtu": (3586, 3, [7168]),
    "fields/car_1.vtu": (3586, 3, [7168]),
    "fields/car_2.vtu": (3586, 3, [7168]),
    "fields/notch_disp.vtu": (12717, 3, [1172, 2, 38, 2, 978]),
    "fields/notch_stress_fixed.vtk": (3537, 3, [1172, 2, 38, 2, 978]),
    "fields/post.vtk": (2288, 3, [8750]),
    "hard/0012_20.bdf": (2112, 3, [50, 2000, 1, 41, 1, 13, 1, 41, 1, 13]),
    "hard/disk_out_ref_surface.vtp": (1990, 3, [1988]),
    "hard/exodusii_noh.exo": (22, 2, [5, 5]),
    "hard/fea_beam_index_column.su2": (1331, 2, [1200, 260]),
    "hard/tigerfighter_decimated.obj": (15713, 3, [31421]),
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
}
BY_VTK = ["fields/can.vtu", "fields/notch_disp.vtu", "hard/disk_out_ref_surface.vtp"]


def test_no_file_is_forgotten():
    found = {
        f"{path.parent.name}/{path.name}"
        for folder in ("fields", "hard", "meshes")
        for path in (CASES / folder).iterdir()
    }
    assert found == set(FILES)


def connectivity(mesh):
    return np.concatenate([nodes.ravel() for _, nodes in mesh.cells])


@pytest.mark.parametrize("name", FILES)
def test_files_are_read_and_go_through_their_results(name, tmp_path):
    mesh = read_mesh(CASES / name)
    assert (*mesh.points.shape, [len(nodes) for _, nodes in mesh.cells]) == FILES[name]
    assert all(values.dtype.isnative for values in mesh.point_data.values())
    assert centroids(mesh).shape == (mesh.number_of_cells, mesh.points.shape[1])
    path = tmp_path / result_name(CASES / name)
    write_mesh(path, mesh)
    again = read_mesh(path)
    assert np.array_equal(again.points, mesh.points) and set(again.point_data) == set(mesh.point_data)
    assert np.array_equal(connectivity(again), connectivity(mesh))
    assert set(again.cell_data) == set(mesh.cell_data) and set(again.field_data) == set(mesh.field_data)
    assert set(again.point_sets) == set(mesh.point_sets) and set(again.cell_sets) == set(mesh.cell_sets)


@pytest.mark.parametrize(
    "name", [name for name in FILES if name not in BY_VTK and name.endswith((".vtu", ".vtk", ".ply", ".obj"))]
)
def test_as_vtk_reads_them(name):
    numpy_support = pytest.importorskip("vtkmodules.util.numpy_support")
    grid, mesh = pytest.importorskip("pyvista").read(CASES / name), read_mesh(CASES / name)
    assert np.array_equal(mesh.points_in_space().astype(grid.points.dtype), grid.points)
    grid = grid.cast_to_unstructured_grid()
    offsets = numpy_support.vtk_to_numpy(grid.GetCells().GetOffsetsArray())
    assert np.array_equal([nodes.shape[1] for _, nodes in mesh.cells for _ in nodes], np.diff(offsets))
    mine = [np.sort(row) for _, nodes in mesh.cells for row in nodes]  # meshio turns wedges round
    assert np.array_equal(
        np.concatenate(mine),
        np.concatenate([np.sort(part) for part in np.split(grid.cell_connectivity, offsets[1:-1])]),
    )
    names = {name for name in grid.point_data if name not in ("Normals",)}
    assert set(mesh.point_data) == names
    for field in names:
        assert np.array_equal(
            mesh.point_data[field].reshape(len(mesh.points), -1), grid.point_data[field].reshape(len(mesh.points), -1)
        )
    for field in mesh.cell_data.keys() & set(grid.cell_data):
        assert np.array_equal(np.concatenate(mesh.cell_data[field]).ravel(), grid.cell_data[field].ravel())
    for field in grid.field_data:
        assert np.array_equal(np.ravel(mesh.field_data[field]), np.ravel(grid.field_data[field]))


@pytest.mark.parametrize("name", BY_VTK)
def test_what_vtk_reads_is_what_the_files_hold(name):
    pytest.importorskip("pyvista")
    mesh, held = read_mesh(CASES / name), vtk_xml.arrays(CASES / name)
    points = next(values for (section, _), values in held.items() if section == "Points")
    assert np.array_equal(mesh.points, points)
    section = "Polys" if name.endswith(".vtp") else "Cells"
    assert np.array_equal(connectivity(mesh), held[section, "connectivity"])
    sizes = [nodes.shape[1] for _, nodes in mesh.cells for _ in nodes]
    assert np.array_equal(np.cumsum(sizes), held[section, "offsets"])
    fields = {"PointData": mesh.point_data, "CellData": mesh.cell_data, "FieldData": mesh.field_data}
    for section, found in fields.items():
        assert set(found) == {field for part, field in held if part == section}
        for field, values in found.items():
            values = np.concatenate(values) if section == "CellData" else values
            assert np.array_equal(values, held[section, field]) and values.dtype == held[section, field].dtype


def gmsh(path):
    """Coordinates and the nodes of all cells, by the format's description."""
    content = path.read_bytes()
    sections = {
        name: re.search(rb"\$" + name + rb"\n(.*?)\n?\$End", content, re.DOTALL)[1] for name in (b"Nodes", b"Elements")
    }
    if b"4.1 1 8" in content[:40]:
        nodes, elements = sections[b"Nodes"], sections[b"Elements"]
        assert np.frombuffer(nodes, "<i8", 1)[0] == np.frombuffer(elements, "<i8", 1)[0] == 1  # one block
        count, position = int(np.frombuffer(nodes, "<i8", 1, 44)[0]), 52
        numbers = np.frombuffer(nodes, "<i8", count, position)
        points = np.frombuffer(nodes, "<f8", 3 * count, position + 8 * count).reshape(-1, 3)
        count = int(np.frombuffer(elements, "<i8", 1, 44)[0])
        rows = np.frombuffer(elements, "<i8", 4 * count, 52).reshape(-1, 4)[:, 1:].tolist()
    elif b"2.2" in content[:40]:
        table = [line.split() for line in sections[b"Nodes"].decode().splitlines()[1:]]
        numbers, points = [int(row[0]) for row in table], [[float(word) for word in row[1:]] for row in table]
        table = [[int(word) for word in line.split()] for line in sections[b"Elements"].decode().splitlines()[1:]]
        rows = [row[3 + row[2] :] for row in table]
    else:
        numbers, points, rows = [], [], []
        lines = [line.split() for line in sections[b"Nodes"].decode().splitlines()[1:]]
        while lines:
            count = int(lines[0][3])
            numbers += [int(line[0]) for line in lines[1 : 1 + count]]
            points += [[float(word) for word in line] for line in lines[1 + count : 1 + 2 * count]]
            lines = lines[1 + 2 * count :]
        lines = [line.split() for line in sections[b"Elements"].decode().splitlines()[1:]]
        while lines:
            count = int(lines[0][3])
            rows += [[int(word) for word in line[1:]] for line in lines[1 : 1 + count]]
            lines = lines[1 + count :]
    place = {number: k for k, number in enumerate(numbers)}
    return np.array(points), [place[number] for row in rows for number in row]


@pytest.mark.parametrize("name", [name for name in FILES if name.endswith(".msh")])
def test_gmsh_files(name):
    points, nodes = gmsh(CASES / name)
    mesh = read_mesh(CASES / name)
    assert np.array_equal(mesh.points_in_space(), points)
    assert np.array_equal(connectivity(mesh), nodes)


def test_physical_names_of_gmsh_are_sets():
    mesh = read_mesh(CASES / "meshes/square.msh")
    assert set(mesh.cell_sets) == {"left", "right", "top", "all"}
    middles = np.split(centroids(mesh), [24])[0]
    for name, axis, value in (("left", 0, 0.0), ("right", 0, 1.0), ("top", 1, 1.0)):
        assert np.array_equal(mesh.cell_sets[name][0], np.flatnonzero(np.abs(middles[:, axis] - value) < 1e-12))
        assert not len(mesh.cell_sets[name][1])
    mesh = read_mesh(CASES / "meshes/annulus.msh")  # version 4.1
    radii = np.linalg.norm(centroids(mesh), axis=1)
    sizes = [len(nodes) for _, nodes in mesh.cells]
    rings = np.split(radii, np.cumsum(sizes)[:-1])
    assert rings[0][mesh.cell_sets["inter"][0]].max() < rings[1][mesh.cell_sets["exter"][1]].min()
    assert [len(part) for part in mesh.cell_sets["all"]] == [0, 0, 98]


def test_nastran_files():
    for name in ("meshes/cube.bdf", "hard/0012_20.bdf"):
        points, shells, last = {}, [], None
        for line in (CASES / name).read_text().splitlines():
            words = [line[k : k + 8].strip() for k in range(0, len(line), 8)]
            if words and words[0] == "GRID*":  # fields of 16 characters, the third coordinate on the next line
                last, xy = int(line[8:24]), [float(line[40:56]), float(line[56:72])]
            elif words and words[0] == "*" and last:
                points[last], last = [*xy, float(line[8:24])], None
            elif words and words[0] == "GRID":
                points[int(words[1])] = [float(re.sub(r"(?<=[\d.])([+-])", r"e\1", word)) for word in words[3:6]]
            elif words and words[0] in ("CQUAD4", "CTRIA3", "CBAR"):
                shells.append([int(word) for word in words[3 : 3 + {"CQUAD4": 4, "CTRIA3": 3, "CBAR": 2}[words[0]]]])
        mesh = read_mesh(CASES / name)
        assert np.array_equal(mesh.points, list(points.values()))
        if shells:
            place = {number: k for k, number in enumerate(points)}
            assert np.array_equal(connectivity(mesh), [place[number] for row in shells for number in row])


def test_abaqus_file():
    text = (CASES / "meshes/abaqus_tri.inp").read_text()
    rows = [
        [float(word) for word in line.split(",")]
        for line in re.search(r"\*Node\n(.*?)\*", text, re.DOTALL)[1].splitlines()
    ]
    cells = [
        [int(word) - 1 for word in line.split(",")]
        for line in re.search(r"CPS3\n(.*?)\*", text, re.DOTALL)[1].splitlines()
    ]
    mesh = read_mesh(CASES / "meshes/abaqus_tri.inp")
    assert np.array_equal(mesh.points, np.array(rows)[:, 1:3])
    assert np.array_equal(mesh.cells[0][1], np.array(cells)[:, 1:])


def test_medit_file():
    words = (CASES / "meshes/square_triquad.mesh").read_text().split()
    start = words.index("Vertices") + 2
    table = np.array(words[start : start + 3 * 470]).reshape(-1, 3).astype(float)
    mesh = read_mesh(CASES / "meshes/square_triquad.mesh")
    assert np.array_equal(mesh.points, table[:, :2]) and np.array_equal(mesh.point_data["medit:ref"], table[:, 2])
    for block, (name, width) in enumerate((("Triangles", 4), ("Quadrilaterals", 5))):
        start = words.index(name) + 1
        table = np.array(words[start + 1 : start + 1 + width * int(words[start])]).reshape(-1, width).astype(int)
        assert np.array_equal(mesh.cells[block][1], table[:, :-1] - 1)
        assert np.array_equal(mesh.cell_data["medit:ref"][block], table[:, -1])


def test_su2_file_with_an_index_column():
    text = (CASES / "hard/fea_beam_index_column.su2").read_text()
    lines = text.split("NPOIN= 1331\n")[1].splitlines()[:1331]
    mesh = read_mesh(CASES / "hard/fea_beam_index_column.su2")
    assert np.array_equal(mesh.points, [[float(word) for word in line.split()[:2]] for line in lines])
    lines = text.split("NELEM= 1200\n")[1].splitlines()[:1200]
    assert np.array_equal(mesh.cells[0][1], [[int(word) for word in line.split()[1:5]] for line in lines])


def test_exodus_file():
    file = pytest.importorskip("netCDF4").Dataset(CASES / "hard/exodusii_noh.exo")
    mesh = read_mesh(CASES / "hard/exodusii_noh.exo")
    with file:
        assert np.array_equal(mesh.points, np.stack([file["coordx"][:], file["coordy"][:]], 1))
        for block, (_, nodes) in enumerate(mesh.cells, start=1):
            assert np.array_equal(nodes, file[f"connect{block}"][:] - 1)
        names = ["".join(letter.decode() for letter in row.compressed()) for row in file["name_nod_var"][:]]
        assert {name.strip("\0") for name in names} == set(mesh.point_data)
        for k, name in enumerate(names, start=1):
            assert np.array_equal(mesh.point_data[name.strip("\0")], file[f"vals_nod_var{k}"][0])
        numbers = file["ns_prop1"][:].tolist()
        for k, number in enumerate(numbers, start=1):
            assert np.array_equal(mesh.point_sets[f"node set {number}"], np.sort(file[f"node_ns{k}"][:] - 1))
        assert len(mesh.point_sets) == len(numbers) == 4
