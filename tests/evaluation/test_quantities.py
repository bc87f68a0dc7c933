"""Quantities of runs on mesh files: those that are computed from the predicted files, and what is refused."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from pitgeo import load
from pitgeo.cli.main import main
from pitgeo.config.config import load_config
from pitgeo.config.toml import ConfigError
from pitgeo.data.fields import FieldTable, MeshField
from pitgeo.evaluation import plots
from pitgeo.evaluation.evaluation import evaluate, format_table
from pitgeo.evaluation.measure_table import format_errors
from pitgeo.integrals import compute
from pitgeo.measures import Measures
from pitgeo.measures.quantities import Quantities, QuantityErrors
from pitgeo.measures.reference import Values
from pitgeo.mesh import Mesh, read_mesh, write_mesh, write_series
from pitgeo.workflows.run import train
from pitgeo.workflows.run_folder import Trained
from tests.datasets.folder.conftest import small_mesh
from tests.pictures import without_pictures
from tests.small_runs import CONFIG, small_run

NAMES = ("peak:v", "mean:v_x", "flux:v", "-force:q", "p50:q", "mean:q@right", "peak:v_y@right")
LABELS = ("peak:v", "mean:v_x", "flux:v", "-force_x:q", "-force_y:q", "p50:q", "mean:q@right", "peak:v_y@right")
SETTING = f"evaluation.quantities={json.dumps(NAMES)}"


def with_set(number: int) -> Mesh:
    mesh = small_mesh(number)
    right = np.flatnonzero(mesh.points[mesh.cells[0][1]].mean(1)[:, 0] > 0.5)
    return Mesh(mesh.points, mesh.cells, mesh.point_data, mesh.cell_data, mesh.field_data, {}, {"right": (right,)})


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Trained]:
    root = tmp_path_factory.mktemp("run")
    for number in range(8):
        write_mesh(root / "cases" / f"case_{number}.vtu", with_set(number))
    changes = ('training.device="cpu"', SETTING, 'evaluation.sets=["right"]')
    config = small_run(root, "cases/*.vtu", ["load"], ["v", "q", "peak"], *changes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plots, "mesh_fields", lambda *_: None)
        return root, train(config, root / "out")


def predicted(text: str) -> str:
    """The same quantity of the predicted field."""
    for name in ("v", "q"):
        text = text.replace(f":{name}", f":{name}_prediction")
    return text


def test_quantities_are_those_of_the_predicted_files(
    run: tuple[Path, Trained], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, done = run
    cases = done.evaluation["quantity_cases"]
    files = [str(folder / "cases" / Path(case["name"]).name) for case in cases]
    command = ["predict", str(done.checkpoint), *files, "--output", str(tmp_path), "--quiet", "--device", "cpu"]
    assert main(command) == 0
    printed = capsys.readouterr()
    assert str(tmp_path / "quantities.csv") in printed.out and "mean:q@right" in printed.err
    with (tmp_path / "quantities.csv").open(newline="") as file:
        table = {(row["file"], row["quantity"]): row for row in csv.DictReader(file)}
    assert len(table) == len(files) * len(LABELS)
    truths, found = [], []
    for path, case in zip(files, cases, strict=True):
        mesh = read_mesh(tmp_path / Path(path).name)
        truth, prediction = compute(mesh, *NAMES), compute(mesh, *map(predicted, NAMES))
        assert tuple(truth) == tuple(case["truth"]) == tuple(case["prediction"]) == LABELS
        assert list(case["truth"].values()) == pytest.approx(list(truth.values()), rel=1e-5, abs=1e-6)
        assert list(case["prediction"].values()) == pytest.approx(list(prediction.values()), rel=1e-4, abs=1e-5)
        for label in LABELS:
            assert float(table[path, label]["prediction"]) == pytest.approx(
                case["prediction"][label], rel=1e-4, abs=1e-5
            )
            assert float(table[path, label]["truth"]) == pytest.approx(case["truth"][label], rel=1e-5, abs=1e-6)
        truths.append(truth["flux:v"])
        found.append(prediction["flux:v_prediction"])
    errors, entry = np.array(found) - truths, done.evaluation["quantities"]["flux:v"]
    expected = {
        "samples": len(files),
        "mean_truth": np.mean(truths),
        "bias": errors.mean(),
        "rmse": np.sqrt((errors**2).mean()),
        "mean_absolute": abs(errors).mean(),
        "largest_absolute": abs(errors).max(),
        "relative_l2": np.linalg.norm(errors) / np.linalg.norm(truths),
        "r2": 1 - (errors**2).sum() / np.square(truths - np.mean(truths)).sum(),
    }
    assert {key: entry[key] for key in expected} == pytest.approx(expected, rel=1e-4)
    assert entry["relative"]["mean"] == pytest.approx(np.mean(abs(errors / np.array(truths))), rel=1e-4)
    again = load(done.checkpoint).evaluate(files)["quantities"]["flux:v"]
    assert again.pop("relative") == pytest.approx(entry["relative"], rel=1e-4)
    assert again == pytest.approx({key: value for key, value in entry.items() if key != "relative"}, rel=1e-4)


def test_the_report_has_them(run: tuple[Path, Trained]) -> None:
    folder = run[1].checkpoint.parent
    page, bias = (folder / "report.html").read_text(), run[1].evaluation["quantities"]["flux:v"]["bias"]
    assert "Quantities" in page and f"{bias:#.4g}" in page and "Predicted against true numbers" in page
    assert (folder / "pictures" / "scatter.png").exists()
    row = next(line for line in format_table(run[1].evaluation).splitlines() if line.startswith("flux:v"))
    assert row.split()[2] == f"{bias:.4g}"


def test_errors_in_a_set_are_those_of_its_points_and_cells(run: tuple[Path, Trained], tmp_path: Path) -> None:
    folder, done = run
    pairs: dict[str, list[tuple[Values, Values]]] = {"v": [], "q": []}
    files = [folder / "cases" / Path(case["name"]).name for case in done.evaluation["quantity_cases"]]
    for mesh in load(done.checkpoint).predict_mesh([read_mesh(file) for file in files]):
        right = mesh.cell_sets["right"][0]
        at = np.unique(mesh.cells[0][1][right])
        pairs["v"].append((mesh.point_data["v"][at], mesh.point_data["v_prediction"][at]))
        pairs["q"].append((mesh.cell_data["q"][0][right], mesh.cell_data["q_prediction"][0][right]))
    found = done.evaluation["errors_in_sets"]["right"]
    assert list(found) == ["v", "q"]  # a number of the whole mesh is in no set
    for name, parts in pairs.items():
        truth, prediction = (np.concatenate(part) for part in zip(*parts, strict=True))
        error = (prediction - truth).reshape(len(truth), -1)
        assert found[name]["rmse"]["pooled"] == pytest.approx(np.sqrt((error**2).sum() / len(error)), rel=1e-4)
        assert found[name]["largest_absolute"]["pooled"] == pytest.approx(np.linalg.norm(error, axis=1).max(), rel=1e-4)
    assert "in the set right" in format_table(done.evaluation)
    assert "Errors in the set right" in (done.checkpoint.parent / "report.html").read_text()


def test_an_average_that_is_not_that_of_all_points_is_named() -> None:
    measures = Measures(FieldTable((), (MeshField("heat"),), 1), None)
    for name, size in (("small", 0.01), ("large", 10.0)):
        measures.add(name, np.full((5, 1), size), np.full((5, 1), size + 0.01))
    text = "\n".join(format_errors(measures.result()))
    assert "heat: relative l2 is 0.5005 on average over the samples and 0.001414 over all points" in text
    assert "samples whose truth is small" in text.replace("\n  ", " ")
    even = Measures(FieldTable((), (MeshField("heat"),), 1), None)
    even.add("one", np.ones((5, 1)), np.full((5, 1), 1.1))
    assert "on average" not in "\n".join(format_errors(even.result()))


def test_files_without_the_truth_have_predicted_numbers(run: tuple[Path, Trained], tmp_path: Path) -> None:
    mesh = with_set(20)
    bare = Mesh(mesh.points, mesh.cells, {}, {}, {"load": mesh.field_data["load"]}, {}, mesh.cell_sets)
    write_mesh(tmp_path / "bare.vtu", bare)
    arguments = [str(run[1].checkpoint), str(tmp_path / "bare.vtu"), "--output", str(tmp_path / "out")]
    assert main(["predict", *arguments, "--quiet", "--device", "cpu"]) == 0
    lines = (tmp_path / "out" / "quantities.csv").read_text().splitlines()
    assert len(lines) == 1 + len(LABELS) and all(line.endswith(",") for line in lines[1:])


def test_other_quantities_of_a_run_that_is_there(run: tuple[Path, Trained], tmp_path: Path) -> None:
    with without_pictures():
        found = evaluate(run[1].checkpoint, tmp_path, progress=False, overrides=['evaluation.quantities=["min:q"]'])
    assert list(found["quantities"]) == ["min:q"] and found["errors"] == run[1].evaluation["errors"]


def test_a_series_has_them_step_by_step(tmp_path: Path) -> None:
    mesh = small_mesh(0)
    for case in range(5):
        states = [mesh.with_point_data("u", (case + step + 1) * mesh.point_data["u"], "replace") for step in range(3)]
        write_series(tmp_path / "cases" / f"case_{case}.pvd", iter(states), [0.0, 1.0, 2.0])
    changes = ['data.meshes.series="file"', 'evaluation.quantities=["mean:u", "peak:u"]', 'training.device="cpu"']
    with without_pictures():
        done = train(small_run(tmp_path, "cases/*.pvd", [], ["u"], *changes), tmp_path / "out")
    assert list(done.evaluation["quantities"]) == [
        f"{name}:u, step {step}" for step in (1, 2) for name in ("mean", "peak")
    ]
    case = done.evaluation["quantity_cases"][0]
    factor = int(Path(case["name"]).stem[-1]) + 2
    for step in range(2):
        truth = compute(mesh, "mean:u")["mean:u"] * (factor + step)
        assert case["truth"][f"mean:u, step {step + 1}"] == pytest.approx(truth, rel=1e-6)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ('["mean:load"]', r"Expected a quantity of a target \(got 'mean:load'; targets are 'v', 'q', 'peak'\)"),
        ('["mean:peak"]', r"'peak' is a number of the whole mesh"),
        ('["mean:q@wrong"]', r"case_\d.vtu: Expected a set of points or cells named 'wrong'"),
        ('["flux:q"]', r"Expected a vector of 2 components"),
    ],
)
def test_what_is_wrong_is_found_out_before_training(run: tuple[Path, Trained], names: str, message: str) -> None:
    change = f"evaluation.quantities={names}"
    config = small_run(run[0], "cases/*.vtu", ["load"], ["v", "q", "peak"], 'training.device="cpu"', change)
    with pytest.raises(ValueError, match=message):
        train(config, run[0] / "wrong")
    assert not list((run[0] / "wrong").glob("*.ckpt"))
    changes = ('training.device="cpu"', 'evaluation.sets=["wrong"]')
    with pytest.raises(ValueError, match=r"case_\d.vtu: Expected a set .* named 'wrong', of evaluation.sets"):
        train(small_run(run[0], "cases/*.vtu", ["load"], ["v", "q", "peak"], *changes), run[0] / "wrong")


def test_names_are_checked_with_the_configuration() -> None:
    with pytest.raises(ConfigError, match=r"evaluation.quantities: expected .*did you mean 'mean'"):
        load_config(CONFIG, ['evaluation.quantities=["maen:u"]'])
    with pytest.raises(ConfigError, match="every name once"):
        load_config(CONFIG, ['evaluation.quantities=["mean:u", "mean:u"]'])


def test_a_benchmark_has_no_files_for_them(tmp_path: Path) -> None:
    path = CONFIG.with_name("darcy2d_quick.toml")
    config = load_config(path, ['evaluation.quantities=["mean:pressure"]', 'data.name="smoothing"'])
    with pytest.raises(ValueError, match=r"Expected data of mesh files for evaluation.quantities and.*'smoothing'"):
        train(config, tmp_path / "out")


def bar(marks: list[int]) -> Mesh:
    points = np.array([[0.0], [1.0], [3.0]])
    return Mesh(points, (("line", np.array([[0, 1], [1, 2]])),), cell_data={"part": (np.array(marks),)})


def test_a_set_that_a_field_marks_is_that_of_each_mesh() -> None:
    quantities = Quantities(FieldTable((), (MeshField("heat"),), 1), ["mean:heat@part"])
    values = np.array([[0.0], [1.0], [3.0]])
    for marks, expected in (([1, 0], 0.5), ([1, 0], 0.5), ([0, 1], 2.0)):
        assert quantities.of(bar(marks), values)[0]["mean:heat@part"].value == pytest.approx(expected)


def test_a_planar_vector_keeps_its_directions_on_a_mesh_in_another_plane() -> None:
    points = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
    mesh = Mesh(points, (("triangle", np.array([[0, 1, 2]])),), plane_axis=1)  # of x and z
    field = MeshField("u", 2, width=3)  # along x and y; zero along z
    found = Quantities(FieldTable((), (field,), 2), ["force:u", "mean:u"]).of(mesh, np.tile([5.0, 7.0], (3, 1)))[0]
    boundary = 1 + 2 + 5**0.5
    assert {name: number.value for name, number in found.items()} == pytest.approx(
        {"force_x:u": 5 * boundary, "force_z:u": 0.0, "mean:u_x": 5.0, "mean:u_y": 7.0}
    )


def test_a_vector_that_is_taken_as_a_traction_is_noted_once() -> None:
    table = FieldTable((), (MeshField("displacement", 2), MeshField("wall_traction", 2), MeshField("p")), 2)
    names = ["force:displacement", "moment:displacement_y", "force:wall_traction", "force:p", "flux:displacement"]
    quantities = Quantities(table, names)
    square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    for size in (1, 2):
        quantities.of(Mesh(size * square, (("quad", np.array([[0, 1, 2, 3]])),)), np.ones((4, 5)))
    vector, component = quantities.notes
    assert vector.startswith("force:displacement: the vector 'displacement' is taken as a traction")
    assert component.startswith("moment:displacement_y: the component 'displacement_y' is taken as a pressure")


def test_relative_errors_of_numbers_that_are_zero_are_not_defined() -> None:
    errors = QuantityErrors(Quantities(FieldTable((), (MeshField("heat"),), 1), ["integral:heat", "mean:heat"]))
    truth = np.array([[3.0], [-1.0], [0.0]])
    assert compute(bar([0, 0]).with_point_data("heat", truth), "integral:heat") == {"integral:heat": 0.0}
    errors.add("one", bar([0, 0]), truth + 1e-9, truth + 0.1)
    errors.add("two", bar([0, 0]), truth + 1.0, truth + 1.1)
    found = errors.result()["quantities"]["mean:heat"]
    assert found["relative"] is None and "zero, up to rounding, in 1 of 2 samples" in found["reason"]
    assert found["bias"] == pytest.approx(0.1) and found["relative_l2"] == pytest.approx(0.02**0.5, rel=1e-6)
    assert json.dumps(errors.result(), allow_nan=False)


def test_the_same_points_in_another_plane_are_another_mesh() -> None:
    points = np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 1.0], [0.0, 1.0]])
    meshes = [Mesh(points, (("quad", np.array([[0, 1, 2, 3]])),), plane_axis=axis) for axis in (2, 1)]
    quantities = Quantities(FieldTable((), (MeshField("heat"),), 2), ["force:heat"])
    found = [list(quantities.of(mesh, np.ones((4, 1)))[0]) for mesh in meshes]
    assert found == [["force_x:heat", "force_y:heat"], ["force_x:heat", "force_z:heat"]]
