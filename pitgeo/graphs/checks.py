"""Checks of positions and batch vectors."""

from __future__ import annotations

import torch
from torch import Tensor


def check_positions(name: str, positions: Tensor) -> None:
    """Raise a ``ValueError`` unless positions are finite and ``[N, D]``."""
    if positions.dim() != 2 or not positions.is_floating_point():
        raise ValueError(
            f"Expected {name} to be floating-point positions of shape [N, D] "
            f"(got {list(positions.shape)} of {positions.dtype})"
        )
    if not bool(torch.isfinite(positions).all()):
        row = int((~torch.isfinite(positions)).any(1).nonzero()[0])
        raise ValueError(f"Expected every position in {name} to be finite (got {positions[row].tolist()} at row {row})")


def batch_pointer(batch: Tensor | None, count: int, size: int | None = None) -> list[int]:
    """Where each sample of a batch vector begins, and where the last one ends: ``size + 1`` numbers.

    Raises:
        ValueError: If the vector has another length, decreases somewhere, or names a sample beyond ``size``.
    """
    if batch is None:
        return [0, count]
    if batch.dim() != 1 or batch.numel() != count:
        raise ValueError(f"Expected a batch vector of shape [{count}] (got {list(batch.shape)})")
    if count and bool((batch[1:] < batch[:-1]).any()):
        row = int((batch[1:] < batch[:-1]).nonzero()[0]) + 1
        raise ValueError(
            f"Expected the batch vector to be sorted (got sample {int(batch[row])} after {int(batch[row - 1])} "
            f"at row {row}); sort the points by sample first"
        )
    last = int(batch[-1]) if count else -1
    if size is not None and last >= size:
        raise ValueError(f"Expected sample numbers below {size} in the batch vector (got {last})")
    counts = torch.bincount(batch, minlength=last + 1 if size is None else size)
    return [0, *counts.cumsum(0).tolist()]
