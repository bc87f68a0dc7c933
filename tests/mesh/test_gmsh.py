"""Results in copies of Gmsh files, looked at byte by byte."""

import json
import logging
import re
from pathlib import Path

import meshio
import numpy as np
import pytest

from pitgeo.mesh import read_mesh, result_name, write_mesh
from tests.mesh.helpers import assert_same_cells, assert_same_data, written
from tests.mesh.test_sets import gmsh

CASES = Path(__file__).parents[3] / "shared" / "cases"
needs_cases = pytest.mark.skipif(not CASES.is_dir(), reason="other programs' meshes are not beside the project")
random = np.random.default_rng(0)


def fields(content, kind):
    """Name, numbers and values of every field, by the format's description."""
    is_binary = re.search(rb"\$MeshFormat\s+\S+ (\d)", content)[1] == b"1"
    result = {}
    for body in re.findall(rb"^\$%b\n(.*?)^\$End%b" % (kind, kind), content, re.DOTALL | re.MULTILINE):
        one, name, two, _, three, _, width, count, rest = body.split(b"\n", 8)
        assert (one, two, three) == (b"1", b"1", b"3")
        if is_binary:
            row = np.dtype([("number", "<i4"), ("values", "<f8", (int(width),))])
            assert rest[row.itemsize * int(count) :] == b"\n"
            table = np.frombuffer(rest, row, int(count))
            numbers, values = table["number"].tolist(), table["values"]
        else:
            words = [line.split() for line in rest.decode().splitlines()]
            assert {len(line) for line in words} == {1 + int(width)} and len(words) == int(count)
            numbers, values = [int(line[0]) for line in words], np.array([line[1:] for line in words], float)
        result[name.strip(b'"').decode()] = numbers, values
    return result


def predicted(mesh):
    size, cells = len(mesh.points), mesh.number_of_cells
    mesh = mesh.with_point_data("p_prediction", random.random(size))
    mesh = mesh.with_point_data("velocity é", random.random((size, 3))).with_point_data("two", random.random((size, 2)))
    mesh = mesh.with_cell_data("stress_prediction", random.random((cells, 9)))
    mesh = mesh.with_cell_data("damage", np.arange(cells).astype(np.float32) / 3)
    return mesh.with_field_data("drag_prediction", 1 / 3).with_field_data("made by", "§")


def check(source, target, mesh, nodes, elements):
    """A copy: what was there, byte by byte, then the fields, at the numbers of the points and cells."""
    content, before = target.read_bytes(), source.read_bytes()
    assert content.startswith(before.rstrip(b"\n"))
    added = content[len(before.rstrip(b"\n")) :]
    assert added.count(b"$EndNodeData\n") == 3 and added.count(b"$EndElementData\n") == 2
    found = fields(content, b"NodeData")
    for name in ("p_prediction", "velocity é"):
        numbers, values = found[name]
        assert numbers == nodes and np.array_equal(values.reshape(mesh.point_data[name].shape), mesh.point_data[name])
    assert np.array_equal(found["two"][1], np.pad(mesh.point_data["two"], ((0, 0), (0, 1))))
    found = fields(content, b"ElementData")
    for name in ("stress_prediction", "damage"):
        numbers, values = found[name]
        assert numbers == elements and np.array_equal(np.squeeze(values), np.concatenate(mesh.cell_data[name]))
    section = re.search(rb"\$PitgeoFieldData\n(.*)\n\$EndPitgeoFieldData\n", added)[1]
    assert json.loads(section) == {"drag_prediction": [1 / 3], "made by": ["§"]}
    again = read_mesh(target)
    assert again.field_data["drag_prediction"].tolist() == [1 / 3] and again.field_data["made by"].tolist() == ["§"]
    assert set(again.field_data) == set(mesh.field_data) and set(again.point_data) == set(mesh.point_data)
    for name in ("p_prediction", "velocity é"):
        assert np.array_equal(again.point_data[name], mesh.point_data[name])
    assert_same_data(mesh, again, "cell_data", "cell_sets")
    assert_same_cells(mesh, again)


def numbers(path, section, old=0):
    """The numbers that begin the rows of an ASCII file."""
    body = re.search(rf"\${section}\n(.*?)\$End", path.read_text(), re.DOTALL)[1]
    lines = [line.split() for line in body.splitlines()][1:]
    if old:
        return [int(line[0]) for line in lines]
    result = []
    while lines:
        count = int(lines[0][3])
        result += [int(line[0]) for line in lines[1 : 1 + count]]
        lines = lines[1 + count * (2 if section == "Nodes" else 1) :]
    return result


@needs_cases
@pytest.mark.parametrize(
    "name",
    ["annulus", "box", "interface", "mixedtriquad", "quadratic_quad", "quadratic_tri", "square", "cylinder_stokes"],
)
def test_files_of_gmsh_take_results(name, tmp_path):
    source = CASES / "meshes" / f"{name}.msh"
    assert result_name(source) == source.name
    mesh = predicted(read_mesh(source))
    write_mesh(tmp_path / source.name, mesh)
    if name == "cylinder_stokes":  # binary
        nodes, elements = [*range(1, len(mesh.points) + 1)], [*range(1, mesh.number_of_cells + 1)]
        before = fields(source.read_bytes(), b"ElementData")
        after = fields((tmp_path / source.name).read_bytes(), b"ElementData")
        assert before and all(np.array_equal(after[field][1], values) for field, (_, values) in before.items())
    else:
        old = b"2.2" in source.read_bytes()[:20]
        nodes, elements = numbers(source, "Nodes", old), numbers(source, "Elements", old)
    check(source, tmp_path / source.name, mesh, nodes, elements)


