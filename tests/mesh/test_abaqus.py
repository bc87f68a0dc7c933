"""Abaqus input files are read as Abaqus reads them, or refused."""

import numpy as np
import pytest

from pitgeo.mesh import centroids, read_mesh, write_mesh
from pitgeo.mesh.abaqus.elements import kind_of
from pitgeo.mesh.cell_types import CORNERS, SHAPES, VTK_NUMBERS, base, dimension
from tests.geometry.test_geometry_cells import reference
from tests.mesh import helpers
from tests.mesh.helpers import assert_same_data, listed, listed_cells, texts, written

ABAQUS = """*Heading
 a comment, nset=none
*NODE, NSET=All
 10, 0., 0.
 20, 1., 0.
 30, 1., 1.
 40, 0., 1.
 50, 2., 0.
*ELEMENT, TYPE=CPS3
 1, 10, 20, 30
 2, 10, 30, 40
** in two lines
*Element, type=CPS4, elset="Right half"
 7, 20, 50,
 30, 40
*ELSET, ELSET=Left, GENERATE
 1, 2, 1
*Elset, elset=Both
 left, 7
*Nset, nset=Corners
 10, 20,
 50
*NSET, NSET=Step, GENERATE
 10, 50, 20
*NSET, NSET=Odd
 Corners, 40, Nowhere
"""


def read(tmp_path, text):
    return written(tmp_path / "mesh.inp", text)


def test_sets_of_abaqus_files(tmp_path):
    mesh = read(tmp_path, ABAQUS)
    assert listed(mesh.point_sets) == {
        "All": [0, 1, 2, 3, 4],
        "Corners": [0, 1, 4],
        "Step": [0, 2, 4],
        "Odd": [0, 1, 3, 4],
    }
    assert listed(mesh.cell_sets) == {"Right half": [[], [0]], "Left": [[0, 1], []], "Both": [[0, 1], [0]]}
    assert [note.kind for note in mesh.notes] == ["set left out"] and "'Nowhere'" in mesh.notes[0].text
    for ending in ("vtu", "vtk", "xdmf"):
        write_mesh(tmp_path / f"again.{ending}", mesh)
        again = read_mesh(tmp_path / f"again.{ending}")
        assert not again.point_data and not again.cell_data
        assert_same_data(mesh, again, "point_sets", "cell_sets")


def test_a_broken_set_is_one_clear_error(tmp_path):
    with pytest.raises(
        ValueError, match=r"mesh\.inp: Expected a whole number where 'b' stands .got '1, b, 1' in line 17"
    ):
        read(tmp_path, ABAQUS.replace(" 1, 2, 1", " 1, b, 1"))


ROWS = "*Node\n" + "".join(f"{k + 1}, {k % 5}., {k // 5}.\n" for k in range(15))
QUADS = [[a, a + 1, a + 6, a + 5] for a in (0, 1, 2, 3, 5, 6, 7, 8)]
CELLS = "*Element, type=CPS4, elset=All\n" + "".join(
    f"{k + 1}, {', '.join(str(node + 1) for node in nodes)}\n" for k, nodes in enumerate(QUADS)
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("*Nset, nset=A,\n generate\n1, 5, 1\n", [0, 1, 2, 3, 4]),
        ("*Nset,\n** between\nnset=A,\n\nGENERATE\n1, 5\n", [0, 1, 2, 3, 4]),
        ("*NSET, GENERATE, NSET=A\n5, 1, -1\n", [0, 1, 2, 3, 4]),
        ("*Nset, nset=A, generate\n15, 5, -5\n 2, 2, 0\n", [1, 4, 9, 14]),
        ("*Nset, nset=A, generate\n11, 2000000000, 2\n", [10, 12, 14]),
        ("*Nset, nset=A, unsorted\n9, 3\n*Nset, nset=a\n1,\n", [0, 2, 8]),
        ("*Nset, nset=left side\n6, 1\n*Nset, nset=A\nLEFTSIDE, 2\n", [0, 1, 5]),
        ('*Nset, nset="one, two"\n3\n*Nset, nset=A\n"one, two", 2\n', [1, 2]),
        ("*Elset, elset=E\n1, 8\n*Nset, nset=A, elset=e\n", [0, 1, 5, 6, 8, 9, 13, 14]),
        ("*Surface, name=A, type=element\nAll, S4\n", [0, 1, 2, 3, 5, 6, 7, 8, 10, 11, 12, 13]),
        ("*Surface, name=A\n1, S4\n5, S4\n", [0, 5, 10]),
        ("*Nset, nset=n\n4, 5\n*Surface, type=NODE, name=A\n N,\n1, 0.5\n", [0, 3, 4]),
    ],
)
def test_members_of_sets(tmp_path, text, expected):
    mesh = read(tmp_path, ROWS + CELLS + text)
    assert mesh.point_sets["A"].tolist() == expected


