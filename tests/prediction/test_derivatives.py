"""Derivatives of predicted quantities against differences of the quantities themselves."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from pitgeo import load
from pitgeo.data.fields import FieldTable, MeshField
from pitgeo.integrals import compute
from pitgeo.measures.quantities import Quantities
from pitgeo.mesh import Mesh
from pitgeo.prediction.derivatives import sensitivity
from pitgeo.prediction.ensemble import Ensemble
from pitgeo.prediction.named_quantity import NamedQuantity
from pitgeo.prediction.response import Response
from pitgeo.workflows.designs import Varied
from pitgeo.workflows.optimise import optimise
from tests.plates import plate, train_on_plates

INPUTS = ["load", "wind", "load@left", "u"]


@pytest.fixture(scope="module", params=["pit", "pit at cells", "mlp", "transolver"])
def predictor(request, tmp_path_factory):
    root = tmp_path_factory.mktemp("sensitivity")
    geometry = ["coordinates", "boundary_distance", "boundary_distance:left"]
    changes = ['scaling.log=["load"]', f"data.meshes.geometry={json.dumps(geometry)}"]
    targets = ["v", "q", "peak"] if request.param == "pit at cells" else ["v", "peak"]
    if not request.param.startswith("pit"):
        changes.append(f'model.name="{request.param}"')
    return load(train_on_plates(root, INPUTS, targets, *changes).checkpoint)


def quantity(fields, points):
    """Smooth in the fields and in the positions."""
    weights = torch.linspace(1.0, 2.0, len(points), dtype=torch.float64) + points[:, 0]
    total = (weights[:, None] * fields["v"].double() ** 2).mean() + 3.0 * fields["peak"].sum()
    return total + fields["q"].double().square().mean() if "q" in fields else total


def value(predictor, mesh):
    return sensitivity(predictor, mesh, quantity, ["positions"], dtype=torch.float64).value


def test_the_quantity_is_that_of_the_prediction(predictor):
    mesh = plate(2)
    predicted = predictor.predict_mesh(mesh)
    fields = {"v": predicted.point_data["v_prediction"][:, :2], "peak": predicted.field_data["peak_prediction"]}
    if "q_prediction" in predicted.cell_data:
        fields["q"] = predicted.cell_data["q_prediction"][0]
    expected = quantity({name: torch.from_numpy(part) for name, part in fields.items()}, torch.from_numpy(mesh.points))
    for dtype in (torch.float32, torch.float64):
        for to in ("load", "positions"):
            found = sensitivity(predictor, mesh, quantity, [to], dtype=dtype)
            assert found.value == pytest.approx(float(expected), rel=1e-4)


@pytest.mark.parametrize("name", ["load", "wind_x", "wind_y"])
def test_derivatives_by_numbers(predictor, name):
    mesh, step = plate(2), 1e-5
    found = sensitivity(predictor, mesh, quantity, [name], dtype=torch.float64).numbers

    def moved(by):
        own = mesh.field_data[name.split("_")[0]].copy()
        own["_xy".index(name[-1]) - 1 if "_" in name else 0] += by
        return mesh.with_field_data(name.split("_")[0], own, "replace")

    slope = (value(predictor, moved(step)) - value(predictor, moved(-step))) / (2 * step)
    assert found == {name: pytest.approx(slope, rel=1e-4, abs=1e-9)}


def test_derivatives_by_positions_and_fields(predictor):
    mesh, step = plate(2), 1e-6
    result = sensitivity(predictor, mesh, quantity, ["positions", "u"], dtype=torch.float64)
    slopes = result.mesh.point_data["positions_sensitivity"]
    assert slopes.shape == mesh.points.shape and not result.numbers
    for seed in range(3):  # far nodes of the box among them
        direction = np.random.default_rng(seed).normal(size=mesh.points.shape)
        ends = [value(predictor, replace(mesh, points=mesh.points + sign * step * direction)) for sign in (1, -1)]
        assert (slopes * direction).sum() == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-4)
    direction = np.random.default_rng(0).normal(size=len(mesh.points))
    u = mesh.point_data["u"]
    ends = [value(predictor, mesh.with_point_data("u", u + sign * 1e-2 * direction, "replace")) for sign in (1, -1)]
    slope = (result.mesh.point_data["u_sensitivity"] * direction).sum()
    assert slope == pytest.approx((ends[0] - ends[1]) / 2e-2, rel=1e-3)


@pytest.mark.parametrize(
    ("to", "message"),
    [
        (["lod"], "have derivatives, load, wind_x, wind_y, u, positions .got 'lod'.; did you mean 'load'"),
        ([], "at least one input"),
        ("load", r"to be a list, \['load'\]"),
    ],
)
def test_what_has_no_derivative(predictor, to, message):
    with pytest.raises(ValueError, match=message):
        sensitivity(predictor, plate(2), quantity, to)


def test_the_method_is_the_function(predictor):
    found = predictor.sensitivity(plate(2), "peak:v", ["load"])
    assert found.numbers == sensitivity(predictor, plate(2), "peak:v", ["load"]).numbers


def test_values_without_a_logarithm_and_models_without_derivatives(predictor, monkeypatch):
    negative = plate(2).with_field_data("load", np.array([-1.0]), "replace")
    with pytest.raises(ValueError, match="positive values of 'load'"):
        sensitivity(predictor, negative, quantity, ["load"])
    with pytest.raises(ValueError, match="positive values of 'load'"):
        Response(predictor, plate(2), {"load": 0.0}, ["mean:v_x"])
    with pytest.raises(ValueError, match="one trained model for derivatives"):
        sensitivity(Ensemble([predictor, predictor]), plate(2), quantity, ["load"])
    monkeypatch.setattr(type(predictor), "is_one_step", True)
    with pytest.raises(ValueError, match="of time series"):
        sensitivity(predictor, plate(2), quantity, ["load"])
    with pytest.raises(ValueError, match="of time series"):
        optimise(predictor, lambda values: plate(2), "peak", [Varied.parse("width=1:2")], samples=2)


def test_inputs_outside_of_the_training_range_are_named(predictor, caplog):
    sensitivity(predictor, plate(2).with_field_data("load", np.array([90.0]), "replace"), quantity, ["load"])
    assert "'load' is 90, outside of the" in caplog.text


def test_a_missing_number_is_named(predictor):
    mesh = plate(2)
    bare = replace(mesh, field_data={"wind": mesh.field_data["wind"]})
    with pytest.raises(ValueError, match="Expected a number 'load' of the whole mesh"):
        sensitivity(predictor, bare, quantity, ["wind_x"])


def test_a_quantity_is_one_number(predictor):
    with pytest.raises(ValueError, match="to be one number"):
        sensitivity(predictor, plate(2), lambda fields, points: fields["v"], ["load"])


@pytest.mark.parametrize("text", ["mean:v_x", "integral:v_y", "-flux:v", "peak:v", "min:v_x", "peak"])
def test_quantities_by_name(predictor, text):
    mesh, step = plate(2), 1e-6
    result = sensitivity(predictor, mesh, text, ["positions", "load"], dtype=torch.float64)
    predicted = predictor.predict_mesh(mesh)
    if text == "peak":  # a target of the whole mesh
        expected = predicted.field_data["peak_prediction"][0]
    else:
        (expected,) = compute(predicted, text.replace(":v", ":v_prediction")).values()
    assert result.value == pytest.approx(expected, rel=1e-4)
    direction = np.random.default_rng(5).normal(size=mesh.points.shape)
    ends = [
        sensitivity(
            predictor,
            replace(mesh, points=mesh.points + sign * step * direction),
            text,
            ["positions"],
            dtype=torch.float64,
        ).value
        for sign in (1, -1)
    ]
    slope = (result.mesh.point_data["positions_sensitivity"] * direction).sum()
    assert slope == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-4)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("p95:v", "the percentile 'p95:v'"),
        ("integral:v", "of one number .*as 'integral:v_x'"),
        ("peak:w", "a quantity of a target .*targets are 'v'"),
        ("mean:v@nowhere", "nowhere"),
    ],
)
def test_names_of_no_quantity(predictor, text, message):
    with pytest.raises(ValueError, match=message):
        sensitivity(predictor, plate(2), text, ["load"])


def test_the_part_along_the_normal(predictor):
    angle = np.arange(40) * 2 * np.pi / 40
    ring = np.stack([np.cos(angle), np.sin(angle)], 1)
    points = np.concatenate([ring, 0.5 * ring])  # a ring of quadrilaterals
    first = np.arange(40)
    cells = np.stack([first, np.roll(first, -1), np.roll(first, -1) + 40, first + 40], 1)
    fields = {"u": points[:, 0], "left": (points[:, 0] < 0).astype(np.int64)}
    mesh = Mesh(points, (("quad", cells),), fields, {}, plate(2).field_data)
    found = sensitivity(predictor, mesh, "peak:v", ["positions"]).mesh.point_data
    outward = np.concatenate([ring, -ring])
    expected = (found["positions_sensitivity"] * outward).sum(1)
    assert np.allclose(found["positions_sensitivity_normal"], expected, rtol=1e-5, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("axis", [1, 2])
@pytest.mark.parametrize("text", ["moment:v", "flux:v", "-force_x:v", "mean:v_x"])
def test_vectors_of_a_plane_in_space(text, axis):
    points = np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 1.0], [0.0, 1.0]])
    mesh = Mesh(points, (("quad", np.array([[0, 1, 2, 3]])),), plane_axis=axis)
    table, values = FieldTable((), (MeshField("v", 2, "point", 3),), 2), np.random.default_rng(0).random((4, 2))
    (number,) = Quantities(table, [text]).of(mesh, values)[0].values()
    quantity, fields = NamedQuantity(table, mesh, text), {"v": torch.from_numpy(values)}
    assert float(quantity(fields, torch.from_numpy(points))) == pytest.approx(number.value)
    assert quantity.slope_by_points(fields).shape == points.shape
