"""Markers of SU2 files."""

from pathlib import Path

import numpy as np
import pytest

from pitgeo.geometry import geometry_values
from pitgeo.mesh import centroids, read_mesh, result_name, write_mesh
from tests.mesh.helpers import listed, listed_cells, written

CASES = Path(__file__).parents[3] / "shared" / "cases"

SQUARE = """NDIME= 2
NELEM= 3
5 0 1 4 0
9 1 2 5 4 1
5 0 4 3 2
NPOIN= 6
0 0 0
1 0 1
2 0 2
0 1 3
1 1 4
2 1 5
NMARK= 4
MARKER_TAG= lower wall % along y = 0
MARKER_ELEMS= 2
3 0 1
3 1 2
MARKER_TAG= 7
MARKER_ELEMS= 1
3 2 5
MARKER_TAG=far
MARKER_ELEMS= 3
3 5 4
3 4 3
3 3 0
MARKER_TAG= none
MARKER_ELEMS= 0
"""


def test_markers_are_named_sets_and_survive_in_results(tmp_path):
    path = tmp_path / "mesh.su2"
    mesh = written(path, SQUARE)
    assert listed_cells(mesh) == [
        ("triangle", [[0, 1, 4], [0, 4, 3]]),
        ("quad", [[1, 2, 5, 4]]),
        ("line", [[0, 1], [1, 2], [2, 5], [5, 4], [4, 3], [3, 0]]),
    ]
    expected = {"lower wall": [[], [], [0, 1]], "7": [[], [], [2]], "far": [[], [], [3, 4, 5]], "none": [[], [], []]}
    assert listed(mesh.cell_sets) == expected
    assert [part.tolist() for part in mesh.cell_data["su2:tag"]] == [[0, 0], [0], [1, 1, 7, 8, 8, 8]]
    assert geometry_values(mesh, "boundary_distance:lower wall", "point").ravel().tolist() == [0, 0, 0, 1, 1, 1]
    assert geometry_values(mesh, "boundary_distance:7", "point").ravel().tolist() == [2, 1, 0, 2, 1, 0]
    assert result_name(path) == "mesh.vtu"
    write_mesh(tmp_path / "mesh.vtu", mesh)
    again = read_mesh(tmp_path / "mesh.vtu")
    assert listed(again.cell_sets) == expected


def test_markers_of_several_types_in_space(tmp_path):
    """A hexahedron and a pyramid on it, with one marker of faces of both types, and a vertex."""
    corners = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1], [0.5, 0.5, 2]]
    points = "\n".join(" ".join(map(str, row)) for row in corners)
    mesh = written(
        tmp_path / "mesh.su2",
        "NMARK= 3\nMARKER_TAG= skin\nMARKER_ELEMS= 3\n9 0 1 2 3\n5 4 5 8\n9 0 1 5 4\n"
        "MARKER_TAG= roof\nMARKER_ELEMS= 1\n5 5 6 8\nMARKER_TAG= probe\nMARKER_ELEMS= 1\n1 8 0\n"
        f"NPOIN= 9\n{points}\nNDIME= 3\nNELEM= 2\n12 0 1 2 3 4 5 6 7\n14 4 5 6 7 8\n",
    )
    kinds = [kind for kind, _ in mesh.cells]
    assert kinds == ["hexahedron", "pyramid", "quad", "triangle", "vertex"] and mesh.points.tolist() == corners
    members = listed(mesh.cell_sets)
    assert members == {"skin": [[], [], [0, 1], [0], []], "roof": [[], [], [], [1], []], "probe": [[], [], [], [], [0]]}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("3 5 4\n", "3 5 4 1 2\n", "'3 5 4 1 2' is no cell of SU2"),
        ("9 1 2 5 4 1", "8 1 2 5 4 1", "'8 1 2 5 4 1' is no cell of SU2"),
        ("MARKER_ELEMS= 2\n", "MARKER_ELEMS= 3\n", "3 rows of cells should follow"),
        ("NELEM= 3", "NELEM= three", "three"),
        ("3 2 5\n", "3 2 6\n", "got number 6"),
    ],
)
def test_broken_files_are_refused(old, new, message, tmp_path):
    (tmp_path / "mesh.su2").write_text(SQUARE.replace(old, new))
    with pytest.raises(ValueError, match=message) as caught:
        read_mesh(tmp_path / "mesh.su2")
    assert str(caught.value).startswith(str(tmp_path / "mesh.su2"))


@pytest.mark.skipif(not CASES.is_dir(), reason="other programs' meshes are not beside the project")
def test_markers_of_a_beam():
    path = CASES / "hard/fea_beam_index_column.su2"
    mesh = read_mesh(path)
    assert {name: [len(part) for part in parts] for name, parts in mesh.cell_sets.items()} == {
        "Clamped": [0, 10],
        "UpperBeamS": [0, 120],
        "RightBeamS": [0, 10],
        "LowerBeamS": [0, 120],
    }
    lines = path.read_text().splitlines()
    for name, (_, own) in mesh.cell_sets.items():
        start = lines.index(f"MARKER_TAG= {name}") + 2
        rows = [[int(word) for word in line.split()[1:3]] for line in lines[start : start + len(own)]]
        assert mesh.cells[1][1][own].tolist() == rows
    middles = centroids(mesh)[1200:]
    assert np.ptp(middles[mesh.cell_sets["Clamped"][1], 0]) == np.ptp(middles[mesh.cell_sets["RightBeamS"][1], 0]) == 0
