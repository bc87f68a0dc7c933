"""What a run is built on: the same before it starts and when it does."""

from pathlib import Path

import numpy as np
import pytest

from pitgeo.config.config import load_config
from pitgeo.datasets import DATASETS
from pitgeo.datasets.data_options import DataOptions
from pitgeo.mesh import Mesh, write_mesh
from pitgeo.models.registry import parameter_count
from pitgeo.workflows.run import dry_run, new_module, train
from pitgeo.workflows.run_data import read_data
from pitgeo.workflows.run_folder import claim
from tests.datasets.folder.conftest import small_mesh

CONFIGS = Path(__file__).parents[2] / "configs"


def files(folder, sizes, is_shared=False):
    """A configuration on meshes of so many points, all of them one mesh or not."""
    for number, size in enumerate(sizes):
        mesh = small_mesh(0 if is_shared else number, points=size)
        load = {"load": np.array([number + 1.0])}
        write_mesh(folder / f"case_{number}.vtu", Mesh(mesh.points, mesh.cells, mesh.point_data, mesh.cell_data, load))
    changes = [f'data.meshes.files="{folder}/*.vtu"', f'data.meshes.cache="{folder}/cache"']
    changes += ['data.meshes.inputs=["load"]', 'data.meshes.targets=["u"]', "data.meshes.geometry=[]"]
    return lambda *more: load_config(CONFIGS / "meshes.toml", [*changes, *more])


@pytest.mark.parametrize("data", ["one mesh", "meshes of one size", "made on the spot"])
def test_before_and_in_a_run_the_mesh_is_shared_or_not(data, tmp_path):
    if data == "made on the spot":
        config = load_config(CONFIGS / "smoothing.toml", ['model.name="deeponet"'])
    else:
        config = files(tmp_path, [20] * 6, data == "one mesh")('model.name="deeponet"')
    module = new_module(config, read_data(config, False))
    values, axes, points = 1, 2, 256 if data == "made on the spot" else 20
    shared = data != "meshes of one size"
    assert module.metadata["shape"]["is_shared"] == config.data.options.is_shared == shared
    assert module.model.sensors.size == points * (values if shared else values + axes)
    assert dry_run(config)[-1] == f"parameters: {parameter_count(module.model):,}"


def test_options_that_say_otherwise_than_their_samples_are_refused(monkeypatch):
    monkeypatch.setattr(DATASETS["smoothing"], "is_shared", DataOptions.is_shared)
    with pytest.raises(ValueError, match=r"SmoothingOptions.is_shared .*\(got False, and samples that have\); mend"):
        read_data(load_config(CONFIGS / "smoothing.toml"), False)


SIZES = r"same number of points, the sensors of a DeepONet.*several sizes"
REFUSED = {
    "sizes": ([20, 21, 22, 23, 24, 25], ['model.name="deeponet"'], SIZES),
    "a single odd size": ([20] * 8 + [31], ['model.name="deeponet"'], SIZES),
    "output points": (
        [20] * 6,
        ['model.name="galerkin"', 'data.meshes.inputs=["material"]', 'data.meshes.targets=["q"]'],  # in points, cells
        r"are the input points with a Galerkin",
    ),
    "no grid": ([20] * 6, ['model.name="fno"'], r"points on a regular grid.*model.fno.cells"),
    "query points": ([20] * 6, ['model.name="gnot"', "training.query_points=5"], r"training.query_points = 5"),
}
SPLIT = ['data.meshes.test=["case_0.vtu"]', 'data.meshes.validation=["case_1.vtu"]', "training.epochs=1"]


@pytest.mark.parametrize("name", REFUSED)
def test_a_dry_run_refuses_what_training_would(name, tmp_path):
    sizes, changes, message = REFUSED[name]
    config = files(tmp_path / "cases", sizes)(*SPLIT, *changes)
    with pytest.raises(ValueError, match=message) as early:
        dry_run(config)
    with pytest.raises(ValueError) as late:
        train(config, tmp_path / "run")
    assert str(early.value) == str(late.value)


def test_a_dry_run_tries_the_model_on_samples_that_are_there(tmp_path, monkeypatch):
    config = files(tmp_path, [20, 21, 22, 23, 24, 25])()
    assert dry_run(config)[-2] == "model: pit, tried on 2 samples"
    monkeypatch.setattr("pitgeo.workflows.run.TRIED_POINTS", 60)
    assert dry_run(config)[-2] == "model: pit, tried on 1 sample"
    monkeypatch.setattr("pitgeo.workflows.run.TRIED_POINTS", 10)
    assert dry_run(config)[-2].startswith("model: pit, tried on no sample: this takes long with 2")


def test_a_dry_run_without_files_tries_what_is_known(tmp_path):
    def lines(name, *changes):
        return dry_run(load_config(CONFIGS / f"{name}.toml", [f"data.{name}.root={tmp_path}", *changes]))

    assert lines("elasticity", 'model.name="deeponet"')[-2] == "model: deeponet, tried on no sample: there are no files"
    naca = ['model.name="fno"', "model.fno.modes=8"]
    assert lines("naca", *naca)[-2] == "model: fno, tried on 1 sample"
    with pytest.raises(ValueError, match="points on a regular grid"):
        lines("naca", *naca, 'data.naca.positions="physical"')
    vorticity = ['model.name="mlp"', "data.vorticity.resolution=16"]
    assert lines("vorticity", *vorticity)[-2] == "model: mlp, tried on 2 samples"


def test_a_run_begins_without_the_files_that_a_killed_process_left(tmp_path):
    config = load_config(CONFIGS / "smoothing.toml")
    (tmp_path / ".part-4242-last.ckpt").write_text("half")
    claim(config, tmp_path)
    assert not list(tmp_path.iterdir())


def test_samples_of_another_kind_are_refused(monkeypatch):
    options = DATASETS["smoothing"]
    whole = options.training_parts
    monkeypatch.setattr(options, "training_parts", lambda self, progress=False: tuple(map(list, whole(self, progress))))
    with pytest.raises(ValueError, match=r"SmoothingOptions .* from pitgeo.datasets.Samples \(got list\); derive"):
        read_data(load_config(CONFIGS / "smoothing.toml"), False)
