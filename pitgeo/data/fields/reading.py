"""Finding the fields of a mesh, and reading their values at points or cells."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pitgeo.data.fields.mesh_field import MeshField, Place, number_and_set
from pitgeo.geometry import geometry_values, is_geometry
from pitgeo.geometry.sets import AT, check_set, in_set
from pitgeo.graphs.trees import kd_tree
from pitgeo.mesh import Mesh, cell_fields, centroids, point_fields
from pitgeo.mesh.cells import split_by_block

Floats = NDArray[np.float64]
PLACES: tuple[Place, ...] = ("point", "cell", "mesh")


def find_field(mesh: Mesh, name: str, parameters: Mapping[str, float]) -> MeshField:
    """Find a field among point data, cell data, field data and the parameters, in this order.

    ``"number@set"`` is a number of the whole mesh in one of its sets, unless a field has this very name.

    Raises:
        ValueError: If the field is missing, is both point and cell data, or is not numeric.

    Example:
        >>> import numpy as np
        >>> from pitgeo.mesh import Mesh
        >>> points, quad = np.array([[0.0, 0], [2, 0], [2, 1], [0, 1]]), np.array([[0, 1, 2, 3]])
        >>> mesh = Mesh(points, (("quad", quad),), {"u": np.arange(4.0)})
        >>> find_field(mesh, "u", {}).place
        'point'
    """
    start, _, rest = name.partition(":")
    prefix, bare = (start, rest) if start in PLACES and rest else (None, name)
    data: dict[Place, Mapping[str, Any]]
    data = {"point": mesh.point_data, "cell": mesh.cell_data, "mesh": {**mesh.field_data, **parameters}}
    if prefix and bare not in data[prefix] and any(name in fields for fields in data.values()):  # the colon is its own
        prefix, bare = None, name
    matches: list[tuple[Place, Any]] = []
    if bare in mesh.point_data:
        matches.append(("point", mesh.point_data[bare][:1]))
    if bare in mesh.cell_data:
        matches.append(("cell", np.concatenate([blocks[:1] for blocks in mesh.cell_data[bare]])[:1]))
    if bare in mesh.field_data or bare in parameters:
        matches.append(("mesh", np.atleast_1d(whole_mesh_value(mesh, bare, parameters)).reshape(1, -1)))
    chosen = [entry for entry in matches if entry[0] == prefix] if prefix else matches
    local = number_and_set(bare) if not matches and prefix in (None, "mesh") else None
    if local and local[0] in data["mesh"]:
        check_set(mesh, local[1])
        return replace(find_field(mesh, f"mesh:{local[0]}", parameters), name=bare, within=local[1])
    if not chosen:
        names = [*mesh.point_data, *mesh.cell_data, *mesh.field_data, *parameters]
        kind = f"{prefix} field" if prefix else "field"
        if local:
            kind = f"number {local[0]!r} of the whole mesh, given in the set {local[1]!r}, or a field"
        in_set_names = [f"{number}{AT}{local[1]}" for number in data["mesh"]] if local else []
        near = difflib.get_close_matches(bare, [*names, *in_set_names], 1)
        hint = f"; did you mean {near[0]!r}?" if near else "; 'pitgeo describe' lists the fields"
        if matches:
            hint = f"; did you mean '{matches[0][0]}:{bare}'?"
        elif is_geometry(name):
            hint = f"; {name!r} is computed from the mesh: name it in data.meshes.geometry"
        elif local and (place := next((place for place in ("point", "cell") if local[0] in data[place]), None)):
            hint = f"; {local[0]!r} is a {place} field, which has values everywhere: name it without a set"
        raise ValueError(f"{mesh.where}Expected a {kind} {bare!r} (got {', '.join(map(repr, names)) or 'none'}){hint}")
    if not prefix and {"point", "cell"} <= {entry[0] for entry in matches}:
        raise ValueError(
            f"{mesh.where}Expected a name that is point data or cell data (got {bare!r}, which is both); say which: "
            f"'point:{bare}' or 'cell:{bare}'"
        )
    place, values = chosen[0]
    values = np.asarray(values)
    if values.dtype.kind not in "fiub":
        raise ValueError(
            f"{mesh.where}Expected numbers in the field {bare!r} (got {_what(values)}); name another, "
            f"'pitgeo describe' lists the fields"
        )
    return MeshField(bare, int(values.reshape(1, -1).shape[1]) if values.size else 1, place)


def whole_mesh_value(mesh: Mesh, name: str, parameters: Mapping[str, float]) -> Any:
    """A number of the mesh in its file; if the file has none, the parameter; without both, the text in the file."""
    own = mesh.field_data.get(name)
    is_number = own is not None and np.asarray(own).dtype.kind in "fiub"
    return own if is_number or name not in parameters else parameters[name]


def field_values(mesh: Mesh, field: MeshField, place: str, size: int, parameters: Mapping[str, float]) -> Floats:
    """The values of a field at points or cells, ``[size, components]``; those of the other kind are averaged.

    Example:
        >>> import numpy as np
        >>> from pitgeo.mesh import Mesh
        >>> points, quad = np.array([[0.0, 0], [2, 0], [2, 1], [0, 1]]), np.array([[0, 1, 2, 3]])
        >>> mesh = Mesh(points, (("quad", quad),), {"u": np.arange(4.0)})
        >>> field_values(mesh, MeshField("u"), "point", 4, {}).ravel()
        array([0., 1., 2., 3.])
    """
    if field.is_geometry:
        try:
            return geometry_values(mesh, field.name, "cell" if place == "cell" else "point")
        except ValueError as error:
            hint = f"; or leave {field.name!r} out of data.meshes.geometry, or this file out"
            raise ValueError(f"{error}{hint}") from error
    if field.place == "mesh":
        return _number(mesh, field, place, size, parameters)
    try:
        values = (point_fields if field.place == "point" else cell_fields)(mesh, [field.name])
    except ValueError as error:
        raise ValueError(f"{error}; mend the file, or leave it or the field out") from error
    large = np.abs(values) > np.finfo(np.float32).max
    if large.any():
        raise ValueError(
            f"{mesh.where}Expected values of {field.name!r} within the range of single precision (got "
            f"{values[large][0]:.3g}); mend the file, or leave it or the field out"
        )
    _check_components(mesh, field, values)
    if field.place != place:
        values = points_from_cells(mesh, values) if field.place == "cell" else cells_from_points(mesh, values)
    return values


def _number(mesh: Mesh, field: MeshField, place: str, size: int, parameters: Mapping[str, float]) -> Floats:
    """A number of the whole mesh, everywhere or in its set, ``[size, components]``."""
    where, name = mesh.where, field.source
    names = [*mesh.point_data, *mesh.cell_data, *mesh.field_data, *parameters]
    if field.within and field.name in names:
        raise ValueError(
            f"{where}Expected no field {field.name!r}, which is the number {name!r} in the set {field.within!r} in the "
            f"first file for training (got one of that very name); rename it, or leave the file out"
        )
    if name not in mesh.field_data and name not in parameters:
        purpose = f", for the input {field.name!r}" if field.within else ""
        raise ValueError(
            f"{where}Expected a number {name!r} of the whole mesh{purpose}, in the file's field data or among the "
            f"parameters (got {', '.join(map(repr, [*mesh.field_data, *parameters])) or 'none'}); give it among the "
            f"'parameters' of the prediction, or in the table that data.meshes.parameters names"
        )
    values = np.atleast_1d(whole_mesh_value(mesh, name, parameters))
    if values.dtype.kind not in "fiub":
        raise ValueError(f"{where}Expected a number {name!r} of the whole mesh (got {_what(values)}); mend it")
    values = values.astype(np.float64).reshape(1, -1)
    if not np.isfinite(values).all():
        raise ValueError(f"{where}Expected a finite number {name!r} (got {values[0].tolist()}); mend it")
    _check_components(mesh, field, values)
    if field.within:
        return np.where(in_set(mesh, field.within, place)[:, None], values, 0.0)
    return np.broadcast_to(values, (size, values.shape[1]))


def _check_components(mesh: Mesh, field: MeshField, values: Floats) -> None:
    if values.shape[1] != field.stored:
        raise ValueError(
            f"{mesh.where}Expected {field.stored} component{'s' * (field.stored != 1)} in the field {field.source!r}, "
            f"as in the files for training (got {values.shape[1]}); mend the file, or leave it out"
        )


def _what(values: NDArray[Any]) -> str:
    return "texts" if values.dtype.kind in "USO" else str(values.dtype)


def cells_from_points(mesh: Mesh, values: Floats) -> Floats:
    """Means over the nodes of every cell, ``[cells, K]``.

    Example:
        >>> import numpy as np
        >>> from pitgeo.mesh import Mesh
        >>> points, quad = np.array([[0.0, 0], [2, 0], [2, 1], [0, 1]]), np.array([[0, 1, 2, 3]])
        >>> mesh = Mesh(points, (("quad", quad),), {"u": np.arange(4.0)})
        >>> cells_from_points(mesh, mesh.point_data["u"][:, None])
        array([[1.5]])
    """
    return np.concatenate([values[nodes].mean(1) for _, nodes in mesh.cells])


def points_from_cells(mesh: Mesh, values: Floats) -> Floats:
    """Means over the cells of every point, ``[N, K]``; a point without cells gets the values of the nearest cell.

    Example:
        >>> import numpy as np
        >>> from pitgeo.mesh import Mesh
        >>> points, quad = np.array([[0.0, 0], [2, 0], [2, 1], [0, 1]]), np.array([[0, 1, 2, 3]])
        >>> mesh = Mesh(points, (("quad", quad),), {"u": np.arange(4.0)})
        >>> points_from_cells(mesh, np.array([[3.0]])).ravel()
        array([3., 3., 3., 3.])
    """
    total, count = np.zeros((len(mesh.points), values.shape[1])), np.zeros(len(mesh.points))
    for (_, nodes), part in zip(mesh.cells, split_by_block(values, mesh.cells), strict=True):
        np.add.at(total, nodes.ravel(), np.repeat(part, nodes.shape[1], 0))
        np.add.at(count, nodes.ravel(), 1)
    alone = count == 0
    if alone.any():
        total[alone] = values[kd_tree(centroids(mesh)).query(mesh.points[alone])[1]]
    return total / np.maximum(count, 1)[:, None]
