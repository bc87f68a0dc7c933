"""The sources that each target attends to: a graph sorted by target, with row pointers."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar, cast

import torch
from torch import Tensor

T = TypeVar("T")
_MOST_PADDING = 1.25  # times the edges


class _CachedProperty(Generic[T]):
    """A property that is computed once; compiled code computes it again if it is missing (functools takes a lock)."""

    def __init__(self, compute: Callable[[Neighborhood], T]) -> None:
        self.compute = compute
        self.name = compute.__name__
        self.__doc__ = compute.__doc__

    def __get__(self, instance: Neighborhood | None, owner: type | None = None) -> T:
        if instance is None:  # asked of the class, by tools that document it
            return cast(T, self)
        cache = instance.__dict__
        if self.name in cache:
            return cast(T, cache[self.name])
        if torch.compiler.is_compiling():
            return self.compute(instance)
        with torch.inference_mode(False):  # training may use what a validation has computed
            cache[self.name] = value = self.compute(instance)
        return value


@dataclass(frozen=True, eq=False)
class Neighborhood:
    """The sources of every target point, grouped by target.

    It takes 4 bytes an edge, where PyG's ``edge_index`` takes 16, and needs no sorting. Layers accept both.

    Args:
        index: Source numbers ``[E]``, those of target 0 first (integer).
        degree: How many sources each target has, ``[M]`` (integer).
        num_sources: How many source points there are.

    Example:
        >>> import torch
        >>> neighborhood = Neighborhood(torch.tensor([0, 1, 1]), torch.tensor([2, 1]), num_sources=2)
        >>> neighborhood.edge_index
        tensor([[0, 1, 1],
                [0, 0, 1]])
    """

    index: Tensor
    degree: Tensor
    num_sources: int

    @property
    def num_targets(self) -> int:
        """Number of target points."""
        return self.degree.numel()

    @property
    def num_edges(self) -> int:
        """Number of (source, target) pairs."""
        return self.index.numel()

    @_CachedProperty
    def source(self) -> Tensor:
        """The source of every edge, ``[E]``, int64."""
        return self.index.long()

    @_CachedProperty
    def pointer(self) -> Tensor:
        """Row pointers ``[M + 1]``, int64: the edges of target ``i`` are ``pointer[i]`` to ``pointer[i + 1]``."""
        return torch.cat([self.degree.new_zeros(1, dtype=torch.long), self.degree.long().cumsum(0)])

    @_CachedProperty
    def target(self) -> Tensor:
        """The target of every edge, ``[E]``, int64, not decreasing."""
        numbers = torch.arange(self.num_targets, device=self.degree.device)
        return numbers.repeat_interleave(self.degree.long(), output_size=self.num_edges)

    @_CachedProperty
    def by_source(self) -> tuple[Tensor, Tensor, Tensor]:
        """The order that sorts the edges by source, ``[E]``, its row pointers ``[N + 1]``, and its targets, ``[E]``."""
        order = torch.argsort(self.index, stable=True)
        target = self.target.to(self.index.dtype).index_select(0, order)
        return order, _pointer(self.index[order], self.num_sources), target

    @_CachedProperty
    def width(self) -> int:
        """How many sources every target has; 0 if they do not all have as many, or there are none."""
        least, most = torch.aminmax(self.degree) if self.num_targets else (0, 1)
        return int(least) if int(least) == int(most) else 0

    @_CachedProperty
    def padded(self) -> tuple[Neighborhood, Tensor | None]:
        """The neighborhood with as many edges at every target, and which of them are padding, ``[E]``.

        Padding repeats the last source of a target. ``None``: there is no padding, because all targets have as many
        edges already, or too much would be needed, or some target has none.
        """
        least, most = (int(count) for count in torch.aminmax(self.degree)) if self.num_targets else (0, 0)
        if least == most or least == 0 or most * self.num_targets > _MOST_PADDING * self.num_edges:
            return self, None
        degree, number = self.degree.long().unsqueeze(1), torch.arange(most, device=self.degree.device)
        places = self.pointer[:-1].unsqueeze(1) + torch.minimum(number, degree - 1)
        index = self.index.index_select(0, places.flatten())
        return Neighborhood(index, torch.full_like(self.degree, most), self.num_sources), (number >= degree).flatten()

    def parts(self, edges: int) -> Iterator[tuple[slice, Neighborhood]]:
        """The neighborhood in parts: ranges of targets, in order, each with at most ``edges`` edges or a single target.

        Args:
            edges: Largest number of edges of a part.

        Returns:
            Pairs of a range of target numbers and the neighborhood of these targets.
        """
        pointer, first = self.pointer.tolist(), 0
        while first < self.num_targets:
            last = max(first + 1, bisect_right(pointer, pointer[first] + edges) - 1)
            rows = slice(first, last)
            yield rows, self.restricted(rows)
            first = last

    def restricted(self, rows: Tensor | slice) -> Neighborhood:
        """The neighborhood of some targets, in the given order.

        Args:
            rows: Target numbers ``[m]``, or a range of them; a range without gaps gives a view.
        """
        if isinstance(rows, slice):
            start, stop, step = rows.indices(self.num_targets)
            if step == 1:
                edges = slice(int(self.pointer[start]), int(self.pointer[stop]))
                return Neighborhood(self.index[edges], self.degree[rows], self.num_sources)
            rows = torch.arange(start, stop, step, device=self.degree.device)
        degree = self.degree[rows]
        counts = degree.long()
        shift = self.pointer[rows] - (counts.cumsum(0) - counts)  # from the new place of an edge to its old place
        count = int(counts.sum())
        places = torch.arange(count, device=rows.device) + shift.repeat_interleave(counts, output_size=count)
        return Neighborhood(self.index[places], degree, self.num_sources)

    def to(self, device: torch.device | str) -> Neighborhood:
        """The neighborhood on a device."""
        return Neighborhood(self.index.to(device), self.degree.to(device), self.num_sources)

    @property
    def edge_index(self) -> Tensor:
        """PyG's form, ``[2, E]`` int64: sources, then targets."""
        return torch.stack([self.source, self.target])

    @classmethod
    def from_edge_index(cls, edge_index: Tensor, num_sources: int, num_targets: int) -> tuple[Neighborhood, Tensor]:
        """Sort a PyG ``edge_index`` by target; also return the order that sorts it, ``[E]``.

        Raises:
            ValueError: If the shape is not ``[2, E]`` or a number lies outside the points.
        """
        check_edge_index(edge_index, num_sources, num_targets)
        source, target = edge_index[0], edge_index[1]
        order = torch.argsort(target, stable=True)
        return cls(source[order], _pointer(target[order], num_targets).diff(), num_sources), order


def check_edge_index(edge_index: Tensor, num_sources: int, num_targets: int) -> None:
    """Raise a ``ValueError`` unless ``edge_index`` is ``[2, E]`` with valid point numbers (not in compiled code)."""
    if edge_index.dim() != 2 or edge_index.shape[0] != 2:
        raise ValueError(f"Expected 'edge_index' to have shape [2, E] (got {list(edge_index.shape)})")
    if torch.compiler.is_compiling():
        return
    for name, numbers, limit in (("sources", edge_index[0], num_sources), ("targets", edge_index[1], num_targets)):
        if numbers.numel() and (int(numbers.min()) < 0 or int(numbers.max()) >= limit):
            raise ValueError(
                f"Expected the {name} in 'edge_index' to lie in 0..{limit - 1} "
                f"(got {int(numbers.min())}..{int(numbers.max())})"
            )


def _pointer(numbers: Tensor, count: int) -> Tensor:
    """Where each of ``count`` numbers begins in a sorted list, and its end, int64; no shape depends on values."""
    return torch.searchsorted(numbers, torch.arange(count + 1, dtype=numbers.dtype, device=numbers.device))
