"""The InviscidBurgers generator: closed forms, conservation laws, slower methods."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from inviscid_burgers_samples import draw_start, solve
from inviscid_burgers_solver import (
    SHORTEST,
    Boundary,
    Floats,
    FourierSeries,
    cell_averages,
    random_field,
)
from scipy.optimize import brentq

SINE = FourierSeries(np.array([0, -1j]))
BOUNDARIES: tuple[Boundary, ...] = ("periodic", "constant")
SCRIPT = Path(__file__).parents[2] / "datasets" / "inviscid_burgers" / "generate.py"


class Ones:
    """In place of random numbers: coefficients become standard deviations."""

    def standard_normal(self, shape: tuple[int, ...]) -> Floats:
        return np.ones(shape)


def sine_shock(time: float) -> Any:
    """How far from 1/2 the characteristics start that end in the shock of sin(2 pi x)."""
    return brentq(lambda s: time * np.sin(2 * np.pi * s) - s, 0.01, 0.5, xtol=1e-15, rtol=1e-15)


# The start


@pytest.mark.parametrize("period", [1.0, 1.7])
def test_series_slope_and_primitive(period: float) -> None:
    random = np.random.default_rng(0)
    series = FourierSeries(random.random(5) + 1j * np.append(0, random.random(4)), period)
    x = np.linspace(-1, 2, 50)
    angle = 2 * np.pi * np.arange(5) * x[:, None] / period
    direct = (series.coefficients.real * np.cos(angle) - series.coefficients.imag * np.sin(angle)).sum(1)
    np.testing.assert_allclose(series.value(x), direct, atol=1e-13)
    np.testing.assert_allclose(series.value(x + period), direct, atol=1e-12)
    step = 1e-5
    for low, high in ((series.value, series.slope), (series.primitive, series.value)):
        np.testing.assert_allclose((low(x + step) - low(x - step)) / (2 * step), high(x), atol=1e-6)
    assert abs(series.primitive(0.0)) < 1e-15
    assert series.primitive(period) == pytest.approx(series.mean * period, rel=1e-12)


@pytest.mark.parametrize("length", [0.02, 0.06, 0.2])
@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_covariance_is_a_gaussian_of_the_distance(boundary: Boundary, length: float) -> None:
    field = random_field(Ones(), length, boundary)  # type: ignore[arg-type]
    variance, distance = field.coefficients.real**2, np.linspace(0, 1, 101)
    np.testing.assert_array_equal(field.coefficients.imag[1:], field.coefficients.real[1:])
    waves = 2 * np.pi * np.arange(len(variance)) / field.period
    covariance = np.cos(np.outer(distance, waves)) @ variance
    images = np.arange(-8, 9) if boundary == "periodic" else np.zeros(1)
    expected = np.exp(-((distance[:, None] - images) ** 2) / (2 * length**2)).sum(1)
    np.testing.assert_allclose(covariance, expected / expected[0], atol=1e-13)
    assert (field.period == 1) == (boundary == "periodic")


def test_starts_have_unit_variance() -> None:
    values = np.stack([draw_start(0, number).value(np.arange(4) / 4) for number in range(1000)])
    np.testing.assert_allclose(values.mean(0), 0, atol=0.15)
    np.testing.assert_allclose(np.cov(values.T), np.eye(4), atol=0.2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"length": SHORTEST / 2}, "'length' to be from"),
        ({"length": 2.0}, "'length' to be from"),
        ({"length": np.nan}, "'length' to be from"),
        ({"boundary": "open"}, "'boundary' to be one of periodic, constant"),
    ],
)
def test_bad_options_of_a_start_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        random_field(np.random.default_rng(0), **options)


# The solution


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_before_the_shock_characteristics_carry_the_start(boundary: Boundary) -> None:
    start = draw_start(0, 0, boundary=boundary)
    edges = np.linspace(0, 1, 1025)
    time = -0.9 / start.slope(edges).min()  # the first shock comes at 1
    if boundary == "constant":
        edges = edges[(edges > time * start.value(0.0)) & (edges < 1 + time * start.value(1.0))]
    origin = edges.copy()
    for _ in range(50):
        origin -= (origin + time * start.value(origin) - edges) / (1 + time * start.slope(origin))
    np.testing.assert_allclose(origin + time * start.value(origin), edges, atol=1e-15)
    # The mass between two characteristics stays, but for what they sweep over.
    potential = start.primitive(origin) + time * start.value(origin) ** 2 / 2
    averages = cell_averages(start, time, boundary=boundary)
    first = round(edges[0] * 1024)
    np.testing.assert_allclose(averages[first : first + len(edges) - 1], np.diff(potential) * 1024, atol=3e-13)


@pytest.mark.parametrize("time", [0.1, 0.16, 0.165, 0.2, 1.0])
def test_all_averages_of_a_sine_against_the_closed_form(time: float) -> None:
    shock = sine_shock(time) if time > 1 / (2 * np.pi) else 0.0
    edges = np.arange(513) / 1024
    origin = np.array(
        [brentq(lambda y, x=x: y + time * np.sin(2 * np.pi * y) - x, 0, 0.5 - shock, xtol=1e-15) for x in edges[:-1]]
        + [0.5 - shock]
    )
    potential = (1 - np.cos(2 * np.pi * origin)) / (2 * np.pi) + (edges - origin) ** 2 / (2 * time)
    left = np.diff(potential) * 1024
    np.testing.assert_allclose(cell_averages(SINE, time), np.append(left, -left[::-1]), atol=3e-13)


@pytest.mark.parametrize(
    ("time", "jump", "error"), [(0.16, 0.35443, 2e-3), (0.165, 0.89419, 1e-5), (0.2, 1.820442, 1e-6)]
)
def test_jumps_of_the_shock_of_a_sine(time: float, jump: float, error: float) -> None:
    assert 2 * sine_shock(time) / time == pytest.approx(jump, abs=1e-5)
    averages = cell_averages(SINE, time, 2**16)
    one, two, three = averages[2**15 - 3 : 2**15]
    at_edge = (2 * one - 7 * two + 11 * three) / 6  # the value of the parabola with these averages
    assert 2 * at_edge == pytest.approx(jump, abs=error + 1e-6)


@pytest.mark.parametrize("length", [SHORTEST, 0.06, 0.5])
@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_against_the_formula_by_brute_force(boundary: Boundary, length: float) -> None:
    time, spacing = 0.1, 1e-5
    for number in range(3):
        start = draw_start(3, number, length, boundary)
        y = np.arange(-0.6, 1.6, spacing)
        value = start.value(np.clip(y, 0, 1) if boundary == "constant" else y)
        potential = np.cumsum(np.append(0, (value[:-1] + value[1:]) / 2 * spacing))
        edges = np.arange(0, 1025, 64) / 1024
        least = np.array([(potential + (x - y) ** 2 / (2 * time)).min() for x in edges])
        averages = cell_averages(start, time, boundary=boundary)
        np.testing.assert_allclose(averages.reshape(16, 64).mean(1) / 16, np.diff(least), atol=1e-8)


def test_coarse_averages_are_means_of_fine_ones() -> None:
    for boundary in BOUNDARIES:
        start = draw_start(1, 0, 0.06, boundary)
        fine, coarse = (cell_averages(start, 0.1, cells, boundary) for cells in (3000, 1000))
        np.testing.assert_allclose(fine.reshape(1000, 3).mean(1), coarse, atol=1e-12)


def test_mass_is_conserved_and_the_solution_is_the_entropy_solution() -> None:
    for number in range(50):
        start = draw_start(0, number)
        before, after = solve(start)
        assert abs(before.mean() - after.mean()) < 2e-15
        assert abs(after.mean() - start.mean) < 2e-15
        rise = np.diff(after, append=after[0])
        assert rise.max() <= 1 / 1024 / 0.1 + 1e-12  # Oleinik: slopes of at most 1 / T
        assert np.abs(rise).sum() <= np.abs(np.diff(before, append=before[0])).sum() * (1 + 1e-3)
        values = start.value(np.arange(8192) / 8192)
        assert values.min() - 1e-3 < after.min() and after.max() < values.max() + 1e-3


def test_with_constant_ends_mass_changes_by_what_flows_through_them() -> None:
    times = (np.arange(200) + 0.5) / 200 * 0.1
    for number in range(2):
        start = draw_start(0, number, boundary="constant")
        before, after = solve(start, "constant")
        ends = np.array([cell_averages(start, time, boundary="constant")[[0, -1]] for time in times])
        inflow = (ends[:, 0] ** 2 - ends[:, 1] ** 2).mean() / 2 * 0.1
        assert abs(inflow) > 2e-3
        assert after.mean() - before.mean() == pytest.approx(inflow, abs=2e-4)


def test_shifts_mirrors_and_moving_observers() -> None:
    start = draw_start(0, 5)
    averages = cell_averages(start, 0.1)
    wave = np.exp(-2j * np.pi * np.arange(len(start.coefficients)) * 100 / 1024)
    shifted = FourierSeries(start.coefficients * wave)
    np.testing.assert_allclose(cell_averages(shifted, 0.1), np.roll(averages, 100), atol=2e-12)
    mirrored = FourierSeries(-start.coefficients.conj())
    np.testing.assert_allclose(cell_averages(mirrored, 0.1), -averages[::-1], atol=2e-12)
    faster = start.coefficients.copy()
    faster[0] += 20 * 10 / 1024  # 20 cells in the time 0.1
    np.testing.assert_allclose(
        cell_averages(FourierSeries(faster), 0.1), np.roll(averages, 20) + 200 / 1024, atol=2e-12
    )


def weno(averages: Floats, time: float, boundary: Boundary) -> Floats:
    """Fifth-order WENO, Godunov's flux, three-stage Runge-Kutta; cells of size 1."""
    cells = len(averages)
    steps = int(np.ceil(time * np.abs(averages).max() / 0.5))
    pace = time / steps

    def before_edge(a: Floats, b: Floats, c: Floats, d: Floats, e: Floats) -> Floats:
        values = (2 * a - 7 * b + 11 * c) / 6, (-b + 5 * c + 2 * d) / 6, (2 * c + 5 * d - e) / 6
        rough = (
            13 / 12 * (a - 2 * b + c) ** 2 + (a - 4 * b + 3 * c) ** 2 / 4,
            13 / 12 * (b - 2 * c + d) ** 2 + (b - d) ** 2 / 4,
            13 / 12 * (c - 2 * d + e) ** 2 + (3 * c - 4 * d + e) ** 2 / 4,
        )
        one, two, three = (ideal / (1e-6 + r) ** 2 for ideal, r in zip((0.1, 0.6, 0.3), rough, strict=True))
        return np.asarray((one * values[0] + two * values[1] + three * values[2]) / (one + two + three))

    def rate(u: Floats) -> Floats:
        wide = np.pad(u, 3, "wrap" if boundary == "periodic" else "edge")
        part = [wide[k : k + cells + 1] for k in range(6)]
        left, right = before_edge(*part[:5]), before_edge(*part[:0:-1])
        return np.asarray(-np.diff(np.maximum(np.maximum(left, 0) ** 2, np.minimum(right, 0) ** 2) / 2))

    u = averages
    for _ in range(steps):
        one = u + pace * rate(u)
        two = 0.75 * u + 0.25 * (one + pace * rate(one))
        u = u / 3 + 2 / 3 * (two + pace * rate(two))
    return u


