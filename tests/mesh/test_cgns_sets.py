"""Boundary conditions, families and sections of CGNS files as sets."""

import h5py
import numpy as np
import pytest

from pitgeo.geometry import geometry_values
from pitgeo.mesh import centroids, read_mesh, write_mesh
from tests.mesh import cgns_files as cgns
from tests.mesh.helpers import listed, texts


def test_faces_and_their_conditions_share_the_points_of_the_zone(tmp_path):
    """A wedge of hexahedra whose four patches are sections of faces: 3,750 points, however often they are listed."""
    points = cgns.lattice(25, 2, 75)
    number = np.arange(3750).reshape(25, 2, 75)
    ring = [(0, 0), (1, 0), (1, 1), (0, 1)]

    def faces(of):
        n, m = of.shape
        return np.stack([of[i : n - 1 + i, j : m - 1 + j].ravel() for i, j in ring], 1)

    cells = np.stack([number[i : 24 + i, j : 1 + j, k : 74 + k].ravel() for k in (0, 1) for i, j in ring], 1)
    patches = {"lower": number[:, :, 0], "upper": number[:, :, -1], "in": number[0], "out": number[-1]}
    first, held, named = len(cells) + 1, [cgns.section("Hexa", cgns.HEXA, 1, cells)], []
    for name, of in patches.items():
        rows = faces(of)
        held.append(cgns.section(f"{name} faces", cgns.QUAD, first, rows))
        named.append(
            cgns.condition(name, cgns.patch("PointRange", [first, first + len(rows) - 1]), location="FaceCenter")
        )
        first += len(rows)
    mesh = cgns.read(
        tmp_path / "w.cgns", cgns.zone("wedge", points.reshape(-1, 3), *held, cgns.conditions(*named), cells=len(cells))
    )
    assert len(mesh.points) == 3750 and [len(nodes) for _, nodes in mesh.cells] == [24 * 74, 24, 24, 74, 74]
    assert np.allclose(geometry_values(mesh, "boundary_distance:lower", "point").ravel(), mesh.points[:, 2])
    assert np.allclose(
        geometry_values(mesh, "boundary_distance:out", "cell").ravel()[: 24 * 74], 24 - centroids(mesh)[: 24 * 74, 0]
    )


def test_boundary_conditions_of_structured_zones(tmp_path):
    points = cgns.lattice(4, 3, 5)
    held = cgns.conditions(
        cgns.condition("i low", cgns.patch("PointRange", [[1, 1, 1], [1, 3, 5]])),
        cgns.condition("j high", cgns.patch("PointRange", [[1, 3, 1], [3, 3, 4]]), location="JFaceCenter"),
        cgns.condition("k high, half", cgns.patch("PointRange", [[1, 1, 5], [3, 1, 5]]), location="FaceCenter"),
        cgns.condition("listed", cgns.patch("PointList", [[4, 1, 1], [4, 2, 1]]), location="FaceCenter", family="far"),
        cgns.condition("points", cgns.patch("PointList", [[1, 1, 1], [4, 3, 5]]), location="Vertex", family="far"),
        cgns.condition("cells", cgns.patch("PointRange", [[1, 1, 1], [3, 1, 1]]), location="CellCenter"),
        cgns.condition("unclear", cgns.patch("PointRange", [[1, 1, 1], [1, 1, 4]]), location="FaceCenter"),
        cgns.condition(
            "clear",
            cgns.patch("PointRange", [[1, 1, 1], [1, 1, 4]]),
            cgns.Node("InwardNormalIndex", "InwardNormalIndex_t", np.array([0, 1, 0], "i4")),
            location="FaceCenter",
        ),
    )
    mesh = cgns.read(tmp_path / "x.cgns", cgns.zone("Z", points, held))
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
    assert listed(mesh.cell_sets) == {"cells": [[0, 1, 2]]}
    assert texts(mesh) == ["the boundary condition 'unclear' is left out: which faces it names cannot be told"]
    distance = geometry_values(mesh, "boundary_distance:i low", "point").ravel()
    assert np.allclose(distance, mesh.points[:, 0])
    assert np.allclose(geometry_values(mesh, "boundary_distance:j high", "cell").ravel(), 2 - centroids(mesh)[:, 1])


