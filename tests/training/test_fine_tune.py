"""Starting from another run's weights, on other inputs and targets."""

import copy
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.io import savemat

from pitgeo import load
from pitgeo.config.config import load_config
from pitgeo.datasets.vorticity import FILES
from pitgeo.mesh import Mesh, read_mesh, write_mesh
from pitgeo.workflows.run import new_module, train
from pitgeo.workflows.run_data import read_data
from tests.small_runs import SMALL, small_run

pytestmark = pytest.mark.usefixtures("no_pictures")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("files")
    for number in range(6):
        place = np.random.default_rng(number).random((30, 2)) * (1 + number / 10)
        fields = {"a": place[:, 0] + 3, "b": place[:, 1] * 50, "u": place.sum(1) + 1, "w": place[:, 0] * 9 + 2}
        write_mesh(root / f"case_{number}.vtu", Mesh(place, point_data=fields))
    return root


def config(folder, inputs, targets, *changes):
    return small_run(folder, "*.vtu", inputs, targets, *changes)


@pytest.fixture(scope="module")
def earlier(folder):
    return train(config(folder, ["a", "b"], ["u", "w"]), folder / "earlier").checkpoint


def start(folder, earlier, inputs, targets, *changes):
    changed = config(folder, inputs, targets, f'training.start_from="{earlier}"', *changes)
    parts = read_data(changed, False)
    return new_module(changed, parts).eval(), parts.samples


@pytest.mark.parametrize(
    ("inputs", "targets"),
    [(["a", "b"], ["u", "w"]), (["b", "a"], ["w", "u"]), (["b", "new", "a"], ["w", "u"]), (["a", "b"], ["new", "w"])],
)
def test_what_is_kept_predicts_the_same(folder, earlier, inputs, targets):
    """New inputs start without a say, new targets beside the old; the order of names does not matter."""
    for path in folder.glob("*.vtu"):
        mesh = read_mesh(path)
        write_mesh(path, mesh.with_point_data("new", mesh.points[:, 0] ** 2, "replace"))
    module, samples = start(folder, earlier, inputs, targets)
    for sample in samples:
        mesh = read_mesh(folder / f"case_{sample_number(folder, sample)}.vtu")
        before = load(earlier).predict_mesh(mesh)
        with torch.no_grad():
            after = module(sample)
        assert after.shape[1] == len(targets)
        for channel, name in enumerate(targets):
            if name != "new":
                assert np.allclose(after[:, channel], before.point_data[f"{name}_prediction"], rtol=1e-4, atol=1e-5)


def sample_number(folder, sample):
    """The file that a sample, its positions scaled, is from: by its target, which is not."""
    values = [read_mesh(folder / f"case_{number}.vtu").point_data for number in range(6)]
    return next(k for k in range(6) for y in sample.y.T if np.allclose(values[k]["w"], y, rtol=1e-6))


def test_a_run_that_starts_from_another(folder, earlier):
    done = train(config(folder, ["a"], ["w"], f'training.start_from="{earlier}"'), folder / "later")
    assert done.evaluation["errors"].keys() == {"w"}
    found = load(done.checkpoint).predict_mesh(read_mesh(folder / "case_1.vtu"))
    assert "w_prediction" in found.point_data


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            ["model.pit.channels=16"],
            r"same model but for its inputs and targets \(got 'lift.0.weight' of shape \[8, 4\]",
        ),
        (["model.pit.layers=2"], "same model but for its inputs and targets"),
        (["scaling.box=none"], "scaling.box = 'unit'"),
        (["model.name=mlp"], "same model but for"),
    ],
)
def test_other_models_are_refused(folder, earlier, changes, message):
    with pytest.raises(ValueError, match=message):
        start(folder, earlier, ["a", "b"], ["u", "w"], *changes)


def test_a_missing_checkpoint(folder):
    with pytest.raises(FileNotFoundError, match=r"none.ckpt"):
        start(folder, "none.ckpt", ["a"], ["u"])


def test_the_checkpoint_to_start_from_is_not_overwritten(folder, earlier):
    content = earlier.read_bytes()
    again = config(folder, ["a"], ["w"], f'training.start_from="{earlier}"')
    with pytest.raises(ValueError, match=rf"{earlier.name} training.start_from names and which would be overwritten"):
        train(again, earlier.parent, overwrite=True)
    assert earlier.read_bytes() == content


def test_a_missing_checkpoint_is_found_out_before_anything_is_deleted(folder, tmp_path):
    (tmp_path / "last.ckpt").write_text("an earlier run")
    with pytest.raises(FileNotFoundError, match=r"none\.ckpt"):
        train(config(folder, ["a"], ["w"], "training.start_from=none.ckpt"), tmp_path, overwrite=True)
    assert (tmp_path / "last.ckpt").exists()


