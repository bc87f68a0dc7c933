"""Raw files of benchmarks: found, checked, and the part of them that a split takes."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
import torch
from numpy.typing import NDArray


def raw_file(folder: Path, names: Sequence[str], benchmark: str) -> Path:
    """The raw file that is there: the first of its possible names.

    Raises:
        FileNotFoundError: If there is none.
    """
    for name in names:
        if (Path(folder) / name).exists():
            return Path(folder) / name
    raise FileNotFoundError(
        f"Expected the raw file {' or '.join(names)} in {folder} (got none); put an original there, or run "
        f"'python datasets/{benchmark}/generate.py'"
    )


def missing_file(folder: Path, names: Sequence[str]) -> list[str]:
    """Name of the raw file if there is neither it nor one that takes its place."""
    return [] if any((Path(folder) / name).exists() for name in names) else [names[0]]


def open_npy(path: Path, benchmark: str) -> NDArray[Any]:
    """A raw numpy file, mapped rather than read.

    Raises:
        FileNotFoundError: If there is none.
        ValueError: If it is broken.
    """
    if not path.exists():
        raise FileNotFoundError(
            f"Expected the raw file {path} (got none); put the original there, or run "
            f"'python datasets/{benchmark}/generate.py'"
        )
    try:
        return cast("NDArray[Any]", np.load(path, mmap_mode="r"))
    except PermissionError:
        raise
    except (ValueError, EOFError, OSError) as error:
        raise ValueError(
            f"Expected {path} to be a complete numpy file (got: {error}); it looks truncated, so fetch or generate it "
            f"again"
        ) from error


def split_numbers(
    path: Path, total: int, split: Literal["train", "test"], samples: int, others: int, benchmark: str
) -> NDArray[np.int64]:
    """Numbers of the samples of a split: the first of the file to train on, the last ones to test on.

    Args:
        path: The file, for messages.
        total: Samples of the file.
        split: ``"train"`` or ``"test"``.
        samples: How many to take.
        others: Samples of the other split, none of which may be among these.
        benchmark: Whose generator to name in messages.

    Raises:
        ValueError: If there are too few.
    """
    if split not in ("train", "test"):
        raise ValueError(f"Expected 'split' to be 'train' or 'test' (got {split!r})")
    if total < samples + others:
        needed = f"{samples} samples" if not others else f"{samples + others} samples, training and test together,"
        raise ValueError(
            f"Expected at least {needed} in {path} (got {total}); ask for fewer, or generate more with "
            f"datasets/{benchmark}/generate.py"
        )
    start = 0 if split == "train" else total - samples
    return np.arange(start, start + samples)


def check_file(path: Path, sha256: str, source: str) -> None:
    """Raise unless a file is there and is the one that is meant.

    Args:
        path: The file.
        sha256: Its SHA-256, in hexadecimal digits.
        source: Where to get it, for messages.

    Raises:
        FileNotFoundError: If there is none.
        ValueError: If it is another, or damaged.
    """
    if not path.is_file():
        raise FileNotFoundError(f"Expected the raw file {path} (got none); put it there, it comes from {source}")
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != sha256:
        raise ValueError(
            f"Expected {path} to have the SHA-256 {sha256} (got {found}); it is another file or damaged: get it again "
            f"from {source}"
        )


def shuffled_numbers(
    path: Path, total: int, split: Literal["train", "test"], samples: int, others: int = 0
) -> NDArray[np.int64]:
    """Numbers of the samples of a split of a file whose samples are ordered by their parameters.

    They are taken from ``torch.randperm(total)`` with seed 0: the first ones to train on, the last ones to test on.

    Args:
        path: The file, for messages.
        total: Samples of the file.
        split: ``"train"`` or ``"test"``.
        samples: How many to take.
        others: Samples of the other split, none of which may be among these.

    Raises:
        ValueError: If the split is unknown, or there are too few.
    """
    if split not in ("train", "test"):
        raise ValueError(f"Expected 'split' to be 'train' or 'test' (got {split!r})")
    if samples < 1 or total < samples + others:
        needed = f"1 to {total}" if not others else f"1 to {total - others} (and {others} of the other split)"
        raise ValueError(f"Expected {needed} samples of {path}, which holds {total} (got {samples})")
    order = torch.randperm(total, generator=torch.Generator().manual_seed(0)).numpy()
    return order[:samples] if split == "train" else order[total - samples :]
