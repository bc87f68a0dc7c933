"""Numbers of the whole mesh in one of its named sets, against arrays written down by hand."""

from dataclasses import replace

import numpy as np
import pytest

from pitgeo.data.fields import FieldTable
from pitgeo.mesh import Mesh

POINTS = np.array([[0.0, 0], [1, 0], [1, 1], [0, 1], [2, 0.5]])
CELLS = (("triangle", np.array([[0, 1, 2], [0, 2, 3]])), ("triangle", np.array([[1, 4, 2]])))


def mesh(**changes):
    fields = {
        "points": POINTS,
        "cells": CELLS,
        "point_data": {"u": np.arange(5.0), "mark": np.array([0, 0, 1, 1, 0])},
        "cell_data": {"q": (np.ones(2), np.ones(1))},
        "field_data": {"load": np.array([9.0]), "force": np.array([3.0, 0.0])},
        "point_sets": {"tip": np.array([4]), "both": np.array([4])},
        "cell_sets": {"left": (np.array([1]), np.zeros(0, int)), "both": (np.zeros(0, int), np.array([0]))},
    }
    return Mesh(**{**fields, **changes})


@pytest.mark.parametrize(
    ("name", "target", "values"),
    [
        ("load@tip", "u", [0, 0, 0, 0, 9]),
        ("load@left", "u", [9, 0, 9, 9, 0]),  # the points of its cell
        ("load@mark", "u", [0, 0, 9, 9, 0]),  # a field of zeros and ones is a set
        ("load@left", "q", [0, 9, 0]),
        ("load@tip", "q", [0, 0, 9]),  # the cell that has the point
        ("load@point:both", "u", [0, 0, 0, 0, 9]),
        ("load@cell:both", "u", [0, 9, 9, 0, 9]),
        ("load@both", "q", [0, 0, 9]),  # one and the same there
        ("mesh:load@tip", "u", [0, 0, 0, 0, 9]),
        ("angle@tip", "u", [0, 0, 0, 0, -2]),
    ],
)
def test_values_are_those_of_the_number_in_the_set_and_zero_elsewhere(name, target, values):
    table = FieldTable.infer(mesh(), [name], [target], parameters={"angle": -2.0})
    assert table.inputs[0].place == "mesh" and table.input_labels == (name.removeprefix("mesh:"),)
    assert table.read(mesh(), {"angle": -2.0})[:, 0].tolist() == values
    assert FieldTable.parse(table.plain()) == table
    own = max(values, key=abs)
    assert [ends.tolist() for ends in table.ranges(table.read(mesh(), {"angle": -2.0}))] == [[own], [own]]


def test_several_components():
    table = FieldTable.infer(mesh(), ["u", "force@tip"], ["q"])
    assert table.input_labels == ("u", "force@tip_x", "force@tip_y")
    assert table.read(mesh()).tolist() == [[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0], [4, 3, 0]]


def test_a_field_of_that_very_name_comes_first():
    own = mesh(point_data={"u": np.ones(5), "load@tip": np.arange(5.0)})
    table = FieldTable.infer(own, ["load@tip"], ["u"])
    assert table.inputs[0].place == "point" and table.read(own)[:, 0].tolist() == [0, 1, 2, 3, 4]
    table = FieldTable.infer(mesh(), ["load@tip"], ["u"])
    with pytest.raises(ValueError, match="Expected no field 'load@tip', which is the number 'load' in the set 'tip'"):
        table.read(own)


def test_a_checkpoint_of_earlier_versions_has_no_sets():
    plain = FieldTable.infer(mesh(), ["load"], ["u"]).plain()
    for field in (*plain["inputs"], *plain["targets"]):
        del field["within"]
    assert FieldTable.parse(plain).read(mesh())[:, 0].tolist() == [9] * 5


@pytest.mark.parametrize(
    ("inputs", "targets", "message"),
    [
        (["load@top"], ["u"], "a.vtu: Expected a set of points or cells named 'top'.*'both', 'left', 'tip'.*'tip'"),
        (["load@cell:tip"], ["u"], "a.vtu: Expected a set of cells named 'tip'"),
        (["laod@tip"], ["u"], "Expected a number 'laod' of the whole mesh, given in the set 'tip'.*mean 'load@tip'"),
        (["zzz@tip"], ["u"], "Expected a number 'zzz' of the whole mesh.*'pitgeo describe' lists"),
        (["u@tip"], ["q"], "Expected a number 'u' of the whole mesh.*'u' is a point field.*name it without a set"),
        (["u"], ["load@tip"], "Expected a number in a set among the inputs"),
        (["load@tip"], ["u", "load"], "Expected targets that the inputs do not hold"),
        (["load@tip", "load@tip"], ["u"], "every field once"),
    ],
)
def test_names_that_cannot_be_used(inputs, targets, message):
    with pytest.raises(ValueError, match=message):
        FieldTable.infer(replace(mesh(), path="a.vtu"), inputs, targets)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"point_sets": {"tip": np.zeros(0, int)}}, "b.vtu: Expected at least one point in the set 'tip' .got none"),
        ({"point_sets": {}}, "b.vtu: Expected a set of points or cells named 'tip'"),
        ({"point_sets": {}, "cell_sets": {}}, "got no sets.*without the set"),
        ({"field_data": {}}, "b.vtu: Expected a number 'load' of the whole mesh, for the input 'load@tip'"),
        ({"field_data": {"load": np.ones(2)}}, "Expected 1 component in the field 'load'"),
        ({"cell_sets": {"tip": (np.array([0]), np.zeros(0, int))}}, "of points and another of cells, with 1 and 3"),
    ],
)
def test_another_file_that_lacks_something(changes, message):
    table = FieldTable.infer(mesh(), ["load@tip"], ["u"])
    with pytest.raises(ValueError, match=message):
        table.read(mesh(**changes, path="b.vtu"))
