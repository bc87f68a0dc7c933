"""ASCII files of Tecplot against the arrays that they were written from."""

import meshio
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pitgeo.geometry import geometry_values
from pitgeo.mesh import read_mesh
from tests.mesh.helpers import listed, listed_cells, texts

SQUARE = np.array([[0.0, 0], [1, 0], [1, 1], [0, 1], [2, 0], [2, 1]])


def read(tmp_path, text, name="mesh.dat"):
    (tmp_path / name).write_text(text)
    return read_mesh(tmp_path / name)


def kinds(mesh):
    return listed_cells(mesh)


def test_empty_lines_and_names_with_blanks(tmp_path):
    mesh = read(
        tmp_path,
        'TITLE = "t"\nVARIABLES = X, Y, Z, "X Velocity"\nZONE T="a", N=4, E=1, ET=QUADRILATERAL, F=FEPOINT\n\n'
        "0 0 0 1\n1 0 0 2\n1 1 0 3\n0 1 0 4\n1 2 3 4\n",
    )
    assert mesh.points.tolist() == [[0, 0], [1, 0], [1, 1], [0, 1]] and kinds(mesh) == [("quad", [[0, 1, 2, 3]])]
    assert mesh.point_data["X Velocity"].tolist() == [1, 2, 3, 4] and not mesh.notes


def test_block_packing_cell_data_and_repeats(tmp_path):
    mesh = read(
        tmp_path,
        '# made by hand\nTITLE="x # y"\nvariables = "CoordinateX [m]" # the first\n"y(m)"\n"p" , "rho"\n"material"\n'
        'zone t="fluid", zonetype=fequadrilateral\n nodes = 6 elements=2\n, datapacking=block\n'
        ", varlocation=([3]=nodal, [4-5]=cellcentered) dt=(single double double single longint)\n"
        ' auxdata Re="1.5e6" AUXDATA solver = "SU2 \\"8\\""\n solutiontime=0.25 strandid=1\n'
        "0 1 1 0 2*2\n0 0 2*1.0\n0 1 # y\n6*5.0D-1\n2*-3\n7, 8\n1 2 3 4\n2 5 6 3\n",
        "mesh.tec",
    )
    assert np.array_equal(mesh.points, SQUARE) and kinds(mesh) == [("quad", [[0, 1, 2, 3], [1, 4, 5, 2]])]
    assert mesh.point_data["p"].tolist() == [0.5] * 6 and mesh.cell_data["rho"][0].tolist() == [-3, -3]
    assert mesh.cell_data["material"][0].dtype == np.int32 and mesh.cell_data["material"][0].tolist() == [7, 8]
    assert mesh.field_data["Re"] == 1.5e6 and mesh.field_data["solver"] == 'SU2 "8"'
    assert mesh.field_data["SOLUTIONTIME"] == 0.25 and not mesh.notes


@pytest.mark.parametrize(
    ("name", "kind", "size"),
    [
        ("LINESEG", "line", 2),
        ("TRIANGLE", "triangle", 3),
        ("QUADRILATERAL", "quad", 4),
        ("TETRAHEDRON", "tetra", 4),
        ("BRICK", "hexahedron", 8),
    ],
)
@pytest.mark.parametrize("style", ["old", "new"])
@pytest.mark.parametrize("packing", ["POINT", "BLOCK"])
def test_finite_elements(name, kind, size, style, packing, tmp_path):
    random = np.random.default_rng(size)
    points, field = random.random((9, 3)), random.random(9)
    cells = np.stack([random.permutation(9)[:size] for _ in range(3)])
    head = {
        "old": f"ZONE N=9, E=3, F=FE{packing}, ET={name}",
        "new": f"ZONE\nNodes=9\nElements=3\nZONETYPE=FE{name}\nDATAPACKING={packing}",
    }[style]
    table = np.c_[points, field]
    body = " ".join(map(repr, (table if packing == "POINT" else table.T).ravel().tolist()))
    rows = "\n".join(" ".join(map(str, row)) for row in (cells + 1).tolist())
    mesh = read(tmp_path, f"VARIABLES = x y z T\n{head}\n{body}\n{rows}\n")
    assert np.array_equal(mesh.points, points) and np.array_equal(mesh.point_data["T"], field)
    assert kinds(mesh) == [(kind, cells.tolist())]


