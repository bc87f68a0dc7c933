"""The table of a sweep, and its fields, against predictions of single files."""

import csv

import numpy as np
import pytest

from pitgeo import load
from pitgeo.integrals import compute
from pitgeo.mesh import read_mesh
from pitgeo.workflows.designs import Varied, combinations
from pitgeo.workflows.sweep import sweep
from tests.plates import plate, train_on_plates

QUANTITIES = ["mean:v_x", "peak:q", "p90:v", "flux:v"]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    root = tmp_path_factory.mktemp("sweep")
    changes = 'evaluation.quantities=["min:q"]'
    return train_on_plates(root, ["load", "wind"], ["v", "q", "peak"], changes).checkpoint


@pytest.fixture(scope="module")
def predictor(checkpoint):
    return load(checkpoint)


def rows(table):
    with open(table, newline="") as file:
        return list(csv.DictReader(file))


def test_rows_are_the_quantities_of_predicted_files(predictor, tmp_path):
    values = combinations([Varied.parse("load=1:1.6:3"), Varied.parse("wind_y=-2,0")])
    table = sweep(predictor, plate(3), values, tmp_path / "new", QUANTITIES, fields=True)
    found = rows(table)
    assert list(found[0]) == ["load", "wind_y", "peak", *QUANTITIES] and len(found) == 6
    for number, row in enumerate(found):
        mesh = plate(3).with_field_data("load", np.array([values["load"][number]]), "replace")
        mesh = mesh.with_field_data("wind", np.array([4.0, values["wind_y"][number]]), "replace")
        expected = predictor.predict_mesh(mesh)
        names = [text.replace(":v", ":v_prediction").replace(":q", ":q_prediction") for text in QUANTITIES]
        numbers = [*expected.field_data["peak_prediction"], *compute(expected, *names).values()]
        assert [float(row[name]) for name in ["peak", *QUANTITIES]] == pytest.approx(numbers, rel=1e-4, abs=1e-4)
        assert float(row["load"]) == values["load"][number] and float(row["wind_y"]) == values["wind_y"][number]
        written = read_mesh(tmp_path / "new" / "fields" / f"{number:04}.vtu")
        size = np.abs(expected.point_data["v_prediction"]).max()
        assert np.allclose(written.point_data["v_prediction"], expected.point_data["v_prediction"], atol=1e-5 * size)
        assert written.field_data["load"] == values["load"][number] and "v" not in written.point_data
        assert "peak" not in written.field_data and "peak_prediction" in written.field_data
        assert written.field_data["wind"].tolist() == [4.0, values["wind_y"][number]]


def test_without_names_it_has_the_quantities_of_the_run_or_the_peaks(predictor, tmp_path, monkeypatch):
    table = sweep(predictor, plate(3), {"load": [1.2]}, tmp_path)
    assert list(rows(table)[0]) == ["load", "peak", "min:q"] and not (tmp_path / "fields").exists()
    bare = predictor.config.evaluation.model_copy(update={"quantities": ()})
    monkeypatch.setattr(predictor, "config", predictor.config.model_copy(update={"evaluation": bare}))
    assert list(rows(sweep(predictor, plate(3), {"load": [1.2]}, tmp_path))[0]) == ["load", "peak", "peak:v", "peak:q"]


def test_nothing_is_written_where_something_is_wrong(predictor, tmp_path):
    for values, names in (({"lod": [1.0]}, []), ({"load": [1.0]}, ["mean:w"]), ({"load": [1.0]}, ["mean:q@inlet"])):
        with pytest.raises(ValueError, match="Expected"):
            sweep(predictor, plate(3), values, tmp_path / "new", names)
    assert not (tmp_path / "new").exists()


def test_a_sweep_that_was_stopped_leaves_no_fields(predictor, tmp_path):
    def stopped(rows):
        yield from rows
        raise KeyboardInterrupt

    given = (predictor, plate(3), {"load": [1.1, 1.2]}, tmp_path)
    with pytest.raises(KeyboardInterrupt):
        sweep(*given, fields=True, progress=stopped)
    assert not (tmp_path / "fields").exists() and not (tmp_path / "sweep.csv").exists()
    sweep(*given, fields=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fields", "sweep.csv"]
    assert [path.name for path in sorted((tmp_path / "fields").iterdir())] == ["0000.vtu", "0001.vtu"]
