"""Errors in JSON, tables and pictures are those that numpy finds in the predicted files."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pitgeo import load
from pitgeo.cli.main import main
from pitgeo.evaluation import plots
from pitgeo.measures.reference import Reference, Values
from pitgeo.mesh import Mesh, read_mesh, read_series, write_mesh, write_series
from pitgeo.workflows.run import train
from pitgeo.workflows.run_folder import Trained
from tests.datasets.folder.conftest import small_mesh
from tests.pictures import without_pictures
from tests.small_runs import small_run

TARGETS = ("v", "q", "peak")
"""A planar vector of points, a field of cells, a number of the whole mesh."""


def make(folder: Path, files: str, inputs: list[str], targets: list[str], *changes: str) -> Trained:
    return train(small_run(folder, files, inputs, targets, 'training.device="cpu"', *changes), folder / "out")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Trained]:
    root = tmp_path_factory.mktemp("run")
    for number in range(8):
        write_mesh(root / "cases" / f"case_{number}.vtu", small_mesh(number))
    for number in range(20, 23):
        write_mesh(root / "new" / f"new_{number}.vtu", small_mesh(number))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plots, "mesh_fields", lambda *_: None)
        return root, make(root, "cases/*.vtu", ["load"], list(TARGETS))


def fields(mesh: Mesh, name: str) -> Values:
    """Values ``[n, components]`` of a target, of a planar vector two."""
    data = {**mesh.point_data, **{key: np.concatenate(part) for key, part in mesh.cell_data.items()}, **mesh.field_data}
    values = np.asarray(data[name], np.float64)
    return values.reshape(len(values), -1)[:, :2]


def expected(files: list[Path], name: str, mean: Values) -> dict[str, Any]:
    pairs = [(fields(mesh, name), fields(mesh, f"{name}_prediction")) for mesh in map(read_mesh, files)]
    truth, prediction = (np.concatenate(part) for part in zip(*pairs, strict=True))
    error = prediction - truth
    norm = np.linalg.norm
    return {
        "rmse": np.sqrt(np.square(error).sum() / len(error)),
        "largest_absolute": norm(error, axis=1).max(),
        "r2": 1 - np.square(error).sum() / np.square(truth - truth.mean(0)).sum(),
        "relative_l2": norm(error) / norm(truth),
        "variation_l2": norm(error) / norm(truth - mean),
        "mean of relative_l2": np.mean([norm(b - a) / norm(a) for a, b in pairs]),
    }


def means(done: Trained, folder: Path) -> dict[str, Values]:
    """Of every target over the files of training, each number of a mesh once."""
    split = json.loads((done.checkpoint.parent / "split.json").read_text())
    training = [read_mesh(folder / "cases" / Path(name).name) for name in split["train"]]
    return {name: np.concatenate([fields(mesh, name) for mesh in training]).mean(0) for name in TARGETS}


def check(errors: dict[str, Any], files: list[Path], mean: dict[str, Values]) -> None:
    for name in TARGETS:
        for key, value in expected(files, name, mean[name]).items():
            found = errors[name]["relative_l2"]["mean"] if key.startswith("mean of") else errors[name][key]["pooled"]
            assert found == pytest.approx(value, rel=2e-6), (name, key)


def test_evaluation_of_the_test_files_is_that_of_their_predictions(run: tuple[Path, Trained], tmp_path: Path) -> None:
    folder, done = run
    tested = json.loads((done.checkpoint.parent / "split.json").read_text())["test"]
    files = [str(folder / "cases" / Path(name).name) for name in tested]
    command = ["predict", str(done.checkpoint), *files, "--output", str(tmp_path), "--quiet", "--device", "cpu"]
    assert main(command) == 0
    written = [tmp_path / Path(file).name for file in files]
    check(done.evaluation["errors"], written, means(done, folder))
    assert list(done.evaluation["errors"]["v"]["components"]) == ["v_x", "v_y"]
    page = (done.checkpoint.parent / "report.html").read_text()
    assert f"{done.evaluation['errors']['v']['rmse']['pooled']:#.4g}" in page


def test_any_files_are_evaluated(run: tuple[Path, Trained], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, done = run
    pattern = str(folder / "new" / "*.vtu")
    assert (
        main(["predict", str(done.checkpoint), pattern, "--output", str(tmp_path), "--quiet", "--device", "cpu"]) == 0
    )
    printed = capsys.readouterr().err
    written = sorted(tmp_path.glob("new_*.vtu"))
    predictor = load(done.checkpoint)
    found = predictor.evaluate(pattern)
    check(found["errors"], written, means(done, folder))
    assert found["samples"] == 3 and json.loads(json.dumps(found, allow_nan=False)) == found
    one = predictor.evaluate(folder / "new" / "new_21.vtu")["errors"]
    case = next(case for case in found["cases"] if case["name"].endswith("new_21.vtu"))
    assert {key: one["q"][key]["pooled"] for key in case["errors"]["q"]} == pytest.approx(case["errors"]["q"], rel=1e-6)
    meshes = [read_mesh(path) for path in sorted((folder / "new").glob("*.vtu"))]
    assert predictor.evaluate(meshes)["errors"] == found["errors"]
    # the table of predict, and that of evaluate, are of the same numbers
    out = tmp_path / "report"
    command = ["evaluate", str(done.checkpoint), "--files", pattern, "--output", str(out), "--quiet", "--device", "cpu"]
    assert main(command) == 0
    table = capsys.readouterr().out
    assert json.loads((out / "evaluation.json").read_text())["errors"] == found["errors"]
    for text in (printed, table):
        row = next(line.split() for line in text.splitlines() if line.startswith("q "))
        shown = [found["errors"]["q"][name]["pooled"] for name in ("rmse", "largest_absolute", "r2")]
        shown += [found["errors"]["q"]["relative_l2"]["mean"], found["errors"]["q"]["variation_l2"]["pooled"]]
        assert [float(cell) for cell in row[1:]] == pytest.approx(shown, rel=1e-3)
    assert "errors in 3 files with the truth" in printed and "3 files" in table


def test_files_without_the_truth(run: tuple[Path, Trained], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """None of them: predicted, and refused for errors. Some of them: the others are measured."""
    _, done = run
    mesh = small_mesh(30)
    bare = Mesh(mesh.points, mesh.cells, {}, {}, {"load": mesh.field_data["load"]})
    write_mesh(tmp_path / "bare.vtu", bare)
    write_mesh(tmp_path / "some.vtu", Mesh(mesh.points, mesh.cells, {"v": mesh.point_data["v"]}, {}, bare.field_data))
    predictor = load(done.checkpoint)
    with pytest.raises(
        ValueError, match=r"bare.vtu: Expected the truth of a target, of v_x, v_y, q, peak \(got none\)"
    ):
        predictor.evaluate(tmp_path / "bare.vtu")
    found = predictor.evaluate([tmp_path / "some.vtu"])["errors"]
    assert list(found) == ["v"] and found["v"]["samples"] == 1
    command = [
        "predict",
        str(done.checkpoint),
        str(tmp_path / "bare.vtu"),
        "--output",
        str(tmp_path / "out"),
        "--quiet",
    ]
    assert main(command) == 0 and "errors in" not in capsys.readouterr().err


def test_numbers_of_meshes_come_as_arguments(run: tuple[Path, Trained], tmp_path: Path) -> None:
    folder, done = run
    mesh = small_mesh(20)
    own = {name: value for name, value in mesh.field_data.items() if name != "load"}
    bare = Mesh(mesh.points, mesh.cells, mesh.point_data, mesh.cell_data, own)
    write_mesh(tmp_path / "new_20.vtu", bare)
    load_of_mesh = float(np.asarray(mesh.field_data["load"]).ravel()[0])
    (tmp_path / "loads.csv").write_text(f"file,load\nnew_20.vtu,{load_of_mesh!r}\n")
    predictor = load(done.checkpoint)
    whole = predictor.evaluate(folder / "new" / "new_20.vtu")["errors"]
    assert predictor.evaluate(tmp_path / "new_20.vtu", tmp_path / "loads.csv")["errors"] == whole
    assert predictor.evaluate(bare, {"load": load_of_mesh})["errors"] == whole
    assert predictor.evaluate([bare], [{"load": load_of_mesh}])["errors"] == whole
    with pytest.raises(ValueError, match="a number 'load' of the whole mesh") as caught:
        predictor.evaluate(bare)
    assert "--" not in str(caught.value)
    with pytest.raises(ValueError, match=r"a dictionary for each of 1 meshes \(got 2\)"):
        predictor.evaluate([bare], [{}, {}])
    with pytest.raises(ValueError, match=r"to be dictionaries \(got loads.csv, a table of files\)"):
        predictor.evaluate(bare, "loads.csv")
    with pytest.raises(FileNotFoundError, match="'meshes'"):
        predictor.evaluate(tmp_path / "none_*.vtu")


def test_a_checkpoint_without_the_mean_takes_it_from_the_training_files(
    run: tuple[Path, Trained], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, done = run
    known = load(done.checkpoint)
    found = known.evaluate(folder / "new" / "new_20.vtu")["errors"]
    old = load(done.checkpoint)
    del old.facts["reference"]
    assert isinstance(old.reference, Reference) and old.reference == known.reference
    assert old.evaluate(folder / "new" / "new_20.vtu")["errors"] == found
    lost = load(done.checkpoint)
    del lost.facts["reference"]
    lost.facts["split"] = {**lost.facts["split"], "train": ("none.vtu",)}
    without = lost.evaluate(folder / "new" / "new_20.vtu")["errors"]
    assert without["q"]["variation_l2"]["pooled"] is None
    assert "holds no mean of its training set, which cannot be read either" in without["q"]["variation_l2"]["reason"]
    assert without["q"]["rmse"] == found["q"]["rmse"]


def test_pictures_carry_the_errors_of_their_field(
    run: tuple[Path, Trained], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, done = run
    drawn: dict[str, list[Any]] = {}
    monkeypatch.setattr(plots, "mesh_fields", lambda rows, output, label: drawn.update({output.name: rows}))
    command = ["evaluate", str(done.checkpoint), "--output", str(tmp_path), "--quiet", "--device", "cpu"]
    assert main(command) == 0
    assert set(drawn) == {"fields_v_x.png", "fields_v_y.png", "fields_q.png"}
    for rows in drawn.values():
        for row in rows:
            error = np.asarray(row.prediction) - np.asarray(row.truth)
            relative, rmse = np.linalg.norm(error) / np.linalg.norm(row.truth), np.sqrt(np.square(error).mean())
            match = re.search(r"relative l2 ([\d.]+), rmse (\S+)$", row.title)
            assert match and float(match[1]) == pytest.approx(relative, abs=6e-5)
            assert float(match[2]) == pytest.approx(rmse, rel=1e-3)


@without_pictures()
def test_a_shared_mesh_is_measured_like_its_files(tmp_path: Path) -> None:
    mesh = small_mesh(0)
    for number in range(8):
        load_of_case = {"load": np.array([float(number)])}
        state = {"u": (1 + number) * mesh.point_data["u"]}
        write_mesh(tmp_path / "cases" / f"case_{number}.vtu", Mesh(mesh.points, mesh.cells, state, {}, load_of_case))
    done = make(tmp_path, "cases/*.vtu", ["load"], ["u"])
    predictor = load(done.checkpoint)
    assert predictor.config.data.options.is_shared
    split = json.loads((tmp_path / "out" / "split.json").read_text())
    found = predictor.evaluate([tmp_path / "cases" / Path(name).name for name in split["test"]])
    for key, numbers in found["errors"]["u"].items():
        if isinstance(numbers, dict) and "pooled" in numbers:
            assert done.evaluation["errors"]["u"][key] == pytest.approx(numbers, rel=1e-5), key
    training = [read_mesh(tmp_path / "cases" / Path(name).name).point_data["u"] for name in split["train"]]
    assert isinstance(predictor.reference, Reference)
    assert predictor.reference.mean == pytest.approx([np.mean(training)], rel=1e-6)
    assert predictor.reference.variation == pytest.approx([np.std(training)], rel=1e-6)


@without_pictures()
def test_series_are_measured_step_by_step(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(6):
        mesh = small_mesh(number)
        states = [
            Mesh(mesh.points, mesh.cells, {"u": mesh.point_data["u"] + step}, {}, mesh.field_data)
            for step in range(4 if number != 2 else 3)
        ]
        write_series(tmp_path / "runs" / f"run_{number}.pvd", states, [0.5 * step for step in range(len(states))])
    done = make(tmp_path, "runs/*.pvd", ["load"], ["u"], 'data.meshes.series="file"')
    predictor = load(done.checkpoint)
    files = [tmp_path / "runs" / f"run_{number}.pvd" for number in (1, 2)]
    found = predictor.evaluate(files)["errors"]
    assert [entry["samples"] for entry in found.values()] == [2, 2, 1]
    command = ["predict", str(done.checkpoint), *map(str, files), "--output", str(tmp_path / "p"), "--quiet"]
    assert main([*command, "--device", "cpu"]) == 0
    written = [read_series(tmp_path / "p" / f"run_{number}.pvd") for number in (1, 2)]
    for step in (1, 2, 3):
        meshes = [series.mesh(step) for series in written if step < len(series)]
        error = np.concatenate([mesh.point_data["u_prediction"] - mesh.point_data["u"] for mesh in meshes])
        assert found[f"u, step {step}"]["rmse"]["pooled"] == pytest.approx(np.sqrt(np.mean(error**2)), rel=1e-5)
    assert "u, step 3" in capsys.readouterr().err
    with pytest.raises(ValueError, match="Expected a time series"):
        predictor.evaluate(tmp_path / "runs" / "run_1_0000.vtu")


@without_pictures()
def test_a_temperature_in_kelvin_and_in_celsius_trains_to_the_same(tmp_path: Path) -> None:
    """By the loss of the defaults; the relative l2 error of the field itself depends on the offset."""
    found, predictions = [], []
    for offset, name in ((0.0, "celsius"), (273.15, "kelvin")):
        folder = tmp_path / name
        for number in range(8):
            mesh = small_mesh(number)
            heat = {"t": 20 + 8 * mesh.point_data["u"] + offset}
            write_mesh(
                folder / "cases" / f"case_{number}.vtu", Mesh(mesh.points, mesh.cells, heat, {}, mesh.field_data)
            )
        done = make(folder, "cases/*.vtu", ["load"], ["t"], "training.epochs=10")
        assert load(done.checkpoint).config.training.loss == "variation_l2"
        found.append(done.evaluation["errors"]["t"])
        mesh = load(done.checkpoint).predict_mesh(read_mesh(folder / "cases" / "case_3.vtu"))
        predictions.append(mesh.point_data["t_prediction"] - offset)
    spread = predictions[0].std()
    assert spread > 0.1 and np.abs(predictions[0] - predictions[1]).max() < 0.01 * spread
    for key in ("rmse", "r2", "variation_l2"):
        assert found[0][key]["pooled"] == pytest.approx(found[1][key]["pooled"], rel=0.01)
    assert found[0]["relative_l2"]["mean"] > 5 * found[1]["relative_l2"]["mean"]


@without_pictures()
def test_a_sample_at_rest_is_trained_on_and_measured(tmp_path: Path) -> None:
    for number in range(8):
        mesh = small_mesh(number)
        state = {"u": (number % 4) * mesh.point_data["u"]}
        forces = {"load": np.array([float(number % 4)])}
        write_mesh(tmp_path / "cases" / f"case_{number}.vtu", Mesh(mesh.points, mesh.cells, state, {}, forces))
    test = "data.meshes.test=['case_4.vtu', 'case_5.vtu']".replace("'", '"')
    done = make(tmp_path, "cases/*.vtu", ["load"], ["u"], test)
    numbers = done.evaluation["errors"]["u"]
    assert numbers["relative_l2"]["mean"] is None and "case_4.vtu" in numbers["relative_l2"]["reason"]
    assert numbers["relative_l2"]["pooled"] > 0 and numbers["rmse"]["mean"] > 0 and numbers["r2"]["pooled"] < 1
    assert all(np.isfinite(case["relative_l2"]) for case in done.evaluation["worst_samples"])


def test_options_of_the_command_that_do_not_go_together(
    run: tuple[Path, Trained], capsys: pytest.CaptureFixture[str]
) -> None:
    folder, done = run
    file = str(folder / "new" / "new_20.vtu")
    for others in (["--split", "test"], ["--set", "data.meshes.test=1"]):
        assert main(["evaluate", str(done.checkpoint), "--files", file, *others]) == 2
        assert "Expected no --set and no --split with --files" in capsys.readouterr().err
    assert main(["evaluate", str(done.checkpoint), "--parameters", "a.csv"]) == 2
    assert "Expected --parameters with --files" in capsys.readouterr().err
