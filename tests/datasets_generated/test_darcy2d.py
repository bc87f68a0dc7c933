"""Darcy's equation: the scheme, the solver, the random coefficients, and the files."""

import json

import darcy2d_samples as darcy2d
import numpy as np
import pytest
import scipy.sparse as sparse
from darcy2d_samples import draw_permeability, generate, picture
from darcy2d_solver import apply_operator, gaussian_field, permeability, poisson_solver, solve_darcy
from scipy.io import loadmat
from scipy.sparse.linalg import spsolve


def noise(size, seed=0):
    return np.random.default_rng(seed).standard_normal((size, size))


def test_a_manufactured_solution_is_met_to_second_order():
    errors = []
    for size in (31, 61, 121):
        x, y = np.meshgrid(*[np.linspace(0, 1, size)] * 2, indexing="ij")
        a, u = 1 + 0.5 * x * np.sin(3 * y) + 0.2 * y, np.sin(np.pi * x) * np.sin(2 * np.pi * y)
        slope = 0.5 * np.sin(3 * y) * np.pi * np.cos(np.pi * x) * np.sin(2 * np.pi * y)
        slope += (1.5 * x * np.cos(3 * y) + 0.2) * 2 * np.pi * np.sin(np.pi * x) * np.cos(2 * np.pi * y)
        found, _ = solve_darcy(a, (5 * np.pi**2 * a * u - slope)[1:-1, 1:-1])
        errors.append(np.abs(found - u).max())
    assert np.allclose(np.log2(np.divide(errors[:-1], errors[1:])), 2, atol=0.1)


def test_it_agrees_with_a_matrix_and_a_direct_solver():
    a, size = permeability(noise(14)), 12
    columns = [apply_operator(a, unit.reshape(size, size)).ravel() for unit in np.eye(size**2)]
    matrix = np.stack(columns, 1)
    assert np.allclose(matrix, matrix.T) and np.linalg.eigvalsh(matrix).min() > 0
    other = np.zeros_like(matrix)  # point by point: every face has the arithmetic mean
    for i, j in np.ndindex(size, size):
        for down, right in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            face = (a[i + 1, j + 1] + a[i + 1 + down, j + 1 + right]) / 2
            other[i * size + j, i * size + j] += face
            if 0 <= i + down < size and 0 <= j + right < size:
                other[i * size + j, (i + down) * size + j + right] -= face
    assert np.allclose(matrix, other)
    direct = spsolve(sparse.csc_matrix(other), np.full(size**2, 1 / 13**2)).reshape(size, size)
    found, _ = solve_darcy(a)
    assert np.allclose(found[1:-1, 1:-1], direct, rtol=1e-8)
    assert not found[0].any() and not found[:, -1].any()


def test_the_fast_poisson_solver_inverts_the_operator_of_a_uniform_square():
    right = noise(12)[:10, :10]
    assert np.allclose(apply_operator(np.ones((12, 12)), poisson_solver(10)(right)), right)


def test_iterations_do_not_grow_with_the_grid_and_the_pressure_is_positive():
    iterations = []
    for size in (43, 85, 169):
        pressure, count = solve_darcy(permeability(noise(size)), tolerance=1e-8)
        iterations.append(count)
        assert (pressure[1:-1, 1:-1] > 0).all()
    assert max(iterations) <= 26 and max(iterations) - min(iterations) <= 4


def test_pressures_lie_between_those_of_uniform_squares():
    a = permeability(noise(43))
    found, low, high = (solve_darcy(b)[0] for b in (a, np.full_like(a, 12.0), np.full_like(a, 3.0)))
    assert (found >= low - 1e-12).all() and (found <= high + 1e-12).all()


def test_coefficients_have_the_spectrum_that_is_asked_for():
    fields = np.stack([gaussian_field(noise(32, seed)) for seed in range(400)])
    assert np.allclose(fields.mean((1, 2)), 0)
    wave = np.pi * np.arange(32)
    variance = (9 / (wave[:, None] ** 2 + wave**2 + 9) ** 2 * 32**2).ravel()[1:].sum() / 32**2
    assert fields.var() == pytest.approx(variance, rel=0.1)
    values, counts = np.unique([permeability(noise(43, seed)) for seed in range(50)], return_counts=True)
    assert values.tolist() == [3.0, 12.0] and 0.4 < counts[0] / counts.sum() < 0.6


