"""What the options of every benchmark have in common."""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, model_validator

from pitgeo.data import PointData
from pitgeo.datasets.fields import Fields
from pitgeo.datasets.shared_mesh import SharedMesh

Count = Annotated[int, Field(ge=1)]
Split = Literal["train", "test"]
Samples = Any
"""A sequence of :class:`~pitgeo.data.PointData` that also has ``with_transform`` and slices."""


class BenchmarkOptions(BaseModel):
    """Options that every benchmark has.

    Args:
        root: Folder that holds ``raw/``.
        train: Training samples, the first of the file; those for validation are among them, at the end.
        validation: How many of them choose the best checkpoint.
        test: Test samples.
        generate: Samples to generate where the raw files are missing.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid")

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
    def is_in_space(self) -> bool:
        """Whether positions are those of the mesh files, so that a model can predict on such a file."""
        return True

    @property
    def rollout(self) -> int:
        """How many steps a model predicts, each from the last ones."""
        return 1

    def others(self, split: Split) -> int:
        """Samples of the other split, none of which may be in this one."""
        return self.test if split == "train" else self.train

    @property
    @abstractmethod
    def inputs(self) -> tuple[str, ...]:
        """Mesh fields that hold the input values."""

    @property
    @abstractmethod
    def targets(self) -> tuple[str, ...]:
        """Mesh fields that hold the targets."""

    @abstractmethod
    def template(self) -> PointData:
        """A sample of the right shape, known before any file is."""

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

    def training_parts(self) -> tuple[Samples, Samples]:
        """The samples to train on, and the last ones of them, held out to choose the best checkpoint."""
        samples, kept = self.read("train", self.train), self.train - self.validation
        return samples[:kept], samples[kept:]

    def train_samples(self) -> Samples:
        """The samples to train on."""
        return self.training_parts()[0]

    def validation_samples(self) -> Samples:
        """The samples that choose the best checkpoint."""
        return self.training_parts()[1]

    def test_samples(self) -> Samples:
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
    def values(self) -> int:
        """Input values of a point."""
        return 1

    def template(self) -> PointData:
        """A sample of zeros."""
        pos, grid = self.grid_points()
        x, y = (torch.zeros(len(pos), channels) for channels in (self.values, len(self.targets)))
        return PointData(pos=torch.from_numpy(pos).float(), x=x, y=y, grid=grid)

    def read(self, split: Split, samples: int) -> Samples:
        """The samples of a split."""
        return SharedMesh(self.fields(split, samples), self.inputs, self.targets)


def grid_positions(*axes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Points of the grid that these coordinates span, ``[N, D]``, in C order."""
    return np.stack([part.ravel() for part in np.meshgrid(*axes, indexing="ij")], -1)
