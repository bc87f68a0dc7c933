"""The Vorticity generator: the solver against closed forms, budgets and convergence, the random start, and the file."""

from __future__ import annotations

import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import vorticity_samples as vorticity
from numpy.typing import NDArray
from scipy.io import loadmat, whosmat
from vorticity_samples import FILE, draw_vorticity, forcing, generate, picture, solve, spectrum
from vorticity_solver import VorticitySolver

from pitgeo.datasets import resumable
from pitgeo.system import processes

Floats = NDArray[np.float64]


def grid(size: int) -> tuple[Floats, Floats]:
    line = 2 * np.pi * np.arange(size) / size
    return line[:, None] + 0 * line, line + 0 * line[:, None]


def smooth(size: int, highest: int = 4, seed: int = 0, rms: float = 3.0) -> Floats:
    """Random vorticity with modes up to ``highest``, the same on every grid."""
    x, y = grid(size)
    random = np.random.default_rng(seed)
    field = np.zeros((size, size))
    for i in range(highest + 1):
        for j in range(-highest, highest + 1):
            if (i, j) != (0, 0):
                a, b = random.standard_normal(2)
                field += a * np.cos(i * x + j * y) + b * np.sin(i * x + j * y)
    return rms * field / np.sqrt((field**2).mean())


def gradient(field: Floats) -> Floats:
    """Derivatives along both axes by a full transform, independent of the solver's arrays."""
    wave = 2j * np.pi * np.fft.fftfreq(len(field), 1 / len(field))
    hat = np.fft.fft2(field)
    return np.stack([np.fft.ifft2(wave[:, None] * hat).real, np.fft.ifft2(wave * hat).real])


def error(field: Floats, expected: Floats) -> float:
    return float(np.linalg.norm(field - expected) / np.linalg.norm(expected))


# The equation


def test_velocity_has_no_divergence_and_the_vorticity_as_its_curl() -> None:
    field = smooth(32)
    velocity = VorticitySolver(32, dtype=np.float64).velocity(field)
    (u_x, u_y), (v_x, v_y) = gradient(velocity[0]), gradient(velocity[1])
    assert np.abs(u_x + v_y).max() < 1e-12
    np.testing.assert_allclose(v_x - u_y, field, atol=1e-12)
    x, y = grid(32)
    u, v = VorticitySolver(32, dtype=np.float64).velocity(4 * np.pi * np.sin(x) * np.sin(y))
    np.testing.assert_allclose(u, np.sin(x) * np.cos(y), atol=1e-13)
    np.testing.assert_allclose(v, -np.cos(x) * np.sin(y), atol=1e-13)


def test_the_nonlinear_term_is_advection_without_aliasing() -> None:
    field = smooth(64, highest=15)  # products reach mode 30 < 32, so that the plain product on 64 points is exact
    solver = VorticitySolver(64, dtype=np.float64)
    product = -(solver.velocity(field) * gradient(field)).sum(0)
    hat = np.fft.fft2(product)
    index = np.abs(np.fft.fftfreq(64, 1 / 64))
    hat[(index > 21)[:, None] | (index > 21)] = 0
    assert np.abs(hat).max() > 1
    np.testing.assert_allclose(solver.nonlinear(field), np.fft.ifft2(hat).real, atol=1e-11 * np.abs(product).max())
    coarse = smooth(48, highest=15)  # aliasing would reach modes 18 to 30; the solver keeps those up to 15
    hat = np.fft.fft2(VorticitySolver(48, dtype=np.float64).nonlinear(coarse)) / 48**2
    fine = np.fft.fft2(solver.nonlinear(field)) / 64**2
    rows = np.arange(-15, 16)
    np.testing.assert_allclose(hat[np.ix_(rows, rows)], fine[np.ix_(rows, rows)], atol=1e-12 * np.abs(fine).max())


