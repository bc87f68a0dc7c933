"""Mesh files: the only package that imports meshio, and reads through PyVista and netCDF4.

What comes out of a file is native-endian, of the mesh's true dimension, and complete; what cannot be read rightly is
refused with one clear error.
"""

from pitgeo.mesh.fields import cell_fields, centroids, point_fields
from pitgeo.mesh.mesh import Mesh
from pitgeo.mesh.notes import Note, summary
from pitgeo.mesh.reading import from_meshio, read_mesh
from pitgeo.mesh.series import SERIES, Series, read_series, write_series
from pitgeo.mesh.vtk.grids import from_pyvista
from pitgeo.mesh.writing import WRITABLE, result_name, write_mesh

__all__ = [
    "SERIES",
    "WRITABLE",
    "Mesh",
    "Note",
    "Series",
    "cell_fields",
    "centroids",
    "from_meshio",
    "from_pyvista",
    "point_fields",
    "read_mesh",
    "read_series",
    "result_name",
    "summary",
    "write_mesh",
    "write_series",
]
