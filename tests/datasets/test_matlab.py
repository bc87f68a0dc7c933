"""Reading MAT files of both versions, and refusing broken ones."""

import h5py
import numpy as np
import pytest
from scipy.io import savemat
from scipy.sparse import csc_matrix

from pitgeo.datasets.matlab import mat_shapes, read_mat

RANDOM = np.random.default_rng(0)
ARRAYS = {
    "x": RANDOM.random((5, 4)),
    "y": RANDOM.random((5, 4, 3, 2)).astype(np.float32),
    "count": np.arange(6, dtype=np.int32).reshape(2, 3),
}


def write_v5(path, arrays, compressed=False):
    savemat(path, arrays, do_compression=compressed)


def write_compressed(path, arrays):
    write_v5(path, arrays, compressed=True)


def write_hdf5(path, arrays, user_block=0):
    with h5py.File(path, "w", userblock_size=user_block) as file:
        for name, array in arrays.items():
            dataset = file.create_dataset(name, data=array.T)  # MATLAB's columns first are HDF5's rows last
            dataset.attrs["MATLAB_class"] = np.bytes_(
                {"f8": "double", "f4": "single"}.get(array.dtype.str[1:], "int32")
            )


def write_v73(path, arrays):
    write_hdf5(path, arrays, user_block=512)
    with path.open("r+b") as file:
        text = b"MATLAB 7.3 MAT-file, Platform: GLNXA64, Created on: Thu Jan  1 00:00:00 1970 HDF5 schema 1.00 ."
        file.write(text.ljust(116) + bytes(8) + b"\x00\x02IM")


WRITERS = [write_v5, write_compressed, write_hdf5, write_v73]


@pytest.fixture(params=WRITERS)
def path(request, tmp_path):
    path = tmp_path / "data.other"  # the name says nothing
    request.param(path, ARRAYS)
    return path


def test_every_version_gives_the_same_arrays_and_shapes(path):
    assert mat_shapes(path) == {name: array.shape for name, array in ARRAYS.items()}
    read = read_mat(path, list(ARRAYS))
    assert list(read) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert read[name].dtype == array.dtype
        np.testing.assert_array_equal(read[name], array)


def test_only_the_named_variables_are_read(path):
    assert list(read_mat(path, ["y"])) == ["y"]


@pytest.mark.parametrize(
    "samples", [slice(2), slice(-2, None), slice(1, 4, 2), slice(3, 3), slice(None, None, -1), slice(0, 100)]
)
def test_a_part_along_the_first_axis(path, samples):
    read = read_mat(path, ["x", "y"], samples)
    for name in read:
        np.testing.assert_array_equal(read[name], ARRAYS[name][samples])


def test_a_part_of_a_v73_file_is_read_alone(tmp_path):
    path, big = tmp_path / "data.mat", (1 << 40, 4)
    with h5py.File(path, "w") as file:  # 32 TiB, of which nothing is stored
        file.create_dataset("x", shape=big[::-1], chunks=(4, 1000), dtype="f8")
    assert mat_shapes(path) == {"x": big}
    assert read_mat(path, ["x"], slice(-7, None))["x"].shape == (7, 4)


def test_missing_variables_are_named_with_those_there_are(path):
    with pytest.raises(
        ValueError, match=r"data.other to hold the numeric arrays x, sol \(got count, x, y; sol lacking"
    ):
        read_mat(path, ["x", "sol"])


def test_what_is_no_numeric_array_is_passed_over(tmp_path):
    path = tmp_path / "v5.mat"
    cell = np.empty((1, 2), object)
    cell[:] = [[np.zeros(2), "text"]]
    savemat(
        path,
        {
            "x": np.ones((2, 3)),
            "flag": np.array([[True]]),
            "s": {"x": 1},
            "c": cell,
            "t": "text",
            "p": csc_matrix(np.eye(3)),
        },
    )
    assert mat_shapes(path) == {"x": (2, 3), "flag": (1, 1)}

    path = tmp_path / "v73.mat"
    write_v73(path, {"x": np.ones((2, 3))})
    with h5py.File(path, "r+") as file:
        file.create_group("#refs#").create_dataset("a", data=np.zeros(3))
        file.create_dataset("t", data=np.frombuffer(b"text", np.uint8).astype(np.uint16)[:, None])
        file["t"].attrs["MATLAB_class"] = np.bytes_("char")
        file.create_dataset("z", data=np.zeros(3, [("real", "f8"), ("imag", "f8")]))
        file.create_dataset("n", data=h5py.Empty("f8"))
        file.create_dataset("e", data=np.array([0, 7], np.uint64))
        file["e"].attrs["MATLAB_class"] = np.bytes_("double")
        file["e"].attrs["MATLAB_empty"] = np.uint8(1)
    assert mat_shapes(path) == {"x": (2, 3), "e": (0, 7)}
    assert read_mat(path, ["e"])["e"].shape == (0, 7)
    for name in "tzn":
        with pytest.raises(ValueError, match=f"{name} lacking"):
            read_mat(path, [name])


def test_plain_hdf5_without_matlab_attributes_counts(tmp_path):
    path = tmp_path / "data.mat"
    with h5py.File(path, "w") as file:
        file["x"] = np.arange(6.0).reshape(2, 3)
        file["scalar"] = 1.5
    assert mat_shapes(path) == {"x": (3, 2), "scalar": ()}
    read = read_mat(path, ["x", "scalar"])
    np.testing.assert_array_equal(read["x"], [[0, 3], [1, 4], [2, 5]])
    assert read["scalar"] == 1.5


@pytest.mark.parametrize("write", WRITERS)
def test_truncated_files_are_refused_wherever_they_end(tmp_path, write):
    path = tmp_path / "data.mat"
    write(path, ARRAYS)
    whole = path.read_bytes()
    for length in sorted({*range(0, 600, 7), *range(600, len(whole), 97), len(whole) - 1}):
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match=r"Expected .*data\.mat to"):
            read_mat(path, list(ARRAYS))


@pytest.mark.parametrize("content", [b"", b"\x93NUMPY\x01\x00", b"<!DOCTYPE html>" * 40, bytes(1000), b"\xff" * 1000])
def test_other_files_are_refused(tmp_path, content):
    path = tmp_path / "data.mat"
    path.write_bytes(content)
    for read in (mat_shapes, lambda path: read_mat(path, ["x"])):
        with pytest.raises(ValueError, match=r"data\.mat to"):
            read(path)


def test_a_missing_file_is_named(tmp_path):
    for read in (mat_shapes, lambda path: read_mat(path, ["x"])):
        with pytest.raises(FileNotFoundError, match=r"nowhere\.mat"):
            read(tmp_path / "nowhere.mat")
