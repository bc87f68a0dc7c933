r"""Potential flow about a body, by panels of constant doublet strength.

The potential :math:`\Phi` of a stream U and the body together satisfies, at a point x of the surface (Green's third
identity, with no flow through the surface),

.. math::
    \Phi(x) + \frac{1}{4\pi} \int (\Phi(y) - \Phi(x))\, d\omega_x(y) = U \cdot x,

where :math:`d\omega_x` is the solid angle of a surface element seen from x, positive from inside. Panels have constant
potentials, which are unknown, and the equation holds at their middles, points of the true surface. The solid angle of a
panel depends on its outline alone, so each is closed by straight lines between eight points of the surface: what lies
between is exact. What a panel does to its own middle is not needed, since the difference is zero there.

The velocity is the gradient of the potential along the surface.

Reference:
    Lamb, *Hydrodynamics*, sections 58 (Green's identity) and 121 (added mass); van Oosterom and Strackee, IEEE
    Transactions on Biomedical Engineering 30 (1983), equation 8 (solid angle of a triangle); Katz and Plotkin,
    *Low-Speed Aerodynamics*, chapter 12 (panels of constant doublets).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import numba
import numpy as np
from bodies_shape import Body, Floats, Ints, Panels, angles, frame, panels
from scipy.linalg import solve as solve_dense
from scipy.spatial import cKDTree

F = TypeVar("F", bound=Callable[..., Any])

_NEIGHBORS = 20
"""Panels of which a gradient is taken: at least 10, the coefficients of a cubic polynomial in two variables."""


def compiled(function: F) -> F:
    """Compile a function on its first call, and keep the result on disk."""
    return cast(F, numba.njit(cache=True, error_model="numpy")(function))


@compiled
def solid_angles(eyes: Floats, points: Floats, outlines: Ints) -> Floats:
    r"""Solid angles ``[N, M]`` of closed outlines ``[M, K]`` of points ``[P, 3]``, seen from eyes ``[N, 3]``.

    Positive for outlines that are clockwise for the eye. An outline is cut to triangles a, b, c of unit vectors from
    the eye, each with :math:`\tan(\omega / 2) = a \cdot (b \times c) / (1 + a \cdot b + b \cdot c + c \cdot a)`.
    Complex numbers of these angles are multiplied. The result is between :math:`-2\pi` and :math:`2\pi`.
    """
    result = np.empty((len(eyes), len(outlines)))
    seen = np.empty((len(points), 3))
    for i in range(len(eyes)):
        for k in range(len(points)):
            x, y, z = points[k, 0] - eyes[i, 0], points[k, 1] - eyes[i, 1], points[k, 2] - eyes[i, 2]
            scale = 1 / np.sqrt(x * x + y * y + z * z)
            seen[k, 0], seen[k, 1], seen[k, 2] = x * scale, y * scale, z * scale
        for j in range(len(outlines)):
            k = outlines[j, 0]
            ax, ay, az = seen[k, 0], seen[k, 1], seen[k, 2]
            k = outlines[j, 1]
            bx, by, bz = seen[k, 0], seen[k, 1], seen[k, 2]
            ab = ax * bx + ay * by + az * bz
            real, imaginary = 1.0, 0.0
            for corner in range(2, outlines.shape[1]):
                k = outlines[j, corner]
                cx, cy, cz = seen[k, 0], seen[k, 1], seen[k, 2]
                ac = ax * cx + ay * cy + az * cz
                bc = bx * cx + by * cy + bz * cz
                triple = ax * (by * cz - bz * cy) + ay * (bz * cx - bx * cz) + az * (bx * cy - by * cx)
                total = 1 + ab + ac + bc
                real, imaginary = real * total - imaginary * triple, real * triple + imaginary * total
                bx, by, bz, ab = cx, cy, cz, ac
            result[i, j] = 2 * np.arctan2(imaginary, real)
    return result


@dataclass(frozen=True)
class Flow:
    """The potential flows about a body, of unit streams along x, y and z.

    Args:
        body: The body.
        mesh: Its panels.
        potentials: Potentials of the three flows at the panels' middles in m, ``[M, 3]``.
    """

    body: Body
    mesh: Panels
    potentials: Floats

    def velocity(self, directions: Floats, stream: Floats) -> Floats:
        """Velocity on the surface ``[N, 3]`` in directions ``[N, 3]`` on the cube, in a stream ``[3]``.

        The potential at the nearest panels is fitted by a cubic polynomial of two :func:`~bodies_shape.angles`, with
        weights that fall to zero at the farthest; its gradient is turned to space by the tangents of the true surface.
        """
        unit = directions / np.linalg.norm(directions, axis=1, keepdims=True)
        middles = self.mesh.directions / np.linalg.norm(self.mesh.directions, axis=1, keepdims=True)
        distance, near = (np.asarray(found) for found in cKDTree(middles).query(unit, _NEIGHBORS + 1))
        reach, near = distance[:, -1:], near[:, :-1]
        place = frame(self.body, directions)
        axes = np.broadcast_to(place.axis[:, None], near.shape)
        offset = (angles(self.mesh.directions[near], axes) - angles(directions, place.axis)[:, None]) / reach[..., None]
        u, v = offset[..., 0], offset[..., 1]
        terms = np.stack([u**i * v**j for i in range(4) for j in range(4 - i)], axis=-1)
        weighted = np.swapaxes(terms * (1 - (distance[:, :-1] / reach) ** 2)[..., None], 1, 2)
        values = (self.potentials @ stream)[near][..., None]
        coefficients = np.linalg.solve(weighted @ terms, weighted @ values)[..., 0]
        slope = coefficients[:, [4, 1]] / reach  # of u and of v
        metric = place.tangents @ np.swapaxes(place.tangents, 1, 2)
        gradient = np.swapaxes(place.tangents, 1, 2) @ np.linalg.solve(metric, slope[..., None])
        return np.asarray(gradient[..., 0])

    def areas(self) -> Floats:
        """Areas of the panels times their outward normals in m^2, ``[M, 3]``: those of the true surface at the middles.

        Sums over them are integrals by the midpoint rule.
        """
        square = (np.pi / 2) ** 2 * 6 / len(self.mesh.quads)  # of the angle between panels
        return frame(self.body, self.mesh.directions).areas * square

    def added_mass(self) -> Floats:
        r"""Added mass over that of the displaced fluid, ``[3, 3]``.

        .. math::
            \frac{m_{ij}}{\rho V} = \frac{1}{V} \int (\Phi_i - x_i)\, n_j\, dS
        """
        areas, middles = self.areas(), self.body.position(self.mesh.directions)
        volume = (middles * areas).sum() / 3
        return np.asarray((self.potentials - middles).T @ areas / volume)


def solve(body: Body, count: int) -> Flow:
    """Solve the flows about a body.

    Args:
        body: The body.
        count: Panels along each side of the cube; there are 6 count^2.

    Raises:
        ValueError: If ``count`` is less than 8.

    Example:
        >>> flow = solve(Body((1.0, 1.0, 1.0)), 8)
        >>> flow.added_mass().diagonal().round(3).tolist()  # a half, for a sphere
        [0.5, 0.5, 0.5]
    """
    mesh = panels(body, count)
    middles = body.position(mesh.directions)
    matrix = solid_angles(middles, mesh.outline_points, mesh.outlines)
    matrix /= 4 * np.pi
    np.fill_diagonal(matrix, 0)
    np.fill_diagonal(matrix, 1 - matrix.sum(axis=1))
    return Flow(body, mesh, np.asarray(solve_dense(matrix, middles, overwrite_a=True)))
