"""Sections of elements of CGNS files."""

import numpy as np
import pytest

from pitgeo.geometry import geometry_values, grid_of
from pitgeo.mesh import read_mesh, result_name
from pitgeo.mesh.cell_types import VTK_NUMBERS
from tests.geometry.test_geometry_cells import reference
from tests.mesh import cgns_files as cgns
from tests.mesh.helpers import CORNERS, EDGES, listed, listed_cells, texts


@pytest.mark.parametrize("name", ["GridElements", "Elem", "9 quads"])
def test_sections_of_any_name_have_the_elements_that_they_say(name, tmp_path):
    points, quads = cgns.plane()
    held = cgns.zone(
        "Zone1",
        np.c_[points, 0 * points[:, 0]],
        cgns.section(name, cgns.QUAD, 1, quads),
        cgns.solution("S", {"Pressure": points[:, 0]}),
        cells=9,
    )
    mesh = cgns.read(tmp_path / "x.cgns", held, cells=2)
    assert listed_cells(mesh) == [("quad", quads.tolist())]
    assert np.array_equal(mesh.points, points) and np.array_equal(mesh.point_data["Pressure"], points[:, 0])
    assert not mesh.notes and not mesh.cell_sets
    assert result_name(tmp_path / "x.cgns") == "x.vtu"


