"""Files that come from elsewhere and cannot be generated: checked by their SHA-256, split by a fixed permutation."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray


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
