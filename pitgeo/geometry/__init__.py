"""Inputs computed from a mesh, for models that ask for more than positions: distances, normals, sizes of cells.

Also bodies from closed surfaces, and values along lines and on planes. All but coordinates need PyVista: ``pip install
pitgeo[vtk]``.
"""

from pitgeo.geometry.choice import candidates
from pitgeo.geometry.filled import fill_surface
from pitgeo.geometry.grid import grid_of
from pitgeo.geometry.probes import Probe, cut, probe, probe_line
from pitgeo.geometry.values import GEOMETRY, geometry_components, geometry_values, is_geometry

__all__ = [
    "GEOMETRY",
    "Probe",
    "candidates",
    "cut",
    "fill_surface",
    "geometry_components",
    "geometry_values",
    "grid_of",
    "is_geometry",
    "probe",
    "probe_line",
]