FACES = {
    "pyramid": [(0, 1, 2, 3)],
    "wedge": [(0, 1, 4, 3), (1, 2, 5, 4), (2, 0, 3, 5)],
    "hexahedron": [(0, 3, 2, 1), (0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (0, 4, 7, 3), (4, 5, 6, 7), tuple(range(8))],
    "quad": [(0, 1, 2, 3)],
}
"""Faces with four corners, and of the hexahedron the whole of it, likewise."""


@pytest.mark.parametrize(
    ("number", "corners", "faces", "kind", "size"),
    [
        (cgns.BAR3, "line", 0, "line3", 1),
        (cgns.TRI6, "triangle", 0, "triangle6", 1 / 2),
        (8, "quad", 0, "quad8", 1),
        (cgns.QUAD9, "quad", 1, "quad9", 1),
        (cgns.TETRA10, "tetra", 0, "tetra10", 1 / 6),
        (cgns.PYRA13, "pyramid", 0, "pyramid13", 1 / 3),
        (cgns.PYRA14, "pyramid", 1, "pyramid13", 1 / 3),
        (cgns.PENTA15, "wedge", 0, "wedge15", 1 / 2),
        (cgns.PENTA18, "wedge", 3, "wedge18", 1 / 2),
        (cgns.HEXA20, "hexahedron", 0, "hexahedron20", 1),
        (cgns.HEXA27, "hexahedron", 7, "hexahedron27", 1),
    ],
)
@pytest.mark.parametrize("mixed", [False, True])
def test_nodes_of_second_order_are_where_vtk_has_them(number, corners, faces, kind, size, mixed, tmp_path):
    """Two elements, sheared, the second beside the first; every edge of VTK's cell has its own middle node."""
    one = np.array(CORNERS[corners], float)
    one = np.concatenate(
        [
            one,
            [one[list(edge)].mean(0) for edge in EDGES[corners]],
            *([[one[list(f)].mean(0)] for f in FACES[corners][:faces]] if faces else []),
        ]
    )
    axes = one.shape[1]
    shear = np.eye(axes) + 0.2 * np.arange(axes)[:, None] * np.arange(1, axes + 1)
    points = np.concatenate([one, one + 2]) @ shear
    rows = np.arange(2 * len(one)).reshape(2, -1)
    made = cgns.section("S", number, 1, rows)
    if mixed:
        table = np.insert(rows + 1, 0, number, axis=1).ravel()
        made = cgns.section("S", cgns.MIXED, 1, table, count=2, offsets=[0, len(one) + 1, 2 * len(one) + 2])
    mesh = cgns.read(tmp_path / "x.cgns", cgns.zone("Z", points, made, cells=2), cells=axes, space=axes)
    ((found, nodes),) = mesh.cells
    assert found == kind and np.array_equal(nodes[1], nodes[0] + len(one))
    held = mesh.points_in_space()[nodes[0]]
    if axes > 1:
        for edge in grid_of(mesh).get_cell(0).edges:
            assert np.allclose(edge.points[2], edge.points[:2].mean(0))
    unit = reference(VTK_NUMBERS[kind])[:, :axes] if corners != "pyramid" else one[:13]
    assert np.allclose(unit @ shear, held[:, :axes])
    if axes > 1:
        assert np.allclose(geometry_values(mesh, "cell_size", "cell").ravel() ** axes, size * np.linalg.det(shear))
    assert bool(texts(mesh)) == (number == cgns.PYRA14)


@pytest.mark.parametrize("with_offsets", [False, True])
def test_mixed_sections_and_values_of_their_cells(with_offsets, tmp_path):
    """Two hexahedra, a pyramid, a wedge and two more hexahedra in one section with faces, whose cells have values."""
    cells = {cgns.HEXA: 8, cgns.PYRA: 5, cgns.PENTA: 6, cgns.TETRA: 4, cgns.QUAD: 4, cgns.TRI: 3}
    kinds = [
        cgns.HEXA,
        cgns.HEXA,
        cgns.PYRA,
        cgns.QUAD,
        cgns.PENTA,
        cgns.TRI,
        cgns.QUAD,
        cgns.HEXA,
        cgns.HEXA,
        cgns.TETRA,
    ]
    sizes = [cells[kind] for kind in kinds]
    ends = np.cumsum([0, *sizes])
    points = np.random.default_rng(0).random((ends[-1], 3))
    table = np.concatenate([[kind, *range(a + 1, b + 1)] for kind, a, b in zip(kinds, ends, ends[1:], strict=False)])
    offsets = np.cumsum([0, *(size + 1 for size in sizes)]) if with_offsets else None
    heat = np.arange(7) * 10
    mesh = cgns.read(
        tmp_path / "x.cgns",
        cgns.zone(
            "Z",
            points,
            cgns.section("All", cgns.MIXED, 1, table, count=10, offsets=offsets),
            cgns.conditions(
                cgns.condition("wall", cgns.patch("ElementList", [4, 6])),
                cgns.condition("one", cgns.patch("ElementRange", [3, 4])),
            ),
            cgns.solution("S", {"Heat": heat}, location="CellCenter"),
            cells=7,
        ),
    )
    found = dict(zip([kind for kind, _ in mesh.cells], mesh.cell_data["Heat"], strict=True))
    assert {kind: values.tolist() for kind, values in found.items() if kind not in ("triangle", "quad")} == {
        "tetra": [60],
        "pyramid": [20],
        "wedge": [30],
        "hexahedron": [0, 10, 40, 50],
    }
    assert np.isnan(found["quad"]).all() and np.isnan(found["triangle"]).all()
    for kind, nodes in mesh.cells:
        own = {
            "tetra": cgns.TETRA,
            "pyramid": cgns.PYRA,
            "wedge": cgns.PENTA,
            "hexahedron": cgns.HEXA,
            "quad": cgns.QUAD,
            "triangle": cgns.TRI,
        }[kind]
        assert nodes[:, 0].tolist() == [a for k, a in zip(kinds, ends, strict=False) if k == own]
    order = [kind for kind, _ in mesh.cells]
    members = {
        name: {order[b]: part for b, part in enumerate(parts) if part} for name, parts in listed(mesh.cell_sets).items()
    }
    assert members == {"wall": {"triangle": [0], "quad": [0]}, "one": {"pyramid": [0], "quad": [0]}}


@pytest.mark.parametrize("with_offsets", [False, True])
def test_polygons(with_offsets, tmp_path):
    """A hexagon with a square and two triangles on it."""
    angle = np.arange(6) * np.pi / 3
    points = np.c_[np.cos(angle), np.sin(angle)]
    points = np.concatenate([points, points[:2] + 1, [[-2, 0.0]]])
    rows = [[0, 1, 2, 3, 4, 5], [0, 6, 7, 1], [2, 8, 3], [3, 8, 4]]
    sizes = [len(row) for row in rows]
    numbers = [number + 1 for row in rows for number in row]
    if with_offsets:
        made = cgns.section("Faces", cgns.NGON, 1, numbers, count=4, offsets=np.cumsum([0, *sizes]))
    else:
        table = [number for row in rows for number in (len(row), *(n + 1 for n in row))]
        made = cgns.section("Faces", cgns.NGON, 1, table, count=4)
    heat = cgns.solution("S", {"Heat": np.arange(4.0)}, location="CellCenter")
    mesh = cgns.read(tmp_path / "x.cgns", cgns.zone("Z", points, made, heat, cells=4), cells=2, space=2)
    found = [
        (kind, nodes.tolist(), heat.tolist())
        for (kind, nodes), heat in zip(mesh.cells, mesh.cell_data["Heat"], strict=True)
    ]
    assert found == [("triangle", rows[2:], [2, 3]), ("quad", rows[1:2], [1]), ("polygon", rows[:1], [0])]


def test_polyhedra_are_refused(tmp_path):
    faces = cgns.section("Faces", cgns.NGON, 1, [1, 2, 3, 1, 2, 4, 2, 3, 4, 3, 1, 4], count=4, offsets=[0, 3, 6, 9, 12])
    body = cgns.section("Bodies", cgns.NFACE, 5, [1, 2, 3, 4], count=1, offsets=[0, 4])
    cgns.write(
        tmp_path / "x.cgns", cgns.base(cgns.zone("Z", np.random.default_rng(0).random((4, 3)), faces, body, cells=1))
    )
    with pytest.raises(ValueError, match=r"x\.cgns: Expected cells of known types \(got polyhedra in Base/Z/Bodies\)"):
        read_mesh(tmp_path / "x.cgns")