def test_a_run_without_test_files_is_refused_before_training(folder, tmp_path):
    with pytest.raises(ValueError, match="samples to test on"):
        train(config(folder, ["a"], ["w"], "data.meshes.test=0"), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_run_goes_on_with_the_scale_that_it_began_with(folder, earlier, tmp_path):
    start = tmp_path / "start.ckpt"
    shutil.copy(earlier, start)
    changed = config(folder, ["a"], ["w"], f'training.start_from="{start}"', "training.epochs=2")
    done = train(changed, tmp_path / "run")
    for name in ("evaluation.json", "metrics.csv"):
        (tmp_path / "run" / name).unlink()  # as if it had not been finished
    content = torch.load(start, weights_only=True)
    content["pitgeo"]["box_scale"] *= 2
    torch.save(content, start)
    with pytest.raises(ValueError, match=r"scaled by .*last.ckpt .*training.start_from, have changed"):
        train(changed, done.checkpoint.parent, resume=True)
    content["pitgeo"]["box_scale"] /= 2
    torch.save(content, start)
    last = torch.load(done.checkpoint.parent / "last.ckpt", weights_only=True)
    last["pitgeo"]["table"]["offset"] = [1e6] * len(last["pitgeo"]["table"]["offset"] or (0, 0))
    torch.save(last, done.checkpoint.parent / "last.ckpt")
    with pytest.raises(ValueError, match=r"relative to \(1000000.0, .*last.ckpt \(got the origin\)"):
        train(changed, done.checkpoint.parent, resume=True)


def test_a_smaller_model_does_not_leave_layers_behind(folder, tmp_path):
    larger = train(config(folder, ["a"], ["u"], "model.pit.layers=2"), tmp_path / "larger").checkpoint
    with pytest.raises(ValueError, match=r"got 'processor.1.attention.*too, which the new one has not"):
        start(folder, larger, ["a"], ["u"])
    with pytest.raises(ValueError, match=r"same model but for .*'head.0.weight'|too, which the new one has not"):
        start(folder, larger, ["a"], ["u"], "model.name=mlp")


SERIES = Path(__file__).parents[2] / "configs" / "vorticity_quick.toml"
SNAPSHOTS = 12


@pytest.fixture(scope="module")
def flow(tmp_path_factory):
    """A file of the benchmark's layout: waves that move on a periodic square."""
    root = tmp_path_factory.mktemp("flow")
    (root / "raw").mkdir()
    line = np.arange(64) / 64
    time, phase = np.arange(SNAPSHOTS), np.random.default_rng(0).random((6, 1, 1, 1))
    angle = line[:, None, None] + 2 * line[:, None] + 0.05 * time + phase
    savemat(root / "raw" / FILES[0], {"u": np.sin(2 * np.pi * angle) + 2})
    return root


def steps(flow, *changes):
    data = f'data.vorticity.root="{flow}"', "data.vorticity.resolution=16", "data.vorticity.train=4"
    data = *data, "data.vorticity.validation=1", "data.vorticity.test=1", "data.vorticity.history=3"
    sizes = "model.pit.latent.cells=[4,4]", "training.batch_size=2", *SMALL
    return load_config(SERIES, [*data, "data.vorticity.steps=4", *sizes, *changes])


@pytest.fixture(scope="module")
def rolled(flow):
    return train(steps(flow), flow / "earlier").checkpoint


def begun(flow, start, *changes):
    changed = steps(flow, f'training.start_from="{start}"', *changes)
    parts = read_data(changed, False)
    return new_module(changed, parts).eval(), parts.samples


def predicted(module, sample):
    with torch.no_grad():
        return module(sample)


@pytest.mark.parametrize(("count", "window"), [(4, 1), (4, 0), (2, 2), (6, 3)])
def test_a_series_goes_on_from_another_run_with_as_many_steps_or_others(flow, rolled, count, window):
    module, samples = begun(flow, rolled, f"data.vorticity.steps={count}", f"training.window={window}")
    before = load(rolled).module
    for name, weight in before.model.state_dict().items():
        assert torch.equal(module.model.state_dict()[name], weight)
    for sample in samples[:2]:
        now, then = predicted(module, sample), predicted(before, sample)
        shared = min(count, 4)
        assert now.shape[-1] == count and torch.equal(now[..., :shared], then[..., :shared])


@pytest.mark.parametrize(("history", "offset"), [(5, 2), (2, -1)])
def test_inputs_of_a_series_are_those_equally_many_steps_back(flow, rolled, history, offset):
    module, samples = begun(flow, rolled, f"data.vorticity.history={history}")
    before, first = load(rolled).module.model.model, module.model.model.lift[0].weight
    old = before.lift[0].weight[:, 2:]
    if offset > 0:
        assert torch.equal(first[:, 2 + offset :], old) and not first[:, 2 : 2 + offset].any()
        sample = samples[0]
        recent = copy.copy(sample)
        recent.x = sample.x[..., offset:]
        assert torch.allclose(predicted(module, sample), predicted(load(rolled).module, recent), atol=1e-6)
    else:
        assert torch.equal(first[:, 2:], old[:, -offset:])


def test_a_series_goes_on_from_single_steps_and_back(flow, rolled, tmp_path):
    one = train(steps(flow, "data.vorticity.steps=1", "training.window=0"), tmp_path / "one").checkpoint
    module, samples = begun(flow, one)
    first = predicted(load(one).module, samples[0])
    assert torch.equal(predicted(module, samples[0])[..., :1], first)
    back, _ = begun(flow, rolled, "data.vorticity.steps=1", "training.window=0")
    assert torch.equal(predicted(back, samples[0]), predicted(load(rolled).module, samples[0])[..., :1])
    scaled = steps(flow, "data.vorticity.steps=1", "training.window=0", "scaling.targets=channel")
    scaled = train(scaled, tmp_path / "scaled").checkpoint
    with pytest.raises(ValueError, match=r"scaling.targets = 'none', as predictions become inputs"):
        begun(flow, scaled)


def test_other_models_of_series_are_refused(flow, rolled):
    with pytest.raises(ValueError, match=r"same model but for its inputs and targets \(got 'lift.0.weight'"):
        begun(flow, rolled, "model.pit.channels=16")


def test_a_run_of_series_that_starts_from_another(flow, rolled, tmp_path):
    done = train(steps(flow, f'training.start_from="{rolled}"'), tmp_path / "run")
    assert list(done.evaluation["errors"]) == ["vorticity_4", "vorticity_5", "vorticity_6", "vorticity_7"]
