"""Boundary conditions, families and sections of CGNS files as sets."""

import h5py
import numpy as np
import pytest

from pitgeo.geometry import geometry_values
from pitgeo.mesh import centroids, read_mesh, write_mesh
from tests.mesh.cgns_files import (
    BAR,
    HEXA,
    QUAD,
    Node,
    base,
    condition,
    conditions,
    lattice,
    patch,
    plane,
    section,
    sets,
    solution,
    texts,
    write,
    zone,
)


def test_faces_and_their_conditions_share_the_points_of_the_zone(tmp_path):
    """A wedge of hexahedra whose four patches are sections of faces: 3,750 points, however often they are listed."""
    points = lattice(25, 2, 75)
    number = np.arange(3750).reshape(25, 2, 75)
    ring = [(0, 0), (1, 0), (1, 1), (0, 1)]

    def faces(of):
        n, m = of.shape
        return np.stack([of[i : n - 1 + i, j : m - 1 + j].ravel() for i, j in ring], 1)

    cells = np.stack([number[i : 24 + i, j : 1 + j, k : 74 + k].ravel() for k in (0, 1) for i, j in ring], 1)
    patches = {"lower": number[:, :, 0], "upper": number[:, :, -1], "in": number[0], "out": number[-1]}
    first, held, named = len(cells) + 1, [section("Hexa", HEXA, 1, cells)], []
    for name, of in patches.items():
        rows = faces(of)
        held.append(section(f"{name} faces", QUAD, first, rows))
        named.append(condition(name, patch("PointRange", [first, first + len(rows) - 1]), location="FaceCenter"))
        first += len(rows)
    write(tmp_path / "w.cgns", base(zone("wedge", points.reshape(-1, 3), *held, conditions(*named), cells=len(cells))))
    mesh = read_mesh(tmp_path / "w.cgns")
    assert len(mesh.points) == 3750 and [len(nodes) for _, nodes in mesh.cells] == [24 * 74, 24, 24, 74, 74]
    assert np.allclose(geometry_values(mesh, "boundary_distance:lower", "point").ravel(), mesh.points[:, 2])
    assert np.allclose(
        geometry_values(mesh, "boundary_distance:out", "cell").ravel()[: 24 * 74], 24 - centroids(mesh)[: 24 * 74, 0]
    )


def test_boundary_conditions_of_structured_zones(tmp_path):
    points = lattice(4, 3, 5)
    held = conditions(
        condition("i low", patch("PointRange", [[1, 1, 1], [1, 3, 5]])),
        condition("j high", patch("PointRange", [[1, 3, 1], [3, 3, 4]]), location="JFaceCenter"),
        condition("k high, half", patch("PointRange", [[1, 1, 5], [3, 1, 5]]), location="FaceCenter"),
        condition("listed", patch("PointList", [[4, 1, 1], [4, 2, 1]]), location="FaceCenter", family="far"),
        condition("points", patch("PointList", [[1, 1, 1], [4, 3, 5]]), location="Vertex", family="far"),
        condition("cells", patch("PointRange", [[1, 1, 1], [3, 1, 1]]), location="CellCenter"),
        condition("unclear", patch("PointRange", [[1, 1, 1], [1, 1, 4]]), location="FaceCenter"),
        condition(
            "clear",
            patch("PointRange", [[1, 1, 1], [1, 1, 4]]),
            Node("InwardNormalIndex", "InwardNormalIndex_t", np.array([0, 1, 0], "i4")),
            location="FaceCenter",
        ),
    )
    write(tmp_path / "x.cgns", base(zone("Z", points, held)))
    mesh = read_mesh(tmp_path / "x.cgns")
    found = {name: mesh.points[members] for name, members in mesh.point_sets.items()}

    def inside(**limits):
        keep = np.ones(len(mesh.points), bool)
        for axis, (low, high) in limits.items():
            keep &= (mesh.points[:, "ijk".index(axis)] >= low) & (mesh.points[:, "ijk".index(axis)] <= high)
        return mesh.points[keep].tolist()

    assert {name: part.tolist() for name, part in found.items()} == {
        "i low": inside(i=(0, 0)),
        "j high": inside(j=(2, 2)),
        "k high, half": inside(k=(4, 4), j=(0, 1)),
        "listed": inside(i=(3, 3), k=(0, 1)),
        "points": [[0, 0, 0], [3, 2, 4]],
        "far": [[0, 0, 0], [3, 0, 0], [3, 1, 0], [3, 2, 0], [3, 0, 1], [3, 1, 1], [3, 2, 1], [3, 2, 4]],
        "clear": inside(i=(0, 1), j=(0, 0)),
    }
    assert sets(mesh) == {"cells": [[0, 1, 2]]}
    assert texts(mesh) == ["the boundary condition 'unclear' is left out: which faces it names cannot be told"]
    distance = geometry_values(mesh, "boundary_distance:i low", "point").ravel()
    assert np.allclose(distance, mesh.points[:, 0])
    assert np.allclose(geometry_values(mesh, "boundary_distance:j high", "cell").ravel(), 2 - centroids(mesh)[:, 1])


