"""Named sets that files come with."""

import re

import meshio
import numpy as np
import pytest

from pitgeo.mesh import read_mesh
from pitgeo.mesh.raw import Raw
from tests.mesh.helpers import listed, written

GMSH = """$MeshFormat
{version} 0 8
$EndMeshFormat
$PhysicalNames
2
1 5 "the wall"
2 5 "inside"
$EndPhysicalNames
{mesh}
$NodeData
1
"T"
1
0.0
3
0
1
4
{rows}
$EndNodeData
"""
OLD = """$Nodes
4
{} 0 0 0
{} 1 0 0
{} 1 1 0
{} 0 1 0
$EndNodes
$Elements
3
1 1 2 5 1 {} {}
2 2 2 5 1 {} {} {}
3 2 2 6 2 {} {} {}
$EndElements"""


def gmsh(numbers, order, old=True):
    a, b, c, d = numbers
    rows = "\n".join(f"{number} {number * 10}" for number in order)
    return GMSH.format(version="2.2", mesh=OLD.format(a, b, c, d, a, b, a, b, c, a, c, d), rows=rows)


def test_groups_of_med_files(tmp_path):
    mesh = meshio.Mesh(
        np.eye(3),
        [("line", np.array([[0, 1], [1, 2]])), ("triangle", np.array([[0, 1, 2]]))],
        point_data={"point_tags": np.array([2, 0, 3])},
        cell_data={"cell_tags": [np.array([-6, -7]), np.array([-7])]},
    )
    mesh.point_tags = {2: ["corner"], 3: ["corner", "top"]}
    mesh.cell_tags = {-6: ["left"], -7: ["left", "other side"]}
    mesh.write(tmp_path / "mesh.med")
    mesh = read_mesh(tmp_path / "mesh.med")
    assert listed(mesh.point_sets) == {"corner": [0, 2], "top": [2]}
    assert listed(mesh.cell_sets) == {"left": [[0, 1], [0]], "other side": [[1], [0]]}


def test_empty_blocks_are_dropped_everywhere(tmp_path):
    raw = Raw(
        points=np.eye(3),
        cells=[("line", np.zeros((0, 2), int)), ("triangle", np.array([[0, 1, 2]]))],
        cell_data={"a": [np.zeros(0), np.ones(1)], "set:b": [np.zeros(0, int), np.ones(1, int)]},
        cell_sets={"c": [np.zeros(0, int), np.array([0])], "d": [None, None], "e": []},
    )
    mesh = raw.mesh(tmp_path)
    assert [kind for kind, _ in mesh.cells] == ["triangle"] and list(mesh.cell_data) == ["a"]
    assert [len(values) for values in mesh.cell_data["a"]] == [1]
    members = listed(mesh.cell_sets)
    assert members == {"b": [[0]], "c": [[0]], "d": [[]], "e": [[]]}


def test_fields_of_gmsh_files_belong_to_numbers(tmp_path):
    path = tmp_path / "mesh.msh"
    mesh = written(path, gmsh([1, 2, 3, 4], [1, 2, 3, 4]))
    assert mesh.point_data["T"].tolist() == [10, 20, 30, 40]
    assert [part.tolist() for part in mesh.cell_sets["the wall"]] == [[0], []]
    assert [part.tolist() for part in mesh.cell_sets["inside"]] == [[], [0]]
    path.write_text(gmsh([2, 1, 3, 4], [2, 1, 3, 4]))
    assert read_mesh(path).point_data["T"].tolist() == [20, 10, 30, 40]
    path.write_text(gmsh([1, 2, 3, 4], [1, 2, 4]).replace("\n1\n4\n", "\n1\n3\n"))  # not on all points
    assert np.array_equal(read_mesh(path).point_data["T"], [10, 20, np.nan, 40], equal_nan=True)
    path.write_text(gmsh([2, 1, 30, 4], [1, 2, 4, 30]))  # as Gmsh writes them
    assert read_mesh(path).point_data["T"].tolist() == [20, 10, 300, 40]
    path.write_text(gmsh([2, 1, 3, 4], [1, 2, 3, 5]))
    with pytest.raises(ValueError, match=r"mesh\.msh: Expected values of 'T' on nodes that are there"):
        read_mesh(path)
    last = gmsh([1, 2, 3, 4], [1, 2, 3, 4]).partition("$EndElements\n")[2].replace("1 10\n", "1 70\n")
    path.write_text(gmsh([1, 2, 3, 4], [1, 2, 3, 4]) + last)  # of several times, the last
    assert read_mesh(path).point_data["T"].tolist() == [70, 20, 30, 40]


@pytest.mark.parametrize("binary", [True, False])
def test_fields_of_new_gmsh_files(binary, tmp_path):
    cells = [("triangle", np.array([[0, 1, 2], [0, 2, 3]]))]
    points = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0.0]])
    cell_data = {"c": [np.array([6.0, 7.0])]}
    mesh = meshio.Mesh(points, cells, point_data={"T": np.arange(4.0)}, cell_data=cell_data)
    path = tmp_path / "mesh.msh"
    mesh.write(path, file_format="gmsh", binary=binary)
    assert b"4.1" in path.read_bytes()[:20]
    if not binary:  # meshio writes numpy's names of numbers too
        path.write_text(re.sub(r"np\.float64\((.*)\)", r"\1", path.read_text()))
    again = read_mesh(path)
    assert again.point_data["T"].tolist() == [0, 1, 2, 3]
    assert [values.tolist() for values in again.cell_data["c"]] == [[6, 7]]
    content = path.read_bytes()
    if binary:  # numbers of two points exchanged
        first, second = ((k).to_bytes(8, "little") for k in (1, 2))
        start = content.index(b"$Nodes\n")
        place = content.index(first + second, start)
        content = content[:place] + second + first + content[place + 16 :]
    else:
        content = content.replace(b"\n1\n2\n3\n4\n", b"\n2\n1\n3\n4\n", 1)
    again = written(path, content)
    assert again.point_data["T"].tolist() == [1, 0, 2, 3] and again.points[:2].tolist() == [[0, 0], [1, 0]]
    assert again.cells[0][1].tolist() == [[1, 0, 2], [1, 2, 3]]
