"""Mesh files in, a trained model, mesh files out: what the parts do together."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from pitgeo import load
from pitgeo.cli.main import main
from pitgeo.evaluation import plots
from pitgeo.mesh import Mesh, read_mesh, read_series, write_mesh, write_series
from pitgeo.nn import PiT
from pitgeo.prediction.roll_out import write_roll_out
from pitgeo.workflows.run import train
from tests.datasets.folder.conftest import small_mesh
from tests.pictures import without_pictures
from tests.small_runs import small_run


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Fields of points and of cells, and a number of the whole mesh, from categories and a logarithm."""
    root = tmp_path_factory.mktemp("run")
    for number in range(8):
        write_mesh(root / "cases" / f"case_{number}.vtu", small_mesh(number))
    changes = ['data.meshes.categories=["material"]', 'scaling.log=["q", "load"]']
    return train(small_run(root, "cases/*.vtu", ["material", "load"], ["v", "q", "peak"], *changes), root / "out")


def test_predictions_are_written_where_fields_belong(run):
    folder = run.checkpoint.parents[1]
    found = load(run.checkpoint).predict_mesh(small_mesh(3))
    mesh = small_mesh(3)
    v, q, peak = (
        found.point_data["v_prediction"],
        found.cell_data["q_prediction"][0],
        found.field_data["peak_prediction"],
    )
    assert v.shape == (33, 3) and not v[:, 2].any() and q.shape == mesh.cell_data["q"][0].shape and peak.shape == (1,)
    assert np.allclose(found.point_data["v_error"], v - mesh.point_data["v"])
    assert np.allclose(found.cell_data["q_error"][0], q - mesh.cell_data["q"][0]) and (q > 0).all()
    assert np.allclose(found.field_data["peak_error"], peak - mesh.field_data["peak"])
    names = {"fields_v_x.png", "fields_v_y.png", "fields_q.png"}
    assert names <= {path.name for path in (folder / "out" / "pictures").iterdir()}
    worst = run.evaluation["worst_samples"]
    assert worst[0]["name"] == run.evaluation["worst"]["name"] and worst[0]["name"].endswith(".vtu")
    assert worst[0]["name"].rpartition("/")[2] in (folder / "out" / "report.html").read_text()
    assert "5 for training; 1 for validation; 2 evaluated (test)" in (folder / "out" / "report.html").read_text()


def test_the_number_of_a_mesh_is_the_mean_over_its_points(run):
    predictor = load(run.checkpoint)
    mesh = small_mesh(2)
    values = predictor.predict(predictor.table.mesh_sample(mesh))
    assert values.shape == (32 + len(mesh.cells[0][1]), 4) and len(values[:, 3].unique()) == 1
    batch = predictor.predict([predictor.table.mesh_sample(small_mesh(k)) for k in (2, 5)])
    assert torch.allclose(batch[: len(values)], values, rtol=1e-5) and len(batch[len(values) :, 3].unique()) == 1


def test_output_points_may_be_taken_in_parts(run, monkeypatch):
    predictor = load(run.checkpoint)
    whole = predictor.predict_mesh(small_mesh(4))
    calls = []
    monkeypatch.setattr(predictor, "chunk", 7)
    original = PiT.in_chunks
    monkeypatch.setattr(PiT, "in_chunks", lambda *arguments: calls.append(1) or original(*arguments))
    parts = predictor.predict_mesh(small_mesh(4))
    assert calls == [1]
    for name, values in whole.point_data.items():
        assert np.allclose(parts.point_data[name], values, rtol=1e-5, atol=1e-6)
    assert np.allclose(parts.cell_data["q_prediction"][0], whole.cell_data["q_prediction"][0], rtol=1e-5)
    assert np.allclose(parts.field_data["peak_prediction"], whole.field_data["peak_prediction"], rtol=1e-5)


