"""The Vorticity benchmark's reader, on small files written in the originals' layouts."""

import h5py
import numpy as np
import pytest
from scipy.io import savemat

from pitgeo.datasets import vorticity
from pitgeo.datasets.vorticity import FILES, missing, read, total

TOTAL, SNAPSHOTS = 8, 30


def data(samples=TOTAL, snapshots=SNAPSHOTS, size=64, dtype=np.float32):
    return np.random.default_rng(0).standard_normal((samples, size, size, snapshots)).astype(dtype)


def write_v5(path, **arrays):
    savemat(path, arrays)


def write_v73(path, **arrays):
    """As MATLAB does: a header of its own, then HDF5 with the axes reversed."""
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, array in arrays.items():
            stored = file.create_dataset(name, data=array.T, chunks=True, compression="gzip", compression_opts=1)
            stored.attrs["MATLAB_class"] = np.bytes_({"f4": "single", "f8": "double"}[array.dtype.str[1:]])
    with path.open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(116) + bytes(8) + b"\x00\x02IM")


@pytest.mark.parametrize("write", [write_v5, write_v73])
@pytest.mark.parametrize("name", FILES)
def test_both_files_are_read_in_both_versions(tmp_path, write, name):
    raw = data(dtype=np.float64 if name == FILES[1] else np.float32)
    write(tmp_path / name, u=raw, t=np.arange(1.0, 31)[None])
    assert missing(tmp_path) == [] and total(tmp_path) == TOTAL
    for split, numbers in (("train", [0, 1, 2]), ("test", [5, 6, 7])):
        fields = read(tmp_path, split, 3, others=5)
        assert fields.numbers.tolist() == numbers and fields.grid == (64, 64)
        assert fields.x.shape == (3, 4096, 10) and fields.y.shape == (3, 4096, 20)
        assert fields.x.dtype == fields.y.dtype == np.float32 and fields.pos.dtype == np.float64
        assert fields.x.flags.c_contiguous and fields.y.flags.c_contiguous
        expected = raw[numbers].reshape(3, 4096, 30).astype(np.float32)
        np.testing.assert_array_equal(np.concatenate([fields.x, fields.y], -1), expected)


def test_positions_are_those_of_the_values(tmp_path):
    line = np.linspace(0, 1, 65)[:-1]
    plane = line[:, None] + 10 * line  # first axis x, second axis y
    write_v5(tmp_path / FILES[0], u=np.tile(plane[None, :, :, None], (2, 1, 1, 30)))
    for resolution in (64, 32, 16):
        fields = read(tmp_path, "train", 2, resolution=resolution)
        assert fields.pos.shape == (resolution**2, 2) and fields.grid == (resolution, resolution)
        np.testing.assert_allclose(fields.x[1, :, 3], fields.pos @ [1, 10], rtol=1e-6)
        np.testing.assert_allclose(fields.y[0, :, 19], fields.pos @ [1, 10], rtol=1e-6)
        assert fields.pos.min() == 0 and fields.pos.max() == 1 - 1 / resolution


def test_history_and_steps_are_the_first_snapshots(tmp_path):
    raw = data(3, 50)
    write_v73(tmp_path / FILES[1], u=raw)
    fields = read(tmp_path, "test", 2, history=4, steps=3, resolution=16)
    np.testing.assert_array_equal(fields.x, raw[1:, ::4, ::4, :4].reshape(2, 256, 4))
    np.testing.assert_array_equal(fields.y, raw[1:, ::4, ::4, 4:7].reshape(2, 256, 3))


def test_what_the_generator_writes_is_read(tmp_path, monkeypatch):
    generator = pytest.importorskip("vorticity_samples")
    monkeypatch.setattr(generator, "SNAPSHOTS", 3)
    generator.generate(tmp_path, samples=2, processes=1, progress=False, step=0.25)
    assert generator.FILES[0] == FILES[0] and generator.SIZE // generator.SUBSAMPLING == vorticity.SIZE
    fields = read(tmp_path, "test", 1, history=2, steps=1)
    solved = generator.solve(generator.draw_vorticity(0, 1), step=0.25, snapshots=3)
    np.testing.assert_array_equal(fields.x[0], solved[..., :2].reshape(-1, 2))
    np.testing.assert_array_equal(fields.y[0], solved[..., 2:].reshape(-1, 1))