def test_samples_depend_on_seed_number_and_file_alone():
    assert np.array_equal(draw_permeability(1, 2, size=20), draw_permeability(1, 2, size=20))
    others = [draw_permeability(*key, size=20) for key in ((1, 2, 0), (1, 3, 0), (2, 2, 0), (1, 2, 1))]
    assert all((others[0] != other).any() for other in others[1:])


@pytest.mark.parametrize("coefficient", [np.ones((4, 5)), np.ones((2, 2)), np.zeros((5, 5)), np.full((5, 5), np.nan)])
def test_wrong_coefficients_are_refused(coefficient):
    with pytest.raises(ValueError, match="'coefficient'"):
        solve_darcy(coefficient)


def test_no_convergence_is_an_error():
    a = permeability(noise(30))
    with pytest.raises(ArithmeticError, match="3 iterations"):
        solve_darcy(a, most=3)
    needed = solve_darcy(a)[1]
    assert solve_darcy(a, most=needed)[1] == needed


@pytest.fixture
def small(monkeypatch):
    draw = draw_permeability
    monkeypatch.setattr(darcy2d, "draw_permeability", lambda seed, number, part: draw(seed, number, part, 21))


def test_files_are_those_of_the_originals_and_can_be_extended_after_an_interruption(tmp_path, small, monkeypatch):
    solve, calls = darcy2d.solve_darcy, []  # stopped at the last test sample: training samples are kept

    def failing(*arguments, **options):
        calls.append(1)
        if len(calls) == 21:
            raise KeyboardInterrupt
        return solve(*arguments, **options)

    monkeypatch.setattr(darcy2d, "solve_darcy", failing)
    with pytest.raises(KeyboardInterrupt):
        generate(tmp_path, samples=18, test_samples=3, processes=1, progress=False)
    assert not list(tmp_path.glob("*.mat"))
    generate(tmp_path, samples=18, test_samples=3, processes=1, progress=False)
    assert len(calls) == 21 + 3 and not (tmp_path / "parts").exists()
    for name, count in zip(darcy2d.FILES, (18, 3), strict=True):
        raw = loadmat(tmp_path / name)
        assert raw["coeff"].shape == raw["sol"].shape == (count, 21, 21) and raw["sol"].dtype == np.float32
    assert json.loads((tmp_path / "generated.json").read_text())["settings"]["test_samples"] == 3
    generate(tmp_path, samples=18, test_samples=3, processes=1, progress=False)
    assert picture(tmp_path, tmp_path / "p.png", 2).exists()
    with pytest.raises(FileExistsError):
        generate(tmp_path, samples=18, test_samples=3, seed=1, progress=False)


def test_every_sample_of_the_files_solves_the_equation_and_none_is_in_both(tmp_path, small):
    generate(tmp_path, samples=2, test_samples=2, seed=3, processes=1, progress=False)
    for part, name in enumerate(darcy2d.FILES):
        raw = loadmat(tmp_path / name)
        for number, (a, u) in enumerate(zip(raw["coeff"], raw["sol"].astype(float), strict=True)):
            assert np.array_equal(a, draw_permeability(3, number, part, 21))
            assert np.allclose(apply_operator(a, u[1:-1, 1:-1]) * 20**2, 1, atol=1e-3)


def test_parts_left_by_an_interruption_after_the_files_were_written_go(tmp_path, small, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(darcy2d, "discard_parts", lambda *_: None)
        generate(tmp_path, samples=2, test_samples=1, processes=1, progress=False)
    assert len(list((tmp_path / "parts").iterdir())) == 2
    generate(tmp_path, samples=2, test_samples=1, processes=1, progress=False)
    assert not (tmp_path / "parts").exists()


@pytest.mark.parametrize("options", [{"samples": 0}, {"test_samples": 0}, {"seed": -1}, {"samples": 10**6}])
def test_numbers_out_of_range_are_refused(tmp_path, options):
    with pytest.raises(ValueError, match=next(iter(options))):
        generate(tmp_path, **options)


def test_pictures_need_files(tmp_path):
    with pytest.raises(FileNotFoundError, match="smooth1"):
        picture(tmp_path, tmp_path / "p.png")
