"""The story from a surrogate to a decision, in small: its tables against the solver, the model and the meshes."""

import csv

import numpy as np
import pytest

from examples.lightest_plate import STEEL, main, mesh_of, plate_of, solved
from pitgeo import load
from pitgeo.integrals import measure
from tests.pictures import without_pictures


def rows(path):
    with path.open(newline="") as file:
        return [{name: float(value) for name, value in row.items() if value} for row in csv.DictReader(file)]


def test_tables_hold_what_the_solver_and_the_model_say(tmp_path, capsys):
    small = ["--files", "12", "--designs", "6", "--confirm", "2", "--epochs", "2", "--size", "0.5", "--limit", "500"]
    with without_pictures():
        main(["--output", str(tmp_path / "new"), *small])
    designs, confirmed = rows(tmp_path / "new" / "designs.csv"), rows(tmp_path / "new" / "confirmed.csv")
    assert len(designs) == 6 and len(confirmed) == 2 and (tmp_path / "new" / "lightest_plate.png").stat().st_size > 0
    assert [row["mass"] for row in confirmed] == sorted(row["mass"] for row in designs)[:2]
    model = load(next((tmp_path / "new" / "surrogate").glob("best.ckpt")))
    for row in confirmed:
        mesh = mesh_of(plate_of(row), 0.5)
        assert row["mass"] == pytest.approx(STEEL * measure(mesh), rel=0.01)  # a polygon in place of the ellipse
        assert row["predicted"] == pytest.approx(
            model.predict_mesh(mesh).field_data["peak_stress_prediction"][0], rel=1e-4
        )
        assert row["true"] == pytest.approx(solved(plate_of(row), 0.5).field_data["peak_stress"][0])
    printed = capsys.readouterr().out
    assert "6 stay under 500 MPa" in printed and printed.count("solved") == 2


def test_the_given_force_pulls_at_every_thickness():
    for thickness in (0.1, 0.2):
        plate = plate_of({"thickness": thickness, "along": 0.1, "across": 0.1, "place": 1.0})
        assert plate.traction[0] * thickness == pytest.approx(4e6) and not np.any(plate.traction[1:])
