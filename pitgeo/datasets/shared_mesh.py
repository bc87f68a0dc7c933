"""Samples on one mesh: points and graphs are held once, and the weights of attention computed once a batch."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, overload

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pitgeo.data import PointData
from pitgeo.data.samples import Samples, Transform
from pitgeo.datasets.fields import Fields
from pitgeo.datasets.listed_samples import ListedSamples
from pitgeo.mesh import Mesh

if TYPE_CHECKING:
    from typing_extensions import Self


class SharedMesh(Samples):
    """The samples of a benchmark whose points are the same in all of them.

    Single samples come by index, subsets by slice, and whole batches ``x [B, N, C]`` from :meth:`batch`. A transform is
    applied to the points once, whatever the number of samples.

    Args:
        fields: What was read from the raw files.
        inputs: Name of the mesh field that holds the input values; empty where there are none.
        targets: Name of every target.
        drawn: Which targets to draw.
        physical: Whether the input values are the positions in space, as on a reference grid; pictures and mesh files
            then show those.
        window: What to draw of the plane, ``(left, right), (bottom, top)``; ``None`` for all.

    Example:
        >>> x = np.ones((3, 4, 1), np.float32)
        >>> fields = Fields(np.linspace(0, 1, 4)[:, None], (4,), x, 2 * x, np.arange(3))
        >>> samples = SharedMesh(fields, ("load",), ("heat",))
        >>> len(samples), samples[0].x.shape, samples.batch([0, 2]).x.shape
        (3, torch.Size([4, 1]), torch.Size([2, 4, 1]))
    """

    keeps_samples = True
    base: Tensor | None = None

    def __init__(
        self,
        fields: Fields,
        inputs: tuple[str, ...],
        targets: tuple[str, ...],
        drawn: tuple[int, ...] = (0,),
        physical: bool = False,
        window: tuple[tuple[float, float], tuple[float, float]] | None = None,
    ) -> None:
        self.inputs, self.targets, self.drawn = inputs, targets, drawn
        self.physical, self.window = physical, window
        self.raw_pos, self.grid = fields.pos, fields.grid
        grid = fields.grid if fields.is_regular else None
        self.points = PointData(pos=torch.from_numpy(fields.pos).float(), grid=grid)
        self.x, self.y = torch.from_numpy(fields.x), torch.from_numpy(fields.y)
        self.numbers = torch.from_numpy(fields.numbers)

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, index: int) -> PointData: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    def __getitem__(self, index: int | slice) -> PointData | Self:
        if isinstance(index, slice):
            result = copy.copy(self)
            result.x, result.y, result.numbers = self.x[index], self.y[index], self.numbers[index]
            result.base = None if self.base is None else self.base[index]
            result.cut(index)
            return result
        index = self._number(index)
        sample = self._filled(index)
        sample.sample_id = int(self.numbers[index])
        return sample

    def cut(self, part: slice) -> None:
        """Keep a part of what belongs to the samples beside them; a slice of the data set calls this."""

    def batch(self, numbers: Sequence[int] | NDArray[np.int64]) -> PointData:
        """Several samples at once, ``x [B, N, C]`` and ``y [B, N, K]``, on one copy of points and graphs."""
        chosen = torch.as_tensor(np.asarray(numbers, np.int64))
        result = self._filled(chosen)
        result["sample_id"] = self.numbers[chosen]
        return result

    def with_base(self, base: Tensor) -> Self:
        """The same samples, each with the values that a model corrects: ``base`` ``[S, M, K]`` of all samples."""
        result = copy.copy(self)
        result.base = base
        return result

    def residuals(self) -> Self:
        """The same samples with targets less ``base``."""
        result = copy.copy(self)
        result.y = self.y if self.base is None else self.y - self.base
        result.base = None
        return result

    def with_transform(self, transform: Transform, progress: bool = False) -> Self:
        """The same samples on transformed points."""
        result = copy.copy(self)
        result.points = transform(self.points)
        return result

    def mesh(self, index: int) -> Mesh:
        """A sample as a mesh of lines or quadrilaterals between the grid's points."""
        number = np.arange(len(self.raw_pos)).reshape(self.grid)
        if number.ndim == 1:
            cells = (("line", np.stack([number[:-1], number[1:]], -1)),)
        else:
            corners = [number[:-1, :-1], number[1:, :-1], number[1:, 1:], number[:-1, 1:]]
            cells = (("quad", np.stack([corner.ravel() for corner in corners], -1)),)
        fields: dict[str, NDArray[np.float64]] = {
            name: self.y[index, :, channel].double().numpy() for channel, name in enumerate(self.targets)
        }
        if self.inputs:
            fields[self.inputs[0]] = self.x[index].double().numpy()
        return Mesh(points=self._place(index), cells=cells, point_data=fields)

    def polygons(self, index: int) -> NDArray[np.float64] | None:
        """A quadrilateral round every point of a plane grid, ``[N, 4, 2]``: corners are means of neighbours."""
        if len(self.grid) != 2:
            return None
        padded = np.pad(self._place(index).reshape(*self.grid, 2), ((1, 1), (1, 1), (0, 0)), "edge")
        corner = (padded[:-1, :-1] + padded[1:, :-1] + padded[1:, 1:] + padded[:-1, 1:]) / 4
        ring = [corner[:-1, :-1], corner[1:, :-1], corner[1:, 1:], corner[:-1, 1:]]
        return np.stack(ring, -2).reshape(-1, 4, 2)

    def _place(self, index: int) -> NDArray[np.float64]:
        return self.x[index].double().numpy() if self.physical else self.raw_pos

    def _filled(self, chosen: int | Tensor) -> PointData:
        result = copy.copy(self.points)
        result.x, result.y = self.x[chosen], self.y[chosen]
        if self.base is not None:
            result["base"] = self.base[chosen]
        return result


class ClosedCurve(SharedMesh):
    """The samples of a benchmark whose points are those of one closed curve, in its order; see :class:`SharedMesh`."""

    def mesh(self, index: int) -> Mesh:
        """A sample as a mesh of lines, the last of which leads back to the first point."""
        number = np.arange(len(self.raw_pos))
        return replace(super().mesh(index), cells=(("line", np.stack([number, np.roll(number, -1)], -1)),))


class OwnMeshes(ListedSamples):
    """The samples of a reference grid at their positions in space; the coordinates are the only inputs.

    Args:
        shared: The samples on the reference grid; their input values are the positions in space.
    """

    def __init__(self, shared: SharedMesh) -> None:
        super().__init__(
            [
                PointData(pos=shared.x[index], y=shared.y[index], sample_id=int(shared.numbers[index]))
                for index in range(len(shared))
            ]
        )
        self.shared = shared
        self.window = shared.window

    def cut(self, part: slice) -> None:
        """Keep a part of what belongs to the samples beside them."""
        self.shared = self.shared[part]

    def mesh(self, index: int) -> Mesh:
        """A sample as a mesh of quadrilaterals."""
        mesh = self.shared.mesh(index)
        fields = {name: values for name, values in mesh.point_data.items() if name in self.shared.targets}
        return replace(mesh, point_data=fields)

    def polygons(self, index: int) -> NDArray[np.float64] | None:
        """A quadrilateral round every point, ``[N, 4, 2]``."""
        return self.shared.polygons(index)
