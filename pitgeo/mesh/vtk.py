"""Files that meshio does not read, by VTK's readers; PolyData files."""

from __future__ import annotations

import contextlib
import importlib
import io
import re
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pitgeo import _vtk
from pitgeo.mesh.cell_types import VTK_TYPES
from pitgeo.mesh.formats import endings_of
from pitgeo.mesh.ghosts import without_ghosts
from pitgeo.mesh.mesh import Mesh
from pitgeo.mesh.names import DECODED, each_once, is_misencoded, tidy_xml
from pitgeo.mesh.notes import Note
from pitgeo.mesh.pieces import join
from pitgeo.mesh.raw import Raw
from pitgeo.mesh.vtk_texts import texts_from_vtk, texts_to_vtk

PIECES = (".vtu", ".pvtu", ".vtp", ".pvtp")
"""Endings of files that may hold, or name, several pieces of one grid."""

OTHER_ENDINGS = {".avs": ".inp", ".tec": ".dat", ".exodus": ".exo", ".gen": ".g"}
"""Endings that PyVista knows by another name."""

PARALLEL = {".pvtp": "vtkXMLPPolyDataReader", ".pvts": "vtkXMLPStructuredGridReader"}
"""Readers that PyVista does not know."""

INNER = ("Internal", "internalMesh")
"""Names of blocks that are called as what they are in."""

ORDER = {8: [0, 1, 3, 2], 11: [0, 1, 3, 2, 4, 5, 7, 6], 13: [0, 2, 1, 3, 5, 4]}
"""VTK's nodes in meshio's order: of pixels, voxels and wedges."""


def pyvista() -> Any:
    """PyVista, which only files that meshio does not read need.

    Raises:
        ValueError: If it is not installed.
    """
    try:
        return _vtk.pyvista()
    except ImportError as error:
        raise ValueError(str(error)) from error


def read_vtk(path: Path) -> Raw:
    """Read a file with VTK; its pieces and blocks are put together, see :func:`~pitgeo.mesh.pieces.join`.

    Raises:
        ValueError: If VTK finds an error, or the file holds cells that are not known.
    """
    with tempfile.TemporaryDirectory() as folder, _quiet() as errors:
        reader = _reader(tidy_xml(path, Path(folder)))
        grids = (_pieces if path.suffix.lower() in PIECES else _whole)(path, reader)
    if errors:
        raise ValueError("; ".join(" ".join(error.split()) for error in errors)[:500])
    with _quiet() as errors:
        raw = join([(name, _raw(grid)) for name, grid in grids])
    raw.notes += [DECODED] * is_misencoded(path)
    times = _times(reader)
    if len(times) > 1:
        raw.notes.append(Note("one of several times", f"the first of {len(times)} times, {times[0]:g}, is read"))
    return raw


def from_pyvista(data: Any) -> Mesh:
    """A data set of PyVista or VTK as a mesh of pitgeo; its blocks are put together, and nothing of it is changed.

    Args:
        data: ``UnstructuredGrid``, ``PolyData``, ``ImageData``, ``StructuredGrid``, ``RectilinearGrid`` or
            ``MultiBlock``.

    Raises:
        ValueError: If it is no mesh, or holds cells that are not known.
    """
    try:
        with _quiet():
            raw = join([(name, _raw(grid)) for name, grid in _parts(pyvista().wrap(data))])
        return replace(without_ghosts(raw).mesh(Path("a data set of PyVista")), path=None)
    except Exception as error:  # VTK fails in many ways
        reason = " ".join(str(error).removeprefix("a data set of PyVista: ").split())
        raise ValueError(
            f"Expected a data set of PyVista with points and cells (got {type(data).__name__}: {reason}); convert it "
            f"by cast_to_unstructured_grid()"
        ) from error


def _reader(path: Path) -> Any:
    """VTK's reader of a file, as PyVista sets it up."""
    suffix = path.suffix.lower()
    if suffix in PARALLEL:
        reader = getattr(importlib.import_module("vtkmodules.vtkIOXML"), PARALLEL[suffix])()
        reader.SetFileName(str(path))
        return reader
    return pyvista().get_reader(str(path), force_ext=OTHER_ENDINGS.get(suffix, suffix)).reader


def _whole(path: Path, reader: Any) -> list[tuple[str, Any]]:
    reader.Update()
    data = pyvista().wrap(reader.GetOutputDataObject(0))
    if data is None:
        raise ValueError("the file holds no mesh")
    if path.suffix.lower() in endings_of("Exodus") and "Element Blocks" in data.keys():  # noqa: SIM118 (not a dict)
        data = data["Element Blocks"]
    return _parts(data)


