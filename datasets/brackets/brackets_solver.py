r"""Linear elasticity on quadratic tetrahedra, solved by conjugate gradients with a coarse space of linear ones.

The integrals of products of derivatives of shape functions give the stiffness of an isotropic material:

.. math::
    K_{ai,bj} = \lambda D_{ai,bj} + \mu D_{aj,bi} + \mu \delta_{ij} \sum_k D_{ak,bk},
    \qquad D_{ai,bj} = \int \partial_i \varphi_a \, \partial_j \varphi_b \, dV

The preconditioner is a V-cycle of two levels: Chebyshev's iteration with the 3 x 3 blocks of the diagonal smooths, and
a sparse factorisation solves among displacements that are linear along every edge. The number of steps then does not
depend on the size of the elements.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import skfem
from brackets_solid import Floats, Ints, unique_keys
from numpy.typing import NDArray
from scipy.sparse import bsr_array, csr_array, eye_array, kron
from scipy.sparse.linalg import splu

from pitgeo.datasets.elastic import Elastic

TOLERANCE = 1e-9
"""Residual of the forces by the load, in the l2 norm, at which the iteration ends."""
_STEPS = 300
_DEGREE = 2
_LOWEST = 0.25  # the smoother acts on this share of the spectrum and above
_CHUNK = 2000
_CORNERS = np.array([(0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1)], np.float64)


class SolidSpace:
    """Quadratic displacements of a solid.

    Args:
        mesh: Quadratic tetrahedra.
    """

    def __init__(self, mesh: skfem.MeshTet2) -> None:
        self.mesh = mesh
        self.basis = skfem.Basis(mesh, skfem.ElementTetP2(), intorder=3)
        self.corners = int(mesh.t.max()) + 1

    @property
    def points(self) -> Floats:
        """Points ``[N, 3]``: corners, then middles of edges."""
        return np.asarray(self.mesh.doflocs.T)

    @property
    def cells(self) -> Ints:
        """Linear tetrahedra ``[T, 4]`` between the corners, of positive volume as VTK counts it."""
        cells = np.asarray(self.mesh.t.T, np.int64).copy()
        places = self.points[cells]
        wrong = np.linalg.det(places[:, 1:] - places[:, :1]) < 0
        cells[wrong] = cells[wrong][:, [0, 1, 3, 2]]
        return cells

    @property
    def volume(self) -> float:
        """The solid's volume."""
        return float(self.basis.dx.sum())

    def stiffness(self, material: Elastic) -> Any:
        """The stiffness matrix ``[3 N, 3 N]``, sparse."""
        dofs, points = np.asarray(self.basis.element_dofs.T, np.int64), self.basis.N
        rows, columns = np.repeat(dofs, 10, axis=1).ravel(), np.tile(dofs, (1, 10)).ravel()
        order = np.argsort(rows * points + columns, kind="stable")
        rows, columns = rows[order], columns[order]
        first = np.flatnonzero(np.diff(rows * points + columns, prepend=-1))
        blocks = np.add.reduceat(self._element_blocks(material).reshape(-1, 3, 3)[order], first, axis=0)
        starts = np.searchsorted(rows[first], np.arange(points + 1))
        return bsr_array((blocks, columns[first], starts), shape=(3 * points, 3 * points))

    def share(self, facets: Ints) -> Floats:
        """Integrals ``[N]`` of the shape functions over facets; times a traction they are forces on the points."""
        keys = unique_keys(self.mesh.edges.T)
        order = np.argsort(keys)
        corners = np.asarray(self.mesh.facets[:, facets].T, np.int64)
        edges = order[np.searchsorted(keys[order], unique_keys(corners[:, [(0, 1), (1, 2), (0, 2)]]))]
        nodes = np.concatenate([corners, self.corners + edges], axis=1)  # [F, 6]
        element = skfem.ElementTriP2()
        at, weight = skfem.quadrature.get_quadrature(element, 4)
        functions = [element.lbasis(at, number) for number in range(6)]
        value = np.stack([function[0] for function in functions])  # [6, Q]
        slope = np.stack([np.asarray(function[1]) for function in functions])  # [6, 2, Q]
        tangent = np.einsum("fnc,naq->afqc", self.points[nodes], slope)
        area = np.linalg.norm(np.cross(tangent[0], tangent[1]), axis=-1) * weight
        share: Floats = np.bincount(nodes.ravel(), (area @ value.T).ravel(), self.basis.N).astype(np.float64)
        return share

    def on(self, facets: Ints) -> NDArray[np.bool_]:
        """Which points ``[N]`` lie on facets."""
        found = np.zeros(self.basis.N, bool)
        found[self.basis.get_dofs(facets=facets).all()] = True
        return found

    def gradient(self, displacement: Floats) -> Floats:
        """Displacement gradient ``[C, 3, 3]`` at the corners, component first.

        The average of those of the elements that meet there, weighted by their volumes.
        """
        at = skfem.Basis(self.mesh, skfem.ElementTetP2(), quadrature=(_CORNERS, np.ones(4)))
        values = displacement[self.basis.element_dofs]  # [10, T, 3]
        slope = np.zeros((self.mesh.t.shape[1], 4, 3, 3))
        for value, function in zip(values, at.basis, strict=True):
            slope += value[:, None, :, None] * np.moveaxis(function[0].grad, 0, -1)[:, :, None, :]
        return self._averaged(slope)

    def _averaged(self, values: Floats) -> Floats:
        """From values ``[T, 4, ...]`` at the corners of the elements to averages at the points ``[C, ...]``."""
        weight = np.repeat(self.basis.dx.sum(axis=1), 4)
        corner = self.mesh.t.T.ravel()
        matrix = csr_array((weight, (corner, np.arange(len(corner)))), shape=(self.corners, len(corner)))
        sums = matrix @ values.reshape(len(corner), -1)
        average: Floats = (sums / np.bincount(corner, weight)[:, None]).reshape(-1, *values.shape[2:])
        return average

    def _element_blocks(self, material: Elastic) -> Floats:
        """Blocks ``[T, 10, 10, 3, 3]`` of the stiffness between the points of each element."""
        first, shear = material.lame
        tetrahedra = self.basis.dx.shape[0]
        slopes = np.stack(
            [np.broadcast_to(function[0].grad, (3, *self.basis.dx.shape)) for function in self.basis.basis]
        )
        slopes = slopes.transpose(2, 0, 1, 3).reshape(tetrahedra, 30, -1)
        weight = self.basis.dx[:, None]
        blocks = np.empty((tetrahedra, 10, 10, 3, 3))
        for start in range(0, tetrahedra, _CHUNK):
            part = slopes[start : start + _CHUNK]
            product = (
                (part * weight[start : start + _CHUNK] @ part.swapaxes(1, 2)).reshape(-1, 10, 3, 10, 3).swapaxes(2, 3)
            )
            out = blocks[start : start + _CHUNK]
            out[:] = first * product + shear * product.swapaxes(3, 4)
            trace = shear * np.trace(product, axis1=3, axis2=4)
            for axis in range(3):
                out[..., axis, axis] += trace
        return blocks


