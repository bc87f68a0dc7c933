"""The ShockTube generator: known star states, jump conditions, conservation, a Godunov scheme."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from shock_tube_samples import ShockTube, cell_averages, draw_tube, solve
from shock_tube_solver import GAMMA, Floats, Gas, Star, conservative, riemann_solution, star_state

SCRIPT = Path(__file__).parents[2] / "datasets" / "shock_tube" / "generate.py"
SOD = ShockTube(Gas(1.0, 0.0, 1.0), Gas(0.125, 0.0, 0.1), 0.3)
# Toro's tables 4.1 and 4.3; the first is Sod's.
TORO = [
    (SOD.left, SOD.right, (0.30313, 0.92745, 0.42632, 0.26557)),
    (Gas(1.0, -2.0, 0.4), Gas(1.0, 2.0, 0.4), (0.00189, 0.0, 0.02185, 0.02185)),
    (Gas(1.0, 0.0, 1000.0), Gas(1.0, 0.0, 0.01), (460.894, 19.5975, 0.57506, 5.99924)),
    (Gas(1.0, 0.0, 0.01), Gas(1.0, 0.0, 100.0), (46.0950, -6.19633, 5.99242, 0.57511)),
    (Gas(5.99924, 19.5975, 460.894), Gas(5.99242, -6.19633, 46.0950), (1691.64, 8.68975, 14.2823, 31.0426)),
]


def flux(primitive: Floats) -> Floats:
    density, velocity, pressure = np.moveaxis(primitive, -1, 0)
    energy = conservative(primitive)[..., 2]
    return np.stack([density * velocity, density * velocity**2 + pressure, (energy + pressure) * velocity], -1)


def sound(primitive: Any) -> Any:
    return np.sqrt(GAMMA * np.asarray(primitive)[..., 2] / np.asarray(primitive)[..., 0])


# The Riemann problem


@pytest.mark.parametrize(("left", "right", "expected"), TORO)
def test_star_states_of_toros_book(left: Gas, right: Gas, expected: tuple[float, ...]) -> None:
    np.testing.assert_allclose(star_state(left, right), expected, rtol=1e-5, atol=6e-6)


def test_star_state_of_sod() -> None:
    star = star_state(SOD.left, SOD.right)
    np.testing.assert_allclose(star, (0.303130, 0.927453, 0.42632, 0.26557), atol=5e-6)


def waves(left: Gas, right: Gas) -> list[tuple[Floats, Floats, Star]]:
    """Outer state, mirrored to be on the left; state behind the wave; star state."""
    star = star_state(left, right)
    result = []
    for gas, density, sign in ((left, star.left_density, 1), (right, star.right_density, -1)):
        behind = np.array((density, sign * star.velocity, star.pressure))
        result.append((np.array(gas) * (1, sign, 1), behind, star))
    return result


def random_gases(count: int) -> list[tuple[Gas, Gas]]:
    random = np.random.default_rng(0)
    numbers = random.uniform((-1, -1, 0), (1, 1, 3), (2, count, 3)).tolist()
    one, two = ([Gas(10**a, b, 10**c) for a, b, c in side] for side in numbers)
    return list(zip(one, two, strict=True))


def test_waves_satisfy_the_jump_conditions_or_keep_the_invariants() -> None:
    pairs = [case[:2] for case in TORO] + random_gases(200)
    shocks = 0
    for ahead, behind, star in (wave for left, right in pairs for wave in waves(left, right)):
        shocks += star.pressure > ahead[2]
        if star.pressure > ahead[2]:  # a shock
            jump = conservative(behind) - conservative(ahead)
            speed = (flux(behind) - flux(ahead))[0] / jump[0]
            scale = np.abs(flux(behind)) + np.abs(flux(ahead)) + np.abs(speed * jump)
            assert (np.abs(flux(behind) - flux(ahead) - speed * jump) < 1e-11 * scale).all()
            assert speed < ahead[1] - sound(ahead) and speed > behind[1] - sound(behind)  # Lax
        else:
            assert behind[2] / behind[0] ** GAMMA == pytest.approx(ahead[2] / ahead[0] ** GAMMA, rel=1e-10)
            invariant = [state[1] + 2 * sound(state) / (GAMMA - 1) for state in (ahead, behind)]
            assert abs(invariant[0] - invariant[1]) < 1e-10 * (abs(ahead[1]) + 5 * sound(ahead))
    assert 100 < shocks < 300


def test_fans_are_isentropic_and_move_with_their_characteristics() -> None:
    speed = np.linspace(-4, 4, 4001)
    for left, right, _ in TORO[:2]:
        states = riemann_solution(left, right, speed)
        star = star_state(left, right)
        fan = (states[:, 2] < left.pressure * (1 - 1e-9)) & (states[:, 2] > star.pressure * (1 + 1e-9))
        fan &= speed < star.velocity
        assert fan.sum() > 100
        inside = states[fan]
        np.testing.assert_allclose(inside[:, 1] - sound(inside), speed[fan], atol=1e-12)
        np.testing.assert_allclose(
            inside[:, 2] / inside[:, 0] ** GAMMA, left.pressure / left.density**GAMMA, rtol=1e-12
        )
        invariant = left.velocity + 5 * sound(left)
        np.testing.assert_allclose(inside[:, 1] + 5 * sound(inside), invariant, rtol=1e-12)
        assert (np.abs(np.diff(states[speed < star.velocity], axis=0)) < 0.01).all()  # continuous


def test_sod_at_the_places_of_its_waves() -> None:
    star = star_state(SOD.left, SOD.right)
    head, tail = -np.sqrt(1.4), star.velocity - np.sqrt(1.4 * star.pressure / star.left_density)
    shock = star.velocity * star.right_density / (star.right_density - 0.125)
    assert shock == pytest.approx(1.75216, abs=1e-5)
    places = [
        -np.inf,
        head - 1e-9,
        tail + 1e-9,
        star.velocity - 1e-9,
        star.velocity + 1e-9,
        shock - 1e-9,
        shock + 1e-9,
        np.inf,
    ]
    middle = star.velocity, star.pressure
    expected = (
        [SOD.left] * 2 + [(star.left_density, *middle)] * 2 + [(star.right_density, *middle)] * 2 + [SOD.right] * 2
    )
    np.testing.assert_allclose(riemann_solution(SOD.left, SOD.right, places), expected, atol=1e-8)


def test_a_mirror_and_a_moving_observer() -> None:
    speed = np.linspace(-30, 30, 2000) + 1e-6
    for left, right, _ in TORO:
        states = riemann_solution(left, right, speed)
        mirrored = riemann_solution(
            Gas(right.density, -right.velocity, right.pressure),
            Gas(left.density, -left.velocity, left.pressure),
            -speed,
        )
        np.testing.assert_allclose(mirrored * (1, -1, 1), states, rtol=1e-9, atol=1e-9)
        one, two = (Gas(gas.density, gas.velocity + 3, gas.pressure) for gas in (left, right))
        faster = riemann_solution(one, two, speed + 3)
        np.testing.assert_allclose(faster - np.array([0, 3, 0]), states, rtol=1e-9, atol=1e-9)


def test_equal_gases_stay_as_they_are() -> None:
    gas = Gas(0.7, 0.3, 2.0)
    np.testing.assert_allclose(riemann_solution(gas, gas, np.linspace(-5, 5, 100)), np.tile(gas, (100, 1)), rtol=1e-14)


def test_another_ratio_of_specific_heats() -> None:
    left, right, gamma = Gas(1.0, 0.0, 10.0), Gas(1.0, 0.0, 1.0), 5 / 3
    star = star_state(left, right, gamma)
    rise = star.pressure / right.pressure
    assert star.right_density == pytest.approx((4 * rise + 1) / (rise + 4))  # Hugoniot's curve
    assert star.left_density == pytest.approx((star.pressure / 10) ** 0.6)
    assert conservative((2.0, 3.0, 4.0), gamma)[2] == pytest.approx(15)


@pytest.mark.parametrize(
    ("left", "right", "message"),
    [
        (Gas(0.0, 0.0, 1.0), SOD.right, "the left gas to be finite, density and pressure positive"),
        (SOD.left, Gas(1.0, 0.0, -1.0), "the right gas to be finite"),
        (SOD.left, Gas(1.0, np.nan, 1.0), "the right gas to be finite"),
        (Gas(1.0, -6.0, 1.0), Gas(1.0, 6.0, 1.0), "a vacuum forms"),
    ],
)
def test_what_has_no_solution_is_refused(left: Gas, right: Gas, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        star_state(left, right)


# The tube


def test_initial_averages() -> None:
    for number in range(20):
        tube = draw_tube(0, number)
        averages = cell_averages(tube, 0.0)
        edges = np.linspace(-5, 5, 2049)
        part = np.clip((tube.diaphragm - edges[:-1]) / np.diff(edges), 0, 1)[:, None]
        left, right = conservative(tube.left), conservative(tube.right)
        whole = (part == 0) | (part == 1)
        assert whole.sum() == 2047
        np.testing.assert_allclose(averages[whole[:, 0]], np.where(part, left, right)[whole[:, 0]], rtol=1e-14)
        exact = part * left + (1 - part) * right
        assert (np.abs(averages - exact) <= np.abs(left - right) / 16 + 1e-12).all()  # half of a midpoint's share


def test_draws_stay_in_their_ranges_and_fill_them() -> None:
    tubes = [draw_tube(0, number) for number in range(1000)]
    drawn = np.array([(*tube.left, *tube.right, tube.diaphragm) for tube in tubes])
    low = np.array([0.3, 0.0, 0.9, 0.1, 0.0, 0.05, -0.5])
    high = np.array([1.2, 1.0, 4.1, 0.7, 0.0, 0.7, 0.5])
    assert (drawn >= low).all() and (drawn <= high).all()
    assert (drawn.min(0) <= low + 0.01 * (high - low)).all() and (drawn.max(0) >= high - 0.01 * (high - low)).all()
    correlation = np.corrcoef(np.delete(drawn, 4, 1).T)
    assert np.abs(correlation - np.eye(6)).max() < 0.15


@pytest.mark.parametrize("number", range(6))
def test_mass_momentum_and_energy_change_by_what_flows_through_the_ends(number: int) -> None:
    tube, times = draw_tube(0, number), (np.arange(20000) + 0.5) / 20000 * 1.5
    ends = [riemann_solution(tube.left, tube.right, (end - tube.diaphragm) / times) for end in (-5, 5)]
    inflow = 1.5 * (flux(ends[0]).mean(0) - flux(ends[1]).mean(0))
    spread = np.abs(conservative(tube.left) - conservative(tube.right)).max() + 1
    for cells, points in ((2048, 8), (2048, 512)):
        before, after = (cell_averages(tube, time, cells, points).sum(0) * 10 / cells for time in (0.0, 1.5))
        # Each jump is wrong by half of a midpoint's share at most.
        np.testing.assert_allclose(after - before, inflow, atol=4 * spread * 10 / cells / points / 2 + 1e-3 / points)
    assert np.abs(inflow).max() > 0.3


def test_waves_may_leave_the_tube() -> None:
    after = np.stack([solve(draw_tube(0, number))[1] for number in range(40)])
    before = np.stack([solve(draw_tube(0, number))[0] for number in range(40)])
    through = (after[:, -1] != before[:, -1]).any(-1)
    assert 0 < through.sum() < 10


def test_midpoints_converge() -> None:
    tube = draw_tube(0, 1)
    exact = cell_averages(tube, 1.5, 256, 2048)
    errors = [np.abs(cell_averages(tube, 1.5, 256, points) - exact).mean() for points in (1, 8, 64)]
    assert errors[0] / errors[1] > 4 and errors[1] / errors[2] > 4  # first order: the jumps


def godunov(averages: Floats, time: float, width: float) -> Floats:
    """A first-order scheme with the HLL flux."""
    u = averages.copy()
    while time > 0:
        wide = np.concatenate([u[:1], u, u[-1:]])
        velocity = wide[:, 1] / wide[:, 0]
        pressure = (GAMMA - 1) * (wide[:, 2] - wide[:, 1] * velocity / 2)
        primitive = np.stack([wide[:, 0], velocity, pressure], 1)
        speed, f = sound(primitive), flux(primitive)
        slow = np.minimum(np.minimum(velocity - speed, 0)[:-1], np.minimum(velocity - speed, 0)[1:])[:, None]
        fast = np.maximum(np.maximum(velocity + speed, 0)[:-1], np.maximum(velocity + speed, 0)[1:])[:, None]
        between = (fast * f[:-1] - slow * f[1:] + fast * slow * (wide[1:] - wide[:-1])) / (fast - slow)
        step = min(time, 0.8 * width / max(fast.max(), -slow.min()))
        u -= step / width * np.diff(between, axis=0)
        time -= step
    return u


def test_against_a_scheme_of_finite_volumes() -> None:
    for number in (0, 1):
        tube, errors = draw_tube(0, number), list[Any]()
        for cells in (256, 1024):
            before, after = (cell_averages(tube, time, cells, 32) for time in (0.0, 1.5))
            errors.append(np.abs(godunov(before, 1.5, 10 / cells) - after).sum(0) / np.abs(after).sum(0))
        assert (errors[1] < 0.05).all()
        assert (errors[0] / errors[1] > 1.7).all()  # about order 1/2 at the contact, 1 elsewhere


@pytest.mark.parametrize(
    "options", [{"time": -1.0}, {"time": np.inf}, {"time": 1.0, "cells": 0}, {"time": 1.0, "midpoints": 0}]
)
def test_bad_options_of_averages_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="Expected 'time' not to be negative"):
        cell_averages(SOD, **options)
