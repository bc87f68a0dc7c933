"""Inputs computed from a mesh, for models that ask for more than positions: distances, normals, sizes of cells.

They need PyVista, except for coordinates: ``pip install pitgeo[vtk]``.
"""

from pitgeo.geometry.choice import candidates
from pitgeo.geometry.grid import grid_of
from pitgeo.geometry.values import GEOMETRY, geometry_components, geometry_values, is_geometry

__all__ = ["GEOMETRY", "candidates", "geometry_components", "geometry_values", "grid_of", "is_geometry"]