@pytest.mark.parametrize(("boundary", "number"), [("periodic", 0), ("constant", 3), ("constant", 4)])
def test_against_a_weno_scheme(boundary: Boundary, number: int) -> None:
    start, errors = draw_start(0, number, boundary=boundary), list[float]()
    for cells in (256, 1024):
        before, after = (cell_averages(start, time, cells, boundary) for time in (0.0, 0.1))
        margin = 0 if boundary == "periodic" else cells // 2  # waves do not cross it
        ends = start.value([0.0, 1.0])
        wide = np.pad(before, margin, "constant", constant_values=tuple(ends)) if margin else before
        computed = weno(wide, 0.1 * cells, boundary)[margin : margin + cells]
        errors.append(np.abs(computed - after).sum() / np.abs(after).sum())
    assert errors[1] < 1.5e-3
    assert np.median(np.abs(computed - after)) < 1e-7
    assert errors[0] / errors[1] > 2  # first order: the shocks


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"time": -1.0}, "'time' not to be negative"),
        ({"time": np.nan}, "'time' not to be negative"),
        ({"time": 0.1, "cells": 0}, "'cells' to be at least 1"),
        ({"time": 0.1, "boundary": "open"}, "'boundary' to be one of"),
    ],
)
def test_bad_options_of_a_solution_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        cell_averages(SINE, **options)


def test_a_start_of_another_period_is_no_periodic_solution() -> None:
    with pytest.raises(ValueError, match=r"period 1 for a periodic solution \(got 1\.54\)"):
        solve(draw_start(0, 0, boundary="constant"))
