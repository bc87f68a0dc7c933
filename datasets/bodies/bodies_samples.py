"""Ellipsoids, rounded boxes and car-like bodies in a uniform stream: the pressure on their surfaces.

Every sample is a VTP file of its own, with its own surface. A table beside them lists what was drawn and what came out.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from bodies_shape import Body, Floats, Ints, frame, frontal_area, is_star_shaped, measures
from bodies_solver import solve as solve_flow

from pitgeo.datasets.mesh_samples import Row, make_mesh_files
from pitgeo.datasets.resumable import check_numbers
from pitgeo.mesh import Mesh

VERSION = 1
METHOD = "potential flow, panels of constant doublets"
FAMILIES = ("ellipsoid", "box", "car")
SIZE = 0.1
SURFACES = (16.0, 36.0)


@dataclass(frozen=True)
class Case:
    """A body in a stream.

    Args:
        family: One of ``FAMILIES``.
        body: The body.
        direction: Where the stream flows to, a unit vector ``[3]``.
        speed: Its speed in m/s.
    """

    family: str
    body: Body
    direction: Floats
    speed: float


@dataclass(frozen=True)
class BodySample:
    """A body's surface and the flow along it.

    Args:
        points: Corners of the panels in m, ``[N, 3]``.
        quads: Panels, counter-clockwise seen from outside, ``[M, 4]``.
        normal: Unit normals outwards at the corners, ``[N, 3]``.
        velocity: Velocity at the corners in m/s, ``[N, 3]``.
        pressure: Pressure coefficient at the corners, ``[N]``.
        panel_pressure: Pressure coefficient at the panels' middles, ``[M]``.
        reference_area: Area of the shadow along the stream, in m^2.
        volume: Volume in m^3.
        surface: Area of the surface in m^2.
        added_mass: Added mass over that of the displaced fluid, ``[3, 3]``.
        force: Force over dynamic pressure and reference area, ``[3]``: zero but for errors.
    """

    points: Floats
    quads: Ints
    normal: Floats
    velocity: Floats
    pressure: Floats
    panel_pressure: Floats
    reference_area: float
    volume: float
    surface: float
    added_mass: Floats
    force: Floats


def draw_case(seed: int, number: int) -> Case:
    """Case of sample ``number``, whatever the number of samples; the ranges are in the README.

    Example:
        >>> draw_case(0, 0).family
        'car'
    """
    random = np.random.default_rng(np.random.SeedSequence((seed, number)))
    family = FAMILIES[random.integers(3)]
    if family == "car":
        width, height, exponent, cabin, center, length, taper = random.uniform(
            (0.36, 0.16, 2.6, 0.8, -0.25, 0.4, 0.1), (0.48, 0.24, 4.0, 1.3, 0.25, 0.6, 0.35)
        )
        body = Body((1.0, width, height), exponent, cabin, center, length, taper)
    else:
        half_lengths = random.uniform(0.3, 1.0, 3)
        body = Body(tuple(half_lengths.tolist()), random.uniform(3.0, 6.0) if family == "box" else 2.0)
    scale = np.sqrt(random.uniform(*SURFACES) / measures(body)[1])
    a, b, c = (float(scale * half_length) for half_length in body.half_lengths)
    direction = random.normal(size=3)
    return Case(
        family, replace(body, half_lengths=(a, b, c)), direction / np.linalg.norm(direction), random.uniform(10, 50)
    )


def panels_along(surface: float, size: float) -> int:
    """Panels along a side of the cube, of which six cover a surface, if their edges are ``size`` long on average."""
    return int(np.ceil(np.sqrt(surface / 6) / size))


def solve(case: Case, size: float = SIZE) -> BodySample:
    """Solve one case.

    Args:
        case: The case.
        size: Mean length of the panels' edges in m.

    Raises:
        ValueError: If the panels are too few, or the body is not star-shaped, as the reference area needs.

    Example:
        >>> ball = Case("ellipsoid", Body((1.0, 1.0, 1.0)), np.array([1.0, 0, 0]), 20.0)
        >>> print(f"{solve(ball, size=0.1).pressure.min():.1f}")  # -5 / 4, for a sphere
        -1.2
    """
    volume, surface = measures(case.body)
    flow = solve_flow(case.body, panels_along(surface, size))
    mesh = flow.mesh
    if not is_star_shaped(case.body, mesh.point_directions):
        raise ValueError(f"Expected a body whose surface every ray from its middle meets once (got {case.body})")
    velocity = flow.velocity(mesh.point_directions, case.direction)
    panel_pressure = pressure_coefficient(flow.velocity(mesh.directions, case.direction))
    reference_area = frontal_area(mesh, case.direction)
    return BodySample(
        points=mesh.points,
        quads=mesh.quads,
        normal=frame(case.body, mesh.point_directions).normals,
        velocity=case.speed * velocity,
        pressure=pressure_coefficient(velocity),
        panel_pressure=panel_pressure,
        reference_area=reference_area,
        volume=volume,
        surface=surface,
        added_mass=flow.added_mass(),
        force=-panel_pressure @ flow.areas() / reference_area,
    )


def pressure_coefficient(velocity: Floats) -> Floats:
    """1 - u^2 ``[N]`` of velocities ``[N, 3]`` in a stream of unit speed."""
    return np.asarray(1 - (velocity**2).sum(axis=1))


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
        seed: Seed of the cases.
        processes: How many processes; 1 to work in this one, ``None`` for as many as there are cores.
        progress: Whether to show a progress bar.
        size: Mean length of the panels' edges in m; larger gives smaller files, 0.2 at most.

    Raises:
        ValueError: If a number is out of range.
        FileExistsError: If the folder holds other files of these names, or some made with other settings.
    """
    check_numbers(samples, seed, processes)
    if not 0.02 <= size <= 0.2:
        raise ValueError(f"Expected 'size' to be from 0.02 to 0.2 m (got {size})")
    settings = {"method": METHOD, "version": VERSION, "seed": seed, "size": size, "samples": samples}
    make_mesh_files(output, settings, functools.partial(_mesh, seed, size), "body", processes, progress, ".vtp")


