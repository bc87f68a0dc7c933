"""Samples that are kept in a list, each on points of its own."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar, overload

from tqdm import tqdm

from pitgeo.data import PointData

S = TypeVar("S", bound="ListedSamples")


class ListedSamples(Sequence[PointData]):
    """A sequence with slices and transforms; a subclass says what else a slice is to keep.

    Args:
        samples: The samples.
    """

    def __init__(self, samples: list[PointData]) -> None:
        self.samples = samples

    def __len__(self) -> int:
        return len(self.samples)

    @overload
    def __getitem__(self, index: int) -> PointData: ...
    @overload
    def __getitem__(self: S, index: slice) -> S: ...
    def __getitem__(self: S, index: int | slice) -> PointData | S:
        if not isinstance(index, slice):
            return self.samples[index]
        result = copy.copy(self)
        result.samples = self.samples[index]
        result.cut(index)
        return result

    def __iter__(self) -> Iterator[PointData]:
        return iter(self.samples)

    def with_transform(self: S, transform: Callable[[PointData], PointData], progress: bool = False) -> S:
        """The same samples, each transformed."""
        result = copy.copy(self)
        bar = tqdm(self.samples, desc="points and graphs", unit="sample", disable=not progress)
        result.samples = [transform(sample) for sample in bar]
        return result

    def cut(self, part: slice) -> None:
        """Keep a part of what belongs to the samples beside them."""
