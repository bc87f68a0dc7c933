"""CGNS files in HDF5, written by the format's description alone."""

from typing import NamedTuple

import h5py
import numpy as np

from pitgeo.mesh import read_mesh
from tests.mesh.helpers import rectangle

TYPES = {"i4": "I4", "i8": "I8", "u4": "U4", "u8": "U8", "f4": "R4", "f8": "R8", "i1": "C1", "c8": "X4", "c16": "X8"}


BAR, BAR3, TRI, TRI6, QUAD, QUAD9, TETRA, TETRA10, PYRA = 3, 4, 5, 6, 7, 9, 10, 11, 12
PYRA14, PENTA, PENTA15, PENTA18, HEXA, HEXA20, HEXA27, MIXED, PYRA13, NGON, NFACE = range(13, 24)
"""Types of elements."""


class Node(NamedTuple):
    """A node with its value, in the axes of CGNS (the first is fastest), and the nodes under it."""

    name: str
    label: str
    value: object = None
    children: tuple = ()


class Link(NamedTuple):
    """A node that stands for one of another file, or of this one."""

    name: str
    file: str
    path: str


def write(path, *nodes, order="<", encoding="utf-8", **options):
    """Write a file of some bases; ``order`` is that of bytes, ``options`` those of HDF5's data sets."""
    with h5py.File(path, "w") as file:
        _label(file, "HDF5 MotherNode", "Root Node of HDF5 File", "MT")
        file.create_dataset(" format", data=_letters("IEEE_LITTLE_32\0" if order == "<" else "IEEE_BIG_32\0"))
        file.create_dataset(" hdf5version", data=_letters("HDF5 Version 1.8.17".ljust(33, "\0")))
        for node in (Node("CGNSLibraryVersion", "CGNSLibraryVersion_t", np.array([3.4], "f4")), *nodes):
            _put(file, node, order, encoding, options)


def read(path, *children, **options):
    """The mesh that is read from a file of one base."""
    write(path, base(*children, **options))
    return read_mesh(path)


def _put(parent, node, order, encoding, options):
    group = parent.create_group(node.name.encode(encoding))
    if isinstance(node, Link):
        _label(group, node.name, "", "LK")
        group.create_dataset(" path", data=_letters(node.path + "\0"))
        if node.file:
            group.create_dataset(" file", data=_letters(node.file + "\0"))
            group[" link"] = h5py.ExternalLink(node.file, node.path)
        else:
            group[" link"] = h5py.SoftLink(node.path)
        return
    value = node.value
    if isinstance(value, str):
        value = _letters(value, encoding)
    kind = "MT" if value is None else TYPES[np.asarray(value).dtype.str[1:]]
    _label(group, node.name, node.label, kind, encoding)
    if value is not None:
        data = np.asarray(value).T
        group.create_dataset(" data", data=data.astype(data.dtype.newbyteorder(order)), **options)
    for child in node.children:
        _put(group, child, order, encoding, options)


def _label(group, name, label, kind, encoding="utf-8"):
    for key, text, size in (("name", name, 33), ("label", label, 33), ("type", kind, 3)):
        group.attrs.create(key, np.bytes_(text.encode(encoding)), dtype=f"S{size}")
    group.attrs.create("flags", np.array([1], "i4"))


def _letters(text, encoding="utf-8"):
    return np.frombuffer(text.encode(encoding), "i1")


def words(names):
    """A table of texts of 32 letters, ``[32, columns, rows]``, from rows of names, or one column of them."""
    table = np.array(
        [[list(name.ljust(32).encode()) for name in ([row] if isinstance(row, str) else row)] for row in names]
    )
    return (table[:, 0] if isinstance(names[0], str) else table).astype("i1").T


def base(*children, cells=3, space=3, name="Base"):
    """A base of cells of some dimension."""
    return Node(name, "CGNSBase_t", np.array([cells, space], "i4"), children)


