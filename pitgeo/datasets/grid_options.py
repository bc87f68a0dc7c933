"""Options of the benchmarks whose samples share a grid."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from pitgeo.data import PointData
from pitgeo.datasets import darcy2d, darcy_small, inviscid_burgers, naca, shock_tube, vorticity
from pitgeo.datasets.benchmark import Count, GridOptions, Split
from pitgeo.datasets.fields import Fields
from pitgeo.datasets.generators import run_generator
from pitgeo.datasets.shared_mesh import OwnMeshes, SharedMesh


class GeneratedOptions(GridOptions):
    """Options of a benchmark on a grid that has a module to read it and one to generate it."""

    reader: ClassVar[Any]

    @property
    def numbers(self) -> dict[str, int]:
        """How many samples to generate, as the generator's arguments."""
        return {"samples": self.generate}

    def missing(self) -> list[str]:
        """Raw files that are not there."""
        return list(self.reader.missing(self.raw))

    def make(self, progress: bool) -> None:
        """Generate the raw files."""
        run_generator(self.reader.__name__.rpartition(".")[2], self.raw, progress, **self.numbers)


class InviscidBurgersOptions(GeneratedOptions):
    """Options of ``data.name = "inviscid_burgers"``: a conservation law in one dimension, from start to final time."""

    reader: ClassVar[Any] = inviscid_burgers
    inputs: ClassVar[tuple[str, ...]] = ("u_initial",)
    targets: ClassVar[tuple[str, ...]] = ("u",)
    root: str = "datasets/inviscid_burgers"
    train: Count = 950
    test: Count = 128
    generate: Count = 1152

    def grid_points(self) -> tuple[NDArray[np.float64], tuple[int, ...]]:
        """Positions of the cells, from 0 on."""
        return inviscid_burgers.positions(), inviscid_burgers.GRID

    def fields(self, split: Split, samples: int) -> Fields:
        """What the raw files hold."""
        return inviscid_burgers.read(self.raw, split, samples, others=self.others(split))


class ShockTubeOptions(GeneratedOptions):
    """Options of ``data.name = "shock_tube"``: Euler's equations in one dimension, from start to final energy.

    Args:
        variables: Inputs: density, momentum and energy, or density, velocity and pressure.
        coordinates: ``"unit"``: i/2048, as in the authors' code; ``"tube"``: from -5 to 5.
    """

    reader: ClassVar[Any] = shock_tube
    targets: ClassVar[tuple[str, ...]] = ("energy",)
    values: ClassVar[int] = 3
    root: str = "datasets/shock_tube"
    variables: Literal["conservative", "primitive"] = "conservative"
    coordinates: Literal["unit", "tube"] = "unit"
    train: Count = 1024
    test: Count = 128
    generate: Count = 1280

    @property
    def inputs(self) -> tuple[str, ...]:
        """Mesh fields that hold the input values."""
        return (f"initial_{self.variables}",)

    def grid_points(self) -> tuple[NDArray[np.float64], tuple[int, ...]]:
        """Positions of the cells."""
        return shock_tube.positions(self.coordinates), shock_tube.GRID

    def fields(self, split: Split, samples: int) -> Fields:
        """What the raw files hold."""
        return shock_tube.read(self.raw, split, samples, self.variables, self.coordinates, others=self.others(split))


class Darcy2DOptions(GeneratedOptions):
    """Options of ``data.name = "darcy2d"``: from a piecewise constant permeability to the pressure.

    Args:
        resolution: Points along each side: 420/r + 1, every r-th of 421.
        coordinates: ``"true"``: ends included, as the data's grid is; ``"code"``: i/n, as in the authors' code.
        grading: By how much lines are closer at the ends of either axis than in the middle, see
            :func:`pitgeo.datasets.darcy2d.lines`; 0: evenly spaced. To test what was trained on another grid.
        generate: Training samples to generate; ``generate_test`` for the other file.
    """

    reader: ClassVar[Any] = darcy2d
    inputs: ClassVar[tuple[str, ...]] = ("permeability",)
    targets: ClassVar[tuple[str, ...]] = ("pressure",)
    root: str = "datasets/darcy2d"
    resolution: Annotated[int, Field(ge=3, le=421)] = 211
    coordinates: Literal["true", "code"] = "true"
    grading: Annotated[float, Field(gt=-1, lt=1)] = 0.0
    train: Count = 1024
    test: Count = 100
    generate: Count = 1024
    generate_test: Count = 128

    @property
    def least(self) -> int:
        """How many training samples must be generated at least; test samples come from a file of their own."""
        return self.train

    @property
    def numbers(self) -> dict[str, int]:
        """How many samples to generate, as the generator's arguments."""
        return {"samples": self.generate, "test_samples": self.generate_test}

    def grid_points(self) -> tuple[NDArray[np.float64], tuple[int, ...]]:
        """Positions of the grid's points."""
        pos = darcy2d.positions(self.resolution, self.coordinates, self.grading)
        return pos, (self.resolution, self.resolution)

    @property
    def is_regular(self) -> bool:
        """Whether the grid's lines are evenly spaced."""
        return self.grading == 0

    def fields(self, split: Split, samples: int) -> Fields:
        """What the raw files hold."""
        return darcy2d.read(self.raw, split, samples, self.resolution, self.coordinates, self.grading)


