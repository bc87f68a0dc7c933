"""NACA: airfoils, C-grids, dual volumes, fluxes, the solver on a known airfoil, and the files."""

from __future__ import annotations

import json
import logging

import naca_samples as naca
import numpy as np
import pytest
from naca_flux import GAMMA
from naca_mesh import GRID, LEADING, PARAMETERS, airfoil, cell_areas, grid, morph, stretching
from naca_samples import FILES, draw_theta, generate, picture, solve
from naca_solver import Euler, forces, free_stream, steady
from naca_volumes import dual_mesh, topology


@pytest.fixture(scope="module")
def naca0012():
    points = grid(np.zeros(PARAMETERS))
    return points, steady(points, tolerance=1e-5)


def random_state(count, seed=0):
    noise = 0.1 * np.random.default_rng(seed).standard_normal((count, 4))
    return free_stream() * (1 + noise) + noise[:, ::-1] * [0, 0, 1, 0]


def test_the_airfoil_is_naca0012():
    points = airfoil()
    assert points.shape == (121, 2) and points[0].tolist() == points[-1].tolist() == [1, 0]
    assert np.array_equal(points[:, 0], points[::-1, 0]) and np.array_equal(points[:, 1], -points[::-1, 1])
    thickness = 2 * points[:, 1].max()
    assert thickness == pytest.approx(0.12, abs=1e-3)
    assert points[points[:, 1].argmax(), 0] == pytest.approx(0.3, abs=0.02)


def test_morphing_moves_the_corners_of_its_box_by_the_coefficients():
    knots = np.array([-0.25, 0.25, 0.75, 1.25])
    corners = np.concatenate([np.stack([knots, np.full(4, y)], 1) for y in (-0.1, 0.1)])
    theta = np.arange(1.0, 9.0) / 100
    moved = morph(corners, theta)[:, 1] - corners[:, 1]
    assert np.allclose(moved, theta[[0, 1, 2, 3, 7, 6, 5, 4]])  # counter-clockwise
    assert np.array_equal(morph(corners, np.zeros(8)), corners)


def test_stretching_adds_up_and_starts_as_asked():
    for first, cells in ((1e-3, 50), (0.019, 50), (1 / 2400, 50)):
        places = stretching(first, cells)
        steps = np.diff(places)
        assert places[0] == 0 and places[-1] == 1 and steps[0] == pytest.approx(first)
        assert (steps > 0).all() and (np.diff(steps) > -1e-12).all()
    with pytest.raises(ValueError, match="'first'"):
        stretching(0.1, 50)


def test_no_cell_is_inverted_in_200_shapes():
    assert min(cell_areas(grid(draw_theta(1, number))).min() for number in range(200)) > 0


def test_the_grid_is_symmetric_and_its_wake_closed():
    points = grid(np.zeros(PARAMETERS))
    assert points.shape == (*GRID, 2) and np.array_equal(points[:51, 0], points[:169:-1, 0])
    assert np.abs(points[::-1] * [1, -1] - points).max() < 1e-13
    assert np.allclose(points[:, -1][[0, LEADING]], [[40, 40], [-39, 0]])
    uneven = grid(draw_theta(0, 3))
    assert np.array_equal(uneven[:51, 0], uneven[:169:-1, 0])


@pytest.mark.parametrize("number", [None, 0, 5])
def test_dual_volumes_are_closed_and_fill_the_domain(number):
    points = grid(np.zeros(8) if number is None else draw_theta(0, number))
    mesh = dual_mesh(points)
    assert len(mesh.volume) == 11220 and len(mesh.face) == 22220
    total = mesh.wall + mesh.far
    np.add.at(total, mesh.pattern.edges[:, 0], mesh.face)
    np.subtract.at(total, mesh.pattern.edges[:, 1], mesh.face)
    assert np.abs(total).max() < 1e-12
    ring = np.concatenate([points[:, -1], points[::-1, 0]])  # the outer boundary, then back along the wake and wall
    x, y = ring.T
    area = 0.5 * (x * np.roll(y, -1) - y * np.roll(x, -1)).sum()
    assert mesh.volume.sum() == pytest.approx(abs(area), rel=1e-12)


@pytest.mark.parametrize("second_order", [False, True])
def test_the_free_stream_is_preserved_where_there_is_no_wall(second_order):
    euler = Euler(dual_mesh(grid(draw_theta(0, 1))))
    state = np.tile(free_stream(), (11220, 1))
    residual = euler.residual(state, second_order)
    inside = ~(euler.mesh.wall != 0).any(1)
    assert np.abs(residual[inside]).max() < 1e-12
    flux = free_stream()[0] * (euler.mesh.wall[~inside] @ free_stream()[1:3])  # what the wall lets not pass
    assert np.allclose(residual[~inside, 0], -flux, atol=1e-12)


def test_fluxes_between_volumes_cancel():
    euler = Euler(dual_mesh(grid(draw_theta(0, 2))))
    state = random_state(11220)
    changed = state.copy()
    interior = np.flatnonzero(~((euler.mesh.wall != 0) | (euler.mesh.far != 0)).any(1))
    changed[interior] = random_state(len(interior), 1)
    difference = euler.residual(changed).sum(0) - euler.residual(state).sum(0)
    scale = np.abs(euler.residual(changed)).sum(0)
    far = np.isin(euler.mesh.pattern.edges, interior).all(1)
    assert far.any() and (np.abs(difference[0]) < 1e-10 * scale[0])


