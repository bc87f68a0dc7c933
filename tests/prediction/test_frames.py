"""Runs in the frame of a vector: what is predicted turns with the mesh, everywhere that predictions are made."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from pitgeo import load
from pitgeo.config.config import ConfigError
from pitgeo.mesh import read_mesh, write_mesh
from pitgeo.prediction.derivatives import sensitivity
from pitgeo.prediction.export import export_model
from pitgeo.workflows.run import dry_run, train
from tests.datasets.folder.conftest import small_mesh
from tests.small_runs import small_run

pytestmark = pytest.mark.usefixtures("no_pictures")
INPUTS, TARGETS = ["wind", "heat"], ["flow", "rise", "lift"]
CHANGES = ("scaling.frame=wind", "data.meshes.geometry=[]")


def blown(number, turn=0.0, points=None):
    """A mesh in a wind, all of it turned by an angle; the fields turn with it."""
    mesh, rng = small_mesh(number, points), np.random.default_rng(number)
    angle, size = rng.random() * 6, 1 + rng.random()
    wind = size * np.array([np.cos(angle), np.sin(angle)])
    along = (mesh.points - 0.5) @ wind
    flow = along[:, None] * wind + mesh.points
    matrix = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    data = {"heat": mesh.points[:, 0] - 0.5, "flow": flow @ matrix.T, "rise": along**2}
    numbers = {"wind": matrix @ wind, "lift": matrix @ wind[::-1]}
    return replace(mesh, points=mesh.points @ matrix.T, point_data=data, cell_data={}, field_data=numbers)


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    folder = tmp_path_factory.mktemp("frames")
    for number in range(8):
        write_mesh(folder / "cases" / f"case_{number}.vtu", blown(number))
    return folder


def configured(root, *changes):
    return small_run(root, "cases/*.vtu", INPUTS, TARGETS, *CHANGES, *changes)


@pytest.fixture(scope="module")
def predictor(root):
    return load(train(configured(root, "scaling.reference.flow=norm(wind)"), root / "out").checkpoint)


def test_predictions_turn_with_the_mesh(predictor):
    for turn in (0.7, 2.0, np.pi):
        once, turned = (predictor.predict_mesh(blown(3, angle)) for angle in (0.0, turn))
        matrix = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
        flow, rise = once.point_data["flow_prediction"], once.point_data["rise_prediction"]
        assert np.ptp(rise) > 0.01
        assert np.allclose(turned.point_data["flow_prediction"], flow @ matrix.T, atol=2e-5 * np.abs(flow).max())
        assert np.allclose(turned.point_data["rise_prediction"], rise, atol=2e-5 * np.abs(rise).max())
        assert np.allclose(turned.field_data["lift_prediction"], matrix @ once.field_data["lift_prediction"], atol=1e-5)


def test_scalings_are_those_of_turned_samples(predictor):
    scaling = predictor.module.input_scaling
    meshes = [blown(int(name.removesuffix(".vtu")[-1])) for name in predictor.facts["split"]["train"]]
    sizes = [np.linalg.norm(mesh.field_data["wind"]) for mesh in meshes]
    counts = [len(mesh.points) for mesh in meshes]
    assert float(scaling.mean[0]) == pytest.approx(np.average(sizes, weights=counts), rel=1e-5)
    assert scaling.mean[1].item() == pytest.approx(0, abs=1e-6) and scaling.std[1] == 1


def test_many_winds_are_those_one_after_another(predictor):
    mesh, values = blown(3), {"wind_x": [1.0, -0.4, 0.3], "wind_y": [0.1, 1.2, -1.0]}
    found = predictor.predict_many(mesh, values)
    for row, wind in enumerate(zip(*values.values(), strict=True)):
        alone = predictor.predict_mesh(mesh.with_field_data("wind", np.array(wind), "replace"))
        for name in ("flow", "rise"):
            part = alone.point_data[f"{name}_prediction"]
            own = found[f"{name}_prediction"][row].reshape(part.shape)
            assert np.allclose(own, part, atol=2e-5 * np.abs(part).max())


def test_derivatives_are_those_of_differences(predictor):
    mesh = blown(3)

    def value(wind):
        own = mesh.with_field_data("wind", wind, "replace")
        return sensitivity(predictor, own, "mean:flow_y", ["heat"], dtype=torch.float64).value

    found = sensitivity(predictor, mesh, "mean:flow_y", ["wind_x"], dtype=torch.float64).numbers["wind_x"]
    held, step = mesh.field_data["wind"], np.array([1e-5, 0.0])
    assert found == pytest.approx((value(held + step) - value(held - step)) / 2e-5, rel=1e-4)


def test_no_program_turns_meshes(predictor, tmp_path):
    with pytest.raises(ValueError, match=r"without scaling.frame .* turns every mesh along 'wind'\)"):
        export_model(predictor.path, tmp_path / "program.pt2")


def test_losses_in_scaled_units_are_in_the_frame(root, tmp_path):
    changes = ["training.loss=huber", 'training.augment=["turn"]', "training.query_points=9"]
    predictor = load(train(configured(root, *changes), tmp_path / "out").checkpoint)
    module = predictor.module

    def known(mesh):
        table = predictor.table
        pos = table.centred(mesh, {table.input_place, *table.output_places})[0]
        return predictor.transform(table.sample(pos, table.read(mesh), table.read_targets(mesh)))

    errors = [module._error(known(blown(3, turn))) for turn in (0.0, 1.1)]
    assert torch.allclose(*errors, rtol=1e-3) and float(errors[0].min()) > 0


def test_samples_on_one_mesh(tmp_path):
    first = blown(0)
    for number in range(6):
        mesh = blown(number, points=30)
        own = replace(mesh, points=first.points, cells=first.cells, point_data={})
        along = (first.points - 0.5) @ mesh.field_data["wind"]
        own = own.with_point_data("heat", first.points[:, 0]).with_point_data("rise", along)
        write_mesh(
            tmp_path / "cases" / f"case_{number}.vtu", own.with_point_data("flow", first.points * along[:, None])
        )
    config = small_run(tmp_path, "cases/*.vtu", INPUTS, TARGETS, *CHANGES, "training.query_points=9")
    predictor = load(train(config, tmp_path / "out").checkpoint)
    wind = np.array([0.3, -1.0])
    mesh = own.with_field_data("wind", wind, "replace")
    rise = predictor.predict_mesh(mesh).point_data["rise_prediction"]
    other = predictor.predict_mesh(mesh.with_field_data("wind", -wind, "replace")).point_data["rise_prediction"]
    assert np.isfinite(rise).all() and not np.allclose(rise, other)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (["scaling.frame=heat"], r"2 components, of which there are wind \(got 'heat'\)"),
        (['scaling.log=["flow"]'], r"no vector or tensor in scaling.log \(got 'flow'\) with scaling.frame"),
        (['data.meshes.geometry=["coordinates"]'], r"no geometry input 'coordinates' where meshes are turned"),
        (["model.name=fno", "model.fno.cells=[4,4]", "model.fno.modes=1"], r"do not depend on the direction"),
    ],
)
def test_what_is_refused(root, changes, message):
    with pytest.raises((ValueError, ConfigError), match=message):
        dry_run(configured(root, *changes))


def test_what_a_configuration_refuses(root):
    with pytest.raises(ConfigError, match=r"no scaling.frame with model.name = 'pod'"):
        configured(root, "model.name=pod")
    with pytest.raises(ConfigError, match=r"training.augment or scaling.frame with training.augment_as"):
        configured(root, "training.augment_as.flow=vector", "scaling.frame=''")


def test_a_mesh_without_a_direction_is_refused_by_name(root, tmp_path):
    config = configured(root)
    predictor = load(train(config, tmp_path / "out").checkpoint)
    write_mesh(tmp_path / "calm.vtu", blown(3).with_field_data("wind", np.zeros(2), "replace"))
    with pytest.raises(ValueError, match=r"calm.vtu: Expected a vector 'wind' that is not zero"):
        predictor.predict_mesh(read_mesh(tmp_path / "calm.vtu"))
    with pytest.raises(ValueError, match=r"sample 1: Expected a vector 'wind' that is not zero"):
        predictor.predict_many(blown(3), {"wind_x": [1.0, 0.0], "wind_y": [0.0, 0.0]})
    files = [str(path) for path in sorted((root / "cases").glob("*.vtu"))] + [str(tmp_path / "calm.vtu")]
    for place in ("train", "test"):
        parts = {"train": files[:5], "validation": files[5:6], "test": files[6:8]}
        parts[place] = [*parts[place], files[-1]]
        split = [f"data.meshes.{part}={json.dumps(names)}" for part, names in parts.items()]
        with pytest.raises(ValueError, match=r"calm.vtu: Expected a vector 'wind' that is not zero"):
            train(configured(root, *split, f"data.meshes.files={json.dumps(files)}"), tmp_path / place)
