"""Writing of mesh files: complete, or not at all."""

from __future__ import annotations

import io
import itertools
import logging
import string
import urllib.parse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import meshio
import numpy as np
from numpy.typing import NDArray

from pitgeo.mesh import copies
from pitgeo.mesh.mesh import Mesh, joined, native
from pitgeo.mesh.reading import quiet, read
from pitgeo.mesh.sets import set_fields
from pitgeo.mesh.vtk.legacy import add_field_data
from pitgeo.mesh.vtk.reader import write_vtk
from pitgeo.mesh.vtk.vtu import write_vtu
from pitgeo.mesh.xdmf.field_data import add_field_data as add_xdmf_field_data
from pitgeo.system.atomic_files import atomic_file

log = logging.getLogger(__name__)

WRITABLE = {".vtu": "vtu", ".vtk": "vtk", ".vtp": "vtp", ".xdmf": "xdmf", ".xmf": "xdmf"}
"""Formats that keep points, cells and fields; meshio's other writers drop some without a word."""


def result_name(path: str | Path) -> str:
    """The name of the file that a mesh read from ``path`` is best written to: its own, or one that ends in ``.vtu``.

    The reason for the latter is in the log.

    Example:
        >>> result_name("cases/wing.vtu"), result_name("cases/wing.cgns")
        ('wing.vtu', 'wing.vtu')
    """
    path = Path(path)
    reason = refusal(path)
    if not reason:
        return path.name
    name = f"{path.stem}.vtu"
    log.info("%s: results go to %s, since %s", path, name, reason)
    return name


def refusal(path: Path) -> str:
    """The reason why results for a file are not written in its own format; empty if they are."""
    return "" if path.suffix.lower() in WRITABLE else copies.refusal(path)


def write_mesh(path: str | Path, mesh: Mesh) -> None:
    """Write a mesh whole or not at all, as the ending of the name says; what was written is read again and compared.

    VTU is compressed binary. Fields of several axes are flattened to ``[N, components]``; ``.vtk`` and ``.xdmf`` have
    no vectors of two components, which get a third of zeros there. ``.vtp`` holds points, lines and faces alone and
    needs PyVista, as texts do in all of these but ``.xdmf``, which holds single texts of the whole mesh. A named set
    becomes the field ``set:<name>`` of zeros and ones, which :func:`read_mesh` turns back.

    Exodus and Gmsh (``.msh``) files are written as a copy of the file that the mesh came from, ``mesh.path``, with the
    fields that are not in it, or are other there; nothing else of it is touched.

    Raises:
        ValueError: If the format would lose something, or cannot hold it.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_mesh(f"{folder}/line.vtu", Mesh(np.array([[0.0], [1.0]]), (("line", np.array([[0, 1]])),)))
        ...     print(sorted(path.name for path in Path(folder).iterdir()))
        ['line.vtu']
    """
    path = Path(path)
    kind = WRITABLE.get(path.suffix.lower(), "gmsh" if path.suffix.lower() == ".msh" else "exodus")
    known = _source(path, mesh) if kind in ("gmsh", "exodus") else None
    point_sets, cell_sets = ({}, {}) if known else set_fields(mesh)
    with atomic_file(path) as part:
        try:
            point_data = {name: _storable(values, kind) for name, values in {**mesh.point_data, **point_sets}.items()}
            cell_data = {
                name: [_storable(values, kind) for values in blocks]
                for name, blocks in {**mesh.cell_data, **cell_sets}.items()
            }
            field_data = {name: _storable_field_data(values) for name, values in mesh.field_data.items()}
            if known:  # what is there stays as it is
                kept = copies.kept_fields(known, mesh)
                point_data.update(kept[0])
                cell_data.update(kept[1])
                field_data.update(kept[2])
                copies.write_copy(part, known, mesh, (point_data, joined(cell_data), field_data), kept)
            else:
                _write(part, kind, mesh, point_data, cell_data, field_data)
            lost = _lost(mesh, read(part), point_data, joined(cell_data), field_data)
            if lost:
                raise ValueError(f"{', '.join(lost)} came back changed")
        except OSError:
            raise
        except (Exception, SystemExit) as error:  # meshio's writers fail in every way there is
            reason = str(error).replace(str(part), part.name)
            raise ValueError(
                f"{path}: Expected fields that the format can hold (got: {type(error).__name__}: {reason}); give the "
                f"fields plain names and numbers, or write .vtu"
            ) from error