@pytest.mark.parametrize(
    "shape", [(4, 1, 1), (1, 3, 1), (1, 1, 5), (3, 2, 1), (3, 1, 2), (1, 2, 3), (3, 2, 4), (1, 1, 1)]
)
@pytest.mark.parametrize("packing", ["POINT", "BLOCK"])
def test_ordered_zones(shape, packing, tmp_path):
    """Every cell is the box between its neighbors."""
    axes = [axis for axis in range(3) if shape[axis] > 1]
    grid = np.stack(np.meshgrid(*(np.arange(n) * (1.0 + a) for a, n in enumerate(shape)), indexing="ij"), -1)
    points = grid.transpose(2, 1, 0, 3).reshape(-1, 3)
    count = int(np.prod([max(n - 1, 1) for n in shape])) if axes else 1
    centered = packing == "BLOCK" and axes
    columns = [*points.T, points @ [1, 10, 100], *([np.arange(count) + 0.5] if centered else [])]
    numbers = np.concatenate(columns) if packing == "BLOCK" else np.stack(columns, 1).ravel()
    names = "x y z f" + (" c" if centered else "")
    place = " VARLOCATION=([5]=CELLCENTERED)" if centered else ""
    text = " ".join(map(str, numbers.tolist()))
    mesh = read(
        tmp_path,
        f"VARIABLES={names}\nZONE I={shape[0]} J={shape[1]} K={shape[2]} DATAPACKING={packing}{place}\n{text}\n",
    )
    space = mesh.points_in_space()
    assert np.array_equal(space, points) and np.array_equal(mesh.point_data["f"], points @ [1, 10, 100])
    ((kind, nodes),) = mesh.cells
    assert kind == ("vertex", "line", "quad", "hexahedron")[len(axes)] and len(nodes) == count
    if axes:
        low = space[nodes].min(1)
        assert np.allclose(np.ptp(space[nodes], axis=1)[:, axes], [1.0 + axis for axis in axes])
        assert all(len(np.unique(row, axis=0)) == 2 ** len(axes) for row in space[nodes])
        assert np.array_equal(np.lexsort(low.T), np.arange(count))  # the first axis is the fastest
        sizes = geometry_values(mesh, "cell_size", "cell")[:, 0] ** len(axes)
        assert np.allclose(sizes, np.prod([1.0 + axis for axis in axes]))
    if centered:
        assert np.array_equal(mesh.cell_data["c"][0], np.arange(count) + 0.5)


def test_zones_are_pieces_and_share_variables(tmp_path):
    """Two zones side by side, the second with points of its own, a third with the points of the second."""
    mesh = read(
        tmp_path,
        "VARIABLES = x, y, f\n"
        "ZONE T=left, N=4, E=1, F=FEPOINT, ET=QUADRILATERAL\n0 0 1\n1 0 2\n1 1 3\n0 1 4\n1 2 3 4\n"
        "ZONE T=right, N=4, E=1, F=FEPOINT, ET=QUADRILATERAL\n1 0 2\n2 0 5\n2 1 6\n1 1 3\n1 2 3 4\n"
        "ZONE T=edge, N=4, E=1, ZONETYPE=FELINESEG, DATAPACKING=POINT, VARSHARELIST=([1-2,3]=2)\n2 3\n",
    )
    assert mesh.points.tolist() == SQUARE.tolist()
    assert mesh.point_data["f"].tolist() == [1, 2, 3, 4, 5, 6]
    assert kinds(mesh) == [("quad", [[0, 1, 2, 3]]), ("quad", [[1, 4, 5, 2]]), ("line", [[4, 5]])]
    assert listed(mesh.cell_sets) == {"left": [[0], [], []], "right": [[], [0], []], "edge": [[], [], [0]]}
    assert np.allclose(geometry_values(mesh, "boundary_distance", "cell")[:2], 0.5)
    mesh = read(
        tmp_path,
        "VARIABLES = x, y, f\n"
        "ZONE N=3, E=1, F=FEPOINT, ET=TRIANGLE\n0 0 1\n1 0 2\n1 1 3\n1 2 3\n"
        "ZONE N=3, E=1, F=FEBLOCK, ET=TRIANGLE, CONNECTIVITYSHAREZONE=1\n5 6 6 0 0 1 7 8 9\n",
    )
    assert kinds(mesh) == [("triangle", [[0, 1, 2]]), ("triangle", [[3, 4, 5]])]
    assert mesh.point_data["f"].tolist() == [1, 2, 3, 7, 8, 9]


