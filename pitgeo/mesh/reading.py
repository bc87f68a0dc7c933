"""Reading mesh files: with meshio first, and with VTK what meshio does not read rightly."""

from __future__ import annotations

import contextlib
import io
import logging
import re
import tempfile
import urllib.parse
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import meshio
import numpy as np

from pitgeo.mesh import abaqus, gmsh, grid_attributes, overlooked
from pitgeo.mesh.exodus import read_exodus
from pitgeo.mesh.legacy import read_field_data
from pitgeo.mesh.mesh import Mesh
from pitgeo.mesh.notes import Note
from pitgeo.mesh.raw import Raw
from pitgeo.mesh.sets import family_sets, physical_sets
from pitgeo.mesh.su2 import read_su2
from pitgeo.mesh.vtk import EXODUS, READABLE, read_vtk

log = logging.getLogger(__name__)

OWN = {".su2": read_su2, **dict.fromkeys(EXODUS, read_exodus)}
"""Readers of formats that meshio does not read rightly, by the ending of the file."""


def read_mesh(path: str | Path) -> Mesh:
    """Read a mesh file of any format that meshio or VTK reads, with its fields and named sets.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If it cannot be read, holds no points, or would be misread; the message says what to do.
    """
    mesh = read(Path(path))
    for note in mesh.notes:
        log.info("%s: %s", path, note.text)
    return mesh


def read(path: Path) -> Mesh:
    """The same without a word in the log: for those who read many files, and sum up the notes of all."""
    if not path.is_file():
        raise FileNotFoundError(f"Expected a mesh file at {path} (got no such file)")
    if not path.stat().st_size:
        raise ValueError(f"{path}: Expected a mesh file (got an empty one); write it again, or leave it out")
    overlooked.refuse(path)
    try:
        return (_by_own if path.suffix.lower() in OWN else _by_meshio)(path)
    except _UnreadableError as error:
        reason = _brief(str(error), path)
    if path.suffix.lower() not in READABLE:
        series = "; a time series is read by read_series" if path.suffix.lower() in (".xdmf", ".xmf", ".pvd") else ""
        raise ValueError(
            f"{path}: Expected a mesh file that can be read (got: {reason}); open it in ParaView, or in the program "
            f"that wrote it, and save it as .vtu{series}"
        )
    try:
        mesh = read_vtk(path).mesh(path)
    except Exception as error:  # VTK's readers fail in many ways
        other = _brief(str(error), path)
        both = reason if other == reason else f"from meshio: {reason}; from VTK: {other}"
        raise ValueError(
            f"{path}: Expected a mesh file that meshio or VTK reads (got {both}); is it whole? Else open it in "
            f"ParaView, or in the program that wrote it, and save it as .vtu"
        ) from error
    return replace(mesh, notes=(Note("reader", f"read by VTK, since meshio does not: {reason}"), *mesh.notes))


def _brief(text: str, path: Path) -> str:
    """What a reader said, without the file's name and without what only its programmers understand."""
    text = " ".join(text.removeprefix(f"{path}: ").split())
    text = re.sub(rf"Error: Couldn't read file {re.escape(str(path))} as [\w, ]+", "", text)
    text = re.sub(r";? *(Error parsing input file|ReadXMLInformation|Algorithm vtk).*", "", text).strip(" .;")
    return text[:300] or "no reason"


@contextlib.contextmanager
def quiet(said: io.StringIO) -> Iterator[None]:
    """Keeps what meshio prints; its warnings go nowhere."""
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


class _UnreadableError(Exception):
    """Meshio does not read a file, or not rightly; another reader may."""


def _by_own(path: Path) -> Mesh:
    try:
        return OWN[path.suffix.lower()](path).mesh(path)
    except Exception as error:  # broken files make netCDF4 fail in many ways
        raise _UnreadableError(f"{'' if isinstance(error, ValueError) else type(error).__name__} {error}") from error


