"""A linear problem, whose fields go with load, length and modulus: predictions scale exactly, beyond the training."""

from __future__ import annotations

import json
import logging
from dataclasses import replace

import meshio
import numpy as np
import pytest
import torch

from pitgeo import load
from pitgeo.config.config import ConfigError, load_config, to_toml
from pitgeo.mesh import read_mesh, write_mesh
from pitgeo.prediction import many
from pitgeo.prediction.derivatives import sensitivity
from pitgeo.prediction.export import export_model, program_inputs
from pitgeo.prediction.files import predict_files
from pitgeo.prediction.predictor import load_ensemble
from pitgeo.prediction.study import MeshStudy
from pitgeo.workflows.choose import choose
from pitgeo.workflows.designs import Varied
from pitgeo.workflows.optimise import optimise
from pitgeo.workflows.run import dry_run, train
from pitgeo.workflows.train_ensemble import train_ensemble
from tests.datasets.folder.conftest import small_mesh
from tests.small_runs import small_run

pytestmark = pytest.mark.usefixtures("no_pictures")
INPUTS, TARGETS = ["traction", "young", "length", "material"], ["v", "q", "peak"]
SIZE = "norm(traction) * length / young"
REFERENCE = {"v": SIZE, "peak": SIZE, "q": "norm(traction)", "traction": "norm(traction)", "young": "young"}
REFERENCE["length"] = "length"


def solid(number, times=1.0, modulus=1.0):
    """A mesh with u = |t| L / E f(x), and a stress that goes with the load alone."""
    rng = np.random.default_rng(number)
    mesh = small_mesh(number)
    angle, young, length = rng.random() * 6, modulus * 1e9 * (1 + rng.random()), 0.1 + rng.random()
    traction = times * 1e6 * (1 + rng.random()) * np.array([np.cos(angle), np.sin(angle)])
    size = np.linalg.norm(traction)
    v = size * length / young * (1 + mesh.points + np.cos(angle))
    numbers = {"traction": traction, "young": np.array([young]), "length": np.array([length])}
    numbers["peak"] = np.array([np.abs(v).max()])
    q = size * (2 + mesh.cell_data["q"][0] / mesh.field_data["load"])
    return replace(mesh, point_data={**mesh.point_data, "v": v}, cell_data={"q": (q,)}, field_data=numbers)


def settings(**reference):
    return [f"scaling.reference.{name}={text}" for name, text in {**REFERENCE, **reference}.items()]


def written(root, *, shared=False):
    for number in range(8):
        mesh = solid(number)
        if shared:
            mesh = replace(mesh, points=solid(0).points, cells=solid(0).cells, point_data={}, cell_data={})
            angle = mesh.points @ mesh.field_data["traction"]
            mesh = mesh.with_point_data("v", np.stack([angle, 2 * angle], 1) / mesh.field_data["young"])
        write_mesh(root / "cases" / f"case_{number}.vtu", mesh)
    return root


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return written(tmp_path_factory.mktemp("references"))


@pytest.fixture(scope="module")
def predictor(root):
    config = small_run(root, "cases/*.vtu", INPUTS, TARGETS, *settings())
    return load(train(config, root / "out").checkpoint)


def fields(mesh):
    return [
        mesh.point_data["v_prediction"],
        mesh.cell_data["q_prediction"][0],
        mesh.field_data["peak_prediction"],
    ]


def test_ten_times_the_load_gives_ten_times_the_fields(predictor, caplog):
    caplog.set_level(logging.WARNING)
    once, loaded, stiff = (predictor.predict_mesh(solid(3, *by)) for by in ((), (1000.0,), (1.0, 50.0)))
    for own, more in zip(fields(once), fields(loaded), strict=True):
        assert np.abs(own).max() > 0
        assert np.allclose(more, 1000 * own, rtol=2e-6, atol=1e-6 * np.abs(more).max())
    assert np.allclose(fields(stiff)[0], fields(once)[0] / 50, rtol=2e-6, atol=1e-8 * np.abs(fields(once)[0]).max())
    assert np.allclose(fields(stiff)[1], fields(once)[1], rtol=2e-6)
    assert np.allclose(loaded.point_data["v_error"], 1000 * once.point_data["v_error"], rtol=1e-4)
    assert predictor.trust(solid(3, 1000.0)).status == predictor.trust(solid(3)).status
    assert not [line for line in caplog.messages if "outside" in line]