def test_quoted_names_keep_their_case(tmp_path):
    mesh = read(
        tmp_path, ROWS + '*Nset, nset="Wall"\n1\n*Nset, nset=WALL\n2\n*Nset, nset=wall\n3\n*Nset, nset=B\n"Wall"\n'
    )
    assert listed(mesh.point_sets) == {"Wall": [0], "WALL": [1, 2], "B": [0]}


def test_rows_of_elements(tmp_path):
    mesh = read(
        tmp_path, ROWS + "*Element, type=CPS4, elset=first\n1, 1, 2, 7, 6\n*Elgen, elset=all\n1, 4, 1, 1, 2, 5, 4\n"
    )
    assert listed_cells(mesh) == [("quad", QUADS)]
    assert listed(mesh.cell_sets) == {"first": [[0]], "all": [[*range(8)]]}


def test_a_grid_of_nodes_and_elements_in_space(tmp_path):
    """Four lines of 4 nodes in a row, each with its own increment, and 3 x 1 x 1 elements; backwards and forwards."""
    ends = [(1, 7, 0, 0), (11, 17, 1, 0), (101, 107, 0, 2), (111, 117, 1, 2)]
    text = "*NODE\n" + "".join(f"{a}, 0., {y}., {z}.\n{b}, 3.D0, {y}., {z}.\n" for a, b, y, z in ends)
    text += "*NGEN, NSET=low\n1, 7, 2\n17, 11, -2\n*NGEN\n101, 107, 2\n111, 117, 2\n"
    text += "*ELEMENT, TYPE=C3D8R\n5, 1, 3, 13, 11, 101, 103,\n113, 111\n*ELGEN\n5, 3, 2, 10\n"
    mesh = read(tmp_path, text)
    assert sorted(mesh.points.tolist()) == sorted([x, y, z] for x in range(4) for y in (0, 1) for z in (0, 2))
    kind, nodes = mesh.cells[0]
    corners = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 2], [1, 0, 2], [1, 1, 2], [0, 1, 2]])
    assert kind == "hexahedron"
    assert np.array_equal(mesh.points[nodes], corners + np.array([[k, 0, 0] for k in range(3)])[:, None])
    assert sorted(mesh.points[mesh.point_sets["low"]].tolist()) == sorted([x, y, 0] for x in range(4) for y in (0, 1))


def test_layers_of_elements(tmp_path):
    nodes = [(x, y, z) for z in range(3) for y in range(4) for x in range(3)]
    text = "*Node\n" + "".join(f"{k}, {x}, {y}, {z}\n" for k, (x, y, z) in enumerate(nodes, 1))
    text += "*Element, type=C3D8\n1, 1, 2, 5, 4, 13, 14, 17, 16\n*Elgen\n1, 2, , , 3, 3, 2, 2, 12, 100\n"
    text += "*Elset, elset=top, generate\n101, 106\n"
    mesh = read(tmp_path, text)
    expected = [[x + 0.5, y + 0.5, z + 0.5] for z in range(2) for y in range(3) for x in range(2)]
    assert np.array_equal(centroids(mesh), expected)
    assert listed(mesh.cell_sets) == {"top": [[*range(6, 12)]]}


