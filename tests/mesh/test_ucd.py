"""Files of AVS UCD against the arrays that they were written from, and damaged ones: one error that names the file."""

import meshio
import numpy as np
import pytest

from pitgeo.mesh import read_mesh
from pitgeo.mesh.cell_types import CORNERS
from tests.mesh.helpers import damaged, is_read, listed_cells, refused, written

KINDS = {"hex": "hexahedron", "tet": "tetra", "prism": "wedge", "pyr": "pyramid", "quad": "quad", "tri": "triangle"}
KINDS |= {"line": "line", "pt": "vertex"}
random = np.random.default_rng(0)
POINTS = random.random((9, 3))
IDS = [10, 20, 30, 7, 50, 60, 5, 80, 95]
NODES = {kind: random.permutation(9)[: CORNERS[kind]] for kind in KINDS.values()}
T, V, C, W = random.random(9), random.random((9, 3)), random.random(8), random.random((8, 2))


def text(order=range(9)):
    rows = [f"{IDS[k]} {' '.join(map(repr, POINTS[k].tolist()))}" for k in range(9)]
    cells = [
        f"{k + 100} {k // 2} {name} {' '.join(str(IDS[node]) for node in NODES[kind])}"
        for k, (name, kind) in enumerate(KINDS.items())
    ]
    values = [f"{IDS[k]} {float(T[k])!r} {' '.join(map(repr, V[k].tolist()))}" for k in order]
    more = [f"{k + 100} {float(C[k])!r} {' '.join(map(repr, W[k].tolist()))}" for k in range(8)]
    fields = ["2 1 3", "T, K", "velocity of it, m/s", *values, "2 1 2", "c,", "w, -", *more, "1 1", "Re, -", "1 1e5"]
    return "\n".join(["# by hand", "9 8 4 3 1", *rows, *cells, *fields, ""])


@pytest.mark.parametrize("ending", ["inp", "avs"])
@pytest.mark.parametrize("order", [range(9), range(8, -1, -1)])
def test_every_kind_of_cell_and_field(ending, order, tmp_path):
    mesh = written(tmp_path / f"mesh.{ending}", text(order))
    assert np.array_equal(mesh.points, POINTS)
    assert [kind for kind, _ in mesh.cells] == list(KINDS.values())
    assert all(set(nodes[0]) == set(NODES[kind]) for kind, nodes in mesh.cells)
    assert dict(mesh.cells)["pyramid"][0].tolist() == [*NODES["pyramid"][1:], NODES["pyramid"][0]]  # the apex last
    assert np.array_equal(mesh.point_data["T"], T) and np.array_equal(mesh.point_data["velocity of it"], V)
    assert np.array_equal(np.concatenate(mesh.cell_data["c"]), C)
    assert np.array_equal(np.concatenate(mesh.cell_data["w"]), W)
    assert np.concatenate(mesh.cell_data["Material Id"]).tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert mesh.field_data["Re"].tolist() == [1e5] and not mesh.notes


@pytest.mark.parametrize("kind", list(KINDS.values()))
def test_what_meshio_writes(kind, tmp_path):
    cells = [(kind, np.stack([random.permutation(9)[: CORNERS[kind]] for _ in range(3)]))]
    meshio.Mesh(POINTS, cells, {"a": T, "b": V}, {"c": [C[:3]]}).write(tmp_path / "mesh.avs", file_format="avsucd")
    mesh = read_mesh(tmp_path / "mesh.avs")
    assert np.allclose(mesh.points, POINTS) and mesh.cells[0][0] == kind
    found = mesh.cells[0][1] if kind != "tetra" else mesh.cells[0][1][:, [0, 1, 3, 2]]  # which meshio turns round
    assert np.array_equal(found, cells[0][1])
    assert np.allclose(mesh.point_data["a"], T) and np.allclose(mesh.point_data["b"], V)
    assert np.allclose(mesh.cell_data["c"][0], C[:3])


FILE = """# made by hand
# twice
5 3 4 2 2
 30 0 0 0
 10 1. 0 0
 20 1 1e0 0.5
 50 0 1.D0 0
 40 0 0 -2
 7 -4 tri 30 10 20
 9 2  TRI 30 20 50
 3 6 line 30 40
2 1 3
T, K
velocity , m/s
 10 1 10 11 12
 20 2 20 21 22
 30 3 30 31 32
 40 4 40 41 42
 50 5 50 51 52
2 1 1
a b,
c
 3 30 0.3
 7 70 0.7
 9 90 0.9
1 2
load, N
 0 5 6
"""


