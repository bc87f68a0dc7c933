"""What a data set's samples offer to training, evaluation and pictures."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from pitgeo.data.fields import FieldTable
from pitgeo.data.fields.mesh_case import MeshCase
from pitgeo.data.fields.mesh_sizes import MeshSizes
from pitgeo.data.point_data import PointData
from pitgeo.mesh import Mesh

if TYPE_CHECKING:
    from typing_extensions import Self

Transform: TypeAlias = Callable[[PointData], PointData]


class Samples(Sequence[PointData]):
    """The samples of a data set: a sequence with slices and transforms.

    A subclass supplies ``__len__``, ``__getitem__`` and ``with_transform``. All else is optional: an attribute or a
    method that a subclass leaves as it is says that the data set has nothing of the kind.

    Attributes:
        targets: A name for every target channel; empty: those of the targets in the configuration.
        drawn: Target channels that pictures show; empty: all.
        table: Inputs and targets as fields of mesh files; ``None`` where samples are not mesh files.
        steps: States that a test predicts one after another, of time series; else 0.
        physical: Whether the input values are the positions in space, as on a reference grid.
        window: Part of the plane that pictures show, ``(left, right), (bottom, top)``; ``None``: all.
        keeps_samples: Whether the data set itself decides which transformed samples stay in memory; else a run keeps
            all of them.

    Example:
        >>> import torch
        >>> class Clouds(Samples):
        ...     def __init__(self, sizes):
        ...         self.sizes = sizes
        ...     def __len__(self):
        ...         return len(self.sizes)
        ...     def __getitem__(self, index):
        ...         if isinstance(index, slice):
        ...             return Clouds(self.sizes[index])
        ...         return PointData(pos=torch.rand(self.sizes[index], 2), sample_id=index)
        ...     def with_transform(self, transform, progress=False):
        ...         from pitgeo.datasets import ListedSamples
        ...         return ListedSamples([transform(sample) for sample in self])
        >>> [sample.num_nodes for sample in Clouds([3, 5, 4])[1:]]
        [5, 4]
    """

    targets: tuple[str, ...] = ()
    drawn: tuple[int, ...] = ()
    table: FieldTable | None = None
    steps: int = 0
    physical: bool = False
    window: tuple[tuple[float, float], tuple[float, float]] | None = None
    keeps_samples: bool = False

    @overload
    def __getitem__(self, index: int) -> PointData: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    @abstractmethod
    def __getitem__(self, index: int | slice) -> PointData | Self:
        """A sample by its number, with an ``IndexError`` beyond the last one, or a part of the data set by a slice."""

    def _number(self, index: int) -> int:
        """The number of a sample from 0 on, for an index that may count from the end.

        Raises:
            IndexError: If there is no such sample.
        """
        if not -len(self) <= index < len(self):
            raise IndexError(f"Expected a sample in 0..{len(self) - 1} (got {index})")
        return index % len(self)

    def __iter__(self) -> Iterator[PointData]:
        return (self[number] for number in range(len(self)))

    @abstractmethod
    def with_transform(self, transform: Transform, progress: bool = False) -> Samples:
        """The same samples, each transformed; those that are there stay as they are.

        Args:
            transform: What to apply to each sample.
            progress: Show a bar on the standard error stream.
        """

    def name(self, index: int) -> str | None:
        """The file of a sample; ``None`` where samples have no files of their own."""
        return None

    def mesh(self, index: int) -> Mesh | None:
        """A sample as a mesh with inputs and targets, to write to a file; ``None`` where there is none."""
        return None

    def polygons(self, index: int) -> NDArray[np.float64] | None:
        """A polygon round every point of a sample in the plane, ``[N, K, 2]``; ``None`` where there are none."""
        return None

    def ranges(self) -> list[tuple[float, float]] | None:
        """Smallest and largest value of every input number of all samples; ``None`` where they are not known."""
        return None

    def typical(self) -> list[float] | None:
        """Typical size of every target channel, for samples in which it is zero; ``None`` where it is not known."""
        return None

    def case(self, index: int) -> MeshCase | None:
        """A sample as a few numbers, to compare it with others; ``None`` where they are not known."""
        return None

    def mesh_sizes(self) -> MeshSizes | None:
        """How large and how fine the meshes are; ``None`` where it is not known."""
        return None