def test_families_are_sets_of_their_conditions_and_zones(tmp_path):
    """A family may belong to another, and may have the name of a condition that is not in it."""
    tree = (
        Node("S_1", "Family_t", None, (Node("wall", "FamilyName_t", "wall"),)),
        Node("S_2", "Family_t", None, (Node("wall", "FamilyName_t", "wall"), Node("loop", "FamilyName_t", "S_2"))),
        Node("wall", "Family_t"),
    )
    points, quads = plane(3, 2)
    zones = [
        zone(
            f"Z{number}",
            points + np.array([3 * number, 0]),
            section("Cells", QUAD, 1, quads),
            section("Edges", BAR, 3, [(0, 1), (4, 5), (0, 2)]),
            conditions(
                condition("a", patch("PointList", [3]), location="EdgeCenter", family=f"S_{number}"),
                condition("wall" if number == 1 else "b", patch("PointList", [5]), location="EdgeCenter"),
            ),
            Node("FamilyName", "FamilyName_t", "steel" if number == 1 else "air"),
            cells=2,
        )
        for number in (1, 2)
    ]
    write(tmp_path / "x.cgns", base(*zones, *tree, cells=2, space=2))
    assert sets(read_mesh(tmp_path / "x.cgns")) == {
        "a": [[], [0], [], [0]],
        "S_1": [[], [0], [], []],
        "S_2": [[], [], [], [0]],
        "wall (family)": [[], [0], [], [0]],
        "wall": [[], [2], [], []],
        "b": [[], [], [], [2]],
        "steel": [[0, 1], [], [], []],
        "air": [[], [], [0, 1], []],
        "Edges": [[], [0, 1, 2], [], [0, 1, 2]],
        "Z1": [[0, 1], [0, 1, 2], [], []],
        "Z2": [[], [], [0, 1], [0, 1, 2]],
    }


def test_conditions_of_points_and_sections_of_several_materials(tmp_path):
    points, quads = plane()
    held = zone(
        "Z",
        points,
        section("steel", QUAD, 1, quads[:4]),
        section("air", QUAD, 5, quads[4:]),
        section("wall", BAR, 10, [(0, 1), (1, 2), (2, 3)]),
        conditions(
            condition("wall", patch("PointRange", [1, 4])),
            condition("corner", patch("PointList", [1]), location="Vertex"),
            condition("lost", kind="BCWall"),
        ),
        cells=9,
    )
    write(tmp_path / "x.cgns", base(held, cells=2, space=2))
    mesh = read_mesh(tmp_path / "x.cgns")
    assert {name: members.tolist() for name, members in mesh.point_sets.items()} == {
        "wall": [0, 1, 2, 3],
        "corner": [0],
    }
    assert sets(mesh) == {
        "steel": [[0, 1, 2, 3], [], []],
        "air": [[], [0, 1, 2, 3, 4], []],
        "wall": [[], [], [0, 1, 2]],
    }
    assert texts(mesh) == ["the boundary condition 'lost' is left out: which faces it names cannot be told"]
    assert np.allclose(geometry_values(mesh, "boundary_distance:wall", "point").ravel(), mesh.points[:, 0])


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_names_of_nodes(encoding, tmp_path):
    """Names in other encodings, and a node whose own name is another than that of its group."""
    points, rows = plane()
    held = conditions(condition("Wände außen", patch("PointRange", [1, 4]), family="größe"))
    made = zone(
        "Zone 1", points, section("Cells", QUAD, 1, rows), held, solution("S", {"größe": points[:, 0]}), cells=9
    )
    write(tmp_path / "x.cgns", base(made, cells=2, space=2), encoding=encoding)
    with h5py.File(tmp_path / "x.cgns", "r+") as file:
        file["Base/Zone 1"].move("S", "Other")
        file["Base/Zone 1/ZoneBC"].attrs.create("name", np.bytes_("ZoneBC\0garbage"), dtype="S33")
    mesh = read_mesh(tmp_path / "x.cgns")
    assert list(mesh.point_sets) == ["Wände außen", "größe"] and list(mesh.point_data) == ["größe"]
    write_mesh(tmp_path / "x.vtu", mesh)
    assert read_mesh(tmp_path / "x.vtu").point_sets["Wände außen"].tolist() == [0, 1, 2, 3]
