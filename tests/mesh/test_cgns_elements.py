"""Sections of elements of CGNS files."""

import importlib

import numpy as np
import pytest

from pitgeo.geometry import geometry_values
from pitgeo.mesh import read_mesh, result_name
from tests.mesh.cgns_files import (
    BAR,
    BAR3,
    HEXA,
    HEXA20,
    HEXA27,
    MIXED,
    NFACE,
    NGON,
    PENTA,
    PENTA15,
    PENTA18,
    PYRA,
    PYRA13,
    PYRA14,
    QUAD,
    QUAD9,
    TETRA,
    TETRA10,
    TRI,
    TRI6,
    base,
    condition,
    conditions,
    patch,
    plane,
    section,
    sets,
    solution,
    texts,
    write,
    zone,
)


@pytest.mark.parametrize("name", ["GridElements", "Elem", "9 quads"])
def test_sections_of_any_name_have_the_elements_that_they_say(name, tmp_path):
    points, quads = plane()
    held = zone(
        "Zone1",
        np.c_[points, 0 * points[:, 0]],
        section(name, QUAD, 1, quads),
        solution("S", {"Pressure": points[:, 0]}),
        cells=9,
    )
    write(tmp_path / "x.cgns", base(held, cells=2))
    mesh = read_mesh(tmp_path / "x.cgns")
    assert [(kind, nodes.tolist()) for kind, nodes in mesh.cells] == [("quad", quads.tolist())]
    assert np.array_equal(mesh.points, points) and np.array_equal(mesh.point_data["Pressure"], points[:, 0])
    assert not mesh.notes and not mesh.cell_sets
    assert result_name(tmp_path / "x.cgns") == "x.vtu"


EDGES = {
    PYRA: [(0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (1, 4), (2, 4), (3, 4)],
    PENTA: [(0, 1), (1, 2), (2, 0), (0, 3), (1, 4), (2, 5), (3, 4), (4, 5), (5, 3)],
    HEXA: [(0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (1, 5), (2, 6), (3, 7), (4, 5), (5, 6), (6, 7), (7, 4)],
    TETRA: [(0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3)],
    QUAD: [(0, 1), (1, 2), (2, 3), (3, 0)],
    TRI: [(0, 1), (1, 2), (2, 0)],
    BAR: [(0, 1)],
}
"""Edges of elements in the order of the standard, which is that of their middle nodes."""

FACES = {
    PYRA: [(0, 1, 2, 3)],
    PENTA: [(0, 1, 4, 3), (1, 2, 5, 4), (2, 0, 3, 5)],
    HEXA: [(0, 3, 2, 1), (0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (0, 4, 7, 3), (4, 5, 6, 7), tuple(range(8))],
    QUAD: [(0, 1, 2, 3)],
}
"""Faces with four corners, and of the hexahedron the whole of it, likewise."""

CORNERS = {
    BAR: [[0], [1]],
    TRI: [[0, 0], [1, 0], [0, 1]],
    QUAD: [[0, 0], [1, 0], [1, 1], [0, 1]],
    TETRA: [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]],
    PYRA: [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0.5, 0.5, 1]],
    PENTA: [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [0, 1, 1]],
    HEXA: [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]],
}


@pytest.mark.parametrize(
    ("number", "corners", "faces", "kind", "cell", "size"),
    [
        (BAR3, BAR, 0, "line3", "QuadraticEdge", 1),
        (TRI6, TRI, 0, "triangle6", "QuadraticTriangle", 1 / 2),
        (8, QUAD, 0, "quad8", "QuadraticQuad", 1),
        (QUAD9, QUAD, 1, "quad9", "BiQuadraticQuad", 1),
        (TETRA10, TETRA, 0, "tetra10", "QuadraticTetra", 1 / 6),
        (PYRA13, PYRA, 0, "pyramid13", "QuadraticPyramid", 1 / 3),
        (PYRA14, PYRA, 1, "pyramid13", "QuadraticPyramid", 1 / 3),
        (PENTA15, PENTA, 0, "wedge15", "QuadraticWedge", 1 / 2),
        (PENTA18, PENTA, 3, "wedge18", "BiQuadraticQuadraticWedge", 1 / 2),
        (HEXA20, HEXA, 0, "hexahedron20", "QuadraticHexahedron", 1),
        (HEXA27, HEXA, 7, "hexahedron27", "TriQuadraticHexahedron", 1),
    ],
)
@pytest.mark.parametrize("mixed", [False, True])
def test_nodes_of_second_order_are_where_vtk_has_them(number, corners, faces, kind, cell, size, mixed, tmp_path):
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
    made = section("S", number, 1, rows)
    if mixed:
        table = np.insert(rows + 1, 0, number, axis=1).ravel()
        made = section("S", MIXED, 1, table, count=2, offsets=[0, len(one) + 1, 2 * len(one) + 2])
    write(tmp_path / "x.cgns", base(zone("Z", points, made, cells=2), cells=axes, space=axes))
    mesh = read_mesh(tmp_path / "x.cgns")
    ((found, nodes),) = mesh.cells
    assert found == kind and np.array_equal(nodes[1], nodes[0] + len(one))
    held = mesh.points_in_space()[nodes[0]]
    made = getattr(importlib.import_module("vtkmodules.vtkCommonDataModel"), f"vtk{cell}")()
    for place, point in enumerate(held):
        made.GetPointIds().SetId(place, place)
        made.GetPoints().SetPoint(place, point)
    edges = [made.GetEdge(place) for place in range(made.GetNumberOfEdges())] if axes > 1 else []
    ids = [[edge.GetPointId(place) for place in range(3)] for edge in edges] or [[0, 1, 2]]
    assert len(ids) == len(EDGES[corners])
    for a, b, middle in ids:
        assert np.allclose(held[middle], (held[a] + held[b]) / 2)
    unit = np.reshape(made.GetParametricCoords(), (-1, 3))[: len(held), :axes] if corners != PYRA else one[:13]
    assert np.allclose(unit @ shear, held[:, :axes])
    if axes > 1:
        assert np.allclose(geometry_values(mesh, "cell_size", "cell").ravel() ** axes, size * np.linalg.det(shear))
    assert bool(texts(mesh)) == (number == PYRA14)


