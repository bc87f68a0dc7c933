"""From what people have in memory to a trained model."""

import json
from pathlib import Path

import meshio
import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from pitgeo import train_surrogate
from pitgeo.config.config import load_config, parse_config
from pitgeo.describe.defaults import DATA, DEFAULTS, REST
from pitgeo.mesh import Mesh
from pitgeo.workflows.surrogate import as_mesh

pytestmark = pytest.mark.usefixtures("no_pictures")
SMALL = ["training.epochs=2", "model.pit.channels=8", "model.pit.heads=2", "model.pit.layers=1"]


def cloud(number):
    place = np.random.default_rng(number).random((30 + number, 3))
    return place, np.array([[0, 1, 2], [1, 2, 3]]), place[:, 0] + 1, place[:, :2]


def test_the_defaults_are_those_of_the_configuration_that_comes_with_it():
    config = load_config(Path(__file__).parents[2] / "configs" / "meshes.toml")
    fields = {name: getattr(config.data.options, name) for name in ("files", "inputs", "targets")}
    own = {**DEFAULTS, "data": {"name": "meshes", "meshes": {**DEFAULTS["data"]["meshes"], **fields}}}
    assert parse_config(own) == config


def test_the_configuration_has_the_text_of_the_defaults():
    text = (Path(__file__).parents[2] / "configs" / "meshes.toml").read_text(encoding="utf-8")
    assert text.endswith(f"{DATA}\n{REST}")


@pytest.mark.parametrize("kind", ["mesh", "meshio", "data", "arrays"])
def test_all_kinds_of_samples_are_one_mesh(kind):
    place, cells, u, w = cloud(0)
    mesh = as_mesh(
        {
            "mesh": Mesh(place, (("triangle", cells),), {"u": u, "w": w}),
            "meshio": meshio.Mesh(place, [("triangle", cells)], point_data={"u": u, "w": w}),
            "data": Data(
                pos=torch.tensor(place),
                face=torch.tensor(cells.T),
                u=torch.tensor(u),
                w=torch.tensor(w),
                edge_index=torch.zeros(2, 3).long(),
            ),
            "arrays": {"points": place, "cells": [("triangle", cells)], "u": u, "w": w.tolist()},
        }[kind]
    )
    assert np.array_equal(mesh.points, place) and np.array_equal(mesh.cells[0][1], cells)
    assert set(mesh.point_data) == {"u", "w"} and np.array_equal(mesh.point_data["w"], w)


def test_training_in_one_call(tmp_path):
    samples = [
        meshio.Mesh(place, [("triangle", cells)], point_data={"u": u, "w": w})
        for place, cells, u, w in map(cloud, range(8))
    ]
    before = [sample.points.copy() for sample in samples]
    model = train_surrogate(samples, ["u"], tmp_path / "run", inputs=["w"], settings=SMALL, progress=False)
    assert all(np.array_equal(a, sample.points) for a, sample in zip(before, samples, strict=True))
    place, cells, u, w = cloud(9)
    found = model.predict_mesh(Mesh(place, (("triangle", cells),), {"w": w, "u": u}))
    assert np.allclose(found.point_data["u_prediction"] - u, found.point_data["u_error"])
    again = model.predict_mesh([{"points": place, "w": w, "cells": {"triangle": cells}}, samples[0]])
    assert np.array_equal(again[0].point_data["u_prediction"], found.point_data["u_prediction"]) and len(again) == 2
    assert (tmp_path / "run" / "report.html").exists() and len(list((tmp_path / "run-meshes").glob("*.vtu"))) == 8
    with pytest.raises(ValueError, match=r"hold no other run .*; choose another folder as 'output'"):
        train_surrogate(samples[:4], ["u"], tmp_path / "run", settings=SMALL, progress=False)
    assert len(list((tmp_path / "run-meshes").glob("*.vtu"))) == 8


@pytest.mark.parametrize(
    ("sample", "message"),
    [
        (3, "got int"),
        ({"pos": np.ones((3, 2))}, "'points' .got the keys"),
        (Data(x=torch.ones(3, 1)), "positions 'pos'"),
        ({"points": np.ones(3)}, "points of shape"),
    ],
)
def test_what_is_no_sample(sample, message):
    with pytest.raises(ValueError, match=message):
        as_mesh(sample)