def _times(reader: Any) -> tuple[float, ...]:
    """The times that a file holds, as its reader says."""
    key = importlib.import_module("vtkmodules.vtkCommonExecutionModel").vtkStreamingDemandDrivenPipeline.TIME_STEPS()
    facts = reader.GetOutputInformation(0)
    return tuple(facts.Get(key)) if facts is not None and facts.Has(key) else ()


def _pieces(path: Path, reader: Any) -> list[tuple[str, Any]]:
    """The pieces of a file in XML, each as a grid of its own."""
    reader.UpdateInformation()
    head = path.read_bytes().partition(b"<AppendedData")[0]
    count = max(1, len(re.findall(rb"<Piece\b", head)))
    found = []
    for number in range(count):
        reader.UpdatePiece(number, count, 0)
        grid = pyvista().wrap(reader.GetOutputDataObject(0)).copy()
        found += [(name, part) for name, part in _parts(grid) if part.n_points]
    return found


def write_vtk(
    path: Path,
    points: NDArray[np.float64],
    cells: list[tuple[str, NDArray[np.int64]]],
    point_data: Mapping[str, NDArray[Any]],
    cell_data: Mapping[str, NDArray[Any]],
    field_data: Mapping[str, NDArray[Any]],
) -> None:
    """Write a mesh with VTK, as the ending of the name says: ``.vtu``, or ``.vtp`` for points, lines and faces.

    Raises:
        ValueError: If the format has no such cells, or has them in another order.
    """
    with _quiet() as errors:
        data = _polydata(points, cells) if path.suffix.lower() == ".vtp" else _grid(points, cells)
        for target, fields in (
            (data.point_data, point_data),
            (data.cell_data, cell_data),
            (data.field_data, field_data),
        ):
            for name, values in fields.items():
                if values.dtype.kind == "U":
                    target.VTKObject.AddArray(texts_to_vtk(values, name))
                else:
                    target.set_array(values, name)
        data.save(str(path))
    if errors:
        raise ValueError("; ".join(" ".join(error.split()) for error in errors)[:500])


def _polydata(points: NDArray[np.float64], cells: list[tuple[str, NDArray[np.int64]]]) -> Any:
    slots = {"vertex": 0, "line": 1, "triangle": 2, "quad": 2, "polygon": 2}
    order = [slots.get(kind, 3) for kind, _ in cells]
    if 3 in order or order != sorted(order):
        raise ValueError(
            f".vtp holds vertex, line, then triangle, quad and polygon cells, not "
            f"{', '.join(kind for kind, _ in cells)}"
        )
    padded: list[list[NDArray[np.int64]]] = [[], [], []]
    for slot, (_, nodes) in zip(order, cells, strict=True):
        padded[slot].append(_padded(nodes))
    verts, lines, faces = (np.concatenate(parts) if parts else None for parts in padded)
    return pyvista().PolyData(points, verts=verts, lines=lines, faces=faces)


def _grid(points: NDArray[np.float64], cells: list[tuple[str, NDArray[np.int64]]]) -> Any:
    numbers = {kind: number for number, kind in VTK_TYPES.items()}
    unknown = [kind for kind, _ in cells if kind not in numbers]
    if unknown:
        raise ValueError(f".vtu does not hold {', '.join(unknown)} cells")
    types = np.concatenate([np.full(len(nodes), numbers[kind], np.uint8) for kind, nodes in cells])
    nodes = [_padded(nodes[:, ORDER[13]] if kind == "wedge" else nodes) for kind, nodes in cells]
    return pyvista().UnstructuredGrid(np.concatenate(nodes), types, points)