@pytest.mark.parametrize("strand", ["STRANDID=1", ""])
def test_the_first_time_is_read(strand, tmp_path):
    zones = "".join(
        f'ZONE T="t {time}" N=3 E=1 DATAPACKING=POINT ZONETYPE=FETRIANGLE {strand} SOLUTIONTIME={time}\n'
        f"0 0 {time}\n1 0 {time}\n1 1 {time}\n1 2 3\n"
        for time in (0.5, 0.25, 1.0)
    )
    mesh = read(tmp_path, f"VARIABLES = x, y, f\n{zones}")
    assert mesh.point_data["f"].tolist() == [0.25] * 3 and mesh.number_of_cells == 1
    assert [(note.kind, note.text) for note in mesh.notes] == [
        ("one of several times", "the first of 3 times, 0.25, is read")
    ]


def test_zones_on_one_mesh_are_times(tmp_path):
    zones = "".join(f'ZONE T="{t}" I=2 J=2 F=POINT\n0 0 {t}\n1 0 {t}\n0 1 {t}\n1 1 {t}\n' for t in range(3))
    mesh = read(tmp_path, f"VARIABLES = x, y, f\n{zones}")
    assert mesh.point_data["f"].tolist() == [0] * 4 and mesh.number_of_cells == 1
    assert [note.kind for note in mesh.notes] == ["one of several times"] and "2 zones" in mesh.notes[0].text


def test_cells_with_repeated_nodes_are_what_they_are(tmp_path):
    rows = "1 2 3 4\n2 5 6 6\n2 2 6 3\n"
    body = "\n".join(f"{x} {y} {k}" for k, (x, y) in enumerate(SQUARE.tolist()))
    mesh = read(
        tmp_path, f"VARIABLES = x, y, f\nZONE N=6 E=3 DATAPACKING=POINT ZONETYPE=FEQUADRILATERAL\n{body}\n{rows}"
    )
    assert kinds(mesh) == [("quad", [[0, 1, 2, 3]]), ("triangle", [[1, 4, 5], [1, 5, 2]])]
    assert "2 quad cells with repeated nodes are triangle" in mesh.notes[0].text
    assert np.allclose(geometry_values(mesh, "boundary_distance", "point"), 0)
    assert np.allclose(geometry_values(mesh, "cell_size", "cell")[:, 0] ** 2, [1, 0.5, 0.5])


def test_what_meshio_writes_into_bricks(tmp_path):
    """Tetrahedra, a pyramid, wedges and a hexahedron in one zone of bricks."""
    points = np.random.default_rng(0).random((12, 3))
    cells = [
        ("hexahedron", [[*range(8)]]),
        ("pyramid", [[0, 1, 2, 3, 8]]),
        ("tetra", [[4, 5, 6, 9]]),
        ("wedge", [[0, 2, 1, 9, 11, 10]]),
    ]
    meshio.Mesh(points, [(kind, np.array(nodes)) for kind, nodes in cells]).write(tmp_path / "mesh.dat")
    mesh = read_mesh(tmp_path / "mesh.dat")
    assert np.allclose(mesh.points, points)
    by_kind = dict(mesh.cells)
    assert [set(by_kind[kind][0]) for kind, _ in cells] == [set(nodes[0]) for _, nodes in cells]
    assert by_kind["pyramid"][0, 4] == 8 and by_kind["tetra"][0, 3] == 9
    joined = {
        frozenset(pair) for pair in zip(by_kind["wedge"][0, :3].tolist(), by_kind["wedge"][0, 3:].tolist(), strict=True)
    }
    assert joined == {frozenset((0, 9)), frozenset((1, 10)), frozenset((2, 11))}


