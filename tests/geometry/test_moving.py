"""Quantities of moved meshes against the derivative by their nodes."""

from dataclasses import replace

import numpy as np
import pytest

from pitgeo.integrals import Integrals, Quantity
from pitgeo.mesh.cell_types import VTK_TYPES, dimension
from tests.geometry.test_geometry_cells import CASES
from tests.geometry.test_integrals_cells import one_cell

TEXTS = ("integral:pressure", "mean:pressure", "force:pressure", "moment(0.2,0.1,0):pressure", "flux:position")


@pytest.mark.parametrize("place", ["point", "cell"])
@pytest.mark.parametrize(("number", "order"), [case for case in CASES if dimension(VTK_TYPES[case[0]]) > 1])
def test_the_slope_is_that_of_moved_meshes(number, order, place):
    mesh = one_cell(number, order, moved=0.02)
    direction, step = np.random.default_rng(0).standard_normal(mesh.points.shape), 1e-6
    for text in TEXTS:
        if text.startswith("moment") and mesh.points.shape[1] == 2:
            text = text.replace(",0)", ")")
        quantity = Quantity.parse(text)
        values = mesh.point_data[quantity.field].reshape(len(mesh.points), -1)
        values = values if place == "point" else values[:1]
        slope = np.einsum("knd,nd->k", Integrals(mesh).slope_by_points(quantity, values, place), direction)
        ends = [
            np.array(
                [
                    *Integrals(replace(mesh, points=mesh.points + by * direction))
                    .numbers(quantity, values, place)
                    .values()
                ]
            )
            for by in (step, -step)
        ]
        assert np.allclose(slope, (ends[0] - ends[1]) / (2 * step), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("text", ["mean:pressure", "force:pressure", "flux:position"])
@pytest.mark.parametrize("number", [10, 5])
def test_small_cells_far_from_the_origin(number, text):
    near, far, quantity = one_cell(number, 1), 2.0**23, Quantity.parse(text)
    moved = replace(near, points=near.points * 2.0**-7 + far)
    small = replace(near, points=moved.points - far)  # without rounding
    values = near.point_data[quantity.field].reshape(len(near.points), -1)
    here, there = (Integrals(mesh).slope_by_points(quantity, values, "point") for mesh in (small, moved))
    assert np.allclose(there, here, rtol=0, atol=1e-6 * np.abs(here).max())


def test_peaks_stay_and_percentiles_are_refused():
    mesh = one_cell(10, 1)
    values = mesh.point_data["pressure"][:, None]
    assert not Integrals(mesh).slope_by_points(Quantity.parse("peak:pressure"), values, "point").any()
    with pytest.raises(ValueError, match="take mean or peak"):
        Integrals(mesh).slope_by_points(Quantity.parse("p90:pressure"), values, "point")
