"""Named fields of a mesh, checked and put side by side as arrays; centroids of its cells."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pitgeo.mesh.cell_types import corners
from pitgeo.mesh.mesh import Mesh, joined


def point_fields(mesh: Mesh, names: Sequence[str]) -> NDArray[np.float64]:
    """Named point fields side by side, ``[N, channels]``; a vector gives as many channels as it has components.

    Raises:
        ValueError: If a field is missing, is not numeric, or holds a value that is not finite.

    Example:
        >>> import numpy as np
        >>> point_fields(Mesh(np.array([[0.0], [1.0]]), (), {"u": np.array([3.0, 4.0])}), ["u"])
        array([[3.],
               [4.]])
    """
    return _side_by_side(mesh, names, "point", mesh.point_data, len(mesh.points))


def cell_fields(mesh: Mesh, names: Sequence[str]) -> NDArray[np.float64]:
    """Named cell fields side by side, ``[cells, channels]``, the blocks of cells one after another.

    Raises:
        ValueError: If a field is missing, is not numeric, or holds a value that is not finite.

    Example:
        >>> import numpy as np
        >>> line = Mesh(np.array([[0.0], [1.0]]), (("line", np.array([[0, 1]])),), cell_data={"k": (np.array([7.0]),)})
        >>> cell_fields(line, ["k"])
        array([[7.]])
    """
    return _side_by_side(mesh, names, "cell", joined(mesh.cell_data), mesh.number_of_cells)


def centroids(mesh: Mesh) -> NDArray[np.float64]:
    """The mean of every cell's corners, ``[cells, D]``, the blocks one after another.

    Raises:
        ValueError: If a type of cells is not known.

    Example:
        >>> import numpy as np
        >>> centroids(Mesh(np.array([[0.0, 0], [3, 0], [0, 3]]), (("triangle", np.array([[0, 1, 2]])),)))
        array([[1., 1.]])
    """
    means = [mesh.points[nodes[:, : corners(kind, nodes.shape[1])]].mean(1) for kind, nodes in mesh.cells]
    return np.concatenate(means) if means else np.zeros((0, mesh.points.shape[1]))


def _side_by_side(
    mesh: Mesh, names: Sequence[str], kind: str, fields: Mapping[str, NDArray[Any]], count: int
) -> NDArray[np.float64]:
    columns = []
    for name in names:
        if name not in fields:
            have = ", ".join(repr(other) for other in fields) or "none"
            raise ValueError(
                f"{mesh.where}Expected a {kind} field {name!r} (got {have}){_hint(mesh, name, kind, fields)}"
            )
        values = np.asarray(fields[name])
        if values.dtype.kind not in "fiub":
            raise ValueError(f"{mesh.where}Expected numbers in the {kind} field {name!r} (got {values.dtype})")
        values = values.reshape(len(values), -1).astype(np.float64)
        bad = ~np.isfinite(values).all(1)
        if bad.any():
            raise ValueError(
                f"{mesh.where}Expected finite values in the {kind} field {name!r} (got "
                f"{values[bad.argmax()].tolist()} at {kind} {bad.argmax()}, the first of {bad.sum()})"
            )
        columns.append(values)
    return np.concatenate(columns, 1) if columns else np.zeros((count, 0))


def _hint(mesh: Mesh, name: str, kind: str, fields: Mapping[str, Any]) -> str:
    others = {"point": mesh.point_data, "cell": mesh.cell_data, "field": mesh.field_data}
    for other, have in others.items():
        if other != kind and name in have:
            return f"; it is {other} data"
    near = difflib.get_close_matches(name, list(fields), 1)
    return f"; did you mean {near[0]!r}?" if near else ""