def test_coordinates_by_name_or_place(tmp_path):
    zone = "ZONE I=2 J=2 F=POINT\n1 0 0 7\n2 1 0 7\n3 0 1 7\n4 1 1 7\n"
    mesh = read(tmp_path, f'VARIABLES = "rho" "X [m]" "Coordinate Y" "q"\n{zone}')
    assert mesh.points.tolist() == [[0, 0], [1, 0], [0, 1], [1, 1]] and mesh.point_data["rho"].tolist() == [1, 2, 3, 4]
    mesh = read(tmp_path, f'VARIABLES = "r" "s" "x" "q"\n{zone}')
    assert mesh.points.tolist() == [[1, 0], [2, 1], [3, 0], [4, 1]]
    assert "'r', 's' are the coordinates" in mesh.notes[0].text
    mesh = read(tmp_path, f'VARIABLES = "s" "Z" "X" "q"\n{zone}')  # in the plane of x and z
    assert mesh.points.tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]


def test_other_records_are_passed_over(tmp_path):
    mesh = read(
        tmp_path,
        'FILETYPE = FULL\nVARIABLES = x\ny\n"f g"\nDATASETAUXDATA Mach = "0.8"\nDATASETAUXDATA who="me"\n'
        'TEXT X=5, Y=5, T="ZONE 1"\nZONE I=2, F=POINT\n0 0 1\n1 1 2\nGEOMETRY X=0, Y=0, T=LINE\n1\n2\n0 0\n1 1\n'
        "ZONE I=2, F=POINT\n1 1 2\n2 5 3\n",
    )
    assert mesh.points.tolist() == [[0, 0], [1, 1], [2, 5]] and mesh.point_data["f g"].tolist() == [1, 2, 3]
    assert mesh.field_data["Mach"] == 0.8 and mesh.field_data["who"] == "me"
    assert texts(mesh, "left out") == ["TEXT records are left out", "GEOMETRY records are left out"]


def test_numbers_without_a_zone_or_a_packing(tmp_path):
    mesh = read(tmp_path, "VARIABLES = x y\n0 0\n1 2\n3 4\n")
    assert mesh.points.tolist() == [[0, 0], [1, 2], [3, 4]] and kinds(mesh) == [("line", [[0, 1], [1, 2]])]
    mesh = read(tmp_path, "VARIABLES = x y\nZONE I=3\n0 0\n1 2\n3 4\n")
    assert mesh.points.tolist() == [[0, 0], [1, 2], [3, 4]]
    with pytest.raises(ValueError, match="Expected DATAPACKING"):
        read(tmp_path, "VARIABLES = x y\nZONE I=3\n0 1 3\n0 2 4\n")


