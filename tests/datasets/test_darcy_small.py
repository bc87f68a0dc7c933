"""The small Darcy files: as they are, and refused when they are not."""

from pathlib import Path

import numpy as np
import pytest
import torch

from pitgeo.datasets.darcy_small import missing, positions, read

REAL = Path(__file__).parents[3] / "shared" / "cases" / "operators"


def write(folder, name="darcy_train_16", size=16, count=4, **change):
    content = {"x": torch.rand(count, size, size) > 0.5, "y": torch.rand(count, size, size), **change}
    torch.save(content, folder / f"{name}.pt")
    return folder


def test_a_file_is_read(tmp_path):
    fields = read(write(tmp_path), "train", 3)
    assert fields.x.shape == fields.y.shape == (3, 256, 1) and set(np.unique(fields.x)) == {0.0, 1.0}
    assert fields.grid == (16, 16) and np.allclose(fields.pos[-1], 15 / 16)
    raw = torch.load(tmp_path / "darcy_train_16.pt", weights_only=True)
    assert fields.pos[18].tolist() == [1 / 16, 2 / 16]
    assert fields.x[2, 18, 0] == raw["x"][2, 1, 2] and fields.y[2, 18, 0] == raw["y"][2, 1, 2]
    assert missing(tmp_path) == ["darcy_test_16.pt", "darcy_test_32.pt"]


@pytest.mark.skipif(not REAL.exists(), reason="the files are not there")
def test_the_real_files():
    assert missing(REAL) == []
    assert read(REAL, "train", 1000).y.shape == (1000, 256, 1)
    coarse, fine = read(REAL, "test", 50), read(REAL, "test", 50, 32)
    assert fine.y.shape == (50, 1024, 1)
    for name in ("x", "y"):  # one set of samples, points i / n
        every_second = getattr(fine, name).reshape(50, 32, 32)[:, ::2, ::2]
        assert np.array_equal(every_second, getattr(coarse, name).reshape(50, 16, 16))
    assert np.array_equal(fine.pos.reshape(32, 32, 2)[::2, ::2], coarse.pos.reshape(16, 16, 2))


def test_wrong_files_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="darcy_train_32"):
        read(tmp_path, "train", 1, 32)
    with pytest.raises(ValueError, match="'resolution'"):
        positions(64)
    with pytest.raises(ValueError, match="'split'"):
        read(tmp_path, "validation", 1)
    with pytest.raises(ValueError, match=r"N, 16, 16\) \(got \(4, 32, 32"):
        read(write(tmp_path, size=32), "train", 1)
    with pytest.raises(ValueError, match="1 to 4 samples"):
        read(write(tmp_path), "train", 5)
    with pytest.raises(ValueError, match="sample 0"):
        read(write(tmp_path, y=torch.full((4, 16, 16), torch.nan)), "train", 2)
    for change, message in (
        ({"x": [1], "y": [2]}, "tensors .got list, list"),
        ({"y": torch.zeros(3, 16, 16)}, "as many samples"),
        ({"x": torch.rand(4, 16, 16)}, "0 or 1"),
    ):
        with pytest.raises(ValueError, match=message):
            read(write(tmp_path, **change), "train", 2)
    torch.save([1], tmp_path / "darcy_train_16.pt")
    with pytest.raises(ValueError, match="'x' and 'y'"):
        read(tmp_path, "train", 1)
    for content in (b"nothing", b"", b"0", b"h\x00", b"Q"):  # the last three: an index, a key and a type that fail
        (tmp_path / "darcy_train_16.pt").write_bytes(content)
        with pytest.raises(ValueError, match="complete file"):
            read(tmp_path, "train", 1)
