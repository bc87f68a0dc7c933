"""CGNS files: zones, coordinates, bases and links."""

import numpy as np
import pytest

from pitgeo.geometry import geometry_values
from pitgeo.mesh import centroids, read_mesh
from pitgeo.mesh.mesh import joined
from pitgeo.mesh.pieces import PIECE
from pitgeo.mesh.vtk.reader import read_vtk
from tests.mesh import cgns_files as cgns
from tests.mesh.helpers import assert_same_cells, listed, texts


def strip(x, number, *more):
    """A zone of quadrilaterals between two x, with the ends of its strip as boundary conditions of edges."""
    points, quads = cgns.plane(4, 4, x)
    ends = [(j, j + 1) for j in range(3)], [(12 + j, 13 + j) for j in range(3)]
    return cgns.zone(
        f"Zone{number}",
        points,
        cgns.section("Cells", cgns.QUAD, 1, quads),
        cgns.section("Low", cgns.BAR, 10, ends[0]),
        cgns.section("High", cgns.BAR, 13, ends[1]),
        cgns.conditions(
            cgns.condition("low", cgns.patch("PointRange", [10, 12]), location="EdgeCenter"),
            cgns.condition("high", cgns.patch("PointList", [13, 14, 15]), location="FaceCenter", family="outside"),
        ),
        cgns.solution("S", {"Pressure": points[:, 0] ** 2 + points[:, 1]}),
        cgns.solution("C", {"Heat": np.arange(9.0) + 9 * number}, location="CellCenter"),
        *more,
        cells=9,
    )


def test_zones_are_pieces_of_one_mesh(tmp_path):
    mesh = cgns.read(tmp_path / "two.cgns", strip((0, 1), 0), strip((1, 2), 1), cells=2, space=2)
    points, quads = cgns.plane(7, 4, (0, 2))
    whole = cgns.zone("Z", points, cgns.section("Cells", cgns.QUAD, 1, quads), cells=18)
    one = cgns.read(tmp_path / "one.cgns", whole, cells=2, space=2)
    assert len(mesh.points) == 28 and [len(nodes) for _, nodes in mesh.cells] == [9, 3, 3, 9, 3]
    order = np.lexsort(mesh.points.T[::-1])
    assert np.array_equal(mesh.points[order], points)
    for place in ("point", "cell"):
        values = geometry_values(mesh, "boundary_distance", place).ravel()
        expected = geometry_values(one, "boundary_distance", place).ravel()
        if place == "cell":
            values = np.concatenate([values[:9], values[15:24]])
        assert np.allclose(values[order] if place == "point" else values, expected)
    assert np.allclose(mesh.point_data["Pressure"], mesh.points[:, 0] ** 2 + mesh.points[:, 1])
    heat = mesh.cell_data["Heat"]
    assert heat[0].tolist() == list(range(9)) and heat[3].tolist() == list(range(9, 18))
    assert all(np.isnan(heat[block]).all() for block in (1, 2, 4))
    assert [np.unique(values).tolist() for values in mesh.cell_data[PIECE]] == [[0], [0], [0], [1], [1]]
    assert {name: [len(part) for part in parts] for name, parts in mesh.cell_sets.items()} == {
        "low": [0, 3, 3, 0, 0],  # the edges between the zones are those of the first
        "high": [0, 0, 3, 0, 3],
        "outside": [0, 0, 3, 0, 3],
        "Low": [0, 3, 3, 0, 0],
        "High": [0, 0, 3, 0, 3],
        "Zone0": [9, 3, 3, 0, 0],
        "Zone1": [0, 0, 3, 9, 3],
    }
    distance = geometry_values(mesh, "boundary_distance:high", "point").ravel()
    assert np.allclose(distance, np.abs(mesh.points[:, [0]] - [[1.0, 2.0]]).min(1))


