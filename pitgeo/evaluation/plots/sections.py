"""Plane cuts through bodies that show what lies below a place on their surface."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pitgeo.data.fields.mesh_field import AXES
from pitgeo.geometry.probes import cut
from pitgeo.integrals import measure
from pitgeo.mesh import Mesh

ENDS = 0.02
"""A plane is not laid through a place closer than this part of the extent to an end, where it would touch a face."""


def section(mesh: Mesh, at: NDArray[np.float64]) -> tuple[str, NDArray[np.float64], Mesh]:
    """The cut at a place, normal to the axis for which its area is largest.

    Where the place is at an end of the mesh along the axis, the plane lies a little inside.

    Args:
        mesh: Bodies.
        at: The place ``[3]``.

    Returns:
        Where the plane is, ``"z = 0.5"``; the place, moved onto it; and the cut.

    Raises:
        ImportError: If PyVista is missing.
        ValueError: If no such plane meets the mesh.
    """
    used = mesh.points[np.unique(np.concatenate([nodes.ravel() for _, nodes in mesh.cells]))]
    low, high = used.min(0), used.max(0)
    inner = np.clip(at, low + ENDS * (high - low), high - ENDS * (high - low))
    found: list[tuple[float, int, Mesh]] = []
    for axis in range(3):
        try:
            own = cut(mesh, inner, np.eye(3)[axis])
        except ValueError:  # between two bodies
            continue
        found.append((measure(own), axis, own))
    if not found:
        raise ValueError(f"{mesh.where}Expected a plane through {at.tolist()} that meets the mesh (got none)")
    _, axis, best = max(found, key=lambda entry: entry[0])
    place = at.copy()
    place[axis] = inner[axis]
    return f"{AXES[axis]} = {place[axis]:.4g}", place, best
