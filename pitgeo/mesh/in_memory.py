"""Meshes from objects in memory: of meshio, PyVista, PyG, or dictionaries of arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch_geometric.data import Batch, Data

from pitgeo.mesh import Mesh, from_meshio, from_pyvista

__all__ = ["as_mesh", "sample_meshes"]

GRAPH = ("edge_index", "edge_attr", "edge_weight", "edge_type", "adj", "adj_t", "num_nodes", "batch", "ptr")
"""Attributes of PyG's ``Data`` that are of a graph, and none of a mesh: they are passed over."""

PARTS = ("point_data", "cell_data", "field_data", "point_sets", "cell_sets")
"""Keys of a dictionary under which fields and sets are, as in a :class:`~pitgeo.mesh.Mesh`."""

FACES = {3: "triangle", 4: "tetra"}
"""What the columns of ``face`` are, by their number of rows."""


def as_mesh(sample: Any) -> Mesh:
    """Convert an object in memory to a mesh; nothing of it is changed or shared.

    - A :class:`pitgeo.mesh.Mesh`, as it is.
    - A mesh of meshio, with all its fields and sets.
    - A data set of PyVista or VTK (``UnstructuredGrid``, ``PolyData``, ``ImageData``, ``StructuredGrid``,
      ``RectilinearGrid``, ``MultiBlock``), with all its fields.
    - PyG's ``Data`` with ``pos`` ``[N, D]``. ``face`` ``[3, F]`` are triangles, ``face`` ``[4, F]`` in 3D tetrahedra.
      What is of a graph (:data:`GRAPH`, ``edge_index`` among them) is passed over.
    - A dictionary with ``points`` ``[N, D]``, and perhaps ``cells``: pairs of meshio's type and ``[cells, nodes]``, or
      a dictionary of these. Its ``point_data``, ``cell_data``, ``field_data``, ``point_sets`` and ``cell_sets``,
      dictionaries by name, are those of a :class:`~pitgeo.mesh.Mesh`; a cell field may be one array of all cells.

    Every other attribute or key is a field of the points if it has ``N`` rows, ``[N]`` or ``[N, ...]``, which become
    ``[N, K]`` in C order (``[N, 3, 3]`` nine components, row by row). It is a number of the mesh as a whole (or a text)
    if it is a single one, ``[1]`` or ``[1, k]``. With a single point both would be meant, which is refused. Arrays may
    be of numpy or torch, of any numbers but complex ones, on any device, and may require gradients.

    Args:
        sample: One of these.

    Raises:
        ValueError: If it is none of these, or an array is not as said; the message names it.

    Example:
        >>> corners = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
        >>> mesh = as_mesh({"points": corners, "cells": {"triangle": [[0, 1, 2]]}, "heat": [1, 2, 3], "load": 0.5})
        >>> mesh.point_data["heat"].tolist(), mesh.field_data["load"].tolist()
        ([1, 2, 3], 0.5)
    """
    if isinstance(sample, Mesh):
        return _checked(sample)
    if isinstance(sample, Data):
        return _from_data(sample)
    if isinstance(sample, Mapping):
        return _from_dictionary(sample)
    if hasattr(sample, "IsA") and hasattr(sample, "GetClassName"):  # VTK's, and so PyVista's
        return from_pyvista(sample)
    if all(hasattr(sample, name) for name in ("points", "cells", "point_data", "cell_data")):  # meshio's
        for name in ("point_data", "cell_data", "field_data"):
            for key, values in getattr(sample, name, {}).items():
                for part in values if name == "cell_data" else (values,):
                    array(part, f"{name} {key!r}")
        return from_meshio(sample)
    raise ValueError(
        f"Expected a mesh of pitgeo, meshio or PyVista, PyG's Data, or a dictionary of arrays (got "
        f"{type(sample).__name__}); put the arrays into a dictionary with 'points'"
    )


def sample_meshes(samples: Any) -> list[Mesh]:
    """The meshes of several samples.

    Raises:
        ValueError: If it is a single sample, or one of them is not as :func:`as_mesh` says; the message has its number.
    """
    is_one = isinstance(samples, (Mesh, Data, Mapping, str, bytes)) or hasattr(samples, "points") or _is_vtk(samples)
    if is_one or not isinstance(samples, Iterable):
        raise ValueError(
            f"Expected 'samples' to be a list of samples (got one {type(samples).__name__}); put it in brackets"
        )
    meshes = []
    for number, sample in enumerate(samples):
        try:
            meshes.append(as_mesh(sample))
        except ValueError as error:
            raise ValueError(f"sample {number}: {error}") from error
    return meshes


