"""The table of mesh file formats: names, endings, and readers in the order in which they are tried."""

from __future__ import annotations

from typing import Literal, NamedTuple

Reader = Literal["pitgeo", "meshio", "VTK"]


class Format(NamedTuple):
    """A format of mesh files.

    Args:
        name: What people call it.
        readers: The readers, in the order in which they are tried.
    """

    name: str
    readers: tuple[Reader, ...]


_BY_FORMAT = {
    Format("VTK", ("meshio", "VTK")): ".vtu .vtk",
    Format("VTK", ("VTK",)): ".vtp .vts .vtr .vti .vtm .vtmb .pvtu .pvtp .pvts .pvtr .pvti .vtkhdf",
    Format("XDMF", ("pitgeo",)): ".xdmf .xmf",
    Format("ParaView's collection", ("pitgeo",)): ".pvd",
    Format("Exodus", ("pitgeo", "VTK")): ".e .ex2 .exii .exo .exodus .g .gen",
    Format("CGNS", ("pitgeo",)): ".cgns",
    Format("EnSight", ("pitgeo",)): ".case",
    Format("Tecplot", ("pitgeo",)): ".dat .tec",
    Format("Abaqus or AVS UCD", ("pitgeo",)): ".inp",
    Format("AVS UCD", ("pitgeo",)): ".avs",
    Format("Gmsh", ("pitgeo",)): ".msh",
    Format("SU2", ("pitgeo",)): ".su2",
    Format("Nastran", ("meshio",)): ".bdf .fem .nas",
    Format("MED", ("meshio",)): ".med",
    Format("Medit", ("meshio",)): ".mesh .meshb",
    Format("Wavefront OBJ", ("meshio", "VTK")): ".obj",
    Format("STL", ("meshio", "VTK")): ".stl",
    Format("PLY", ("meshio", "VTK")): ".ply",
    Format("OFF", ("meshio",)): ".off",
    Format("TetGen", ("meshio",)): ".node .ele",
    Format("Netgen", ("meshio",)): ".vol",
    Format("DOLFIN XML", ("meshio",)): ".xml",
    Format("UGRID", ("meshio",)): ".ugrid",
    Format("FLAC3D", ("meshio",)): ".f3grid",
}

FORMATS: dict[str, Format] = {ending: format_ for format_, endings in _BY_FORMAT.items() for ending in endings.split()}
"""Formats by the ending of the file's name in lower case."""


def is_risky(reader: Reader, format_name: str) -> bool:
    """Whether a reader may crash or hang on damaged files: those of VTK do, and some of meshio."""
    return reader == "VTK" or (reader == "meshio" and format_name != "VTK")


def endings_of(name: str) -> tuple[str, ...]:
    """The endings of a format's files.

    Example:
        >>> endings_of("Gmsh")
        ('.msh',)
    """
    return tuple(ending for ending, format_ in FORMATS.items() if format_.name == name)