def _source(path: Path, mesh: Mesh) -> Mesh:
    """The mesh as it is stored in its own file, whose format ``path`` must have.

    Raises:
        ValueError: If no file of this format can be written.
    """
    instead = f"write to {path.with_suffix('.vtu').name} instead"
    if path.suffix.lower() not in copies.FORMATS:
        raise ValueError(
            f"{path}: Expected a format that keeps every field, one of {', '.join(WRITABLE)} (got {path.suffix!r}); "
            f"{instead}"
        )
    source = mesh.path
    reason = "no file that it came from" if source is None else copies.refusal(source)
    if source is None or reason or source.suffix.lower() != path.suffix.lower():
        raise ValueError(
            f"{path}: Expected a mesh that came from a file of this format, a copy of which takes the fields (got "
            f"{reason or source}); {instead}"
        )
    return read(source)


@dataclass
class _Block:
    """Cells as meshio's writers take them; its own class refuses some types that they know."""

    type: str
    data: NDArray[np.int64]
    tags: list[str] = field(default_factory=list)
    dim: int = 3

    def __len__(self) -> int:
        return len(self.data)


def _write(
    path: Path,
    kind: str,
    mesh: Mesh,
    point_data: Mapping[str, NDArray[Any]],
    cell_data: Mapping[str, list[NDArray[Any]]],
    field_data: Mapping[str, NDArray[Any]],
) -> None:
    points = mesh.points_in_space()
    cells = [(name, native(nodes)) for name, nodes in mesh.cells] or [("vertex", np.arange(len(points))[:, None])]
    fields = (point_data, joined(cell_data), field_data)
    has_texts = kind != "xdmf" and any(values.dtype.kind == "U" for part in fields for values in part.values())
    # Of cells of any order, meshio's files are of an older version, for which VTK numbers nodes otherwise.
    is_old = kind != "xdmf" and any(name.startswith("VTK_") for name, _ in cells)
    if kind in ("vtu", "vtp") or has_texts or is_old:
        write = write_vtk if kind == "vtp" or has_texts or is_old else write_vtu
        escaped = (lambda name, _: name) if kind == "vtk" else _escaped  # VTK does it itself in the legacy format
        write(path, points, cells, *({escaped(name, kind): values for name, values in part.items()} for part in fields))
        return
    with quiet(io.StringIO()):
        out = meshio.Mesh(
            points,
            [_Block(name, nodes) for name, nodes in cells],
            point_data={_escaped(name, kind): values for name, values in point_data.items()},
            cell_data={_escaped(name, kind): list(blocks) for name, blocks in cell_data.items()},
        )
        # VTK does not know the names that meshio's newer legacy files give to types of numbers.
        name = "vtk42" if kind == "vtk" else kind
        out.write(path, file_format=name, **({"data_format": "XML"} if kind == "xdmf" else {}))
    if field_data and kind == "xdmf":
        add_xdmf_field_data(path, field_data)
    elif field_data:
        add_field_data(path, {_escaped(name, kind): values for name, values in field_data.items()})


