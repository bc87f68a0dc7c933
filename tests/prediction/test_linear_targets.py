"""Runs whose targets are linear in a load, or follow from others: exact beyond the training, wherever they are used."""

from __future__ import annotations

import logging
import signal
from dataclasses import replace

import numpy as np
import pytest
import torch

from pitgeo import load
from pitgeo.config.config import ConfigError, load_config, to_toml
from pitgeo.mesh import write_mesh
from pitgeo.prediction.derivatives import sensitivity
from pitgeo.prediction.export import export_model, program_inputs
from pitgeo.training import InterruptionError, fit, read_checkpoint
from pitgeo.workflows.run import new_module, train
from pitgeo.workflows.run_data import read_data
from tests.datasets.folder.conftest import small_mesh
from tests.small_runs import small_run
from tests.trained import At, send

pytestmark = pytest.mark.usefixtures("no_pictures")
INPUTS, TARGETS = ["traction", "young"], ["v", "stress", "von_mises", "reaction"]
SETTINGS = (
    'scaling.linear_in=["traction"]',
    "scaling.derived.von_mises=von_mises(stress)",
    "scaling.reference.v=1 / young",
    'training.augment=["mirror_x"]',
    'training.augment_as={stress="tensor"}',
)


def solid(number, times=1.0, turned=False):
    """A mesh whose displacement and stress are linear in the load, of sizes that differ by decades."""
    rng = np.random.default_rng(number)
    mesh, young = small_mesh(number), 1e9 * (1 + rng.random())
    angle = rng.random() * 6 + np.pi * turned
    traction = times * 1e6 * (1 + rng.random()) * np.array([np.cos(angle), np.sin(angle)])
    place, soft = mesh.points, 10 ** (4 * rng.random() - 2)
    v = soft / young * (place * traction + place[:, ::-1] * traction[::-1])
    stress = np.outer(place @ traction, np.arange(1.0, 7)) + traction[0]
    numbers = {"traction": traction, "young": np.array([young]), "reaction": -0.5 * traction}
    parts = (stress[:, :3] - stress[:, [1, 2, 0]]) ** 2
    mises = np.sqrt(parts.sum(1) / 2 + 3 * (stress[:, 3:] ** 2).sum(1))
    fields = {"v": v, "stress": stress, "von_mises": mises}
    return replace(mesh, point_data={**mesh.point_data, **fields}, field_data=numbers)


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    folder = tmp_path_factory.mktemp("linear")
    for number in range(8):
        write_mesh(folder / "cases" / f"case_{number}.vtu", solid(number))
    return folder


def configured(root, *changes):
    return small_run(root, "cases/*.vtu", INPUTS, TARGETS, *SETTINGS, *changes)


@pytest.fixture(scope="module")
def predictor(root):
    return load(train(configured(root), root / "out").checkpoint)


def fields(mesh):
    found = {name: mesh.point_data[f"{name}_prediction"] for name in TARGETS[:3]}
    return {**found, "reaction": mesh.field_data["reaction_prediction"]}


def test_loads_are_superposed_and_stress_gives_von_mises(predictor, caplog):
    caplog.set_level(logging.WARNING)
    mesh = solid(3)
    units = [fields(predictor.predict_mesh(mesh.with_field_data("traction", axis, "replace"))) for axis in np.eye(2)]
    for load_ in (mesh.field_data["traction"], 1e9 * np.array([3.0, -1.0])):
        found = fields(predictor.predict_mesh(mesh.with_field_data("traction", load_, "replace")))
        for name in ("v", "stress", "reaction"):
            expected = load_[0] * units[0][name] + load_[1] * units[1][name]
            assert np.allclose(found[name], expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max())
        stress = found["stress"].astype(float)
        mises = ((stress[:, :3] - stress[:, [1, 2, 0]]) ** 2).sum(1) / 2 + 3 * (stress[:, 3:] ** 2).sum(1)
        assert np.allclose(found["von_mises"], np.sqrt(mises), rtol=1e-4)
    assert not [line for line in caplog.messages if "traction" in line]
    assert predictor.trust(solid(3, 1000.0)).status == predictor.trust(solid(3)).status
    rest = fields(predictor.predict_mesh(mesh.with_field_data("traction", np.zeros(2), "replace")))
    assert all((values == 0).all() for values in rest.values())


def test_a_new_model_has_the_sizes_of_the_training_set(predictor, root):
    """The responses are of the size that a load of 1 has; here the stored sizes are those of the files."""
    meshes = [solid(int(name.removesuffix(".vtu")[-1])) for name in predictor.facts["split"]["train"]]
    loads = np.array([mesh.field_data["traction"] for mesh in meshes])
    typical = np.sqrt((loads**2).mean(0))
    response = predictor.module.response
    assert np.allclose(response.loads, typical, rtol=1e-5)
    for number, (name, divisor) in enumerate((("v", "young"), ("stress", None))):
        size = np.array([np.sqrt((mesh.point_data[name] ** 2).mean()) for mesh in meshes])
        size *= 1 if divisor is None else [mesh.field_data[divisor].item() for mesh in meshes]
        logs = np.log(size / np.linalg.norm(loads / typical, axis=1))
        assert float(response.spread[number]) == pytest.approx(logs.std(), rel=1e-4)
        channel = predictor.table.target_labels.index(f"{name}_x" if name == "v" else f"{name}_1")
        assert float(predictor.module.target_scaling.std[channel]) == pytest.approx(np.exp(logs.mean()), rel=1e-4)


