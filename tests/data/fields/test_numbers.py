"""Names of the numbers of the whole mesh: one table for formulas, sweeps and views."""

import numpy as np
import pytest

from pitgeo.data.fields import FieldTable, MeshField
from pitgeo.data.fields.numbers import number_fields, numbers
from pitgeo.data.reference_quantities import ReferenceQuantities
from pitgeo.mesh import Mesh
from pitgeo.prediction.study import MeshStudy

POINTS = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
U = MeshField("u")


def mesh(**numbers):
    own = {name: np.atleast_1d(np.asarray(value, np.float64)) for name, value in numbers.items()}
    return Mesh(POINTS, (("quad", np.array([[0, 1, 2, 3]])),), {"u": POINTS[:, 0]}, field_data=own)


def test_places_of_numbers_that_stand_in_sets_and_beside_categories():
    inputs = (
        MeshField("heat"),
        MeshField("kind", place="mesh", categories=(1, 2, 5)),
        MeshField("load", 2, "mesh", width=3),
        MeshField("load@tip", 2, "mesh", within="tip"),
        MeshField("size", place="mesh"),
    )
    table = FieldTable(inputs, (U,), 2)
    assert [(field.name, column, channel) for field, column, channel in number_fields(table)] == [
        ("kind", 1, 1),
        ("load", 2, 4),
        ("load@tip", 5, 6),
        ("size", 7, 8),
    ]
    found = numbers(table)
    assert list(found) == ["kind", "load_x", "load_y", "size"]
    assert found["load_y"].columns == (3, 6) and found["load_y"].source == "load"


@pytest.mark.parametrize("names", [["load", "load_x"], ["load_x", "load"]])
def test_a_number_that_is_called_like_a_component_is_refused(names):
    given = mesh(load=[1.0, 2.0], load_x=3.0)
    with pytest.raises(ValueError, match=r"\(got 'load_x', .* a component of 'load'\); leave out"):
        FieldTable.infer(given, names, ["u"])
    assert FieldTable.infer(given, ["load"], ["u"]).input_labels == ("load_x", "load_y")
    assert FieldTable.infer(given, ["load_x"], ["u"]).input_labels == ("load_x",)


@pytest.mark.parametrize("order", [1, -1])
def test_in_tables_of_earlier_checkpoints_the_number_has_the_name(order):
    inputs = (MeshField("load", 2, "mesh"), MeshField("load_x", place="mesh"))[::order]
    table = FieldTable(inputs, (U,), 2)
    assert sorted(numbers(table)) == ["load_x", "load_y"]
    study = MeshStudy(table, mesh(load=[1.0, 2.0], load_x=3.0), {"load_x": [7.0]})
    assert study.batch(slice(1))[0, 0].tolist() == ([1.0, 2.0, 7.0] if order == 1 else [7.0, 1.0, 2.0])
    assert study.mesh.field_data["load"].tolist() == [1.0, 2.0] and study.mesh.field_data["load_x"].tolist() == [7.0]
    channels = ReferenceQuantities({"u": "load_x * norm(load)"}, table).channels
    assert channels["load_x"] == [table.channels("load_x").start] and len(channels["load"]) == 2
    with pytest.raises(ValueError, match="made of numbers of the whole mesh"):
        ReferenceQuantities({"u": "load_x"}, table.with_categories({"load_x": (3, 7)}))