def test_what_is_given_again_counts_last(tmp_path):
    text = "*Node\n1, 0., 0.\n2, 1., 0.\n3, 1., 1.\n4, 0., 5.\n*Element, type=CPS3\n1, 1, 2, 3\n2, 1, 3, 4\n"
    text += "*Node\n4, 0., 1.\n*Element, type=CPS4\n1, 1, 2, 3, 4\n*Elset, elset=a\n1\n"
    mesh = read(tmp_path, text)
    assert mesh.points.tolist() == [[0, 0], [1, 0], [1, 1], [0, 1]]
    assert listed_cells(mesh) == [("triangle", [[0, 2, 3]]), ("quad", [[0, 1, 2, 3]])]
    assert listed(mesh.cell_sets) == {"a": [[], [0]]}
    assert [note.text[:24] for note in mesh.notes] == ["1 nodes given again; of ", "1 elements given again; "]


def test_coordinates_that_are_left_out_are_zero(tmp_path):
    mesh = read(tmp_path, "*Node\n1\n2, 1.\n3, , 2.\n4, 1.5D+1, 0, 3e0,\n5, 1., 1., 1., 0., 0., 1.\n")
    assert mesh.points.tolist() == [[0, 0, 0], [1, 0, 0], [0, 2, 0], [15, 0, 3], [1, 1, 1]]


def test_lines_of_three_nodes_have_their_middle_last(tmp_path):
    mesh = read(tmp_path, ROWS + "*Element, type=B22\n1, 1, 2, 3\n*Element, type=B31\n2, 3, 4, 15\n3, 4, 5\n")
    assert listed_cells(mesh) == [("line3", [[0, 2, 1]]), ("line", [[2, 3], [3, 4]])]
    assert [note.kind for note in mesh.notes] == ["orientation"]


def test_springs_and_masses_are_left_out(tmp_path):
    text = ROWS + CELLS + "*Element, type=MASS, elset=m\n90, 1\n*Element, type=SPRINGA, elset=m\n91, 1, 15\n"
    text += "*Element, type=CONN3D2\n92, , 4\n*Elset, elset=both\n8, 90, 91\n"
    mesh = read(tmp_path, text)
    assert mesh.number_of_cells == 8
    assert listed(mesh.cell_sets) == {"All": [[*range(8)]], "m": [[]], "both": [[7]]}
    assert texts(mesh) == [f"1 elements {name} left out" for name in ("MASS", "SPRINGA", "CONN3D2")]


PART = """*Part, name=Plate
*Node
1, 0., 0.
2, 1., 0.
3, 1., 1.
4, 0., 1.
*Element, type=S4R
1, 1, 2, 3, 4
*Nset, nset=Set-1
1,
*Elset, elset=Skin
1,
*End Part
"""


