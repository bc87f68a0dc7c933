"""Fields of meshes as channels of a model, against arrays written down by hand."""

import numpy as np
import pytest
import torch

from pitgeo.data.fields import FieldTable, MeshField, cells_from_points, points_from_cells
from pitgeo.mesh import Mesh

POINTS = np.array([[0.0, 0], [1, 0], [1, 1], [0, 1], [3, 3]])  # the last one belongs to no cell
CELLS = (("triangle", np.array([[0, 1, 2]])), ("triangle", np.array([[0, 2, 3]])))


def mesh(**changes):
    fields = {
        "points": POINTS,
        "cells": CELLS,
        "point_data": {"u": np.arange(5.0), "v": np.array([[1.0, 2, 0]] * 5), "kind": np.array([7, 7, 3, 3, 7])},
        "cell_data": {"q": (np.array([5.0]), np.array([6.0])), "both": (np.ones(1), np.ones(1))},
        "field_data": {"load": np.array([9.0])},
    }
    fields["point_data"]["both"] = np.ones(5)
    return Mesh(**{**fields, **changes})


def test_where_fields_are_found():
    table = FieldTable.infer(
        mesh(), ["u", "load", "angle"], ["drag", "v", "q"], ["coordinates"], {"angle": 3, "drag": 1}
    )
    assert [field.place for field in table.inputs] == ["point", "mesh", "mesh", "point"]
    assert [(field.name, field.components) for field in table.targets] == [("v", 3), ("q", 1), ("drag", 1)]
    assert table.input_labels == ("u", "load", "angle", "coordinates_x", "coordinates_y")
    assert table.target_labels == ("v_x", "v_y", "v_z", "q", "drag")
    assert (table.input_place, table.output_places, table.scalars) == ("point", ("point", "cell"), 1)
    assert FieldTable.parse(table.plain()) == table


@pytest.mark.parametrize(
    ("inputs", "targets", "message"),
    [
        (["w"], ["u"], "Expected a field 'w' .*'u', 'v', 'kind', 'both', 'q', 'both', 'load'"),
        (["loda"], ["u"], "did you mean 'load'"),
        (["both"], ["u"], "'both', which is both.*'point:both' or 'cell:both'"),
        (["cell:u"], ["q"], "Expected a cell field 'u'"),
        (["u"], ["u"], "every field once among inputs and targets"),
        (["u"], [], "at least one target"),
    ],
)
def test_names_that_cannot_be_used(inputs, targets, message):
    with pytest.raises(ValueError, match=message):
        FieldTable.infer(mesh(), inputs, targets)


def test_the_kind_of_a_name_may_be_given():
    table = FieldTable.infer(mesh(), ["cell:both"], ["point:both"])
    assert (table.inputs[0].place, table.targets[0].place) == ("cell", "point")


def test_a_sample_with_outputs_at_points_and_at_centres_of_cells():
    table = FieldTable.infer(mesh(), ["u", "load"], ["u2", "q", "drag"], parameters={"drag": 4.0, "u2": 0.0})
    table = FieldTable.infer(mesh(), ["u", "load"], ["v", "q", "drag"], parameters={"drag": 4.0}).planar(["v"])
    here = mesh()
    pos = {place: table.positions(here, place) for place in ("point", "cell")}
    sample = table.sample(pos, table.read(here), table.read_targets(here, {"drag": 4.0}))
    assert sample.x.tolist() == [[float(k), 9.0] for k in range(5)]
    assert torch.equal(sample.pos_out[:5], sample.pos)
    assert np.allclose(sample.pos_out[5:], [[2 / 3, 1 / 3], [1 / 3, 2 / 3]])
    assert sample.y.tolist() == [[1, 2, 0, 4]] * 5 + [[0, 0, 5, 4], [0, 0, 6, 4]]
    assert sample.y_mask.tolist() == [[True, True, False, True]] * 5 + [[False, False, True, True]] * 2


def test_cell_data_alone_live_at_the_centres():
    table = FieldTable.infer(mesh(), [], ["q"])
    sample = table.mesh_sample(mesh())
    assert sample.num_nodes == 2 and "pos_out" not in sample and table.input_place == "cell"


def test_fields_of_the_other_kind_are_averaged():
    values = np.array([[5.0], [6.0]])
    assert points_from_cells(mesh(), values).tolist() == [[5.5], [5.0], [5.5], [6.0], [5.0]] or (
        points_from_cells(mesh(), values)[:4].tolist() == [[5.5], [5.0], [5.5], [6.0]]
    )
    assert cells_from_points(mesh(), np.arange(5.0)[:, None]).tolist() == [[1.0], [5 / 3]]
    table = FieldTable.infer(mesh(), ["u", "q"], ["v"])
    assert table.read(mesh())[:4].tolist() == [[0, 5.5], [1, 5.0], [2, 5.5], [3, 6.0]]


def test_averages_keep_linear_functions_and_constants():
    rng = np.random.default_rng(0)
    assert np.allclose(points_from_cells(mesh(), np.full((2, 3), 4.0)), 4.0)
    slope = rng.normal(size=(2, 2))
    assert np.allclose(cells_from_points(mesh(), POINTS @ slope), cells_from_points(mesh(), POINTS) @ slope)


