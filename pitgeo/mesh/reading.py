"""Reading mesh files: from a path to a :class:`~pitgeo.mesh.mesh.Mesh`.

1. :data:`~pitgeo.mesh.formats.FORMATS` names the format and its readers by the ending of the file's name.
2. A reader makes a :class:`~pitgeo.mesh.raw.Raw` of the path: the arrays as the file holds them. The readers are those
   of pitgeo (:data:`OWN`), meshio (:func:`_by_meshio`) and VTK (:func:`_by_vtk`). If one fails, the next one is tried.
   Readers that may crash or hang run in a process of their own, see :mod:`pitgeo.mesh.apart`.
3. A reader that finds several zones, parts or pieces puts them together by :func:`pitgeo.mesh.pieces.join`.
4. :func:`~pitgeo.mesh.ghosts.without_ghosts` removes ghost cells.
5. :meth:`Raw.mesh <pitgeo.mesh.raw.Raw.mesh>` checks the arrays and makes the mesh: in its true dimension, in the
   machine's byte order, with its named sets.
"""

from __future__ import annotations

import contextlib
import io
import logging
import re
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import meshio
import numpy as np

from pitgeo.mesh import med, overlooked
from pitgeo.mesh.abaqus.reader import read_abaqus
from pitgeo.mesh.apart import read_apart
from pitgeo.mesh.cgns.reader import read_cgns
from pitgeo.mesh.ensight.reader import read_ensight
from pitgeo.mesh.errors import InputError, UnreadableError
from pitgeo.mesh.exodus.files import read_exodus
from pitgeo.mesh.formats import FORMATS, Reader, is_risky
from pitgeo.mesh.ghosts import MARKS, without_ghosts
from pitgeo.mesh.gmsh.reader import read_gmsh
from pitgeo.mesh.mesh import Mesh
from pitgeo.mesh.names import DECODED, is_misencoded, unquoted
from pitgeo.mesh.notes import Note
from pitgeo.mesh.raw import Raw
from pitgeo.mesh.su2 import read_su2
from pitgeo.mesh.tecplot.reader import read_tecplot
from pitgeo.mesh.ucd import read_ucd
from pitgeo.mesh.vtk import collection, cut_off
from pitgeo.mesh.vtk.legacy import read_field_data
from pitgeo.mesh.vtk.reader import read_vtk, read_with_errors
from pitgeo.mesh.xdmf.reader import read_single as read_xdmf

log = logging.getLogger(__name__)

OWN: dict[str, Callable[[Path], Raw]] = {
    "SU2": read_su2,
    "Exodus": read_exodus,
    "CGNS": read_cgns,
    "EnSight": read_ensight,
    "Abaqus or AVS UCD": read_abaqus,
    "Tecplot": read_tecplot,
    "Gmsh": read_gmsh,
    "AVS UCD": read_ucd,
}
"""Readers of pitgeo by the name of the format."""


def read_mesh(path: str | Path) -> Mesh:
    """Read a mesh file of one of the formats in :data:`~pitgeo.mesh.formats.FORMATS`, with its fields and named sets.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If it cannot be read, holds no points, or would be misread; the message says what to do.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> from pitgeo.mesh import Mesh, write_mesh
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_mesh(f"{folder}/line.vtu", Mesh(np.array([[0.0], [1.0]]), (("line", np.array([[0, 1]])),)))
        ...     print(read_mesh(f"{folder}/line.vtu").points.shape)
        (2, 1)
    """
    mesh = read(Path(path))
    for note in mesh.notes:
        log.info("%s: %s", path, note.text)
    return mesh