class DarcySmallOptions(GridOptions):
    """Options of ``data.name = "darcy_small"``: the small Darcy files that come with neuraloperator; not generated.

    Args:
        root: The folder that holds the three files.
        resolution: 16, or 32 for test samples alone.
    """

    inputs: ClassVar[tuple[str, ...]] = ("permeability",)
    targets: ClassVar[tuple[str, ...]] = ("pressure",)
    root: str = "datasets/darcy_small"
    resolution: Literal[16, 32] = 16
    train: Count = 1000
    test: Count = 50
    generate: Count = 1050

    @property
    def raw(self) -> Path:
        """Folder of the files."""
        return Path(self.root)

    def grid_points(self) -> tuple[NDArray[np.float64], tuple[int, ...]]:
        """Positions of the grid's points."""
        return darcy_small.positions(self.resolution), (self.resolution, self.resolution)

    def missing(self) -> list[str]:
        """Files that are not there."""
        return darcy_small.missing(self.raw)

    def make(self, progress: bool) -> None:
        """Refuse: these files cannot be generated."""
        raise FileNotFoundError(
            f"Expected {', '.join(self.missing())} in {self.root} (got none); they come with the package "
            f"neuraloperator: copy them there, or name their folder by data.darcy_small.root"
        )

    def fields(self, split: Split, samples: int) -> Fields:
        """What the files hold."""
        return darcy_small.read(self.raw, split, samples, self.resolution)


class VorticityOptions(GeneratedOptions):
    """Options of ``data.name = "vorticity"``: forced turbulence, from the first snapshots to the following ones.

    Args:
        history: Snapshots that are known.
        steps: Snapshots to predict, each from the ``history`` before.
        resolution: Points along each side, every 64/n-th of the file.
    """

    reader: ClassVar[Any] = vorticity
    inputs: ClassVar[tuple[str, ...]] = ("vorticity_history",)
    root: str = "datasets/vorticity"
    history: Annotated[int, Field(ge=1, le=29)] = 10
    steps: Annotated[int, Field(ge=1, le=29)] = 20
    resolution: Literal[64, 32, 16] = 64
    train: Count = 1000
    test: Count = 200
    generate: Count = 1200

    @property
    def rollout(self) -> int:
        """How many steps a model predicts, each from the last ones."""
        return self.steps

    @property
    def targets(self) -> tuple[str, ...]:
        """Mesh fields that hold the targets."""
        return tuple(f"vorticity_{self.history + step + 1}" for step in range(self.steps))

    @property
    def values(self) -> int:
        """Input values of a point."""
        return self.history

    def grid_points(self) -> tuple[NDArray[np.float64], tuple[int, ...]]:
        """Positions of the grid's points."""
        return vorticity.positions(self.resolution), (self.resolution, self.resolution)

    def fields(self, split: Split, samples: int) -> Fields:
        """What the raw files hold."""
        return vorticity.read(
            self.raw, split, samples, self.history, self.steps, self.resolution, others=self.others(split)
        )

    def read(self, split: Split, samples: int) -> SharedMesh:
        """The samples of a split; pictures show the first and the last step."""
        last = self.steps - 1
        return SharedMesh(self.fields(split, samples), self.inputs, self.targets, drawn=tuple({0: 0, last: 0}))


class NACAOptions(GeneratedOptions):
    """Options of ``data.name = "naca"``: transonic flow about airfoils, from the shape to the Mach number.

    Args:
        positions: Where distances are taken: ``"reference"``: on the C-grid's index square, with the physical
            coordinates as input values (the paper's number); ``"physical"``: in space, as a point cloud has it, with
            the coordinates as the only inputs.
        convention: Test samples: ``"paper"``: number 1000 on; ``"last"``: the last of the file.
    """

    reader: ClassVar[Any] = naca
    targets: ClassVar[tuple[str, ...]] = ("mach",)
    root: str = "datasets/naca"
    positions: Literal["reference", "physical"] = "reference"
    convention: Literal["paper", "last"] = "paper"
    train: Count = 1000
    test: Count = 200
    generate: Count = 1200

    @property
    def is_in_space(self) -> bool:
        """Whether positions are those of the mesh files, so that a model can predict on such a file."""
        return self.positions == "physical"

    @property
    def is_shared(self) -> bool:
        """Whether all samples have the same points, held once."""
        return self.positions == "reference"

    @property
    def inputs(self) -> tuple[str, ...]:
        """Mesh fields that hold the input values."""
        return ("place",) if self.positions == "reference" else ()

    @property
    def values(self) -> int:
        """Input values of a point."""
        return 2 if self.positions == "reference" else 0

    def grid_points(self) -> tuple[NDArray[np.float64], tuple[int, ...]]:
        """Positions of the reference grid."""
        return naca.positions(), naca.GRID

    def template(self) -> PointData:
        """A sample of zeros; in space, points that are on no grid."""
        sample = super().template()
        if not self.is_shared:
            del sample["grid"]
        return sample

    def fields(self, split: Split, samples: int) -> Fields:
        """What the raw files hold."""
        return naca.read(self.raw, split, samples, self.convention, others=self.others(split))

    def read(self, split: Split, samples: int) -> SharedMesh | OwnMeshes:
        """The samples of a split; pictures show what is near the airfoil."""
        window = ((-0.5, 1.7), (-0.9, 0.9))
        shared = SharedMesh(self.fields(split, samples), ("place",), self.targets, physical=True, window=window)
        return shared if self.positions == "reference" else OwnMeshes(shared)
