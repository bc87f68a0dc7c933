"""What the options of every benchmark have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field, model_validator

from pitgeo.data import PointData
from pitgeo.data.fields import FieldTable, MeshField
from pitgeo.data.samples import Samples
from pitgeo.datasets.data_options import DataOptions
from pitgeo.datasets.fields import Fields
from pitgeo.datasets.shared_mesh import SharedMesh

Count = Annotated[int, Field(ge=1)]
Split = Literal["train", "test"]


class BenchmarkOptions(DataOptions):
    """Options that every benchmark has.

    Args:
        root: Folder that holds ``raw/``.
        train: Training samples, the first of the file; those for validation are among them, at the end.
        validation: How many of them choose the best checkpoint.
        test: Test samples.
        generate: Samples to generate where the raw files are missing.
    """

    root: str
    train: Count
    validation: Annotated[int, Field(ge=0)] = 0
    test: Count
    generate: Count

    @model_validator(mode="after")
    def _check_counts(self) -> BenchmarkOptions:
        if self.validation >= self.train:
            raise ValueError(
                f"Expected 'validation' to be less than 'train' = {self.train}, the samples it is taken from "
                f"(got {self.validation})"
            )
        if self.least > self.generate:
            raise ValueError(
                f"Expected 'generate' to be at least {self.least}, as many as training and test need "
                f"(got {self.generate})"
            )
        return self

    @property
    def raw(self) -> Path:
        """Folder of the raw files."""
        return Path(self.root) / "raw"

    @property
    def least(self) -> int:
        """How many samples must be generated at least."""
        return self.train + self.test

    @property
    def origin(self) -> str:
        """Where the data come from, for messages."""
        return "from the raw files" if self.is_ready() else "as declared; the raw files are not there yet"

    def counts(self) -> tuple[int, int, int]:
        """Samples to train on, to choose the best checkpoint by, and to test on."""
        return self.train - self.validation, self.validation, self.test

    def others(self, split: Split) -> int:
        """Samples of the other split, none of which may be in this one."""
        return self.test if split == "train" else self.train

    @property
    @abstractmethod
    def inputs(self) -> tuple[str, ...]:
        """Mesh fields that hold the input values; a class attribute where options do not change them."""

    @property
    @abstractmethod
    def targets(self) -> tuple[str, ...]:
        """Mesh fields that hold the targets; a class attribute where options do not change them."""

    def table(self, sample: PointData) -> FieldTable:
        """Inputs and targets; all input values are one field, and every target has one component."""
        inputs = tuple(MeshField(name, int(sample.x.shape[-1])) for name in self.inputs)
        return FieldTable(inputs, tuple(MeshField(name) for name in self.targets), int(sample.pos.shape[1]))

    @abstractmethod
    def missing(self) -> list[str]:
        """Raw files that are not there."""

    @abstractmethod
    def make(self, progress: bool) -> None:
        """Generate the raw files."""

    @abstractmethod
    def read(self, split: Split, samples: int) -> Samples:
        """The samples of a split."""

    def is_ready(self) -> bool:
        """Whether the raw files are there."""
        return not self.missing()

    def prepare(self, progress: bool = True) -> None:
        """Generate the raw files if they are missing, ``generate`` samples."""
        missing = self.missing()
        present = [path for path in self.raw.glob("*") if path.suffix in (".npy", ".mat", ".pt")]
        if missing and present and not (self.raw / "generated.json").exists():
            raise FileNotFoundError(
                f"Expected {', '.join(missing)} in {self.raw}, beside the files that are there (got none); add them, "
                f"or move the others away to have all generated"
            )
        if missing:
            self.make(progress)

    def few_samples(self) -> Sequence[PointData]:
        """The first two training samples, without those that follow; none while files are missing."""
        return self.read("train", min(2, self.train)) if self.is_ready() else []

    def training_parts(self, progress: bool = False) -> tuple[Samples, Samples]:
        """The samples to train on, and the last ones of them, held out to choose the best checkpoint."""
        samples, kept = self.read("train", self.train), self.train - self.validation
        return samples[:kept], samples[kept:]

    def test_samples(self, progress: bool = False) -> Samples:
        """The test samples."""
        return self.read("test", self.test)


class GridOptions(BenchmarkOptions):
    """Options of a benchmark whose samples share one grid."""

    @abstractmethod
    def grid_points(self) -> tuple[NDArray[np.float64], tuple[int, ...]]:
        """Positions ``[N, D]`` of the grid's points, and its points along each axis."""

    @abstractmethod
    def fields(self, split: Split, samples: int) -> Fields:
        """What the raw files hold."""

    @property
    def is_shared(self) -> bool:
        """Whether all samples have the same points, held once."""
        return True

    @property
    def is_regular(self) -> bool:
        """Whether the grid's lines are evenly spaced."""
        return True

    @property
    def values(self) -> int:
        """Input values of a point."""
        return 1

    def template(self) -> PointData:
        """A sample of zeros."""
        pos, grid = self.grid_points()
        x, y = (torch.zeros(len(pos), channels) for channels in (self.values, len(self.targets)))
        return PointData(pos=torch.from_numpy(pos).float(), x=x, y=y, grid=grid if self.is_regular else None)

    def few_samples(self) -> Sequence[PointData]:
        """Samples of zeros, files or none: all have this shape, and the files of some are long to read."""
        count = min(2, self.train)
        if not self.is_shared:
            return [self.template()] * count
        pos, grid = self.grid_points()
        x, y = (np.zeros((count, len(pos), channels), np.float32) for channels in (self.values, len(self.targets)))
        return SharedMesh(Fields(pos, grid, x, y, np.arange(count), self.is_regular), self.inputs, self.targets)

    def read(self, split: Split, samples: int) -> Samples:
        """The samples of a split."""
        return SharedMesh(self.fields(split, samples), self.inputs, self.targets)


def grid_positions(*axes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Points of the grid that these coordinates span, ``[N, D]``, in C order."""
    return np.stack([part.ravel() for part in np.meshgrid(*axes, indexing="ij")], -1)
