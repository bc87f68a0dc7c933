"""Controls and verdicts at the end of runs on mesh files."""

import json
from dataclasses import replace

import numpy as np
import pytest

from pitgeo import load
from pitgeo.cli.main import main
from pitgeo.evaluation.appraisal import Appraised, compare, influences
from pitgeo.evaluation.html_report import write_report
from pitgeo.mesh import Mesh, write_mesh, write_series
from pitgeo.workflows.run import train
from tests.small_runs import small_run

pytestmark = pytest.mark.usefixtures("no_pictures")
POINTS = np.random.default_rng(0).random((40, 2))
CELLS = (("triangle", np.array([[0, 1, 2], [3, 4, 5], [6, 7, 8]])),)


def case(number, points=POINTS):
    """A field that is linear in a number of the mesh, and knows nothing of another."""
    a, idle = np.random.default_rng([1, number]).random(2)
    u = 1 + a * points[:, 0] + a
    return Mesh(points=points, cells=CELLS, point_data={"u": u}, field_data={"a": np.array([a]), "idle": [idle]})


def configured(root, *changes, inputs=("a", "idle"), files="cases/*"):
    return small_run(root, files, inputs, ["u"], *changes)


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    root = tmp_path_factory.mktemp("shared")
    for number in range(30):
        write_mesh(root / "cases" / f"case_{number:02d}.vtu", case(number))
    return train(configured(root), root / "out"), root


def test_a_network_that_hardly_learned_is_told_to_be_replaced(shared):
    trained, root = shared
    names = [control["name"] for control in trained.evaluation["controls"]]
    assert names == [
        "the mean training field",
        "the nearest training case",
        "POD with radial basis functions",
        "POD with Gaussian processes",
    ]
    verdict = trained.evaluation["verdict"]
    assert verdict["is_better"] is False and verdict["best_control"].startswith("POD")
    assert verdict["sentences"][0].endswith("use model.name = 'pod'.") and 3 <= len(verdict["sentences"]) <= 8
    exact = [control["relative_l2"] for control in trained.evaluation["controls"] if control["model"] == "pod"]
    assert max(exact) < 1e-5
    assert json.loads((root / "out" / "evaluation.json").read_text())["verdict"] == verdict
    page = (root / "out" / "report.html").read_text()
    assert "<h2>Verdict</h2>" in page and "POD with Gaussian processes" in page


def test_it_is_the_first_thing_that_is_printed(shared, capsys, tmp_path):
    trained, _ = shared
    assert main(["evaluate", str(trained.checkpoint), "--output", str(tmp_path), "--quiet", "--device", "cpu"]) == 0
    lines = capsys.readouterr().out.splitlines()
    sentences = json.loads((tmp_path / "evaluation.json").read_text())["verdict"]["sentences"]
    assert lines[: len(sentences)] == sentences and lines[len(sentences)] == ""


def test_training_samples_have_no_verdict(shared, tmp_path):
    from pitgeo.evaluation.evaluation import evaluate

    found = evaluate(shared[0].checkpoint, tmp_path, "train", progress=False)
    assert "verdict" not in found and "controls" not in found
    write_report(tmp_path)


def test_a_pod_is_much_better_than_the_other_controls_and_has_no_idle_input(shared):
    _, root = shared
    found = train(configured(root, 'model.name="pod"'), root / "pod").evaluation["verdict"]
    assert found["is_better"] is True and found["times_better"] > 1000
    assert found["best_control"] in ("the mean training field", "the nearest training case")
    assert found["without_influence"] == ["idle"]


def test_permuting_an_input_does_to_the_error_what_can_be_computed(shared):
    _, root = shared
    if not (root / "pod").exists():
        train(configured(root, 'model.name="pod"'), root / "pod")
    predictor = load(root / "pod" / "best.ckpt")
    samples = predictor.data_options.test_samples()

    predictions = [predictor.predict(samples[n]) for n in range(len(samples))]
    own = [float((p - samples[n].y).norm() / samples[n].y.norm()) for n, p in enumerate(predictions)]
    found = influences(predictor, Appraised(predictor, predictor.data_options, samples, predictions), 0.1)
    assert set(found) == {"a", "idle"} and np.abs(found["idle"].changes).max() < 1e-4
    numbers = [float(samples[n].x[0, 0]) for n in range(len(samples))]
    order = np.random.default_rng(0).permutation(len(samples))
    partner = np.empty(len(samples), int)
    partner[order] = np.roll(order, 1)
    expected = []
    for n, p in enumerate(partner):
        other = 1 + numbers[p] * (POINTS[:, 0] + 1)
        expected.append(np.linalg.norm(other - samples[n].y[:, 0].numpy()) / float(samples[n].y.norm()))
    assert np.allclose(found["a"].changes, np.array(expected) - own, atol=1e-4)