def test_many_loads_are_those_one_after_another(predictor):
    mesh, values = solid(3), {"traction_x": [1e6, -5e6, 3e10], "young": [1e9, 1.5e9, 1.2e9]}
    found = predictor.predict_many(mesh, values)
    for row, (pull, young) in enumerate(zip(*values.values(), strict=True)):
        own = mesh.with_field_data("young", np.array([young]), "replace")
        traction = np.array([pull, mesh.field_data["traction"][1]])
        alone = fields(predictor.predict_mesh(own.with_field_data("traction", traction, "replace")))
        for name, part in alone.items():
            part = part.reshape(found[f"{name}_prediction"][row].shape)
            assert np.allclose(found[f"{name}_prediction"][row], part, rtol=1e-4, atol=1e-5 * np.abs(part).max())


def test_only_what_is_no_load_leaves_the_range(predictor, caplog):
    caplog.set_level(logging.WARNING)
    predictor.predict_many(solid(3), {"traction_x": [1e6, 1e12]})
    assert not [line for line in caplog.messages if "values of" in line]
    predictor.predict_many(solid(3), {"young": [1.5e9, 1e12]})
    assert any("1 of 2 values of 'young'" in line for line in caplog.messages)


def test_derivatives_are_those_of_differences(predictor):
    mesh = solid(3)
    for quantity in ("mean:v_x", "mean:von_mises"):
        found = sensitivity(predictor, mesh, quantity, ["traction_x"], dtype=torch.float64).numbers["traction_x"]
        held = mesh.field_data["traction"]
        ends = [
            sensitivity(
                predictor,
                mesh.with_field_data("traction", held * (1, 1) + (move, 0), "replace"),
                quantity,
                ["young"],
                dtype=torch.float64,
            ).value
            for move in (10.0, -10.0)
        ]
        assert found == pytest.approx((ends[0] - ends[1]) / 20, rel=1e-4)


def test_a_program_contains_the_superposition(predictor, tmp_path):
    export_model(predictor.path, tmp_path / "program.pt2")
    program = torch.export.load(tmp_path / "program.pt2").module()
    for mesh in (solid(3), solid(4, 1000.0)):
        sample = predictor.sample(mesh, None)
        found, expected = program(**program_inputs(predictor, sample)).numpy(), predictor.predict(sample).numpy()
        assert np.allclose(found, expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max())


def test_a_resumed_run_is_the_same_to_the_last_bit(root, tmp_path):
    config = configured(root, "training.epochs=2", "training.query_points=7")

    def run(folder, resume=False, callbacks=()):
        data = read_data(config, False)
        fit(new_module(config, data), data.samples, data.held_out, folder, resume, callbacks=callbacks)
        return read_checkpoint(folder / "last.ckpt")["state_dict"]

    straight = run(tmp_path / "straight")
    with pytest.raises(InterruptionError):
        run(tmp_path / "torn", callbacks=(At(2, send(signal.SIGINT)),))
    torn = run(tmp_path / "torn", resume=True)
    assert all(torch.equal(straight[key], torn[key]) for key in straight)
    assert {"response.loads", "response.spread"} <= straight.keys()


def test_a_configuration_survives_its_file(tmp_path, root):
    config = configured(root)
    (tmp_path / "run.toml").write_text(to_toml(config))
    assert load_config(tmp_path / "run.toml") == config


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (["scaling.derived.von_mises=von_mises(stress"], r"scaling.derived: expected a formula .*was never closed"),
        (["model.name=pod"], r"no scaling.(reference|linear_in|derived) with model.name = 'pod'"),
    ],
)
def test_what_a_configuration_refuses(root, changes, message):
    with pytest.raises(ConfigError, match=message):
        configured(root, *changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (['scaling.log=["v"]'], r"with scaling.linear_in \(got 'v' in scaling.log\)"),
        (["scaling.reference.v=norm(traction) / young"], r"got 'traction' in scaling.reference.v\)"),
        (["scaling.reference.young=traction_x"], r"got 'traction_x' in scaling.reference.young\)"),
        (["scaling.targets=none"], r"got scaling.targets = 'none'\)"),
        (['scaling.linear_in=["young", "pull"]'], r"traction, young \(got 'pull'\)"),
    ],
)
def test_what_a_run_refuses_before_it_reads_all(root, tmp_path, changes, message):
    with pytest.raises(ValueError, match=message):
        train(configured(root, *changes), tmp_path / "out")
    assert not [*tmp_path.glob("**/*.ckpt")]
