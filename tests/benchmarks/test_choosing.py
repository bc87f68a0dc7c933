"""The study of chosen files: its exact fields, and its table."""

from __future__ import annotations

import numpy as np

from benchmarks.choosing import flow, table


def test_the_flow_goes_round_the_cylinder() -> None:
    center, radius = np.array([0.4, 0.6]), 0.2
    mesh = flow(np.random.default_rng(0), center, radius)
    velocity, offsets = mesh.point_data["velocity"], mesh.points - center
    distances = np.linalg.norm(offsets, axis=1)
    rim = np.isclose(distances, radius)
    assert rim.sum() == 24 and (distances > 0.99 * radius).all()
    assert np.allclose((velocity * offsets)[rim].sum(1), 0, atol=1e-12)  # along the wall
    corners = mesh.points[mesh.cells[0][1]]
    assert (np.linalg.norm(corners.mean(1) - center, axis=1) > radius).all()
    speeds, angles = np.linalg.norm(velocity, axis=1), np.arctan2(offsets[:, 1], offsets[:, 0])
    ratio = (radius / distances) ** 2
    assert np.allclose(speeds**2, 1 - 2 * ratio * np.cos(2 * angles) + ratio**2)


def test_the_table_has_means_and_deviations_of_the_seeds() -> None:
    rows = [
        {"seed": seed, "files": number, "pooled": value, "worst_tenth": 1.0}
        for seed, number, value in ((0, 8, 0.2), (1, 8, 0.4), (0, 16, 0.1), (1, 16, 0.1))
    ]
    assert table({"flows": {"random": rows}}) == [
        "| flows | pooled | random | 0.300 ± 0.141 | 0.100 ± 0.000 |",
        "| flows | worst_tenth | random | 1.000 ± 0.000 | 1.000 ± 0.000 |",
    ]
