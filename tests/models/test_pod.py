"""POD as a model like any other, and a PiT that learns what it leaves."""

import csv
import importlib.util
import os
import shutil
import signal
from pathlib import Path

import numpy as np
import pytest
import torch

from pitgeo import load
from pitgeo.cli.main import main
from pitgeo.controls import PODMap
from pitgeo.data import PointData
from pitgeo.mesh import Mesh, read_mesh, write_mesh
from pitgeo.models import POD, PODOptions
from pitgeo.models.registry import DataSpec
from pitgeo.prediction.export import export_model
from pitgeo.system.interrupted import InterruptionError
from pitgeo.training.checkpoint_io import read_checkpoint
from pitgeo.training.history import History
from pitgeo.workflows.run import dry_run, train
from tests.small_runs import small_run

pytestmark = pytest.mark.usefixtures("no_pictures")
POINTS = np.random.default_rng(0).random((40, 2))
CELLS = (("triangle", np.array([[0, 1, 2], [3, 4, 5], [6, 7, 8]])),)


def numbers(case):
    return np.random.default_rng([1, case]).random(2)


def case(number, curve=0.0, points=POINTS):
    """Fields that are linear in two numbers of the mesh, but for a curve."""
    a, b = numbers(number)
    x, y = points.T
    u = 1 + a * x + b * y + curve * np.sin(6 * a + 4 * b) * np.cos(5 * x)
    v = np.stack([a + b * x, b - a * y, np.zeros(len(x))], 1)
    q = [a + b * np.arange(3.0) + 2]
    given = {"a": np.array([a]), "b": np.array([b]), "peak": np.array([2 * a - b + 4])}
    return Mesh(points=points, cells=CELLS, point_data={"u": u, "v": v}, cell_data={"q": q}, field_data=given)


def configured(root, *changes, count=20, curve=0.0, targets=("u",)):
    for number in range(count):
        write_mesh(root / "cases" / f"case_{number:02d}.vtu", case(number, curve))
    return small_run(root, "cases/*.vtu", ["a", "b"], targets, *changes)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    root = tmp_path_factory.mktemp("pod")
    config = configured(root, 'model.name="pod"', targets=("u", "v", "q", "peak"))
    return config, train(config, root / "out"), root


def test_without_validation_both_checkpoints_are_there_and_the_same(tmp_path):
    config = configured(tmp_path, 'model.name="pod"', "data.meshes.validation=0")
    done = train(config, tmp_path / "out")
    best, last = (read_checkpoint(tmp_path / "out" / name)["state_dict"] for name in ("best.ckpt", "last.ckpt"))
    assert done.checkpoint.name == "last.ckpt" and all(torch.equal(best[name], last[name]) for name in last)
    assert train(config, tmp_path / "out", resume=True).checkpoint == done.checkpoint


def test_linear_fields_of_all_kinds_are_exact_by_the_usual_commands(run):
    _, trained, root = run
    assert trained.checkpoint.name == "best.ckpt" and (root / "out" / "report.html").exists()
    assert list(trained.evaluation["errors"]) == ["u", "v", "q", "peak"]
    for errors in trained.evaluation["errors"].values():
        assert errors["relative_l2"]["largest"] < 1e-5
    with open(root / "out" / "metrics.csv", newline="") as file:
        (row,) = csv.DictReader(file)
    assert float(row["val_error"]) < 1e-5 and float(row["train_loss"]) < 1e-5


def test_it_predicts_on_mesh_files(run, tmp_path, capsys):
    _, trained, _ = run
    write_mesh(tmp_path / "new.vtu", case(77))
    assert main(["predict", str(trained.checkpoint), str(tmp_path / "new.vtu"), "--output", str(tmp_path / "o")]) == 0
    found = read_mesh(tmp_path / "o" / "new.vtu")
    assert np.abs(found.point_data["u_error"]).max() < 1e-5 and np.abs(found.cell_data["q_error"][0]).max() < 1e-5
    assert np.allclose(found.field_data["peak_prediction"], case(77).field_data["peak"], atol=1e-5)


def test_several_samples_at_once_are_those_one_by_one(run):
    predictor = load(run[1].checkpoint)
    samples = [predictor.table.mesh_sample(case(number)) for number in (30, 31)]
    both = predictor.predict(samples)
    assert torch.allclose(both, torch.cat([predictor.predict(sample) for sample in samples]), atol=1e-6)