def test_instances_of_parts(tmp_path):
    text = (
        PART + "*Part, name=Unused\n*Node\n1, 9., 9.\n*End Part\n*Assembly, name=A\n*Instance, name=I-1, part=PLATE\n"
    )
    text += "*Nset, nset=own\n2\n*End Instance\n*Instance, name=I-2, part=Plate\n10., 0., 0.\n"
    text += "10., 0., 0., 10., 0., 1., 90.\n*End Instance\n*Node\n1, 7., 7., 7.\n"
    text += "*Nset, nset=Set-1, instance=I-2\n Set-1, 3\n*Nset, nset=mix\n1, I-1.4, I-2.Set-1\n"
    text += (
        "*Elset, elset=E, instance=I-2\n1\n*Surface, type=ELEMENT, name=Top\nE, SPOS\n*End Assembly\n*Step\n*End Step\n"
    )
    mesh = read(tmp_path, text)
    assert np.allclose(
        mesh.points,
        [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [10, 0, 0], [10, 1, 0], [9, 1, 0], [9, 0, 0], [7, 7, 7]],
        atol=1e-14,
    )
    assert listed_cells(mesh) == [("quad", [[0, 1, 2, 3]]), ("quad", [[4, 5, 6, 7]])]
    assert listed(mesh.point_sets) == {
        "I-1.Set-1": [0],
        "own": [1],
        "I-2.Set-1": [4],
        "Set-1": [4, 6],
        "mix": [3, 4, 8],
        "Top": [4, 5, 6, 7],
    }
    assert listed(mesh.cell_sets) == {"I-1.Skin": [[0], []], "I-2.Skin": [[], [0]], "E": [[], [0]]}
    assert mesh.notes[0].text == "the part Unused left out, of which there is no *INSTANCE"
    assert listed(read(tmp_path, PART).point_sets) == {"Set-1": [0]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("*Node, nset=all, system=C\n1, 1., 90.\n", "line 1.*save"),
        ("*NODE\n1, 0., 0.\n*INCLUDE, INPUT=more.inp\n", "INCLUDE, INPUT=more.inp' in line 3.*save"),
        ("*NODE, INPUT=more.inp\n", "INPUT=more.inp"),
        ("*SYSTEM\n5., 5., 5.\n*NODE\n1, 0., 0.\n", "SYSTEM' in line 1.*save"),
        ("*NODE\n1, 0., 0.\n*NCOPY, CHANGE NUMBER=10, OLD SET=a, SHIFT\n", "NCOPY.*save"),
        ("*NODE\n1\n2, 1.\n*NFILL\na, b, 4\n", "NFILL"),
        ("*NODE\n1\n2, 1.\n*ELMENT, TYPE=T2D2\n1, 1, 2\n", r"as \*ELEMENT"),
        ("*NODE\n1\n2, 1.\n*ELEM, TYPE=T2D2\n1, 1, 2\n", r"as \*ELEMENT"),
        ("*NODE\n1\n2, 1.\n*NGEN, LINE=C\n1, 2, 1, 3\n", "LINE=C"),
        ("*NODE\n1\n9, 1.\n*NGEN\n1, 9, 3\n", "equal parts"),
        ("*NODE\n1\n900000000, 1.\n*NGEN\n1, 900000000, 1\n", "at most 1,000,000"),
        ("*NODE\n1\n*ADJUST, NODE SET=a\n", "ADJUST"),
        ("*NODE\n1\n*NGEN\n1, 3\n", "two nodes that are there"),
        (ROWS + CELLS + "*ELGEN\n1, 2000000000, 1, 1\n", "as many elements as the 15 nodes"),
        (ROWS + CELLS + "*ELGEN\n1, 10, 1, 10\n", "no node 16"),
        (ROWS + CELLS + "*ELGEN\n9, 2\n", "a first element"),
        (ROWS + "*ELEMENT, TYPE=CPS4\n1, 1, 2, 7, 66\n", "no node 66, of the element 1"),
        (
            ROWS + "*ELEMENT, TYPE=CPS4\n1, 1, 2, 7\n2, 2, 3, 8, 7\n",
            "elements CPS4 of 4 nodes .got '2, 2, 3, 8, 7' in line 19",
        ),
        (ROWS + "*ELEMENT, TYPE=CPS4\n1, 1, 2, 7,\n", "4 nodes of the last element"),
        (ROWS + "*ELEMENT, TYPE=U1\n1, 1, 2\n", "type that is known .got .*U1"),
        (ROWS + "*ELEMENT, TYPE=CPS4, OFFSET=4\n1, 1, 2, 7, 6\n", "OFFSET"),
        (ROWS + "*NSET, NSET=a, GENERATE\n1, 5, -1\n", "leads from 1 to 5"),
        (ROWS + "*NSET, NSET=a, GENERATE\n1, , 4\n", "a whole number where '' stands"),
        (ROWS + "*NSET, NSET=a, GENERATE\n1, 5, 0\n", "leads from 1 to 5"),
        (ROWS + "*NSET, NSET=a\n1.5\n", "numbers or names"),
        ("*NODE\n1, 0., 1_0.\n", "numbers, parted by commas"),
        ("*NODE\n1, 0., nan\n", "numbers, parted by commas"),
        ("*NODE, NSET=a,\n1, 0., 0.\n", "each parameter of"),
        ("*Node\n1, 0., 0.\n*Instance, name=a, part=b\n 10., 0., 0.\n*End Instance\n", "Instance"),
        (PART + PART.replace("Plate", "Other"), "instances of the parts Plate, Other"),
        ("*Heading\n of nothing\n", "Expected nodes"),
    ],
)
def test_what_is_not_followed_is_refused(tmp_path, text, message):
    with pytest.raises(ValueError, match=message) as caught:
        read(tmp_path, text)
    assert str(caught.value).startswith(f"{tmp_path / 'mesh.inp'}: Expected ")