def test_the_nonlinear_term_makes_neither_energy_nor_enstrophy() -> None:
    field = smooth(32, highest=10)
    solver = VorticitySolver(32, dtype=np.float64)
    term = solver.nonlinear(field)
    work = (solver.velocity(field) * solver.velocity(term)).mean()
    scale = np.abs(solver.velocity(field)).max() * np.abs(solver.velocity(term)).max()
    assert abs(work) < 1e-13 * scale
    assert abs((field * term).mean()) < 1e-13 * np.abs(field).max() * np.abs(term).max()


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-5)])
def test_taylor_green_vortices_decay_as_they_should(dtype: Any, tolerance: float) -> None:
    x, y = grid(16)
    start = 4 * np.pi * np.sin(x) * np.sin(y)
    *_, end = VorticitySolver(16, 0.01, 0.02, dtype=dtype).snapshots(start, 3, 2.0)
    assert error(end, np.exp(-8 * np.pi**2 * 0.01 * 6) * start) < tolerance


def test_modes_of_one_wavelength_decay_without_mixing() -> None:
    x, y = grid(32)
    start = np.sin(5 * x) + 2 * np.cos(3 * x + 4 * y) - np.sin(4 * x - 3 * y) + np.cos(5 * y)
    solver = VorticitySolver(32, 0.002, 0.01, dtype=np.float64)
    assert np.abs(solver.velocity(start) * gradient(start)).max() > 1
    (end,) = solver.snapshots(start, 1)
    assert error(end, np.exp(-(4 * np.pi**2 * 25) * 0.002) * start) < 1e-10


def test_single_precision_leaves_the_viscosity_of_large_scales_alone() -> None:
    x, y = grid(8)
    *_, end = VorticitySolver(8, 1e-4, 0.01).snapshots(np.sin(x) + np.cos(y), 10)
    loss = 1 - (end * (np.sin(x) + np.cos(y))).mean()
    assert loss == pytest.approx(1 - np.exp(-4 * np.pi**2 * 1e-4 * 10), rel=1e-5)


def test_flow_from_rest_follows_the_forcing_and_snapshots_come_at_whole_times() -> None:
    """A parallel flow, omega = f (1 - exp(-nu k^2 t)) / (nu k^2)."""
    rate = 0.01 * 8 * np.pi**2
    force = forcing(16)
    snapshots = list(VorticitySolver(16, 0.01, 0.05, force, np.float64).snapshots(np.zeros((16, 16)), 4))
    for number, field in enumerate(snapshots):
        time = number + 1
        np.testing.assert_allclose(field, force * (1 - np.exp(-rate * time)) / rate, atol=1e-9)
    x, y = grid(16)
    np.testing.assert_allclose(force, 0.1 * (np.sin(x + y) + np.cos(x + y)), atol=1e-15)
    np.testing.assert_allclose(force, force.T, atol=1e-16)


def test_energy_and_enstrophy_stay_without_viscosity() -> None:
    start = smooth(32)
    drifts = []
    for step in (0.01, 0.005):
        solver = VorticitySolver(32, 0, step, dtype=np.float64)
        (end,) = solver.snapshots(start, 1, 3.0)
        assert error(end, start) > 0.5
        energies = [(solver.velocity(field) ** 2).mean() for field in (start, end)]
        drifts.append([energies[1] / energies[0] - 1, (end**2).mean() / (start**2).mean() - 1])
    assert abs(drifts[0][0]) < 1e-7 and abs(drifts[0][1]) < 2e-5
    assert np.divide(*drifts).min() > 2**4.5  # it is the time step's, one order better than the method


def test_enstrophy_changes_by_production_less_dissipation() -> None:
    force, viscosity = forcing(32), 1e-3
    solver = VorticitySolver(32, viscosity, 0.01, force, np.float64)
    start = smooth(32, rms=1.0) + 5 * force
    fields = [start, *solver.snapshots(start, 20, 0.1)]
    enstrophy = np.array([(field**2).mean() / 2 for field in fields])
    production = np.array([(field * force).mean() for field in fields])
    dissipation = np.array([viscosity * (gradient(field) ** 2).sum(0).mean() for field in fields])
    weights = 0.1 / 3 * np.array([1, *[4, 2] * 9, 4, 1])  # Simpson's rule
    made, lost = (weights * production).sum(), (weights * dissipation).sum()
    assert made > 0.03 and lost > 0.3
    assert enstrophy[-1] - enstrophy[0] == pytest.approx(made - lost, abs=1e-5)