def test_what_leaves_the_training_range_is_what_the_model_sees(root, caplog):
    config = small_run(root, "cases/*.vtu", INPUTS, ["v"], *settings()[:1], "scaling.reference.young=young")
    other = load(train(config, root / "part").checkpoint)
    caplog.clear()
    caplog.set_level(logging.WARNING)
    other.predict_mesh(solid(3, 1.0, 50.0))
    assert not caplog.messages
    other.predict_mesh(solid(3, 1000.0))
    assert any("'traction' is" in line or "'traction' runs" in line for line in caplog.messages)
    caplog.clear()
    other.predict_many(solid(3), {"young": [1e9, 9e12]})
    assert not caplog.messages
    other.predict_many(solid(3), {"traction_x": [1e6, 1e9]})
    assert any("1 of 2 values of 'traction_x'" in line for line in caplog.messages)


def test_inputs_divided_by_what_varies_are_compared_in_every_prediction(root, caplog):
    names = ["young", "length", "traction"]
    changes = ["scaling.reference.length=young", "scaling.reference.young=young", 'data.meshes.geometry=["cell_size"]']
    changes += ["scaling.reference.cell_size=young"]
    other = load(train(small_run(root, "cases/*.vtu", names, ["v"], *changes), root / "divided").checkpoint)
    mesh = solid(3)
    young = float(mesh.field_data["young"][0])
    caplog.clear()
    caplog.set_level(logging.WARNING)
    other.predict_many(mesh, {"young": [young, 1.0001 * young]})
    assert not caplog.messages
    for values in ([young, young / 1e5, young / 2e5], [young / 1e5, young / 2e5, young]):
        other.predict_many(mesh, {"young": values})
        assert [line.partition(" lie")[0].partition(": ")[2] for line in caplog.messages] == [
            "2 of 3 values of 'length'",
            "2 of 3 values of 'cell_size'",
        ]
        caplog.clear()


def test_nothing_of_an_earlier_prediction_stays(predictor):
    mesh = solid(3)
    earlier = {
        f"v_{name}": np.full_like(mesh.points, 7) for name in ("prediction", "error", "spread", "bound", "other")
    }
    kept = {name: values for name, values in mesh.point_data.items() if name != "v"}
    old = replace(mesh, point_data={**kept, **earlier}).with_field_data("v_peak_bound", np.array([7.0]))
    found = predictor.predict_mesh(old.with_cell_data("q_bound", np.full(mesh.number_of_cells, 7.0)))
    assert {name for name in found.point_data if name.startswith("v_")} == {"v_prediction", "v_other"}
    assert "v_peak_bound" not in found.field_data and "q_bound" not in found.cell_data
    assert not (found.point_data["v_prediction"] == 7).any()


def test_errors_and_bounds_are_in_units(predictor, root):
    found = predictor.evaluate([solid(3), solid(3, 1000.0)])
    small, large = (case["errors"]["v"] for case in found["cases"])
    assert large["rmse"] == pytest.approx(1000 * small["rmse"], rel=1e-4)
    assert large["relative_l2"] == pytest.approx(small["relative_l2"], rel=1e-4)
    mesh = solid(3)
    truth, predicted = mesh.point_data["v"], predictor.predict_mesh(mesh).point_data["v_prediction"]
    assert small["rmse"] == pytest.approx(np.sqrt(((truth - predicted) ** 2).sum(1).mean()), rel=1e-4)
    stored = json.loads((root / "out" / "evaluation.json").read_text())
    counts = {status: stored["training_set"][status] for status in ("inside", "edge", "outside")}
    names = predictor.facts["split"]["test"]
    judged = [predictor.trust(read_mesh(name)).status for name in names]
    assert counts == {status: judged.count(status) for status in counts}
    again = predictor.evaluate(list(names))
    assert stored["errors"]["v"]["rmse"]["pooled"] == pytest.approx(again["errors"]["v"]["rmse"]["pooled"], rel=1e-5)