def test_damaged_files_end_in_a_refusal(tmp_path):
    text = PART + "*Assembly\n*Instance, name=I, part=Plate\n1., 2.\n0., 0., 0., 1., 0., 0., 30.\n*End Instance\n"
    for length in range(len(text)):
        for damaged in (text[:length], text[:length] + "99" + text[length:], text[:length] + text[length + 1 :]):
            try:
                mesh = read(tmp_path, damaged or " ")
            except ValueError as error:
                assert "Expected " in str(error)
            else:
                assert len(mesh.points) >= 1


@pytest.mark.parametrize("order", ["linear", "complete", "incomplete"])
@pytest.mark.parametrize("kind", ["triangles", "quads", "tetrahedra", "hexahedra", "wedges"])
def test_meshes_of_gmsh(tmp_path, kind, order):
    """Points and corners as Gmsh itself has them, and nodes on edges in the middle of these by VTK's own table."""
    gmsh, pyvista = pytest.importorskip("gmsh"), pytest.importorskip("pyvista")
    if (kind, order) == ("wedges", "complete"):
        pytest.skip("Gmsh calls wedges of 18 nodes C3D6")
    gmsh.initialize()
    try:
        gmsh.option.setNumber("General.Terminal", 0)
        gmsh.option.setNumber("Mesh.SecondOrderIncomplete", order == "incomplete")
        gmsh.option.setNumber("Mesh.MeshSizeMax", 0.7)
        square = gmsh.model.geo
        points = [square.addPoint(x, y, 0) for x, y in ((0, 0), (1, 0), (1, 1), (0, 1))]
        lines = [square.addLine(points[k], points[(k + 1) % 4]) for k in range(4)]
        face = square.addPlaneSurface([square.addCurveLoop(lines)])
        if kind in ("quads", "hexahedra"):
            square.mesh.setTransfiniteSurface(face)
            square.mesh.setRecombine(2, face)
        if kind in ("tetrahedra", "hexahedra", "wedges"):
            layers = {} if kind == "tetrahedra" else {"numElements": [2], "recombine": True}
            square.extrude([(2, face)], 0, 0, 1, **layers)
        square.synchronize()
        axes = 2 if kind in ("triangles", "quads") else 3
        gmsh.model.mesh.generate(axes)
        if order != "linear":
            gmsh.model.mesh.setOrder(2)
        path = tmp_path / "mesh.inp"
        gmsh.option.setNumber("Mesh.SaveAll", 1)
        gmsh.write(str(path))
        tags, positions, _ = gmsh.model.mesh.getNodes()
        types, _, nodes = gmsh.model.mesh.getElements(axes)
        width = gmsh.model.mesh.getElementProperties(types[0])[3]
    finally:
        gmsh.finalize()
    mesh = read_mesh(path)
    where = dict(zip(tags.tolist(), positions.reshape(-1, 3), strict=True))
    assert np.allclose(mesh.points_in_space(), [where[tag] for tag in sorted(where)], atol=1e-12)
    (cells,) = [nodes for name, nodes in mesh.cells if nodes.shape[1] == width and dimension(name) == axes]
    name = next(name for name, nodes in mesh.cells if nodes is cells)
    corners = CORNERS[base(name)]
    theirs = np.array([where[tag] for tag in nodes[0].tolist()]).reshape(-1, width, 3)[:, :corners]
    assert np.allclose(mesh.points_in_space()[cells[:, :corners]], theirs, atol=1e-12)
    number = VTK_NUMBERS[name]
    rows = np.insert(cells, 0, width, axis=1).ravel()
    grid = pyvista.UnstructuredGrid(rows, [number] * len(cells), mesh.points_in_space())
    sizes = grid.compute_cell_sizes(length=False)
    assert np.isclose(np.abs(sizes["Volume" if axes == 3 else "Area"]).sum(), 1)
    if order != "linear":
        for cell in grid.cell:
            for edge in cell.edges:
                assert np.allclose(edge.points[2], edge.points[:2].mean(0), atol=1e-9)
            if name == "hexahedron27":
                for side in cell.faces:
                    assert np.allclose(side.points[8], side.points[:4].mean(0), atol=1e-9)
                assert np.allclose(cell.points[26], cell.points[:8].mean(0), atol=1e-9)
    lines3 = [nodes for other, nodes in mesh.cells if other == "line3"]
    for nodes in lines3:
        assert np.allclose(mesh.points[nodes[:, 2]], mesh.points[nodes[:, :2]].mean(1), atol=1e-9)
    assert bool(lines3) == (order != "linear")