@pytest.mark.parametrize("rest", [0, 7])
def test_a_sample_at_rest_is_learned_and_measured(rest, tmp_path, caplog):
    caplog.set_level("INFO", "pitgeo")
    places = [cloud(number)[0][:, :2] for number in range(8)]
    loads = [0.0 if number == rest else number + 1.0 for number in range(8)]
    samples = [{"points": p, "load": load, "u": load * p[:, 0]} for p, load in zip(places, loads, strict=True)]
    settings = [*SMALL, "data.meshes.test=['*_00000.vtu', '*_00001.vtu']", "data.meshes.validation=['*_00002.vtu']"]
    model = train_surrogate(samples, ["u"], tmp_path / "run", inputs=["load"], settings=settings, progress=False)
    sizes = [load * np.sqrt((p[:, 0] ** 2).mean()) for p, load in zip(places, loads, strict=True)][3:]
    (typical,) = model.facts["typical"]
    assert typical == pytest.approx(np.median([size for size in sizes if size > 0]), rel=1e-6)
    assert f"sample_0000{rest}.vtu: 'u' is zero throughout" in caplog.text
    result = json.loads((tmp_path / "run" / "evaluation.json").read_text())
    truth = [sample["u"] for sample in samples[:2]]
    found = [
        mesh.point_data["u_prediction"][: len(t)]
        for mesh, t in zip(model.predict_mesh(samples[:2]), truth, strict=True)
    ]
    size = [typical if rest == 0 else np.sqrt((truth[0] ** 2).mean()), np.sqrt((truth[1] ** 2).mean())]
    errors = [np.sqrt(((f - t) ** 2).mean()) / s for f, t, s in zip(found, truth, size, strict=True)]
    relative = result["errors"]["u"]["relative_l2"]
    if rest == 0:  # not defined there; in the loss, it counts by the typical size
        assert relative["mean"] is None and relative["reason"].endswith("sample_00000.vtu")
    else:
        assert relative["mean"] == pytest.approx(np.mean(errors), rel=1e-4)
    assert result.get("at_rest", {}).get("u", []) == ([6] if rest == 0 else [])  # the first one to test on


def test_names_that_are_no_list_are_refused(tmp_path):
    samples = [{"points": cloud(0)[0], "u": cloud(0)[2]}] * 5
    for names in ({"targets": "u"}, {"targets": ["u"], "inputs": "w"}, {"targets": ["u"], "settings": "model.pit.a=1"}):
        with pytest.raises(ValueError, match=r"to be a list, \['.*'\] \(got the text"):
            train_surrogate(samples, **{"output": tmp_path / "run", **names})
    with pytest.raises(ValueError, match=r"'samples' to be a list of samples \(got one dict"):
        train_surrogate(samples[0], ["u"], tmp_path / "run")
    assert not list(tmp_path.iterdir())


def test_several_devices_are_refused(tmp_path):
    cloud = {"points": np.random.default_rng(0).random((20, 2)), "u": np.ones(20)}
    with pytest.raises(ValueError, match=r"Expected one process, .* to train on meshes in memory"):
        train_surrogate([cloud] * 5, ["u"], tmp_path / "run", settings=["training.devices=2"])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("box", ["unit", "none"])
def test_a_mesh_far_from_those_of_training(box, tmp_path, caplog):
    places = [np.random.default_rng(number).random((40, 2)) for number in range(6)]
    samples = [{"points": place, "u": place[:, 0] + 1} for place in places]
    far = np.array([1e6, -2e6])
    if box == "unit":  # of those to train on, too, one may lie elsewhere
        samples[4]["points"] = samples[4]["points"] - 3 * far
    settings = [*SMALL, f"scaling.box='{box}'"]
    model = train_surrogate(samples, ["u"], tmp_path / "run", settings=settings, progress=False)
    near, away = model.predict_mesh([{"points": places[0] + shift} for shift in (0 * far, far)])
    difference = np.abs(near.point_data["u_prediction"] - away.point_data["u_prediction"]).max()
    assert ("positions up to 2e+06 have steps" in caplog.text) == (box == "none")
    if box == "unit":
        assert difference < 1e-5 and np.ptp(near.point_data["u_prediction"]) > 1e-3
        assert model.facts["box_scale"] == pytest.approx(1 / max(np.ptp(place, 0).max() for place in places), rel=0.1)
