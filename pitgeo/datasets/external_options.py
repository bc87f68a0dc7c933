"""Options of the benchmarks whose files come from elsewhere and cannot be generated."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from pitgeo.data import PointData
from pitgeo.datasets import airfoil_transonic, holed_poisson
from pitgeo.datasets.benchmark import BenchmarkOptions, Count, GridOptions, Split
from pitgeo.datasets.fields import Fields
from pitgeo.datasets.holed_poisson import HoledPoisson
from pitgeo.datasets.shared_mesh import ClosedCurve


class ExternalOptions(BenchmarkOptions):
    """Options of a benchmark that is read and never generated; ``generate`` is the number of samples there are."""

    source: ClassVar[str]

    def make(self, progress: bool) -> None:
        """Refuse: these files cannot be generated."""
        raise FileNotFoundError(
            f"Expected {', '.join(self.missing())} in {self.raw} (got none), which cannot be generated; get it from "
            f"{self.source} and put it there, or name another folder that holds 'raw' by the option 'root'"
        )

    def prepare(self, progress: bool = True) -> None:
        """Refuse if a raw file is missing."""
        if not self.is_ready():
            self.make(progress)


class HoledPoissonOptions(ExternalOptions):
    """Options of ``data.name = "holed_poisson"``, see :class:`pitgeo.datasets.HoledPoisson`.

    Args:
        protocol: Inputs: ``"coordinates"`` alone, or ``"parameters"``: also the place of the hole.
        train: Training samples, the first of a fixed permutation; those for validation are among them, at the end.
        test: Test samples, the last of the permutation.
    """

    source: ClassVar[str] = holed_poisson.SOURCE
    targets: ClassVar[tuple[str, ...]] = HoledPoisson.targets
    root: str = "datasets/holed_poisson"
    protocol: Literal["coordinates", "parameters"] = "coordinates"
    train: Count = holed_poisson.TRAIN
    test: Count = holed_poisson.TEST
    generate: Count = holed_poisson.TRAIN + holed_poisson.TEST

    @property
    def inputs(self) -> tuple[str, ...]:
        """Mesh fields that hold the input values."""
        return holed_poisson.input_fields(self.protocol)

    def template(self) -> PointData:
        """The first training sample, or random points while there is no file."""
        if self.is_ready():
            return self.read("train", self.train)[0]
        pos = torch.rand(holed_poisson.POINTS, 2, generator=torch.Generator().manual_seed(0))
        return PointData(pos=pos, x=torch.zeros(len(pos), 2 * len(self.inputs)), y=torch.zeros(len(pos), 1))

    def missing(self) -> list[str]:
        """Raw files that are not there."""
        return [] if (self.raw / holed_poisson.FILE).is_file() else [holed_poisson.FILE]

    def read(self, split: Split, samples: int) -> HoledPoisson:
        """The samples of a split."""
        return HoledPoisson(self.root, split, self.protocol, samples, self.others(split))


class AirfoilTransonicOptions(ExternalOptions, GridOptions):
    """Options of ``data.name = "airfoil_transonic"``: from the angle of attack to fields on an airfoil's surface.

    Args:
        predict: Targets: the ``"pressure"``, the ``"wall_shear"``, or ``"both"``.
        train: Training samples, the first of a fixed permutation; those for validation are among them, at the end.
        test: Test samples, the last of the permutation.
    """

    source: ClassVar[str] = airfoil_transonic.SOURCE
    inputs: ClassVar[tuple[str, ...]] = ("angle_of_attack",)
    root: str = "datasets/airfoil_transonic"
    predict: Literal["pressure", "wall_shear", "both"] = "pressure"
    train: Count = 80
    test: Count = 20
    generate: Count = 100

    @property
    def targets(self) -> tuple[str, ...]:
        """Mesh fields that hold the targets."""
        return tuple(airfoil_transonic.TARGETS) if self.predict == "both" else (self.predict,)

    def missing(self) -> list[str]:
        """Raw files that are not there."""
        return airfoil_transonic.missing(self.raw)

    def grid_points(self) -> tuple[NDArray[np.float64], tuple[int, ...]]:
        """Positions of the curve's points, or of points on a circle while there is no file."""
        if self.is_ready():
            fields = self.fields("train", 1)
            return fields.pos, fields.grid
        angle = 2 * np.pi * np.arange(airfoil_transonic.POINTS) / airfoil_transonic.POINTS
        return np.stack([0.5 + 0.5 * np.cos(angle), 0.5 * np.sin(angle)], -1), (len(angle),)

    def fields(self, split: Split, samples: int) -> Fields:
        """What the raw files hold."""
        return airfoil_transonic.read(self.raw, split, samples, self.targets, self.others(split))

    def read(self, split: Split, samples: int) -> ClosedCurve:
        """The samples of a split; pictures show every target."""
        drawn = tuple(range(len(self.targets)))
        return ClosedCurve(self.fields(split, samples), self.inputs, self.targets, drawn)
