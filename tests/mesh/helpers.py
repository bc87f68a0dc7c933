"""What the tests of mesh files share: meshes as plain lists, comparisons, and files that are refused."""

import numpy as np
import pytest

from pitgeo.mesh import Mesh, read_mesh

EDGES = {
    "line": [(0, 1)],
    "triangle": [(0, 1), (1, 2), (2, 0)],
    "quad": [(0, 1), (1, 2), (2, 3), (3, 0)],
    "tetra": [(0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3)],
    "pyramid": [(0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (1, 4), (2, 4), (3, 4)],
    "wedge": [(0, 1), (1, 2), (2, 0), (0, 3), (1, 4), (2, 5), (3, 4), (4, 5), (5, 3)],
    "hexahedron": [(0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (1, 5), (2, 6), (3, 7), (4, 5), (5, 6), (6, 7), (7, 4)],
}
"""Edges in the order of CGNS and Exodus: the vertical ones before those of the top."""

CUBE = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]]
CORNERS = {
    "line": [[0], [1]],
    "triangle": [[0, 0], [1, 0], [0, 1]],
    "quad": [[0, 0], [1, 0], [1, 1], [0, 1]],
    "tetra": [CUBE[k] for k in (0, 1, 3, 4)],
    "pyramid": [*CUBE[:4], [0.5, 0.5, 1]],
    "wedge": [CUBE[k] for k in (0, 1, 3, 4, 5, 7)],
    "hexahedron": CUBE,
}


def rectangle(n=9, m=9, x=(0.0, 1.0)):
    """Points ``[n m, 2]``, the second axis fastest, and quads of a rectangle."""
    points = np.stack(np.meshgrid(np.linspace(*x, n), np.linspace(0, 1, m), indexing="ij"), -1).reshape(-1, 2)
    number = np.arange(n * m).reshape(n, m)
    quads = np.stack([number[:-1, :-1], number[1:, :-1], number[1:, 1:], number[:-1, 1:]], -1).reshape(-1, 4)
    return points, quads


def written(path, content):
    """The mesh that is read from a file of this content."""
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_mesh(path)


def listed(sets):
    """Sets, or fields of points or the whole, as lists by name; those of cells as a list of lists, one a block."""
    return {
        name: [part.tolist() for part in parts] if isinstance(parts, (tuple, list)) else parts.tolist()
        for name, parts in sets.items()
    }


def listed_cells(mesh):
    """Type and nodes of every block."""
    return [(kind, nodes.tolist()) for kind, nodes in mesh.cells]


def texts(mesh, kind=""):
    """Texts of the notes, of one kind if it is given."""
    return [note.text for note in mesh.notes if kind in ("", note.kind)]


def assert_same_cells(mine, theirs):
    assert [kind for kind, _ in theirs.cells] == [kind for kind, _ in mine.cells]
    assert all(np.array_equal(a, b) for (_, a), (_, b) in zip(mine.cells, theirs.cells, strict=True))


def assert_same_data(mine, theirs, *names):
    """The dictionaries of two meshes, as ``point_data``: names and values, of points, cells or the whole."""
    for name in names:
        assert set(getattr(theirs, name)) == set(getattr(mine, name)), name
        for key, values in getattr(mine, name).items():
            is_blocks = name.startswith("cell_")
            others = getattr(theirs, name)[key]
            for a, b in zip(values, others, strict=True) if is_blocks else [(values, others)]:
                shaped = b.reshape(np.shape(a)) if is_blocks else b
                assert np.array_equal(shaped, a, equal_nan=np.asarray(a).dtype.kind == "f"), key


def assert_same(mine, theirs):
    """Two meshes, down to types of numbers and the order of everything."""
    assert np.array_equal(theirs.points, mine.points) and theirs.points.dtype == np.float64
    assert theirs.plane == mine.plane and theirs.plane_axis == mine.plane_axis
    assert_same_cells(mine, theirs)
    assert_same_data(mine, theirs, "point_data", "point_sets", "field_data", "cell_data", "cell_sets")


def refused(path, *parts):
    """Reading raises the one error, which names the file and holds all the parts."""
    with pytest.raises(ValueError) as caught:
        read_mesh(path)
    assert type(caught.value) is ValueError and str(caught.value).startswith(f"{path}: Expected ")
    assert "got" in str(caught.value) and all(part in str(caught.value) for part in parts), str(caught.value)
    return str(caught.value)


def is_read(path, unwanted="no such words"):
    """Whether a mesh comes, or else the one error that names the file, without unwanted words."""
    try:
        assert isinstance(read_mesh(path), Mesh)
    except ValueError as error:
        assert type(error) is ValueError and str(error).startswith(f"{path}: Expected "), str(error)
        assert unwanted not in str(error)
        return False
    return True


def damaged(content, rng, count):
    """Copies of a file, each with one damage: bytes that are changed, turned round, or lost."""
    for number in range(count):
        copy = bytearray(content)
        place = int(rng.integers(len(copy)))
        if number % 4 == 0:
            copy[place] = int(rng.integers(256))
        elif number % 4 == 1:
            copy[place : place + 4] = rng.bytes(4)
        elif number % 4 == 2:
            copy[place : place + 8] = copy[place : place + 8][::-1]
        else:
            del copy[place : place + int(rng.integers(1, 30))]
        yield bytes(copy)
