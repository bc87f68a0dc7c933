"""Mesh files: the only module that imports meshio.

What comes out of a file is native-endian, of the mesh's true dimension, and complete; what cannot be read rightly is
refused with one clear error.
"""

from __future__ import annotations

import contextlib
import difflib
import io
import logging
import os
import re
import string
import tempfile
import urllib.parse
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal
from xml.sax.saxutils import escape

import meshio
import numpy as np
from numpy.typing import NDArray

__all__ = ["Mesh", "point_fields", "read_mesh", "write_mesh"]

log = logging.getLogger(__name__)

# Formats whose meshio writers keep points, cells, point data and cell data; others drop some without a word.
WRITABLE = {".vtu": "vtu", ".vtk": "vtk", ".xdmf": "xdmf", ".xmf": "xdmf"}

# Statements that move or add points and that meshio passes over, so that coordinates would be wrong without a word.
ABAQUS = (
    r"^\*(system|ngen|nfill|ncopy)\b.*|^\*node\b.*system *=.*|^\*instance\b.*\n\s*[-+.\d].*"
    r"|^\*node *(,|$)(?s:.*)^\*node *(,|$)"  # of several blocks of points, the last is kept
)
NASTRAN = r"^GRDSET.*|^INCLUDE\b.*|^GRID[^,\n]*\t.*|^GRID\* *,.*"
OVERLOOKED = {".inp": ABAQUS, ".bdf": NASTRAN, ".fem": NASTRAN, ".nas": NASTRAN}


@dataclass(frozen=True, eq=False)
class Mesh:
    """A mesh with fields on it.

    Args:
        points: Positions ``[N, D]``, float64, D the true dimension: a planar mesh stored in 3D has D = 2.
        cells: Pairs of a meshio cell type and its connectivity ``[cells, nodes]``.
        point_data: Fields ``[N]`` or ``[N, components]`` by name.
        cell_data: For each name one array a block of cells.
        field_data: Facts of the whole mesh by name.
        point_sets: Numbers of the points in each named set.
        cell_sets: For each name the numbers of its cells in every block, one array a block.
        plane: The third coordinate of a planar mesh, put back when it is written.
        path: The file it came from, for messages.

    Raises:
        ValueError: If a shape does not fit, or a position is not finite.
    """

    points: NDArray[np.float64]
    cells: tuple[tuple[str, NDArray[np.int64]], ...] = ()
    point_data: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    cell_data: Mapping[str, tuple[NDArray[Any], ...]] = field(default_factory=dict)
    field_data: Mapping[str, Any] = field(default_factory=dict)
    point_sets: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    cell_sets: Mapping[str, tuple[NDArray[np.int64], ...]] = field(default_factory=dict)
    plane: float = 0.0
    path: Path | None = None

    def __post_init__(self) -> None:
        where = f"{self.path}: " if self.path else ""
        if self.points.ndim != 2 or self.points.shape[1] not in (1, 2, 3) or not len(self.points):
            raise ValueError(
                f"{where}Expected points of shape [N, 1], [N, 2] or [N, 3] with N at least 1 "
                f"(got {list(self.points.shape)}); the file holds no mesh that can be read"
            )
        bad = ~np.isfinite(self.points).all(1)
        if bad.any():
            raise ValueError(
                f"{where}Expected finite positions (got {self.points[bad.argmax()].tolist()} at point {bad.argmax()})"
            )
        for name, values in self.point_data.items():
            if len(values) != len(self.points):
                raise ValueError(f"{where}Expected {len(self.points)} values in {name!r} (got {len(values)})")
        for kind, nodes in self.cells:
            if nodes.size and (nodes.min() < 0 or nodes.max() >= len(self.points)):
                wrong = nodes.min() if nodes.min() < 0 else nodes.max()
                raise ValueError(f"{where}Expected the nodes of {kind} cells to be points (got number {wrong})")
        sizes = [len(nodes) for _, nodes in self.cells]
        for name, blocks in self.cell_data.items():
            if [len(values) for values in blocks] != sizes:
                raise ValueError(
                    f"{where}Expected {sizes} values in the cell data {name!r}, one array a block of cells "
                    f"(got {[len(values) for values in blocks]})"
                )

    def with_point_data(
        self, name: str, values: NDArray[Any], existing: Literal["refuse", "replace"] = "refuse"
    ) -> Mesh:
        """A copy with one more field.

        Raises:
            ValueError: If the name is taken and not to be replaced, or the number of values is wrong.
        """
        if name in self.point_data and existing == "refuse":
            where = f"{self.path}: " if self.path else ""
            raise ValueError(
                f"{where}Expected a new name for the field (got {name!r}, which is there already); take another, or "
                f"pass existing='replace'"
            )
        return replace(self, point_data={**self.point_data, name: _native(np.asarray(values))})