@pytest.mark.parametrize(
    ("counts", "kind"), [((5,), "line"), ((4, 3), "quad"), ((4, 3, 2), "hexahedron"), ((4, 3, 1), "quad")]
)
def test_structured_zones(counts, kind, tmp_path):
    points, axes = cgns.lattice(*counts), len(counts)
    if axes == 1:  # the helper takes points of one axis for those of an unstructured zone
        held = cgns.zone("Z", points, cells=4)._replace()
        kinds = cgns.Node("ZoneType", "ZoneType_t", "Structured")
        held = held._replace(children=(kinds, *held.children[1:]))
    else:
        held = cgns.zone("Z", points)
    field = np.sin(points.sum(-1)) + points[..., 0]
    cells = np.arange(np.prod([max(n - 1, 1) for n in counts]), dtype=float).reshape([max(n - 1, 1) for n in counts])
    held = held._replace(
        children=(
            *held.children,
            cgns.solution("S", {"T": field}),
            cgns.solution("C", {"Heat": cells}, location="CellCenter"),
        )
    )
    mesh = cgns.read(tmp_path / "x.cgns", held, cells=axes, space=axes)
    assert [found for found, _ in mesh.cells] == [kind]
    assert np.allclose(mesh.point_data["T"], np.sin(mesh.points.sum(1)) + mesh.points[:, 0])
    middles = centroids(mesh)
    numbers = np.zeros(len(middles), int)
    for axis in range(middles.shape[1]):
        numbers = numbers * cells.shape[axis] + (middles[:, axis] - 0.5).astype(int)
    assert np.array_equal(joined(mesh.cell_data)["Heat"], cells.ravel()[numbers])
    if axes > 1:
        assert np.allclose(geometry_values(mesh, "cell_size", "cell"), 1)


def test_coordinates_and_zones_of_the_first_time(tmp_path):
    points, _ = cgns.plane()
    moved = cgns.coordinates_of(points * 2, name="Moved")
    mesh = cgns.read(tmp_path / "x.cgns", cgns.quads(moved), cells=2, space=2)
    assert np.array_equal(mesh.points, points)
    assert texts(mesh) == ["the coordinates 'GridCoordinates' are read, not 'Moved'"]

    pointers = cgns.iterations(GridCoordinatesPointers=["Moved", "GridCoordinates"])
    cgns.write(tmp_path / "y.cgns", cgns.base(cgns.quads(moved, pointers), cgns.times(2), cells=2, space=2))
    assert np.array_equal(read_mesh(tmp_path / "y.cgns").points, points * 2)

    zones = [cgns.quads(name=name, shift=shift) for name, shift in (("A1", 0), ("A2", 0.1), ("Fix", 5))]
    held = cgns.times(2, cgns.array("ZonePointers", cgns.words([["A1", "Fix"], ["A2", "Fix"]])))
    mesh = cgns.read(tmp_path / "z.cgns", *zones, held, cells=2, space=2)
    assert listed(mesh.cell_sets).keys() == {"A1", "Fix"} and len(mesh.points) == 32
    assert "the first of 2 times is read" in texts(mesh)


def ring(count=12):
    """Points of half the way from a circle of radius 1 to one of 2, once round: the last are where the first are."""
    angle = 2 * np.pi * np.arange(count + 1) / count
    angle[-1] = 0
    return np.stack([np.cos(angle), np.sin(angle)], -1)[:, None] * np.linspace(1, 2, 4)[None, :, None]


