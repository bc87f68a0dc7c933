"""From flat batches, as PyG stores them, to the dense batches that global attention takes, and back."""

from __future__ import annotations

import copy
import itertools
from dataclasses import dataclass

import torch
from torch import Tensor

from pitgeo.data import PointData
from pitgeo.graphs.checks import batch_pointer
from pitgeo.system.tensors import TensorRecord


@dataclass(frozen=True, eq=False)
class DenseLayout(TensorRecord):
    """The row of every point of a flat batch in a dense one.

    Args:
        samples: Number of samples ``B``.
        width: Number of points of the largest sample ``N``.
        place: Row of every flat point in the ``[B * N]`` dense rows; ``None`` if all samples have ``N`` points: then
            the dense batch is a view of the flat one.
        mask: ``[B, N]``, true where a point is; ``None`` if everywhere. It is true at the first place of an empty
            sample, so that attention over that sample stays defined.

    Example:
        >>> layout = DenseLayout.of(torch.tensor([0, 0, 0, 1]), 4, 2)
        >>> layout.dense(torch.arange(1.0, 5.0)[:, None])[..., 0]
        tensor([[1., 2., 3.],
                [4., 0., 0.]])
    """

    samples: int
    width: int
    place: Tensor | None
    mask: Tensor | None

    @classmethod
    def of(cls, batch: Tensor | None, count: int, samples: int | None = None) -> DenseLayout:
        """The layout of a batch vector.

        Raises:
            ValueError: If the batch vector is not sorted or has another length than ``count``.

        Example:
            >>> DenseLayout.of(torch.tensor([0, 0, 1]), 3).mask
            tensor([[ True,  True],
                    [ True, False]])
        """
        pointer = batch_pointer(batch, count, samples)
        sizes = [after - before for before, after in itertools.pairwise(pointer)]
        width = max(sizes, default=0)
        if batch is None or all(size == width for size in sizes):
            return cls(len(sizes), width, None, None)
        start = torch.tensor(pointer[:-1], device=batch.device)
        place = torch.arange(count, device=batch.device) - start[batch] + batch * width
        filled = torch.tensor([max(size, 1) for size in sizes], device=batch.device)
        return cls(len(sizes), width, place, torch.arange(width, device=batch.device) < filled.unsqueeze(1))

    def dense(self, flat: Tensor) -> Tensor:
        """``[N_total, C]`` -> ``[B, N, C]``, with zeros as padding."""
        if self.place is not None:
            flat = flat.new_zeros(self.samples * self.width, flat.shape[-1]).index_copy(0, self.place, flat)
        return flat.reshape(self.samples, self.width, flat.shape[-1])

    def flat(self, dense: Tensor) -> Tensor:
        """``[B, N, C]`` -> ``[N_total, C]``."""
        rows = dense.reshape(-1, dense.shape[-1])
        return rows if self.place is None else rows[self.place]


def layout_of(data: PointData, kind: str) -> DenseLayout:
    """The layout of the input, latent or output points: that of :func:`with_layouts`, or a new one."""
    layout = data.get(f"{kind}_layout")
    if isinstance(layout, DenseLayout):  # else missing, or the layouts of single samples that were batched later
        return layout
    pos, batch = data.points(kind)
    has_own = data.x.dim() == 2  # a mesh for every sample
    return DenseLayout.of(batch if has_own else None, pos.shape[0], data.samples if has_own else None)


def with_layouts(data: PointData) -> PointData:
    """A copy with the layouts of all points, so that models need not look at numbers that are on a GPU by then."""
    data = copy.copy(data)
    for kind in ("input", "latent", "output"):
        data[f"{kind}_layout"] = layout_of(data, kind)
    return data


def centred(pos: Tensor, mask: Tensor | None) -> Tensor:
    """Positions ``[..., N, D]`` relative to the mean of their sample; padding is zero."""
    if mask is None:
        return pos - pos.mean(-2, keepdim=True)
    weight = mask.unsqueeze(-1).to(pos.dtype)
    return (pos - (pos * weight).sum(-2, keepdim=True) / weight.sum(-2, keepdim=True).clamp(min=1)) * weight


def at_least_single(pos: Tensor) -> Tensor:
    """Positions in float32 or better: half precision is too coarse for distances."""
    return pos if pos.element_size() >= 4 else pos.float()


def wants_gradient(*positions: Tensor) -> bool:
    """Whether a gradient of some of these positions is wanted."""
    return torch.is_grad_enabled() and any(pos.requires_grad for pos in positions)


def result_type(x: Tensor) -> torch.dtype:
    """The type of a projection of these values: theirs, or autocast's, which leaves double precision."""
    device = x.device.type
    is_cast = torch.is_autocast_enabled(device) and x.dtype != torch.float64
    return torch.get_autocast_dtype(device) if is_cast else x.dtype


def never_empty(mask: Tensor) -> Tensor:
    """The mask ``[B, N]``, true everywhere in a sample without points: attention over no points is undefined."""
    return mask | ~mask.any(-1, keepdim=True)


def check_dense(x: Tensor, pos: Tensor | None, mask: Tensor | None, channels: int) -> None:
    """Raise a ``ValueError`` unless values, positions and mask are a dense batch."""
    if x.dim() != 3 or x.shape[-1] != channels:
        raise ValueError(f"Expected 'x' to have shape [B, N, {channels}] (got {list(x.shape)})")
    if pos is not None and (pos.dim() not in (2, 3) or pos.shape[:-1] != x.shape[3 - pos.dim() : 2]):
        raise ValueError(
            f"Expected 'pos' to have shape [{x.shape[0]}, {x.shape[1]}, D], or [{x.shape[1]}, D] for a shared mesh "
            f"(got {list(pos.shape)})"
        )
    if mask is not None and (mask.shape != x.shape[:2] or mask.dtype != torch.bool):
        raise ValueError(
            f"Expected 'mask' to be boolean of shape {list(x.shape[:2])} (got {list(mask.shape)} of {mask.dtype})"
        )