def test_the_first_file_that_is_there_is_read(tmp_path):
    write_v73(tmp_path / FILES[1], u=data(5))
    assert total(tmp_path) == 5
    write_v5(tmp_path / FILES[0], u=data(4))
    assert total(tmp_path) == 4


def test_missing_files_say_how_to_get_them(tmp_path):
    assert missing(tmp_path) == [FILES[0]]
    for call in (total, lambda folder: read(folder, "train", 1)):
        with pytest.raises(FileNotFoundError, match=rf"{FILES[0]} or {FILES[1]} .*generate\.py"):
            call(tmp_path)


@pytest.mark.parametrize("write", [write_v5, write_v73])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda u: {"u": np.tile(u, (10, 1, 1, 1)).T[..., :40]}, "30 snapshots of 40 samples: the axes are reversed"),
        (lambda u: {"u": u.T}, r"at least 30 snapshots.*got 8, .* of 30 samples.*swap the axes"),
        (lambda u: {"u": np.moveaxis(u, -1, 1)}, r"\(samples, 64, 64, snapshots\) \(got \(8, 30, 64, 64\)\)"),
        (lambda u: {"u": np.moveaxis(u, 0, 2)}, r"\(got \(64, 64, 8, 30\)\)"),
        (lambda u: {"u": u[:, ::2, ::2]}, r"\(got \(8, 32, 32, 30\)\); is this a file of another"),
        (lambda u: {"u": u[..., 0]}, r"\(got \(8, 64, 64\)\)"),
        (lambda u: {"u": u[..., :20]}, "at least 30 snapshots.*got 20"),
        (lambda u: {"u": np.where(u == u[6, 5, 4, 3], np.nan, u)}, "u' in .* finite .* in sample 6"),
        (lambda u: {"u": np.where(u == u[7, 5, 4, 29], np.inf, u)}, "u' in .* finite .* in sample 7"),
        (lambda u: {"sol": u, "coeff": u[..., 0]}, r"variable 'u' in .*N1200_T30.mat \(got coeff, sol\)"),
    ],
)
def test_files_laid_out_otherwise_are_refused(tmp_path, write, change, message):
    write(tmp_path / FILES[0], **change(data()))
    with pytest.raises(ValueError, match=message):
        read(tmp_path, "test", 4)


def test_axes_reversed_by_hand_before_saving_are_told_from_those_that_the_format_reverses(tmp_path):
    raw = data(60, dtype=np.float32)
    with h5py.File(tmp_path / FILES[1], "w") as file:
        file["u"] = raw  # not raw.T, as MATLAB would
    for call in (total, lambda folder: read(folder, "train", 2)):
        with pytest.raises(ValueError, match=r"30 snapshots of 60 samples: .*reversed.*reverse nothing by hand"):
            call(tmp_path)


@pytest.mark.parametrize("write", [write_v5, write_v73])
def test_broken_files_are_refused(tmp_path, write):
    path = tmp_path / FILES[0]
    write(path, u=data(3))
    whole = path.read_bytes()
    for kept in (0, 50, len(whole) // 2, len(whole) - 2000):
        path.write_bytes(whole[:kept])
        with pytest.raises(ValueError, match=FILES[0]):
            read(tmp_path, "test", 3)


def test_splits_never_overlap(tmp_path):
    write_v5(tmp_path / FILES[0], u=data(5))
    assert len(read(tmp_path, "train", 3, others=2).x) == 3
    for split in ("train", "test"):
        with pytest.raises(ValueError, match=r"at least 6 samples, training and test together, .* \(got 5\)"):
            read(tmp_path, split, 3, others=3)
        with pytest.raises(ValueError, match=r"at least 6 samples in .* \(got 5\)"):
            read(tmp_path, split, 6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"split": "validation"}, "'split'"),
        ({"samples": 0}, "'samples'"),
        ({"history": 0}, "'history'"),
        ({"steps": 0}, "'steps'"),
        ({"resolution": 48}, "'resolution' to be 64, 32 or 16"),
        ({"resolution": 128}, "'resolution' to be 64, 32 or 16"),
        ({"history": 11}, "at least 31 snapshots"),
    ],
)
def test_bad_options_are_refused(tmp_path, options, message):
    write_v5(tmp_path / FILES[0], u=data(2))
    with pytest.raises(ValueError, match=message):
        read(tmp_path, **{"split": "train", "samples": 1, **options})