def test_files_of_avs_are_left_to_another_reader(tmp_path):
    mesh = read(tmp_path, "# AVS\n4 2 0 0 0\n1 0 0 0\n2 1 0 0\n3 1 1 0\n4 0 1 0\n1 1 tri 1 2 3\n2 1 tri 1 3 4\n")
    assert mesh.points.tolist() == [[0, 0], [1, 0], [1, 1], [0, 1]]
    assert mesh.cells[0][1].tolist() == [[0, 1, 2], [0, 2, 3]]


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("tetra", "C3D4 C3D4H C3D4T DC3D4 AC3D4 Q3D4 F3D4"),
        ("tetra10", "C3D10 C3D10M C3D10MHT C3D10I DC3D10E"),
        ("pyramid", "C3D5 C3D5H AC3D5"),
        ("wedge", "C3D6 SC6R COH3D6 AC3D6"),
        ("wedge15", "C3D15 C3D15H"),
        ("hexahedron", "C3D8 C3D8R C3D8RH C3D8RPHT C3D8I SC8R CSS8 EC3D8R COH3D8 DCC3D8D"),
        ("hexahedron20", "C3D20 C3D20R C3D20RPHT"),
        ("hexahedron27", "C3D27 C3D27RH"),
        ("triangle", "CPS3 CPE3H CAX3 CGAX3 S3 S3R S3RS STRI3 M3D3 R3D3 DS3 DC2D3"),
        ("triangle6", "CPS6M CPE6MHT STRI65 M3D6 DCAX6"),
        ("quad", "CPS4R CPE4RPHT CPEG4I CAX4RHT S4 S4R5 S4RSW M3D4R R3D4 SFM3D4R COH2D4 ACAX4R DCCAX4D"),
        ("quad8", "CPS8R CAX8RH S8R S8R5 M3D8 DC2D8"),
        ("quad9", "S9R5 M3D9R"),
        ("line", "B21 B31OS B33 T2D2 T3D2H PIPE31 R2D2 RB3D2 CONN3D2 FRAME3D SAX1 MAX1 DC1D2 B31R ELBOW31B"),
        ("line3", "B22H B32OSH T3D3 PIPE32 SAX2T MGAX2 AC1D3"),
        ("", "MASS ROTARYI SPRING1 SPRINGA DASHPOT2 DCOUP3D GAPUNI"),
    ],
)
def test_types_of_elements(kind, names):
    for name in names.split():
        assert kind_of(name, 1, name) == kind, name


