"""EnSight Gold: values and cells as written, as VTK reads intact files, and one error for damaged ones."""

import numpy as np
import pytest

from pitgeo.geometry.sizes import cell_sizes
from pitgeo.mesh import read_mesh
from pitgeo.mesh.reading import read_with
from tests.mesh.ensight_files import FORMS, Words, geometry, variable, write
from tests.mesh.helpers import CUBE, listed_cells

TWO = [
    (1, "left body", CUBE, [("hexa8", [range(8)]), ("quad4", [[0, 1, 2, 3]])]),
    (7, "right", np.add(CUBE, [1, 0, 0]), [("tetra4", [[0, 1, 3, 4], [1, 2, 3, 6]])]),
]
ALL = "scalar vector tensor~symm tensor~asym".replace("~", "_").split()


def two_parts(folder, form, **options):
    """A case of two parts with every kind of variable."""
    rng = np.random.default_rng(3)
    values, files, lines = {}, {"run.geo": geometry(TWO, **options)}, ["constant per case: Mach 0.5"]
    for kind, width in zip(ALL, (1, 3, 6, 9), strict=True):
        node = [np.round(rng.random((8, width)), 3) for _ in TWO]
        if kind != "scalar":  # else the seam would part
            node[1][[0, 3, 4, 7]] = node[0][[1, 2, 5, 6]]
        cell = [np.round(rng.random((n, width)), 3) for n in (1, 1, 2)]
        values[kind] = node, cell
        files[f"n.{kind}"] = variable([(1, [("coordinates", node[0])]), (7, [("coordinates", node[1])])])
        files[f"e.{kind}"] = variable([(1, [("hexa8", cell[0]), ("quad4", cell[1])]), (7, [("tetra4", cell[2])])])
        lines += [f"{kind.replace('_', ' ')} per node: n{kind} n.{kind}"]
        lines += [f"{kind.replace('_', ' ')} per element: e{kind} e.{kind}"]
    return write(folder, form, files, lines), values


def as_vtk(path, mesh):
    """Compares with VTK's reader, name by name."""
    other = read_with("VTK", path)
    assert np.allclose(other.points_in_space(), mesh.points_in_space(), atol=1e-6)
    assert [kind for kind, _ in other.cells] == [kind for kind, _ in mesh.cells]
    for (kind, mine), (_, theirs) in zip(mesh.cells, other.cells, strict=True):
        assert np.array_equal(np.sort(mine), np.sort(theirs)) if kind == "wedge" else np.array_equal(mine, theirs)
    assert {*mesh.point_data} == {*other.point_data}
    assert {*mesh.cell_data} == {*other.cell_data}
    for name, values in mesh.point_data.items():
        assert np.allclose(values, other.point_data[name], equal_nan=True, atol=1e-6), name
    for name, blocks in mesh.cell_data.items():
        for mine, theirs in zip(blocks, other.cell_data[name], strict=True):
            assert np.allclose(mine, theirs, equal_nan=True, atol=1e-6), name


@pytest.mark.parametrize("ids", ["off", "given", "assign", "ignore"])
@pytest.mark.parametrize("form", FORMS)
def test_what_is_written_is_read_and_as_vtk_does(tmp_path, form, ids):
    path, values = two_parts(tmp_path, form, ids=ids, extents=ids == "given")
    mesh = read_mesh(path)
    as_vtk(path, mesh)
    assert mesh.field_data["Mach"].tolist() == [0.5]
    assert mesh.cell_sets.keys() == {"left body", "right"}
    assert [kind for kind, _ in mesh.cells] == ["hexahedron", "quad", "tetra"]
    turned = [0, 1, 2, 3, 5, 4]
    for kind, order in (("vector", slice(None)), ("tensor_symm", turned), ("tensor_asym", slice(None))):
        node, cell = values[kind]
        corners = mesh.points[mesh.cells[0][1][0]]
        assert np.array_equal(corners, CUBE)
        assert np.allclose(mesh.point_data[f"n{kind}"][mesh.cells[0][1][0]], node[0][:, order], atol=1e-6)
        for mine, theirs in zip(mesh.cell_data[f"e{kind}"], cell, strict=True):
            assert np.allclose(mine, theirs[:, order], atol=1e-6)


