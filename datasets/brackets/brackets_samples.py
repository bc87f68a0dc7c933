"""Brackets held by their bolt holes and loaded on one face: displacement, stress and von Mises stress in 3D.

Every sample is a VTU file of its own, with its own mesh. A table beside them lists what was drawn and what came out.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from brackets_mesh import MILLI, SIZE, BracketMesh, bracket_mesh, check_size, has_sharp_edge
from brackets_shapes import ImpossibleShape, Shape, draw_kind, draw_shape
from brackets_solid import Floats, Ints
from brackets_solver import SolidSpace, equilibrium
from numpy.typing import NDArray

from pitgeo.data.symmetries import PAIRS
from pitgeo.datasets.elastic import Elastic, von_mises
from pitgeo.datasets.mesh_samples import Row, make_mesh_files
from pitgeo.datasets.resumable import check_numbers
from pitgeo.mesh import Mesh

VERSION = 1
METHOD = "linear elasticity, curved quadratic tetrahedra by gmsh and scikit-fem"
MATERIALS = {"steel": Elastic(210e9, 0.3), "aluminium": Elastic(70e9, 0.33), "titanium": Elastic(114e9, 0.34)}
NEAR_CLAMP = 3.0
"""Stress is singular at the rims of the clamped holes, so peaks at points closer to these holes, in mm, say nothing."""
_DRAWS = 1000


@dataclass(frozen=True)
class Bracket:
    """A bracket and its load.

    Args:
        shape: Its numbers.
        material: One of ``MATERIALS``.
        traction: Force by area on the loaded face, in Pa, ``[3]``.
    """

    shape: Shape
    material: str
    traction: Floats


@dataclass(frozen=True)
class BracketSample:
    """A bracket's mesh and how it answers its load.

    Args:
        points: Corners of the elements in m, ``[N, 3]``.
        cells: Linear tetrahedra, ``[T, 4]``.
        displacement: Displacement in m, ``[N, 3]``.
        stress: Stress in Pa, averaged at the points, ``[N, 3, 3]``.
        von_mises: Von Mises stress in Pa of the averaged stress, ``[N]``.
        clamped: Which points are held, ``[N]``.
        loaded: Which points are on the loaded face, ``[N]``.
        counted: Which points are at least 3 mm from the clamped holes, ``[N]``.
        peak_stress: The largest von Mises stress of those points, in Pa.
        tip_deflection: Length of the mean displacement of the loaded face, in m.
        loaded_area: Area of the loaded face, in m2.
        volume: Volume in m3.
    """

    points: Floats
    cells: Ints
    displacement: Floats
    stress: Floats
    von_mises: Floats
    clamped: NDArray[np.bool_]
    loaded: NDArray[np.bool_]
    counted: NDArray[np.bool_]
    peak_stress: float
    tip_deflection: float
    loaded_area: float
    volume: float


def draw_bracket(seed: int, number: int, size: float = SIZE) -> tuple[Bracket, BracketMesh]:
    """Bracket of sample ``number``, whatever the number of samples, and its mesh.

    Family, ribs, holes, material and traction are drawn once. All other numbers are drawn again until they are possible
    together: around each hole at least 2 mm of flat material is left, OpenCASCADE makes the solid with all its fillets,
    gmsh meshes it, and no re-entrant edge is left.

    Raises:
        ArithmeticError: If no possible numbers are found.
    """
    random = np.random.default_rng(np.random.SeedSequence((seed, number)))
    kind = draw_kind(random)
    material = list(MATERIALS)[int(random.integers(len(MATERIALS)))]
    direction = random.normal(size=3)
    traction = random.uniform(0.5e6, 2e6) * direction / np.linalg.norm(direction)
    for _ in range(_DRAWS):
        try:
            shape = draw_shape(random, *kind)
            mesh = bracket_mesh(shape, size)
        except ImpossibleShape:
            continue
        if not has_sharp_edge(mesh.mesh, size):
            return Bracket(shape, material, traction), mesh
    raise ArithmeticError(f"No possible numbers of {kind} were found in {_DRAWS} draws")


def solve(bracket: Bracket, mesh: BracketMesh) -> BracketSample:
    """Solve one bracket on its mesh.

    Raises:
        ArithmeticError: If no equilibrium is found.
    """
    space, material = SolidSpace(mesh.mesh), MATERIALS[bracket.material]
    share, held = space.share(mesh.loaded), space.on(mesh.clamped)
    displacement, _ = equilibrium(space, material, np.multiply.outer(share, bracket.traction), held)
    stress = material.stress(space.gradient(displacement))
    corners = slice(space.corners)
    points, mises = space.points[corners], von_mises(stress)
    counted = distance_to_bolts(bracket.shape, points) >= MILLI * NEAR_CLAMP
    return BracketSample(
        points=points,
        cells=space.cells,
        displacement=displacement[corners],
        stress=stress,
        von_mises=mises,
        clamped=held[corners],
        loaded=space.on(mesh.loaded)[corners],
        counted=counted,
        peak_stress=float(mises[counted].max()),
        tip_deflection=float(np.linalg.norm(share @ displacement) / share.sum()),
        loaded_area=float(share.sum()),
        volume=space.volume,
    )


def distance_to_bolts(shape: Shape, points: Floats) -> Floats:
    """Distance ``[N]`` of points ``[N, 3]`` in the material from the nearest clamped face, in m."""
    nearest = np.full(len(points), np.inf)
    for place, _, radius in shape.bolts():
        away = np.linalg.norm(points[:, :2] - MILLI * np.array(place[:2]), axis=1) - MILLI * radius
        above = np.maximum(points[:, 2] - MILLI * shape.thickness, 0)
        nearest = np.minimum(nearest, np.hypot(away, above))
    return nearest


def generate(
    output: Path,
    samples: int = 1000,
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
        seed: Seed of the brackets.
        processes: How many processes; 1 to work in this one, ``None`` for as many as there are cores.
        progress: Whether to show a progress bar.
        size: Longest edge in mm, see :func:`~brackets_mesh.bracket_mesh`; larger gives smaller files.

    Raises:
        ValueError: If a number is out of range.
        FileExistsError: If the folder holds other files of these names, or some made with other settings.
    """
    check_numbers(samples, seed, processes)
    check_size(size)
    settings = {"method": METHOD, "version": VERSION, "seed": seed, "size": size, "samples": samples}
    make_mesh_files(output, settings, functools.partial(_sample, seed, size), "bracket", processes, progress)