@pytest.mark.parametrize("name", ["U1", "CAXA41", "CCL12", "C3D9", "CPS5", "Z1", "PC3D", "C3D", "S7", "CPS4X", "GK3D8"])
def test_types_that_are_not_known(name):
    with pytest.raises(ValueError, match=f"type that is known .got '{name}' in line 7"):
        kind_of(name, 7, name)


SIDES = {  # corners of a side by the manual's numbers
    "C3D10": [(1, 2, 3), (1, 4, 2), (2, 4, 3), (3, 4, 1)],
    "C3D15": [(1, 2, 3), (4, 6, 5), (1, 4, 5, 2), (2, 5, 6, 3), (3, 6, 4, 1)],
    "C3D20": [(1, 2, 3, 4), (5, 8, 7, 6), (1, 5, 6, 2), (2, 6, 7, 3), (3, 7, 8, 4), (4, 8, 5, 1)],
}
SIDES["C3D27"] = SIDES["C3D20"]


def body(name):
    """Corners and all nodes of an element in the order of the manual."""
    shape = base(kind_of(name, 1, ""))
    corners = np.array(helpers.CORNERS[shape], float)
    middles = [corners[list(ends)].mean(0) for ends in SHAPES[shape].edges]
    if name == "C3D27":  # the center, then those of the sides
        middles += [corners.mean(0), *(corners[np.array(side) - 1].mean(0) for side in SIDES[name])]
    return corners, np.concatenate([corners, middles])


def element(name, positions):
    text = "*Node\n" + "".join(f"{k}, {x}, {y}, {z}\n" for k, (x, y, z) in enumerate(positions.tolist(), 1))
    return text + f"*Element, type={name}\n1, {', '.join(map(str, range(1, len(positions) + 1)))}\n".replace(
        ", 17,", ", 17,\n"
    )


@pytest.mark.parametrize("name", SIDES)
def test_sides_of_bodies_are_the_nodes_in_their_plane(tmp_path, name):
    corners, positions = body(name)
    text = "".join(f"*Surface, name=S{k}\n1, S{k}\n" for k in range(1, len(SIDES[name]) + 1))
    mesh = read(tmp_path, element(name, positions) + text)
    for k, side in enumerate(SIDES[name], 1):
        a, b, c = corners[[number - 1 for number in side[:3]]]
        is_on = np.abs((positions - a) @ np.cross(b - a, c - a)) < 1e-12
        assert mesh.point_sets[f"S{k}"].tolist() == np.flatnonzero(is_on).tolist()


def test_bodies_of_27_nodes_are_in_the_order_of_vtk_or_refused(tmp_path):
    _, positions = body("C3D27")
    ((kind, nodes),) = (mesh := read(tmp_path, element("C3D27", positions))).cells
    assert kind == "hexahedron27" and np.array_equal(mesh.points[nodes[0]], reference(VTK_NUMBERS[kind]))
    with pytest.raises(ValueError, match="Expected the nodes of elements C3D27 in the order of Abaqus"):
        read(tmp_path, element("C3D27", positions[[*range(20), *range(21, 27), 20]]))


def test_surfaces_that_are_not_sets_are_left_out(tmp_path):
    text = (
        ROWS
        + CELLS
        + "*Surface, name=free\nAll,\n*Surface, name=odd\nAll, S9\n*Surface, name=all, combine=union\nfree, odd\n"
    )
    mesh = read(tmp_path, text + "*Nset, nset=T\n1\n*Surface, name=T\n8, S3\n")
    assert listed(mesh.point_sets) == {"T": [0], "T (surface)": [13, 14]}
    assert [note.kind for note in mesh.notes] == [*["surface left out"] * 3, "surface"]