def test_many_values_are_those_one_after_another(predictor):
    mesh, values = solid(3), {"traction_x": [1e6, -5e6, 3e8], "young": [1e9, 3e9, 2e10]}
    found = predictor.predict_many(mesh, values)
    for row, (pull, young) in enumerate(zip(*values.values(), strict=True)):
        own = mesh.with_field_data("young", np.array([young]), "replace")
        traction = np.array([pull, mesh.field_data["traction"][1]])
        alone = predictor.predict_mesh(own.with_field_data("traction", traction, "replace"))
        for name, part in zip(TARGETS, fields(alone), strict=True):
            part = part.reshape(found[f"{name}_prediction"][row].shape)
            assert np.allclose(found[f"{name}_prediction"][row], part, rtol=1e-5, atol=1e-5 * np.abs(part).max())


def test_input_values_of_a_sweep_are_made_once(predictor, monkeypatch):
    made, real = [], MeshStudy.input_values
    monkeypatch.setattr(MeshStudy, "input_values", lambda own, values: made.append(len(values)) or real(own, values))
    monkeypatch.setattr(many, "CHUNK", 2 * len(solid(3).points))
    predictor.predict_many(solid(3), {"young": np.linspace(1e9, 2e9, 5)})
    assert sum(made) == 5 and len(made) > 1


def test_derivatives_are_those_of_differences(predictor):
    mesh = solid(3)

    def value(own):
        return sensitivity(predictor, own, "mean:v_x", ["young"], dtype=torch.float64).value

    found = sensitivity(predictor, mesh, "mean:v_x", ["traction_x", "young", "length"], dtype=torch.float64).numbers
    for name, slope in found.items():
        field = name.removesuffix("_x")
        held = mesh.field_data[field]
        step = 1e-5 * np.abs(held).max()
        move = step * np.eye(len(held))[0]
        ends = [value(mesh.with_field_data(field, held + sign * move, "replace")) for sign in (1, -1)]
        assert slope == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-4)
    young = mesh.field_data["young"].item()
    assert found["young"] == pytest.approx(-value(mesh) / young, rel=1e-6)  # by the formula alone


def test_the_optimum(predictor):
    mesh = solid(3)
    varied = [Varied.parse("young=1e9:5e9"), Varied.parse("length=0.1:0.5")]
    found = optimise(predictor, mesh, "peak:q", varied, ["young>=2e9"], samples=4)
    assert found.is_feasible
    best = optimise(predictor, mesh, "peak:v", varied, samples=4)
    assert best.values == pytest.approx({"young": 5e9, "length": 0.1}, rel=1e-3)


def test_zero_is_refused_by_the_file_and_the_field(predictor, root, tmp_path):
    mesh = solid(3).with_field_data("traction", np.zeros(2), "replace")
    path = tmp_path / "rest.vtu"
    write_mesh(path, mesh)
    message = r"rest.vtu: Expected a positive, finite reference 'norm\(traction\)[^']*' of '[a-z]+' \(got 0\)"
    with pytest.raises(ValueError, match=message):
        predictor.predict_mesh(read_mesh(path))
    with pytest.raises(ValueError, match=message):
        sensitivity(predictor, read_mesh(path), "mean:v_x", ["young"])
    with pytest.raises(ValueError, match=r"rest.vtu: Expected a positive, finite reference .* of 'v' \(got inf\)"):
        predictor.predict_many(read_mesh(path), {"traction_x": [1.0, 2.0], "young": [1.0, 0.0]})
    for place in ("train", "test"):
        cases = [str(file) for file in sorted((root / "cases").glob("*.vtu"))]
        parts = {"train": cases[:5], "validation": cases[5:6], "test": cases[6:]}
        parts[place] = [*parts[place], str(path)]
        split = [f"data.meshes.{part}={json.dumps(names)}" for part, names in parts.items()]
        files = json.dumps([*cases, str(path)])
        config = small_run(root, "cases/*.vtu", INPUTS, TARGETS, *settings(), *split, f"data.meshes.files={files}")
        with pytest.raises(ValueError, match=message):
            train(config, tmp_path / place)