def test_another_mesh_is_refused(run):
    predictor = load(run[1].checkpoint)
    moved = case(1, points=POINTS + 0.2 * np.sin(9 * POINTS[:, ::-1]))
    with pytest.raises(ValueError, match=r"Expected the input points of the mesh that the POD was trained on .*'pit'"):
        predictor.predict_mesh(moved)
    fewer = Mesh(points=POINTS[:30], cells=CELLS, field_data=case(1).field_data)
    with pytest.raises(ValueError, match=r"got 30 points of 1 samples, not 40 each"):
        predictor.predict_mesh(fewer)


def test_a_finished_run_is_left_alone_and_a_lost_report_is_made_again(run, monkeypatch):
    config, trained, root = run
    before = (root / "out" / "best.ckpt").stat().st_mtime_ns
    assert train(config, root / "out", resume=True).evaluation == trained.evaluation
    assert (root / "out" / "best.ckpt").stat().st_mtime_ns == before
    folder = shutil.copytree(root / "out", root / "again")
    (folder / "evaluation.json").unlink()
    again = train(config, folder, resume=True).evaluation
    assert again["errors"] == trained.evaluation["errors"]


def test_a_dry_run_says_that_training_fits_it(run):
    assert dry_run(run[0])[-2:] == ["model: pod, tried on no sample: training fits it", "parameters: 0"]


def test_it_has_no_program_of_its_own(run, tmp_path):
    with pytest.raises(ValueError, match=r"Expected a model of the kind 'pit' to export"):
        export_model(run[1].checkpoint, tmp_path / "pod.pt2")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"is_shared": False}, r"Expected samples on one mesh with a POD.*'pit'"),
        ({"steps": 4}, r"Expected data without steps with a POD .*4 steps"),
        ({"in_channels": 2}, r"Expected input values with a POD"),
    ],
)
def test_data_that_it_is_not_for_are_refused(changes, message):
    given = {"in_channels": 3, "out_channels": 1, "dimension": 2, "spacing": 0.1, "extent": 1.0, "is_shared": True}
    with pytest.raises(ValueError, match=message):
        PODOptions().build(DataSpec(**{**given, **changes}))


def test_a_model_that_was_not_fitted_is_refused():
    model = PODOptions().build(DataSpec(3, 1, 2, 0.1, 1.0, is_shared=True))
    assert isinstance(model, POD)
    with pytest.raises(ValueError, match=r"Expected a POD that was fitted to samples .*train or load it"):
        model(PointData(pos=torch.rand(5, 2), x=torch.rand(5, 1)))


CURVED = (
    'model.pit.residual_of="pod"',
    "training.epochs=3",
    "data.meshes.validation=4",
    'training.loss="relative_l2"',
)


def curved(root, *changes, count=26):
    return configured(root, *CURVED, *changes, count=count, curve=0.3)


@pytest.fixture(scope="module")
def corrected(tmp_path_factory):
    root = tmp_path_factory.mktemp("corrected")
    config = curved(root)
    return config, train(config, root / "out"), root


def test_what_validation_samples_lose_is_never_more_than_by_the_control(corrected):
    config, trained, _ = corrected
    predictor = load(trained.checkpoint)
    samples = config.data.options.training_parts()[1]

    def error():
        predictions = [predictor.predict(samples[number]) for number in range(len(samples))]
        pairs = zip(predictions, samples, strict=True)
        return float(np.mean([float((p - s.y).norm() / s.y.norm()) for p, s in pairs]))

    share = float(predictor.module.share)
    assert 0 <= share <= 1
    found = error()
    predictor.module.share.fill_(0.0)
    alone = error()
    assert found <= alone * (1 + 1e-6)
    with open(trained.checkpoint.parent / "metrics.csv", newline="") as file:
        lowest = min(float(row["val_error"]) for row in csv.DictReader(file))
    assert found == pytest.approx(lowest, rel=1e-4)


