"""The values of a mesh's fields, where they are wanted."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pitgeo.data.fields.mesh_field import MeshField, Place
from pitgeo.geometry import geometry_values, is_geometry
from pitgeo.graphs.trees import kd_tree
from pitgeo.mesh import Mesh, cell_fields, centroids, point_fields

Floats = NDArray[np.float64]
PLACES: tuple[Place, ...] = ("point", "cell", "mesh")


def find_field(mesh: Mesh, name: str, parameters: Mapping[str, float]) -> MeshField:
    """Find a field among point data, cell data, field data and the parameters, in this order.

    Raises:
        ValueError: If it is not there, is both point and cell data, or is not numeric.
    """
    where = f"{mesh.path}: " if mesh.path else ""
    start, _, rest = name.partition(":")
    given, bare = (start, rest) if start in PLACES and rest else (None, name)
    data = {"point": mesh.point_data, "cell": mesh.cell_data, "mesh": {**mesh.field_data, **parameters}}
    if given and bare not in data[given] and any(name in fields for fields in data.values()):  # it is called so
        given, bare = None, name
    found: list[tuple[Place, Any]] = []
    if bare in mesh.point_data:
        found.append(("point", mesh.point_data[bare][:1]))
    if bare in mesh.cell_data:
        found.append(("cell", np.concatenate([blocks[:1] for blocks in mesh.cell_data[bare]])[:1]))
    if bare in mesh.field_data or bare in parameters:
        found.append(("mesh", np.atleast_1d(whole_mesh_value(mesh, bare, parameters)).reshape(1, -1)))
    chosen = [entry for entry in found if entry[0] == given] if given else found
    if not chosen:
        have = [*mesh.point_data, *mesh.cell_data, *mesh.field_data, *parameters]
        near = difflib.get_close_matches(bare, have, 1)
        hint = f"; did you mean {near[0]!r}?" if near else "; 'pitgeo describe' lists the fields"
        if found:
            hint = f"; did you mean '{found[0][0]}:{bare}'?"
        elif is_geometry(name):
            hint = f"; {name!r} is computed from the mesh: name it in data.meshes.geometry"
        kind = f"{given} field" if given else "field"
        raise ValueError(f"{where}Expected a {kind} {bare!r} (got {', '.join(map(repr, have)) or 'none'}){hint}")
    if not given and {"point", "cell"} <= {entry[0] for entry in found}:
        raise ValueError(
            f"{where}Expected a name that is point data or cell data (got {bare!r}, which is both); say which: "
            f"'point:{bare}' or 'cell:{bare}'"
        )
    place, values = chosen[0]
    values = np.asarray(values)
    if values.dtype.kind not in "fiub":
        raise ValueError(
            f"{where}Expected numbers in the field {bare!r} (got {_what(values)}); name another, 'pitgeo describe' "
            f"lists the fields"
        )
    return MeshField(bare, int(values.reshape(1, -1).shape[1]) if values.size else 1, place)


def whole_mesh_value(mesh: Mesh, name: str, parameters: Mapping[str, float]) -> Any:
    """What a file says of a mesh as a whole, where that is a number; else the parameter, or a text for want of one."""
    own = mesh.field_data.get(name)
    is_number = own is not None and np.asarray(own).dtype.kind in "fiub"
    return own if is_number or name not in parameters else parameters[name]


def field_values(mesh: Mesh, field: MeshField, place: str, size: int, parameters: Mapping[str, float]) -> Floats:
    """A field where the input values are given, ``[size, components]``."""
    if field.is_geometry:
        try:
            return geometry_values(mesh, field.name, "cell" if place == "cell" else "point")
        except ValueError as error:
            hint = f"; or leave {field.name!r} out of data.meshes.geometry, or this file out"
            raise ValueError(f"{error}{hint}") from error
    where = f"{mesh.path}: " if mesh.path else ""
    if field.place == "mesh":
        if field.name not in mesh.field_data and field.name not in parameters:
            have = ", ".join(map(repr, [*mesh.field_data, *parameters])) or "none"
            raise ValueError(
                f"{where}Expected a number {field.name!r} of the whole mesh, in the file's field data or among the "
                f"parameters (got {have}); give it among the 'parameters' of the prediction, or in the "
                f"table that data.meshes.parameters names"
            )
        values = np.atleast_1d(whole_mesh_value(mesh, field.name, parameters))
        if values.dtype.kind not in "fiub":
            raise ValueError(
                f"{where}Expected a number {field.name!r} of the whole mesh (got {_what(values)}); mend it"
            )
        values = values.astype(np.float64)
        values = np.broadcast_to(values.reshape(1, -1), (size, values.size))
        if not np.isfinite(values[:1]).all():
            raise ValueError(f"{where}Expected a finite number {field.name!r} (got {values[0].tolist()}); mend it")
    else:
        try:
            values = (point_fields if field.place == "point" else cell_fields)(mesh, [field.name])
        except ValueError as error:
            raise ValueError(f"{error}; mend the file, or leave it or the field out") from error
        large = np.abs(values) > np.finfo(np.float32).max
        if large.any():
            raise ValueError(
                f"{where}Expected values of {field.name!r} that single precision can hold (got "
                f"{values[large][0]:.3g}); mend the file, or leave it or the field out"
            )
    if values.shape[1] != field.stored:
        raise ValueError(
            f"{where}Expected {field.stored} component{'s' * (field.stored != 1)} in the field {field.name!r}, as "
            f"in the files for training (got {values.shape[1]}); mend the file, or leave it out"
        )
    if field.place != "mesh" and field.place != place:
        values = points_from_cells(mesh, values) if field.place == "cell" else cells_from_points(mesh, values)
    return values


def _what(values: NDArray[Any]) -> str:
    return "texts" if values.dtype.kind in "USO" else str(values.dtype)


def cells_from_points(mesh: Mesh, values: Floats) -> Floats:
    """Means over the nodes of every cell, ``[cells, K]``."""
    return np.concatenate([values[nodes].mean(1) for _, nodes in mesh.cells])


def points_from_cells(mesh: Mesh, values: Floats) -> Floats:
    """Means over the cells at every point, ``[N, K]``; a point without cells takes its nearest cell's values."""
    total, count = np.zeros((len(mesh.points), values.shape[1])), np.zeros(len(mesh.points))
    start = 0
    for _, nodes in mesh.cells:
        part = values[start : start + len(nodes)]
        start += len(nodes)
        np.add.at(total, nodes.ravel(), np.repeat(part, nodes.shape[1], 0))
        np.add.at(count, nodes.ravel(), 1)
    alone = count == 0
    if alone.any():
        total[alone] = values[kd_tree(centroids(mesh)).query(mesh.points[alone])[1]]
    return total / np.maximum(count, 1)[:, None]