@pytest.mark.parametrize("name", ["mlp", "deeponet", "shift_deeponet", "oformer"])
@without_pictures()
def test_other_models_may_be_asked_in_parts_too(name, tmp_path, monkeypatch):
    for number in range(4):
        write_mesh(tmp_path / f"case_{number}.vtu", small_mesh(number, points=30))
    targets = ["u"] if name == "mlp" else ["u", "q"]  # of points and of cells, which are other output points
    config = small_run(tmp_path, "*.vtu", ["load"], targets, f'model.name="{name}"', "training.query_points=12")
    predictor = load(train(config, tmp_path / "out").checkpoint)
    whole = predictor.predict_mesh(small_mesh(3, points=30))
    sizes, decode = [], type(predictor.model).decode
    monkeypatch.setattr(predictor, "chunk", 7)
    monkeypatch.setattr(type(predictor.model), "decode", lambda *given: sizes.append(len(out := decode(*given))) or out)
    parts = predictor.predict_mesh(small_mesh(3, points=30))
    assert len(sizes) > 4 and max(sizes) == 7
    assert np.allclose(parts.point_data["u_prediction"], whole.point_data["u_prediction"], rtol=1e-5, atol=1e-6)
    if name != "mlp":
        assert np.allclose(parts.cell_data["q_prediction"][0], whole.cell_data["q_prediction"][0], rtol=1e-5, atol=1e-6)


def test_a_quadrature_of_a_mesh_that_fills_no_domain_names_the_file(tmp_path):
    for number in range(4):
        mesh = small_mesh(number)
        line = np.repeat(mesh.points[:, :1], 2, 1)
        write_mesh(tmp_path / f"case_{number}.vtu", Mesh(line, mesh.cells, mesh.point_data))
    config = small_run(tmp_path, "*.vtu", [], ["u"], "model.pit.quadrature=true")
    with pytest.raises(ValueError, match=r"case_\d.vtu: Expected points that span 2 axes.* leave 'quadrature' out"):
        train(config, tmp_path / "out")


def test_inputs_far_from_those_of_training_are_named(run, caplog):
    predictor, mesh = load(run.checkpoint), small_mesh(2)
    predictor.predict_mesh(mesh)
    assert "outside" not in caplog.text
    far = Mesh(mesh.points, mesh.cells, mesh.point_data, mesh.cell_data, {"load": np.array([50.0])})
    predictor.predict_mesh(far)
    assert "'load' is 50, outside of the 1" in caplog.text


def test_inputs_without_a_logarithm_are_refused(run, tmp_path):
    mesh = small_mesh(2)
    below = Mesh(mesh.points, mesh.cells, mesh.point_data, mesh.cell_data, {"load": np.array([-1.0])})
    with pytest.raises(ValueError, match=r"positive values of 'load', whose logarithm .* was trained on \(got -1\)"):
        load(run.checkpoint).predict_mesh(below)
    for number in range(6):
        write_mesh(tmp_path / f"case_{number}.vtu", below if number == 4 else small_mesh(number))
    changes = ["scaling.log=['load']".replace("'", '"'), 'data.meshes.test=["case_4.vtu"]', "data.meshes.validation=0"]
    with pytest.raises(ValueError, match=r"positive values of 'load'.* \(got -1 among the test samples\)"):
        train(small_run(tmp_path, "*.vtu", ["load"], ["u"], *changes), tmp_path / "out")
    assert not (tmp_path / "out" / "last.ckpt").exists()


@without_pictures()
def test_a_table_of_parameters_comes_with_new_files(tmp_path, capsys):
    for folder in ("cases", "new"):
        lines = ["file,angle"]
        for number in range(5):
            mesh = small_mesh(number)
            write_mesh(
                tmp_path / folder / f"{folder}_{number}.vtu", Mesh(mesh.points, mesh.cells, {"u": mesh.point_data["u"]})
            )
            lines.append(f"{folder}_{number},{number}")
        (tmp_path / folder / "angles.csv").write_text("\n".join(lines))
    table = f'data.meshes.parameters="{tmp_path}/cases/angles.csv"'
    done = train(small_run(tmp_path, "cases/*.vtu", ["angle"], ["u"], table), tmp_path / "out")
    command = [
        "predict",
        str(done.checkpoint),
        str(tmp_path / "new/*.vtu"),
        "--output",
        str(tmp_path / "predicted"),
        "--quiet",
    ]
    assert main(command) == 2 and "without the number 'angle'" in capsys.readouterr().err
    assert not list((tmp_path / "predicted").glob("*"))
    assert main([*command, "--parameters", str(tmp_path / "new/angles.csv")]) == 0
    assert len(list((tmp_path / "predicted").glob("*.vtu"))) == 5