@pytest.mark.parametrize("periodic", [False, True])
def test_a_zone_that_goes_round_is_one_with_itself(periodic, tmp_path):
    """Its seam is no boundary: distances are those to the two circles; a periodic connectivity is another thing."""
    points = ring()
    donor = "Z" if not periodic else "Base/Z"
    extra = [
        cgns.Node(
            "GridConnectivityProperty", "GridConnectivityProperty_t", None, (cgns.Node("Periodic", "Periodic_t"),)
        )
    ]
    seam = cgns.Node(
        "seam",
        "GridConnectivity1to1_t",
        donor,
        (
            cgns.patch("PointRange", [[1, 1], [1, 4]]),
            cgns.patch("PointRangeDonor", [[13, 4], [13, 1]]),
            *(extra if periodic else []),
        ),
    )
    held = cgns.zone(
        "Z",
        points,
        cgns.Node("ZoneGridConnectivity", "ZoneGridConnectivity_t", None, (seam,)),
        cgns.conditions(cgns.condition("cut", cgns.patch("PointRange", [[13, 1], [13, 4]]))),
        cgns.solution("S", {"T": points[..., 0]}),
    )
    mesh = cgns.read(tmp_path / "x.cgns", held, cells=2, space=2)
    if periodic:
        assert len(mesh.points) == 52 and not mesh.notes
        return
    assert len(mesh.points) == 48 and [nodes.shape for _, nodes in mesh.cells] == [(36, 4)]
    assert np.array_equal(mesh.point_data["T"], mesh.points[:, 0])
    assert mesh.points[mesh.point_sets["cut"]].tolist() == [
        [1, 0],
        [pytest.approx(4 / 3), 0],
        [pytest.approx(5 / 3), 0],
        [2, 0],
    ]
    radius = np.linalg.norm(mesh.points, axis=1)
    distance = geometry_values(mesh, "boundary_distance", "point").ravel()
    assert (
        np.allclose(distance[np.isclose(radius, 4 / 3)], distance[np.isclose(radius, 4 / 3)][0])
        and distance.max() > 0.3
    )
    assert texts(mesh) == ["4 points of the zone 'Z' on its seams with itself or on its axis are one with another"]


def test_axes_are_one_line_and_values_that_differ_keep_points_apart(tmp_path):
    """A quarter of a cylinder whose first plane is its axis."""
    angle, radius, height = np.meshgrid(
        np.linspace(0, np.pi / 2, 4), np.linspace(0, 1, 4), np.arange(3.0), indexing="ij"
    )
    points = np.stack([radius * np.cos(angle), radius * np.sin(angle), height], -1)
    jump = np.where(height == 2, angle, height)
    axis = cgns.conditions(
        cgns.condition("axis", cgns.patch("PointRange", [[1, 1, 1], [4, 1, 3]]), kind="BCDegenerateLine")
    )
    mesh = cgns.read(tmp_path / "x.cgns", cgns.zone("Z", points, axis))
    assert len(mesh.points) == 48 - 9
    mesh = cgns.read(tmp_path / "y.cgns", cgns.zone("Z", points, axis, cgns.solution("S", {"T": jump})))
    assert len(mesh.points) == 48 - 6 and "4 stay apart, where values differ" in texts(mesh)[0]


def test_zones_that_meet_where_each_has_many_points_at_one_place(tmp_path):
    """Axes that no boundary condition names: 20,000 points at three places, without the square of that in memory."""
    angle, radius = np.meshgrid(np.linspace(0, np.pi / 2, 10_001), [0.0, 1.0], indexing="ij")
    flat = np.stack([radius * np.cos(angle), radius * np.sin(angle)], -1)[:, :, None]
    zones = []
    for name, heights in (("A", [0.0, 1.0]), ("B", [1.0, 2.0])):
        points = np.broadcast_to(flat, (10_001, 2, 2, 2))
        height = np.broadcast_to(np.array(heights)[None, None, :, None], (10_001, 2, 2, 1))
        zones.append(cgns.zone(name, np.concatenate([points, height], -1)))
    mesh = cgns.read(tmp_path / "x.cgns", *zones)
    assert len(mesh.points) == 7 * 10_001  # one ring is of both zones
    assert "points on seams stay apart, since a piece has several at one place" in texts(mesh)[0]