def array(values: Any, what: str) -> NDArray[Any]:
    """Numbers or texts as a numpy array in the machine's byte order.

    Args:
        values: A tensor, an array, numbers, or lists of these.
        what: What they are called in messages.

    Raises:
        ValueError: If they are neither real numbers nor texts, or some are masked.
    """
    expected = f"Expected {what} to be an array of real numbers"
    try:
        found = _plain(values)
    except Exception as error:  # of whatever library the values are
        reason = " ".join(str(error).split())[:200]
        raise ValueError(f"{expected} (got {type(values).__name__}, of which none can be made: {reason})") from error
    if isinstance(found, np.ma.MaskedArray):
        if np.ma.getmaskarray(found).any():
            raise ValueError(f"{expected} (got one with masked values); fill them, or leave the field out")
        found = found.data
    if found.dtype.kind == "O" and found.size and all(isinstance(value, str) for value in found.ravel()):
        found = found.astype(np.str_)
    if found.dtype.kind not in "fiubU":
        kind = "objects" if found.dtype.kind == "O" else str(found.dtype)
        raise ValueError(f"{expected} (got {kind}); convert it, or leave it out")
    if found.dtype.kind == "f" and found.dtype.itemsize > 8:
        found = found.astype(np.float64)
    return np.ascontiguousarray(found, found.dtype.newbyteorder("=")).reshape(found.shape)


def _plain(values: Any) -> NDArray[Any]:
    if isinstance(values, torch.Tensor):
        values = values.detach().cpu().resolve_conj().resolve_neg()
        is_odd = values.is_floating_point() and values.dtype not in (torch.float16, torch.float32, torch.float64)
        plain: NDArray[Any] = (values.float() if is_odd else values).numpy()
        return plain
    if isinstance(values, (list, tuple)) and any(isinstance(value, (torch.Tensor, list, tuple)) for value in values):
        return np.asarray([_plain(value) for value in values])
    return values if isinstance(values, np.ndarray) else np.asarray(values)


def _is_vtk(sample: Any) -> bool:
    return hasattr(sample, "IsA") and hasattr(sample, "GetClassName")


def _checked(mesh: Mesh) -> Mesh:
    """A mesh whose fields are arrays; the mesh itself if they are."""
    given = [*mesh.point_data.values(), *mesh.field_data.values()]
    if all(isinstance(values, np.ndarray) and values.dtype.kind in "fiubU" for values in given):
        return mesh
    fields = {name: array(values, f"the field {name!r}") for name, values in mesh.point_data.items()}
    whole = {name: array(values, f"the field {name!r}") for name, values in mesh.field_data.items()}
    return replace(mesh, point_data=fields, field_data=whole)


def _from_data(data: Data) -> Mesh:
    if isinstance(data, Batch):
        raise ValueError(f"Expected one sample (got a batch of {data.num_graphs}); take batch.to_data_list()")
    if data.get("pos") is None:
        raise ValueError(f"Expected a sample with positions 'pos' (got {list(data.keys())})")
    points = array(data.pos, "'pos'")
    given = {name: values for name, values in data if name not in ("pos", "face", *GRAPH) and values is not None}
    face = data.get("face")
    return _mesh(points, () if face is None else _faces(array(face, "'face'"), points), given)


def _faces(face: NDArray[Any], points: NDArray[Any]) -> list[tuple[str, NDArray[Any]]]:
    rows = face.shape[0] if face.ndim == 2 else 0
    if rows not in FACES or (rows == 4 and points.shape[1:] != (3,)):
        axes = points.shape[-1]
        raise ValueError(
            f"Expected 'face' of shape [3, F], triangles, or with positions in 3D [4, F], tetrahedra (got "
            f"{list(face.shape)} in {axes}D); other cells go into the 'cells' of a dictionary"
        )
    return [(FACES[rows], face.T)]


def _from_dictionary(sample: Mapping[Any, Any]) -> Mesh:
    if "points" not in sample:
        raise ValueError(f"Expected a dictionary with 'points' (got the keys {list(sample)})")
    names = [name for name in sample if not isinstance(name, str)]
    if names:
        raise ValueError(f"Expected names of fields that are texts (got {names[0]!r})")
    parts = {part: sample[part] for part in PARTS if sample.get(part) is not None}
    for part, content in parts.items():
        if not isinstance(content, Mapping):
            raise ValueError(f"Expected {part!r} to be a dictionary by name (got {type(content).__name__})")
    given = {name: values for name, values in sample.items() if name not in ("points", "cells", *PARTS)}
    return _mesh(array(sample["points"], "'points'"), _pairs(sample.get("cells")), given, parts)


