"""Reading the ShockTube benchmark, from small files written in the originals' layouts."""

import numpy as np
import pytest
from scipy.io import savemat

from pitgeo.datasets import shock_tube
from pitgeo.datasets.shock_tube import FILES, positions, read, total
from tests.datasets.test_matlab import write_v73

TOTAL = 12
LAYOUTS = {
    "all": lambda y: y,
    "energy": lambda y: y[..., 2],
    "energy, one channel": lambda y: y[..., 2:],
}


def gases(random):
    density, velocity, pressure = 0.1 + random.random((3, TOTAL, 2048))
    return np.stack([density, density * velocity, density * velocity**2 / 2 + pressure / 0.4], -1), (velocity, pressure)


def arrays():
    random = np.random.default_rng(0)
    return {name: gases(random)[0] for name in ("x", "y")}


@pytest.mark.parametrize("write", [savemat, write_v73])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_targets_of_all_or_of_energy_alone(tmp_path, layout, write):
    values = arrays()
    write(tmp_path / FILES[0], {"x": values["x"], "y": LAYOUTS[layout](values["y"])})
    fields = read(tmp_path, "test", 2)
    np.testing.assert_array_equal(fields.x, values["x"][-2:].astype(np.float32))
    np.testing.assert_array_equal(fields.y, values["y"][-2:, :, 2:].astype(np.float32))


def test_a_whole_file_has_samples_that_are_in_neither_split(monkeypatch, tmp_path):
    monkeypatch.setattr(shock_tube, "SIZE", 4)
    monkeypatch.setattr(shock_tube, "GRID", (4,))
    values = 1 + np.arange(1280.0)[:, None, None] * np.ones((4, 3))
    values[..., 1] = 0
    savemat(tmp_path / FILES[0], {"x": values, "y": values})
    train, test = read(tmp_path, "train", 1024, others=128), read(tmp_path, "test", 128, others=1024)
    assert train.x[:, 0, 0].tolist() == list(range(1, 1025)) and test.y[:, 0, 0].tolist() == list(range(1153, 1281))


def test_primitive_variables(tmp_path):
    conservative, (velocity, pressure) = gases(np.random.default_rng(1))
    savemat(tmp_path / FILES[0], {"x": conservative, "y": conservative})
    fields = read(tmp_path, "train", TOTAL, variables="primitive")
    np.testing.assert_allclose(fields.x, np.stack([conservative[..., 0], velocity, pressure], -1), rtol=1e-6)
    np.testing.assert_array_equal(fields.y, conservative[..., 2:].astype(np.float32))


def test_coordinates(tmp_path):
    savemat(tmp_path / FILES[0], arrays())
    unit, tube = read(tmp_path, "train", 1).pos, read(tmp_path, "train", 1, coordinates="tube").pos
    assert unit.shape == tube.shape == (2048, 1) and unit.dtype == tube.dtype == np.float64
    np.testing.assert_array_equal(unit[:, 0], np.arange(2048) / 2048)
    np.testing.assert_array_equal(tube, 10 * unit - 5)
    np.testing.assert_array_equal(tube, positions("tube"))
    with pytest.raises(ValueError, match="'coordinates' to be one of unit, tube"):
        positions("metres")
    for name, value, choices in (
        ("coordinates", "metres", "unit, tube"),
        ("variables", "entropy", "conservative, prim"),
    ):
        with pytest.raises(ValueError, match=f"'{name}' to be one of {choices}"):
            read(tmp_path, "train", 1, **{name: value})


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda x, y: {"x": x}, r"variable 'y' in .*data_sod\.mat \(got x\)"),
        (lambda x, y: {"a": x, "y": y}, r"variable 'x' in .* \(got a, y\)"),
        (lambda x, y: {"x": x[:, ::2], "y": y}, r"'x' in .* \(samples, 2048, 3\) \(got \(12, 1024, 3\)\)"),
        (lambda x, y: {"x": x[..., :2], "y": y}, r"'x' in .* \(got \(12, 2048, 2\)\)"),
        (lambda x, y: {"x": x[..., 2], "y": y}, r"'x' in .* \(got \(12, 2048\)\)"),
        (lambda x, y: {"x": x, "y": y[..., :2]}, r"'y' in .* or \(samples, 2048, 1\) .* \(got \(12, 2048, 2\)\)"),
        (lambda x, y: {"x": x.T, "y": y}, r"'x' in .* \(got \(3, 2048, 12\), the axes reversed\)"),
        (lambda x, y: {"x": x, "y": y[..., 2].T}, r"'y' in .* \(got \(2048, 12\), the axes reversed\)"),
        (lambda x, y: {"x": x.transpose(0, 2, 1), "y": y}, r"'x' in .* \(got \(12, 3, 2048\)\)"),
        (lambda x, y: {"x": x, "y": y[:7]}, r"as many samples of 'x' as of 'y' in .* \(got .*12.* and .*7"),
        (lambda x, y: {"x": x[..., 0, None][:, :1024, 0], "y": x[:, :1024, 0]}, r"'x' in .* \(got \(12, 1024\)\)"),
    ],
)
def test_files_laid_out_otherwise_are_refused(tmp_path, edit, message):
    savemat(tmp_path / FILES[0], edit(**arrays()))
    for call in (total, lambda folder: read(folder, "train", 2)):
        with pytest.raises(ValueError, match=message):
            call(tmp_path)


@pytest.mark.parametrize(
    ("name", "channel", "value", "message"),
    [
        ("x", 1, np.nan, r"'x' in .*data_sod.mat to be finite .* in sample 10, the first of 1"),
        ("y", 2, np.inf, r"'y' in .* to be finite .* in sample 10"),
        ("x", 0, 0.0, r"the density, .* to be positive \(got others in sample 10, the first of 1\)"),
        ("x", 2, 1e-9, r"the pressure of .* to be positive \(got others in sample 10"),
        ("y", 2, -1.0, r"the energy in 'y' in .* to be positive \(got others in sample 10"),
    ],
)
def test_values_of_no_gas_are_named(tmp_path, name, channel, value, message):
    values = arrays()
    values[name][10, 3, channel] = value
    savemat(tmp_path / FILES[0], values)
    with pytest.raises(ValueError, match=message):
        read(tmp_path, "test", 3)
    assert len(read(tmp_path, "train", 10).numbers) == 10


def test_channels_in_another_order_are_refused(tmp_path):
    values = arrays()
    values["x"][:, 1000:, 1] = 0  # at rest on the right, as in the benchmark
    for order in ([2, 0, 1], [1, 2, 0], [1, 0, 2], [0, 2, 1]):
        savemat(tmp_path / FILES[0], {"x": values["x"][..., order], "y": values["y"]})
        with pytest.raises(ValueError, match="are the channels in this order"):
            read(tmp_path, "train", 2)


def test_generated_files_are_read(tmp_path):
    generators = pytest.importorskip("shock_tube_samples")
    generators.generate(tmp_path, samples=4, processes=1, progress=False)
    fields = read(tmp_path, "test", 2)
    expected = np.float32([generators.solve(generators.draw_tube(0, number)) for number in (2, 3)])
    np.testing.assert_array_equal(fields.x, expected[:, 0])
    np.testing.assert_array_equal(fields.y, expected[:, 1, :, 2:])
    tube = generators.draw_tube(0, 3)
    primitive = read(tmp_path, "test", 1, variables="primitive").x[0]
    np.testing.assert_allclose(primitive[[0, -1]], [tube.left, tube.right], rtol=1e-5)