@pytest.mark.parametrize("with_offsets", [False, True])
def test_mixed_sections_and_values_of_their_cells(with_offsets, tmp_path):
    """Two hexahedra, a pyramid, a wedge and two more hexahedra in one section with faces, whose cells have values."""
    cells = {HEXA: 8, PYRA: 5, PENTA: 6, TETRA: 4, QUAD: 4, TRI: 3}
    kinds = [HEXA, HEXA, PYRA, QUAD, PENTA, TRI, QUAD, HEXA, HEXA, TETRA]
    sizes = [cells[kind] for kind in kinds]
    ends = np.cumsum([0, *sizes])
    points = np.random.default_rng(0).random((ends[-1], 3))
    table = np.concatenate([[kind, *range(a + 1, b + 1)] for kind, a, b in zip(kinds, ends, ends[1:], strict=False)])
    offsets = np.cumsum([0, *(size + 1 for size in sizes)]) if with_offsets else None
    heat = np.arange(7) * 10
    write(
        tmp_path / "x.cgns",
        base(
            zone(
                "Z",
                points,
                section("All", MIXED, 1, table, count=10, offsets=offsets),
                conditions(
                    condition("wall", patch("ElementList", [4, 6])), condition("one", patch("ElementRange", [3, 4]))
                ),
                solution("S", {"Heat": heat}, location="CellCenter"),
                cells=7,
            )
        ),
    )
    mesh = read_mesh(tmp_path / "x.cgns")
    found = dict(zip([kind for kind, _ in mesh.cells], mesh.cell_data["Heat"], strict=True))
    assert {kind: values.tolist() for kind, values in found.items() if kind not in ("triangle", "quad")} == {
        "tetra": [60],
        "pyramid": [20],
        "wedge": [30],
        "hexahedron": [0, 10, 40, 50],
    }
    assert np.isnan(found["quad"]).all() and np.isnan(found["triangle"]).all()
    for kind, nodes in mesh.cells:
        own = {"tetra": TETRA, "pyramid": PYRA, "wedge": PENTA, "hexahedron": HEXA, "quad": QUAD, "triangle": TRI}[kind]
        assert nodes[:, 0].tolist() == [a for k, a in zip(kinds, ends, strict=False) if k == own]
    order = [kind for kind, _ in mesh.cells]
    members = {name: {order[b]: part for b, part in enumerate(parts) if part} for name, parts in sets(mesh).items()}
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
        made = section("Faces", NGON, 1, numbers, count=4, offsets=np.cumsum([0, *sizes]))
    else:
        table = [number for row in rows for number in (len(row), *(n + 1 for n in row))]
        made = section("Faces", NGON, 1, table, count=4)
    heat = solution("S", {"Heat": np.arange(4.0)}, location="CellCenter")
    write(tmp_path / "x.cgns", base(zone("Z", points, made, heat, cells=4), cells=2, space=2))
    mesh = read_mesh(tmp_path / "x.cgns")
    found = [
        (kind, nodes.tolist(), heat.tolist())
        for (kind, nodes), heat in zip(mesh.cells, mesh.cell_data["Heat"], strict=True)
    ]
    assert found == [("triangle", rows[2:], [2, 3]), ("quad", rows[1:2], [1]), ("polygon", rows[:1], [0])]


def test_polyhedra_are_refused(tmp_path):
    faces = section("Faces", NGON, 1, [1, 2, 3, 1, 2, 4, 2, 3, 4, 3, 1, 4], count=4, offsets=[0, 3, 6, 9, 12])
    body = section("Bodies", NFACE, 5, [1, 2, 3, 4], count=1, offsets=[0, 4])
    write(tmp_path / "x.cgns", base(zone("Z", np.random.default_rng(0).random((4, 3)), faces, body, cells=1)))
    with pytest.raises(ValueError, match=r"x\.cgns: Expected cells of known types \(got polyhedra in Base/Z/Bodies\)"):
        read_mesh(tmp_path / "x.cgns")
