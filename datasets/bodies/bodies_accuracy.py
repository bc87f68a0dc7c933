"""How accurate the files are: against closed forms for ellipsoids, and against finer panels for all bodies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from bodies_samples import FAMILIES, Case, draw_case, panels_along, pressure_coefficient
from bodies_shape import Body, Floats, frame, measures
from bodies_solver import Flow, solve
from scipy.special import elliprd
from tqdm import tqdm

_BALL = Case("ball", Body((1.0, 1.0, 1.0)), np.array([0.6, -0.48, 0.64]), 1.0)


@dataclass(frozen=True)
class Difference:
    """How far a flow is from a reference.

    Args:
        family: The body's family.
        panels: How many panels.
        points: Relative l2 norm of the difference of pressure coefficients at the corners.
        largest: Its largest value at a corner.
        middles: As ``points``, at the panels' middles.
        added_mass: Largest difference of an entry of the added mass, over the largest entry.
    """

    family: str
    panels: int
    points: float
    largest: float
    middles: float
    added_mass: float


def ellipsoid_added_mass(half_lengths: tuple[float, float, float]) -> Floats:
    r"""Added mass of an ellipsoid along its axes over that of the displaced fluid, ``[3]``.

    .. math::
        k_i = \frac{\alpha_i}{2 - \alpha_i}, \qquad
        \alpha_i = a b c \int_0^\infty \frac{d\lambda}{(a_i^2 + \lambda)
        \sqrt{(a^2 + \lambda)(b^2 + \lambda)(c^2 + \lambda)}}

    The integral is two thirds of Carlson's :math:`R_D`.

    Reference:
        Lamb, *Hydrodynamics*, sections 114 and 121.
    """
    squares = np.array(half_lengths) ** 2
    integrals = np.array([elliprd(squares[axis - 2], squares[axis - 1], squares[axis]) for axis in range(3)])
    alpha = 2 / 3 * integrals * np.prod(half_lengths)
    return np.asarray(alpha / (2 - alpha))


def ellipsoid_velocity(body: Body, directions: Floats, stream: Floats) -> Floats:
    """Velocity ``[N, 3]`` on an ellipsoid: the part along the surface of ``(1 + k_i) stream_i``.

    The potential on the surface is a linear function (Lamb, section 114), and its gradient is turned into the surface.
    """
    whole = (1 + ellipsoid_added_mass(body.half_lengths)) * stream
    normals = frame(body, directions).normals
    return np.asarray(whole - normals * (normals @ whole)[:, None])


def against_closed_form(case: Case, count: int) -> Difference:
    """How far a flow about an ellipsoid is from the closed form, with ``count`` panels along a side of the cube."""
    flow = solve(case.body, count)
    exact = [pressure_coefficient(ellipsoid_velocity(case.body, at, case.direction)) for at in _places(flow)]
    return _difference(case, flow, exact, np.diag(ellipsoid_added_mass(case.body.half_lengths)))


def against_finer(case: Case, count: int) -> Difference:
    """How far a flow is from one with twice as many panels along each side of the cube."""
    flow, fine = solve(case.body, count), solve(case.body, 2 * count)
    exact = [pressure_coefficient(fine.velocity(at, case.direction)) for at in _places(flow)]
    return _difference(case, flow, exact, fine.added_mass())


def measure(samples: int, seed: int, size: float, progress: bool = True) -> list[tuple[str, Difference]]:
    """Differences for a ball of 384, 1,536 and 3,456 panels, and for the first ``samples`` drawn bodies of each family.

    Returns:
        What each is a difference from, and how large it is.
    """
    found = [("closed form", against_closed_form(_BALL, count)) for count in (8, 16, 24)]
    number, left = 0, dict.fromkeys(FAMILIES, samples)
    with tqdm(total=len(FAMILIES) * samples, disable=not progress, unit="body") as bar:
        while any(left.values()):
            case = draw_case(seed, number)
            number += 1
            if not left[case.family]:
                continue
            left[case.family] -= 1
            count = panels_along(measures(case.body)[1], size)
            if case.family == "ellipsoid":
                found.append(("closed form", against_closed_form(case, count)))
            found.append(("finer panels", against_finer(case, count)))
            bar.update()
    return found


def _places(flow: Flow) -> tuple[Floats, Floats]:
    return flow.mesh.point_directions, flow.mesh.directions


def _difference(case: Case, flow: Flow, exact: list[Floats], added_mass: Floats) -> Difference:
    errors = [
        pressure_coefficient(flow.velocity(at, case.direction)) - values
        for at, values in zip(_places(flow), exact, strict=True)
    ]
    points, middles = (
        float(np.linalg.norm(error) / np.linalg.norm(values)) for error, values in zip(errors, exact, strict=True)
    )
    mass = float(np.abs(flow.added_mass() - added_mass).max() / np.abs(added_mass).max())
    return Difference(case.family, len(flow.mesh.quads), points, float(np.abs(errors[0]).max()), middles, mass)