def _pairs(cells: Any) -> list[tuple[str, Any]]:
    """Pairs of a type and its nodes."""
    if cells is None:
        return []
    found: Any = list(cells.items()) if isinstance(cells, Mapping) else cells
    try:
        return [(cell.type, cell.data) if hasattr(cell, "data") else (cell[0], cell[1]) for cell in found]
    except (TypeError, IndexError, KeyError) as error:
        raise ValueError(
            f"Expected 'cells' to be pairs of a type and its nodes, [('triangle', [[0, 1, 2]])], or a dictionary of "
            f"these (got {type(cells).__name__} of others)"
        ) from error


def _mesh(
    points: NDArray[Any],
    cells: Iterable[tuple[Any, Any]],
    given: Mapping[str, Any],
    parts: Mapping[str, Mapping[str, Any]] | None = None,
) -> Mesh:
    parts = parts or {}
    if points.dtype.kind == "U":
        raise ValueError("Expected numbers as positions (got texts)")
    blocks = tuple((str(kind), _whole(nodes, f"the nodes of {kind!r} cells")) for kind, nodes in cells)
    blocks = tuple(block for block in blocks if block[1].size)
    mesh = Mesh(points=points.astype(np.float64), cells=blocks)
    whole = {name: array(values, f"'field_data' {name!r}") for name, values in parts.get("field_data", {}).items()}
    fields = {}
    for name, values in parts.get("point_data", {}).items():
        fields[name] = _rows(array(values, f"'point_data' {name!r}"), f"'point_data' {name!r}", len(points), "point")
    for name, values in given.items():
        found = array(values, repr(name))
        is_field, is_number = found.shape[:1] == points.shape[:1], found.ndim == 0 or found.shape[0] == 1
        if name in (whole if is_number else fields):
            raise ValueError(f"Expected {name!r} once (got it by itself, and in a dictionary of fields); leave one out")
        if is_field and is_number:
            raise ValueError(
                f"Expected more than one point (got one, so that {name!r} of shape {list(found.shape)} may be a field "
                f"of the points or a number of the mesh); give a dictionary with 'point_data' or 'field_data'"
            )
        if is_number and found.ndim <= 2:
            whole[name] = found.reshape(-1) if found.ndim else found
        else:
            fields[name] = _rows(found, repr(name), len(points), "point", ", or a number of the mesh, [] or [1, k]")
    return replace(
        mesh,
        point_data=fields,
        field_data=whole,
        cell_data={name: _of_cells(values, name, mesh) for name, values in parts.get("cell_data", {}).items()},
        point_sets={name: _whole(own, f"the point set {name!r}") for name, own in parts.get("point_sets", {}).items()},
        cell_sets={name: _of_blocks(own, name, mesh) for name, own in parts.get("cell_sets", {}).items()},
    )


def _rows(values: NDArray[Any], what: str, count: int, thing: str, other: str = "") -> NDArray[Any]:
    """A field ``[count]`` or ``[count, K]``."""
    if values.shape[:1] != (count,):
        raise ValueError(
            f"Expected {what} to have {count} rows, one a {thing}{other} (got shape {list(values.shape)}); mend it, or "
            f"leave it out"
        )
    return values.reshape(count, -1) if values.ndim > 2 else values


def _of_cells(values: Any, name: str, mesh: Mesh) -> tuple[NDArray[Any], ...]:
    """A field of cells, given block by block or for all of them one after another."""
    what, sizes = f"'cell_data' {name!r}", [len(nodes) for _, nodes in mesh.cells]
    if isinstance(values, (list, tuple)) and len(values) == len(sizes) and all(np.ndim(part) for part in values):
        parts = [array(part, what) for part in values]
        if [len(part) for part in parts] == sizes:
            return tuple(_rows(part, what, len(part), "cell") for part in parts)
    return mesh.by_block(_rows(array(values, what), what, sum(sizes), "cell"))


def _of_blocks(members: Any, name: str, mesh: Mesh) -> tuple[NDArray[np.int64], ...]:
    if not isinstance(members, Sequence) or isinstance(members, str):
        raise ValueError(
            f"Expected one list of numbers a block of cells in 'cell_sets' {name!r}, {len(mesh.cells)} (got "
            f"{type(members).__name__})"
        )
    return tuple(_whole(part, f"the cell set {name!r}") for part in members)


def _whole(values: Any, what: str) -> NDArray[np.int64]:
    found = array(values, what)
    if found.size and found.dtype.kind not in "iu":
        raise ValueError(f"Expected {what} to be whole numbers (got {found.dtype})")
    return found.astype(np.int64)
