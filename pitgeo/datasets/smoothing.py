"""A small problem that is made on the spot: a random field, and the same field smoothed. To try models on."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator
from scipy.spatial import Delaunay

from pitgeo.data import PointData
from pitgeo.data.fields import FieldTable, MeshField
from pitgeo.datasets.benchmark import Count, grid_positions
from pitgeo.datasets.data_options import DataOptions
from pitgeo.datasets.fields import Fields
from pitgeo.datasets.shared_mesh import SharedMesh
from pitgeo.mesh import Mesh

HIGHEST = 4
"""Most waves along an axis."""


class Smoothing(SharedMesh):
    r"""Random fields on the periodic unit square, and the same after a Gaussian has smoothed them.

    .. math::
        a(p) = \sum_{0 < |k|_\infty \le 4} c_k e^{2 \pi i k \cdot p}, \qquad
        u(p) = \sum_k c_k e^{-2 \pi^2 w^2 |k|^2} e^{2 \pi i k \cdot p}

    with independent normal :math:`c_k = \bar{c}_{-k}`, so that all waves are equally strong. The target is exact, and
    it is linear in the input; yet :math:`a` at a point alone says little about :math:`u` there.

    Args:
        numbers: Numbers of the samples; each has the same fields whatever the others are.
        points: ``"random"``: points drawn uniformly, the same in all samples; ``"grid"``: a regular grid without its
            end points.
        size: Points along each side; as many in all where they are random.
        width: Standard deviation of the Gaussian, :math:`w`.
        seed: Of points and fields.
    """

    def __init__(
        self,
        numbers: range,
        points: Literal["random", "grid"] = "random",
        size: int = 16,
        width: float = 0.1,
        seed: int = 0,
    ) -> None:
        pos = positions(points, size, seed)
        half = np.array([(i, j) for i in range(HIGHEST + 1) for j in range(-HIGHEST, HIGHEST + 1) if (i, j) > (0, 0)])
        angle = 2 * np.pi * pos @ half.T
        waves = np.concatenate([np.cos(angle), np.sin(angle)], 1)
        damping = np.tile(np.exp(-2 * (np.pi * width) ** 2 * (half**2).sum(1)), 2)
        parts = np.empty((len(numbers), waves.shape[1]))
        for row, number in zip(parts, numbers, strict=True):
            row[:] = np.random.default_rng([seed, 1, number]).normal(size=waves.shape[1])
        parts /= np.sqrt(len(half))  # the field has variance one
        x, y = ((factors @ waves.T)[..., None].astype(np.float32) for factors in (parts, parts * damping))
        super().__init__(Fields(pos, (size, size), x, y, np.array(numbers, np.int64)), ("field",), ("smoothed",))
        if points == "random":
            self.grid = ()
            self.points = PointData(pos=self.points.pos)

    def mesh(self, index: int) -> Mesh:
        """A sample as a mesh, of triangles between random points."""
        if self.grid:
            return super().mesh(index)
        field, smoothed = (values[index, :, 0].double().numpy() for values in (self.x, self.y))
        cells = (("triangle", Delaunay(self.raw_pos).simplices.astype(np.int64)),)
        return Mesh(points=self.raw_pos, cells=cells, point_data={"field": field, "smoothed": smoothed})


class SmoothingOptions(DataOptions):
    """Options of ``data.name = "smoothing"``, see :class:`Smoothing`; nothing is read from files.

    Args:
        points: ``"random"`` or ``"grid"``.
        size: Points along each side.
        width: Standard deviation of the Gaussian.
        seed: Of points and fields.
        train: Training samples; those for validation are among them, at the end.
        validation: How many of them choose the best checkpoint; may be 0.
        test: Test samples, of the numbers after those for training.
    """

    points: Literal["random", "grid"] = "random"
    size: Annotated[int, Field(ge=9)] = 16  # two points a wave, and one more
    width: Annotated[float, Field(gt=0)] = 0.1
    seed: Annotated[int, Field(ge=0)] = 0
    train: Count = 330
    validation: Annotated[int, Field(ge=0)] = 30
    test: Count = 100

    @model_validator(mode="after")
    def _check(self) -> SmoothingOptions:
        if self.validation >= self.train:
            raise ValueError(
                f"Expected 'validation' to be less than 'train' = {self.train}, the samples it is taken from "
                f"(got {self.validation})"
            )
        return self

    @property
    def origin(self) -> str:
        """Where the data come from, for messages."""
        return "made on the spot"

    @property
    def is_shared(self) -> bool:
        """Whether all samples have the same points, held once: always."""
        return True

    def is_ready(self) -> bool:
        """Always."""
        return True

    def prepare(self, progress: bool = True) -> None:
        """Nothing to do."""

    def counts(self) -> tuple[int, int, int]:
        """Samples to train on, to choose the best checkpoint by, and to test on."""
        return self.train - self.validation, self.validation, self.test

    def template(self) -> PointData:
        """The first training sample."""
        return self._read(range(1))[0]

    def table(self, sample: PointData) -> FieldTable:
        """The field, and the smoothed one."""
        return FieldTable((MeshField("field"),), (MeshField("smoothed"),), 2)

    def training_parts(self, progress: bool = False) -> tuple[SharedMesh, SharedMesh]:
        """The samples to train on, and those that choose the best checkpoint, which may be none."""
        kept, whole = self.train - self.validation, self._read(range(self.train))
        return whole[:kept], whole[kept:]

    def test_samples(self, progress: bool = False) -> Smoothing:
        """The test samples."""
        return self._read(range(self.train, self.train + self.test))

    def _read(self, numbers: range) -> Smoothing:
        return Smoothing(numbers, self.points, self.size, self.width, self.seed)


def positions(points: Literal["random", "grid"], size: int, seed: int = 0) -> NDArray[np.float64]:
    """Positions ``[N, 2]`` of the points, as float32 has them."""
    if points == "grid":
        axis = np.arange(size) / size
        return grid_positions(axis, axis)
    return np.random.default_rng([seed, 0]).random((size * size, 2)).astype(np.float32).astype(np.float64)
