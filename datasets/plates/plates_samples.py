"""Steel plates with holes, clamped at one end and loaded at the other: displacement and von Mises stress in 3D.

Every sample is a VTU file of its own, with its own mesh. A table beside them lists what was drawn and what came out.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from plates_mesh import (
    LENGTH,
    WIDTH,
    Floats,
    Hole,
    Ints,
    plane_mesh,
    smallest_ligament,
    solid_points,
    solid_tetrahedra,
)
from plates_solver import PlateSpace, equilibrium

from pitgeo.datasets.elastic import Elastic, von_mises
from pitgeo.datasets.mesh_samples import Row, make_mesh_files
from pitgeo.datasets.resumable import check_numbers
from pitgeo.mesh import Mesh

VERSION = 1
METHOD = "linear elasticity, quadratic wedges by scikit-fem, one layer"
COLUMNS = ("thickness", "traction_x", "traction_y", "traction_z", "holes", "peak_stress", "tip_deflection")
SIZE = 0.16
STEEL = Elastic()
LEAST_LIGAMENT = 0.08
NEAR_CLAMP = 0.1  # stress is singular at the edges of the clamped face, so a peak there says nothing
_DRAWS = 10000


@dataclass(frozen=True)
class Plate:
    """A plate of 2 x 1 m and its load.

    Args:
        thickness: Thickness in m.
        traction: Force by area on the end face at x = 2, in Pa, ``[3]``.
        holes: Holes through the thickness.
    """

    thickness: float
    traction: Floats
    holes: tuple[Hole, ...]


@dataclass(frozen=True)
class PlateSample:
    """A plate's mesh and how it answers its load.

    Args:
        points: Points of the mesh in m, ``[N, 3]``.
        cells: Linear tetrahedra, ``[T, 4]``.
        displacement: Displacement in m, ``[N, 3]``.
        von_mises: Von Mises stress in Pa of the stress averaged at the points, ``[N]``.
        clamped: Which points are clamped, ``[N]``.
        peak_stress: The largest von Mises stress at points at least 0.1 m from the clamped face, in Pa.
        tip_deflection: Length of the mean displacement of the loaded face, in m.
    """

    points: Floats
    cells: Ints
    displacement: Floats
    von_mises: Floats
    clamped: NDArray[np.bool_]
    peak_stress: float
    tip_deflection: float


def draw_plate(seed: int, number: int) -> Plate:
    """Plate of sample ``number``, whatever the number of samples.

    Thickness is uniform between 0.1 and 0.2 m; the traction pulls by 10 to 50 MPa along x, and by at most 3 MPa along y
    and 0.4 MPa along z, either way. One to three ellipses, of semi-axes between 0.08 and 0.2 m, the second 0.6 to 1
    times the first, turned at random, are drawn again until at least 0.08 m is left between them and to the sides.

    Example:
        >>> len(draw_plate(0, 0).holes)
        1
    """
    random = np.random.default_rng(np.random.SeedSequence((seed, number)))
    thickness = random.uniform(0.1, 0.2)
    traction = random.uniform((10e6, -3e6, -0.4e6), (50e6, 3e6, 0.4e6))
    count = int(random.integers(1, 4))
    for _ in range(_DRAWS):
        holes = tuple(_draw_hole(random) for _ in range(count))
        if smallest_ligament(holes) >= LEAST_LIGAMENT:
            return Plate(thickness, traction, holes)
    raise ArithmeticError(f"No {count} holes that fit were found in {_DRAWS} draws")


def solve(plate: Plate, size: float = SIZE, layers: int = 1) -> PlateSample:
    """Solve one plate.

    Args:
        plate: The plate.
        size: Length of the elements' edges far from the holes in m, see
            :func:`~plates_mesh.plane_mesh`; the points of the output lie half as far apart.
        layers: Quadratic elements through the thickness; the output has 2 layers + 1 planes of points.

    Raises:
        ValueError: If a number is out of range, or holes touch.
        ArithmeticError: If no good mesh is found.

    Example:
        >>> sample = solve(Plate(0.1, np.array([1e6, 0, 0]), ()), size=0.5)
        >>> round(sample.tip_deflection / (1e6 * 2 / 210e9), 2)  # a bar of steel, a little stiffer at its clamp
        0.99
    """
    if not plate.thickness > 0 or layers < 1:
        raise ValueError(f"Expected a positive thickness and at least 1 layer (got {plate.thickness}, {layers})")
    space = PlateSpace(plane_mesh(plate.holes, size), plate.thickness, layers)
    points = solid_points(space.plane_points, space.height)
    clamped = points[:, 0] == 0
    load = space.end_load(LENGTH, plate.traction)
    displacement, _ = equilibrium(space.stiffness(STEEL), load, np.repeat(clamped[:, None], 3, axis=1))
    stress = von_mises(STEEL.stress(space.gradient(displacement)))
    share = space.end_load(LENGTH, np.ones(3)) / (WIDTH * plate.thickness)
    return PlateSample(
        points=points,
        cells=solid_tetrahedra(points, space.triangles),
        displacement=displacement,
        von_mises=stress,
        clamped=clamped,
        peak_stress=float(stress[points[:, 0] >= NEAR_CLAMP].max()),
        tip_deflection=float(np.linalg.norm((share * displacement).sum(axis=0))),
    )


def generate(
    output: Path,
    samples: int = 120,
    seed: int = 0,
    processes: int | None = None,
    progress: bool = True,
    size: float = SIZE,
) -> None:
    """Write a file a sample and the table to a folder.

    Interrupted, it goes on where it stopped when run again with the same seed and size. Files appear under their final
    names only once all are whole. If they are there already, with at least as many samples, nothing is done.

    Args:
        output: Folder to write to.
        samples: How many; sample k is the same whatever the number.
        seed: Seed of the plates.
        processes: How many processes; 1 to work in this one, ``None`` for as many as there are cores.
        progress: Whether to show a progress bar.
        size: Length of the elements' edges far from the holes in m; larger gives smaller files.

    Raises:
        ValueError: If a number is out of range.
        FileExistsError: If the folder holds other files of these names, or some made with other settings.
    """
    check_numbers(samples, seed, processes)
    if not 0.02 <= size <= 1:
        raise ValueError(f"Expected 'size' to be from 0.02 to 1 m (got {size})")
    settings = {"method": METHOD, "version": VERSION, "seed": seed, "size": size, "samples": samples}
    make_mesh_files(output, settings, functools.partial(_sample, seed, size), "plate", processes, progress)


def _draw_hole(random: np.random.Generator) -> Hole:
    center = random.uniform((0, 0), (LENGTH, WIDTH))
    one, ratio, angle = random.uniform((0.08, 0.6, 0), (0.2, 1, np.pi))
    return Hole((float(center[0]), float(center[1])), (float(one), float(ratio * one)), float(angle))


def _sample(seed: int, size: float, number: int) -> tuple[Mesh, Row]:
    """The mesh of a sample, and its line of the table."""
    try:
        plate = draw_plate(seed, number)
        sample = solve(plate, size)
    except (ValueError, ArithmeticError) as error:
        raise ArithmeticError(f"Sample {number} with seed {seed} could not be solved: {error}") from error
    mesh = Mesh(
        points=sample.points.astype(np.float32).astype(np.float64),  # half of the digits compress better
        cells=(("tetra", sample.cells),),
        point_data={
            "displacement": sample.displacement.astype(np.float32),
            "von_mises": sample.von_mises.astype(np.float32),
            "clamped": sample.clamped.astype(np.int32),
        },
        field_data={"traction": plate.traction, "thickness": np.array([plate.thickness])},
    )
    row = (plate.thickness, *plate.traction, len(plate.holes), sample.peak_stress, sample.tip_deflection)
    return mesh, dict(zip(COLUMNS, row, strict=True))
