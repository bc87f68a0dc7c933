"""A model of bodies asked about surfaces without a mesh, along lines and on planes."""

import csv
from dataclasses import replace

import numpy as np
import pytest

from pitgeo import load
from pitgeo.cli.main import main
from pitgeo.data.fields import FieldTable, MeshField
from pitgeo.geometry.filled import fill_surface
from pitgeo.geometry.probes import probe_line
from pitgeo.integrals import measure
from pitgeo.mesh import Mesh, read_mesh, write_mesh
from pitgeo.prediction.query import Line, Query, filled
from pitgeo.workflows.run import train
from tests.pictures import without_pictures
from tests.small_runs import small_run

pyvista = pytest.importorskip("pyvista")
INPUTS = ["clamped", "traction", "load@top"]


def box(long=1.5):
    """The sides of a box, marked at one end, with a named set on top."""
    shell = pyvista.Box(bounds=(0, long, 0, 1, 0, 0.5)).clean().triangulate()
    points, faces = np.array(shell.points, np.float64), shell.faces.reshape(-1, 4)[:, 1:].astype(np.int64)
    marks = (points[:, 0] == 0).astype(np.int64)
    top = np.flatnonzero((points[faces, 2] == 0.5).all(1))
    return Mesh(points, (("triangle", faces),), {"clamped": marks}, cell_sets={"top": (top,)})


def solid(number):
    """A box of tetrahedra with fields that depend on its inputs."""
    random = np.random.default_rng(number)
    mesh = fill_surface(box(1 + random.random()), 0.4, ["clamped"])
    mesh = mesh.with_field_data("traction", random.random(2)).with_field_data("load", random.random(1))
    heat = mesh.points[:, 0] * mesh.field_data["load"] + mesh.points[:, 2]
    return mesh.with_point_data("heat", heat).with_point_data("flow", np.stack([heat, -heat, 0 * heat], 1))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    root = tmp_path_factory.mktemp("query")
    for number in range(8):
        write_mesh(root / "cases" / f"case_{number}.vtu", solid(number))
    write_mesh(root / "part.vtp", box())
    write_mesh(root / "bare.vtu", replace(solid(9), field_data={}))
    pyvista.Box(bounds=(0, 1.5, 0, 1, 0, 0.5)).triangulate().save(root / "bare.stl")
    with without_pictures():
        train(
            small_run(root, "cases/*.vtu", INPUTS, ["heat", "flow"], 'data.meshes.geometry=["boundary_distance"]'),
            root / "out",
        )
    return root


VALUES = ["--value", "traction_x=0.5", "--value", "traction_y=0.25", "--value", "load=0.5"]


def predict(run, mesh, output, *arguments):
    command = ["predict", str(run / "out" / "best.ckpt"), str(run / mesh), "--output", str(output), "--quiet"]
    return main([*command, "--device", "cpu", *map(str, arguments)])


def test_a_surface_is_filled_and_predicted(run, tmp_path, capsys):
    assert predict(run, "part.vtp", tmp_path, "--fill", 0.4, *VALUES) == 0
    assert "filled with" in capsys.readouterr().err
    mesh = read_mesh(tmp_path / "part.vtu")
    assert measure(mesh) == pytest.approx(0.75) and mesh.cells[0][0] == "tetra"
    assert np.array_equal(mesh.point_data["clamped"], mesh.points[:, 0] == 0)
    assert mesh.field_data["traction"].tolist() == [0.5, 0.25] and mesh.field_data["load"].tolist() == [0.5]
    assert "heat_prediction" in mesh.point_data and "heat" not in mesh.point_data
    made = fill_surface(box(), 0.4, ["clamped"]).with_field_data("traction", np.array([0.5, 0.25]))
    alone = load(run / "out" / "best.ckpt").predict_mesh(made.with_field_data("load", np.array([0.5])))
    close = {"rtol": 1e-4, "atol": 1e-5}
    assert np.allclose(mesh.point_data["heat_prediction"], alone.point_data["heat_prediction"], **close)