def read(path: Path) -> Mesh:
    """Read a mesh file as :func:`read_mesh` does, without logging its notes."""
    if not path.is_file():
        raise FileNotFoundError(f"Expected a mesh file at {path} (got no such file)")
    if not path.stat().st_size:
        raise ValueError(f"{path}: Expected a mesh file (got an empty one); write it again, or leave it out")
    known = FORMATS.get(path.suffix.lower())
    if known is None:
        raise ValueError(
            f"{path}: Expected a mesh file of a format that is read, {', '.join(FORMATS)} (got {path.suffix!r}); "
            f"open it in ParaView, or in the program that wrote it, and save it as .vtu"
        )
    if known.name in SINGLE:
        return SINGLE[known.name](path)
    overlooked.refuse(path)
    reasons, said = dict[str, str](), ""
    for reader in known.readers:
        try:
            mesh = read_apart(read_with, reader, path) if is_risky(reader, known.name) else read_with(reader, path)
        except UnreadableError as error:
            said = str(error).strip().removeprefix(f"{path}: ")
            reasons[reader] = _brief(said, path)
            continue
        notes = [Note("reader", f"read by {reader}, since {other} does not: {why}") for other, why in reasons.items()]
        return replace(mesh, notes=(*notes, *mesh.notes))
    if len(reasons) == 1 and said.startswith("Expected ") and "meshio" not in reasons:  # one that says what to do
        raise ValueError(f"{path}: {said}")
    why = "; ".join(f"from {reader}: {reason}" for reader, reason in reasons.items())
    raise ValueError(
        f"{path}: Expected a mesh file that {' or '.join(known.readers)} reads (got {why}); is it whole? Else open it "
        f"in ParaView, or in the program that wrote it, and save it as .vtu"
    )


def read_with(reader: Reader, path: Path) -> Mesh:
    """Read a file by one reader.

    Raises:
        UnreadableError: If it does not read the file, or not rightly. Then the next reader is tried. Any other error of
            a reader, a ``ValueError`` among them, becomes this one.
        InputError: If the file is refused; no other reader is tried.
    """
    return READERS[reader](path)


def _brief(text: str, path: Path) -> str:
    """A reader's error message without the file's name and without its internal details."""
    text = " ".join(text.removeprefix(f"{path}: ").split())
    text = re.sub(r"Error: Couldn't read file .*? as [\w, ]+", "", text)
    text = re.sub(r";? *(Error parsing input file|ReadXMLInformation|Algorithm vtk).*", "", text).strip(" .;")
    return text[:300] or "no reason"


@contextlib.contextmanager
def quiet(said: io.StringIO) -> Iterator[None]:
    """Keep what meshio prints in a text, and drop its warnings."""
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _by_own(path: Path) -> Mesh:
    return _made(path, OWN[FORMATS[path.suffix.lower()].name])


def _by_vtk(path: Path) -> Mesh:
    return _made(path, _whole_by_vtk)


def _whole_by_vtk(path: Path) -> Raw:
    suffix = path.suffix.lower()
    doubt = cut_off.doubt_stl(path) if suffix == ".stl" else ""
    raw = Raw(np.zeros((0, 3))) if doubt else read_vtk(path)
    if suffix == ".vtk":
        doubt = overlooked.missing_field(path, [*raw.point_data, *raw.cell_data, *MARKS]) or cut_off.doubt_legacy(
            path, raw, lambda other: read_with_errors(other)[0]
        )
    elif suffix == ".ply":
        doubt = cut_off.doubt_ply(path, len(raw.points), sum(len(nodes) for _, nodes in raw.cells))
    if doubt:
        raise ValueError(doubt)
    return raw


def _made(path: Path, reader: Callable[[Path], Raw]) -> Mesh:
    try:
        return without_ghosts(reader(path)).mesh(path)
    except (MemoryError, InputError):
        raise
    except Exception as error:  # broken files make netCDF4, h5py and VTK fail in many ways
        raise UnreadableError(f"{'' if isinstance(error, ValueError) else type(error).__name__} {error}") from error


