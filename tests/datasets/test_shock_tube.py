"""Reading the ShockTube benchmark, from small files written in the originals' layouts."""

import h5py
import numpy as np
import pytest
from scipy.io import savemat

from pitgeo.datasets import shock_tube
from pitgeo.datasets.shock_tube import FILES, GRID, missing, positions, read, total

TOTAL = 12
LAYOUTS = {
    "all": lambda y: y,
    "energy": lambda y: y[..., 2],
    "energy, one channel": lambda y: y[..., 2:],
}


def gases(random):
    density, velocity, pressure = 0.1 + random.random((3, TOTAL, 2048))
    return np.stack([density, density * velocity, density * velocity**2 / 2 + pressure / 0.4], -1), (velocity, pressure)


@pytest.fixture
def arrays():
    random = np.random.default_rng(0)
    return {name: gases(random)[0] for name in ("x", "y")}


@pytest.fixture
def folder(tmp_path, arrays):
    savemat(tmp_path / FILES[0], arrays)
    return tmp_path


def write_v73(path, arrays):
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, array in arrays.items():
            file[name] = array.T
    with path.open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(116) + bytes(8) + b"\x00\x02IM")


def test_the_first_samples_train_and_the_last_ones_test(folder, arrays):
    train, test = read(folder, "train", 5), read(folder, "test", 3)
    assert train.numbers.tolist() == [0, 1, 2, 3, 4] and test.numbers.tolist() == [9, 10, 11]
    for fields in (train, test):
        count = len(fields.numbers)
        assert fields.x.shape == (count, 2048, 3) and fields.y.shape == (count, 2048, 1)
        assert fields.grid == GRID == (2048,) and fields.x.flags.c_contiguous and fields.y.flags.c_contiguous
        np.testing.assert_array_equal(fields.x, arrays["x"][fields.numbers].astype(np.float32))
        np.testing.assert_array_equal(fields.y, arrays["y"][fields.numbers, :, 2:].astype(np.float32))
    assert total(folder) == TOTAL


@pytest.mark.parametrize("write", [savemat, write_v73])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", FILES)
def test_both_names_both_versions_and_targets_of_all_or_of_energy_alone(tmp_path, arrays, name, layout, write):
    assert missing(tmp_path) == [FILES[0]]
    with pytest.raises(FileNotFoundError, match=r"generate\.py"):
        total(tmp_path)
    with pytest.raises(FileNotFoundError, match=FILES[1]):
        read(tmp_path, "train", 1)
    write(tmp_path / name, {"x": arrays["x"], "y": LAYOUTS[layout](arrays["y"])})
    assert missing(tmp_path) == [] and total(tmp_path) == TOTAL
    fields = read(tmp_path, "test", 2)
    np.testing.assert_array_equal(fields.x, arrays["x"][-2:].astype(np.float32))
    np.testing.assert_array_equal(fields.y, arrays["y"][-2:, :, 2:].astype(np.float32))


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


def test_coordinates(folder):
    unit, tube = read(folder, "train", 1).pos, read(folder, "train", 1, coordinates="tube").pos
    assert unit.shape == tube.shape == (2048, 1) and unit.dtype == tube.dtype == np.float64
    np.testing.assert_array_equal(unit[:, 0], np.arange(2048) / 2048)
    np.testing.assert_array_equal(tube, 10 * unit - 5)
    np.testing.assert_array_equal(tube, positions("tube"))
    with pytest.raises(ValueError, match="'coordinates' to be one of unit, tube"):
        positions("metres")


def test_too_few_samples_are_refused_and_so_is_overlap(folder):
    with pytest.raises(ValueError, match=r"at least 13 samples in .*data_sod\.mat \(got 12\)"):
        read(folder, "train", 13)
    with pytest.raises(ValueError, match=r"at least 13 samples, training and test together, .*\(got 12\)"):
        read(folder, "test", 3, others=10)
    assert len(read(folder, "test", 3, others=9).numbers) == 3


@pytest.mark.parametrize(
    ("split", "samples", "options", "message"),
    [
        ("validation", 1, {}, "'split' to be 'train' or 'test'"),
        ("train", 0, {}, "'samples' to be from 1 to 1024 for split 'train'"),
        ("train", 1025, {}, "'samples' to be from 1 to 1024"),
        ("test", 129, {}, "'samples' to be from 1 to 128"),
        ("train", 1, {"variables": "entropy"}, "'variables' to be one of conservative, primitive"),
        ("train", 1, {"coordinates": "metres"}, "'coordinates' to be one of unit, tube"),
    ],
)
def test_bad_options_are_refused(folder, split, samples, options, message):
    with pytest.raises(ValueError, match=message):
        read(folder, split, samples, **options)


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
def test_files_laid_out_otherwise_are_refused(tmp_path, arrays, edit, message):
    savemat(tmp_path / FILES[0], edit(arrays["x"], arrays["y"]))
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
def test_values_of_no_gas_are_named(tmp_path, arrays, name, channel, value, message):
    arrays[name][10, 3, channel] = value
    savemat(tmp_path / FILES[0], arrays)
    with pytest.raises(ValueError, match=message):
        read(tmp_path, "test", 3)
    assert len(read(tmp_path, "train", 10).numbers) == 10


def test_channels_in_another_order_are_refused(tmp_path, arrays):
    arrays["x"][:, 1000:, 1] = 0  # at rest on the right, as in the benchmark
    for order in ([2, 0, 1], [1, 2, 0], [1, 0, 2], [0, 2, 1]):
        savemat(tmp_path / FILES[0], {"x": arrays["x"][..., order], "y": arrays["y"]})
        with pytest.raises(ValueError, match="are the channels in this order"):
            read(tmp_path, "train", 2)


def test_truncated_files_are_refused(folder):
    path = folder / FILES[0]
    path.write_bytes(path.read_bytes()[:-300000])
    with pytest.raises(ValueError, match=r"data_sod\.mat to"):
        read(folder, "train", 2)
    path.write_bytes(b"<!DOCTYPE html>")
    with pytest.raises(ValueError, match="complete MAT file"):
        total(folder)


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