def curved(kind):
    """Corners of a cell of volume or area 1 or so, with nodes on the middle of its edges, in EnSight's order."""
    square, up = np.array([[0, 0, 0], [2, 0, 0], [2, 2, 0], [0, 2, 0]], float), np.array([0, 0, 3.0])
    ring = [(0, 1), (1, 2), (2, 3), (3, 0)]
    triangle = [(0, 1), (1, 2), (2, 0)]
    corners, edges = {
        "bar": (square[:2], [(0, 1)]),
        "tria": (square[:3], triangle),
        "quad": (square, ring),
        "tetra": ([*square[:3], up], [*triangle, (0, 3), (1, 3), (2, 3)]),
        "pyramid": ([*square, up], [*ring, (0, 4), (1, 4), (2, 4), (3, 4)]),
        "penta": ([*square[:3], *(square[:3] + up)], [*triangle, (3, 4), (4, 5), (5, 3), (0, 3), (1, 4), (2, 5)]),
        "hexa": ([*square, *(square + up)], [*ring, (4, 5), (5, 6), (6, 7), (7, 4), (0, 4), (1, 5), (2, 6), (3, 7)]),
    }[kind]
    corners = np.array(corners, float)
    middles = [corners[list(edge)].mean(0) for edge in edges]
    if kind == "bar":  # its middle comes second
        return corners, np.array([corners[0], middles[0], corners[1]])
    return corners, np.concatenate([corners, middles])


@pytest.mark.parametrize("form", ["text", ">"])
@pytest.mark.parametrize(
    ("kind", "names", "size"),
    [
        ("bar", "line line3", 2),
        ("tria", "triangle triangle6", 2),
        ("quad", "quad quad8", 4),
        ("tetra", "tetra tetra10", 2),
        ("pyramid", "pyramid pyramid13", 4),
        ("penta", "wedge wedge15", 6),
        ("hexa", "hexahedron hexahedron20", 12),
    ],
)
def test_elements_have_their_sizes_and_the_middles_of_their_edges(tmp_path, kind, names, size, form):
    for points, name in zip(curved(kind), names.split(), strict=True):
        nodes = np.arange(len(points))
        part = (1, "only", points, [(f"{kind}{len(points)}", [nodes])])
        path = write(tmp_path, form, {"run.geo": geometry([part])})
        mesh = read_mesh(path)
        assert [found for found, _ in mesh.cells] == [name]
        dimension = {"bar": 1, "tria": 2, "quad": 2}.get(kind, 3)
        assert cell_sizes(mesh)[0, 0] ** dimension == pytest.approx(size)
        own = mesh.points_in_space()[mesh.cells[0][1][0]]
        corners = len(curved(kind)[0])
        assert np.array_equal(own[:corners], curved(kind)[0])
        if name == "line3":
            assert np.array_equal(own[2], own[:2].mean(0))
        else:
            assert np.array_equal(own, points)
        if kind in ("tetra", "penta", "hexa"):  # the first face is the bottom, seen from the top
            normal = np.cross(own[1] - own[0], own[2] - own[0])
            assert normal @ (own[corners - 1] - own[0]) > 0
        as_vtk(path, mesh)


@pytest.mark.parametrize("form", FORMS)
def test_polygons_points_and_ghosts(tmp_path, form):
    points = np.random.default_rng(0).random((6, 3))
    sided = [[0, 1, 2], [1, 2, 3, 4], [2, 3, 4, 5], [0, 1, 2, 3, 5]]
    parts = [(3, "a", points, [("nsided", sided), ("g_tria3", [[0, 1, 5]])])]
    values = variable([(3, [("nsided", [1, 2, 3, 4]), ("g_tria3", [9])])])
    mesh = read_mesh(write(tmp_path, form, {"run.geo": geometry(parts), "c": values}, ["scalar per element: c c"]))
    assert listed_cells(mesh) == [("polygon", sided[:1]), ("polygon", sided[1:3]), ("polygon", sided[3:])]
    assert np.concatenate(mesh.cell_data["c"]).tolist() == [1, 2, 3, 4]
    assert any("1 " in note.text and "ghost" in note.text for note in mesh.notes)
    parts = [(3, "a", points, [("point", [[2], [0]]), ("bar2", [[1, 4]])])]
    mesh = read_mesh(write(tmp_path, form, {"run.geo": geometry(parts)}))
    assert listed_cells(mesh) == [("vertex", [[2], [0]]), ("line", [[1, 4]])]


