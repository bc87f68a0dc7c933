"""Reading the InviscidBurgers benchmark, from small files written in the originals' layout."""

import h5py
import numpy as np
import pytest
from scipy.io import savemat

from pitgeo.datasets.inviscid_burgers import FILES, GRID, missing, positions, read, total

TOTAL = 12


@pytest.fixture
def arrays():
    random = np.random.default_rng(0)
    return {name: random.standard_normal((TOTAL, 1024)) for name in ("x", "y")}


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
        assert fields.x.shape == fields.y.shape == (len(fields.numbers), 1024, 1) and fields.grid == GRID == (1024,)
        assert fields.x.dtype == fields.y.dtype == np.float32 and fields.x.flags.c_contiguous
        np.testing.assert_array_equal(fields.x[..., 0], arrays["x"][fields.numbers].astype(np.float32))
        np.testing.assert_array_equal(fields.y[..., 0], arrays["y"][fields.numbers].astype(np.float32))
    assert total(folder) == TOTAL


def test_positions_are_without_the_end_point(folder):
    fields = read(folder, "train", 1)
    assert fields.pos.shape == (1024, 1) and fields.pos.dtype == np.float64
    np.testing.assert_array_equal(fields.pos[:, 0], np.arange(1024) / 1024)
    np.testing.assert_array_equal(fields.pos, positions())


@pytest.mark.parametrize("write", [savemat, write_v73])
@pytest.mark.parametrize("name", FILES)
def test_both_names_and_both_versions(tmp_path, arrays, name, write):
    assert missing(tmp_path) == [FILES[0]]
    with pytest.raises(FileNotFoundError, match=r"generate\.py"):
        total(tmp_path)
    with pytest.raises(FileNotFoundError, match=FILES[0]):
        read(tmp_path, "train", 1)
    write(tmp_path / name, arrays)
    assert missing(tmp_path) == [] and total(tmp_path) == TOTAL
    np.testing.assert_array_equal(read(tmp_path, "test", 2).y[..., 0], arrays["y"][-2:].astype(np.float32))


def test_the_papers_split_of_a_whole_file(tmp_path):
    values = np.arange(1152.0)[:, None] * np.ones(1024)
    savemat(tmp_path / FILES[0], {"x": values, "y": -values})
    train = read(tmp_path, "train", 950, "paper", others=128)
    test = read(tmp_path, "test", 128, split_convention="paper", others=950)
    assert train.x[:, 0, 0].tolist() == list(range(950)) and test.y[:, 5, 0].tolist() == list(range(-1024, -1152, -1))
    assert read(tmp_path, "train", 1024, others=128).numbers[-1] == 1023


def test_single_precision_files_are_read_too(tmp_path, arrays):
    savemat(tmp_path / FILES[0], {name: array.astype(np.float32) for name, array in arrays.items()})
    assert read(tmp_path, "train", 2).x.dtype == np.float32


def test_too_few_samples_are_refused_and_so_is_overlap(folder):
    with pytest.raises(ValueError, match=r"at least 13 samples in .*data_burgers\.mat \(got 12\)"):
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
        ("train", 1, {"split_convention": "random"}, "'split_convention' to be 'paper'"),
    ],
)
def test_bad_options_are_refused(folder, split, samples, options, message):
    with pytest.raises(ValueError, match=message):
        read(folder, split, samples, **options)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda a: {"x": a["x"]}, r"variable 'y' in .*data_burgers\.mat \(got x\)"),
        (lambda a: {"a": a["x"], "u": a["y"]}, r"variable 'x' in .* \(got a, u\)"),
        (lambda a: {"x": a["x"][:, ::2], "y": a["y"]}, r"'x' in .* shape \(samples, 1024\) \(got \(12, 512\)"),
        (lambda a: {"x": a["x"], "y": a["y"].T}, r"'y' in .* \(got \(1024, 12\), the axes reversed\)"),
        (lambda a: {"x": a["x"][..., None].repeat(3, -1), "y": a["y"]}, r"'x' in .* \(got \(12, 1024, 3\)\)"),
        (lambda a: {"x": a["x"], "y": a["y"][:7]}, r"as many samples of 'x' as of 'y' in .* \(got .*12.* and .*7"),
        (lambda a: {"x": "text", "y": a["y"]}, r"variable 'x' in .* \(got y\)"),
    ],
)
def test_files_laid_out_otherwise_are_refused(tmp_path, arrays, edit, message):
    savemat(tmp_path / FILES[0], edit(arrays))
    for call in (total, lambda folder: read(folder, "train", 2)):
        with pytest.raises(ValueError, match=message):
            call(tmp_path)


@pytest.mark.parametrize("name", ["x", "y"])
def test_values_that_are_not_finite_are_named(tmp_path, arrays, name):
    arrays[name][10, 3] = np.nan
    savemat(tmp_path / FILES[0], arrays)
    with pytest.raises(
        ValueError, match=f"'{name}' in .*data_burgers.mat to be finite .* in sample 10, the first of 1"
    ):
        read(tmp_path, "test", 3)
    assert len(read(tmp_path, "train", 10).numbers) == 10


def test_truncated_files_are_refused(folder):
    path = folder / FILES[0]
    path.write_bytes(path.read_bytes()[:-50000])
    with pytest.raises(ValueError, match=r"data_burgers\.mat to"):
        read(folder, "train", 2)
    path.write_bytes(b"<!DOCTYPE html>")
    with pytest.raises(ValueError, match="complete MAT file"):
        total(folder)


def test_generated_files_are_read(tmp_path):
    generators = pytest.importorskip("inviscid_burgers_samples")
    generators.generate(tmp_path, samples=4, processes=1, progress=False)
    fields = read(tmp_path, "test", 2)
    expected = [generators.solve(generators.draw_start(0, number)) for number in (2, 3)]
    np.testing.assert_array_equal(np.stack([fields.x, fields.y], 1)[..., 0], np.float32(expected))