@pytest.fixture(scope="module")
def series(tmp_path_factory):
    """A run on time series that grow by their load in every step."""
    root = tmp_path_factory.mktemp("series")
    for number in range(5):
        mesh = small_mesh(number)
        states = [
            Mesh(mesh.points, mesh.cells, {"u": mesh.point_data["u"] + step}, {}, mesh.field_data) for step in range(4)
        ]
        write_series(root / "runs" / f"run_{number}.pvd", states, [0.0, 0.5, 1.0, 1.5])
    changes = ['data.meshes.series="file"', "training.epochs=2"]
    return train(small_run(root, "runs/*.pvd", ["load"], ["u"], *changes), root / "out")


def test_series_are_tested_by_rolling_out(series):
    evaluation = series.evaluation
    assert list(evaluation["errors"]) == ["u, step 1", "u, step 2", "u, step 3"] and evaluation["samples"] == 1
    pictures = {path.name for path in (series.checkpoint.parent / "pictures").iterdir()}
    assert {"growth.png", "fields_u__step_1.png", "fields_u__step_3.png"} <= pictures
    predictor = load(series.checkpoint)
    sample = predictor.config.data.options.test_samples()[0]
    states, x = [], sample.x.clone()
    for _ in range(3):  # one step after the other, by hand
        sample.x = x
        states.append(predictor.predict(sample))
        x = torch.cat([x[:, :-1], states[-1]], 1)
    sample.x = predictor.config.data.options.test_samples()[0].x
    assert torch.allclose(predictor.predict(sample, 3), torch.cat(states, 1), rtol=1e-5)


def test_the_growth_of_errors_is_drawn_for_every_target(tmp_path, monkeypatch):
    for number in range(4):
        mesh, changes = small_mesh(number), (1.0, 2.0, 4.0)
        u, v = mesh.point_data["u"], mesh.point_data["v"]
        states = [Mesh(mesh.points, mesh.cells, {"u": u * change, "v": v + change}) for change in changes]
        write_series(tmp_path / "runs" / f"run_{number}.pvd", states, [0.0, 1.0, 2.0])
    drawn = []
    monkeypatch.setattr(plots, "error_growth", lambda curves, output: drawn.append(curves))
    monkeypatch.setattr(plots, "mesh_fields", lambda *_: None)
    config = small_run(tmp_path, "runs/*.pvd", [], ["u", "v"], 'data.meshes.series="file"')
    errors = train(config, tmp_path / "out").evaluation["errors"]
    assert len(errors) == 4
    for target in ("u", "v"):
        means = [errors[f"{target}, step {step}"]["relative_l2"]["mean"] for step in (1, 2)]
        assert drawn[0][f"{target} relative_l2"] == means


def test_series_are_predicted_and_written(series, tmp_path, capsys):
    runs = series.checkpoint.parents[1] / "runs"
    command = ["predict", str(series.checkpoint), str(runs / "run_2.pvd"), "--output", str(tmp_path), "--quiet"]
    assert main(command) == 0
    found = read_series(tmp_path / "run_2.pvd")
    assert found.times.tolist() == [0.0, 0.5, 1.0, 1.5]
    first, last = found.mesh(0), found.mesh(3)
    assert np.allclose(first.point_data["u_error"], 0)
    assert np.allclose(last.point_data["u_error"], last.point_data["u_prediction"] - last.point_data["u"])
    assert main([*command, "--steps", "6"]) == 0
    longer = read_series(tmp_path / "run_2.pvd")
    assert longer.times.tolist() == [0, 0.5, 1, 1.5, 2, 2.5, 3] and set(longer.mesh(6).point_data) == {"u_prediction"}
    assert np.allclose(longer.mesh(3).point_data["u_prediction"], last.point_data["u_prediction"])
    single = [
        "predict",
        str(series.checkpoint),
        str(runs / "run_2_0000.vtu"),
        "--output",
        str(tmp_path / "one"),
        "--quiet",
    ]
    assert main(single) == 0 and len(read_series(tmp_path / "one" / "run_2_0000.pvd")) == 2
    capsys.readouterr()


