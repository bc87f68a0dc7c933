"""What the options of every data set offer to training, evaluation and prediction."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

from pydantic import BaseModel, ConfigDict

from pitgeo.data import PointData
from pitgeo.data.fields import FieldTable
from pitgeo.data.samples import Samples


class DataOptions(BaseModel):
    """Frozen options of a data set, which refuse unknown keys."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @property
    def is_in_space(self) -> bool:
        """Whether positions are those of the mesh files, so that a model can predict on such a file."""
        return True

    @property
    def is_shared(self) -> bool:
        """Whether all samples have the same points, held once, as a :class:`~pitgeo.datasets.SharedMesh` does."""
        return False

    @property
    def rollout(self) -> int:
        """How many steps a model predicts in training, each from the last ones."""
        return 1

    @property
    @abstractmethod
    def origin(self) -> str:
        """Where the data come from, for messages."""

    @abstractmethod
    def is_ready(self) -> bool:
        """Whether the files are there."""

    @abstractmethod
    def prepare(self, progress: bool = True) -> None:
        """Make the files, or say why that cannot be done."""

    @abstractmethod
    def counts(self) -> tuple[int, int, int]:
        """Samples to train on, to choose the best checkpoint by, and to test on."""

    @abstractmethod
    def template(self) -> PointData:
        """A sample of the right shape."""

    @abstractmethod
    def table(self, sample: PointData) -> FieldTable:
        """Inputs and targets of the samples, of which this is one."""

    @abstractmethod
    def training_parts(self, progress: bool = False) -> tuple[Samples, Samples]:
        """The samples to train on, and those that choose the best checkpoint."""

    @abstractmethod
    def test_samples(self, progress: bool = False) -> Samples:
        """The test samples."""

    def few_samples(self) -> Sequence[PointData]:
        """One or two training samples, to try a model on: the first, and another; none while files are missing."""
        return self.training_parts()[0][:2] if self.is_ready() else []

    def split_files(self) -> dict[str, list[str]] | None:
        """Names of the files of each split, where every sample is a file of its own."""
        return None

    def with_split(self, split: Mapping[str, Sequence[str]]) -> DataOptions:
        """The same options, with these files in each split, as :meth:`split_files` gave them, whatever came since."""
        return self

    def resolved(self, progress: bool = False) -> DataOptions:
        """The same options, with a value for each that the data decide: files that come later then change nothing."""
        return self

    def split_samples(self, split: str, progress: bool = False) -> Samples:
        """The samples of the ``"train"``, ``"validation"`` or ``"test"`` split."""
        if split == "test":
            return self.test_samples(progress)
        return self.training_parts(progress)[split == "validation"]
