"""Reading by VTK's readers, and writing of files that meshio does not write."""

from __future__ import annotations

import importlib
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pitgeo.mesh.cell_types import VTK_NUMBERS
from pitgeo.mesh.formats import endings_of
from pitgeo.mesh.names import DECODED, is_misencoded, tidy_xml
from pitgeo.mesh.notes import Note
from pitgeo.mesh.pieces import join
from pitgeo.mesh.raw import Raw
from pitgeo.mesh.vtk.grids import ORDER, parts_of, pyvista, quiet, raw_of, texts_to_vtk

PIECES = (".vtu", ".pvtu", ".vtp", ".pvtp")
"""Endings of files that may hold, or name, several pieces of one grid."""

OTHER_ENDINGS = {".exodus": ".exo", ".gen": ".g"}
"""Endings that PyVista knows by another name."""

PARALLEL = {".pvtp": "vtkXMLPPolyDataReader", ".pvts": "vtkXMLPStructuredGridReader"}
"""Readers that PyVista does not know."""


def read_vtk(path: Path) -> Raw:
    """Read a file with VTK; its pieces and blocks are put together, see :func:`~pitgeo.mesh.pieces.join`.

    Raises:
        ValueError: If VTK finds an error, or the file holds cells that are not known.
    """
    raw, errors = read_with_errors(path)
    if errors:
        raise ValueError("; ".join(" ".join(error.split()) for error in errors)[:500])
    return raw


def read_with_errors(path: Path) -> tuple[Raw, list[str]]:
    """The content of a file as VTK reads it, and VTK's errors."""
    with tempfile.TemporaryDirectory() as folder, quiet() as errors:
        reader = _reader(tidy_xml(path, Path(folder)))
        grids = (_pieces if path.suffix.lower() in PIECES else _whole)(path, reader)
    with quiet():
        raw = join([(name, raw_of(grid)) for name, grid in grids])
    raw.notes += [DECODED] * is_misencoded(path)
    times = _times(reader)
    if len(times) > 1:
        raw.notes.append(Note("one of several times", f"the first of {len(times)} times, {times[0]:g}, is read"))
    return raw, errors


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
    data = reader.GetOutputDataObject(0)
    if data is None:
        raise ValueError("the file holds no mesh")
    if not data.IsA("vtkPartitionedDataSetCollection"):  # which PyVista does not know
        data = pyvista().wrap(data)
    if path.suffix.lower() in endings_of("Exodus") and "Element Blocks" in data.keys():  # noqa: SIM118 (not a dict)
        data = data["Element Blocks"]
    return parts_of(data)


def _times(reader: Any) -> tuple[float, ...]:
    """The times that a file holds, as its reader says."""
    key = importlib.import_module("vtkmodules.vtkCommonExecutionModel").vtkStreamingDemandDrivenPipeline.TIME_STEPS()
    metadata = reader.GetOutputInformation(0)
    return tuple(metadata.Get(key)) if metadata is not None and metadata.Has(key) else ()


def _pieces(path: Path, reader: Any) -> list[tuple[str, Any]]:
    """The pieces of a file in XML, each as a grid of its own."""
    reader.UpdateInformation()
    head = path.read_bytes().partition(b"<AppendedData")[0]
    count = max(1, len(re.findall(rb"<Piece\b", head)))
    found = []
    for number in range(count):
        reader.UpdatePiece(number, count, 0)
        grid = pyvista().wrap(reader.GetOutputDataObject(0)).copy()
        found += [(name, part) for name, part in parts_of(grid) if part.n_points]
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
    with quiet() as errors:
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
    unknown = [kind for kind, _ in cells if kind not in VTK_NUMBERS]
    if unknown:
        raise ValueError(f".vtu does not hold {', '.join(unknown)} cells")
    types = np.concatenate([np.full(len(nodes), VTK_NUMBERS[kind], np.uint8) for kind, nodes in cells])
    nodes = [_padded(nodes[:, ORDER[13]] if kind == "wedge" else nodes) for kind, nodes in cells]
    return pyvista().UnstructuredGrid(np.concatenate(nodes), types, points)


def _padded(nodes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Every cell with its number of nodes before it."""
    return np.insert(nodes, 0, nodes.shape[1], axis=1).ravel()