def _by_meshio(path: Path) -> Mesh:
    doubt = overlooked.doubt(path)
    if doubt:
        raise _UnreadableError(doubt)
    said = io.StringIO()
    try:
        with quiet(said), tempfile.TemporaryDirectory() as folder:
            tidy = overlooked.TIDY.get(path.suffix.lower())
            found = meshio.read(tidy(path, Path(folder)) if tidy else path)
    except SystemExit as error:  # meshio's readers fail in every way there is, some by leaving Python
        raise _UnreadableError(said.getvalue()) from error
    except Exception as error:
        reason = str(error) if isinstance(error, meshio.ReadError) else f"{type(error).__name__}: {error}"
        raise _UnreadableError(f"{said.getvalue()} {reason}") from error
    words = " ".join(" ".join(dict.fromkeys(said.getvalue().splitlines())).split())
    if "corrupt" in words.lower() or "cannot handle" in words:  # something is left out, and the rest returned
        raise _UnreadableError(words)
    doubt = overlooked.doubt_result(path, found)
    if doubt:
        raise _UnreadableError(doubt)
    references = found.point_data.get("nastran:ref")
    if references is not None and np.any(references):
        raise ValueError(
            f"{path}: Expected points in the basic coordinate system (got system {np.max(references)}, which meshio "
            f"does not convert); save the mesh in basic coordinates, or as .vtu"
        )
    try:
        raw = _raw(found, path)
        raw.notes += [Note("meshio", words[:500])] * bool(words)
        return raw.mesh(path)
    except (ValueError, LookupError) as error:
        if str(error).startswith(str(path)) and path.suffix.lower() not in READABLE:
            raise
        raise _UnreadableError(str(error).removeprefix(f"{path}: ")) from error


def from_meshio(found: meshio.Mesh) -> Mesh:
    """A mesh of meshio as one of pitgeo; nothing of it is changed or shared.

    Raises:
        ValueError: If something does not fit together.
    """
    return replace(_plain(found).mesh(Path("a mesh of meshio")), path=None)


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
    """What meshio read, with what it leaves out."""
    suffix, raw = path.suffix.lower(), _plain(found)
    if suffix == ".vtk":  # the legacy format escapes blanks
        raw.field_data = {**raw.field_data, **read_field_data(path, raw.notes)}
        raw.point_data = {urllib.parse.unquote(name): values for name, values in raw.point_data.items()}
        raw.cell_data = {urllib.parse.unquote(name): values for name, values in raw.cell_data.items()}
    elif suffix == ".inp":
        raw.point_sets, raw.cell_sets = abaqus.read_sets(path, [nodes.shape[1] for _, nodes in raw.cells], raw.notes)
    elif suffix in (".xdmf", ".xmf"):
        raw.field_data = {**raw.field_data, **grid_attributes.read_field_data(path, raw.notes)}
    elif suffix == ".msh":
        ends = np.cumsum([len(nodes) for _, nodes in raw.cells])
        sizes: dict[gmsh.Things, int] = {b"Nodes": len(raw.points), b"Elements": int(ends[-1]) if len(ends) else 0}
        fields = gmsh.read_fields(path, sizes, raw.notes)
        raw.point_data.update(fields[b"NodeData"])
        raw.cell_data.update({name: np.split(values, ends[:-1]) for name, values in fields[b"ElementData"].items()})
        tags = raw.cell_data.get("gmsh:physical")
        raw.cell_sets = {**(physical_sets(raw.cells, raw.field_data, tags) if tags else {}), **raw.cell_sets}
        raw.field_data = {**raw.field_data, **gmsh.read_field_data(path.read_bytes())}
    elif suffix == ".med":
        groups = family_sets(found.point_tags, [raw.point_data.get("point_tags", np.zeros(len(raw.points)))])
        raw.point_sets = {name: members[0] for name, members in groups.items()}
        raw.cell_sets = family_sets(found.cell_tags, raw.cell_data.get("cell_tags", []))
    elif suffix == ".obj" and overlooked.own_corners(path):
        for name in raw.point_data.keys() & {"obj:vn", "obj:vt"}:
            raw.notes.append(Note("left out", f"{name} left out, whose numbers are not those of the points"))
            del raw.point_data[name]
    return raw