def _mesh(seed: int, size: float, number: int) -> tuple[Mesh, Row]:
    case = draw_case(seed, number)
    try:
        sample = solve(case, size)
    except (ValueError, ArithmeticError) as error:
        raise ArithmeticError(f"Sample {number} with seed {seed} could not be solved: {error}") from error
    mesh = Mesh(
        points=sample.points.astype(np.float32).astype(np.float64),  # half of the digits compress better
        cells=(("quad", sample.quads),),
        point_data={
            "pressure_coefficient": sample.pressure.astype(np.float32),
            "velocity": sample.velocity.astype(np.float32),
            "normal": sample.normal.astype(np.float32),
        },
        cell_data={"panel_pressure_coefficient": (sample.panel_pressure.astype(np.float32),)},
        field_data={"direction": case.direction, "speed": np.array([case.speed])},
    )
    return mesh, _row(case, sample)


def _row(case: Case, sample: BodySample) -> Row:
    body, mass = case.body, sample.added_mass
    return {
        "family": case.family,
        "panels": len(sample.quads),
        **{f"half_length_{axis}": value for axis, value in zip("xyz", body.half_lengths, strict=True)},
        "exponent": body.exponent,
        "cabin": body.cabin,
        "cabin_center": body.center,
        "cabin_length": body.length,
        "taper": body.taper,
        **{f"direction_{axis}": value for axis, value in zip("xyz", case.direction, strict=True)},
        "speed": case.speed,
        "reference_area": sample.reference_area,
        "volume": sample.volume,
        "surface": sample.surface,
        **{f"added_mass_{'xyz'[i]}{'xyz'[j]}": (mass[i, j] + mass[j, i]) / 2 for i in range(3) for j in range(i, 3)},
        **{f"force_{axis}": value for axis, value in zip("xyz", sample.force, strict=True)},
    }
