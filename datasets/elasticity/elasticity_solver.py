"""Finite-strain equilibrium of an incompressible Rivlin-Saunders sheet in plane stress, by Newton's method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from elasticity_mesh import (
    GAUSS_1D,
    GAUSS_POINTS,
    GAUSS_WEIGHTS,
    WEIGHTS_1D,
    Floats,
    Ints,
    shape_functions,
)
from scipy.sparse import coo_array
from scipy.sparse.linalg import splu

_MAX_STEPS = 12
_TOLERANCE = 1e-11


@dataclass(frozen=True)
class RivlinSaunders:
    r"""Plane-stress law of the energy :math:`W = C_1 (I_1 - 3) + C_2 (I_2 - 3)` with :math:`\det C = 1`.

    .. math::
        S = 2 C_1 I + 2 C_2 (I_1 I - C) + p C^{-1}, \qquad C_{33} = 1 / \det C_{2D}, \quad S_{33} = 0

    With the pressure :math:`p` eliminated and :math:`D = \det C_{2D}`, :math:`T = \operatorname{tr} C_{2D}`:

    .. math::
        S = 2 \left(C_1 + \frac{C_2}{D}\right) I + 2 \left(C_2 D - \frac{C_1 + C_2 T}{D}\right) C^{-1}

    which is evaluated from the strain in a form without cancellation at small strains.

    Args:
        c1: First constant.
        c2: Second constant.
    """

    c1: float = 1.863e5
    c2: float = 9.79e3

    def response(self, strain: Floats) -> tuple[Floats, Floats]:
        """Second Piola-Kirchhoff stress and its derivative by the Green strain.

        Shapes:
            - **strain** ``[..., 2, 2]``
            - **output** ``[..., 3]`` components 11, 22, 12, and ``[..., 3, 3]`` by components 11, 22 and 2 x 12
        """
        e11, e22, e12 = strain[..., 0, 0], strain[..., 1, 1], strain[..., 0, 1]
        trace = 2 * (e11 + e22)  # T - 2
        product = 4 * (e11 * e22 - e12**2)
        growth = trace + product  # D - 1
        det = 1 + growth
        inverse = np.stack([1 + 2 * e22, 1 + 2 * e11, -2 * e12], axis=-1) / det[..., None]
        deviation = -np.stack([2 * e11 + product, 2 * e22 + product, 2 * e12], axis=-1) / det[..., None]  # C^-1 - I
        identity = np.array([1.0, 1.0, 0.0])

        beta = self.c2 * det - (self.c1 + self.c2 * (2 + trace)) / det
        both = (self.c1 * growth + self.c2 * (growth * (2 + growth) - trace)) / det  # alpha + beta
        stress = 2 * (both[..., None] * identity + beta[..., None] * deviation)

        i11, i22, i12 = np.moveaxis(inverse, -1, 0)
        square = np.stack(
            [i11**2, i12**2, i11 * i12, i12**2, i22**2, i12 * i22, i11 * i12, i12 * i22, (i11 * i22 + i12**2) / 2],
            axis=-1,
        ).reshape(*i11.shape, 3, 3)
        mixed = identity[:, None] * inverse[..., None, :]
        kappa = (self.c1 + self.c2 * (2 + trace)) / det + self.c2 * det
        tangent = 4 * (
            kappa[..., None, None] * inverse[..., :, None] * inverse[..., None, :]
            - (self.c2 / det)[..., None, None] * (mixed + np.swapaxes(mixed, -1, -2))
            - beta[..., None, None] * square
        )
        return stress, tangent


class Gradients(NamedTuple):
    """Shape function gradients ``[E, Q, 9, 2]`` and volumes ``[E, Q]`` at the points of each element."""

    shape: Floats
    jacobian: Floats


def element_gradients(nodes: Floats, elements: Ints, points: Floats = GAUSS_POINTS) -> Gradients:
    """Gradients by the coordinates, and Jacobian determinants, at reference points of each element.

    Raises:
        ValueError: If an element is inverted at one of the points.
    """
    _, local = shape_functions(points)
    coordinates = nodes[elements]
    jacobian = np.einsum("eai,qaj->eqij", coordinates, local)
    a, b, c, d = jacobian[..., 0, 0], jacobian[..., 0, 1], jacobian[..., 1, 0], jacobian[..., 1, 1]
    det = a * d - b * c
    if not (det > 0).all():
        raise ValueError(f"Expected no inverted element (got {int((~(det > 0)).any(axis=1).sum())}); change the shape")
    inverse = np.stack([d, -b, -c, a], axis=-1).reshape(*det.shape, 2, 2) / det[..., None, None]
    return Gradients(local @ inverse, det)


def forces(
    displacement: Floats, elements: Ints, gradients: Gradients, material: RivlinSaunders
) -> tuple[Floats, Floats]:
    """Element forces and stiffnesses of the Gauss points, at a displacement ``[N, 2]``.

    Shapes:
        - **output** ``[E, 18]`` and ``[E, 18, 18]``; components of a node are neighbours
    """
    shape = gradients.shape
    weights = gradients.jacobian * GAUSS_WEIGHTS
    deformation, strain = _kinematics(displacement, elements, shape)
    stress, tangent = material.response(strain)
    count, points = weights.shape
    # d strain / d displacement, engineering shear: [E, Q, 9, 2, 3]
    outer = deformation[:, :, None, :, :, None] * shape[:, :, :, None, None, :]
    rate = np.stack([outer[..., 0, 0], outer[..., 1, 1], outer[..., 0, 1] + outer[..., 1, 0]], axis=-1)
    rate = rate.reshape(count, points, 18, 3)
    force = np.einsum("eqmv,eqv->em", rate, stress * weights[..., None])
    weighted = rate @ (tangent * weights[..., None, None])
    left = weighted.transpose(0, 2, 1, 3).reshape(count, 18, 3 * points)
    right = rate.transpose(0, 1, 3, 2).reshape(count, 3 * points, 18)
    stiffness = left @ right
    full = stress[..., [0, 2, 2, 1]].reshape(count, points, 2, 2) * weights[..., None, None]
    geometric = np.einsum("eqaj,eqbj->eab", shape @ full, shape, optimize=True)
    stiffness[:, 0::2, 0::2] += geometric
    stiffness[:, 1::2, 1::2] += geometric
    return force, stiffness


def equilibrium(
    nodes: Floats,
    elements: Ints,
    load: Floats,
    fixed: Ints,
    values: Floats | float = 0.0,
    material: RivlinSaunders | None = None,
) -> tuple[Floats, Floats]:
    """Displacement and reactions of a sheet, by Newton's method from rest.

    Args:
        nodes: Nodes at rest.
        elements: Nine nodes of each element.
        load: Dead forces on the nodes.
        fixed: Nodes that are held.
        values: Their displacement.
        material: The law; by default that of the benchmark.

    Shapes:
        - **nodes**, **load** ``[N, 2]``; **elements** ``[E, 9]``; **fixed** ``[K]``; **values** ``[K, 2]``
        - **output** ``[N, 2]``, and ``[K, 2]`` in the order of **fixed**

    Raises:
        ValueError: If an element is inverted.
        ArithmeticError: If Newton's method does not converge.
    """
    material = material or RivlinSaunders()
    gradients = element_gradients(nodes, elements)
    dofs = (2 * elements[..., None] + np.arange(2)).reshape(len(elements), 18)
    free = np.ones(len(nodes), dtype=bool)
    free[fixed] = False
    free = np.repeat(free, 2)
    number = np.where(free, np.cumsum(free) - 1, -1)[dofs]
    rows, columns = np.broadcast_arrays(number[:, :, None], number[:, None, :])
    kept = (rows >= 0) & (columns >= 0)
    indices = (rows[kept], columns[kept])
    size = int(free.sum())

    displacement = np.zeros_like(nodes)
    pull = np.zeros_like(nodes)
    pull[fixed] = values
    for step in range(_MAX_STEPS):
        element_force, stiffness = forces(displacement, elements, gradients, material)
        internal = np.bincount(dofs.ravel(), element_force.ravel(), minlength=nodes.size)
        residual = (load.ravel() - internal)[free]
        scale = max(np.abs(internal).max(), np.abs(load).max())
        if (step or not pull.any()) and np.abs(residual).max() <= _TOLERANCE * scale:
            reaction = (internal - load.ravel()).reshape(-1, 2)[fixed]
            return displacement, reaction
        if not np.isfinite(residual).all():
            break
        if step == 0 and pull.any():  # the held nodes move in the first step
            moved = np.einsum("emn,en->em", stiffness, pull.ravel()[dofs])
            residual -= np.bincount(dofs.ravel(), moved.ravel(), minlength=nodes.size)[free]
            displacement += pull
        matrix = coo_array((stiffness[kept], indices), shape=(size, size)).tocsc()
        factor = splu(matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
        displacement.reshape(-1)[free] += factor.solve(residual)
    raise ArithmeticError(f"Newton's method did not converge in {_MAX_STEPS} steps")


def edge_load(nodes: Floats, edges: Ints, traction: tuple[float, float]) -> Floats:
    """Nodal forces ``[N, 2]`` of a constant traction, by length at rest, on three-node edges ``[K, 3]``."""
    point, weight = GAUSS_1D, WEIGHTS_1D
    value = np.stack([point * (point - 1) / 2, 1 - point**2, point * (point + 1) / 2], axis=-1)
    slope = np.stack([point - 0.5, -2 * point, point + 0.5], axis=-1)
    length = np.linalg.norm(np.einsum("qa,kai->kqi", slope, nodes[edges]), axis=-1)
    share = np.einsum("kq,qa->ka", length * weight, value)
    load = np.zeros_like(nodes)
    np.add.at(load, edges, share[..., None] * np.asarray(traction))
    return load


def cauchy_stress(
    nodes: Floats,
    elements: Ints,
    displacement: Floats,
    points: Floats = GAUSS_POINTS,
    material: RivlinSaunders | None = None,
) -> Floats:
    """True stress ``[E, Q, 2, 2]`` at reference points of each element: F S F^T, since the volume is kept."""
    shape = element_gradients(nodes, elements, points).shape
    deformation, strain = _kinematics(displacement, elements, shape)
    stress, _ = (material or RivlinSaunders()).response(strain)
    full = stress[..., [0, 2, 2, 1]].reshape(strain.shape)
    return deformation @ full @ np.swapaxes(deformation, -1, -2)


def von_mises(stress: Floats) -> Floats:
    """Von Mises stress in plane stress: ``[..., 2, 2]`` to ``[...]``."""
    s11, s22, s12 = stress[..., 0, 0], stress[..., 1, 1], stress[..., 0, 1]
    return np.asarray(np.sqrt(s11**2 - s11 * s22 + s22**2 + 3 * s12**2))


def _kinematics(displacement: Floats, elements: Ints, shape: Floats) -> tuple[Floats, Floats]:
    slope = np.swapaxes(displacement[elements], -1, -2)[:, None] @ shape
    turned = np.swapaxes(slope, -1, -2)
    return np.eye(2) + slope, (slope + turned + turned @ slope) / 2