def test_at_the_start_it_is_the_control(tmp_path):
    config = curved(tmp_path, "training.epochs=1", "training.learning_rate=1e-30")
    trained = train(config, tmp_path / "out")
    alone = train(curved(tmp_path, 'model.name="pod"'), tmp_path / "pod")
    for norm in ("relative_l1", "relative_l2"):
        pair = [result.evaluation["errors"]["u"][norm]["mean"] for result in (trained, alone)]
        assert pair[0] == pytest.approx(pair[1], rel=1e-5)


def test_it_learns_what_the_control_leaves_of_samples_left_out(corrected):
    state = read_checkpoint(corrected[1].checkpoint)["state_dict"]
    assert float(state["target_scaling.mean"].abs().max()) == 0.0
    assert 1e-4 < float(state["target_scaling.std"][0]) < 0.3  # an interpolation leaves nothing of its own samples


def test_an_interrupted_run_ends_with_the_very_same_weights(corrected, monkeypatch):
    config, _, root = corrected
    calls = []
    original = History.on_train_batch_end

    def stop(self, trainer, *others):
        original(self, trainer, *others)
        calls.append(1)
        if len(calls) == 5:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(History, "on_train_batch_end", stop)
    with pytest.raises(InterruptionError):
        train(config, root / "stopped")
    monkeypatch.undo()
    train(config, root / "stopped", resume=True)
    first, second = (read_checkpoint(root / name / "last.ckpt")["state_dict"] for name in ("out", "stopped"))
    assert first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)
    assert any(name.startswith("control.map.") for name in first) and "share" in first


def test_it_predicts_on_mesh_files_as_the_sum(corrected):
    predictor = load(corrected[1].checkpoint)
    mesh = case(50, 0.3)
    sample = predictor.table.mesh_sample(mesh)
    prepared = predictor.transform(sample)
    whole = predictor.predict(sample)
    control = predictor.module.control(prepared)
    share = float(predictor.module.share)
    predictor.module.share.fill_(1.0)
    assert torch.allclose(control + share * (predictor.predict(sample) - control), whole, atol=1e-5)
    predictor.module.share.fill_(share)
    found = predictor.predict_mesh(mesh).point_data["u_prediction"]
    assert np.allclose(found, whole[:, 0].numpy())


@pytest.mark.parametrize(
    ("change", "found"),
    [("data.meshes.validation=0", "no validation samples"), ('scaling.log=["u"]', "'u' in scaling.log")],
)
def test_what_does_not_go_with_a_control_is_refused(tmp_path, change, found):
    with pytest.raises(ValueError, match=rf"Expected validation samples, .*\(got {found}\)"):
        train(curved(tmp_path, change), tmp_path / "out")


def test_it_is_not_exported_without_its_control(corrected, tmp_path):
    with pytest.raises(ValueError, match=r"Expected a model that predicts alone .*corrects a control"):
        export_model(corrected[1].checkpoint, tmp_path / "pit.pt2")


def test_meshes_that_differ_are_refused(tmp_path):
    config = configured(tmp_path, *CURVED)
    write_mesh(tmp_path / "cases" / "case_00.vtu", case(0, points=POINTS * 1.1))
    with pytest.raises(ValueError, match=r"Expected samples on one mesh with a POD"):
        train(config, tmp_path / "out")


def smithers(name):
    """Numbers ``[S, P]`` and fields ``[S, K, M]`` that others have published."""
    spec = importlib.util.find_spec("smithers")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("needs the package smithers, for its data")
    folder = Path(spec.submodule_search_locations[0]) / "dataset" / "datasets" / name
    points = np.load(folder / "coords.npy").shape[1]
    fields = np.load(folder / "snapshots.npy")
    return np.load(folder / "params.npy"), fields.reshape(len(fields), -1, points)


@pytest.mark.parametrize(("name", "largest"), [("elastic_block", 0.07), ("navier_stokes", 3e-7)])
def test_errors_on_files_of_others(name, largest):
    parameters, fields = (torch.from_numpy(part).float() for part in smithers(name))
    x = parameters[:, None].expand(-1, fields.shape[2], -1)
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(0))
    train_on, test = order[:360], order[360:]
    map = PODMap(x.shape[2], interpolation="rbf")
    map.fit(x[train_on], fields[train_on].transpose(1, 2))
    off = (map(x[test]).transpose(1, 2) - fields[test]).flatten(1).norm(dim=1) / fields[test].flatten(1).norm(dim=1)
    assert float(off.mean()) < largest
