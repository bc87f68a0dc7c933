"""Files that meshio does not read, by VTK's readers; PolyData files."""

from __future__ import annotations

import contextlib
import importlib
import io
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pitgeo import _vtk
from pitgeo.mesh.cell_types import VTK_TYPES
from pitgeo.mesh.notes import Note
from pitgeo.mesh.raw import Raw
from pitgeo.mesh.vtk_texts import texts_from_vtk, texts_to_vtk

EXODUS = (".e", ".ex2", ".exii", ".exo", ".exodus")
READABLE = (
    *(".vtu", ".vtk", ".vtp", ".vts", ".vtr", ".vti", ".vtm", ".vtmb", ".pvtu", ".pvtp", ".pvts", ".pvtr", ".pvti"),
    *(".case", ".obj", ".stl", ".ply", ".cgns", *EXODUS),
)
"""Endings of files that VTK reads by itself; PyVista hands others on to meshio."""

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
    """Read a file with VTK; the blocks of a file of several are put together, and their points kept apart.

    Raises:
        ValueError: If VTK finds an error, or the file holds cells that are not known.
    """
    with _quiet() as errors:
        data = pyvista().read(str(path))
    if errors:
        raise ValueError("; ".join(" ".join(error.split()) for error in errors)[:500])
    if path.suffix.lower() in EXODUS and "Element Blocks" in data.keys():  # noqa: SIM118 (not a dict)
        data = data["Element Blocks"]
    with _quiet() as errors:
        return _together([_raw(part) for part in _parts(data)])


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
    errors.extend(event.alert for event in caught.error_events)


def _parts(data: Any) -> list[Any]:
    """The grids of a file, those in blocks of blocks too."""
    if hasattr(data, "celltypes"):
        return [data]
    if hasattr(data, "n_blocks"):
        return [part for block in data if block is not None for part in _parts(block)]
    grid = data.cast_to_unstructured_grid()
    if grid.n_points != data.n_points:
        raise ValueError(f"{data.n_points} points became {grid.n_points}")
    return [grid]


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
    for name in fields.keys():  # noqa: SIM118 (not a dict)
        held = fields.VTKObject.GetAbstractArray(name)
        values = texts_from_vtk(held) if held.IsA("vtkStringArray") else np.array(fields[name])
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


def _together(parts: list[Raw]) -> Raw:
    """One mesh of several blocks; where a block lacks a field, its values are not-a-number there."""
    parts = [part for part in parts if len(part.points)]
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return Raw(np.zeros((0, 3)))
    notes = [Note("pieces", f"{len(parts)} blocks are put together"), *(note for part in parts for note in part.notes)]
    firsts = np.cumsum([0, *(len(part.points) for part in parts)])
    whole = Raw(
        points=np.concatenate([part.points for part in parts]),
        cells=[(kind, nodes + first) for part, first in zip(parts, firsts, strict=False) for kind, nodes in part.cells],
        notes=notes,
    )
    for name in {name: None for part in parts for name in part.point_data}:
        like = [part.point_data.get(name) for part in parts]
        whole.point_data[name] = np.concatenate(_filled(like, [len(part.points) for part in parts]))
    for name in {name: None for part in parts for name in part.cell_data}:
        blocks = [(part.cell_data.get(name), part.cells) for part in parts]
        flat = [values[k] if values else None for values, cells in blocks for k in range(len(cells))]
        whole.cell_data[name] = _filled(flat, [len(nodes) for _, nodes in whole.cells])
    for number, part in enumerate(parts):
        for name, values in part.field_data.items():
            before = whole.field_data.get(name)
            is_other = before is not None and (
                before.dtype.kind != values.dtype.kind or not np.array_equal(before, values)
            )
            whole.field_data[f"{name} (block {number})" if is_other else name] = values
    return whole


def _filled(arrays: list[NDArray[Any] | None], counts: list[int]) -> list[NDArray[Any]]:
    have = [array for array in arrays if array is not None]
    if any(array.dtype.kind == "U" for array in have):  # texts are empty there
        gaps = [np.full((count, *have[0].shape[1:]), "") for count in counts]
        return [gap if array is None else array.astype(str) for array, gap in zip(arrays, gaps, strict=True)]
    kind = np.result_type(*have, *([np.float64] if len(have) < len(arrays) else []))
    shape = have[0].shape[1:]
    return [
        np.full((count, *shape), np.nan) if array is None else array.astype(kind)
        for array, count in zip(arrays, counts, strict=True)
    ]