def equilibrium(
    space: SolidSpace, material: Elastic, load: Floats, held: NDArray[np.bool_], values: Floats | None = None
) -> tuple[Floats, Floats]:
    """Displacements, and the forces that hold the points there.

    Args:
        space: The displacements that are possible.
        material: The material.
        load: Forces on the points.
        held: Which points are held, in all three directions.
        values: Where they are held; zero by default. Others are ignored.

    Shapes:
        - **load**, **values** and both outputs ``[N, 3]``; **held** ``[N]``

    Raises:
        ArithmeticError: If the iteration does not converge, as where fewer than three points are held.
    """
    stiffness = space.stiffness(material)
    displacement = np.zeros((space.basis.N, 3))
    if values is not None:
        displacement[held] = values[held]
    free = np.flatnonzero(~held)
    number = (3 * free[:, None] + np.arange(3)).ravel()
    residual = load.ravel() - stiffness @ displacement.ravel()
    matrix = bsr_array(stiffness.tocsr()[number][:, number], blocksize=(3, 3))
    cycle = _two_levels(matrix, _linear_to_quadratic(space, free))
    displacement[free] += _conjugate_gradients(matrix, residual[number], cycle).reshape(-1, 3)
    reaction = (stiffness @ displacement.ravel()).reshape(-1, 3) - load
    return displacement, np.where(held[:, None], reaction, 0.0)


