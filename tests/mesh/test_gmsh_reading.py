"""Gmsh files against Gmsh itself, and against arrays."""

import meshio
import numpy as np
import pytest

from pitgeo.geometry import geometry_values
from pitgeo.mesh import read_mesh, write_mesh
from pitgeo.mesh.cell_types import VTK_NUMBERS, corners
from tests.geometry.test_geometry_cells import reference
from tests.mesh.helpers import rectangle, written

VERSIONS = [("2.2", 0), ("2.2", 1), ("4.0", 0), ("4.1", 0), ("4.1", 1)]


@pytest.fixture(scope="module")
def api():
    gmsh = pytest.importorskip("gmsh")
    gmsh.initialize(interruptible=False)
    gmsh.option.setNumber("General.Terminal", 0)
    yield gmsh
    gmsh.finalize()


def box(api, axes=2, order=1, size=0.6, recombine=False):
    """A square or a cube with groups that overlap, an edge that runs backwards, and a hole that is in no group."""
    api.clear()
    for name in (
        "SaveAll",
        "SaveParametric",
        "PartitionSplitMeshFiles",
        "PartitionCreateGhostCells",
        "SecondOrderIncomplete",
    ):
        api.option.setNumber(f"Mesh.{name}", 0)
    api.option.setNumber("Mesh.MeshSizeMin", size)
    api.option.setNumber("Mesh.MeshSizeMax", size)
    model = api.model
    if axes == 2:
        model.occ.addRectangle(0, 0, 0, 1, 1)
        model.occ.addRectangle(1, 0, 0, 1, 1)
    else:
        model.occ.addBox(0, 0, 0, 1, 1, 1)
        model.occ.addBox(1, 0, 0, 1, 1, 1)
    model.occ.fragment([(axes, 1)], [(axes, 2)])
    model.occ.synchronize()
    if recombine:
        model.mesh.setTransfiniteAutomatic()
    model.addPhysicalGroup(axes, [1], 7, "left")
    model.addPhysicalGroup(axes, [1, 2], 3, "all of it")
    model.addPhysicalGroup(axes - 1, [1, -2], 9, "edge")
    model.addPhysicalGroup(0, [1], 4, "corner")
    model.mesh.generate(axes)
    model.mesh.setOrder(order)


def places(points):
    return {tuple(np.round(row, 9)) for row in points.tolist()}


def cells_by_place(mesh, members=None):
    """All cells, or those of a set, as the places of their corners."""
    space, found = mesh.points_in_space(), []
    for number, (kind, nodes) in enumerate(mesh.cells):
        rows = nodes if members is None else nodes[members[number]]
        found += [frozenset(places(space[row[: corners(kind, len(row))]])) for row in rows]
    return sorted(found, key=sorted)


def known_cells(api, entities):
    """The same by Gmsh."""
    found = []
    for axes, tag in entities:
        for number, nodes in zip(*(api.model.mesh.getElements(axes, tag)[k] for k in (0, 2)), strict=True):
            _, _, _, count, _, first = api.model.mesh.getElementProperties(number)
            for row in np.reshape(nodes, (-1, count))[:, :first]:
                found.append(frozenset(places(np.array([api.model.mesh.getNode(node)[0] for node in row]))))
    return sorted(set(found), key=sorted)


def save(api, path, version="4.1", binary=0, **options):
    for name, value in {"MshFileVersion": float(version), "Binary": binary, **options}.items():
        api.option.setNumber(f"Mesh.{name}", value)
    api.write(str(path))


@pytest.mark.parametrize(("version", "binary"), VERSIONS)
@pytest.mark.parametrize("axes", [2, 3])
@pytest.mark.parametrize("parametric", [0, 1])
def test_cells_and_sets_are_those_of_gmsh(api, version, binary, axes, parametric, tmp_path):
    box(api, axes)
    if parametric and version == "2.2" and binary:
        pytest.skip("a format of its own that is refused")
    save(api, tmp_path / "mesh.msh", version, binary, SaveParametric=parametric)
    mesh = read_mesh(tmp_path / "mesh.msh")
    groups = {api.model.getPhysicalName(*group): group for group in api.model.getPhysicalGroups()}
    assert set(mesh.cell_sets) == set(groups) == {"left", "all of it", "edge", "corner"}
    entities = {
        name: [(axes_, tag) for tag in api.model.getEntitiesForPhysicalGroup(axes_, group)]
        for name, (axes_, group) in groups.items()
    }
    for name, own in entities.items():
        assert cells_by_place(mesh, mesh.cell_sets[name]) == known_cells(api, own)
    everything = sorted({entity for own in entities.values() for entity in own})
    assert cells_by_place(mesh) == known_cells(api, everything)
    exact = np.minimum(mesh.points, np.array([2.0, 1, 1])[:axes] - mesh.points).min(1)
    assert np.allclose(geometry_values(mesh, "boundary_distance", "point")[:, 0], exact)
    repeated = [note for note in mesh.notes if note.kind == "repeated cells"]
    assert len(repeated) == (version == "2.2")


