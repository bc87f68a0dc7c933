"""Plane cuts through bodies that show what lies below a place on their surface."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pitgeo.data.fields.mesh_field import AXES
from pitgeo.geometry.probes import cut
from pitgeo.integrals import measure
from pitgeo.mesh import Mesh

INSIDE = 0.1
"""A plane at a place on the surface lies inside by this part of the way to the middle of a cell there."""


def section(mesh: Mesh, at: NDArray[np.float64]) -> tuple[str, NDArray[np.float64], Mesh]:
    """The cut at a place, normal to the axis for which its area is largest.

    The plane lies a little inside of the cell at the place, so that it meets the mesh where the place is on a face.

    Args:
        mesh: Bodies.
        at: The place ``[3]``: a point of the mesh, or inside.

    Returns:
        Where the plane is, ``"z = 0.5"``; the place, moved onto it; and the cut.

    Raises:
        ImportError: If PyVista is missing.
    """
    inner = _inside(mesh, at)
    cuts = [cut(mesh, inner, np.eye(3)[axis]) for axis in range(3)]
    axis = int(np.argmax([measure(own) for own in cuts]))
    place = at.copy()
    place[axis] = inner[axis]
    return f"{AXES[axis]} = {place[axis]:.4g}", place, cuts[axis]


def _inside(mesh: Mesh, at: NDArray[np.float64]) -> NDArray[np.float64]:
    """A place in the cell at a point of the mesh; elsewhere, the middle of the nearest cell."""
    centers = np.concatenate([mesh.points[nodes].mean(1) for _, nodes in mesh.cells])
    meets = np.concatenate([(mesh.points[nodes] == at).all(2).any(1) for _, nodes in mesh.cells])
    chosen = centers[meets] if meets.any() else centers
    center = chosen[np.linalg.norm(chosen - at, axis=1).argmin()]
    inner: NDArray[np.float64] = at + INSIDE * (center - at) if meets.any() else center
    return inner
