"""Many values of the numbers of one mesh: what single predictions give, number by number."""

import logging
from dataclasses import replace

import numpy as np
import pytest
import torch

from pitgeo import load
from pitgeo.data.fields.numbers import numbers
from pitgeo.data.reference_quantities import ReferenceQuantities
from pitgeo.mesh import Mesh, write_mesh
from pitgeo.prediction import many
from pitgeo.prediction.ensemble import Ensemble
from pitgeo.prediction.response import Response
from pitgeo.prediction.study import MeshStudy
from pitgeo.workflows.run import train
from tests.pictures import without_pictures
from tests.plates import plate, write_plates
from tests.small_runs import small_run

INPUTS = ["load", "wind", "kind", "load@left", "material"]
TARGETS = ["v", "q", "peak"]


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    root = tmp_path_factory.mktemp("many")
    write_plates(root)
    return root


@pytest.fixture(scope="module", params=["pit", "mlp", "transolver", "residual of pod"])
def predictor(request, cases):
    changes = ['data.meshes.categories=["kind"]', 'scaling.log=["load"]']
    files, targets = "cases/*.vtu", TARGETS
    if request.param in ("mlp", "transolver"):
        changes.append(f'model.name="{request.param}"')
        targets = ["v", "peak"]
    if request.param == "residual of pod":
        changes.append('model.pit.residual_of="pod"')
        files, targets = "one/*.vtu", ["v"]
        for number in range(8):
            mesh, others = plate(3), plate(number)
            mesh = mesh.with_point_data("v", mesh.point_data["v"] * others.field_data["load"], "replace")
            write_mesh(cases / "one" / f"case_{number}.vtu", replace(mesh, field_data=others.field_data))
    with without_pictures():
        done = train(small_run(cases, files, INPUTS, targets, *changes), cases / request.param)
    return load(done.checkpoint)


VALUES = {
    "load": np.array([1.0, 1.5, 1.2, 1.7]),
    "wind_y": np.array([0.0, -1.0, -2.0, -3.0]),
    "kind": np.array([3, 4, 4, 3]),
}


def one_by_one(predictor, mesh, values, parameters=None):
    """The slow twin: a mesh for every value."""
    results = []
    for row in range(len(next(iter(values.values())))):
        wind = mesh.field_data["wind"].copy()
        wind[1] = values["wind_y"][row]
        own = mesh.with_field_data("wind", wind, "replace")
        for name in ("load", "kind"):
            own = own.with_field_data(name, np.array([values[name][row]]), "replace")
        results.append(predictor.predict_mesh(own, parameters))
    return results


def assert_same(found, meshes, names):
    assert set(found) == {f"{name}_prediction" for name in names}
    for row, mesh in enumerate(meshes):
        places = {**mesh.point_data, **mesh.field_data}
        places |= {name: np.concatenate(blocks) for name, blocks in mesh.cell_data.items()}
        for name in names:
            own = found[f"{name}_prediction"][row]
            expected = places[f"{name}_prediction"].reshape(len(own), -1)[:, : own.shape[1]]
            assert np.allclose(own, expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max())


def test_many_predictions_are_those_one_after_another(predictor):
    mesh = plate(3)
    found = predictor.predict_many(mesh, VALUES)
    assert_same(found, one_by_one(predictor, mesh, VALUES), [field.name for field in predictor.table.targets])
    assert not np.allclose(found["v_prediction"][0], found["v_prediction"][1])


def test_some_at_a_time_and_in_parts_is_the_same(predictor, monkeypatch):
    mesh, seen = plate(3), []
    whole = predictor.predict_many(mesh, VALUES)
    monkeypatch.setattr(many, "CHUNK", 70)
    parts = predictor.predict_many(mesh, VALUES, progress=lambda rows: (seen.append(rows), rows)[1])
    assert len(seen[0]) > 1
    monkeypatch.setattr(predictor, "chunk", 20)
    in_parts = predictor.predict_many(mesh, VALUES)
    for name, values in whole.items():
        size = np.abs(values).max()
        assert np.allclose(parts[name], values, atol=1e-5 * size) and np.allclose(
            in_parts[name], values, atol=1e-4 * size
        )