def _by_meshio(path: Path) -> Mesh:
    doubt = overlooked.doubt(path)
    if doubt:
        raise UnreadableError(doubt)
    said = io.StringIO()
    try:
        with quiet(said), tempfile.TemporaryDirectory() as folder:
            tidy = overlooked.TIDY.get(path.suffix.lower())
            found = meshio.read(tidy(path, Path(folder)) if tidy else path)
    except SystemExit as error:  # meshio's readers fail in every way there is, some by leaving Python
        raise UnreadableError(said.getvalue()) from error
    except Exception as error:
        reason = str(error) if isinstance(error, meshio.ReadError) else f"{type(error).__name__}: {error}"
        raise UnreadableError(f"{said.getvalue()} {reason}") from error
    words = " ".join(" ".join(dict.fromkeys(said.getvalue().splitlines())).split())
    if any(
        word in words.lower() for word in ("corrupt", "cannot handle", "end-of-file")
    ):  # something is left out, and the rest returned
        raise UnreadableError(words)
    doubt = overlooked.doubt_result(path, found)
    if doubt:
        raise UnreadableError(doubt)
    references = found.point_data.get("nastran:ref")
    if references is not None and np.any(references):
        raise InputError(
            f"{path}: Expected points in the basic coordinate system (got system {np.max(references)}, which meshio "
            f"does not convert); save the mesh in basic coordinates, or as .vtu"
        )
    try:
        raw = _raw(found, path)
        raw.notes += [Note("meshio", words[:500])] * bool(words)
        return without_ghosts(raw).mesh(path)
    except (ValueError, LookupError) as error:
        raise UnreadableError(str(error).removeprefix(f"{path}: ")) from error


def from_meshio(found: meshio.Mesh) -> Mesh:
    """Convert a mesh of meshio; nothing of it is changed or shared.

    Raises:
        ValueError: If something does not fit together.

    Example:
        >>> import meshio
        >>> from_meshio(meshio.Mesh([[0.0, 0], [1, 0], [0, 1]], [("triangle", [[0, 1, 2]])])).cells[0][0]
        'triangle'
    """
    return replace(without_ghosts(_plain(found)).mesh(Path("a mesh of meshio")), path=None)


def _plain(found: meshio.Mesh) -> Raw:
    return Raw(
        points=found.points,
        cells=[(block.type, block.data) for block in found.cells],
        point_data=dict(found.point_data),
        cell_data=dict(found.cell_data),
        field_data=dict(found.field_data),
        point_sets=dict(found.point_sets),
        cell_sets={name: sets for name, sets in found.cell_sets.items() if name != "gmsh:bounding_entities"},
    )


def _raw(found: meshio.Mesh, path: Path) -> Raw:
    """What meshio read, completed by what meshio leaves out."""
    suffix, raw = path.suffix.lower(), _plain(found)
    if suffix == ".vtk":  # the legacy format escapes blanks
        raw.field_data = {**raw.field_data, **read_field_data(path, raw.notes)}
        raw.point_data = unquoted(raw.point_data, raw.notes)
        raw.cell_data = unquoted(raw.cell_data, raw.notes)
    elif suffix == ".vtu":
        raw.notes += [DECODED] * is_misencoded(path)
    elif suffix in (".bdf", ".fem", ".nas"):
        raw.notes += overlooked.left_out(path)
    elif suffix == ".med":
        tags = [raw.point_data.get("point_tags", np.zeros(len(raw.points)))]
        of_points, raw.cell_sets = med.read_groups(path, tags, raw.cell_data.get("cell_tags", []), raw.notes)
        raw.point_sets = {name: members[0] for name, members in of_points.items()}
    elif suffix == ".obj" and overlooked.own_corners(path):
        for name in raw.point_data.keys() & {"obj:vn", "obj:vt"}:
            raw.notes.append(Note("left out", f"{name} left out, whose numbers are not those of the points"))
            del raw.point_data[name]
    return raw


SINGLE: dict[str, Callable[[Path], Mesh]] = {
    "XDMF": read_xdmf,
    "ParaView's collection": lambda path: collection.read_single(path, read),
}
"""Readers of formats that may hold time series: they read the file if it holds a single mesh."""

READERS: dict[Reader, Callable[[Path], Mesh]] = {"pitgeo": _by_own, "meshio": _by_meshio, "VTK": _by_vtk}