def test_of_several_bases_the_one_of_most_dimensions_is_read(tmp_path):
    points, _ = cgns.plane()
    surface = cgns.base(cgns.quads(), cells=2, space=2, name="A surface")
    curve = cgns.base(
        cgns.zone("Z", points[:4], cgns.section("L", cgns.BAR, 1, [(0, 1)]), cells=1), cells=1, space=2, name="Curve"
    )
    cgns.write(tmp_path / "x.cgns", surface, curve, cgns.base(name="Empty"))
    mesh = read_mesh(tmp_path / "x.cgns")
    assert [kind for kind, _ in mesh.cells] == ["quad"] and texts(mesh) == ["the base 'A surface' is read, not 'Curve'"]
    cgns.write(tmp_path / "y.cgns", surface, surface._replace(name="B"))
    with pytest.raises(ValueError, match=r"Expected one base with cells of 2 dimensions \(got 'A surface', 'B'\)"):
        read_mesh(tmp_path / "y.cgns")


def test_vtk_reads_the_same_where_it_leaves_nothing_out(tmp_path):
    """Points, cells and fields of a structured and an unstructured zone in space, with rind values."""
    grid, full = cgns.lattice(4, 3, 3), cgns.lattice(6, 3, 3) - np.array([1, 0, 0])
    flow = {"VelocityX": full[..., 0], "VelocityY": full[..., 1], "VelocityZ": full[..., 2] ** 2}
    heat = cgns.solution("C", {"Heat": cgns.lattice(3, 2, 2) @ [1.0, 10.0, 100.0]}, location="CellCenter")
    made = cgns.zone("Y", grid, cgns.solution("S", flow, cgns.rind(1, 1, 0, 0, 0, 0)), heat)
    points = np.concatenate([cgns.lattice(2, 2, 2).reshape(-1, 3), [[0.5, 0.5, 2]]]) + np.array([9, 0, 0])
    rows = (
        cgns.section("Body", cgns.HEXA, 1, [[0, 4, 6, 2, 1, 5, 7, 3]]),
        cgns.section("Top", cgns.PYRA, 2, [[1, 5, 7, 3, 8]]),
    )
    own = cgns.solution("S", {f"Velocity{axis}": points[:, number] for number, axis in enumerate("XYZ")})
    more = cgns.solution("C", {"Heat": np.array([3.0, 5.0])}, location="CellCenter")
    cgns.write(tmp_path / "x.cgns", cgns.base(made, cgns.zone("Z", points, *rows, own, more, cells=2)))
    mesh, other = read_mesh(tmp_path / "x.cgns"), read_vtk(tmp_path / "x.cgns").mesh(tmp_path / "x.cgns")
    assert np.array_equal(mesh.points, other.points)
    assert np.array_equal(mesh.point_data["Velocity"], other.point_data["Velocity"])
    assert mesh.point_data["Velocity"][:, 2].max() == 4
    assert_same_cells(mesh, other)
    assert np.array_equal(joined(mesh.cell_data)["Heat"], joined(other.cell_data)["Heat"])


def test_links_are_followed_or_the_file_is_named(tmp_path):
    points, rows = cgns.plane()
    grid = cgns.base(cgns.quads(cgns.solution("S", {"T": points[:, 0]})), cells=2, space=2)
    cgns.write(tmp_path / "grid.cgns", grid)
    held = cgns.zone("Z", points, cgns.section("Cells", cgns.QUAD, 1, rows), cells=9)
    children = (
        held.children[0],
        cgns.Link("GridCoordinates", "grid.cgns", "/Base/Z/GridCoordinates"),
        held.children[2],
    )
    children += (cgns.Link("Again", "", "/Base/Z/S"), cgns.Link("S", "grid.cgns", "/Base/Z/S"))
    mesh = cgns.read(tmp_path / "x.cgns", held._replace(children=children), cells=2, space=2)
    assert np.array_equal(mesh.points, points)
    assert set(mesh.point_data) == {"T (S)", "T (Again)"} and np.array_equal(mesh.point_data["T (Again)"], points[:, 0])
    (tmp_path / "grid.cgns").unlink()
    with pytest.raises(ValueError, match=r"x\.cgns: Expected the file 'grid.cgns', to which 'Again' links \(got none"):
        read_mesh(tmp_path / "x.cgns")