def test_categories_become_channels():
    table = FieldTable.infer(mesh(), ["kind"], ["u"]).with_categories({"kind": (3, 7)})
    assert table.input_labels == ("kind=3", "kind=7") and table.in_channels == 2
    assert table.mesh_sample(mesh()).x.tolist() == [[0, 1], [0, 1], [1, 0], [1, 0], [0, 1]]
    other = mesh(point_data={"kind": np.array([3, 4, 3, 3, 3])})
    with pytest.raises(ValueError, match=r"'kind' to be one of the categories .* \[3, 7\] \(got \[4"):
        table.mesh_sample(other)


def test_predictions_go_back_where_they_belong():
    table = FieldTable.infer(mesh(), [], ["v", "q", "drag"], parameters={"drag": 1.0}).planar(["v"])
    values = np.arange(28.0).reshape(7, 4)
    found = table.add(mesh(), table.split(mesh(), values), "_prediction")
    assert found.point_data["v_prediction"].tolist() == [[4.0 * k, 4 * k + 1, 0] for k in range(5)]
    assert [block.tolist() for block in found.cell_data["q_prediction"]] == [[22.0], [26.0]]
    assert found.field_data["drag_prediction"].tolist() == [3.0]
    assert set(mesh().point_data) < set(found.point_data) and "q" in found.cell_data


def test_truth_is_what_can_be_compared(caplog):
    table = FieldTable.infer(mesh(), [], ["u", "v", "q"])
    found = table.truth(mesh(point_data={"v": np.ones((5, 2))}))
    assert list(found) == ["q"] and found["q"].tolist() == [[5.0], [6.0]]
    assert "No error of 'v' is written" in caplog.text and "3 components" in caplog.text


def test_a_state_is_an_input_and_a_target():
    table = FieldTable.infer(mesh(), ["load"], ["u", "v"]).one_step()
    assert table.input_labels == ("load", "u", "v_x", "v_y", "v_z")
    with pytest.raises(ValueError, match="all point data or all cell data"):
        FieldTable.infer(mesh(), ["u"], ["q"]).one_step()
    with pytest.raises(ValueError, match="numbers of the whole mesh"):
        FieldTable.infer(mesh(), ["u"], ["load"]).one_step()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"point_data": {"u": np.arange(5.0)}}, "point field 'v'"),
        ({"point_data": {"u": np.array([0, 1, np.nan, 3, 4]), "v": np.ones((5, 3))}}, "finite values .*'u'.*point 2"),
        ({"point_data": {"u": np.arange(5.0), "v": np.ones((5, 2))}}, "3 components in the field 'v'"),
        ({"points": np.ones((5, 3)) * np.arange(5.0)[:, None]}, "Expected a mesh in 2D"),
        ({"field_data": {}}, "a number 'load' of the whole mesh"),
        ({"field_data": {"load": np.array([np.inf])}}, "a finite number 'load'"),
        ({"field_data": {"load": np.array([1.0, 2.0])}}, "1 component in the field 'load'"),
    ],
)
def test_meshes_that_do_not_fit(changes, message):
    table = FieldTable.infer(mesh(), ["u", "load"], ["v"])
    with pytest.raises(ValueError, match=message):
        table.read(mesh(**changes))
        table.read_targets(mesh(**changes))


def test_centres_need_cells():
    table = FieldTable((), (MeshField("q", place="cell"),), 2)
    with pytest.raises(ValueError, match="Expected cells, at whose centres"):
        table.mesh_sample(Mesh(points=POINTS))


def test_a_text_in_a_file_leaves_the_name_to_the_parameters():
    texts = np.array(["steep"])
    mesh = Mesh(np.array([[0.0, 0.0], [1.0, 0.0]]), (), {"u": np.ones(2)}, field_data={"angle": texts})
    table = FieldTable.infer(mesh, ["angle"], ["u"], parameters={"angle": 3.0})
    assert table.read(mesh, {"angle": 3.0}).tolist() == [[3.0], [3.0]]
    with pytest.raises(ValueError, match="Expected numbers in the field 'angle'"):
        FieldTable.infer(mesh, ["angle"], ["u"])
    own = mesh.with_field_data("angle", 5.0, existing="replace")
    assert table.read(own, {"angle": 3.0}).tolist() == [[5.0], [5.0]]


def test_meshes_in_another_plane_have_other_components():
    upright = mesh(plane_axis=1)
    for table in (FieldTable.infer(mesh(), ["v"], ["u"]), FieldTable.infer(mesh(), ["u"], ["v"])):
        assert FieldTable.parse(table.plain()).positions(mesh(), "point").shape == (5, 2)
        with pytest.raises(ValueError, match=r"plane of x and y, .*since 'v' has .*in the plane of x and z"):
            FieldTable.parse(table.plain()).positions(upright, "point")
        earlier = {key: value for key, value in table.plain().items() if key != "plane_axis"}
        assert FieldTable.parse(earlier).positions(upright, "point").shape == (5, 2)
    assert FieldTable.infer(mesh(), ["u"], ["q"]).positions(upright, "point").shape == (5, 2)
