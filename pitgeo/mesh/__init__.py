"""Mesh files and meshes with fields: the only package that imports meshio, and reads through PyVista and netCDF4.

A mesh from a file is native-endian, of its true dimension, and complete. A file that cannot be read without error is
refused with one clear message. :mod:`pitgeo.mesh.reading` describes the way from a file to a mesh.

To add a format:

1. Write its reader, ``read_<name>(path: Path) -> Raw``, in ``pitgeo/mesh/<name>.py``, or in a folder if it is long.
2. Map its names of cells to those of :mod:`pitgeo.mesh.cell_types` there, and its order of nodes to that of meshio.
3. Enter its endings in :mod:`pitgeo.mesh.formats`, and its reader in ``OWN`` of :mod:`pitgeo.mesh.reading`.
4. Enter a file of every kind of cell in the zoo, ``tests/mesh/test_zoo.py``, and damaged ones in a test of their own.
5. Name the format in README.md and docs/meshes.md, which a test compares with the table, and in CHANGELOG.md.
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
