"""Reading Darcy2D in the layouts of the originals, and refusing what is not one."""

import numpy as np
import pytest
from scipy.io import savemat

from pitgeo.datasets import darcy2d
from pitgeo.datasets.darcy2d import FILES, lines, missing, positions, read, total
from pitgeo.datasets.grid_options import Darcy2DOptions
from tests.datasets.test_matlab import write_v73


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(darcy2d, "SIZE", 61)


def arrays(count=3, size=61):
    random = np.random.default_rng(0)
    coefficient = random.choice([3.0, 12.0], (count, size, size)).astype(np.float32)
    return {"coeff": coefficient, "sol": random.random((count, size, size)).astype(np.float32)}


def write(folder, content, version="5", name=FILES["train"]):
    if version == "5":
        savemat(folder / name, {**content, "Kcoeff": np.zeros(3)})
    else:
        write_v73(folder / name, content)
    return folder


@pytest.mark.parametrize("version", ["5", "7.3"])
@pytest.mark.parametrize("resolution", [61, 31, 13])
def test_both_versions_at_several_resolutions(tmp_path, version, resolution):
    content = arrays()
    fields = read(write(tmp_path, content, version), "train", 2, resolution)
    step = 60 // (resolution - 1)
    assert fields.grid == (resolution, resolution) and fields.numbers.tolist() == [0, 1]
    assert np.array_equal(fields.x[1, :, 0], content["coeff"][1, ::step, ::step].ravel())
    assert np.array_equal(fields.y[1, :, 0], content["sol"][1, ::step, ::step].ravel())
    assert total(tmp_path) == 3 and missing(tmp_path) == [FILES["test"]]


def test_positions():
    true, code = positions(13), positions(13, "code")
    assert true[0].tolist() == [0, 0] and true[-1].tolist() == [1, 1] and true[1].tolist() == [0, 1 / 12]
    assert np.allclose(code[-1], 12 / 13)


@pytest.mark.parametrize("version", ["5", "7.3"])
def test_a_graded_grid_has_the_values_of_its_lines(tmp_path, version):
    content = arrays()
    kept = lines(13, 0.6)
    steps = np.diff(kept)
    assert kept[0] == 0 and kept[-1] == 60 and steps[0] == 2 and steps[6] == 8 and np.array_equal(steps, steps[::-1])
    fields = read(write(tmp_path, content, version), "train", 2, 13, grading=0.6)
    assert fields.grid == (13, 13) and not fields.is_regular
    assert np.array_equal(fields.x[1, :, 0], content["coeff"][1][np.ix_(kept, kept)].ravel())
    assert np.allclose(fields.pos.reshape(13, 13, 2)[:, 5, 0], kept / 60)
    assert np.array_equal(lines(13), np.arange(0, 61, 5))
    options = Darcy2DOptions(grading=0.6, resolution=13)
    assert options.template().get("grid") is None and options.few_samples()[0].get("grid") is None
    assert Darcy2DOptions(resolution=13).few_samples()[0].grid == (13, 13)


def reversed_axes(content):
    return {key: np.moveaxis(value, 0, -1) for key, value in content.items()}


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda c: arrays(size=41), r"61, 61\) \(got \(3, 41, 41\); the file is one of 41 x 41"),
        (reversed_axes, "reversed axes"),
        (lambda c: {"coeff": c["coeff"]}, "'coeff' and 'sol'"),
        (lambda c: {"coeff": c["coeff"], "sol": c["sol"][:2]}, "as many samples"),
        (lambda c: {"coeff": c["sol"], "sol": c["coeff"]}, "swapped"),
        (lambda c: {**c, "sol": np.where(np.arange(3)[:, None, None] == 1, np.nan, c["sol"])}, "sample 1"),
        (lambda c: arrays(count=1), "at least 3 samples"),
    ],
)
def test_wrong_files_are_refused(tmp_path, edit, message):
    write(tmp_path, edit(arrays()))
    with pytest.raises(ValueError, match=message):
        read(tmp_path, "train", 3, 61)


def test_one_file_under_both_names_is_refused(tmp_path):
    write(tmp_path, arrays())
    (tmp_path / FILES["test"]).write_bytes((tmp_path / FILES["train"]).read_bytes())
    for split in FILES:
        with pytest.raises(ValueError, match="two files"):
            read(tmp_path, split, 2, 61)
    other = arrays()
    other["sol"][-1, -1, -1] += 1e-4
    write(tmp_path, other, name=FILES["test"])
    assert read(tmp_path, "test", 2, 61).grid == (61, 61)


def test_missing_and_broken_files_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"smooth2.*generate\.py"):
        read(tmp_path, "test", 1, 61)
    write(tmp_path, arrays())
    path = tmp_path / FILES["train"]
    path.write_bytes(path.read_bytes()[:500])
    with pytest.raises(ValueError, match="smooth1"):
        read(tmp_path, "train", 1, 61)


@pytest.mark.parametrize(
    "options",
    [
        {"split": "validation"},
        {"samples": 0},
        {"resolution": 60},
        {"coordinates": "pixels"},
        {"grading": 1.5},
        {"grading": 0.6},
        {"coordinates": "code", "grading": 0.6},
    ],
)
def test_bad_options_are_refused(tmp_path, options):
    arguments = {"split": "train", "samples": 1, "resolution": 61, **options}
    with pytest.raises(ValueError, match=next(iter(options))):
        read(write(tmp_path, arrays()), **arguments)
