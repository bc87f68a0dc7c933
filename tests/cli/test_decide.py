"""Sweeps and searches from the command line: what they write and print, and mistakes."""

import csv
import json

import numpy as np
import pytest

from pitgeo.cli.main import main
from pitgeo.mesh import Mesh, read_mesh, write_mesh
from tests.plates import plate, train_on_plates


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    root = tmp_path_factory.mktemp("decide")
    mesh = plate(3)
    write_mesh(root / "bare.vtu", Mesh(mesh.points, mesh.cells, {}, {}, {"wind": mesh.field_data["wind"]}))
    train_on_plates(root, ["load", "wind"], ["v", "peak"])
    return root


def command(run, verb, *arguments, mesh="cases/case_3.vtu"):
    return [verb, str(run / "out" / "best.ckpt"), str(run / mesh), *arguments, "--quiet", "--device", "cpu"]


def test_a_sweep_writes_a_table_and_fields(run, tmp_path, capsys):
    out = tmp_path / "out"
    vary = ["--vary", "load=1:1.6", "--vary", "wind_x=2,5", "--samples", "6", "--seed", "4"]
    assert main(command(run, "sweep", *vary, "--quantity", "mean:v_x", "--fields", "--output", str(out))) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].startswith(f"{out / 'sweep.csv'}, 6 rows, ") and printed[1:] == [str(out / "fields")]
    with open(out / "sweep.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["load", "wind_x", "peak", "mean:v_x"] and {row["wind_x"] for row in rows} == {"2.0", "5.0"}
    meshes = sorted((out / "fields").iterdir())
    assert [path.name for path in meshes] == [f"{number:04}.vtu" for number in range(6)]
    assert [read_mesh(path).field_data["load"][0] for path in meshes] == [float(row["load"]) for row in rows]


def test_numbers_that_a_file_lacks_come_from_a_table(run, tmp_path):
    (tmp_path / "numbers.csv").write_text("file,load\nbare.vtu,1.2\n")
    vary = ["--vary", "wind_x=2", "--output", str(tmp_path / "one")]
    assert main(command(run, "sweep", *vary, "--parameters", str(tmp_path / "numbers.csv"), mesh="bare.vtu")) == 0
    vary = ["--vary", "wind_x=2", "--vary", "load=1.2", "--output", str(tmp_path / "two")]
    assert main(command(run, "sweep", *vary, mesh="bare.vtu")) == 0
    with open(tmp_path / "one" / "sweep.csv") as one, open(tmp_path / "two" / "sweep.csv") as two:
        mine, other = next(csv.DictReader(one)), next(csv.DictReader(two))
    assert float(mine["peak:v"]) == pytest.approx(float(other["peak:v"]), rel=1e-5)


@pytest.mark.parametrize(("goal", "sign"), [("--minimise", 1), ("--maximise", -1)])
def test_a_search_writes_the_best_values(run, tmp_path, capsys, goal, sign):
    out = tmp_path / "out"
    arguments = ["--vary", "load=1:1.6", goal, "load", "--samples", "8", "--output", str(out)]
    assert main(command(run, "optimise", *arguments)) == 0
    printed = capsys.readouterr().out.splitlines()
    best = 1.0 if sign == 1 else 1.6
    assert printed[:2] == [f"load = {best:g}", f"load: {best:g}"] and printed[-1] == str(out / "optimum.vtu")
    assert json.loads((out / "optimum.json").read_text())["values"]["load"] == pytest.approx(best)
    assert "v_prediction" in read_mesh(out / "optimum.vtu").point_data


def test_constraints_that_cannot_hold_are_an_exit_code(run, tmp_path, capsys):
    arguments = ["--vary", "load=1:1.6", "--minimise", "load", "--subject-to", "peak:v<=-1", "--samples", "4"]
    assert main(command(run, "optimise", *arguments, "--output", str(tmp_path))) == 1
    captured = capsys.readouterr()
    assert "peak:v is" in captured.err and "no values were found for which it holds" in captured.err
    assert json.loads((tmp_path / "optimum.json").read_text())["feasible"] is False


MISTAKES = [
    ("sweep", ["--vary", "lod=1,2"], "did you mean 'load'"),
    ("sweep", ["--vary", "wind=1,2"], "give its components, wind_x, wind_y"),
    ("sweep", ["--vary", "load"], "as in 'load=0:10:5'"),
    ("sweep", ["--vary", "load=a"], "finite numbers in 'load=a'"),
    ("sweep", ["--vary", "load=2:1:3"], "from a lower to a higher value"),
    ("sweep", ["--vary", "load=1:2"], "give --samples for a Latin hypercube"),
    ("sweep", ["--vary", "load=1:2", "--samples", "0"], "at least 1 of --samples"),
    ("sweep", ["--vary", "load=1", "--vary", "load=2"], "each once"),
    ("sweep", ["--vary", "load=1", "--quantity", "mean:w"], "a quantity of a target"),
    ("sweep", ["--vary", "load=1", "--quantity", "peak"], "'<operation>:<field>'"),
    ("sweep", ["--vary", "load=1", "--quantity", "mean:v@inlet"], "inlet"),
    ("sweep", ["--vary", "load=1:2", "--samples", "2", "--seed", "-1"], "Expected --seed to be 0 or more"),
    ("optimise", ["--vary", "load=1:2", "--minimise", ""], "'<operation>:<field>'"),
    ("optimise", ["--vary", "load=1:2", "--maximise", ""], "'<operation>:<field>'"),
    ("optimise", ["--vary", "load=1,1.2,1.5", "--minimise", "peak:v"], "got 3 values, 1, 1.2, 1.5); sweep a list"),
    ("optimise", ["--vary", "load=1:2", "--minimise", "mean:w"], "a quantity of a target"),
    ("optimise", ["--vary", "load=1:2", "--minimise", "p90:v"], "the percentile 'p90:v'"),
    ("optimise", ["--vary", "load=1:2", "--minimise", "integral:v"], "of one number"),
    ("optimise", ["--vary", "load=1", "--minimise", "peak:v"], "Expected a range of 'load'"),
    ("optimise", ["--vary", "load=1:2", "--minimise", "peak:v", "--subject-to", "peak:v<2"], "and its limit"),
    ("optimise", ["--vary", "load=1:2", "--minimise", "peak:v", "--starts", "0"], "at least 1 of --starts"),
]


@pytest.mark.parametrize(("verb", "arguments", "message"), MISTAKES)
def test_mistakes_are_one_line_and_write_nothing(run, tmp_path, capsys, verb, arguments, message):
    assert main(command(run, verb, *arguments, "--output", str(tmp_path / "new"))) == 2
    error = capsys.readouterr().err.strip().splitlines()[-1]
    assert error.startswith("pitgeo: error: ") and message in error
    assert not (tmp_path / "new").exists()


def test_fields_of_another_sweep_are_not_mixed_with_new_rows(run, tmp_path, capsys):
    arguments = ["--vary", "load=1,1.2,1.4", "--output", str(tmp_path)]
    assert main(command(run, "sweep", *arguments, "--fields")) == 0
    assert main(command(run, "sweep", "--vary", "load=1.6", *arguments[2:])) == 2
    assert "Expected --output without the fields of another sweep" in capsys.readouterr().err
    assert len((tmp_path / "sweep.csv").read_text().splitlines()) == 4


def test_files_that_do_not_fit(run, tmp_path, capsys):
    write_mesh(tmp_path / "solid.vtu", Mesh(np.random.default_rng(0).random((9, 3)), ()))
    vary = ["--vary", "load=1.2", "--output", str(tmp_path / "new")]
    for mesh, message in ((tmp_path / "none.vtu", "none.vtu"), (tmp_path / "solid.vtu", "Expected a mesh in 2D")):
        assert main(command(run, "sweep", *vary, mesh=mesh)) == 2
        assert message in capsys.readouterr().err
    (tmp_path / "file").write_text("")
    assert main(command(run, "sweep", "--vary", "load=1", "--output", str(tmp_path / "file"))) == 2
    assert "give another --output" in capsys.readouterr().err
