"""Reading arrays from MATLAB's files, of version 5 or 7.3, with MATLAB's own order of axes."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray
from scipy.io import loadmat, whosmat
from scipy.io.matlab import MatReadError

_HDF5_HEADERS = (b"MATLAB 7.3", b"\x89HDF\r\n\x1a\n")
_CLASSES = {"double", "single", "logical", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))}
# What scipy and h5py raise for broken files.
_BROKEN = (
    OSError,
    ValueError,
    EOFError,
    KeyError,
    IndexError,
    TypeError,
    AttributeError,
    OverflowError,
    RuntimeError,
    MatReadError,
    zlib.error,
)


def read_mat(path: Path, names: Sequence[str], samples: slice = slice(None)) -> dict[str, NDArray[Any]]:
    """Read named arrays from a MAT file.

    The version is told by what the file holds, not by its name: 7.3, which is HDF5, with or without MATLAB's own
    header, or 5 (and 4), which scipy reads. HDF5 stores MATLAB's axes reversed; they come in MATLAB's order here.

    Args:
        path: The file.
        names: Variables to read; no others are read.
        samples: Which part along MATLAB's first axis. Of a 7.3 file only this part is read.

    Returns:
        An array of the stored type for each name. Most are in Fortran order.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If it is not a MAT file, is truncated, or has no numeric array of that name.

    Example:
        >>> import tempfile
        >>> from scipy.io import savemat
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "data.mat"
        ...     savemat(path, {"x": np.zeros((4, 3)), "other": np.zeros(9)})
        ...     {name: array.shape for name, array in read_mat(path, ["x"], slice(2)).items()}
        {'x': (2, 3)}
    """
    shapes = mat_shapes(path)
    lacking = [name for name in names if name not in shapes]
    if lacking:
        known = ", ".join(sorted(shapes)) or "none"
        raise ValueError(
            f"Expected {path} to hold the numeric arrays {', '.join(names)} (got {known}; {', '.join(lacking)} "
            f"lacking); it is another file, or truncated"
        )
    with _readable(path):
        if not _is_hdf5(path):
            arrays = loadmat(str(path), variable_names=list(names), appendmat=False)
            return {name: arrays[name][samples] for name in names}
        with h5py.File(path, "r") as file:
            return {name: _read_dataset(file[name], shapes[name], samples) for name in names}


def mat_shapes(path: Path) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the numeric arrays in a MAT file, in MATLAB's order of axes; their values are not read.

    Args:
        path: The file.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If it is not a MAT file, or is truncated.
    """
    with _readable(path):
        if not _is_hdf5(path):
            return {name: tuple(shape) for name, shape, kind in whosmat(str(path), appendmat=False) if kind in _CLASSES}
        with h5py.File(path, "r") as file:
            found = {name: _dataset_shape(item) for name, item in file.items() if isinstance(item, h5py.Dataset)}
        return {name: shape for name, shape in found.items() if shape is not None}


def named_shapes(path: Path, names: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """Shapes of just these arrays of a MAT file, see :func:`mat_shapes`.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If it is not a MAT file, or lacks one of them.
    """
    shapes = mat_shapes(path)
    for name in names:
        if name not in shapes:
            known = ", ".join(sorted(shapes)) or "none"
            raise ValueError(
                f"Expected the variable '{name}' in {path} (got {known}); is this another benchmark's file?"
            )
    return {name: shapes[name] for name in names}


def _is_hdf5(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(16).startswith(_HDF5_HEADERS) or bool(h5py.is_hdf5(path))


def _dataset_shape(dataset: h5py.Dataset) -> tuple[int, ...] | None:
    """Shape in MATLAB's order of axes; ``None`` for text, cells, complex numbers and whatever else is no array."""
    kind = dataset.attrs.get("MATLAB_class", b"")
    kind = kind.decode() if isinstance(kind, bytes) else str(kind)
    if dataset.shape is None or dataset.dtype.kind not in "fiub" or (kind and kind not in _CLASSES):
        return None
    if dataset.attrs.get("MATLAB_empty", 0):  # in place of values there is the shape
        return tuple(int(length) for length in dataset[()])
    return tuple(dataset.shape[::-1])


def _read_dataset(dataset: h5py.Dataset, shape: tuple[int, ...], samples: slice) -> NDArray[Any]:
    if dataset.attrs.get("MATLAB_empty", 0):
        return np.empty(shape, dataset.dtype)[samples]
    if not shape:
        return np.asarray(dataset[()])
    start, stop, step = samples.indices(shape[0])
    if step < 0 or stop <= start:  # h5py has no such slices
        return np.asarray(dataset[()]).T[samples]
    return np.asarray(dataset[..., start:stop:step]).T


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Say what a missing or broken file means, whatever the reader made of it."""
    if not path.exists():
        raise FileNotFoundError(f"Expected the MAT file {path} (got none)")
    try:
        yield
    except (PermissionError, IsADirectoryError):
        raise
    except _BROKEN as error:
        raise ValueError(
            f"Expected {path} to be a complete MAT file (got {type(error).__name__}: {error}); it is of another kind, "
            f"or truncated, so fetch or generate it again"
        ) from error
