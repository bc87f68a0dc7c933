"""What a page shows, without a browser: the numbers of single predictions, and a truth only where it is one."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from pitgeo import load
from pitgeo.config.config import load_config
from pitgeo.mesh import Mesh, read_mesh, write_mesh, write_series
from pitgeo.prediction.ensemble import Ensemble
from pitgeo.view.cases import Case, Loaded, open_cases
from pitgeo.view.probe import nearest, number_rows, probe_rows
from pitgeo.view.session import LENGTH, Session
from pitgeo.workflows.run import train
from tests.pictures import without_pictures
from tests.plates import plate
from tests.small_runs import SMALL, small_run
from tests.view.conftest import CHANGES, with_numbers


@pytest.fixture
def session(predictor):
    return Session(predictor, open_cases(predictor))


def everything(mesh):
    """All fields of a mesh by name."""
    cells = {name: np.concatenate(blocks) for name, blocks in mesh.cell_data.items()}
    return {**mesh.point_data, **cells, **mesh.field_data}


def assert_same(found, expected):
    found, expected = everything(found), everything(expected)
    assert set(found) == set(expected)
    for name, values in expected.items():
        size = np.abs(np.asarray(values, float)).max()
        assert np.allclose(np.asarray(found[name], float), values, rtol=1e-4, atol=1e-5 * size), name


def test_the_test_samples_of_a_run_are_shown(session, run):
    split = session.predictor.facts["split"]["test"]
    assert [case.name for case in session.cases] == [name.rpartition("/")[2] for name in split]
    assert [control.name for control in session.controls] == ["load", "wind_x", "wind_y", "kind"]
    mesh = read_mesh(split[1])
    session.open(1)
    assert session.start == {
        "load": mesh.field_data["load"][0],
        "wind_x": mesh.field_data["wind"][0],
        "wind_y": mesh.field_data["wind"][1],
        "kind": mesh.field_data["kind"][0],
    }


def test_at_the_numbers_of_the_file_it_shows_what_predict_writes(session, predictor):
    answer = session.predict(session.start)
    mesh = session.mesh
    assert_same(session.result(answer), predictor.predict_mesh(mesh))
    shown = session.shown(answer, "v", "v_x")
    assert np.array_equal(shown.truth, mesh.point_data["v"][:, 0])
    assert np.allclose(shown.error, np.abs(shown.prediction - shown.truth))
    assert answer.trust == predictor.trust(mesh)


VALUES = {"load": 1.35, "wind_x": 2.5, "wind_y": -1.5, "kind": 4.0}


def test_with_other_numbers_it_shows_what_predict_writes_for_such_a_file(session, predictor):
    session.predict(session.start)  # the points and graphs of the first one are taken again
    answer = session.predict(VALUES)
    other = with_numbers(session.mesh, load=1.35, wind=[2.5, -1.5], kind=4)
    expected = predictor.predict_mesh(predictor.table.without_targets(other))
    assert_same(session.result(answer), expected)
    assert answer.trust == predictor.trust(other)
    assert np.allclose(answer.bounds["v"], expected.point_data["v_bound"][:, :2], rtol=1e-4)


def test_the_truth_is_gone_with_the_numbers_of_the_file_and_comes_back(session):
    answer = session.predict({**session.start, "load": 1.35})
    assert session.shown(answer, "v", "v_x").truth is None and session.shown(answer, "q", "q").error is None
    assert {row["truth"] for row in number_rows(session, answer, 0)} == {"\N{EN DASH}"}
    assert session.shown(session.predict(session.start), "v", "v_x").truth is not None


def test_numbers_outside_of_the_training_are_said_to_be(session):
    assert "'load' is 40, outside of the" in session.predict({**session.start, "load": 40.0}).trust.sentence


def test_the_length_of_a_vector_has_the_length_of_its_error(session):
    answer = session.predict(session.start)
    shown = session.shown(answer, "v", LENGTH)
    parts = [session.shown(answer, "v", name) for name in ("v_x", "v_y")]
    assert session.components("v") == (LENGTH, "v_x", "v_y") and session.components("q") == ("q",)
    assert np.allclose(shown.error, np.hypot(parts[0].error, parts[1].error))
    assert np.allclose(shown.truth, np.hypot(parts[0].truth, parts[1].truth)) and shown.bound is None


def test_a_table_has_numbers_of_the_mesh_and_largest_values_with_bounds(session, predictor):
    answer = session.predict(session.start)
    rows = dict(session.numbers(answer))
    expected = predictor.predict_mesh(session.mesh).field_data
    assert list(rows) == ["largest v", "largest q", "peak"]
    assert rows["peak"].prediction[0] == pytest.approx(expected["peak_prediction"][0], rel=1e-4)
    assert rows["peak"].truth[0] == session.mesh.field_data["peak"][0]
    assert rows["largest v"].bound[0] == pytest.approx(expected["v_peak_bound"][0], rel=1e-4)
    assert rows["largest v"].truth[0] == pytest.approx(np.linalg.norm(session.mesh.point_data["v"], axis=1).max())


@pytest.mark.parametrize("field", ["v", "q"])
def test_a_probe_reads_the_nearest_point_or_cell(session, field):
    answer, places = session.predict(session.start), session.positions(field)
    number = nearest(session, field, places[7] + 1e-6)
    found = probe_rows(session, answer, field, number, 0)
    shown = session.shown(answer, field, session.components(field)[-1])
    assert number == 7 and found["where"].startswith(f"{session.field(field).place} 7 at (")
    row = found["rows"][-1]
    assert row["prediction"] == f"{shown.prediction[7]:.4g} ± {shown.bound[7]:.4g}"
    assert (row["truth"], row["error"]) == (f"{shown.truth[7]:.4g}", f"{shown.error[7]:.4g}")


def test_a_value_without_a_logarithm_is_refused_and_the_next_one_is_predicted(session):
    before = session.predict(VALUES)
    with pytest.raises(ValueError, match="Expected positive values of 'load'"):
        session.predict({**VALUES, "load": -1.0})
    with pytest.raises(ValueError, match="one of the categories of the training files"):
        session.predict({**VALUES, "kind": 5.0})
    with pytest.raises(ValueError, match="Expected finite values of 'load'"):
        session.predict({**VALUES, "load": float("nan")})
    assert np.array_equal(session.predict(VALUES).prediction[0]["v"], before.prediction[0]["v"])


def test_own_files_without_a_truth_and_with_numbers_from_a_table(run, predictor, tmp_path):
    mesh = plate(3)
    bare = Mesh(mesh.points, mesh.cells, {name: mesh.point_data[name] for name in ("material", "left")})
    wind = {"wind": mesh.field_data["wind"], "kind": mesh.field_data["kind"]}
    write_mesh(tmp_path / "bare.vtu", replace(bare, field_data=wind))
    (tmp_path / "numbers.csv").write_text("file,load\nbare.vtu,1.3\n")
    session = Session(predictor, open_cases(predictor, [tmp_path / "*.vtu"], tmp_path / "numbers.csv"))
    answer = session.predict(session.start)
    assert session.start["load"] == 1.3 and session.shown(answer, "v", "v_x").truth is None
    assert session.result(answer).field_data["load"] == [1.3]
    assert not {"v_error", "v"} & set(session.result(answer).point_data)


def test_a_mesh_that_lacks_an_input_is_named_and_the_open_case_stays(run, predictor, tmp_path):
    write_mesh(tmp_path / "a.vtu", plate(3))
    write_mesh(tmp_path / "b.vtu", Mesh(plate(3).points, plate(3).cells))
    session = Session(predictor, open_cases(predictor, [tmp_path / "*.vtu"]))
    with pytest.raises(ValueError, match=r"b\.vtu: Expected a .*'load'"):
        session.open(1)
    assert session.number == 0 and session.predict(session.start).truth
    with pytest.raises(ValueError, match=r"b\.vtu: "):
        Session(predictor, open_cases(predictor, [tmp_path / "b.vtu"]))


def test_what_cannot_be_shown(run, predictor, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.vtu"):
        open_cases(predictor, [tmp_path / "none.vtu"])
    with pytest.raises(ValueError, match="Expected 'parameters' with mesh files"):
        open_cases(predictor, [], tmp_path / "numbers.csv")
    predictor.facts["split"] = {**predictor.facts["split"], "test": []}
    with pytest.raises(ValueError, match=r"to have test samples \(got none\); name mesh files"):
        open_cases(predictor)
    predictor.facts["split"]["test"] = ["gone/a.vtu"]
    with pytest.raises((FileNotFoundError, ValueError), match=r"gone/a\.vtu"):
        open_cases(predictor)


def test_files_of_one_name_are_told_apart(predictor, tmp_path):
    for folder in "ab":
        write_mesh(tmp_path / folder / "case.vtu", plate(3))
    names = [case.name for case in open_cases(predictor, [tmp_path / "*" / "case.vtu"])]
    assert names == [str(tmp_path / folder / "case.vtu") for folder in "ab"]


def test_an_ensemble_shows_its_mean_and_bounds_of_its_spread(run, predictor):
    other = load(run / "out" / "last.ckpt")
    with torch.no_grad():
        for parameter in other.module.parameters():
            parameter += 0.05 * torch.randn_like(parameter)
    ensemble = Ensemble([predictor, other])
    ensemble.calibrate([plate(number) for number in range(20, 32)])
    session = Session(ensemble, [Case("plate", lambda: Loaded(plate(3), truths=(ensemble.table.truth(plate(3)),)))])
    assert_same(session.result(session.predict(session.start)), ensemble.predict_mesh(plate(3)))
    first, second = (session.predict({**VALUES, "load": load}) for load in (1.1, 1.5))
    expected = ensemble.predict_mesh(with_numbers(plate(3), load=1.5, wind=[2.5, -1.5], kind=4))
    assert np.allclose(second.prediction[0]["q"][:, 0], everything(expected)["q_prediction"], rtol=1e-4)
    assert not np.allclose(first.bounds["q"], second.bounds["q"]) and np.ptp(second.bounds["q"]) > 0


def test_a_series_is_rolled_out_step_by_step(tmp_path):
    for number in range(5):
        mesh = plate(3)
        states = [
            with_numbers(mesh, load=1 + number).with_point_data("u", mesh.point_data["u"] * 0.9**step, "replace")
            for step in range(4)
        ]
        write_series(tmp_path / "cases" / f"case_{number}.pvd", states, [0.0, 1.0, 2.0, 3.0])
    changes = ['data.meshes.series="file"', "data.meshes.test=1", "data.meshes.validation=1"]
    with without_pictures():
        done = train(small_run(tmp_path, "cases/*.pvd", ["load"], ["u"], *changes), tmp_path / "out")
    predictor = load(done.checkpoint)
    session = Session(predictor, open_cases(predictor))
    answer = session.predict(session.start)
    first, sample = session.mesh, predictor.sample(session.mesh, {})
    expected = predictor.fields(sample, 3)["_prediction"].numpy()
    assert session.steps == 3 and len(answer.prediction) == 3 and not answer.bounds
    for step in range(3):
        shown = session.shown(answer, "u", "u", step)
        assert np.allclose(shown.prediction, expected[:, step], rtol=1e-5)
        assert np.allclose(shown.truth, first.point_data["u"] * 0.9 ** (step + 1))
        saved = session.result(answer, step)
        assert np.allclose(saved.point_data["u_error"], shown.prediction - shown.truth)
        assert np.allclose(saved.point_data["u"], shown.truth)
    changed = session.predict({"load": 2.5})
    other = predictor.fields(predictor.sample(with_numbers(first, load=2.5), {}), 3)["_prediction"].numpy()
    assert np.allclose(changed.prediction[2]["u"][:, 0], other[:, 2], rtol=1e-5) and not changed.truth
    write_mesh(tmp_path / "start.vtu", first)
    alone = Session(predictor, open_cases(predictor, [tmp_path / "start.vtu"]))
    assert alone.steps == 1 and not any(alone.predict(alone.start).truth)
    write_series(tmp_path / "slow.pvd", [first, first], [0.0, 2.0])
    slow = Session(predictor, open_cases(predictor, [tmp_path / "slow.pvd"]))
    assert "steps of 2, but those of the training are of 1" in slow.predict(slow.start).trust.sentence


@pytest.mark.parametrize("has_mesh", [True, False])
def test_the_samples_of_a_benchmark_are_shown_too(has_mesh, tmp_path, monkeypatch):
    sizes = ("data.smoothing.size=9", "data.smoothing.train=6", "data.smoothing.validation=0", "data.smoothing.test=2")
    with without_pictures():
        done = train(load_config("configs/smoothing.toml", [*SMALL, *sizes]), tmp_path / "run")
    predictor = load(done.checkpoint)
    if not has_mesh:
        monkeypatch.setattr("pitgeo.datasets.smoothing.Smoothing.mesh", lambda self, index: None)
    session = Session(predictor, open_cases(predictor))
    session.open(1)
    answer, sample = session.predict({}), predictor.data_options.test_samples()[1]
    shown = session.shown(answer, "smoothed", "smoothed")
    assert len(session.cases) == 2 and not session.controls and bool(session.mesh.cells) is has_mesh
    assert np.allclose(shown.prediction, predictor.predict(sample)[:, 0].numpy(), rtol=1e-4, atol=1e-5)
    assert np.allclose(shown.truth, sample.y[:, 0].numpy()) and answer.trust.status == "unknown"
    assert np.allclose(session.result(answer).point_data["smoothed_error"], shown.prediction - shown.truth)


def test_references_follow_the_sliders(run, tmp_path):
    changes = [*CHANGES[2:], "scaling.reference.v=load", "scaling.reference.load=load"]
    with without_pictures():
        done = train(small_run(run, "cases/*.vtu", ["load", "wind"], ["v"], *changes), tmp_path / "out")
    predictor = load(done.checkpoint)
    session = Session(predictor, open_cases(predictor))
    answer = session.predict({**session.start, "load": 14.0})
    other = with_numbers(session.mesh, load=14.0)
    assert_same(session.result(answer), predictor.predict_mesh(predictor.table.without_targets(other)))
    assert answer.trust == predictor.trust(other)
    assert session.controls[0].note(14.0) == "divided by load" and session.controls[0].step > 0
    with pytest.raises(ValueError, match="positive, finite reference 'load'"):
        session.predict({**session.start, "load": -1.0})