def test_families_are_sets_of_their_conditions_and_zones(tmp_path):
    """A family may belong to another, and may have the name of a condition that is not in it."""
    tree = (
        cgns.Node("S_1", "Family_t", None, (cgns.Node("wall", "FamilyName_t", "wall"),)),
        cgns.Node(
            "S_2",
            "Family_t",
            None,
            (cgns.Node("wall", "FamilyName_t", "wall"), cgns.Node("loop", "FamilyName_t", "S_2")),
        ),
        cgns.Node("wall", "Family_t"),
    )
    points, quads = cgns.plane(3, 2)
    zones = [
        cgns.zone(
            f"Z{number}",
            points + np.array([3 * number, 0]),
            cgns.section("Cells", cgns.QUAD, 1, quads),
            cgns.section("Edges", cgns.BAR, 3, [(0, 1), (4, 5), (0, 2)]),
            cgns.conditions(
                cgns.condition("a", cgns.patch("PointList", [3]), location="EdgeCenter", family=f"S_{number}"),
                cgns.condition("wall" if number == 1 else "b", cgns.patch("PointList", [5]), location="EdgeCenter"),
            ),
            cgns.Node("FamilyName", "FamilyName_t", "steel" if number == 1 else "air"),
            cells=2,
        )
        for number in (1, 2)
    ]
    cgns.write(tmp_path / "x.cgns", cgns.base(*zones, *tree, cells=2, space=2))
    assert listed(read_mesh(tmp_path / "x.cgns").cell_sets) == {
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
    points, quads = cgns.plane()
    held = cgns.zone(
        "Z",
        points,
        cgns.section("steel", cgns.QUAD, 1, quads[:4]),
        cgns.section("air", cgns.QUAD, 5, quads[4:]),
        cgns.section("wall", cgns.BAR, 10, [(0, 1), (1, 2), (2, 3)]),
        cgns.conditions(
            cgns.condition("wall", cgns.patch("PointRange", [1, 4])),
            cgns.condition("corner", cgns.patch("PointList", [1]), location="Vertex"),
            cgns.condition("lost", kind="BCWall"),
        ),
        cells=9,
    )
    mesh = cgns.read(tmp_path / "x.cgns", held, cells=2, space=2)
    assert listed(mesh.point_sets) == {"wall": [0, 1, 2, 3], "corner": [0]}
    assert listed(mesh.cell_sets) == {
        "steel": [[0, 1, 2, 3], [], []],
        "air": [[], [0, 1, 2, 3, 4], []],
        "wall": [[], [], [0, 1, 2]],
    }
    assert texts(mesh) == ["the boundary condition 'lost' is left out: which faces it names cannot be told"]
    assert np.allclose(geometry_values(mesh, "boundary_distance:wall", "point").ravel(), mesh.points[:, 0])


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_names_of_nodes(encoding, tmp_path):
    """Names in other encodings, and a node whose own name is another than that of its group."""
    points, rows = cgns.plane()
    held = cgns.conditions(cgns.condition("Wände außen", cgns.patch("PointRange", [1, 4]), family="größe"))
    made = cgns.zone(
        "Zone 1",
        points,
        cgns.section("Cells", cgns.QUAD, 1, rows),
        held,
        cgns.solution("S", {"größe": points[:, 0]}),
        cells=9,
    )
    cgns.write(tmp_path / "x.cgns", cgns.base(made, cells=2, space=2), encoding=encoding)
    with h5py.File(tmp_path / "x.cgns", "r+") as file:
        file["Base/Zone 1"].move("S", "Other")
        file["Base/Zone 1/ZoneBC"].attrs.create("name", np.bytes_("ZoneBC\0garbage"), dtype="S33")
    mesh = read_mesh(tmp_path / "x.cgns")
    assert list(mesh.point_sets) == ["Wände außen", "größe"] and list(mesh.point_data) == ["größe"]
    write_mesh(tmp_path / "x.vtu", mesh)
    assert read_mesh(tmp_path / "x.vtu").point_sets["Wände außen"].tolist() == [0, 1, 2, 3]