def test_a_series_far_from_those_of_training_is_named(series, tmp_path, caplog):
    mesh = small_mesh(2)
    write_mesh(
        tmp_path / "far.vtu", Mesh(mesh.points, mesh.cells, {"u": mesh.point_data["u"] + 50}, {}, mesh.field_data)
    )
    write_roll_out(load(series.checkpoint), tmp_path / "far.vtu", tmp_path / "far.pvd")
    assert "far.vtu: 'u' runs from" in caplog.text and "'load'" not in caplog.text


def test_steps_want_a_model_of_series(run, tmp_path, capsys):
    case = run.checkpoint.parents[1] / "cases" / "case_1.vtu"
    assert main(["predict", str(run.checkpoint), str(case), "--output", str(tmp_path), "--steps", "2"]) == 2
    assert "--steps with a model of time series" in capsys.readouterr().err
    assert read_mesh(case).point_data.keys() == small_mesh(1).point_data.keys()


@without_pictures()
def test_a_changed_folder_cannot_mix_up_the_splits(tmp_path, capsys):
    for number in range(6):
        write_mesh(tmp_path / "cases" / f"case_{number}.vtu", small_mesh(number))
    config = small_run(tmp_path, "cases/*.vtu", [], ["u"])
    done = train(config, tmp_path / "out")
    split = json.loads((tmp_path / "out" / "split.json").read_text())
    assert [len(split[part]) for part in ("train", "validation", "test")] == [4, 1, 1]
    for number in range(6, 30):
        write_mesh(tmp_path / "cases" / f"case_{number}.vtu", small_mesh(number))
    with pytest.raises(
        ValueError, match=r"the files that .*last.ckpt was trained with.*case_\d+.vtu is new, missing or in"
    ):
        train(config, tmp_path / "out", resume=True)
    command = ["evaluate", str(done.checkpoint), "--output", str(tmp_path / "again"), "--quiet"]
    assert main(command) == 0
    again = json.loads((tmp_path / "again" / "evaluation.json").read_text())
    assert again["errors"] == done.evaluation["errors"] and again["worst"]["name"] == split["test"][0]
    assert main([*command, "--set", "data.meshes.test=0.5"]) == 2
    assert "was not trained on" in capsys.readouterr().err
    fresh = str([f"case_{number}.vtu" for number in (20, 21)]).replace("'", '"')
    assert main([*command, "--set", f"data.meshes.test={fresh}"]) == 0


CARS = Path(__file__).parents[3] / "shared" / "cases" / "fields"


@pytest.mark.skipif(not CARS.is_dir(), reason="the collection of meshes is not beside the project")
def test_surfaces_of_three_cars(tmp_path):
    """Real surfaces in 3D, from file to file: that it runs, not that one epoch learns anything."""
    config = small_run(
        tmp_path, CARS / "car_*.vtu", ["normal"], ["pressure"], "data.meshes.test=1", "data.meshes.validation=1"
    )
    done = train(config, tmp_path / "out")
    test = json.loads((tmp_path / "out" / "split.json").read_text())["test"][0]
    found = load(done.checkpoint).predict_mesh(read_mesh(test))
    assert found.point_data["pressure_prediction"].shape == (3586,)
    assert np.isfinite(found.point_data["pressure_error"]).all() and found.cells[0][1].shape == (7168, 3)
