"""Reading the InviscidBurgers benchmark, from small files written in the originals' layout."""

import numpy as np
import pytest
from scipy.io import savemat

from pitgeo.datasets.inviscid_burgers import FILES, positions, read, total

TOTAL = 12


def arrays():
    random = np.random.default_rng(0)
    return {name: random.standard_normal((TOTAL, 1024)) for name in ("x", "y")}


def test_positions_are_without_the_end_point(tmp_path):
    savemat(tmp_path / FILES[0], arrays())
    fields = read(tmp_path, "train", 1)
    assert fields.pos.shape == (1024, 1) and fields.pos.dtype == np.float64
    np.testing.assert_array_equal(fields.pos[:, 0], np.arange(1024) / 1024)
    np.testing.assert_array_equal(fields.pos, positions())


def test_the_papers_split_of_a_whole_file(tmp_path):
    values = np.arange(1152.0)[:, None] * np.ones(1024)
    savemat(tmp_path / FILES[0], {"x": values, "y": -values})
    train = read(tmp_path, "train", 950, "paper", others=128)
    test = read(tmp_path, "test", 128, split_convention="paper", others=950)
    assert train.x[:, 0, 0].tolist() == list(range(950)) and test.y[:, 5, 0].tolist() == list(range(-1024, -1152, -1))
    assert read(tmp_path, "train", 1024, others=128).numbers[-1] == 1023
    with pytest.raises(ValueError, match="'split_convention' to be 'paper'"):
        read(tmp_path, "train", 1, split_convention="random")


def test_single_precision_files_are_read_too(tmp_path):
    savemat(tmp_path / FILES[0], {name: array.astype(np.float32) for name, array in arrays().items()})
    assert read(tmp_path, "train", 2).x.dtype == np.float32


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
def test_files_laid_out_otherwise_are_refused(tmp_path, edit, message):
    savemat(tmp_path / FILES[0], edit(arrays()))
    for call in (total, lambda folder: read(folder, "train", 2)):
        with pytest.raises(ValueError, match=message):
            call(tmp_path)


@pytest.mark.parametrize("name", ["x", "y"])
def test_values_that_are_not_finite_are_named(tmp_path, name):
    values = arrays()
    values[name][10, 3] = np.nan
    savemat(tmp_path / FILES[0], values)
    with pytest.raises(
        ValueError, match=f"'{name}' in .*data_burgers.mat to be finite .* in sample 10, the first of 1"
    ):
        read(tmp_path, "test", 3)
    assert len(read(tmp_path, "train", 10).numbers) == 10


def test_generated_files_are_read(tmp_path):
    generators = pytest.importorskip("inviscid_burgers_samples")
    generators.generate(tmp_path, samples=4, processes=1, progress=False)
    fields = read(tmp_path, "test", 2)
    expected = [generators.solve(generators.draw_start(0, number)) for number in (2, 3)]
    np.testing.assert_array_equal(np.stack([fields.x, fields.y], 1)[..., 0], np.float32(expected))