def test_a_program_contains_the_reference(root, tmp_path):
    config = small_run(root, "cases/*.vtu", INPUTS, ["v", "peak"], *settings()[:2], *settings()[3:])
    predictor = load(train(config, tmp_path / "out").checkpoint)
    export_model(predictor.path, tmp_path / "program.pt2")
    program = torch.export.load(tmp_path / "program.pt2").module()
    for mesh in (solid(3), solid(4, 1000.0)):
        sample = predictor.sample(mesh, None)
        found, expected = program(**program_inputs(predictor, sample)).numpy(), predictor.predict(sample).numpy()
        assert np.allclose(found, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())


def test_on_one_mesh_with_all_scalings_and_a_control(tmp_path):
    written(tmp_path, shared=True)
    changes = [f"scaling.reference.v={SIZE}", "scaling.targets=point", "scaling.reference.traction=norm(traction)"]
    names = ["traction", "young", "length"]
    config = small_run(tmp_path, "cases/*.vtu", names, ["v"], *changes, "scaling.reference.young=young")
    predictor = load(train(config, tmp_path / "out").checkpoint)
    mesh = read_mesh(tmp_path / "cases" / "case_3.vtu")
    more = mesh.with_field_data("traction", 1000 * mesh.field_data["traction"], "replace")
    own, found = (predictor.predict_mesh(one).point_data["v_prediction"] for one in (mesh, more))
    assert np.allclose(found, 1000 * own, rtol=1e-5, atol=1e-6 * np.abs(found).max())
    changes = ["model.pit.residual_of=pod", "scaling.targets=channel"]
    config = small_run(tmp_path, "cases/*.vtu", names, ["v"], f"scaling.reference.v={SIZE}", *changes)
    predictor = load(train(config, tmp_path / "residual").checkpoint)
    assert np.isfinite(predictor.predict_mesh(mesh).point_data["v_prediction"]).all()


def test_an_ensemble_and_bounds(root):
    config = small_run(root, "cases/*.vtu", INPUTS, TARGETS, *settings(), "data.meshes.validation=2")
    train_ensemble(config, root / "ensemble", 2)
    predictor = load_ensemble(root / "ensemble" / "ensemble.json")
    once, loaded = (predictor.predict_mesh(solid(3, *by)) for by in ((), (1000.0,)))
    for name in ("v_prediction", "v_spread"):
        assert np.allclose(loaded.point_data[name], 1000 * once.point_data[name], rtol=1e-4, atol=1e-9)
    predictor.calibrate([solid(number) for number in range(20, 32)])
    bounds = [predictor.predict_mesh(solid(3, *by)).point_data["v_bound"] for by in ((), (1000.0,))]
    assert np.allclose(bounds[1], 1000 * bounds[0], rtol=0.05)  # but for a thousandth of the typical size


def test_a_configuration_survives_its_file(tmp_path, root):
    config = small_run(root, "cases/*.vtu", INPUTS, TARGETS, *settings())
    (tmp_path / "run.toml").write_text(to_toml(config))
    assert load_config(tmp_path / "run.toml") == config
    quoted = config.model_copy(
        update={"scaling": config.scaling.model_copy(update={"reference": {"a b.c": "'E 2' * \"x\""}})}
    )
    (tmp_path / "quoted.toml").write_text(to_toml(quoted))
    assert load_config(tmp_path / "quoted.toml") == quoted


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (["scaling.reference.v=norm(traction"], r"scaling.reference: expected a formula .*was never closed"),
        (["scaling.reference.v=2 * eval(young)"], r"expected a formula .*got 'eval\(young\)'"),
        (["scaling.reference.v=young", "model.name=pod"], r"no scaling.reference with model.name = 'pod'"),
    ],
)
def test_what_a_configuration_refuses(root, changes, message):
    with pytest.raises(ConfigError, match=message):
        small_run(root, "cases/*.vtu", INPUTS, TARGETS, *changes)


