"""CGNS files that are damaged, or hold what is not followed: each is refused with its node, or read rightly."""

import h5py
import numpy as np
import pytest

from pitgeo.mesh import read_mesh
from tests.mesh import cgns_files as cgns
from tests.mesh.helpers import is_read, refused


def small(path):
    """A file of an unstructured zone with sections of every sort, and of a structured one."""
    points, quads = cgns.plane(3, 3)
    table = np.concatenate([[cgns.QUAD, *(row + 1)] for row in quads[2:]])
    held = cgns.zone(
        "Z",
        points,
        cgns.section("Cells", cgns.QUAD, 1, quads[:1]),
        cgns.section("More", cgns.NGON, 2, quads[1] + 1, count=1, offsets=[0, 4]),
        cgns.section("Mixed", cgns.MIXED, 3, table, count=2),
        cgns.section("Edges", cgns.BAR, 5, [(0, 1), (1, 2)]),
        cgns.conditions(
            cgns.condition("wall", cgns.patch("PointRange", [5, 6]), location="EdgeCenter"),
            cgns.condition("points", cgns.patch("PointList", [1, 2]), family="far"),
        ),
        cgns.solution("S", {"T": points[:, 0], "U": np.arange(9, dtype="i4")}),
        cgns.solution("C", {"Heat": np.arange(4.0)}, location="CellCenter"),
        cells=4,
    )
    grid = cgns.lattice(3, 2) + np.array([5, 0])
    faces = cgns.conditions(cgns.condition("end", cgns.patch("PointRange", [[1, 1], [1, 1]]), location="IFaceCenter"))
    other = cgns.zone("Y", grid, faces, cgns.solution("S", {"T": grid[..., 0]}, cgns.rind(0, 0, 0, 0)))
    cgns.write(path, cgns.base(held, other, cells=2, space=2))
    return path


def test_the_file_itself_is_read(tmp_path):
    mesh = read_mesh(small(tmp_path / "x.cgns"))
    assert sum(len(nodes) for kind, nodes in mesh.cells if kind == "quad") == 6
    assert mesh.cell_sets.keys() == {"wall", "Cells", "More", "Mixed", "Edges", "Y", "Z"}
    assert mesh.point_sets.keys() == {"points", "far", "end"}


def put(node, values, kind=None):
    """Change the value of a node."""

    def change(file):
        group = file[f"Base/{node}"]
        values_now = np.asarray(values) if kind is None else np.asarray(values, kind)
        if " data" in group:
            values_now = values_now.astype(kind or group[" data"].dtype)
            del group[" data"]
        group.create_dataset(" data", data=values_now)

    return change


def letters(text):
    return np.frombuffer(text.encode(), "i1")


def rename(node, other):
    def change(file):
        group = file[f"Base/{node}"]
        group.attrs.create("name", np.bytes_(other), dtype="S33")

    return change


def delete(node):
    return lambda file: file.__delitem__(f"Base/{node}")


