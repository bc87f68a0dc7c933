"""Sums and minima over the edges of each target, and values of targets at their edges.

Edges are sorted by target; row pointers ``[M + 1]`` say where the edges of each target begin. On GPUs the kernels of
torch-scatter are used where it is installed; the results are the same.
"""

from __future__ import annotations

import functools
import importlib
import math
from typing import Any

import torch
from torch import Tensor


def segment_sums(values: Tensor, pointer: Tensor, width: int = 0) -> Tensor:
    """Sums over the edges of each target: ``[..., E]`` -> ``[..., M]``; 0 for a target without edges.

    ``width`` is how many edges every target has, if all have as many: then it takes less time.

    Example:
        >>> segment_sums(torch.tensor([1.0, 2.0, 4.0]), torch.tensor([0, 2, 2, 3]))
        tensor([3., 0., 4.])
    """
    return values.unflatten(-1, (-1, width)).sum(-1) if width else _reduced(values, pointer, "sum")


def segment_minima(values: Tensor, pointer: Tensor) -> Tensor:
    """Least values over the edges of each target: ``[..., E]`` -> ``[..., M]``; 0 for a target without edges.

    Example:
        >>> segment_minima(torch.tensor([1.0, 2.0, -4.0]), torch.tensor([0, 2, 2, 3]))
        tensor([ 1.,  0., -4.])
    """
    return _reduced(values, pointer, "min")


def times_at_edges(values: Tensor, edges: Tensor, target: Tensor, width: int = 0) -> Tensor:
    """Edge values times those of their targets: ``[..., M]``, ``[..., E]`` -> ``[..., E]``.

    ``target`` is the target of every edge; not used if all have ``width`` edges.

    Example:
        >>> times_at_edges(torch.tensor([3.0, 4.0]), torch.tensor([1.0, 2.0, 1.0]), torch.tensor([0, 0, 1]))
        tensor([3., 6., 4.])
    """
    if width:
        products: Tensor = edges.unflatten(-1, (-1, width)) * values.unsqueeze(-1)
        return products.flatten(-2)
    return values.index_select(-1, target).mul_(edges)


def at_edges(values: Tensor, pointer: Tensor) -> Tensor:
    """The value of the target of every edge: ``[..., M]`` -> ``[..., E]``.

    Example:
        >>> at_edges(torch.tensor([3.0, 0.0, 4.0]), torch.tensor([0, 2, 2, 3]))
        tensor([3., 3., 4.])
    """
    return values.repeat_interleave(pointer.diff(), dim=-1)


def _reduced(values: Tensor, pointer: Tensor, how: str) -> Tensor:
    scatter = torch_scatter() if values.is_cuda else None
    if scatter is not None:
        rows = pointer.view(*[1] * (values.dim() - 1), -1).expand(*values.shape[:-1], -1)
        reduced: Tensor = scatter.segment_csr(values, rows, reduce=how)
        return reduced
    flat = values.reshape(math.prod(values.shape[:-1]), values.shape[-1])
    parts = [torch.segment_reduce(row, how, offsets=pointer, unsafe=True) for row in flat]
    result = torch.stack(parts).view(*values.shape[:-1], -1)
    return result if how == "sum" else torch.where(pointer[1:] > pointer[:-1], result, 0.0)


@functools.cache
def torch_scatter() -> Any | None:
    """torch-scatter, if it is installed and fits this torch."""
    try:
        return importlib.import_module("torch_scatter")
    except (ImportError, OSError, RuntimeError):  # a broken one: built for another torch or CUDA
        return None
