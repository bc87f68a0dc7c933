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
_EDGES_AT_ONCE = 2**20  # looked at together
SOURCES_AT_ONCE = 2**13
"""Sources whose values stay in a processor's cache."""


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
        pointer = _pointer(self.index[order], self.num_sources)
        if not torch.compiler.is_compiling() and self.width:
            return order, pointer, order.div(self.width, rounding_mode="floor").to(self.index.dtype)
        return order, pointer, self.target.to(self.index.dtype).index_select(0, order)

    @_CachedProperty
    def width(self) -> int:
        """How many sources every target has; 0 if not all have as many, or the graph is not on the CPU."""
        least, most = self._degrees()
        return least if least == most else 0

    @_CachedProperty
    def padded(self) -> tuple[Neighborhood, Tensor | None]:
        """The neighborhood with as many edges at every target, and which of them are padding, ``[E]``.

        Padding repeats the last source of a target. ``None``: there is no padding, because all targets have as many
        edges already, or too much would be needed, or some target has none, or the graph is not on the CPU.
        """
        least, most = self._degrees()
        if least == most or least == 0 or most * self.num_targets > _MOST_PADDING * self.num_edges:
            return self, None
        degree, number = self.degree.long().unsqueeze(1), torch.arange(most, device=self.degree.device)
        places = self.pointer[:-1].unsqueeze(1) + torch.minimum(number, degree - 1)
        index = self.index.index_select(0, places.flatten())
        return Neighborhood(index, torch.full_like(self.degree, most), self.num_sources), (number >= degree).flatten()

    def _degrees(self) -> tuple[int, int]:
        """The smallest and the largest degree; 0 for both on a GPU, which would have to be waited for."""
        if self.num_targets == 0 or self.degree.device.type != "cpu":
            return 0, 0
        least, most = torch.aminmax(self.degree)
        return int(least), int(most)

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

    @_CachedProperty
    def source_cuts(self) -> Tensor | None:
        """Where the edges of each target pass on to the next :data:`SOURCES_AT_ONCE` sources, ``[M, P + 1]``, int64.

        ``None`` if the sources of a target do not ascend.
        """
        cuts, size = [], self.num_sources
        starts = torch.arange(0, size + SOURCES_AT_ONCE, SOURCES_AT_ONCE, device=self.index.device).clamp(max=size)
        for rows, part in self.parts(_EDGES_AT_ONCE):
            numbers = part.target * size + part.index
            if bool((numbers[1:] < numbers[:-1]).any()):
                return None
            firsts = torch.arange(part.num_targets, device=starts.device).unsqueeze(1) * size
            cuts.append(torch.searchsorted(numbers, firsts + starts) + self.pointer[rows.start])
        return torch.cat(cuts) if cuts else starts.new_zeros(0, len(starts))

    def source_parts(self) -> Iterator[tuple[slice, Neighborhood]]:
        """Ranges of :data:`SOURCES_AT_ONCE` sources, and the edges from each to all targets; sources must ascend."""
        cuts = self.source_cuts
        if cuts is None:
            raise ValueError("Expected the sources of every target in ascending order")
        for number, first in enumerate(range(0, self.num_sources, SOURCES_AT_ONCE)):
            last = min(first + SOURCES_AT_ONCE, self.num_sources)
            places, counts = _ranges(cuts[:, number], cuts[:, number + 1])
            yield slice(first, last), Neighborhood(self.index[places] - first, counts, last - first)

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
        places, _ = _ranges(self.pointer[rows], self.pointer[rows + 1])
        return Neighborhood(self.index[places], self.degree[rows], self.num_sources)

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


def _ranges(start: Tensor, end: Tensor) -> tuple[Tensor, Tensor]:
    """The numbers of ranges, one after the other, and how many each range has."""
    counts = end - start
    total = int(counts.sum())
    shift = start - (counts.cumsum(0) - counts)  # from the place among all numbers to the number
    return torch.arange(total, device=start.device) + shift.repeat_interleave(counts, output_size=total), counts


def _pointer(numbers: Tensor, count: int) -> Tensor:
    """Where each of ``count`` numbers begins in a sorted list, and its end, int64; no shape depends on values."""
    return torch.searchsorted(numbers, torch.arange(count + 1, dtype=numbers.dtype, device=numbers.device))
