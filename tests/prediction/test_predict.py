"""From a checkpoint and mesh files to predicted mesh files."""

import json
import shutil

import numpy as np
import pytest
import torch
from torch_geometric.data import Batch

import pitgeo
from pitgeo.cli.main import main
from pitgeo.config.config import parse_config
from pitgeo.data import PointData
from pitgeo.data.transforms import Compose
from pitgeo.datasets import Elasticity
from pitgeo.mesh import Mesh, read_mesh, write_mesh
from pitgeo.prediction.files import predict_files
from pitgeo.prediction.predictor import Predictor
from pitgeo.workflows.run_folder import claim, finished

TINY = [
    "data.elasticity.train=3",
    "data.elasticity.validation=1",
    "data.elasticity.test=2",
    "data.elasticity.generate=5",
    "model.pit.channels=8",
    "model.pit.heads=2",
    "model.pit.layers=1",
    "model.pit.latent.number=12",
    "model.pit.decoder_quantile=1.0",  # no neighbours that come and go with rounding
    "training.epochs=1",
    "training.batch_size=2",
    'scaling.box="unit"',
]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run from nothing: data are generated, a tiny model trained, the test set evaluated, meshes written."""
    folder = tmp_path_factory.mktemp("run")
    config = folder / "tiny.toml"
    config.write_text(
        '[data]\nname = "elasticity"\n[model]\nname = "pit"\n[model.pit.latent]\nmethod = "farthest"\nnumber = 9\n'
    )
    overrides = [f'data.elasticity.root="{folder}"', *TINY]
    import elasticity_samples as elasticity

    elasticity.generate(folder / "raw", samples=5, processes=1, progress=False)
    arguments = [part for override in overrides for part in ("--set", override)]
    assert main(["train", str(config), "--output", str(folder / "out"), "--quiet", *arguments]) == 0
    return folder


def meshes(run):
    return sorted((run / "out" / "meshes").glob("*.vtu"))


def test_training_leaves_everything(run):
    out = run / "out"
    assert {path.name for path in (out / "pictures").iterdir()} == {
        "fields.png",
        "latent_mesh.png",
        "length_scales.png",
        "loss.png",
        "scatter.png",
    }
    assert {path.name.split("_")[0] for path in meshes(run)} == {"best", "median", "worst"}
    assert json.loads((out / "evaluation.json").read_text())["samples"] == 2


def test_a_checkpoint_alone_predicts(run):
    predictor = pitgeo.load(run / "out" / "best.ckpt")
    assert predictor.table.input_labels[0] == "shape_1" and predictor.targets == ("von_mises",)
    samples = Elasticity(run, "test", samples=2)
    alone = [predictor.predict(sample) for sample in samples]
    assert alone[0].shape == (972, 1) and not alone[0].requires_grad
    size = float(alone[0].abs().max())
    assert torch.allclose(predictor.predict(list(samples)), torch.cat(alone), atol=1e-5 * size, rtol=1e-5)
    moved = samples[0].clone()
    moved.pos = moved.pos + 100.0
    assert torch.allclose(predictor.predict(moved), alone[0], atol=5e-3 * size)  # centred in the unit box
    elsewhere = PointData(pos=samples[0].pos, x=samples[0].x, pos_out=samples[0].pos[:7] + 0.01)
    assert predictor.predict(elsewhere).shape == (7, 1)


def test_predicted_meshes_hold_prediction_error_and_what_they_came_with(run, tmp_path, capsys):
    files = [str(path) for path in meshes(run)]
    command = ["predict", str(run / "out" / "best.ckpt"), *files, "--output", str(tmp_path)]
    assert main([*command, "--quiet"]) == 0
    assert capsys.readouterr().out == f"{len(files)} files in {tmp_path}\n"
    assert main(command) == 0
    assert capsys.readouterr().out.splitlines() == [str(tmp_path / path.name) for path in meshes(run)]
    assert not (tmp_path / "trust.json").exists()  # a benchmark's checkpoint does not describe its training set
    predictor = pitgeo.load(run / "out" / "best.ckpt")
    numbers = {int(sample.sample_id): sample for sample in Elasticity(run, "test", samples=2)}
    for path in meshes(run):
        before, after = read_mesh(path), read_mesh(tmp_path / path.name)
        assert np.array_equal(before.points, after.points)
        for (_, mine), (_, theirs) in zip(before.cells, after.cells, strict=True):
            assert np.array_equal(mine, theirs)
        for name, values in before.point_data.items():
            assert np.array_equal(after.point_data[name], values)
        prediction = predictor.predict(numbers[int(path.stem.split("_")[-1])])[:, 0].numpy()
        close = {"atol": 2e-6 * prediction.max(), "rtol": 1e-5}
        assert np.allclose(after.point_data["von_mises_prediction"], prediction, **close)
        difference = after.point_data["von_mises_prediction"] - after.point_data["von_mises"]
        assert np.allclose(after.point_data["von_mises_error"], difference)


def test_without_the_truth_there_is_no_error(run, tmp_path):
    mesh = read_mesh(meshes(run)[0])
    write_mesh(tmp_path / "new.vtu", Mesh(mesh.points, mesh.cells, {"shape": mesh.point_data["shape"]}))
    (written,) = predict_files(run / "out" / "best.ckpt", [tmp_path / "new.vtu"], tmp_path / "out")
    assert set(read_mesh(written).point_data) == {"shape", "von_mises_prediction"}


def test_truth_that_cannot_be_compared_does_not_stop_a_prediction(run, tmp_path, caplog):
    mesh = read_mesh(meshes(run)[0])
    for truth in (np.ones((972, 3)), np.full(972, np.nan)):
        write_mesh(tmp_path / "new.vtu", Mesh(mesh.points, (), {**mesh.point_data, "von_mises": truth}))
        (written,) = predict_files(run / "out" / "best.ckpt", [tmp_path / "new.vtu"], tmp_path / "out")
        assert set(read_mesh(written).point_data) == {"shape", "von_mises", "von_mises_prediction"}
        assert "No error of 'von_mises'" in caplog.text


def test_formats_that_cannot_be_written_become_vtu(run, tmp_path, monkeypatch):
    mesh = read_mesh(meshes(run)[0])
    (tmp_path / "plate.msh").write_text("stands for a file whose format keeps no fields")
    monkeypatch.setattr("pitgeo.prediction.files.read_mesh", lambda path: mesh)
    (written,) = predict_files(run / "out" / "best.ckpt", [tmp_path / "plate.msh"], tmp_path / "out")
    assert written.name == "plate.vtu" and "von_mises_prediction" in read_mesh(written).point_data


def test_an_evaluation_on_the_way_does_not_finish_a_run(run, tmp_path, capsys):
    out = tmp_path / "out"
    shutil.copytree(run / "out", out)
    rows = (out / "metrics.csv").read_text().splitlines()
    (out / "metrics.csv").write_text(rows[0] + "\n")  # as if stopped before its last epoch
    config = parse_config(torch.load(out / "best.ckpt", weights_only=True)["pitgeo"]["config"])
    assert finished(config, out) is None and finished(config, run / "out") is not None
    assert main(["evaluate", str(run / "out" / "last.ckpt"), "--quiet"]) == 0
    assert json.loads((run / "out" / "evaluation.json").read_text())["checkpoint"] == "best.ckpt"
    assert json.loads((run / "out" / "last" / "evaluation.json").read_text())["checkpoint"] == "last.ckpt"
    shutil.rmtree(run / "out" / "last")


def test_a_run_stopped_before_its_first_checkpoint_can_start_again(run, tmp_path):
    config = parse_config(torch.load(run / "out" / "best.ckpt", weights_only=True)["pitgeo"]["config"])
    (tmp_path / "metrics.csv").write_text("epoch,train_loss\n")
    claim(config, tmp_path, resume=False, overwrite=False)


def refuse(run, tmp_path, capsys, *arguments):
    assert main(["predict", *map(str, arguments), "--output", str(tmp_path / "out"), "--quiet"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("pitgeo: error: ") and error.count("\n") == 1
    assert not list((tmp_path / "out").glob("*")) if (tmp_path / "out").exists() else True
    return error


def test_mistakes_get_one_clear_line(run, tmp_path, capsys):
    checkpoint, mesh = run / "out" / "best.ckpt", read_mesh(meshes(run)[0])

    def write(name, points=mesh.points, **fields):
        write_mesh(tmp_path / name, Mesh(points, (), fields))
        return tmp_path / name

    shape = mesh.point_data["shape"]
    assert "no such file" in refuse(run, tmp_path, capsys, run / "none.ckpt", meshes(run)[0])
    assert "no such file" in refuse(run, tmp_path, capsys, checkpoint, tmp_path / "none.vtu")
    assert "point field 'shape' (got 'shap'); did you mean 'shap'" in refuse(
        run, tmp_path, capsys, checkpoint, write("misnamed.vtu", shap=shape)
    )
    assert "42 components in the field 'shape'" in refuse(
        run, tmp_path, capsys, checkpoint, write("narrow.vtu", shape=shape[:, :3])
    )
    solid = np.concatenate([mesh.points, mesh.points[:, :1]], 1)
    assert "2D, like those for training (got 3D)" in refuse(
        run, tmp_path, capsys, checkpoint, write("solid.vtu", solid, shape=shape)
    )
    (tmp_path / "others").mkdir()
    twin = shutil.copy(meshes(run)[0], tmp_path / "others")
    assert "different names" in refuse(run, tmp_path, capsys, checkpoint, meshes(run)[0], twin)
    (tmp_path / "broken.vtu").write_text("<VTKFile")
    assert "broken.vtu" in refuse(run, tmp_path, capsys, checkpoint, tmp_path / "broken.vtu")
    (tmp_path / "text.ckpt").write_text("not a checkpoint")
    assert "text.ckpt" in refuse(run, tmp_path, capsys, tmp_path / "text.ckpt", meshes(run)[0])
    newer = torch.load(checkpoint, weights_only=True)
    newer["pitgeo"]["format"] = 99
    torch.save(newer, tmp_path / "newer.ckpt")
    assert "format 6 (got 99" in refuse(run, tmp_path, capsys, tmp_path / "newer.ckpt", meshes(run)[0])
    for name, spoil in (
        ("facts.ckpt", lambda c: c["pitgeo"]["shape"].pop("extent")),
        ("weights.ckpt", lambda c: c["state_dict"].pop("model.lift.0.weight")),
        ("key.ckpt", lambda c: c["pitgeo"]["config"].update(extra=1)),
    ):
        spoilt = torch.load(checkpoint, weights_only=True)
        spoil(spoilt)
        torch.save(spoilt, tmp_path / name)
        assert name in refuse(run, tmp_path, capsys, tmp_path / name, meshes(run)[0])


def test_an_input_file_is_not_overwritten(run):
    file = meshes(run)[0]
    before = file.read_bytes()
    with pytest.raises(ValueError, match="another 'output'"):
        predict_files(run / "out" / "best.ckpt", [file], file.parent)
    assert file.read_bytes() == before


def test_a_run_in_use_is_not_overwritten(run, capsys):
    arguments = ["train", str(run / "tiny.toml"), "--output", str(run / "out"), "--quiet"]
    assert main(arguments) == 2
    assert "no other run" in capsys.readouterr().err


class Elsewhere:
    """In place of the module: on another device, and what comes to it."""

    device = torch.device("meta")

    def __init__(self, module):
        self.input_scaling = module.input_scaling
        self.seen = []

    def __call__(self, data, apply=None):
        self.seen.append(data)
        return torch.zeros(len(data.x), 1)


@pytest.mark.parametrize("kind", ["prepared", "in parts", "batch", "steps"])
def test_the_sample_of_a_caller_stays_on_its_device(run, monkeypatch, kind):
    predictor = pitgeo.load(run / "out" / "best.ckpt")
    sample = predictor.transform(predictor.data_options.test_samples()[0])
    data = Batch.from_data_list([sample]) if kind == "batch" else sample
    before = {key: value for key, value in data if isinstance(value, torch.Tensor)}
    predictor.transform = Compose(())  # which copies nothing
    module = predictor.module
    predictor.module = Elsewhere(module)
    monkeypatch.setattr(Predictor, "model", module.model)
    if kind == "in parts":
        predictor.chunk = 1
        predictor.predict(data)
    elif kind == "steps":
        predictor.roll_out(data, 2)
    else:
        predictor.predict_prepared(data)
    (moved, *_) = predictor.module.seen
    assert moved is not data and moved.pos.device.type == "meta"
    for key, value in before.items():
        assert data[key] is value and value.device.type == "cpu", key
    assert data.graph("encoder").index.device.type == "cpu"