GOOD = (
    "VARIABLES = x y c\n"
    "ZONE T=top N=3 E=1 DATAPACKING=BLOCK ZONETYPE=FETRIANGLE VARLOCATION=([3]=CELLCENTERED)\n"
    "0 1 1\n0 0 1\n5\n1 2 3\n"
)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("1 2 3\n", "1 2\n"), "Expected 10 numbers.*got 9.*in zone 1 'top' at line 2"),
        (("1 2 3\n", "1 2 3 4\n"), "Expected 10 numbers.*got 11"),
        (("1 2 3\n", "1 2 4\n"), "Expected nodes of cells from 1 to 3"),
        (("1 2 3\n", "0 1 2\n"), "Expected nodes of cells from 1 to 3"),
        (("1 2 3\n", "1 2 2.5\n"), "Expected whole numbers as nodes of cells"),
        (("\n5\n", "\n5x\n"), "Expected numbers .got '5x' in line 5"),
        (("\n5\n", "\n1.0-100\n"), "Expected numbers .got '1.0-100' in line 5"),
        (("\n5\n", "\nx*5\n"), "Expected numbers .got 'x.5' in line 5"),
        (("BLOCK", "POINT"), "Expected DATAPACKING=BLOCK"),
        (("BLOCK", "ROWS"), "Expected DATAPACKING to be POINT or BLOCK"),
        (("FETRIANGLE", "FEPOLYGON"), "got 'POLYGON'"),
        (("FETRIANGLE", "FEPOLYHEDRON"), "got 'POLYHEDRON'"),
        (("N=3", "N=three"), "Expected N to be a whole number"),
        (("E=1 ", ""), "Expected E or ELEMENTS"),
        (("[3]=CELL", "[4]=CELL"), "Expected numbers of variables from 1 to 3"),
        (("N=3", "N=3 VARSHARELIST=([1]=2)"), "VARSHARELIST to name a zone before"),
        (("N=3", "N=3 CONNECTIVITYSHAREZONE=1"), "CONNECTIVITYSHAREZONE to name a zone before|Expected 7 numbers"),
        (("VARIABLES = x y c\n", ""), "Expected VARIABLES"),
        (("VARIABLES = x y c\n", "VARIABLES =\n"), "Expected names of VARIABLES"),
        (("VARIABLES", "FILETYPE=SOLUTION\nVARIABLES"), "FILETYPE=SOLUTION"),
        (("VARIABLES", "#!TDV112\nVARIABLES"), "a binary one"),
        (("T=top", "T="), "Expected a value of T|Expected key=value"),
        ((GOOD[18:], ""), "Expected a ZONE"),
    ],
)
def test_errors(change, message, tmp_path):
    assert read(tmp_path, GOOD).cell_data["c"][0].tolist() == [5]
    with pytest.raises(ValueError, match=message) as caught:
        read(tmp_path, GOOD.replace(*change))
    assert "mesh.dat" in str(caught.value)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_layout_of_a_zone(data, tmp_path):
    """Any case, separators, line breaks, repeats and comments give the same arrays."""
    draw = data.draw
    size, rows, width = draw(st.integers(3, 6)), draw(st.integers(1, 3)), draw(st.integers(0, 2))
    number = st.sampled_from([0.0, 1.0, -2.5, 1e-30, 3.25e7]) | st.floats(-1e9, 1e9)
    columns = [np.array(draw(st.lists(number, min_size=size, max_size=size))) for _ in range(2 + width)]
    cells = np.array(draw(st.lists(st.permutations(range(size)), min_size=rows, max_size=rows)))[:, :3]
    centered = draw(st.booleans())
    block = centered or draw(st.booleans())
    extra = np.array(draw(st.lists(number, min_size=rows, max_size=rows)))

    def words(values):
        result = [repr(value) for value in values]
        if draw(st.booleans()):
            result = [word.replace("e", draw(st.sampled_from(["D", "d", "E"]))) for word in result]
        if draw(st.booleans()):
            short, place = [], 0
            while place < len(result):
                count = 1
                while place + count < len(result) and result[place + count] == result[place]:
                    count += 1
                short.append(f"{count}*{result[place]}")
                place += count
            result = short
        return "".join(
            word + draw(st.sampled_from([" ", ",", ", ", "\n", "\n\n", " # 1 2 3\n", "\t"])) for word in result
        )

    values = np.concatenate([*columns, *([extra] if centered else [])]) if block else np.stack(columns, 1).ravel()
    pairs = [
        f"N={size}",
        f"elements = {rows}",
        f"DataPacking={'BLOCK' if block else 'Point'}",
        "zonetype =FEtriangle",
        'T="x, N=7"',
    ]
    pairs += [f"VARLOCATION=(\n[{3 + width}] = CELLCENTERED)"] * centered
    head = "".join(pair + draw(st.sampled_from([" ", ", ", "\n", " # T=5\n"])) for pair in draw(st.permutations(pairs)))
    names = ["X", "y", *(f'"f {k}"' for k in range(width)), *(["c"] * centered)]
    named = "".join(name + draw(st.sampled_from([" ", ",", "\n"])) for name in names)
    mesh = read(
        tmp_path, f"variables={named}\nZone {head}\n{words(values.tolist())}\n{words((cells + 1).ravel().tolist())}\n"
    )
    plane = mesh.points_in_space()
    assert np.array_equal(plane[:, 0], columns[0]) and np.array_equal(plane[:, 1], columns[1])
    assert all(np.array_equal(mesh.point_data[f"f {k}"], columns[2 + k]) for k in range(width))
    assert kinds(mesh) == [("triangle", cells.tolist())]
    assert not centered or np.array_equal(mesh.cell_data["c"][0], extra)