def test_numbers_come_from_a_table_too(run, tmp_path):
    (tmp_path / "numbers.csv").write_text("file,load\npart.vtp,0.5\n")
    values = ["--fill", 0.4, "--parameters", tmp_path / "numbers.csv", *VALUES[:4]]
    assert predict(run, "part.vtp", tmp_path / "out", *values) == 0
    assert read_mesh(tmp_path / "out" / "part.vtu").field_data["load"].tolist() == [0.5]


def test_lines_and_planes_beside_a_prediction_with_the_truth(run, tmp_path, capsys):
    lines = ["--line=0,0.5,0.25:1,0.5,0.25:11", "--line=0.1,0.1,0.1:3,0.1,0.1:5"]
    assert predict(run, "cases/case_3.vtu", tmp_path, *lines, "--slice=0.5,0.5,0.2:0,0,1") == 0
    names = ["case_3.vtu", "case_3_line_1.csv", "case_3_line_2.csv", "case_3_slice.vtp"]
    assert {path.name for path in tmp_path.iterdir()} == {*names, "trust.json"}
    mesh = read_mesh(tmp_path / "case_3.vtu")
    with open(tmp_path / names[1], newline="") as file:
        rows = list(csv.DictReader(file))
    ends = ("x", "y", "z")
    expected = ["distance", *ends, "inside", "heat", *(f"flow_{end}" for end in ends), "heat_prediction"]
    expected += [f"flow_prediction_{end}" for end in ends]
    assert list(rows[0]) == [*expected, "heat_error", *(f"flow_error_{end}" for end in ends)]
    found = probe_line(mesh, [0, 0.5, 0.25], [1, 0.5, 0.25], 11)
    for name in ("heat", "heat_prediction", "heat_error"):
        assert [float(row[name]) for row in rows] == pytest.approx(found.fields[name].tolist(), rel=1e-6, abs=1e-6)
    assert [float(row["distance"]) for row in rows] == pytest.approx(np.linspace(0, 1, 11).tolist())
    with open(tmp_path / names[2], newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["heat"] == "" for row in rows] == [row["inside"] == "0" for row in rows] == [False] * 2 + [True] * 3
    plane = read_mesh(tmp_path / names[3])
    assert plane.plane == pytest.approx(0.2) and {"heat", "heat_prediction", "clamped"} <= set(plane.point_data)
    assert measure(plane) == pytest.approx(np.ptp(mesh.points[:, 0]))
    load_value = mesh.field_data["load"]
    assert np.allclose(plane.point_data["heat"], plane.points[:, 0] * load_value + 0.2)


def test_a_file_that_holds_predictions_gets_those_of_the_model_along_lines(run, tmp_path):
    line = "--line=0,0.5,0.25:1,0.5,0.25:11"
    assert predict(run, "cases/case_3.vtu", tmp_path / "once", line) == 0
    assert predict(run, tmp_path / "once" / "case_3.vtu", tmp_path / "twice", line) == 0
    once, twice = ((tmp_path / name / "case_3_line.csv").read_text() for name in ("once", "twice"))
    assert "heat_prediction" in once and once == twice


def test_no_column_of_a_line_replaces_another(caplog):
    x, y = np.meshgrid(np.linspace(0, 1, 3), np.linspace(0, 1, 3), indexing="ij")
    points = np.stack([x.ravel(), y.ravel()], 1)
    cells = (
        ("quad", np.array([[3 * a + b, 3 * a + 3 + b, 3 * a + 4 + b, 3 * a + 1 + b] for a in (0, 1) for b in (0, 1)])),
    )
    fields = {"distance": 5 + points[:, 0], "y": 7 + points[:, 0], "u": points, "u_x": 9 + points[:, 0]}
    table = FieldTable((), tuple(MeshField(name, 2 if name == "u" else 1) for name in fields), 2)
    line = Line((0.0, 0.25), (1.0, 0.25), 3)
    (content,) = Query(lines=[line]).found(table, Mesh(points, cells, fields))
    rows = list(csv.DictReader(content.decode().splitlines()))
    names = ["distance", "x", "y", "distance (2)", "y (2)", "u_x", "u_y", "u_x (2)"]
    assert [[float(row[name]) for name in names] for row in rows] == [
        [at, at, 0.25, 5 + at, 7 + at, at, 0.25, 9 + at] for at in (0.0, 0.5, 1.0)
    ]
    assert "the column 'u_x' is called 'u_x (2)'" in caplog.text
    upright = Mesh(points, cells, fields, plane=0.5, plane_axis=1)
    assert Query(lines=[line]).found(table, upright)[0].decode().startswith("distance,x,z,inside,")