def _lost(
    mesh: Mesh,
    again: Mesh,
    point_data: Mapping[str, NDArray[Any]],
    cell_data: Mapping[str, NDArray[Any]],
    field_data: Mapping[str, NDArray[Any]],
) -> list[str]:
    """Names of data that differ after reading the file back."""
    point_sets, cell_sets = set_fields(again)
    lost = _differences(point_data, {**again.point_data, **point_sets})
    lost += _differences(cell_data, joined({**again.cell_data, **cell_sets}))
    lost += _differences(field_data, again.field_data)
    lost += [] if np.array_equal(mesh.points_in_space(), again.points_in_space()) else ["points"]
    if mesh.cells:
        mine, theirs = ([np.ravel(nodes) for _, nodes in cells] for cells in (mesh.cells, again.cells))
        kinds = [_runs(cells) for cells in (mesh.cells, again.cells)]
        same = kinds[0] == kinds[1] and np.array_equal(np.concatenate(mine), np.concatenate([*theirs, mine[0][:0]]))
        lost += [] if same else ["cells"]
    return lost


def _runs(cells: Sequence[tuple[str, NDArray[Any]]]) -> list[tuple[str, int]]:
    """How many cells of a type follow each other, whether in one block or in several."""
    groups = itertools.groupby((block for block in cells if len(block[1])), lambda block: block[0])
    return [(kind, sum(len(nodes) for _, nodes in blocks)) for kind, blocks in groups]


def _storable(values: NDArray[Any], kind: str) -> NDArray[Any]:
    """A copy of a field as files can hold it."""
    values = native(np.asarray(values))
    if values.dtype.kind == "O" and all(isinstance(value, str) for value in values.ravel()):
        values = values.astype(np.str_)
    if values.dtype.kind == "U" and any("\0" in text for text in values.ravel().tolist()):  # VTK would fall over
        raise ValueError("a text holds the character of code 0, which ends texts in files")
    if values.dtype in (np.bool_, np.float16):  # which no format has
        values = values.astype(np.uint8 if values.dtype == np.bool_ else np.float32)
    if kind == "xdmf" and values.dtype.kind in "iu" and values.dtype.itemsize < 4:  # which meshio cannot write there
        values = values.astype(np.int32)
    elif kind == "xdmf" and values.dtype == np.float32:  # of which meshio writes too few digits
        values = values.astype(np.float64)
    if values.ndim > 2:
        values = values.reshape(len(values), -1)
    if values.ndim == 2 and values.shape[1] == 2 and kind in ("vtk", "xdmf", "gmsh") and values.dtype.kind != "U":
        values = np.concatenate([values, np.zeros_like(values[:, :1])], 1)
    return values


def _storable_field_data(values: Any) -> NDArray[Any]:
    """A copy of field data as files can hold it: ``[n]`` or ``[n, components]``."""
    found = _storable(np.atleast_1d(values), "vtu")
    if found.dtype.kind not in "fiuU":
        raise ValueError(f"field data of {found.dtype} is neither number nor text")
    return found


def _escaped(name: str, kind: str) -> str:
    """The escaped name of a field, since the writers of VTK formats escape nothing."""
    if kind == "vtk":
        return urllib.parse.quote(name, safe=string.punctuation.replace("%", "").replace('"', ""))
    if kind in ("vtu", "vtp"):
        quoted = escape(name, {'"': "&quot;", "\t": "&#9;", "\n": "&#10;", "\r": "&#13;"})
        return quoted.encode("ascii", "xmlcharrefreplace").decode()
    return name


def _differences(mine: Mapping[str, NDArray[Any]], theirs: Mapping[str, NDArray[Any]]) -> list[str]:
    """Names of the fields that did not come back as they were; a column may come back as ``[N]``."""
    return [
        repr(name)
        for name, values in mine.items()
        if name not in theirs
        or values.size != np.size(theirs[name])
        or not _same(values.ravel(), np.ravel(theirs[name]))
    ]


def _same(mine: NDArray[Any], theirs: NDArray[Any]) -> bool:
    if mine.dtype.kind in "iu" and theirs.dtype.kind == "f":  # as real numbers, large whole ones would seem the same
        theirs = theirs.astype(mine.dtype)
    return np.array_equal(mine, theirs, equal_nan=mine.dtype.kind == "f")