def read_mesh(path: str | Path) -> Mesh:
    """Read a mesh file of any format meshio reads. Named sets of points or cells are not kept.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If it cannot be read, holds no points, or would be misread; the message says what to do.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"Expected a mesh file at {path} (got no such file)")
    _refuse_overlooked(path)
    said, reason = io.StringIO(), ""
    try:
        with _quiet(said), tempfile.TemporaryDirectory() as folder:
            raw = meshio.read(_tidy_su2(path, Path(folder)) if path.suffix.lower() == ".su2" else path)
    except SystemExit:  # meshio's readers fail in every way there is, some by leaving Python
        reason = said.getvalue()
    except Exception as error:
        reason = str(error) if isinstance(error, meshio.ReadError) else f"{type(error).__name__}: {error}"
        reason = f"{said.getvalue()} {reason}"
    if not reason and "corrupt" in said.getvalue().lower():  # a field is left out, and the rest returned
        reason = said.getvalue()
    if reason:
        raise ValueError(
            f"{path}: Expected a mesh file that meshio reads (got: {' '.join(reason.split())[:500]}); open it in "
            f"ParaView, or with pyvista.read, and save it as .vtu"
        )
    if said.getvalue():
        log.info("%s: %s", path, " ".join(said.getvalue().split())[:500])
    references = raw.point_data.get("nastran:ref")
    if references is not None and np.any(references):
        raise ValueError(
            f"{path}: Expected points in the basic coordinate system (got system {np.max(references)}, which meshio "
            f"does not convert); save the mesh in basic coordinates, or as .vtu"
        )
    return _from_meshio(raw, path)


def write_mesh(path: str | Path, mesh: Mesh) -> None:
    """Write a mesh whole or not at all, as the ending of the name says; what was written is read again and compared.

    VTU is compressed binary. Fields of several axes are flattened to ``[N, components]``; ``.vtk`` and ``.xdmf`` have
    no vectors of two components, which get a third of zeros there.

    Raises:
        ValueError: If the format would lose something, or cannot hold it.
    """
    path = Path(path)
    kind = WRITABLE.get(path.suffix.lower())
    if kind is None:
        raise ValueError(
            f"{path}: Expected a format that keeps every field, one of {', '.join(WRITABLE)} (got {path.suffix!r}); "
            f"write to {path.with_suffix('.vtu').name} instead"
        )
    if mesh.field_data and kind != "vtu":
        raise ValueError(
            f"{path}: Expected no field data, which only .vtu keeps (got {', '.join(mesh.field_data)}); "
            f"write to {path.with_suffix('.vtu').name} instead"
        )
    point_data = {name: _storable(values, kind) for name, values in mesh.point_data.items()}
    cell_data = {name: [_storable(values, kind) for values in blocks] for name, blocks in mesh.cell_data.items()}
    field_data = {name: _native(np.atleast_1d(values)) for name, values in mesh.field_data.items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".part-{os.getpid()}-{path.name}")
    try:
        with _quiet(io.StringIO()):
            out = meshio.Mesh(
                _solid(mesh),
                [(name, _native(nodes)) for name, nodes in mesh.cells]
                or [("vertex", np.arange(len(mesh.points))[:, None])],
                point_data={_escaped(name, kind): values for name, values in point_data.items()},
                cell_data={_escaped(name, kind): list(blocks) for name, blocks in cell_data.items()},
            )
            out.write(part, file_format=kind, **({"data_format": "XML"} if kind == "xdmf" else {}))
            if field_data:
                _add_field_data(part, field_data)
        again = read_mesh(part)
        lost = _differences(point_data, again.point_data) + _differences(field_data, again.field_data)
        lost += _differences(_joined(cell_data), _joined(again.cell_data))
        lost += [] if np.array_equal(_solid(mesh), _solid(again)) else ["points"]
        nodes = [[nodes.ravel() for _, nodes in cells] for cells in (mesh.cells, again.cells)]
        lost += _differences(_joined({"cells": nodes[0]}), _joined({"cells": nodes[1]}))
        if lost:
            raise ValueError(f"{', '.join(lost)} came back changed")
        os.replace(part, path)
    except OSError:
        raise
    except (Exception, SystemExit) as error:  # meshio's writers fail in every way there is
        raise ValueError(
            f"{path}: Expected fields that the format can hold (got: {type(error).__name__}: {error}); give the fields "
            f"plain names and numbers, or write .vtu"
        ) from error
    finally:
        part.unlink(missing_ok=True)


def point_fields(mesh: Mesh, names: Sequence[str]) -> NDArray[np.float64]:
    """Named point fields side by side, ``[N, channels]``; a vector gives as many channels as it has components.

    Raises:
        ValueError: If a field is missing, is not numeric, or holds a value that is not finite.
    """
    where = f"{mesh.path}: " if mesh.path else ""
    columns = []
    for name in names:
        if name not in mesh.point_data:
            near = difflib.get_close_matches(name, list(mesh.point_data), 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            have = ", ".join(repr(other) for other in mesh.point_data) or "none"
            raise ValueError(f"{where}Expected a point field {name!r} (got {have}){hint}")
        values = np.asarray(mesh.point_data[name])
        if values.dtype.kind not in "fiub":
            raise ValueError(f"{where}Expected numbers in the point field {name!r} (got {values.dtype})")
        values = values.reshape(len(values), -1).astype(np.float64)
        bad = ~np.isfinite(values).all(1)
        if bad.any():
            raise ValueError(
                f"{where}Expected finite values in the point field {name!r} (got {values[bad.argmax()].tolist()} at "
                f"point {bad.argmax()}, the first of {bad.sum()})"
            )
        columns.append(values)
    return np.concatenate(columns, 1) if columns else np.zeros((len(mesh.points), 0))


def _from_meshio(raw: Any, path: Path) -> Mesh:
    points = _native(np.asarray(raw.points), np.float64)
    plane = 0.0
    if points.ndim == 2 and points.shape[1] == 3 and len(points) and (points[:, 2] == points[0, 2]).all():
        plane = float(points[0, 2])
        points = points[:, :2]
        flat = all(block.type.startswith(("line", "vertex")) for block in raw.cells)
        if plane == 0.0 and flat and (points[:, 1] == 0).all():
            points = points[:, :1]
    if any(block.type.startswith("polyhedron") for block in raw.cells):
        raise ValueError(
            f"{path}: Expected cells of known types (got polyhedra); split them into tetrahedra in ParaView"
        )
    kept = [index for index, block in enumerate(raw.cells) if len(block.data)]
    name_of = urllib.parse.unquote if path.suffix.lower() == ".vtk" else str  # the legacy format escapes blanks
    return Mesh(
        points=np.ascontiguousarray(points),
        cells=tuple((raw.cells[index].type, _native(np.asarray(raw.cells[index].data), np.int64)) for index in kept),
        point_data={name_of(name): _native(np.asarray(values)) for name, values in raw.point_data.items()},
        cell_data={
            name_of(name): tuple(_native(np.asarray(blocks[index])) for index in kept if index < len(blocks))
            for name, blocks in raw.cell_data.items()
        },
        field_data={name: _native(np.asarray(values)) for name, values in raw.field_data.items()},
        plane=plane,
        path=path,
    )


@contextlib.contextmanager
def _quiet(said: io.StringIO) -> Iterator[None]:
    """Keeps what meshio prints; its warnings go nowhere."""
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _native(values: NDArray[Any], kind: Any = None) -> NDArray[Any]:
    """A copy in the machine's own byte order."""
    return values.astype(values.dtype.newbyteorder("=") if kind is None else kind)