def test_polygons_are_as_vtk_reads_them(tmp_path):
    parts = [(3, "a", np.random.default_rng(0).random((6, 3)), [("nsided", [[0, 1, 2], [1, 2, 3, 4], [0, 2, 3, 5]])])]
    path = write(tmp_path, "<", {"run.geo": geometry(parts)})
    as_vtk(path, read_mesh(path))


def block(words, sizes, *items, number=1):
    """A geometry file of one block."""
    out = Words().text("one", "two", "node id off", "element id off", "part").wholes([number])
    out.text("grid", " ".join(["block", *words])).wholes(sizes, 3)
    for item in items:
        out.extend(item)
    return out


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("sizes", [(3, 4, 2), (3, 4, 1), (1, 3, 2), (3, 1, 2), (4, 1, 1)])
@pytest.mark.parametrize("shape", ["curvilinear", "rectilinear", "uniform", ""])
def test_blocks(tmp_path, form, sizes, shape):
    axes = [np.arange(size) * step + start for size, step, start in zip(sizes, (0.5, 1, 2), (1, 0, -1), strict=True)]
    z, y, x = np.meshgrid(*axes[::-1], indexing="ij")
    points = np.stack([x.ravel(), y.ravel(), z.ravel()], 1)
    cells = int(np.prod([max(1, size - 1) for size in sizes]))
    data = {
        "rectilinear": [Words().reals(axis) for axis in axes],
        "uniform": [Words().reals([1, 0, -1]).reals([0.5, 1, 2])],
    }.get(shape, [Words().reals(points.T)])
    node, cell = np.arange(len(points)) + 0.5, np.arange(cells) + 0.25
    files = {"run.geo": block([shape] if shape else [], sizes, *data)}
    files |= {"n": variable([(1, [("block", node)])]), "c": variable([(1, [("block", cell)])])}
    path = write(tmp_path, form, files, ["scalar per node: n n", "scalar per element: c c"])
    mesh = read_mesh(path)
    assert np.allclose(mesh.points_in_space(), points) and mesh.point_data["n"].tolist() == node.tolist()
    assert np.array_equal(np.concatenate(mesh.cell_data["c"]), cell)
    lengths = [axis[1] - axis[0] for axis in axes if len(axis) > 1]
    size = cell_sizes(mesh) ** len(lengths)
    assert size.shape == (cells, 1) and np.allclose(size, np.prod(lengths))
    if form != "text" and not form.startswith("Fortran"):
        as_vtk(path, mesh)


@pytest.mark.parametrize("form", FORMS)
def test_blanked_nodes_ghosts_and_ranges_of_blocks(tmp_path, form):
    axes = [np.arange(4.0), np.arange(3.0)]
    y, x = np.meshgrid(*axes[::-1], indexing="ij")
    points = np.stack([x.ravel(), y.ravel(), 0 * x.ravel()], 1)
    blanks, ghosts = np.ones(12, int), np.zeros(6, int)
    blanks[0], ghosts[5] = 0, 1
    files = {
        "run.geo": block(
            ["iblanked", "with_ghost", "range"],
            (9, 9, 1),
            Words().wholes([2, 5, 3, 5, 1, 1], 2),
            Words().reals(points.T),
            Words().wholes(blanks),
            Words().text("ghost_flags").wholes(ghosts),
            Words().text("node_ids").wholes(range(12)),
        ),
        "c": variable([(1, [("block", np.arange(6))])]),
        "n": variable([(1, [("block", np.arange(12))])]),
    }
    mesh = read_mesh(write(tmp_path, form, files, ["scalar per element: c c", "scalar per node: n n"]))
    assert np.concatenate(mesh.cell_data["c"]).tolist() == [1, 2, 3, 4]
    assert np.array_equal(mesh.points[:, 0] + 4 * mesh.points[:, 1], mesh.point_data["n"])
    assert len(mesh.points) == 10 and any("ghost" in note.text for note in mesh.notes)