def test_the_error_falls_with_the_fourth_power_of_the_time_step() -> None:
    def end(step: float) -> Floats:
        (field,) = VorticitySolver(32, 1e-3, step, forcing(32), np.float64).snapshots(smooth(32), 1)
        return field

    best = end(1 / 320)
    errors = [error(end(step), best) for step in (1 / 20, 1 / 40, 1 / 80)]
    rates = np.log2(np.divide(errors[:-1], errors[1:]))
    assert errors[-1] < 1e-5 and rates.min() > 3.7 and rates.max() < 4.5


def test_single_precision_is_near_double_precision() -> None:
    ends = [
        next(VorticitySolver(32, 1e-4, 0.01, forcing(32), dtype).snapshots(smooth(32), 1))
        for dtype in (np.float32, np.float64)
    ]
    assert 0 < error(*ends) < 5e-6


def test_every_second_point_is_what_a_coarser_grid_has() -> None:
    fine, coarse = (
        next(VorticitySolver(size, 0.01, 0.02, forcing(size), np.float64).snapshots(smooth(size, 2, rms=1.0), 1))
        for size in (96, 48)
    )
    assert error(coarse, smooth(48, 2, rms=1.0)) > 0.1
    np.testing.assert_allclose(fine[::2, ::2], coarse, atol=1e-6)
    expected = [field[::2, ::2] for field in VorticitySolver(48, 0.01, 0.02, forcing(48)).snapshots(coarse, 2)]
    result = solve(coarse, 0.01, 0.02, snapshots=2)
    assert result.shape == (24, 24, 2) and result.dtype == np.float32
    np.testing.assert_array_equal(result, np.stack(expected, -1).astype(np.float32))


def test_shifted_and_rotated_flows_stay_so() -> None:
    start = smooth(32, rms=1.0)

    def end(field: Floats) -> Floats:
        return next(VorticitySolver(32, 1e-3, 0.02, dtype=np.float64).snapshots(field, 1))

    reference = end(start)
    np.testing.assert_allclose(end(np.roll(start, (5, -3), (0, 1))), np.roll(reference, (5, -3), (0, 1)), atol=1e-11)

    def turned(field: Floats) -> Floats:  # by a quarter about the point (0, 0)
        return np.roll(np.rot90(field), 1, 0)

    np.testing.assert_allclose(end(turned(start)), turned(reference), atol=1e-11)
    np.testing.assert_allclose(end(-start.T), -reference.T, atol=1e-11)  # a mirror turns the sense of rotation
    assert error(end(start.T), reference.T) > 0.1


def test_a_time_step_that_is_too_long_is_said() -> None:
    with pytest.raises(ArithmeticError, match=r"t = 1 .* time step 0.5 is too long"):
        list(VorticitySolver(32, 0, 0.5).snapshots(smooth(32, 10, rms=100), 1))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": 33}, "'size' to be an even number"),
        ({"size": 2}, "'size' to be an even number"),
        ({"viscosity": -1}, "'viscosity' to be at least 0"),
        ({"viscosity": np.nan}, "'viscosity' to be at least 0"),
        ({"step": 0}, "'step' to be positive"),
        ({"dtype": np.float16}, "float32 or float64"),
        ({"forcing": np.zeros((3, 3))}, r"'forcing' to have shape \(128, 128\) \(got \(3, 3\)\)"),
        ({"step": 0.3}, "'step' to divide 1"),
        ({"step": 2.0}, "'step' to divide 1"),
        ({"size": 8}, r"'vorticity' to have shape \(8, 8\)"),
    ],
)
def test_bad_numbers_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        next(VorticitySolver(**options).snapshots(np.zeros((128, 128)), 1))


# The random start