def test_products_with_the_jacobian_are_differences_of_the_residual():
    euler = Euler(dual_mesh(grid(draw_theta(0, 4))))
    state, change = random_state(11220), random_state(11220, 2) - free_stream()
    product = euler.product(state, euler.residual(state), change)
    central = (euler.residual(state + 1e-6 * change) - euler.residual(state - 1e-6 * change)) / 2e-6
    assert np.median(np.abs(product - central)) < 1e-5 * np.median(np.abs(central))  # minmod has kinks


def test_naca0012_is_symmetric_with_its_shock_in_the_middle(naca0012):
    points, flow = naca0012
    drag, lift = forces(points, flow.state)
    assert abs(lift) < 1e-6 and drag == pytest.approx(0.0201, abs=5e-4)
    assert flow.residuals[-1] <= 1e-5 * flow.residuals[0]
    node = topology().node
    wall = node[50:111, 0]  # upper side, from the trailing edge
    x, pressure = points[50:111, 0, 0], flow.state[wall, 3]
    steepest = np.argmin(np.diff(pressure) / np.diff(x) * -1)
    shock = x[steepest : steepest + 2].mean()
    assert 0.45 < shock < 0.55
    mach = np.hypot(*flow.state[:, 1:3].T) / np.sqrt(GAMMA * flow.state[:, 3] / flow.state[:, 0])
    assert 1.2 < mach.max() < 1.5 and mach[node[:, -1]] == pytest.approx(0.8, abs=0.01)


def test_total_enthalpy_is_that_of_the_free_stream(naca0012):
    _, flow = naca0012
    density, u, v, pressure = flow.state.T
    total = GAMMA / (GAMMA - 1) * pressure / density + (u**2 + v**2) / 2
    reference = GAMMA / (GAMMA - 1) + free_stream()[1] ** 2 / 2
    assert np.median(np.abs(total / reference - 1)) < 2e-3


def test_a_flow_that_does_not_converge_is_an_error():
    with pytest.raises(ArithmeticError, match="in 2 steps"):
        steady(grid(np.zeros(PARAMETERS)), max_steps=2)


@pytest.mark.parametrize("theta", [np.zeros(7), np.full(8, np.nan)])
def test_wrong_coefficients_are_refused(theta):
    with pytest.raises(ValueError, match="8 finite coefficients"):
        grid(theta)


def test_shapes_depend_on_seed_sample_and_attempt_alone():
    theta = draw_theta(1, 2)
    assert theta[0] == 0 and np.abs(theta).max() <= 0.05 and np.array_equal(theta, draw_theta(1, 2))
    assert all((theta != other).any() for other in (draw_theta(1, 3), draw_theta(2, 2), draw_theta(1, 2, 1)))


@pytest.fixture
def quick(monkeypatch, naca0012):
    """Every second shape fails the first time; the flow is that of NACA0012."""
    points, flow = naca0012
    state = np.moveaxis(flow.state[topology().node], -1, 0)
    calls = []

    def made(theta):
        calls.append(theta)
        if any(np.array_equal(theta, draw_theta(0, number)) for number in (1, 3)):
            raise ArithmeticError("no convergence")
        return points, np.concatenate([state, state[:1]]), 40

    monkeypatch.setattr(naca, "solve", made)
    return calls


def test_shapes_that_fail_are_replaced_and_counted(tmp_path, quick, caplog):
    with caplog.at_level(logging.INFO, "pitgeo"):
        generate(tmp_path, samples=4, processes=1, progress=False)
    assert "2 shapes did not converge" in caplog.text and len(quick) == 6
    with np.load(tmp_path / FILES[3]) as shapes:
        assert shapes["given_up"].tolist() == [0, 1, 0, 1]
        assert np.array_equal(shapes["theta"][1], draw_theta(0, 1, 1))
    assert np.load(tmp_path / FILES[0]).shape == (4, *GRID) and np.load(tmp_path / FILES[2]).shape == (4, 5, *GRID)
    assert json.loads((tmp_path / "generated.json").read_text())["settings"]["samples"] == 4
    assert picture(tmp_path, tmp_path / "p.png", 3).exists()


def test_a_sample_all_of_whose_shapes_fail_ends_the_generation(tmp_path, monkeypatch):
    def failing(theta):
        raise ArithmeticError("no convergence")

    monkeypatch.setattr(naca, "solve", failing)
    with pytest.raises(ArithmeticError, match=r"20 shapes of sample 0.*no convergence"):
        generate(tmp_path, samples=1, processes=1, progress=False)
    assert not list(tmp_path.glob("*.npy"))


def test_the_flow_of_a_random_shape_has_five_channels_that_agree():
    points, flow, steps = solve(draw_theta(0, 1))
    assert points.shape == (*GRID, 2) and flow.shape == (5, *GRID) and 10 < steps < 80
    density, u, v, pressure, mach = flow
    assert np.allclose(mach**2, (u**2 + v**2) * density / pressure / GAMMA)
    assert np.array_equal(flow[:, :51, 0], flow[:, :169:-1, 0])


def test_pictures_and_numbers_are_checked(tmp_path):
    with pytest.raises(FileNotFoundError, match="NACA_Cylinder_X"):
        picture(tmp_path, tmp_path / "p.png")
    with pytest.raises(ValueError, match="'samples'"):
        generate(tmp_path, samples=0)