def zone(name, points, *children, cells=0, coordinates=None):
    """A zone: structured if the points have several axes before the last, else unstructured."""
    points = np.asarray(points, float)
    shape = points.shape[:-1]
    size = [[n, n - 1, 0] for n in shape] if len(shape) > 1 else [[shape[0], cells, 0]]
    kind = Node("ZoneType", "ZoneType_t", "Structured" if len(shape) > 1 else "Unstructured")
    held = coordinates or coordinates_of(points)
    return Node(name, "Zone_t", np.array(size, "i4"), (kind, held, *children))


def coordinates_of(points, *children, name="GridCoordinates"):
    """Coordinates, ``[..., axes]``."""
    axes = [array(f"Coordinate{'XYZ'[axis]}", points[..., axis]) for axis in range(points.shape[-1])]
    return Node(name, "GridCoordinates_t", None, (*axes, *children))


def array(name, values, *children):
    """An array of numbers or of letters."""
    return Node(name, "DataArray_t", values, children)


def section(name, kind, first, rows, *children, offsets=None, count=None):
    """Elements of the type ``kind``; rows count from 0."""
    rows = np.asarray(rows, "i4")
    last = first + (len(rows) if count is None else count) - 1
    nodes = [
        Node("ElementRange", "IndexRange_t", np.array([first, last], "i4")),
        array("ElementConnectivity", rows.ravel() + 1 if count is None else rows),
        *([array("ElementStartOffset", np.asarray(offsets, "i4"))] if offsets is not None else []),
    ]
    return Node(name, "Elements_t", np.array([kind, 0], "i4"), (*nodes, *children))


def located(location):
    """The node that says where values are."""
    return (Node("GridLocation", "GridLocation_t", location),) if location else ()


def patch(name, rows):
    """A range or list of points or elements: rows of one number, or of one for every axis."""
    rows = np.asarray(rows, "i4")
    label = "IndexRange_t" if name.endswith(("Range", "RangeDonor")) else "IndexArray_t"
    return Node(name, label, rows.reshape(len(rows), -1).T)


def condition(name, *children, location="", family="", kind="BCWall"):
    """A boundary condition."""
    families = [Node("FamilyName", "FamilyName_t", family)] if family else []
    return Node(name, "BC_t", "FamilySpecified" if family else kind, (*located(location), *families, *children))


def conditions(*found):
    """What holds boundary conditions."""
    return Node("ZoneBC", "ZoneBC_t", None, found)


def solution(name, fields, *children, location="Vertex"):
    """A solution: fields by name."""
    arrays = [array(key, values) for key, values in fields.items()]
    return Node(name, "FlowSolution_t", None, (*located(location), *arrays, *children))


def rind(*planes):
    """How many planes of ghosts there are, before and behind, along every axis."""
    return Node("Rind", "Rind_t", np.array(planes, "i4"))


def iterations(**pointers):
    """The times of a zone."""
    arrays = [array(key, words(names)) for key, names in pointers.items()]
    return Node("ZoneIterativeData", "ZoneIterativeData_t", None, tuple(arrays))


def times(count, *children):
    """The times of a base."""
    values = array("TimeValues", np.arange(float(count)))
    return Node("BaseIterativeData", "BaseIterativeData_t", np.array([count], "i4"), (values, *children))


def plane(n=4, m=4, x=(0.0, 1.0)):
    """Points and quadrilaterals of a rectangle."""
    return rectangle(n, m, x)


def lattice(*counts):
    """Points of a structured zone, ``[i, j, k, axes]``."""
    return np.stack(np.meshgrid(*(np.arange(float(n)) for n in counts), indexing="ij"), -1)


def flat(values):
    """Values of a structured zone in the order of its points: the first axis fastest."""
    return np.asarray(values).ravel(order="F")


def quads(*more, name="Z", shift=0.0, **options):
    """A zone of nine quadrilaterals."""
    points, rows = plane()
    return zone(name, points + np.array([shift, 0]), section("Cells", QUAD, 1, rows), *more, cells=9, **options)