def test_the_start_has_the_amplitude_and_the_spectrum_that_are_asked_for() -> None:
    fields = np.stack([draw_vorticity(0, number) for number in range(200)])
    assert np.sqrt((fields**2).mean()) == pytest.approx(0.185, rel=0.02)
    assert np.abs(fields.mean((1, 2))).max() < 1e-14
    for name, factor, rms in (("current", 1, 0.1852), ("older", 2**0.5, 0.2620), ("covariance", 7**-0.75, 0.0430)):
        deviation = spectrum(name)  # type: ignore[arg-type]
        total = 2 * (deviation[:, 1:] ** 2).sum() + (deviation[:, 0] ** 2).sum()
        assert np.sqrt(total) == pytest.approx(rms, abs=6e-5)
        np.testing.assert_allclose(draw_vorticity(0, 7, name), factor * fields[7], atol=1e-14)  # type: ignore[arg-type]
    power = (np.abs(np.fft.fft2(fields) / 128**2) ** 2).mean(0)
    index = np.fft.fftfreq(128, 1 / 128)
    square = index[:, None] ** 2 + index**2
    expected = 7**3 * (4 * np.pi**2 * square + 49) ** -2.5
    kept = (square > 0) & (np.abs(index) <= 42)[:, None] & (np.abs(index) <= 42)
    assert power[~kept].max() < 1e-30
    ratio = power[kept] / expected[kept]
    assert abs(ratio.mean() - 1) < 0.01 and ratio.min() > 0.6 and ratio.max() < 1.7
    assert 0.8 < power[1, 0] / power[0, 1] < 1.25  # no axis is preferred


def test_the_start_depends_on_its_number_and_the_seed_alone() -> None:
    field = draw_vorticity(0, 3)
    np.testing.assert_array_equal(field, draw_vorticity(0, 3))
    for other in (draw_vorticity(0, 4), draw_vorticity(1, 3)):
        assert abs((field * other).mean()) < 0.7 * (field**2).mean()
    np.testing.assert_allclose(draw_vorticity(0, 3, size=256)[::2, ::2], field, atol=1e-14)
    few = np.fft.fft2(draw_vorticity(0, 3, size=32)) / 32**2
    np.testing.assert_allclose(few[:15, :15], np.fft.fft2(field)[:15, :15] / 128**2, atol=1e-15)
    with pytest.raises(ValueError, match="'amplitude' to be one of current, older, covariance"):
        draw_vorticity(0, 0, "newer")  # type: ignore[arg-type]


# The file


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vorticity, "SIZE", 16)
    monkeypatch.setattr(vorticity, "SNAPSHOTS", 2)
    monkeypatch.setattr(vorticity, "_CHUNK", 2)


def make(output: Path, samples: int, seed: int = 0, **options: Any) -> bytes:
    generate(output, samples, seed, processes=1, progress=False, **{"step": 0.1, **options})
    return (output / FILE).read_bytes()[128:]  # the header holds the time


def read(output: Path) -> Floats:
    return np.asarray(loadmat(output / FILE)["u"])


def test_the_file_has_the_name_and_the_layout_of_the_original(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vorticity, "SNAPSHOTS", 2)
    make(tmp_path, 1, step=0.25)
    assert FILE == "NavierStokes_V1e-4_N1200_T30.mat"
    assert whosmat(tmp_path / FILE) == [("u", (1, 64, 64, 2), "single")]
    np.testing.assert_array_equal(read(tmp_path)[0], solve(draw_vorticity(0, 0), step=0.25, snapshots=2))
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([FILE, resumable.MANIFEST])


@pytest.mark.usefixtures("small")
def test_options_reach_the_solver_and_the_manifest(tmp_path: Path) -> None:
    make(tmp_path, 3, viscosity=0.01, amplitude="older")
    expected = solve(draw_vorticity(0, 2, "older", 16), 0.01, 0.1, 2)
    np.testing.assert_array_equal(read(tmp_path)[2], expected)
    settings = json.loads((tmp_path / resumable.MANIFEST).read_text())["settings"]
    assert (settings["viscosity"], settings["amplitude"], settings["step"]) == (0.01, "older", 0.1)
    make(tmp_path, 2, viscosity=0.01, amplitude="older")
    for options in ({"viscosity": 0.02}, {"amplitude": "current"}, {"step": 0.05}):
        with pytest.raises(FileExistsError, match="choose another output folder"):
            make(tmp_path, 2, **{"viscosity": 0.01, "amplitude": "older", **options})


