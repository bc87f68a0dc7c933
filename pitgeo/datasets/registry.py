"""The registry of data sets: a name, the options it takes, and how its splits are made."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, model_validator

from pitgeo.datasets.elasticity import FILES, POINTS, RADII, Elasticity, input_fields

__all__ = ["DATASETS", "ElasticityOptions"]

Count = Annotated[int, Field(ge=1)]


class ElasticityOptions(BaseModel):
    """Options of ``data.name = "elasticity"``, see :class:`pitgeo.datasets.Elasticity`.

    Args:
        root: Folder that holds ``raw/``.
        protocol: Inputs: coordinates and ``"radii"``, or ``"coordinates"`` alone.
        train: Training samples, the first of the file; those for validation are among them, at the end.
        validation: How many of them choose the best checkpoint.
        test: Test samples, the last of the file.
        generate: Samples to generate where the raw files are missing.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid")

    root: str = "datasets/elasticity"
    protocol: Literal["radii", "coordinates"] = "radii"
    train: Count = 1000
    validation: Annotated[int, Field(ge=0)] = 0
    test: Count = 200
    generate: Count = 2000

    @model_validator(mode="after")
    def _check(self) -> ElasticityOptions:
        if self.validation >= self.train:
            raise ValueError(
                f"Expected 'validation' to be less than 'train' = {self.train}, the samples it is taken from "
                f"(got {self.validation})"
            )
        if self.train + self.test > self.generate:
            raise ValueError(
                f"Expected 'generate' to be at least {self.train + self.test}, 'train' and 'test' together "
                f"(got {self.generate})"
            )
        return self

    @property
    def inputs(self) -> tuple[str, ...]:
        """Mesh fields that hold the input values."""
        return input_fields(self.protocol)

    @property
    def targets(self) -> tuple[str, ...]:
        """Mesh fields that hold the targets."""
        return Elasticity.targets

    @property
    def shapes(self) -> tuple[int, int, int, int]:
        """Points of a sample, axes, input values, targets: known before any file is."""
        return POINTS, 2, RADII if self.protocol == "radii" else 0, 1

    def is_ready(self) -> bool:
        """Whether the raw files are there."""
        return not self._missing()

    def prepare(self, progress: bool = True) -> None:
        """Generate the raw files if they are missing: ``generate`` samples, as many as the originals by default."""
        raw = Path(self.root) / "raw"
        missing = self._missing()
        if missing and len(missing) < len(FILES) and not (raw / "generated.json").exists():
            raise FileNotFoundError(
                f"Expected {', '.join(missing)} in {raw}, beside the files that are there (got none); add them, or "
                f"move the others away to have all generated"
            )
        if missing:
            from pitgeo.generators import elasticity  # solvers are needed here alone

            elasticity.generate(raw, samples=self.generate, progress=progress)

    def train_samples(self) -> Elasticity:
        """The samples to train on."""
        return cast(Elasticity, self._training()[: self.train - self.validation])

    def validation_samples(self) -> Elasticity:
        """The last of the training samples, held out to choose the best checkpoint."""
        return cast(Elasticity, self._training()[self.train - self.validation :])

    def test_samples(self) -> Elasticity:
        """The test samples."""
        self._check_total()
        return Elasticity(self.root, "test", self.protocol, self.test)

    def _training(self) -> Elasticity:
        self._check_total()
        return Elasticity(self.root, "train", self.protocol, self.train)

    def _missing(self) -> list[str]:
        return [file for file in FILES.values() if not (Path(self.root) / "raw" / file).exists()]

    def _check_total(self) -> None:
        """Refuse files with so few samples that some would be trained on and tested on."""
        total = Elasticity.total(self.root)
        if total < self.train + self.test:
            raise ValueError(
                f"Expected at least {self.train + self.test} samples in {self.root}/raw, 'train' and 'test' together "
                f"(got {total}), so that no test sample is trained on; ask for fewer, or generate more"
            )


DATASETS: dict[str, type[ElasticityOptions]] = {"elasticity": ElasticityOptions}