def test_meshes_that_differ(tmp_path):
    for number in range(12):
        points = np.random.default_rng([2, number]).random((40, 2)) * (1 + 0.1 * number)
        write_mesh(tmp_path / "cases" / f"case_{number:02d}.vtu", case(number, points))
    found = train(configured(tmp_path), tmp_path / "out").evaluation
    names = [control["name"] for control in found["controls"]]
    assert names[:2] == ["the mean training field", "the nearest training case"] and "local regression" in names[2]
    assert found["verdict"]["interval"] is None and "too few" in found["verdict"]["sentences"][0]


def test_a_control_that_cannot_be_fitted_is_named(tmp_path, caplog):
    for number in range(10):
        mesh = case(number, np.random.default_rng([2, number]).random((40, 2)))
        many = mesh.point_data["u"][:, None] * np.arange(1, 14)
        write_mesh(tmp_path / "cases" / f"case_{number:02d}.vtu", replace(mesh, point_data={"u": many}))
    with caplog.at_level("INFO"):
        found = train(configured(tmp_path), tmp_path / "out").evaluation
    assert len(found["controls"]) == 2
    assert "There is no comparison with a local regression" in caplog.text and "(got 13)" in caplog.text


def test_a_test_file_on_another_mesh_turns_off_what_needs_one(tmp_path):
    for number in range(12):
        points = POINTS * 1.2 if number == 11 else POINTS
        write_mesh(tmp_path / "cases" / f"case_{number:02d}.vtu", case(number, points))
    config = configured(tmp_path, 'data.meshes.test=["case_11.vtu"]', "data.meshes.validation=0")
    found = train(config, tmp_path / "out").evaluation
    assert [control["model"] for control in found["controls"]] == [None] * 3


def test_time_series_have_persistence_and_are_rolled_out(tmp_path):
    for number in range(8):
        start = 1 + np.random.default_rng([3, number]).random(40)
        states = [Mesh(points=POINTS, cells=CELLS, point_data={"u": start * 0.8**k}) for k in range(5)]
        write_series(tmp_path / "cases" / f"case_{number}.pvd", states, [float(k) for k in range(5)])
    config = configured(tmp_path, 'data.meshes.series="file"', inputs=(), files="cases/*.pvd")
    found = train(config, tmp_path / "out").evaluation
    errors = {control["name"]: control["relative_l2"] for control in found["controls"]}
    kept = [abs(1 / 0.8 ** (k + 1) - 1) for k in range(4)]
    assert errors["persistence (the last state, unchanged)"] == pytest.approx(np.mean(kept), rel=1e-4)
    assert errors["POD of inputs and targets"] < 0.5 * np.mean(kept)
    assert all(control["model"] is None for control in found["controls"])


def test_an_ensemble_has_a_verdict_too(shared, capsys):
    _, root = shared
    settings = configured(root)
    from pitgeo.workflows.train_ensemble import train_ensemble

    found = train_ensemble(settings, root / "ensemble", 2)
    assert found["verdict"]["best_control"].startswith("POD") and set(found["verdict"]["error_over_spread"]) == {"u"}
    assert any("spread" in sentence for sentence in found["verdict"]["sentences"])


def test_training_samples_that_cannot_be_read_cost_the_controls_alone(shared):
    class Lost:
        rollout = 1

        def split_samples(self, split, progress):
            raise FileNotFoundError("no such file")

    predictor = load(shared[0].checkpoint)
    samples = predictor.data_options.test_samples()
    truths = [samples[number].y for number in range(len(samples))]
    rivals, numbers, report = compare(Appraised(predictor, Lost(), samples, truths))
    assert rivals == [] and report == [] and len(numbers) == len(samples)
