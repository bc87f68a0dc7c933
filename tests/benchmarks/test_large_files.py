"""The measurement of predictions on large files, on small ones."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from benchmarks.speed.large_files import STAGES, Clock, box_mesh, format_large_files, measure, prepare
from pitgeo.mesh import centroids, read_mesh
from pitgeo.prediction import predictor


def test_a_box_is_filled_with_cells_that_are_not_turned_inside_out() -> None:
    mesh = box_mesh(1000)
    nodes = mesh.points[mesh.cells[0][1]]
    edges = nodes[:, [1, 3, 4]] - nodes[:, :1]
    assert nodes.shape == (729, 8, 3) and (np.linalg.det(edges) > 0).all()
    assert len(np.unique(centroids(mesh).round(9), axis=0)) == 729 and len(box_mesh(100_000).points) == 46**3


def test_a_clock_counts_no_time_twice() -> None:
    clock = Clock()
    inner = clock.timed("inner", time.sleep)
    outer = clock.timed("outer", lambda: (time.sleep(0.02), inner(0.05), inner(0.05)))
    outer()
    assert clock.seconds["inner"] >= 0.1 and 0.02 <= clock.seconds["outer"] < 0.1
    assert set(clock.peak) == {"inner", "outer"} and min(clock.peak.values()) > 10


def test_every_stage_of_a_prediction_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for _, owner, name in STAGES:  # the measurement puts its clock there
        monkeypatch.setattr(owner, name, getattr(owner, name))
    monkeypatch.setattr(predictor, "CHUNK", 100)
    prepare(tmp_path, 343, ["training.epochs=1", "model.pit.channels=8", "model.pit.latent.number=20"])
    found = measure(tmp_path)
    assert found["points"] == 343 and list(found["peak_after_mb"].values()) == sorted(found["peak_after_mb"].values())
    assert set(found["seconds"]) == {stage for stage, _, _ in STAGES} | {"other"}
    assert sum(found["seconds"].values()) == pytest.approx(found["total_seconds"])
    assert min(found["seconds"].values()) > 0
    mesh = read_mesh(tmp_path / "predicted" / "mesh.vtu")
    assert {"u_prediction", "v_prediction", "u_error", "v_error"} <= set(mesh.point_data)
    machine = {"processor": "one", "cores": 2}
    table = format_large_files({"rows": [found], "chunk": 100, "threads": 1, "machine": machine, "date": "today"})
    line = next(line for line in table.splitlines() if line.startswith("| 343 |"))
    assert line.count("|") == table.splitlines()[5].count("|")
