"""Mesh files and meshes with fields: the only package that imports meshio, and reads through PyVista and netCDF4.

A mesh from a file is native-endian, of its true dimension, and complete. A file that cannot be read without error is
refused with one clear message. :mod:`pitgeo.mesh.reading` describes the way from a file to a mesh.

To add a format:

1. Enter its name, readers and endings in the table of ``formats.py``. If meshio or VTK reads it correctly, go on with
   step 5; what meshio would skip silently is checked in ``overlooked.py``, and endings that PyVista does not know are
   in ``vtk/reader.py``.
2. Write its reader, ``read_<name>(path: Path) -> Raw``, in ``<name>.py`` as ``su2.py`` is, or in a folder if it is
   long. It raises a ``ValueError`` for what it does not read correctly; a message that begins with "Expected" is passed
   on as it is, others get the file's name before them. Zones, parts or pieces are put together by ``pieces.join``.
3. Map its cell types to those of ``cell_types.py`` there, and its order of nodes to that of meshio.
4. Enter the reader in ``OWN`` of ``reading.py``.
5. If its files name other files, enter its endings in ``NAMING`` of ``named_files.py``. Else nobody notices a change of
   those files, and stale content comes from the cache.
6. If its files hold time series, enter its endings in ``SERIES`` of ``series.py``, and read them in ``open_series``
   and ``holds_series`` there. A reader that makes the ``Mesh`` itself, and refuses several steps, goes into ``SINGLE``
   of ``reading.py``, not into ``OWN``.
7. Results are written as VTU. If the format can hold all of a result, enter its writer in ``WRITABLE`` of
   ``writing.py``, or in ``FORMATS`` of ``copies.py`` if results are fields added to a copy of the file.
8. Test a file of every cell type, in ``tests/mesh/test_zoo.py`` or a test file of its own; cut and damaged files, too.
9. Name the format in README.md, and in the list and the table of docs/meshes.md. ``tests/mesh/test_zoo.py`` compares
   both lists with ``formats.py``. Add a line to CHANGELOG.md.
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
