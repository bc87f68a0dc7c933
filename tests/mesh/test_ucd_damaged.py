"""Damaged files of AVS UCD: one error that names the file, or, where the damage cannot be seen, a mesh."""

import numpy as np
import pytest

from pitgeo.mesh import Mesh, read_mesh
from pitgeo.mesh.errors import InputError

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


def written(folder, text, name="mesh.inp"):
    path = folder / name
    path.write_text(text)
    return path


@pytest.mark.parametrize("name", ["mesh.inp", "mesh.avs", "MESH.INP"])
def test_what_is_written_is_read(tmp_path, name):
    mesh = read_mesh(written(tmp_path, FILE, name))
    assert mesh.points.tolist() == [[0, 0, 0], [1, 0, 0], [1, 1, 0.5], [0, 1, 0], [0, 0, -2]]
    assert [(kind, nodes.tolist()) for kind, nodes in mesh.cells] == [
        ("triangle", [[0, 1, 2], [0, 2, 3]]),
        ("line", [[0, 4]]),
    ]
    assert mesh.point_data["T"].tolist() == [3, 1, 2, 5, 4]
    assert mesh.point_data["velocity"].tolist() == [[k, k + 1, k + 2] for k in (30, 10, 20, 50, 40)]
    assert {name: [block.tolist() for block in blocks] for name, blocks in mesh.cell_data.items()} == {
        "a b": [[70, 90], [30]],
        "c": [[0.7, 0.9], [0.3]],
        "Material Id": [[-4, 2], [6]],
    }
    assert all(block.dtype == np.int64 for block in mesh.cell_data["Material Id"])
    assert mesh.field_data["load"].ravel().tolist() == [5, 6] and not mesh.notes


def refused(path, what=""):
    with pytest.raises(ValueError, match=r"mesh\.inp: Expected .*got") as caught:
        read_mesh(path)
    assert type(caught.value) in (ValueError, InputError) and what in str(caught.value), str(caught.value)


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
        (" 9 90 0.9", " 7 90 0.9", "each number of the values of cells once"),
        (" 9 90 0.9\n", "", "in line 25"),
        (" 0 5 6\n", " 0 5\n", "in line 28"),
        (" 0 5 6\n", "", "lines of values of the model (got 0)"),
        (" 0 5 6\n", " 0 5 6\n1\n", "the end of the file (got '1' in line 29)"),
        (" 0 5 6\n", " 0 5 6", "a line break behind the last line"),
    ],
)
def test_files_that_are_refused(tmp_path, old, new, what):
    assert old in FILE
    refused(written(tmp_path, FILE.replace(old, new)), what)


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
    for number in range(300):
        content = bytearray(whole)
        place = int(rng.integers(len(whole)))
        if number % 3 == 0:
            content[place] = int(rng.integers(256))
        elif number % 3 == 1:
            content[place : place + 3] = content[place : place + 3][::-1]
        else:
            del content[place : place + int(rng.integers(1, 30))]
        path.write_bytes(content)
        try:
            assert isinstance(read_mesh(path), Mesh)
            read += 1
        except ValueError as error:
            assert type(error) in (ValueError, InputError), repr(error)
            assert str(error).startswith(f"{path}: Expected ")
    assert 30 < read < 250
    for content in (b"\0" * 500, rng.bytes(3000), b"1 2 3\n" * 99, b"5 3 4 2 2\n" * 99):
        path.write_bytes(content)
        refused(path)