def _solid(mesh: Mesh) -> NDArray[np.float64]:
    """The points with three coordinates, as files hold them."""
    points = np.zeros((len(mesh.points), 3))
    points[:, : mesh.points.shape[1]] = mesh.points
    if mesh.points.shape[1] == 2:
        points[:, 2] = mesh.plane
    return points


def _storable(values: NDArray[Any], kind: str) -> NDArray[Any]:
    """A copy of a field as files can hold it."""
    values = _native(np.asarray(values))
    if values.dtype in (np.bool_, np.float16):  # which no format has
        values = values.astype(np.uint8 if values.dtype == np.bool_ else np.float32)
    if values.ndim > 2:
        values = values.reshape(len(values), -1)
    if values.ndim == 2 and values.shape[1] == 2 and kind != "vtu":
        values = np.concatenate([values, np.zeros_like(values[:, :1])], 1)
    return values


def _escaped(name: str, kind: str) -> str:
    """The name of a field as meshio must be given it: its VTK writers escape nothing."""
    if kind == "vtk":
        return urllib.parse.quote(name, safe=string.punctuation.replace("%", "").replace('"', ""))
    if kind == "vtu":
        quoted = escape(name, {'"': "&quot;", "\t": "&#9;", "\n": "&#10;", "\r": "&#13;"})
        return quoted.encode("ascii", "xmlcharrefreplace").decode()
    return name


