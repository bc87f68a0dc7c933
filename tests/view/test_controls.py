"""Sliders and selections: their ranges, and what is said of a value."""

import numpy as np
import pytest
import torch

from pitgeo.data.fields import FieldTable, MeshField
from pitgeo.view.controls import Control, make_controls

NUMBERS = (
    MeshField("u"),
    MeshField("load", 2, "mesh"),
    MeshField("boundary_distance", is_geometry=True),
    MeshField("holes", place="mesh"),
    MeshField("kind", place="mesh", categories=(3, 7)),
    MeshField("gravity", place="mesh"),
)
TABLE = FieldTable(NUMBERS, (MeshField("v"),), 2)
RANGES = [(0.0, 1.0), (4.0, 12.0), (-4.0, 4.0), (0.0, 0.3), (1.0, 3.0), (3.0, 7.0), (9.81, 9.81)]


def facts(holes):
    """A checkpoint's description of 12 samples: five numbers without the geometry, and their means first."""
    rows = np.random.default_rng(0).random((12, 4 * 6))
    rows[:, 3] = holes
    return {"ranges": RANGES, "descriptors": {"combination": torch.tensor(rows, dtype=torch.float32)}}


def controls(holes=(1, 2, 3) * 4, **others):
    return {control.name: control for control in make_controls(TABLE, {**facts(holes), **others})}


def test_every_number_has_a_control_over_the_training_range():
    found = controls()
    assert list(found) == ["load_x", "load_y", "holes", "kind", "gravity"]
    assert found["load_x"].trained == (4.0, 12.0) and found["load_x"].limits == pytest.approx((2.0, 14.0))
    assert found["load_x"].step == 0.05 and found["load_y"].limits == pytest.approx((-6.0, 6.0))
    assert found["kind"].choices == (3.0, 7.0) and found["gravity"].is_fixed


@pytest.mark.parametrize(("trained", "low", "high"), [((0.1, 1.0), 0.1, 1.225), ((-1.0, 0.0), -1.25, 0.0)])
def test_a_slider_does_not_pass_zero_where_training_did_not(trained, low, high):
    ranges = [*RANGES[:1], trained, *RANGES[2:]]
    assert controls(ranges=ranges)["load_x"].limits == pytest.approx((low, high), abs=0.006)


@pytest.mark.parametrize(
    ("holes", "choices"),
    [
        ((1, 2, 3) * 4, (1.0, 2.0, 3.0)),
        ((100, 200, 300) * 4, ()),  # one may want 150
        ((1, 2, 2.5) * 4, ()),
        (range(1, 13), ()),  # too many for twelve samples
    ],
)
def test_counts_are_chosen_and_other_numbers_slide(holes, choices):
    assert controls(holes)["holes"].choices == choices


def test_a_slider_reaches_the_value_of_a_file():
    slider = controls()["load_x"]
    assert slider.including(13.0) == slider
    low, high = slider.including(-3.02).limits[0], slider.including(20.01).limits[1]
    assert (low, high) == pytest.approx((-3.05, 20.05))
    assert controls()["holes"].including(0.0).choices == (0.0, 1.0, 2.0, 3.0)


def test_what_is_said_of_a_value():
    found = controls()
    assert found["load_x"].note(5.0) == "trained on 4 to 12" and not found["load_x"].is_outside(12.0)
    assert found["load_x"].note(12.5) == "above 4 to 12 of training" and found["load_x"].is_outside(12.5)
    assert found["load_x"].note(1.0) == "below 4 to 12 of training"
    assert found["gravity"].note(9.81) == "always 9.81 in training" and found["holes"].note(2.0) == ""
    assert found["holes"].note(0.0) == "below 1 to 3 of training"


def test_without_a_training_range_a_slider_goes_from_the_value_to_both_sides():
    slider = {control.name: control for control in make_controls(TABLE, {})}["load_x"].including(5.0)
    assert slider.limits == (0.0, 10.0) and slider.step == 0.05 and slider.plain(5.0)["width"] == 0
    assert slider.note(1.0) == "training range not known" and not slider.is_outside(1e9)
    assert make_controls(TABLE, {})[0].including(0.0).limits == (-1.0, 1.0)


def test_the_range_of_a_quotient_is_none_of_the_number():
    slider = {control.name: control for control in make_controls(TABLE, facts((1, 2, 3) * 4), {"load": "holes"})}[
        "load_x"
    ]
    assert slider.trained is None and slider.including(2.0).note(2.0) == "divided by holes"


def test_the_browser_gets_where_the_training_range_lies():
    plain = Control("load", (2.0, 4.0), (), (0.0, 8.0), 0.1).plain(5.0)
    assert (plain["left"], plain["width"], plain["outside"], plain["kind"]) == (25.0, 25.0, True, "slider")
