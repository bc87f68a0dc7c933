r"""Linear elasticity of an extruded plate, with quadratic elements through the plane and through the thickness.

A shape function is the product of one of the plane and one of the thickness, so every integral over the solid is a
product of two, which scikit-fem assembles on the quadratic triangles of the plane and the quadratic lines of the
thickness:

.. math::
    \int \partial_i \varphi_a \psi_p \, \partial_j \varphi_b \psi_q \, dV
        = \int \partial_i \varphi_a \partial_j \varphi_b \, dA \int \psi_p \psi_q \, dz, \qquad \dots

The result is that of wedges with 18 points each, which bend without locking. Unknowns are numbered by point, see
:mod:`plates_mesh`, three displacements each.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import skfem
from numpy.typing import NDArray
from plates_mesh import Floats, Ints
from scipy.sparse import csr_array, kron
from scipy.sparse.linalg import splu

from pitgeo.datasets.elastic import Elastic

_TOLERANCE = 1e-6
_CORNERS_AND_MIDDLES = np.array([(0, 1, 0, 0.5, 0.5, 0), (0, 0, 1, 0, 0.5, 0.5)])


class PlateSpace:
    """Quadratic displacements of an extruded plate.

    Args:
        mesh: Quadratic triangles of the plane.
        thickness: Thickness; the plate lies between z = 0 and this.
        layers: Elements through the thickness.
    """

    def __init__(self, mesh: skfem.MeshTri2, thickness: float, layers: int) -> None:
        self.mesh = mesh
        self.plane = skfem.Basis(mesh, skfem.ElementTriP2(), intorder=4)
        line = skfem.MeshLine(np.linspace(0, thickness, layers + 1))
        self.line = skfem.Basis(line, skfem.ElementLineP2(), intorder=4)
        self.order = np.argsort(self.line.doflocs[0])
        self.planes = len(self.order)

    @property
    def plane_points(self) -> Floats:
        """Points ``[K, 2]`` of the plane."""
        return np.asarray(self.plane.doflocs.T)

    @property
    def triangles(self) -> Ints:
        """Point numbers ``[E, 6]`` of the quadratic triangles: corners, then middles of edges 01, 12 and 02."""
        return np.asarray(self.plane.element_dofs.T, np.int64)

    @property
    def height(self) -> Floats:
        """Heights ``[P]`` of the points, upwards."""
        return np.asarray(self.line.doflocs[0][self.order])

    def stiffness(self, material: Elastic) -> Any:
        """The stiffness matrix ``[3 N, 3 N]``, sparse."""
        plane = [[_plane_integral(i, j).assemble(self.plane) for j in range(3)] for i in range(3)]
        line = [[self._through(_line_integral(i, j).assemble(self.line)) for j in (0, 1)] for i in (0, 1)]
        product = [[kron(plane[i][j], line[i == 2][j == 2], "csr") for j in range(3)] for i in range(3)]
        first, shear = material.lame
        total = shear * (product[0][0] + product[1][1] + product[2][2])
        size = 3 * total.shape[0]
        matrix = csr_array((size, size))
        for i in range(3):
            for j in range(3):
                # virtual displacement i, displacement j
                block = first * product[i][j] + shear * product[j][i] + (total if i == j else 0 * total)
                place = csr_array(([1.0], ([i], [j])), shape=(3, 3))
                matrix = matrix + kron(block, place, "csr")
        return matrix

    def end_load(self, x: float, traction: Floats) -> Floats:
        """Forces ``[N, 3]`` on the points of a traction, uniform over the end face at ``x``."""
        facets = self.mesh.facets_satisfying(lambda at: np.isclose(at[0], x), boundaries_only=True)
        side = _integral.assemble(skfem.FacetBasis(self.mesh, skfem.ElementTriP2(), facets=facets, intorder=4))
        share = np.multiply.outer(side, _integral.assemble(self.line)[self.order]).ravel()
        load: Floats = np.multiply.outer(share, np.asarray(traction, np.float64))
        return load

    def gradient(self, displacement: Floats) -> Floats:
        """Displacement gradient ``[N, 3, 3]`` at the points, component first, averaged over the elements that meet.

        In the plane the average is weighted by the elements' areas, through the thickness plain.
        """
        weights = np.ones(6)
        corners = skfem.Basis(self.mesh, skfem.ElementTriP2(), quadrature=(_CORNERS_AND_MIDDLES, weights))
        area = self.plane.dx.sum(axis=1)
        dofs = self.plane.element_dofs  # [6, E]
        total = np.bincount(dofs.ravel(), np.tile(area, 6))
        points, planes = len(total), self.planes
        field = displacement.reshape(points, planes * 3)
        slopes = np.empty((points, planes, 3, 3))
        rows = np.broadcast_to(dofs.T[None], (6, *dofs.T.shape))  # [function, E, point]
        columns = np.broadcast_to(dofs[:, :, None], rows.shape)
        shape = np.stack([np.broadcast_to(function[0].grad, (2, *dofs.T.shape)) for function in corners.basis], axis=1)
        for axis in range(2):
            values = shape[axis] * area[None, :, None] / total[rows]
            average = csr_array((values.ravel(), (rows.ravel(), columns.ravel())), shape=(points, points))
            slopes[..., axis] = (average @ field).reshape(points, planes, 3)
        slopes[..., 2] = np.einsum("pq,kqc->kpc", self._line_slopes(), displacement.reshape(points, planes, 3))
        return slopes.reshape(-1, 3, 3)

    def _through(self, matrix: Any) -> Any:
        return csr_array(matrix.toarray()[np.ix_(self.order, self.order)])

    def _line_slopes(self) -> Floats:
        """From values at the heights to derivatives there, ``[P, P]``."""
        height = self.height
        slopes, uses = np.zeros((self.planes, self.planes)), np.zeros((self.planes, 1))
        for start in range(0, self.planes - 1, 2):
            step = height[start + 1] - height[start]
            part = slice(start, start + 3)
            slopes[part, part] += np.array([(-1.5, 2, -0.5), (-0.5, 0, 0.5), (0.5, -2, 1.5)]) / step
            uses[part] += 1
        return slopes / uses


def equilibrium(
    stiffness: Any, load: Floats, held: NDArray[np.bool_], values: Floats | None = None
) -> tuple[Floats, Floats]:
    """Displacements, and the forces that hold the points there.

    Args:
        stiffness: The matrix of a :class:`PlateSpace`.
        load: Forces on the points.
        held: Which displacements are prescribed.
        values: The prescribed ones; zero by default. Others are ignored.

    Shapes:
        - **load**, **held**, **values** and both outputs ``[N, 3]``

    Raises:
        ArithmeticError: If what is held leaves the plate free to move.
    """
    free = np.flatnonzero(~held.ravel())
    displacement = np.zeros(load.size)
    if values is not None:
        displacement[held.ravel()] = values[held]
    residual = load.ravel() - stiffness @ displacement
    matrix = stiffness[free][:, free].tocsc()
    try:
        factor = splu(matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
        displacement[free] += factor.solve(residual[free])
    except RuntimeError as error:
        raise ArithmeticError("The stiffness matrix is singular; hold more points") from error
    force = stiffness @ displacement
    reaction = force - load.ravel()
    scale = max(np.abs(load).max(), np.abs(force).max())
    if not np.abs(reaction[free]).max(initial=0.0) <= _TOLERANCE * scale:
        raise ArithmeticError("The stiffness matrix is singular, or nearly so; hold more points")
    return displacement.reshape(-1, 3), np.where(held, reaction.reshape(-1, 3), 0.0)


def _plane_integral(i: int, j: int) -> Any:
    """Derivative ``i`` of the test function times derivative ``j`` of the other; 2, across the plane, is none."""

    def form(u: Any, v: Any, w: Any) -> Any:
        return (v if i == 2 else v.grad[i]) * (u if j == 2 else u.grad[j])

    return skfem.BilinearForm(form)


def _line_integral(i: int, j: int) -> Any:
    """The test function, or its derivative, times the other, or its derivative."""

    def form(u: Any, v: Any, w: Any) -> Any:
        return (v.grad[0] if i else v) * (u.grad[0] if j else u)

    return skfem.BilinearForm(form)


def _sum(v: Any, w: Any) -> Any:
    return 1.0 * v


_integral = skfem.LinearForm(_sum)