def _add_field_data(path: Path, field_data: Mapping[str, NDArray[Any]]) -> None:
    """Meshio reads a VTU's field data but does not write it."""
    types = {"f8": "Float64", "f4": "Float32", "i8": "Int64", "i4": "Int32", "u8": "UInt64", "u4": "UInt32"}
    lines = ["<FieldData>"]
    for name, values in field_data.items():
        width = f' NumberOfComponents="{values.shape[1]}"' if values.ndim == 2 else ""
        lines.append(
            f'<DataArray type="{types[values.dtype.str[1:]]}" Name="{_escaped(name, "vtu")}" '
            f'NumberOfTuples="{len(values)}"{width} format="ascii">'
        )
        lines.append(" ".join(repr(value) for value in values.ravel().tolist()) + "</DataArray>")
    mark = "<UnstructuredGrid>\n"
    before, _, after = path.read_text().partition(mark)
    path.write_text(before + mark + "\n".join([*lines, "</FieldData>"]) + "\n" + after)


def _joined(cell_data: Mapping[str, Sequence[NDArray[Any]]]) -> dict[str, NDArray[Any]]:
    return {name: np.concatenate(list(blocks)) for name, blocks in cell_data.items() if blocks}


def _differences(mine: Mapping[str, NDArray[Any]], theirs: Mapping[str, NDArray[Any]]) -> list[str]:
    """Names of the fields that did not come back as they were; a column may come back as ``[N]``."""
    return [
        repr(name)
        for name, values in mine.items()
        if name not in theirs
        or values.size != theirs[name].size
        or not np.array_equal(values.ravel(), theirs[name].ravel(), equal_nan=True)
    ]


def _refuse_overlooked(path: Path) -> None:
    pattern = OVERLOOKED.get(path.suffix.lower())
    found = re.search(pattern, path.read_text(errors="replace"), re.MULTILINE | re.IGNORECASE) if pattern else None
    if found:
        raise ValueError(
            f"{path}: Expected points in plain coordinates (got {found.group().splitlines()[0].strip()!r}, which "
            f"meshio passes over, so that points would be wrong or missing); export one flat mesh, or save it as .vtu"
        )


def _tidy_su2(path: Path, folder: Path) -> Path:
    """A copy that meshio reads rightly: with mixed line ends or comments it reads wrong coordinates without a word.

    An index at the end of the rows of points is dropped too.
    """
    lines = [line.split("%")[0].strip() for line in path.read_text(errors="replace").splitlines()]
    lines = [re.sub(r"\s*=\s*", "= ", line) for line in lines if line]
    heads = {name: [line for line in lines if line.startswith(f"{name}=")] for name in ("NDIME", "NPOIN")}
    if any(len(found) != 1 for found in heads.values()):
        raise meshio.ReadError("a SU2 file of one zone has one NDIME and one NPOIN")
    dimension, count = (int(heads[name][0].split()[1]) for name in heads)
    start = lines.index(heads["NPOIN"][0]) + 1
    rows = [line.split() for line in lines[start : start + count]]
    columns = {len(row) for row in rows}
    if len(rows) != count or len(columns) != 1 or not dimension <= min(columns) <= dimension + 2:
        raise meshio.ReadError(f"{count} rows of {dimension} coordinates, and at most two indices, should follow NPOIN")
    lines[start : start + count] = [" ".join(row[:dimension]) for row in rows]
    copy = folder / path.name
    copy.write_text("\n".join(lines) + "\n")
    return copy
