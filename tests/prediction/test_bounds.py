"""Bounds of errors and the training set, from calibration to predicted files and reports."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from pitgeo import load
from pitgeo.cli.main import main
from pitgeo.data.fields import FieldTable, MeshField
from pitgeo.mesh import Mesh, read_mesh, write_mesh
from pitgeo.prediction.bounds import LEVELS, STORED, Bounds, Scores, by_target
from pitgeo.prediction.ensemble import Ensemble
from pitgeo.prediction.mesh_predictor import MeshPredictor
from pitgeo.prediction.predictor import Predictor, load_any
from pitgeo.training import read_checkpoint
from pitgeo.workflows.run import train
from tests.small_runs import small_run

pytestmark = pytest.mark.usefixtures("no_pictures")

TABLE = FieldTable((), (MeshField("u"), MeshField("v", 2), MeshField("drag", place="mesh")), 2)
TYPICAL = (3.0, 1.0, 2.0, 5.0)


def made(random: np.random.Generator, points: int = 30) -> dict[str, np.ndarray]:
    return {"u": random.random((points, 1)), "v": random.random((points, 2)), "drag": random.random((1, 1))}


def plate(number: int, load: float | None = None, width: float | None = None) -> Mesh:
    random = np.random.default_rng(number)
    load, width = load or random.uniform(1, 10), width or random.uniform(0.8, 1.4)
    x, y = np.meshgrid(np.linspace(0, width, 6), np.linspace(0, 1, 6))
    points, i = np.stack([x.ravel(), y.ravel()], 1), np.arange(36).reshape(6, 6)
    quads = np.stack([i[:-1, :-1], i[:-1, 1:], i[1:, 1:], i[1:, :-1]], -1).reshape(-1, 4)
    u = load * np.sin(points[:, 0]) * points[:, 1]
    fields = {"u": u, "v": np.stack([u, u * points[:, 1]], 1)}
    return Mesh(points, (("quad", quads),), fields, {}, {"load": np.array([load]), "drag": np.array([u.mean()])})


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plates")
    for number in range(36):
        write_mesh(folder / "cases" / f"case_{number:02}.vtu", plate(number))
    config = small_run(
        folder, "cases/*.vtu", ["load"], ["u", "v", "drag"], "data.meshes.validation=10", "data.meshes.test=6"
    )
    return train(config, folder / "out").checkpoint


@pytest.fixture(scope="module")
def predictor(run: Path) -> Predictor:
    return load(run)


def test_widths_go_with_the_size_of_a_prediction() -> None:
    random = np.random.default_rng(0)
    names = ("u", "v_x", "v_y", "drag", "peak:u", "peak:v")
    bounds = Bounds(TYPICAL, {name: (0.5, 1.0, None) for name in names}, dict.fromkeys(names, 12), "test")
    fields = made(random)
    found = bounds.of(TABLE, fields, None, 90)
    assert found["u"] == pytest.approx(np.full((30, 1), np.hypot(np.sqrt(np.mean(fields["u"] ** 2)), 0.3)))
    v = np.sqrt(np.square(fields["v"]).mean(0))
    assert found["v"] == pytest.approx(np.tile(np.hypot(v, [0.1, 0.2]), (30, 1)))
    assert found["drag"] == pytest.approx(np.hypot(fields["drag"], 0.5))
    longest = np.linalg.norm(fields["v"], axis=1).max()
    assert found["peak:v"].item() == pytest.approx(np.sqrt(longest**2 + 0.1**2 + 0.2**2))
    half = bounds.of(TABLE, fields, None, 80)
    assert all(half[name] == pytest.approx(found[name] / 2) for name in found)
    large = bounds.of(TABLE, {name: 1e3 * values for name, values in fields.items()}, None, 90)
    assert large["u"] == pytest.approx(1e3 * np.sqrt(np.mean(fields["u"] ** 2)) * np.ones((30, 1)), rel=1e-3)
    many = bounds.of(TABLE, {name: np.stack([values, 2 * values]) for name, values in fields.items()}, None, 90)
    assert np.array_equal(many["u"][0], found["u"]) and np.array_equal(many["peak:v"][0], found["peak:v"])
    assert bounds.of(TABLE, fields, None, 95) == {}
    with pytest.raises(ValueError, match="Expected a level of 80, 90, 95 percent"):
        bounds.of(TABLE, fields, None, 50)


def test_bounds_of_a_spread_go_with_it() -> None:
    random = np.random.default_rng(1)
    scores = Scores(TABLE, TYPICAL, has_spread=True)
    for _ in range(60):
        truth, spread = made(random, 200), {name: 10 * values for name, values in made(random, 200).items()}
        noise = {name: values * random.standard_normal(values.shape) for name, values in spread.items()}
        scores.add({name: truth[name] + noise[name] for name in truth}, truth, spread)
    bounds = scores.bounds("test")
    normal = [1.2816, 1.6449, 1.96]
    assert bounds.factors["u"] == pytest.approx(normal, rel=0.1)
    width = bounds.of(TABLE, truth, spread, 90)["u"]
    assert width == pytest.approx(bounds.factors["u"][1] * spread["u"], rel=1e-3, abs=0.01)


def test_on_the_samples_of_the_calibration_the_shares_are_met() -> None:
    random = np.random.default_rng(2)
    scores = Scores(TABLE, TYPICAL)
    for number in range(25):
        truth = made(random)
        prediction = {
            name: values + 0.1 * number * random.standard_cauchy(values.shape) for name, values in truth.items()
        }
        scores.add(prediction, truth if number else {"u": truth["u"]})
    bounds = scores.bounds("test")
    assert bounds.samples["u"] == 25 and bounds.samples["v_x"] == bounds.samples["peak:v"] == 24
    for shares in scores.coverage(bounds).values():
        assert all(share >= level / 100 for share, level in zip(shares, LEVELS, strict=True))
    for row in bounds.factors.values():
        assert list(row) == sorted(row)
    assert Bounds.parse(json.loads(json.dumps(bounds.plain()))) == bounds
    for key in ("factors", "typical", "levels"):
        with pytest.raises(ValueError, match="something is missing"):
            Bounds.parse({name: value for name, value in bounds.plain().items() if name != key})


def test_values_by_target() -> None:
    values = np.arange(20.0).reshape(5, 4)
    known = np.ones((5, 4), bool)
    known[:2, 0], known[2:, 1:3] = False, False
    found = by_target(TABLE, values, known)
    assert found["u"].tolist() == values[2:, :1].tolist() and found["v"].tolist() == values[:2, 1:3].tolist()
    assert found["drag"].tolist() == [[3.0]]


def test_a_training_calibrates_on_its_validation_samples(run: Path, predictor: Predictor) -> None:
    bounds = predictor.bounds
    assert bounds is not None and bounds.source == "10 validation samples" and set(bounds.samples.values()) == {10}
    assert all(row[0] is not None and row[1] is not None and row[2] is None for row in bounds.factors.values())
    assert bounds.lacking(90) == "" and "takes at least 19" in bounds.lacking(95)
    result = json.loads((run.parent / "evaluation.json").read_text())
    assert result["bounds"]["within"]["u"][1] > 0.6 and result["bounds"]["lacking"] == [bounds.lacking(95)]
    counts = result["training_set"]
    assert counts["samples"] == 6 == counts["inside"] + counts["edge"] + counts["outside"]
    assert "bounds of 90%:" in (run.parent / "report.html").read_text()


def test_predictions_have_bounds(predictor: Predictor, tmp_path: Path) -> None:
    mesh = plate(50, load=5.0)
    result = predictor.predict_mesh(mesh)
    assert result.point_data["u_bound"].shape == (36,) and result.point_data["v_bound"].shape == (36, 2)
    assert all(name in result.field_data for name in ("drag_bound", "u_peak_bound", "v_peak_bound"))
    write_mesh(tmp_path / "result.vtu", result)
    assert read_mesh(tmp_path / "result.vtu").field_data["u_peak_bound"] == result.field_data["u_peak_bound"]
    many = predictor.predict_many(mesh, {"load": [1.0, 5.0, 9.0]})
    assert many["u_bound"].shape == (3, 36, 1)
    assert many["u_bound"][1, :, 0] == pytest.approx(result.point_data["u_bound"], rel=1e-4)
    assert many["drag_bound"].shape == (3, 1, 1)


def test_a_checkpoint_without_bounds_predicts_without_them(run: Path, tmp_path: Path) -> None:
    checkpoint = read_checkpoint(run)
    for key in (STORED, "descriptors"):
        del checkpoint["pitgeo"][key]
    torch.save(checkpoint, tmp_path / "old.ckpt")
    old = load(tmp_path / "old.ckpt")
    result = old.predict_mesh(plate(50))
    assert old.bounds is None and not [name for name in result.point_data if name.endswith("_bound")]
    assert old.trust(plate(50, load=20.0)).status == "outside" and "bounds" not in old.evaluate(plate(50))
    checkpoint["pitgeo"]["ranges"] = None
    torch.save(checkpoint, tmp_path / "older.ckpt")
    assert load(tmp_path / "older.ckpt").trust(plate(50)).status == "unknown"
    checkpoint["pitgeo"][STORED] = {"typical": []}
    torch.save(checkpoint, tmp_path / "damaged.ckpt")
    with pytest.raises(ValueError, match=r"Expected the bounds in .*damaged\.ckpt as pitgeo writes them"):
        load(tmp_path / "damaged.ckpt")


def test_other_files_calibrate_anew(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = tmp_path / "own.ckpt"
    own.write_bytes(run.read_bytes())
    for number in range(20):
        write_mesh(tmp_path / "new" / f"{number}.vtu", plate(100 + number))
    command = ["calibrate", str(own), str(tmp_path / "new" / "*.vtu"), "--device", "cpu"]
    assert main(command) == 0
    printed = capsys.readouterr()
    assert "bounds calibrated on 20 files" in printed.out and "20/20" in printed.err
    assert main([*command, "--quiet"]) == 0
    printed = capsys.readouterr()
    assert "bounds calibrated on 20 files" in printed.out and "calibrate:" not in printed.err
    predictor, before = load_any(own), load(run)
    assert predictor.bounds is not None and predictor.bounds.samples["u"] == 20 and before.bounds is not None
    assert predictor.bounds == before.calibrate([plate(100 + number) for number in range(20)])
    assert predictor.bounds.factors["u"][2] is not None
    result = predictor.evaluate(str(tmp_path / "new" / "*.vtu"))
    assert all(share >= 0.9 for name, (_, share, _) in result["bounds"]["within"].items())
    trained = predictor.facts["split"]["train"]
    with pytest.raises(ValueError, match="was not trained on, to calibrate bounds on"):
        predictor.calibrate(trained)
    few = predictor.calibrate([plate(100 + number) for number in range(3)])
    assert set(few.factors["u"]) == {
        None
    } and "calibrated on 3 held-out samples, and it takes at least 9" in few.lacking(90)
    assert "u_bound" not in predictor.predict_mesh(plate(50)).point_data


def test_time_series_have_no_bounds(predictor: Predictor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MeshPredictor, "is_one_step", True)
    with pytest.raises(ValueError, match="errors grow from step to step"):
        predictor.calibrate(plate(1))


def test_an_ensemble_has_bounds_of_its_own(run: Path, tmp_path: Path) -> None:
    members = [load(run), load(run)]
    ensemble = Ensemble(members, path=tmp_path / "ensemble.json")
    assert ensemble.bounds is None  # those of the first member are no use
    meshes = [plate(100 + number) for number in range(12)]
    bounds = ensemble.calibrate(meshes)
    assert bounds.has_spread and bounds.samples["u"] == 12
    with pytest.raises(FileNotFoundError):
        ensemble.store_bounds()


@pytest.mark.parametrize(
    ("mesh", "status", "reason"),
    [
        (plate(50, 5.0, 1.1), "inside", ""),
        (plate(50, 14.0), "outside", "'load' is 14, outside of the"),
        (plate(50, 5.0, 1.8), "outside", "the shape is farther from the nearest one of the training set than any of"),
        (plate(50, 5.0, 3.0), "outside", "times larger than the training meshes"),
    ],
)
def test_the_training_set_in_one_sentence(predictor: Predictor, mesh: Mesh, status: str, reason: str) -> None:
    trust = predictor.trust(mesh)
    assert trust.status == status and reason in trust.sentence and "do not rely" not in trust.sentence


def test_a_value_just_beyond_the_range_is_at_the_edge(predictor: Predictor) -> None:
    assert predictor.doubts.ranges is not None
    trust = predictor.trust(plate(50, predictor.doubts.ranges[0][1] + 0.1, 1.1))
    assert (
        trust.status == "edge" and "'load' is" in trust.sentence and "at the edge of the training set" in trust.sentence
    )


def test_predicted_files_come_with_their_trust(run: Path, tmp_path: Path) -> None:
    for name, load_ in (("a", 5.0), ("b", 14.0)):
        write_mesh(tmp_path / f"{name}.vtu", plate(50, load_))
    arguments = [str(run), str(tmp_path / "a.vtu"), str(tmp_path / "b.vtu"), "--output", str(tmp_path / "out")]
    assert main(["predict", *arguments, "--quiet", "--device", "cpu"]) == 0
    said = json.loads((tmp_path / "out" / "trust.json").read_text())
    assert [entry["status"] for entry in said.values()] == ["inside", "outside"] and list(said) == ["a.vtu", "b.vtu"]
    assert said["b.vtu"]["sentence"].startswith("outside the training set: 'load' is 14")
