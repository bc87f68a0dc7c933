"""Named sets of points and cells, and the fields that hold them in files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pitgeo.mesh.mesh import Mesh

PREFIX = "set:"
"""The field ``set:<name>`` of a file is 1 where the set ``<name>`` is, and 0 elsewhere."""

Values = TypeVar("Values", NDArray[Any], tuple[NDArray[Any], ...])


def set_fields(mesh: Mesh) -> tuple[dict[str, NDArray[Any]], dict[str, tuple[NDArray[Any], ...]]]:
    """The point and cell sets of a mesh as fields of zeros and ones.

    Raises:
        ValueError: If a field has the name of such a set already.
    """
    points = {PREFIX + name: _stored(members, len(mesh.points)) for name, members in mesh.point_sets.items()}
    cells = {
        PREFIX + name: tuple(_stored(part, len(nodes)) for part, (_, nodes) in zip(parts, mesh.cells, strict=True))
        for name, parts in mesh.cell_sets.items()
    }
    for name in [*(points.keys() & mesh.point_data.keys()), *(cells.keys() & mesh.cell_data.keys())]:
        raise ValueError(
            f"{mesh.where}Expected no field {name!r} beside the set {name[len(PREFIX) :]!r}, which files hold under "
            f"that name (got both); rename one"
        )
    return points, cells


def from_fields(fields: Mapping[str, Values]) -> tuple[dict[str, Values], dict[str, Any]]:
    """Split fields into plain fields and sets."""
    rest: dict[str, Values] = {}
    sets: dict[str, Any] = {}
    for name, values in fields.items():
        parts = values if isinstance(values, tuple) else (values,)
        if not name.startswith(PREFIX) or not all(map(is_mark, parts)):
            rest[name] = values
            continue
        members = tuple(np.flatnonzero(part.ravel()).astype(np.int64) for part in parts)
        sets[name[len(PREFIX) :]] = members if isinstance(values, tuple) else members[0]
    return rest, sets


def marked(members: ArrayLike, count: int) -> NDArray[np.bool_]:
    """Which of ``count`` points or cells are members of a set, given by their numbers."""
    marks = np.zeros(count, bool)
    marks[np.asarray(members, np.int64)] = True
    return marks


def _stored(members: ArrayLike, count: int) -> NDArray[np.uint8]:
    return marked(members, count).astype(np.uint8)


def is_mark(values: ArrayLike) -> bool:
    """Whether all values are 0 or 1, one a point or cell, of any type."""
    values = np.asarray(values)
    return values.dtype.kind in "biuf" and values.size == len(values) and bool(np.isin(values, (0, 1)).all())
