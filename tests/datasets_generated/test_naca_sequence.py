"""Grid sequencing: interpolation between grids, the same flow as without it, and what happens where a start fails."""

from __future__ import annotations

import functools

import naca_sequence as naca_sequence
import numpy as np
import pytest
from naca_flux import GAMMA
from naca_linear import norm
from naca_mesh import GRID, LEADING, PARAMETERS, grid
from naca_samples import draw_theta
from naca_sequence import refine, sequenced
from naca_solver import LOOSE, TIGHT, Euler, Flow, free_stream, steady
from naca_volumes import dual_mesh, topology

COARSE = (111, 26)


def linear_state(shape, step):
    """Piecewise bilinear in the grid's indices, kinks on even lines; the same on both sides of the wake cut."""
    i, outward = step * np.arange(shape[0])[:, None] - LEADING, step * np.arange(shape[1]) / 50
    distance = abs(i) / LEADING + 0 * outward
    side = np.sign(i) * np.clip(30 - abs(abs(i) - 30), 0, None) / 30 + 0 * outward  # nothing from trailing edge on
    values = np.stack([distance, side, 1 + 2 * distance - outward, distance * outward + side * outward], -1)
    state = np.empty((len(topology(shape).diagonal), 4))
    state[topology(shape).node] = values
    return state


@functools.cache
def direct_flow(number):
    return steady(grid(draw_theta(0, number)))


def mach(state):
    return np.hypot(state[:, 1], state[:, 2]) / np.sqrt(GAMMA * state[:, 3] / state[:, 0])


def test_interpolation_is_exact_for_states_linear_along_both_directions():
    fine = linear_state(GRID, 1)
    assert np.abs(refine(linear_state(COARSE, 2), GRID) - fine).max() < 1e-14
    assert np.ptp(fine, axis=0).min() > 0.9


def test_interpolation_keeps_values_on_coarse_lines_and_is_linear_in_them():
    random = np.random.default_rng(0)
    one, two = random.standard_normal((2, 2860, 4))
    refined = refine(one, GRID)
    assert np.array_equal(refined[topology().node[::2, ::2]], one[topology(COARSE).node])
    assert np.allclose(refine(2 * one - two, GRID), 2 * refined - refine(two, GRID), atol=1e-14)


def test_interpolation_of_the_free_stream_is_the_free_stream():
    state = refine(np.tile(free_stream(), (2860, 1)), GRID)
    assert state.shape == (11220, 4) and np.array_equal(state, np.tile(free_stream(), (11220, 1)))


def test_states_that_do_not_fit_the_grid_are_refused():
    with pytest.raises(ValueError, match="odd"):
        refine(np.zeros((2860, 4)), (220, 51))
    with pytest.raises(ValueError, match=r"\[2860, channels\]"):
        refine(np.zeros((11220, 4)), GRID)
    with pytest.raises(ValueError, match="'start'"):
        steady(grid(np.zeros(PARAMETERS)), start=np.zeros((2860, 4)))


@pytest.mark.parametrize("number", [1, 3])
def test_the_flow_is_that_of_the_direct_solver_in_fewer_products(number):
    points = grid(draw_theta(0, number))
    flow, direct = sequenced(points), direct_flow(number)
    one, two = mach(flow.state), mach(direct.state)
    assert np.linalg.norm(one - two) < 3e-4 * np.linalg.norm(two)  # both are as far from the limit as that
    assert flow.products < 0.8 * direct.products
    euler = Euler(dual_mesh(points))
    free = norm(euler.residual(np.tile(free_stream(), (11220, 1))))
    assert norm(euler.residual(flow.state)) <= 1e-4 * free
    assert flow.residuals[-1] == pytest.approx(norm(euler.residual(flow.state)) / free)
    assert direct.residuals[0] == 1.0


@pytest.fixture
def recorded(monkeypatch):
    """Calls of the solver; those for which ``fails`` says so fail, others return their start."""
    calls, fails = [], set()

    def made(points, tolerance=1e-4, max_steps=80, start=None, cfl=20.0, linear=LOOSE):
        fine = points.shape[:2] == GRID
        way = ("fine" if fine else "coarse", "free" if start is None else "start", linear)
        calls.append(way)
        if len(calls) in fails:
            raise ArithmeticError("no convergence")
        assert tolerance == (1e-4 if fine else 1e-3)
        state = np.tile(free_stream(), (topology(points.shape[:2]).node.max() + 1, 1)) if start is None else start
        return Flow(state, [1.0, float(len(calls))], 0)

    monkeypatch.setattr(naca_sequence, "steady", made)
    return calls, fails


def test_the_coarse_flow_comes_first(recorded):
    calls, _ = recorded
    sequenced(grid(np.zeros(PARAMETERS)))
    assert calls == [("coarse", "free", LOOSE), ("fine", "start", LOOSE)]


@pytest.mark.parametrize("failing", [1, 2])
def test_where_the_coarse_grid_or_its_start_fails_the_free_stream_is_next(recorded, failing):
    calls, fails = recorded
    fails.add(failing)
    flow = sequenced(grid(np.zeros(PARAMETERS)))
    assert calls[-1] == ("fine", "free", LOOSE) and flow.residuals[-1] == len(calls) == failing + 1


def test_the_last_way_solves_linear_systems_further(recorded):
    calls, fails = recorded
    fails |= {1, 2}
    flow = sequenced(grid(np.zeros(PARAMETERS)))
    assert calls[2:] == [("coarse", "free", LOOSE), ("fine", "start", TIGHT)] and flow.residuals[-1] == 4


def test_a_flow_that_converges_in_no_way_is_an_error(recorded):
    _, fails = recorded
    fails |= set(range(1, 9))
    with pytest.raises(ArithmeticError, match="no convergence"):
        sequenced(grid(np.zeros(PARAMETERS)))


def test_the_free_stream_is_taken_where_the_coarse_grid_gives_nothing(monkeypatch):
    monkeypatch.setattr(naca_sequence, "_COARSE_STEPS", 1)
    flow, direct = sequenced(grid(draw_theta(0, 1))), direct_flow(1)
    assert np.array_equal(flow.state, direct.state) and flow.residuals == direct.residuals
