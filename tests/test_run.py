"""What a run is built on: the same before it starts and when it does."""

from pathlib import Path

import numpy as np
import pytest

from pitgeo.config import load_config
from pitgeo.datasets import DATASETS
from pitgeo.datasets.data_options import DataOptions
from pitgeo.mesh import Mesh, write_mesh
from pitgeo.models import parameter_count
from pitgeo.run import _module, dry_run, read_parts

from .datasets.meshes.conftest import small_mesh

CONFIGS = Path(__file__).parents[1] / "configs"


def files(folder, sizes, is_shared=False):
    """A configuration on meshes of so many points, all of them one mesh or not."""
    for number, size in enumerate(sizes):
        mesh = small_mesh(0 if is_shared else number, points=size)
        load = {"load": np.array([number + 1.0])}
        write_mesh(folder / f"case_{number}.vtu", Mesh(mesh.points, mesh.cells, mesh.point_data, {}, load))
    changes = [f'data.meshes.files="{folder}/*.vtu"', f'data.meshes.cache="{folder}/cache"']
    changes += ['data.meshes.inputs=["load"]', 'data.meshes.targets=["u"]']
    return lambda *more: load_config(CONFIGS / "meshes.toml", [*changes, *more])


@pytest.mark.parametrize("data", ["one mesh", "meshes of one size", "made on the spot"])
def test_before_and_in_a_run_the_mesh_is_shared_or_not(data, tmp_path):
    if data == "made on the spot":
        config = load_config(CONFIGS / "smoothing.toml", ['model.name="deeponet"'])
    else:
        config = files(tmp_path, [20] * 6, data == "one mesh")('model.name="deeponet"')
    module = _module(config, read_parts(config, False))
    values, axes, points = 1, 2, 256 if data == "made on the spot" else 20
    shared = data != "meshes of one size"
    assert module.facts["shape"]["is_shared"] == config.data.options.is_shared == shared
    assert module.model.sensors.size == points * (values if shared else values + axes)
    assert dry_run(config)[-1] == f"parameters: {parameter_count(module.model):,}"


def test_options_that_say_otherwise_than_their_samples_are_refused(monkeypatch):
    monkeypatch.setattr(DATASETS["smoothing"], "is_shared", DataOptions.is_shared)
    with pytest.raises(ValueError, match=r"SmoothingOptions.is_shared .*\(got False, and samples that have\); mend"):
        read_parts(load_config(CONFIGS / "smoothing.toml"), False)
