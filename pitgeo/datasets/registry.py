"""The registry of data sets: a name, the options it takes, and how its splits are made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

import torch

from pitgeo.data import PointData
from pitgeo.datasets.benchmark import BenchmarkOptions, Count, Split
from pitgeo.datasets.data_options import DataOptions
from pitgeo.datasets.elasticity import FILES, POINTS, RADII, Elasticity, input_fields
from pitgeo.datasets.external_options import AirfoilTransonicOptions, HoledPoissonOptions
from pitgeo.datasets.folder import MeshOptions
from pitgeo.datasets.generators import run_generator
from pitgeo.datasets.grid_options import (
    Darcy2DOptions,
    DarcySmallOptions,
    InviscidBurgersOptions,
    NACAOptions,
    ShockTubeOptions,
    VorticityOptions,
)
from pitgeo.datasets.smoothing import SmoothingOptions


class ElasticityOptions(BenchmarkOptions):
    """Options of ``data.name = "elasticity"``, see :class:`pitgeo.datasets.Elasticity`.

    Args:
        protocol: Inputs: coordinates and ``"radii"``, or ``"coordinates"`` alone.

    Example:
        >>> ElasticityOptions(train=100, test=20).protocol
        'radii'
    """

    targets: ClassVar[tuple[str, ...]] = Elasticity.targets
    root: str = "datasets/elasticity"
    protocol: Literal["radii", "coordinates"] = "radii"
    train: Count = 1000
    test: Count = 200
    generate: Count = 2000

    @property
    def inputs(self) -> tuple[str, ...]:
        """Mesh fields that hold the input values."""
        return input_fields(self.protocol)

    def template(self) -> PointData:
        """The first training sample, or random points while there are no files."""
        if self.is_ready():
            return self.training_parts()[0][0]
        pos = torch.rand(POINTS, 2, generator=torch.Generator().manual_seed(0))
        values = RADII if self.protocol == "radii" else 0
        return PointData(pos=pos, x=torch.zeros(POINTS, values), y=torch.zeros(POINTS, 1))

    def few_samples(self) -> Sequence[PointData]:
        """The first two training samples, all of which are cached together; none while files are missing."""
        return self.training_parts()[0][:2] if self.is_ready() else []

    def missing(self) -> list[str]:
        """Raw files that are not there."""
        return [file for file in FILES.values() if not (self.raw / file).exists()]

    def make(self, progress: bool) -> None:
        """Generate the raw files."""
        run_generator("elasticity", self.raw, progress, samples=self.generate)

    def read(self, split: Split, samples: int) -> Elasticity:
        """The samples of a split; refuses files with so few that some would be trained on and tested on."""
        total = Elasticity.total(self.root)
        if total < self.train + self.test:
            raise ValueError(
                f"Expected at least {self.train + self.test} samples in {self.root}/raw, 'train' and 'test' together "
                f"(got {total}), so that no test sample is trained on; ask for fewer, or generate more"
            )
        return Elasticity(self.root, split, self.protocol, samples)


DATASETS: dict[str, type[DataOptions]] = {
    "meshes": MeshOptions,
    "elasticity": ElasticityOptions,
    "inviscid_burgers": InviscidBurgersOptions,
    "shock_tube": ShockTubeOptions,
    "darcy2d": Darcy2DOptions,
    "darcy_small": DarcySmallOptions,
    "vorticity": VorticityOptions,
    "naca": NACAOptions,
    "holed_poisson": HoledPoissonOptions,
    "airfoil_transonic": AirfoilTransonicOptions,
    "smoothing": SmoothingOptions,
}