@pytest.mark.parametrize("version", ["gmsh", "gmsh22"])
@pytest.mark.parametrize("binary", [True, False])
def test_results_in_the_mode_of_the_file(version, binary, tmp_path):
    points = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0.0]])
    cells = [("line", np.array([[0, 1], [1, 2]])), ("triangle", np.array([[0, 1, 2], [0, 2, 3]]))]
    tags = [np.array([1, 1], np.int32), np.array([2, 2], np.int32)]
    given = meshio.Mesh(points, cells, cell_data={"gmsh:physical": tags, "gmsh:geometrical": tags})
    if version == "gmsh":
        given.point_data["gmsh:dim_tags"] = np.array([[1, 1]] * 3 + [[2, 2]])
    given.write(tmp_path / "mesh.msh", file_format=version, binary=binary)
    mesh = predicted(read_mesh(tmp_path / "mesh.msh"))
    write_mesh(tmp_path / "out" / "mesh.msh", mesh)
    check(tmp_path / "mesh.msh", tmp_path / "out" / "mesh.msh", mesh, [1, 2, 3, 4], [1, 2, 3, 4])


def test_numbers_of_the_file_are_those_of_the_fields(tmp_path):
    text = gmsh([40, 10, 30, 20], [40, 10, 30, 20])
    (tmp_path / "mesh.msh").write_text(text.rstrip("\n"))  # no end of the last line
    mesh = predicted(read_mesh(tmp_path / "mesh.msh"))
    write_mesh(tmp_path / "out.msh", mesh)
    check(tmp_path / "mesh.msh", tmp_path / "out.msh", mesh, [40, 10, 30, 20], [1, 2, 3])
    assert fields((tmp_path / "out.msh").read_bytes(), b"NodeData")["T"][0] == [40, 10, 30, 20]


@pytest.mark.parametrize("binary", [True, False])
def test_results_of_results_are_replaced(binary, tmp_path):
    points, cells = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0.0]]), [("triangle", np.array([[0, 1, 2]]))]
    meshio.Mesh(points, cells).write(tmp_path / "a.msh", file_format="gmsh", binary=binary)
    write_mesh(tmp_path / "b.msh", predicted(read_mesh(tmp_path / "a.msh")))
    mesh = read_mesh(tmp_path / "b.msh").with_point_data("p_prediction", np.array([7.0, 8, 9]), "replace")
    mesh = mesh.with_cell_data("damage", np.array([5.0]), "replace").with_field_data("drag_prediction", 2, "replace")
    write_mesh(tmp_path / "c.msh", mesh)
    content = (tmp_path / "c.msh").read_bytes()
    assert content.count(b'"p_prediction"') == content.count(b'"damage"') == content.count(b"$PitgeoFieldData") == 1
    again = read_mesh(tmp_path / "c.msh")
    assert again.point_data["p_prediction"].tolist() == [7, 8, 9] and again.cell_data["damage"][0].tolist() == [5]
    assert again.field_data["drag_prediction"].tolist() == [2] and again.field_data["made by"].tolist() == ["§"]
    for name in ("velocity é", "two"):
        assert np.array_equal(again.point_data[name], mesh.point_data[name])


def test_files_that_cannot_take_results_have_them_beside(tmp_path, caplog):
    caplog.set_level(logging.INFO)
    good = gmsh([1, 2, 3, 4], [1, 2, 3, 4])
    binary = tmp_path / "binary.msh"
    points, cells = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0.0]]), [("triangle", np.array([[0, 1, 2]]))]
    meshio.Mesh(points, cells).write(binary, file_format="gmsh", binary=True)
    content = binary.read_bytes()
    for text, message in (
        (b"no mesh", "no head"),
        (good.replace("2.2 0 8", "1.0 0 8").encode(), "its version, 1.0, is not known"),
        (good.replace("\n2 2 2 5", "\n3 2 2 5").encode(), "points or cells share a number"),
        (good.replace("\n1 1 2 5", "\nx 1 2 5").encode(), "not as the format says"),
        (content.replace(b"4.1 1 8", b"4.0 1 8"), "not as the format says"),
    ):
        caplog.clear()
        (tmp_path / "mesh.msh").write_bytes(text)
        assert result_name(tmp_path / "mesh.msh") == "mesh.vtu"
        assert "mesh.msh: results go to mesh.vtu, since " in caplog.text and message in caplog.text
    assert result_name(tmp_path / "nothing.msh") == "nothing.vtu"


def test_what_a_file_of_gmsh_cannot_hold_is_refused(tmp_path):
    mesh = written(tmp_path / "mesh.msh", gmsh([1, 2, 3, 4], [1, 2, 3, 4]))
    for broken in (
        mesh.with_point_data('a "name"', np.ones(4)),
        mesh.with_point_data("words", np.array(["a"] * 4)),
        mesh.with_point_data("large", np.full(4, 2**60 + 1)),
    ):
        with pytest.raises(ValueError, match=r"out\.msh: Expected fields that the format can hold"):
            write_mesh(tmp_path / "out.msh", broken)
    assert [file.name for file in tmp_path.iterdir()] == ["mesh.msh"]
