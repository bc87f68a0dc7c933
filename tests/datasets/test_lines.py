"""What the readers of the two benchmarks on a line do alike: InviscidBurgers and ShockTube, each in one MAT file."""

import numpy as np
import pytest
from scipy.io import savemat

from pitgeo.datasets import inviscid_burgers, shock_tube
from tests.datasets.test_inviscid_burgers import arrays as burgers
from tests.datasets.test_matlab import write_v73
from tests.datasets.test_shock_tube import arrays as tubes

BENCHMARKS = {"burgers": (inviscid_burgers, burgers), "tube": (shock_tube, tubes)}


@pytest.fixture(params=BENCHMARKS)
def benchmark(request):
    return BENCHMARKS[request.param]


@pytest.fixture
def module(benchmark, tmp_path):
    module, arrays = benchmark
    savemat(tmp_path / module.FILES[0], arrays())
    return module


def target(arrays):
    """What is to be predicted: the field, or the energy, the last of a gas's channels."""
    return np.float32(arrays["y"].reshape(*arrays["y"].shape[:2], -1)[..., -1])


def test_the_first_samples_train_and_the_last_ones_test(benchmark, module, tmp_path):
    arrays = benchmark[1]()
    train, test = module.read(tmp_path, "train", 5), module.read(tmp_path, "test", 3)
    assert train.numbers.tolist() == [0, 1, 2, 3, 4] and test.numbers.tolist() == [9, 10, 11]
    for fields in (train, test):
        shape = (len(fields.numbers), *module.GRID)
        x = np.float32(arrays["x"][fields.numbers]).reshape(*shape, -1)
        assert fields.grid == module.GRID and fields.x.shape == x.shape and fields.y.shape == (*shape, 1)
        assert fields.x.dtype == fields.y.dtype == np.float32
        assert fields.x.flags.c_contiguous and fields.y.flags.c_contiguous
        np.testing.assert_array_equal(fields.x, x)
        np.testing.assert_array_equal(fields.y[..., 0], target(arrays)[fields.numbers])
    assert module.total(tmp_path) == 12


@pytest.mark.parametrize("write", [savemat, write_v73])
@pytest.mark.parametrize("number", [0, 1])
def test_both_names_and_both_versions(benchmark, tmp_path, number, write):
    module, arrays = benchmark[0], benchmark[1]()
    assert module.missing(tmp_path) == [module.FILES[0]]
    with pytest.raises(FileNotFoundError, match=r"generate\.py"):
        module.total(tmp_path)
    with pytest.raises(FileNotFoundError, match=rf"{module.FILES[0]}.*{module.FILES[1]}"):
        module.read(tmp_path, "train", 1)
    write(tmp_path / module.FILES[number], arrays)
    assert module.missing(tmp_path) == [] and module.total(tmp_path) == 12
    np.testing.assert_array_equal(module.read(tmp_path, "test", 2).y[..., 0], target(arrays)[-2:])


def test_too_few_samples_are_refused_and_so_is_overlap(module, tmp_path):
    with pytest.raises(ValueError, match=rf"at least 13 samples in .*{module.FILES[0]} \(got 12\)"):
        module.read(tmp_path, "train", 13)
    with pytest.raises(ValueError, match=r"at least 13 samples, training and test together, .*\(got 12\)"):
        module.read(tmp_path, "test", 3, others=10)
    assert len(module.read(tmp_path, "test", 3, others=9).numbers) == 3


@pytest.mark.parametrize(
    ("split", "samples", "message"),
    [
        ("validation", 1, "'split' to be 'train' or 'test'"),
        ("train", 0, "'samples' to be from 1 to 1024 for split 'train'"),
        ("train", 1025, "'samples' to be from 1 to 1024"),
        ("test", 129, "'samples' to be from 1 to 128"),
    ],
)
def test_bad_numbers_are_refused(module, tmp_path, split, samples, message):
    with pytest.raises(ValueError, match=message):
        module.read(tmp_path, split, samples)


def test_truncated_files_are_refused(module, tmp_path):
    path = tmp_path / module.FILES[0]
    path.write_bytes(path.read_bytes()[:-50000])
    with pytest.raises(ValueError, match=rf"{path.name} to"):
        module.read(tmp_path, "train", 2)
    path.write_bytes(b"<!DOCTYPE html>")
    with pytest.raises(ValueError, match="complete MAT file"):
        module.total(tmp_path)
