"""Samples that are kept in a list, each on points of its own."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, overload

from tqdm import tqdm

from pitgeo.data import PointData
from pitgeo.data.samples import Samples, Transform

if TYPE_CHECKING:
    from typing_extensions import Self


class ListedSamples(Samples):
    """Samples in a list; a subclass says what else a slice is to keep.

    Args:
        samples: The samples.

    Example:
        >>> import torch
        >>> samples = ListedSamples([PointData(pos=torch.rand(n, 2)) for n in (3, 4, 5)])
        >>> len(samples[1:]), samples[0].num_nodes
        (2, 3)
    """

    def __init__(self, samples: list[PointData]) -> None:
        self.samples = samples

    def __len__(self) -> int:
        return len(self.samples)

    @overload
    def __getitem__(self, index: int) -> PointData: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    def __getitem__(self, index: int | slice) -> PointData | Self:
        if not isinstance(index, slice):
            return self.samples[index]
        result = copy.copy(self)
        result.samples = self.samples[index]
        result.cut(index)
        return result

    def with_transform(self, transform: Transform, progress: bool = False) -> Self:
        """The same samples, each transformed."""
        result = copy.copy(self)
        bar = tqdm(self.samples, desc="points and graphs", unit="sample", disable=not progress)
        result.samples = [transform(sample) for sample in bar]
        return result

    def cut(self, part: slice) -> None:
        """Keep a part of what belongs to the samples beside them; a slice of the data set calls this."""