def test_starting_from_a_run_with_another_reference_is_refused(root, predictor, tmp_path):
    start = f"training.start_from={predictor.path}"
    config = small_run(root, "cases/*.vtu", INPUTS, TARGETS, *settings(young="2 * young"), start)
    with pytest.raises(ValueError, match=r"scaling.reference.young = 'young', as in .* \(got '2 \* young'\)"):
        train(config, tmp_path / "other")
    train(small_run(root, "cases/*.vtu", INPUTS, TARGETS, *settings(), start), tmp_path / "same")


def test_series_of_states(tmp_path):
    """The state is an input and a target; both are divided."""
    meshes = solid(0), solid(1), solid(2)
    for number, mesh in enumerate(meshes):
        for step in range(4):
            v = mesh.point_data["v"] * 0.8**step
            write_mesh(tmp_path / "cases" / f"case{number}_{step}.vtu", mesh.with_point_data("v", v, "replace"))
    changes = ["data.meshes.series={case}_{step}.vtu", f"scaling.reference.v={SIZE}"]
    changes += [*settings()[3:], "data.meshes.validation=0", "data.meshes.test=1"]
    config = small_run(tmp_path, "cases/*.vtu", ["traction", "young", "length"], ["v"], *changes)
    predictor = load(train(config, tmp_path / "out").checkpoint)
    once, more = (predictor.sample(mesh, None) for mesh in (solid(0), scaled(solid(0))))
    for steps in (1, 3):
        own, found = (predictor.predict(sample, steps) for sample in (once, more))
        assert np.allclose(found, 50 * own, rtol=1e-4, atol=1e-5 * float(found.abs().max()))
    assert predictor.module.input_scaling.std[-2:].tolist() != [1.0, 1.0]


def scaled(mesh):
    """The same state under 50 times the load."""
    mesh = mesh.with_field_data("traction", 50 * mesh.field_data["traction"], "replace")
    return mesh.with_point_data("v", 50 * mesh.point_data["v"], "replace")


def test_other_loads_of_a_mesh_in_the_training_set_are_not_chosen(predictor):
    trained = [int(name.removesuffix(".vtu")[-1]) for name in predictor.facts["split"]["train"]]
    loads = [solid(number, 1000.0, 7.0) for number in trained]
    chosen = choose(predictor, [*loads, solid(40)], 1)
    assert [one.place for one in chosen] == [len(loads)] and chosen[0].distance > 1
    with pytest.raises(ValueError, match=r"got 0 among 5"):
        choose(predictor, loads, 1)


def test_a_dry_run_finds_unknown_names(root):
    for change, message in (
        ("scaling.reference.v=heft", "got 'heft' in 'heft'"),
        ('training.augment=["turn_z"]', "symmetries in 2D"),
        ("training.field_weights.w=1.0", "field_weights to name targets"),
    ):
        with pytest.raises(ValueError, match=message):
            dry_run(small_run(root, "cases/*.vtu", INPUTS, TARGETS, change))


def test_a_copy_of_a_file_with_an_earlier_bound_is_refused(tmp_path):
    pytest.importorskip("netCDF4")
    for number in range(6):
        own = solid(number)
        points = np.insert(own.points, 2, 0.0, axis=1)
        data = {"k": own.points[:, 0], "v": own.points[:, 1] + 1}
        data |= {"v_bound": data["k"]} if number == 5 else {}
        (tmp_path / "cases").mkdir(exist_ok=True)
        cells = [("triangle", own.cells[0][1])]
        meshio.Mesh(points, cells, data).write(tmp_path / "cases" / f"case_{number}.e")
    checkpoint = train(small_run(tmp_path, "cases/*.e", ["k"], ["v"]), tmp_path / "out").checkpoint
    with pytest.raises(ValueError, match=r"an earlier prediction .*keeps all .*got v_bound"):
        predict_files(checkpoint, [tmp_path / "cases" / "case_5.e"], tmp_path / "new")
    assert not (tmp_path / "new").exists()
    assert predict_files(checkpoint, [tmp_path / "cases" / "case_4.e"], tmp_path / "new")