def test_a_value_that_is_no_number_is_told_from_a_point_outside():
    points = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [2.0, 0.0], [2.0, 1.0]])
    cells = (("quad", np.array([[0, 1, 2, 3], [1, 4, 5, 2]])),)
    heat = np.array([1.0, 1, 1, 1, np.nan, np.nan])
    table = FieldTable((), (MeshField("heat"),), 2)
    (content,) = Query(lines=[Line((-1.0, 0.5), (2.0, 0.5), 7)]).found(table, Mesh(points, cells, {"heat": heat}))
    rows = list(csv.DictReader(content.decode().splitlines()))
    assert [row["inside"] for row in rows] == ["0", "0", "1", "1", "1", "1", "1"]
    assert [row["heat"] for row in rows] == ["", "", "1", "1", "1", "nan", "nan"]


MISTAKES = [
    (
        "bare.stl",
        ["--fill", 0.4],
        "without the number 'traction', the number 'load', the field 'clamped', the set 'top'",
    ),
    ("bare.stl", ["--fill", 0.4, *VALUES], r"without the field 'clamped', the set 'top'); give numbers by --value or"),
    ("part.vtp", ["--fill", 0.4, *VALUES[2:]], "all components of 'traction' (got none of traction_x)"),
    ("part.vtp", ["--fill", 0.4, "--value", "lod=1"], "did you mean 'load'"),
    ("part.vtp", ["--fill", 0.4, "--value", "load=a"], "as in --value load_x=2 (got 'load=a')"),
    ("part.vtp", ["--fill", 0.4, "--value", "load=1", "--value", "load=1"], "every number once"),
    ("part.vtp", ["--fill", -1, *VALUES], "a positive spacing"),
    ("cases/case_1.vtu", ["--value", "load=1"], "that the file lacks (got one of 'load'"),
    ("cases/case_1.vtu", ["--fill", 0.4], "got bodies"),
    ("bare.vtu", VALUES[:4], "without the number 'load', among 'traction' field data); give them by --value, or in"),
    ("cases/case_1.vtu", ["--line", "0,0,0:1,1,1"], "as in '0,0,0:1,0,0:100'"),
    ("cases/case_1.vtu", ["--line", "0,0:1,1:5"], "positions of 3 coordinates"),
    ("cases/case_1.vtu", ["--line", "0,0,0:1,1,1:1"], "2 to 1,000,000 points between two places"),
    ("cases/case_1.vtu", ["--line", "0,0,0:1,1,1:99999999999"], "2 to 1,000,000 points between two places"),
    ("cases/case_1.vtu", ["--line", "0,1,0:0,1,0:5"], "2 to 1,000,000 points between two places"),
    ("cases/case_1.vtu", ["--line", "5,5,5:6,6,6:5"], "a line through the mesh"),
    ("cases/case_1.vtu", ["--slice", "0,0,0:0,0"], "a point of the plane and its normal"),
    ("cases/case_1.vtu", ["--slice", "0,0,9:0,0,1"], "a plane that meets the mesh"),
]


@pytest.mark.parametrize(("mesh", "arguments", "message"), MISTAKES)
def test_mistakes_are_named_and_leave_nothing(run, tmp_path, capsys, mesh, arguments, message):
    assert predict(run, mesh, tmp_path / "out", *arguments) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_models_of_the_plane_cannot_fill_a_surface():
    with pytest.raises(ValueError, match=r"bodies in 3D .*got one in 2D"):
        filled(FieldTable((), (MeshField("u"),), 2), box(), 0.4, {})
    of_cells = FieldTable((MeshField("k", place="cell"),), (MeshField("u"),), 3)
    with pytest.raises(ValueError, match="takes 'k' at cells"):
        filled(of_cells, box(), 0.4, {})
    of_surfaces = FieldTable((MeshField("normals", 3, is_geometry=True),), (MeshField("u"),), 3)
    with pytest.raises(ValueError, match="takes normals of surfaces"):
        filled(of_surfaces, box(), 0.4, {})