@pytest.mark.parametrize(("version", "binary"), VERSIONS)
def test_elements_of_no_group_have_the_tag_0(api, version, binary, tmp_path):
    box(api)
    save(api, tmp_path / "mesh.msh", version, binary, SaveAll=1)
    mesh = read_mesh(tmp_path / "mesh.msh")
    assert cells_by_place(mesh) == known_cells(api, api.model.getEntities())
    tags = np.concatenate(mesh.cell_data["gmsh:physical"])
    if version == "2.2":  # for which Gmsh then writes no groups
        assert set(tags.tolist()) == {0}
        return
    assert set(tags.tolist()) == {0, 3, 4, 7, 9}
    in_none = np.ones(len(tags), bool)
    for parts in mesh.cell_sets.values():
        in_none &= ~np.concatenate(
            [np.isin(np.arange(len(nodes)), part) for part, (_, nodes) in zip(parts, mesh.cells, strict=True)]
        )
    assert np.array_equal(tags == 0, in_none)


@pytest.mark.parametrize(("version", "binary"), [("2.2", 0), ("4.1", 1)])
@pytest.mark.parametrize(
    "case", ["triangle6", "quad9", "quad8", "tetra10", "hexahedron27", "hexahedron20", "wedge18", "wedge15", "line3"]
)
def test_nodes_are_in_the_order_of_vtk(api, version, binary, case, tmp_path):
    """Every cell is straight: all its nodes are where its corners say."""
    solid = case.startswith(("tetra", "hexa"))
    box(api, 3 if solid else 2, 1, recombine=case.startswith(("quad", "hexa")))
    if case.startswith("quad"):
        api.option.setNumber("Mesh.RecombineAll", 1)
    if case.startswith("hexa"):
        for surface in api.model.getEntities(2):
            api.model.mesh.setRecombine(*surface)
    if case.startswith("wedge"):
        api.clear()
        api.model.occ.addRectangle(0, 0, 0, 1, 1)
        api.model.occ.extrude([(2, 1)], 0, 0, 1, [2], recombine=True)
        api.model.occ.synchronize()
    api.model.mesh.clear()
    api.model.mesh.generate(3 if solid or case.startswith("wedge") else 2)
    api.option.setNumber("Mesh.SecondOrderIncomplete", float(case in ("quad8", "hexahedron20", "wedge15")))
    api.model.mesh.setOrder(2)
    save(api, tmp_path / "mesh.msh", version, binary, SaveAll=1)
    api.option.setNumber("Mesh.RecombineAll", 0)
    mesh = read_mesh(tmp_path / "mesh.msh")
    cells = [nodes for kind, nodes in mesh.cells if kind == case]
    assert cells, {kind for kind, _ in mesh.cells}
    number = VTK_NUMBERS[case]
    unit = reference(number)
    first = corners(case, len(unit))
    design = np.c_[unit, np.ones(len(unit))]
    for row in np.concatenate(cells):
        nodes = mesh.points_in_space()[row]
        affine = np.linalg.lstsq(design[:first], nodes[:first], rcond=None)[0]
        assert np.allclose(design[:first] @ affine, nodes[:first]), "an affine cell"
        assert np.allclose(design @ affine, nodes, atol=1e-6)


@pytest.mark.parametrize("version", ["2.2", "4.1"])
@pytest.mark.parametrize("binary", [0, 1])
def test_partitions_and_ghosts(api, version, binary, tmp_path):
    box(api, size=0.3)
    whole = known_cells(api, [(2, 1), (2, 2)])
    api.option.setNumber("Mesh.PartitionCreateGhostCells", 1)
    api.model.mesh.partition(3)
    save(api, tmp_path / "mesh.msh", version, binary)
    mesh = read_mesh(tmp_path / "mesh.msh")
    assert cells_by_place(mesh, mesh.cell_sets["all of it"]) == whole
    exact = np.minimum(mesh.points, np.array([2.0, 1]) - mesh.points).min(1)
    assert np.allclose(geometry_values(mesh, "boundary_distance", "point")[:, 0], exact)
    save(api, tmp_path / "part.msh", version, binary, PartitionSplitMeshFiles=1)
    parts = [read_mesh(tmp_path / f"part_{number}.msh") for number in (1, 2, 3)]
    found = [cell for part in parts for cell in cells_by_place(part, part.cell_sets["all of it"])]
    assert sorted(found, key=sorted) == whole  # each once
    for part in parts:
        used = np.unique(np.concatenate([nodes.ravel() for _, nodes in part.cells]))
        assert version == "2.2" or len(part.points) == len(used)
    if version == "4.1":
        assert all("ghost cells" in [note.kind for note in part.notes] for part in parts)