def test_numbers_that_the_mesh_lacks(predictor):
    mesh = plate(3)
    bare = Mesh(mesh.points, mesh.cells, mesh.point_data, mesh.cell_data, {"kind": mesh.field_data["kind"]})
    values = {"load": [1.1, 1.2], "wind_x": [2.0, 2.0], "wind_y": [-1.0, -2.0]}
    found = predictor.predict_many(bare, values)
    same = predictor.predict_many(plate(3), values)
    for name, part in found.items():
        assert np.array_equal(part, same[name])
    without = Mesh(mesh.points, mesh.cells, mesh.point_data, mesh.cell_data, {"wind": mesh.field_data["wind"]})
    given = predictor.predict_many(without, {"load": [1.1, 1.2]}, {"kind": 4.0})
    again = predictor.predict_many(plate(3), {"load": [1.1, 1.2], "kind": [4, 4]})
    assert np.allclose(given["v_prediction"], again["v_prediction"], rtol=1e-5)
    with pytest.raises(ValueError, match="Expected a number 'wind' of the whole mesh"):
        predictor.predict_many(bare, {"load": [1.1], "wind_y": [0.0]})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"lod": [1.0]}, "the model takes .*'lod'.*did you mean 'load'"),
        ({"wind": [1.0]}, "give its components, wind_x, wind_y"),
        ({"load": [1.0, 2.0], "kind": [3]}, "all of one length"),
        ({"load": []}, "all of one length .got load: 0 of them"),
        ({"load": 1.1}, "all of one length .got load: a single number"),
        ({"load": ["a"]}, "Expected numbers as values of 'load' .got .'a'"),
        ({}, "at least one number"),
        ({"load": [1.0, float("nan")]}, "finite values of 'load'.*nan as value 1"),
        ({"load": [1e39]}, "single precision"),
        ({"kind": [3, 5]}, "categories of the training files, .3, 4. .got .5.0"),
        ({"load": [1.0, -1.0]}, "positive values of 'load', whose logarithm"),
    ],
)
def test_what_cannot_be_varied(predictor, values, message):
    with pytest.raises(ValueError, match=message):
        predictor.predict_many(plate(3), values)


def test_values_outside_the_training_range_are_counted(predictor, caplog):
    with caplog.at_level(logging.WARNING):
        predictor.predict_many(plate(3), {"load": [1.2, 9.0, 8.0]})
    assert "2 of 3 values of 'load' lie outside of the 1" in caplog.text
    assert "'load' runs from" not in caplog.text


def test_members_of_an_ensemble_give_mean_and_spread(cases):
    members = []
    for seed in range(2):
        changes = ['data.meshes.categories=["kind"]', f"training.seed={seed}"]
        with without_pictures():
            done = train(small_run(cases, "cases/*.vtu", INPUTS, TARGETS, *changes), cases / f"member_{seed}")
        members.append(load(done.checkpoint))
    ensemble, mesh = Ensemble(members), plate(2)
    found = ensemble.predict_many(mesh, VALUES)
    assert set(found) == {f"{name}_{ending}" for name in TARGETS for ending in ("prediction", "spread")}
    own = [member.predict_many(mesh, VALUES)["q_prediction"].astype(np.float64) for member in members]
    assert np.allclose(found["q_prediction"], np.mean(own, 0), rtol=1e-5)
    assert np.allclose(found["q_spread"], np.std(own, 0, ddof=1), rtol=1e-3, atol=1e-6)


def test_categories_have_no_values_in_between(predictor):
    with pytest.raises(ValueError, match="values in between"):
        Response(predictor, plate(1), {"kind": 3.0}, ["mean:v_x"])


def test_input_values_are_differentiable(predictor):
    study = MeshStudy(predictor.table, plate(1), {"load": [1.3], "wind_x": [0.7]})
    given = torch.tensor([[1.3, 0.7]], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(study.input_values, given)
    assert torch.equal(study.input_values(given)[0].float(), study.sample.x)


@pytest.mark.parametrize("values", [{"load": [1.3, -0.4], "wind_x": [0.7, 2.0]}, {"wind_y": [1.0, -3.0]}])
def test_references_are_those_of_the_whole_mesh_at_one_point(predictor, values):
    references = ReferenceQuantities({"v": "load + norm(wind) + 3", "wind": "norm(wind)"}, predictor.table)
    study = MeshStudy(predictor.table, plate(1), values)
    assert study.numbers_alone().shape == (2, 1, study.sample.x.shape[1])
    whole, alone = (
        references.sizes(many.with_inputs(study.sample, x)) for x in (study.batch(slice(2)), study.numbers_alone())
    )
    assert torch.equal(whole.inputs, alone.inputs) and torch.equal(whole.targets, alone.targets)
    assert (whole.targets[0] != whole.targets[1]).any()


def test_the_numbers_of_a_model(predictor):
    found = numbers(predictor.table)
    assert list(found) == ["load", "wind_x", "wind_y", "kind"] and len(found["load"].fields) == 2