def _sample(seed: int, size: float, number: int) -> tuple[Mesh, Row]:
    """The mesh of a sample, and its line of the table."""
    try:
        bracket, mesh = draw_bracket(seed, number, size)
        sample = solve(bracket, mesh)
    except (ValueError, ArithmeticError) as error:
        raise ArithmeticError(f"Sample {number} with seed {seed} could not be solved: {error}") from error
    material = MATERIALS[bracket.material]
    file = Mesh(
        points=sample.points.astype(np.float32).astype(np.float64),  # half of the digits compress better
        cells=(("tetra", sample.cells),),
        point_data={
            "displacement": sample.displacement.astype(np.float32),
            "stress": np.stack([sample.stress[:, i, j] for i, j in PAIRS[6]], axis=1).astype(np.float32),
            "von_mises": sample.von_mises.astype(np.float32),
            "clamped": sample.clamped.astype(np.int32),
            "loaded": sample.loaded.astype(np.int32),
        },
        field_data={
            "traction": bracket.traction,
            "young": np.array([material.young]),
            "poisson": np.array([material.poisson]),
        },
    )
    return file, {
        **bracket.shape.columns(),
        "material": bracket.material,
        **{f"traction_{axis}": float(value) for axis, value in zip("xyz", bracket.traction, strict=True)},
        "loaded_area": sample.loaded_area,
        "volume": sample.volume,
        "peak_stress": sample.peak_stress,
        "tip_deflection": sample.tip_deflection,
    }