@pytest.mark.parametrize(("version", "binary"), [("2.2", 0), ("2.2", 1), ("4.1", 0), ("4.1", 1)])
def test_fields_are_those_of_gmsh(api, version, binary, tmp_path):
    box(api)
    save(api, tmp_path / "mesh.msh", version, binary)
    tags, coordinates, _ = api.model.mesh.getNodes()
    points = coordinates.reshape(-1, 3)
    elements = np.concatenate([api.model.mesh.getElements(2, k)[1][0] for k in (1, 2)])
    centers = {
        tag: np.mean([api.model.mesh.getNode(n)[0] for n in api.model.mesh.getElement(tag)[1]], axis=0)
        for tag in elements
    }
    api.option.setNumber("PostProcessing.SaveMesh", 0)
    for name, kind, own, values in (
        ("T", "NodeData", tags, points[:, 0] + 10 * points[:, 1]),
        ("v", "NodeData", tags[::2], points[::2]),
        ("c", "ElementData", elements, [centers[tag][0] for tag in elements]),
    ):
        view = api.view.add(name)
        rows = np.reshape(values, (len(own), -1)).tolist()
        api.view.addModelData(view, 0, api.model.getCurrent(), kind, own, rows)
        if kind == "NodeData" or version != "2.2":  # Gmsh numbers the elements of version 2 otherwise
            api.view.write(view, str(tmp_path / "mesh.msh"), True)
    mesh = read_mesh(tmp_path / "mesh.msh")
    assert np.allclose(mesh.point_data["T"], mesh.points[:, 0] + 10 * mesh.points[:, 1])
    known = ~np.isnan(mesh.point_data["v"]).any(1)
    assert known.sum() >= len(tags[::2]) - 2 and np.allclose(mesh.point_data["v"][known], mesh.points_in_space()[known])
    if version == "4.1":
        center = np.concatenate([mesh.points[nodes].mean(1) for _, nodes in mesh.cells])
        found = np.concatenate(mesh.cell_data["c"])
        flat = np.repeat([kind == "triangle" for kind, _ in mesh.cells], [len(nodes) for _, nodes in mesh.cells])
        assert np.allclose(found[flat], center[flat, 0]) and np.isnan(found[~flat]).all()


@pytest.mark.parametrize(
    ("version", "binary"), [("2.2", False), ("2.2", True), ("4.0", True), ("4.1", False), ("4.1", True)]
)
def test_what_meshio_writes(version, binary, tmp_path):
    random = np.random.default_rng(0)
    points = random.random((27, 3))
    widths = {"line": 2, "triangle": 3, "quad": 4, "tetra": 4, "hexahedron": 8, "wedge": 6, "pyramid": 5, "tetra10": 10}
    cells = [(kind, np.stack([random.permutation(27)[:width] for _ in range(3)])) for kind, width in widths.items()]
    tags = [np.full(3, number, np.int32) for number in range(1, len(cells) + 1)]
    given = meshio.Mesh(points, cells, cell_data={"gmsh:physical": tags, "gmsh:geometrical": tags})
    if version == "4.0":  # of which meshio writes tags at numbers that are not there
        given.cell_data = {}
    if version == "4.1":
        given.point_data["gmsh:dim_tags"] = np.tile([3, 4], (27, 1))
    meshio.gmsh.write(tmp_path / "mesh.msh", given, version, binary)
    mesh = read_mesh(tmp_path / "mesh.msh")
    assert np.allclose(mesh.points, points) and [kind for kind, _ in mesh.cells] == list(widths)
    assert all(np.array_equal(mine, theirs) for (_, mine), (_, theirs) in zip(mesh.cells, cells, strict=True))
    if version != "4.0":
        assert [values.tolist() for values in mesh.cell_data["gmsh:geometrical"]] == [
            values.tolist() for values in tags
        ]
    if version == "2.2":
        assert [values.tolist() for values in mesh.cell_data["gmsh:physical"]] == [values.tolist() for values in tags]