def _linear_to_quadratic(space: SolidSpace, free: Ints) -> Any:
    """Displacements of the free points, from those of the free corners: middles of edges take the average."""
    corners, points = space.corners, space.basis.N
    middles = np.arange(corners, points)
    row = np.concatenate([np.arange(corners), np.repeat(middles, 2)])
    column = np.concatenate([np.arange(corners), space.mesh.edges.T.ravel()])
    weight = np.concatenate([np.ones(corners), np.full(2 * len(middles), 0.5)])
    matrix = csr_array((weight, (row, column)), shape=(points, corners))
    return kron(matrix[free][:, free[free < corners]], eye_array(3), "csr")


def _two_levels(matrix: Any, extend: Any) -> Callable[[Floats], Floats]:
    """A symmetric approximate inverse of a matrix."""
    coarse = (extend.T @ (matrix.tocsr() @ extend)).tocsc()
    try:
        factor = splu(coarse, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    except RuntimeError as error:
        raise ArithmeticError("The stiffness matrix is singular; hold more points") from error
    rows = np.repeat(np.arange(len(matrix.indptr) - 1), np.diff(matrix.indptr))
    inverse = np.linalg.inv(matrix.data[rows == matrix.indices])
    restrict = extend.T.tocsr()

    def blocks(force: Floats) -> Floats:
        return np.asarray((inverse @ force.reshape(-1, 3, 1)).ravel())

    highest = _largest_eigenvalue(matrix, blocks)
    middle, half = highest * (1 + _LOWEST) / 2, highest * (1 - _LOWEST) / 2

    def smooth(force: Floats) -> Floats:
        step = blocks(force) / middle
        found: Floats = step.copy()
        ratio = half / middle
        for _ in range(_DEGREE - 1):
            force = force - matrix @ step
            following = 1 / (2 * middle / half - ratio)
            step = following * ratio * step + 2 * following / half * blocks(force)
            found += step
            ratio = following
        return found

    def cycle(force: Floats) -> Floats:
        found = smooth(force)
        found = found + extend @ factor.solve(restrict @ (force - matrix @ found))
        return np.asarray(found + smooth(force - matrix @ found))

    return cycle


def _largest_eigenvalue(matrix: Any, blocks: Callable[[Floats], Floats]) -> float:
    """A bound, in practice, for the largest eigenvalue of the product, by the power method."""
    vector = np.random.default_rng(0).normal(size=matrix.shape[0])
    for _ in range(15):
        vector = blocks(matrix @ (vector / np.linalg.norm(vector)))
    return 1.1 * float(np.linalg.norm(vector))


def _conjugate_gradients(matrix: Any, load: Floats, cycle: Callable[[Floats], Floats]) -> Floats:
    found, residual = np.zeros_like(load), load.copy()
    target = TOLERANCE * float(np.linalg.norm(load))
    direction, product = np.zeros_like(load), 1.0
    for _ in range(_STEPS):
        if np.linalg.norm(residual) <= target and np.linalg.norm(load - matrix @ found) <= 2 * target:
            return found
        corrected = cycle(residual)
        last, product = product, float(residual @ corrected)
        direction = corrected + product / last * direction
        image = matrix @ direction
        length = product / float(direction @ image)
        found += length * direction
        residual -= length * image
    raise ArithmeticError(f"No equilibrium was found in {_STEPS} steps; hold more points")