def _padded(nodes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Every cell with its number of nodes before it."""
    return np.insert(nodes, 0, nodes.shape[1], axis=1).ravel()


@contextlib.contextmanager
def _quiet() -> Iterator[list[str]]:
    """Keeps what VTK says, and gives its errors at the end."""
    errors: list[str] = []
    said = io.StringIO()
    logger = importlib.import_module("vtkmodules.vtkCommonCore").vtkLogger
    before = logger.GetCurrentVerbosityCutoff()
    with (
        contextlib.redirect_stdout(said),
        contextlib.redirect_stderr(said),
        warnings.catch_warnings(),
        pyvista().VtkErrorCatcher(send_to_logging=False) as caught,
    ):
        warnings.simplefilter("ignore")
        logger.SetStderrVerbosity(logger.VERBOSITY_OFF)
        try:
            yield errors
        finally:
            logger.SetStderrVerbosity(before)
    # VTK cannot read some of the ranges that it writes beside the values: they are not needed.
    errors.extend(event.alert for event in caught.error_events if "InformationKey" not in event.alert)


def _parts(data: Any, name: str = "") -> list[tuple[str, Any]]:
    """The grids of a file and their names, those in blocks of blocks too."""
    if hasattr(data, "celltypes"):
        return [(name, data)]
    if hasattr(data, "n_blocks"):
        blocks = [(data.get_block_name(number) or "", data[number]) for number in range(data.n_blocks)]
        return [
            part for own, block in blocks if block is not None for part in _parts(block, name if own in INNER else own)
        ]
    grid = data.cast_to_unstructured_grid()
    if grid.n_points != data.n_points:
        raise ValueError(f"{data.n_points} points became {grid.n_points}")
    return [(name, grid)]


def _raw(grid: Any) -> Raw:
    array = pyvista().convert_array
    offsets, nodes = (
        array(part) for part in (grid.GetCells().GetOffsetsArray(), grid.GetCells().GetConnectivityArray())
    )
    cells, sources = _cells(np.asarray(grid.celltypes), offsets, nodes)
    notes: list[Note] = []
    cell_data = _arrays(grid.cell_data, notes)
    return Raw(
        points=np.array(grid.points),
        cells=cells,
        point_data=_arrays(grid.point_data, notes),
        cell_data={name: [values[source] for source in sources] for name, values in cell_data.items()},
        field_data=_arrays(grid.field_data, notes),
        notes=notes,
    )


def _arrays(fields: Any, notes: list[Note]) -> dict[str, NDArray[Any]]:
    found: dict[str, NDArray[Any]] = {}
    left = []
    stored: list[str | bytes] = list(fields.keys())  # bytes where they are no UTF-8
    for key, name in zip(stored, each_once(stored, "field", notes), strict=True):
        held = fields.VTKObject.GetAbstractArray(key)
        if held.IsA("vtkStringArray"):
            values = texts_from_vtk(held, notes)
        else:
            values = np.array(fields[key] if isinstance(key, str) else pyvista().convert_array(held))
        if values.dtype.kind in "fiubU":
            found[name] = values
        else:
            left.append(name)
    if left:
        notes.append(Note("left out", f"{', '.join(left)} left out, which hold neither numbers nor texts"))
    return found


def _cells(
    types: NDArray[Any], offsets: NDArray[Any], connectivity: NDArray[Any]
) -> tuple[list[tuple[str, NDArray[Any]]], list[NDArray[Any]]]:
    """Blocks of cells of one type and size, and the number of the cell in the file that each comes from."""
    sizes = np.diff(offsets)
    starts = np.flatnonzero(np.diff(types, prepend=-1) | np.diff(sizes, prepend=-1))
    cells: list[tuple[str, NDArray[Any]]] = []
    sources: list[NDArray[Any]] = []
    for start, end in zip(starts, [*starts[1:], len(types)], strict=True):
        if not sizes[start]:
            continue
        nodes = connectivity[offsets[start] : offsets[end]].reshape(-1, sizes[start])
        kind, nodes = _plain(int(types[start]), nodes)
        source = np.repeat(np.arange(start, end), len(nodes) // (end - start))
        if cells and cells[-1][0] == kind and cells[-1][1].shape[1] == nodes.shape[1]:
            cells[-1] = (kind, np.concatenate([cells[-1][1], nodes]))
            sources[-1] = np.concatenate([sources[-1], source])
        else:
            cells.append((kind, nodes))
            sources.append(source)
    return cells, sources


def _plain(vtk_type: int, nodes: NDArray[Any]) -> tuple[str, NDArray[Any]]:
    """Cells by meshio's name, in its order of nodes; chains and strips are cut into lines and triangles."""
    if vtk_type == 2:
        return "vertex", nodes.reshape(-1, 1)
    if vtk_type == 4:
        return "line", np.stack([nodes[:, :-1], nodes[:, 1:]], 2).reshape(-1, 2)
    if vtk_type == 6:
        triangles = np.stack([nodes[:, :-2], nodes[:, 1:-1], nodes[:, 2:]], 2)
        triangles[:, 1::2] = triangles[:, 1::2, [1, 0, 2]]
        return "triangle", triangles.reshape(-1, 3)
    if vtk_type in ORDER:
        nodes = nodes[:, ORDER[vtk_type]]
    kind = {8: "quad", 11: "hexahedron"}.get(vtk_type) or VTK_TYPES.get(vtk_type)
    if kind is None:
        raise ValueError(
            f"cells of VTK's type {vtk_type}{' (polyhedra)' if vtk_type == 42 else ''} are not known; split them into "
            f"tetrahedra in ParaView"
        )
    return kind, nodes