@pytest.mark.parametrize("form", FORMS)
def test_values_that_are_not_there_are_not_a_number(tmp_path, form):
    node, cell = np.arange(8) + 1.0, [[5.0, 6, 7]]
    files = {
        "run.geo": geometry(TWO),
        "u": Words().text("u", "part").wholes([1]).text("coordinates undef").reals([-9]).reals([-9, *node[1:]]),
        "p": Words().text("p", "part").wholes([1]).text("hexa8 partial").wholes([1]).wholes([1]),
    }
    files["p"].reals(np.transpose(cell)).text("quad4 partial").wholes([0])
    files["u"].text("part").wholes([7]).text("coordinates partial").wholes([2]).wholes([3, 7]).reals([30, 40])
    files["p"].text("part").wholes([7]).text("tetra4 undef").reals([1e9]).reals([[1, 1e9], [1e9, 1e9], [2, 3]])
    mesh = read_mesh(write(tmp_path, form, files, ["scalar per node: u u", "vector per element: p p"]))
    points = np.concatenate([TWO[0][2], TWO[1][2]])
    expected = np.array([np.nan, *node[1:], *[np.nan] * 8])
    expected[[10, 14]] = 30, 40
    for place, value in zip(mesh.points, mesh.point_data["u"], strict=True):
        known = expected[(points == place).all(1)]
        known = known[~np.isnan(known)]
        assert np.isnan(value) if not len(known) else value in known
    left, none, right = mesh.cell_data["p"]
    assert left.tolist() == cell and np.isnan(none).all()
    assert np.array_equal(right, [[1, np.nan, 2], [np.nan, np.nan, 3]], equal_nan=True)


def test_a_part_without_values_is_not_a_number_where_the_file_cannot_be_cut(tmp_path):
    files = {"run.geo": geometry(TWO), "c": variable([(7, [("tetra4", [3, 4])])])}
    mesh = read_mesh(write(tmp_path, "text", files, ["scalar per element: c c"]))
    assert np.array_equal(np.concatenate(mesh.cell_data["c"]), [np.nan, np.nan, 3, 4], equal_nan=True)
    assert any(note.text == "'c' has no values on part 1 'left body': not-a-number there" for note in mesh.notes)
    for first in ([("hexa8", [1]), ("quad4", [2])], []):
        write(tmp_path, "text", {"run.geo": geometry(TWO), "c": variable([(1, first)])}, ["scalar per element: c c"])
        with pytest.raises(ValueError, match=r"run\.case: Expected values of part 7 'right', tetra4 in c of 'c' \(got"):
            read_mesh(tmp_path / "run.case")


def test_what_vtk_writes_is_read(tmp_path):
    """By an independent writer, in C Binary; it sorts the cells by their types."""
    pyvista = pytest.importorskip("pyvista")
    writer = pytest.importorskip("vtkmodules.vtkIOParallel").vtkEnSightWriter()
    rng = np.random.default_rng(0)
    cells = [4, 0, 1, 2, 3, 8, *range(4, 12), 6, *range(12, 18), 3, 0, 1, 19, 5, 0, 1, 2, 3, 18]
    grid = pyvista.UnstructuredGrid(np.array(cells), np.array([10, 12, 13, 5, 14], np.uint8), rng.random((20, 3)))
    grid.point_data["T"], grid.point_data["v"] = rng.random(20), rng.random((20, 3))
    grid.cell_data["c"] = rng.random(5)
    writer.SetFileName(str(tmp_path / "out"))
    writer.SetInputData(grid)
    writer.Write()
    writer.WriteCaseFile(1)
    mesh = read_mesh(tmp_path / "out.0.case")
    assert np.array_equal(mesh.points, np.float32(grid.points))
    assert np.allclose(mesh.point_data["T_n"], grid.point_data["T"], atol=1e-6)
    assert np.allclose(mesh.point_data["v_n"], grid.point_data["v"], atol=1e-6)
    nodes = {kind: rows.tolist() for kind, rows in mesh.cells}
    assert nodes["tetra"] == [[0, 1, 2, 3]] and nodes["hexahedron"] == [[*range(4, 12)]]
    assert nodes["triangle"] == [[0, 1, 19]] and nodes["pyramid"] == [[0, 1, 2, 3, 18]]
    assert sorted(nodes["wedge"][0]) == [*range(12, 18)]
    order = [3, 0, 1, 2, 4]
    assert [kind for kind, _ in mesh.cells] == ["triangle", "tetra", "hexahedron", "wedge", "pyramid"]
    assert np.allclose(np.concatenate(mesh.cell_data["c_c"]), grid.cell_data["c"][order], atol=1e-6)
