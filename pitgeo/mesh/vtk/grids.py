"""Grids of VTK as arrays, in meshio's names and order of nodes."""

from __future__ import annotations

import contextlib
import importlib
import io
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pitgeo.mesh.cell_types import VTK_TYPES
from pitgeo.mesh.ghosts import without_ghosts
from pitgeo.mesh.mesh import Mesh
from pitgeo.mesh.names import decode, each_once
from pitgeo.mesh.notes import Note
from pitgeo.mesh.pieces import join
from pitgeo.mesh.raw import Raw
from pitgeo.mesh.vtk import pyvista_extra as _vtk

INNER = ("Internal", "internalMesh")
"""Names of blocks that are called as what they are in."""

ORDER = {8: [0, 1, 3, 2], 11: [0, 1, 3, 2, 4, 5, 7, 6], 13: [0, 2, 1, 3, 5, 4]}
"""VTK's nodes in meshio's order: of pixels, voxels and wedges."""


def pyvista() -> Any:
    """The module PyVista, which is optional.

    Raises:
        ValueError: If it is not installed.
    """
    try:
        return _vtk.pyvista()
    except ImportError as error:
        raise ValueError(str(error)) from error


def from_pyvista(data: Any) -> Mesh:
    """Convert a data set of PyVista or VTK; its blocks are put together, and nothing of it is changed.

    Args:
        data: ``UnstructuredGrid``, ``PolyData``, ``ImageData``, ``StructuredGrid``, ``RectilinearGrid`` or
            ``MultiBlock``.

    Raises:
        ValueError: If it is no mesh, or holds cells that are not known.

    Example:
        >>> import pyvista
        >>> mesh = from_pyvista(pyvista.ImageData(dimensions=(3, 3, 3)))
        >>> len(mesh.points), [(kind, len(nodes)) for kind, nodes in mesh.cells]
        (27, [('hexahedron', 8)])
    """
    try:
        with quiet():
            raw = join([(name, raw_of(grid)) for name, grid in parts_of(pyvista().wrap(data))])
        return replace(without_ghosts(raw).mesh(Path("a data set of PyVista")), path=None)
    except Exception as error:  # VTK fails in many ways
        reason = " ".join(str(error).removeprefix("a data set of PyVista: ").split())
        raise ValueError(
            f"Expected a data set of PyVista with points and cells (got {type(data).__name__}: {reason}); convert it "
            f"by cast_to_unstructured_grid()"
        ) from error


@contextlib.contextmanager
def quiet() -> Iterator[list[str]]:
    """Suppress VTK's output, and collect its errors."""
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


def parts_of(data: Any, name: str = "") -> list[tuple[str, Any]]:
    """The grids of a file and their names, those in blocks of blocks and in partitions too."""
    if data.IsA("vtkPartitionedDataSetCollection"):
        key = importlib.import_module("vtkmodules.vtkCommonDataModel").vtkCompositeDataSet.NAME()
        found = []
        for number in range(data.GetNumberOfPartitionedDataSets()):
            metadata = data.GetMetaData(number) if data.HasMetaData(number) else None
            own = metadata.Get(key) if metadata is not None and metadata.Has(key) else ""
            found += parts_of(data.GetPartitionedDataSet(number), own or name)
        return found
    if data.IsA("vtkPartitionedDataSet"):
        parts = [data.GetPartition(number) for number in range(data.GetNumberOfPartitions())]
        return [part for own in parts if own is not None for part in parts_of(pyvista().wrap(own), name)]
    if hasattr(data, "celltypes"):
        return [(name, data)]
    if hasattr(data, "n_blocks"):
        blocks = [(data.get_block_name(number) or "", data[number]) for number in range(data.n_blocks)]
        return [
            part
            for own, block in blocks
            if block is not None
            for part in parts_of(block, name if own in INNER else own)
        ]
    grid = data.cast_to_unstructured_grid()
    if grid.n_points != data.n_points:
        raise ValueError(f"{data.n_points} points became {grid.n_points}")
    return [(name, grid)]


def raw_of(grid: Any) -> Raw:
    """The points, cells and fields of a grid."""
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


def texts_from_vtk(held: Any, notes: list[Note]) -> NDArray[np.str_]:
    """The texts ``[n]`` or ``[n, components]`` of VTK's array; those that are no UTF-8 are decoded, and noted."""
    values = [held.GetValue(k) for k in range(held.GetNumberOfValues())]
    texts = [decode(value) if isinstance(value, bytes) else value for value in values]
    odd = next(((value, text) for value, text in zip(values, texts, strict=True) if isinstance(value, bytes)), None)
    if odd:
        notes.append(Note("decoded", f"the text {odd[0]!r} is no UTF-8 and read as {odd[1]!r}"))
    width = held.GetNumberOfComponents()
    return np.array(texts, np.str_).reshape((-1, width) if width > 1 else (-1,))


def texts_to_vtk(values: NDArray[np.str_], name: str) -> Any:
    """VTK's array of texts ``[n]`` or ``[n, components]``."""
    made = importlib.import_module("vtkmodules.vtkCommonCore").vtkStringArray()
    made.SetName(name)
    made.SetNumberOfComponents(values.shape[1] if values.ndim == 2 else 1)
    for text in values.ravel().tolist():
        made.InsertNextValue(text)
    return made
