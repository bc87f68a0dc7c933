"""The optimum against a fine grid of predictions; with and without derivatives; what it warns of."""

import json

import numpy as np
import pytest

from pitgeo import load
from pitgeo.integrals import compute
from pitgeo.mesh import read_mesh
from pitgeo.prediction.response import Response
from pitgeo.workflows.designs import Varied, combinations
from pitgeo.workflows.optimise import optimise
from pitgeo.workflows.search import Constraint
from tests.plates import plate, train_on_plates

VARIED = [Varied.parse("load=1:1.7"), Varied.parse("wind_x=1:8")]


@pytest.fixture(scope="module")
def predictor(tmp_path_factory):
    root = tmp_path_factory.mktemp("optimise")
    return load(train_on_plates(root, ["load", "wind"], ["v", "q", "peak"]).checkpoint)


@pytest.fixture(scope="module")
def grid(predictor):
    """All values of a fine grid, and the quantities there."""
    values = combinations([Varied.parse("load=1:1.7:40"), Varied.parse("wind_x=1:8:40")])
    found, mesh = predictor.predict_many(plate(3), values), plate(3)
    mean = [compute(mesh.with_point_data("w", part), "mean:w_x")["mean:w_x"] for part in found["v_prediction"]]
    peak = np.linalg.norm(found["v_prediction"], axis=2).max(1)
    return values, np.array(mean), peak


def test_values_and_slopes_of_quantities(predictor):
    texts = ["mean:v_x", "-peak:v", "peak", "load", "-wind_x"]
    response, at, step = Response(predictor, plate(3), {"load": 1.2, "wind_x": 3.0}, texts), np.array([1.3, 4.0]), 1e-2
    values, slopes = response(at)
    assert values[3:].tolist() == [1.3, -4.0] and slopes[3:].tolist() == [[1.0, 0.0], [0.0, -1.0]]
    for number in range(2):
        move = step * np.eye(2)[number]
        difference = (response(at + move)[0] - response(at - move)[0]) / (2 * step)
        assert np.allclose(slopes[:, number], difference, rtol=2e-2, atol=2e-3 * np.abs(values))


@pytest.mark.parametrize("text", ["mean:v_x", "-mean:v_x"])
def test_the_optimum_is_that_of_a_fine_grid(predictor, grid, text):
    _, mean, _ = grid
    best = (mean if text[0] == "m" else -mean).min()
    found = optimise(predictor, plate(3), text, VARIED, samples=16)
    assert found.objective <= best + 1e-3 * np.ptp(mean) and found.is_feasible
    (check,) = compute(found.mesh, text.replace(":v", ":v_prediction")).values()
    assert check == pytest.approx(found.objective, rel=1e-4)
    assert found.mesh.field_data["load"] == found.values["load"]
    assert found.mesh.field_data["wind"][0] == found.values["wind_x"]
    fields = {*found.mesh.point_data, *found.mesh.cell_data, *found.mesh.field_data}
    assert not fields & {"v", "v_error", "q", "q_error", "peak", "peak_error"}  # of the file, for its own numbers


@pytest.mark.parametrize("with_slopes", [True, False])
def test_a_constraint_holds(predictor, grid, with_slopes):
    _, mean, peak = grid
    limit = float(np.quantile(peak, 0.3))
    best = mean[peak <= limit].max()

    def make(values):
        mesh = plate(3).with_field_data("load", np.array([values["load"]]), "replace")
        return mesh.with_field_data("wind", np.array([values["wind_x"], -1.5]), "replace")

    found = optimise(
        predictor, plate(3) if with_slopes else make, "-mean:v_x", VARIED, [f"peak:v<={limit}"], samples=16
    )
    assert found.is_feasible and found.constraints[f"peak:v<={limit}"] <= limit + 1e-5 * np.ptp(peak)
    assert -found.objective >= best - 2e-2 * np.ptp(mean)


def test_what_cannot_hold_and_what_lies_outside_is_said(predictor, tmp_path, caplog):
    far = [Varied.parse("load=1:9"), VARIED[1]]
    found = optimise(predictor, plate(3), "-load", far, ["peak:v<=-1"], samples=8)
    assert not found.is_feasible and any("beyond its limit -1" in note for note in found.notes)
    found = optimise(predictor, plate(3), "-load", far, samples=8)
    assert found.values["load"] == pytest.approx(9.0)
    texts = " ".join(found.notes)
    assert "load is at the upper end of its range, 9" in texts and "outside of the 1 to" in texts
    assert "load is at the upper end" in caplog.text
    summary, mesh = found.write(tmp_path / "new")
    written = json.loads(summary.read_text())
    assert written["values"] == dict(found.values) and written["notes"] == list(found.notes)
    assert np.allclose(read_mesh(mesh).point_data["v_prediction"], found.mesh.point_data["v_prediction"])


@pytest.mark.parametrize(
    ("objective", "varied", "constraints", "message"),
    [
        ("mean:w", "load=1:2", [], "a quantity of a target"),
        ("p90:v", "load=1:2", [], "percentile"),
        ("peak", "lod=1:2", [], "did you mean 'load'"),
        ("peak", "load=2", [], "Expected a range of 'load'"),
        ("peak", "load=1:2", ["peak:v<1"], "as in 'peak:von_mises<=2e8'"),
        ("peak", "load=1:2", ["peak:v<=big"], "as in 'peak:von_mises<=2e8'"),
        ("peak", "load=1:2", ["peak:w<=1"], "a quantity of a target"),
    ],
)
def test_what_cannot_be_optimised(predictor, objective, varied, constraints, message):
    with pytest.raises(ValueError, match=message):
        optimise(predictor, plate(3), objective, [Varied.parse(varied)], constraints, samples=4)


def test_what_cannot_start(predictor):
    with pytest.raises(ValueError, match="at least 1 of 'starts'"):
        optimise(predictor, plate(3), "peak", VARIED, starts=0)
    with pytest.raises(TypeError, match="function that returns"):
        optimise(predictor, lambda values: values, "peak", VARIED, samples=2)
    assert Constraint.parse("mean:v_x>=-2").margin(-3.0) == -1.0