@pytest.mark.usefixtures("small")
def test_a_sample_does_not_depend_on_the_number_asked_for_nor_on_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path / "few", 3)
    make(tmp_path / "more", 5)
    np.testing.assert_array_equal(read(tmp_path / "more")[:3], read(tmp_path / "few"))

    class Pool(ThreadPoolExecutor):  # what is sent to processes is pickled
        def __init__(self, processes: int, **options: Any) -> None:
            super().__init__(processes)

        def submit(self, function: Any, /, *arguments: Any, **options: Any) -> Any:
            return super().submit(*pickle.loads(pickle.dumps((function, *arguments))), **options)

    monkeypatch.setattr(processes, "ProcessPoolExecutor", Pool)
    generate(tmp_path / "two", 5, processes=2, progress=False, step=0.1)
    np.testing.assert_array_equal(read(tmp_path / "two"), read(tmp_path / "more"))


@pytest.mark.usefixtures("small")
def test_an_interrupted_run_goes_on_and_gives_the_same_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = make(tmp_path / "whole", 5)
    drawn: list[int] = []

    def interrupted(seed: int, number: int, *options: Any) -> Floats:
        if number == 3:
            raise KeyboardInterrupt
        return draw_vorticity(seed, number, *options)

    def counted(seed: int, number: int, *options: Any) -> Floats:
        drawn.append(number)
        return draw_vorticity(seed, number, *options)

    monkeypatch.setattr(vorticity, "draw_vorticity", interrupted)
    with pytest.raises(KeyboardInterrupt):
        make(tmp_path / "output", 5)
    assert [path.name for path in (tmp_path / "output").iterdir()] == ["parts"]
    monkeypatch.setattr(vorticity, "draw_vorticity", counted)
    assert make(tmp_path / "output", 5) == whole
    assert drawn == [2, 3, 4]
    assert make(tmp_path / "output", 4) == whole and len(drawn) == 3
    assert not (tmp_path / "output" / "parts").exists()


def test_originals_are_never_replaced(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"downloaded")
    with pytest.raises(FileExistsError, match="downloaded originals"):
        make(tmp_path, 1)
    assert (tmp_path / FILE).read_bytes() == b"downloaded"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"samples": 0}, "'samples' to be at least 1"),
        ({"samples": 4370}, "'samples' to be at most 4369"),
        ({"seed": -1}, "'seed' to be at least 0"),
        ({"processes": 0}, "'processes' to be at least 1"),
        ({"step": 0.03}, "'step' to divide 1"),
        ({"viscosity": -1e-4}, "'viscosity' to be at least 0"),
        ({"amplitude": "formula"}, "'amplitude' to be one of"),
    ],
)
def test_options_out_of_range_are_refused(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        generate(tmp_path, **options)
    assert not any(tmp_path.iterdir())


def test_a_sample_that_cannot_be_solved_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vorticity, "draw_vorticity", lambda *options: 1e4 * draw_vorticity(*options))
    monkeypatch.setattr(vorticity, "SIZE", 32)
    with pytest.raises(ArithmeticError, match=r"Sample 0 with seed 0 could not be solved: .* time step 0.05 is too"):
        make(tmp_path, 1)


@pytest.mark.usefixtures("small")
def test_a_sample_too_fast_for_the_time_step_is_solved_with_half_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def picky(start: Floats, viscosity: float, step: float, snapshots: int) -> Any:
        if step > 0.05 and np.array_equal(start, draw_vorticity(0, 1, size=16)):
            raise ArithmeticError("too long")
        return solve(start, viscosity, step, snapshots)

    monkeypatch.setattr(vorticity, "solve", picky)
    make(tmp_path, 2)
    for number, step in enumerate((0.1, 0.05)):
        expected = solve(draw_vorticity(0, number, size=16), step=step, snapshots=2)
        np.testing.assert_array_equal(read(tmp_path)[number], expected)
    assert caplog.messages[0] == "Sample 1 is solved again with time step 0.05: too long"


@pytest.mark.usefixtures("small")
def test_picture(tmp_path: Path) -> None:
    make(tmp_path, 2)
    assert picture(tmp_path, tmp_path / "pictures" / "samples.png").read_bytes()[1:4] == b"PNG"
    with pytest.raises(FileNotFoundError, match=FILE):
        picture(tmp_path / "pictures", tmp_path / "samples.png")
    with pytest.raises(ValueError, match="at least 1"):
        picture(tmp_path, tmp_path / "samples.png", samples=0)