@pytest.mark.parametrize("name", ["mesh.inp", "mesh.avs", "MESH.INP"])
def test_numbers_in_any_order(tmp_path, name):
    mesh = written(tmp_path / name, FILE)
    assert mesh.points.tolist() == [[0, 0, 0], [1, 0, 0], [1, 1, 0.5], [0, 1, 0], [0, 0, -2]]
    assert listed_cells(mesh) == [("triangle", [[0, 1, 2], [0, 2, 3]]), ("line", [[0, 4]])]
    assert mesh.point_data["T"].tolist() == [3, 1, 2, 5, 4]
    assert mesh.point_data["velocity"].tolist() == [[k, k + 1, k + 2] for k in (30, 10, 20, 50, 40)]
    assert {name: [block.tolist() for block in blocks] for name, blocks in mesh.cell_data.items()} == {
        "a b": [[70, 90], [30]],
        "c": [[0.7, 0.9], [0.3]],
        "Material Id": [[-4, 2], [6]],
    }
    assert all(block.dtype == np.int64 for block in mesh.cell_data["Material Id"])
    assert mesh.field_data["load"].ravel().tolist() == [5, 6] and not mesh.notes


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("5 3 4 2 2", "6 3 4 2 2", "in line 9"),
        ("5 3 4 2 2", "4 3 4 2 2", "in line 8"),
        ("5 3 4 2 2", "5 2 4 2 2", "4 components of points (got '3 6 line 30 40' in line 11)"),
        ("5 3 4 2 2", "5 3 3 2 2", "Expected 3 components of points (got '2 1 3' in line 12)"),
        ("5 3 4 2 2", "5 3 4 2 0", "the end of the file"),
        ("5 3 4 2 2", "5 3 4 2", "Expected"),
        ("5 3 4 2 2", "999999999 3 4 2 2", "999,999,999 lines of points"),
        ("5 3 4 2 2", "5 999999999 4 2 2", "999,999,999 lines of cells"),
        ("5 3 4 2 2", "-5 3 4 2 2", "Expected"),
        (" 20 1 1e0 0.5", " 30 1 1e0 0.5", "each number of the points once"),
        (" 20 1 1e0 0.5", " 20.5 1 1e0 0.5", "whole numbers of the points"),
        (" 20 1 1e0 0.5", " 20 1 inf 0.5", "finite coordinates"),
        (" 20 1 1e0 0.5", " 20 1 1_0 0.5", "numbers in line 6 (got '1_0')"),
        ("3 6 line", "3 6.5 line", "whole numbers for the materials"),
        ("3 6 line", "3 nan line", "whole numbers for the materials"),
        ("line 30 40", "line 30 41", "nodes of line cells"),
        ("line 30 40", "line 30 40 10", "in line 11"),
        ("line 30 40", "lines 30 40", "one of pt, line"),
        (" 40 4 40 41 42", " 10 4 40 41 42", "each number of the values of points once"),
        (" 40 4 40 41 42", " 40 4 40 41", "in line 18"),
        (" 40 4 40 41 42", " 41 4 40 41 42", "one value for each of the points (got values of other numbers)"),
        (" 9 90 0.9", " 7 90 0.9", "each number of the values of cells once"),
        (" 9 90 0.9\n", "", "in line 25"),
        (" 0 5 6\n", " 0 5\n", "in line 28"),
        (" 0 5 6\n", " 0 5 x\n", "Expected numbers in line 28 (got 'x')"),
        (" 0 5 6\n", "", "lines of values of the model (got 0); is the file whole?"),
        (" 0 5 6\n", " 0 5 6\n1\n", "the end of the file (got '1' in line 29)"),
        (" 0 5 6\n", " 0 5 6", "a line break behind the last line"),
    ],
)
def test_files_that_are_refused(tmp_path, old, new, what):
    assert old in FILE
    (tmp_path / "mesh.inp").write_text(FILE.replace(old, new))
    refused(tmp_path / "mesh.inp", what)


def test_binary_files_are_refused(tmp_path):
    (tmp_path / "mesh.inp").write_bytes(b"\x07" + np.arange(30, dtype=">i4").tobytes())
    refused(tmp_path / "mesh.inp", "(got a binary file); save it as ASCII, or as .vtu")


def test_files_that_are_cut_or_changed(tmp_path):
    """Hundreds of files, each with one damage."""
    path, rng = tmp_path / "mesh.inp", np.random.default_rng(0)
    whole = FILE.encode()
    for end in range(1, len(whole) - 1):
        path.write_bytes(whole[:end])
        refused(path)
    read = 0
    for content in damaged(whole, rng, 300):
        path.write_bytes(content)
        read += is_read(path)
    assert 30 < read < 250
    for content in (b"\0" * 500, rng.bytes(3000), b"1 2 3\n" * 99, b"5 3 4 2 2\n" * 99):
        path.write_bytes(content)
        refused(path)
