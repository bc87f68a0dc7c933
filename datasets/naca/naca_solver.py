"""Steady transonic flow by Newton's method, its linear systems by preconditioned GMRES."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, cast

import numpy as np
from naca_flux import GAMMA, jacobian, residual, speeds
from naca_linear import factorise, gmres, norm, substitute
from naca_mesh import Floats
from naca_volumes import DualMesh, dual_mesh

MACH = 0.8
_MAX_CFL = 1e3
_MAX_CHANGE = 0.3
_DIFFERENCE = 1.5e-8
"""Step of a difference, relative to the state: the root of the rounding error."""


class Linear(NamedTuple):
    """How far the linear system of a step is solved.

    Args:
        tolerance: Stop when its residual is this part of the first one.
        products: Stop after as many products.
    """

    tolerance: float
    products: int


LOOSE, TIGHT = Linear(0.1, 40), Linear(0.01, 80)
"""Loose is faster for most shapes; tight gets there for others, too, whose shocks are strong."""


class Flow(NamedTuple):
    """A converged flow.

    Args:
        state: Density, velocities and pressure at the nodes, ``[11220, 4]``.
        residuals: Norm of the residual at the beginning and after every step, over that of the free stream.
        products: Products with the Jacobian, over all steps.
    """

    state: Floats
    residuals: list[float]
    products: int


def free_stream(mach: float = MACH) -> Floats:
    """Density, velocities and pressure far away, ``[4]``: no angle of attack."""
    return np.array([1.0, mach * np.sqrt(GAMMA), 0.0, 1.0])


@dataclass(frozen=True, eq=False)
class Euler:
    r"""The discrete Euler equations round one airfoil.

    Node-centred finite volumes. States at the face from node a to node b are reconstructed along the grid line, in
    primitive variables, from the differences :math:`D = V_b - V_a` and :math:`D_- = V_a - V_{a-1}`:

    .. math::
        V_L = V_a + \tfrac12 \operatorname{minmod}\left(D, \tfrac13 (D + 2 D_-)\right)

    Roe's flux with Harten's fix of the acoustic waves; on the wall the pressure alone; outside, Roe's flux against the
    free stream.

    Args:
        mesh: Dual volumes.
        stream: The free stream, ``[4]``.
    """

    mesh: DualMesh
    stream: Floats = field(default_factory=free_stream)

    def residual(self, state: Floats, second_order: bool = True) -> Floats:
        """Flux out of every volume, ``[N, 4]``."""
        pattern, mesh = self.mesh.pattern, self.mesh
        out = np.empty_like(state)
        residual(
            state,
            self.stream,
            pattern.edges,
            pattern.before,
            pattern.after,
            mesh.face,
            mesh.wall,
            mesh.far,
            second_order,
            out,
        )
        return out

    def product(self, state: Floats, value: Floats, change: Floats) -> Floats:
        """Change of the residual with a small change of the primitive variables, by differences."""
        size = norm(change)
        if size == 0:
            return np.zeros_like(value)
        step = _DIFFERENCE * (1 + norm(state)) / size
        return (self.residual(state + step * change) - value) / step

    def factors(self, state: Floats, damping: Floats) -> Floats:
        """Incomplete factors of the first-order Jacobian by the conservative variables, plus ``damping [N]``."""
        pattern, mesh = self.mesh.pattern, self.mesh
        blocks = np.empty((len(pattern.column), 4, 4))
        jacobian(
            state,
            self.stream,
            pattern.edges,
            mesh.face,
            mesh.wall,
            mesh.far,
            pattern.diagonal,
            pattern.upper,
            pattern.lower,
            damping,
            blocks,
        )
        factorise(pattern.start, pattern.column, pattern.diagonal, blocks)
        return blocks

    def speeds(self, state: Floats) -> Floats:
        """Sum over each volume's faces of their size times the greatest wave speed, ``[N]``."""
        out = np.empty(len(state))
        speeds(state, self.mesh.pattern.edges, self.mesh.face, self.mesh.wall, self.mesh.far, out)
        return out


def steady(
    points: Floats,
    tolerance: float = 1e-4,
    max_steps: int = 80,
    start: Floats | None = None,
    cfl: float = 20.0,
    linear: Linear = LOOSE,
) -> Flow:
    """Solve for the steady flow round an airfoil.

    Args:
        points: C-grid ``[221, 51, 2]``, see :func:`naca_mesh.grid`, or every second of its lines.
        tolerance: Stop when the norm of the residual is this part of the free stream's, whatever the start.
        max_steps: Give up after as many steps.
        start: Primitive variables at the nodes to start from, ``[11220, 4]``; ``None`` for the free stream.
        cfl: Courant number of the first step.
        linear: How far linear systems are solved.

    Raises:
        ValueError: If ``start`` does not have a row a node.
        ArithmeticError: If it does not converge.
    """
    euler = Euler(dual_mesh(points))
    pattern = euler.mesh.pattern
    free = np.tile(euler.stream, (len(pattern.diagonal), 1))
    state = free if start is None else start
    if state.shape != free.shape:
        raise ValueError(f"Expected 'start' to have shape {free.shape} (got {state.shape})")
    reference = norm(euler.residual(free))
    value = euler.residual(state)
    norms, products = [norm(value) / reference], 0
    while not norms[-1] <= tolerance:
        if len(norms) > max_steps or not np.isfinite(norms[-1]):
            raise ArithmeticError(
                f"Expected the residual to fall to {tolerance:g} of the free stream's in {max_steps} steps "
                f"(got {norms[-1]:.3g} after {len(norms) - 1})"
            )
        damping = euler.speeds(state) / cfl
        blocks = euler.factors(state, damping)

        def precondition(vector: Floats, blocks: Floats = blocks) -> Floats:
            result = vector.copy()
            substitute(pattern.start, pattern.column, pattern.diagonal, blocks, result)
            return result

        def apply(vector: Floats, state: Floats = state, value: Floats = value, damping: Floats = damping) -> Floats:
            change = precondition(vector)
            return damping[:, None] * change + euler.product(state, value, _primitive(state, change))

        solution, count = gmres(apply, -value, linear.tolerance, linear.products)
        change = _primitive(state, precondition(solution))
        most = float(np.abs(change[:, [0, 3]] / state[:, [0, 3]]).max())
        factor = min(1.0, _MAX_CHANGE / most) if most > 0 else 1.0
        state = state + factor * change
        value = euler.residual(state)
        norms.append(norm(value) / reference)
        products += count
        if factor <= 0.2:
            cfl *= 0.6
        elif factor > 0.6:
            cfl = min(_MAX_CFL, cfl * float(np.clip(norms[-2] / norms[-1], 1.1, 2)))
    return Flow(state, norms, products)


def forces(points: Floats, state: Floats, mach: float = MACH) -> Floats:
    """Coefficients of drag and lift from the pressure on the wall, ``[2]``; a chord of 1."""
    wall = dual_mesh(points).wall
    total: Floats = (state[:, 3, None] - 1).T @ wall / (GAMMA * mach**2 / 2)
    return cast(Floats, total[0])


def _primitive(state: Floats, change: Floats) -> Floats:
    """Changes of the primitive variables from small ones of the conservative variables, ``[N, 4]``."""
    density, u, v, _ = state.T
    du, dv = (change[:, 1] - u * change[:, 0]) / density, (change[:, 2] - v * change[:, 0]) / density
    pressure = (u * u + v * v) / 2 * change[:, 0] - u * change[:, 1] - v * change[:, 2] + change[:, 3]
    return np.stack([change[:, 0], du, dv, (GAMMA - 1) * pressure], 1)