def hollow(node, count, **options):
    """Say that a node has many values, of which the file holds none."""

    def change(file):
        group = file[f"Base/{node}"]
        kind = group[" data"].dtype
        del group[" data"]
        group.create_dataset(" data", shape=(count,), dtype=kind, **options)

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (put("Z/Cells/ElementRange", [1, 3]), "3 x 4 nodes of elements (got 4 in Base/Z/Cells/ElementConn"),
        (put("Z/Cells/ElementRange", [0, 0]), "a range of elements from 1 on (got 0 to 0 in Base/Z/Cells)"),
        (put("Z/Cells/ElementRange", [1, 2**62], "i8"), "nodes of elements (got 4 in Base/Z/Cells"),
        (put("Z/Cells/ElementRange", [2, 2]), "every element in one section (got number 2 in 'Cells' and 'M"),
        (put("Z/Cells/ElementRange", [1, 2, 3]), "2 whole numbers (got 3 values in Base/Z/Cells/ElementRange)"),
        (put("Z/Cells/ElementRange", [1.0, 2.0], "f8"), "2 whole numbers (got 2 other values in Base/Z/Cells/"),
        (put("Z/Cells/ElementConnectivity", [1, 2, 3, 10]), "nodes of elements from 1 to 9 (got number 10 in"),
        (put("Z/Cells/ElementConnectivity", [1, 2, 3, 0]), "nodes of elements from 1 to 9 (got number 0 in"),
        (put("Z/Cells/ElementConnectivity", [1, 2, 3, -7]), "nodes of elements from 1 to 9 (got number -7 in"),
        (put("Z/Cells/ElementConnectivity", [1, 2, 3, 2**63], "u8"), "nodes of elements from 1 to 9 (got num"),
        (delete("Z/Cells/ElementConnectivity"), "a node 'ElementConnectivity' (got none in Base/Z/Cells)"),
        (put("Z/Cells", [28, 0]), "elements of first or second order (got the type 28 in Base/Z/Cells)"),
        (
            put("Z/Mixed/ElementConnectivity", [7, 1, 2, 3, 4, 99, 1, 2, 3, 4]),
            "before the nodes of every element (got 99",
        ),
        (
            put("Z/Mixed/ElementConnectivity", [7, 1, 2, 3, 4, 7, 1, 2, 3]),
            "before the nodes of every element (got 7 bef",
        ),
        (
            put("Z/Mixed/ElementConnectivity", [7, 1, 2, 3, 4, 7, 1, 2, 3, 4, 5]),
            "2 elements (got 1 numbers more in Bas",
        ),
        (put("Z/Mixed/ElementRange", [3, 2**60], "i8"), "nodes of 1,152,921,504,606,846,974 elements (got 10"),
        (put("Z/More/ElementStartOffset", [0, 5]), "offsets that grow by 3 or more, from 0 to 4 (got others in"),
        (put("Z/More/ElementStartOffset", [0, 2, 4]), "2 whole numbers (got 3 values in Base/Z/More/"),
        (put("Z", [[10], [4], [0]]), "10 values (got 9 in Base/Z/GridCoordinates/CoordinateX)"),
        (put("Z", [[9], [6 + 1], [0]]), "7 cells, as the zone says (got 4 in its sections in Base/Z)"),
        (put("Z", [[2**62], [4], [0]], "i8"), "values (got 9 in Base/Z/GridCoordinates/CoordinateX)"),
        (put("Z", [[-9], [4], [0]]), "one vertex or more (got (-9,) vertices and (4,) cells in Base/Z)"),
        (put("Y", [[3, 2], [2, 2], [0, 0]]), "one cell less than (3, 2) vertices along every axis (got (2, 2)"),
        (put("Y", [[2, 3], [1, 2], [0, 0]]), "2x3 values (got 3x2 in Base/Y/GridCoordinates/CoordinateX)"),
        (put("Z/ZoneType", letters("UserDefined")), "a zone that is structured or unstructured (got 'UserDefi"),
        (put("", [4, 4]), "cells of 1 to 3 dimensions in as many or more (got 4 in 4 in Base)"),
        (
            rename("Z/GridCoordinates/CoordinateX", "CoordinateR"),
            "CoordinateX, CoordinateY (got CoordinateR, CoordinateY in Base/Z/G",
        ),
        (
            delete("Z/GridCoordinates/CoordinateX"),
            "CoordinateX, CoordinateY (got CoordinateY in Base/Z/GridCoordinates); convert the",
        ),
        (delete("Z/GridCoordinates"), "coordinates (got none in Base/Z)"),
        (put("Z/GridCoordinates/CoordinateX", [np.nan] * 9), "finite coordinates (got [nan, 0.0, 0.0] in Base/"),
        (
            put("Z/ZoneBC/wall/PointRange", [[5], [7]]),
            "in a section (got 1 that are in none in Base/Z/ZoneBC/wall/Point",
        ),
        (put("Z/ZoneBC/wall/PointRange", [[5], [2**60]], "i8"), "in none in Base/Z/ZoneBC/wall/PointRange)"),
        (put("Z/ZoneBC/wall/GridLocation", letters("Nowhere")), "one of Vertex, CellCenter, FaceCenter, IFaceC"),
        (put("Z/ZoneBC/points/PointList", [[1], [10]]), "numbers from 1 to 9 (got [1] to [10] in Base/Z/Z"),
        (put("Y/ZoneBC/end/PointRange", [[1, 1], [9, 1]]), "numbers from 1 to 3, 2 (got [1 1] to [9 1] in Bas"),
        (put("Y/ZoneBC/end/PointRange", [1, 1, 1]), "two rows of 2 numbers (got 3 numbers in Base/Y/ZoneBC/"),
        (put("Z/S/T", np.zeros(8)), "9 values (got 8 in Base/Z/S/T)"),
        (put("Z/C/Heat", np.zeros(6)), "4 values (got 6 in Base/Z/C/Heat)"),
        (put("Y/S/Rind", [1, 1, 0, 0]), "5x2 values (got 3x2 in Base/Y/S/T)"),
        (put("Y/S/Rind", [-1, 1, 0, 0]), "a number of rind planes (got [-1, 1, 0, 0] in Base/Y/S/Rind)"),
        (hollow("Z/S/T", 9, chunks=(9,)), "72 bytes of values (got 0 in Base/Z/S/T); the file is damaged"),
        (hollow("Z/Cells/ElementConnectivity", 10**13, chunks=(10**6,)), "1 x 4 nodes of elements (got 10,000"),
        (hollow("Z/Mixed/ElementConnectivity", 10**13, chunks=(10**6,)), "bytes of values (got 0 in Base/Z/Mixed/El"),
        (hollow("Z/ZoneBC/points/PointList", 10**13, chunks=(10**6,)), "bytes of values (got 0 in Base/Z/ZoneBC/p"),
    ],
)
def test_refusals_name_the_node(change, message, tmp_path):
    path = small(tmp_path / "x.cgns")
    with h5py.File(path, "r+") as file:
        change(file)
    refused(path, message)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\x89HDF\r\n\x1a\n" + bytes(100), "Expected a whole file in HDF5 (got Unable to"),
        (
            b"@(#)ADF Database Version A02011>" + bytes(500),
            "Expected a CGNS file in HDF5 (got one in ADF, the older form",
        ),
        (b"garbage" * 100, "Expected a CGNS file in HDF5 (got another file); is it CGNS, and whole?"),
    ],
)
def test_what_is_no_cgns_file_is_refused(content, message, tmp_path):
    """No other reader is tried: VTK would leave out boundary conditions, and fail to return from damaged files."""
    (tmp_path / "x.cgns").write_bytes(content)
    with pytest.raises(ValueError) as caught:
        read_mesh(tmp_path / "x.cgns")
    assert str(caught.value).startswith(f"{tmp_path / 'x.cgns'}: {message}")
    with h5py.File(tmp_path / "y.cgns", "w") as file:
        file["values"] = np.zeros(3)
    with pytest.raises(ValueError, match=r"y\.cgns: Expected a CGNS base with zones \(got none\)"):
        read_mesh(tmp_path / "y.cgns")


def test_links_in_a_circle_are_refused(tmp_path):
    path = small(tmp_path / "x.cgns")
    with h5py.File(path, "r+") as file:
        for name, other in (("A", "B"), ("B", "A")):
            group = file["Base/Z"].create_group(name)
            group.attrs["type"] = np.bytes_("LK")
            group[" link"] = h5py.SoftLink(f"/Base/Z/{other}")
    with pytest.raises(ValueError, match=r"Expected at most 16 links after each other \(got more"):
        read_mesh(path)


@pytest.mark.parametrize("seed", range(4))
def test_damaged_bytes_end_in_a_refusal_or_a_mesh(seed, tmp_path):
    whole, random = small(tmp_path / "x.cgns").read_bytes(), np.random.default_rng(seed)
    path, read = tmp_path / "damaged.cgns", 0
    for _ in range(50):
        content = bytearray(whole)
        if random.random() < 0.2:
            content = content[: random.integers(len(content))]
        else:
            for place in random.integers(len(content), size=random.integers(1, 30)):
                content[place] = random.integers(256)
        path.write_bytes(content)
        read += is_read(path, "a mesh file that")  # said of errors that nobody put into words
    assert read < 50