def twice(repeated, fields=""):
    points, quads = rectangle(4, 4)
    rows = [f"3 2 10 1 {' '.join(str(k + 1) for k in row)}" for row in quads]
    rows += [f"3 2 11 1 {' '.join(str(k + 1) for k in row)}" for row in quads[:repeated]]
    return (
        '$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n2\n2 10 "solid"\n2 11 "heated"\n$EndPhysicalNames\n'
        "$Nodes\n16\n"
        + "".join(f"{k + 1} {x} {y} 0\n" for k, (x, y) in enumerate(points.tolist()))
        + f"$EndNodes\n$Elements\n{len(rows)}\n"
        + "".join(f"{k + 1} {row}\n" for k, row in enumerate(rows))
        + f"$EndElements\n{fields}"
    )


@pytest.mark.parametrize("repeated", [0, 5, 9])
def test_elements_of_two_groups_are_one_cell(repeated, tmp_path):
    mesh = written(tmp_path / "mesh.msh", twice(repeated))
    points, quads = rectangle(4, 4)
    assert np.array_equal(np.concatenate([nodes for _, nodes in mesh.cells]), quads)
    assert {name: np.concatenate(parts).tolist() for name, parts in mesh.cell_sets.items()} == {
        "solid": [*range(9)],
        "heated": [*range(repeated)],
    }
    assert np.allclose(geometry_values(mesh, "boundary_distance", "point")[:, 0], np.minimum(points, 1 - points).min(1))
    assert [note.kind for note in mesh.notes] == ["repeated cells"] * bool(repeated)
    assert set(np.concatenate(mesh.cell_data["gmsh:physical"]).tolist()) == {10}
    again = mesh.with_cell_data("p", np.arange(9.0)).with_point_data("q", np.arange(16.0))
    write_mesh(tmp_path / "out.msh", again)
    text = (tmp_path / "out.msh").read_text()
    rows = text.split("$ElementData\n")[1].split("\n$End")[0].splitlines()[8:]
    assert [tuple(map(float, row.split())) for row in rows] == [
        *((k + 1, k) for k in range(9)),
        *((k + 10, k) for k in range(repeated)),
    ]
    assert np.array_equal(np.concatenate(read_mesh(tmp_path / "out.msh").cell_data["p"]), np.arange(9.0))


def test_fields_of_whichever_element_has_them(tmp_path):
    """Values at the second number of a cell alone, at both, and at both but other ones."""
    head = '$ElementData\n1\n"e"\n1\n0.0\n3\n0\n1\n'
    mesh = written(tmp_path / "mesh.msh", twice(5, head + "3\n10 5.5\n2 7.5\n12 8.5\n$EndElementData\n"))
    found = np.concatenate(mesh.cell_data["e"])
    assert found[:3].tolist() == [5.5, 7.5, 8.5] and np.isnan(found[3:]).all()
    mesh = written(tmp_path / "mesh.msh", twice(5, head + "3\n10 5.5\n1 7.5\n12 8.5\n$EndElementData\n"))
    assert np.concatenate(mesh.cell_data["e"])[:3].tolist()[0] == 7.5
    assert "one of several values" in [note.kind for note in mesh.notes]


SMALL = (
    "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n"
    "$Entities\n0 0 2 0\n1 0 0 0 1 1 0 1 5 0\n2 0 0 0 1 1 0 0 0\n$EndEntities\n"
    "$Nodes\n1 4 3 90\n2 1 0 4\n90\n3\n7\n8\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n$EndNodes\n"
    "$Elements\n2 2 1 9\n2 1 2 1\n9 90 3 7\n2 2 2 1\n1 90 7 8\n$EndElements\n"
)


def test_a_block_without_a_group(tmp_path):
    mesh = written(tmp_path / "mesh.msh", SMALL)
    assert [nodes.tolist() for _, nodes in mesh.cells] == [[[0, 1, 2]], [[0, 2, 3]]]
    assert [values.tolist() for values in mesh.cell_data["gmsh:physical"]] == [[5], [0]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("1 90 7 8\n", "1 90 7 5\n"), r"nodes of triangle elements that are in \$Nodes"),
        (("1 90 7 8\n", "1 90 7\n"), "a section ends too early"),
        (("2 2 2 1\n1", "2 2 20 1\n1"), "got type 20"),
        (("90\n3\n7\n", "90\n3\n3\n"), "points of different numbers"),
        (("4.1 0 8", "1.0 0 8"), "version 2, 4.0 or 4.1 .got 1.0"),
        (("$EndElements\n", ""), r"one section .Elements .got 0"),
        (("1 90 7 8\n", "1 90 7 x\n"), "mesh.msh: Expected"),
    ],
)
def test_errors(change, message, tmp_path):
    (tmp_path / "mesh.msh").write_text(SMALL.replace(*change))
    with pytest.raises(ValueError, match=message):
        read_mesh(tmp_path / "mesh.msh")
