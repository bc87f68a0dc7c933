"""Fields of a mesh along lines and on planes, interpolated within its cells."""

from __future__ import annotations

import importlib
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pitgeo.geometry.grid import grid_of
from pitgeo.geometry.located import locate, top_cells
from pitgeo.mesh import Mesh
from pitgeo.mesh.mesh import joined

Floats = NDArray[np.float64]
CELL = "number of the cell"
SIDES = {1: "vertex", 2: "line", 3: "triangle", 4: "quad"}


class Probe(NamedTuple):
    """Values at points.

    Args:
        points: Where, ``[n, D]``.
        inside: Which of them lie in a cell ``[n]``.
        fields: Values ``[n]`` or ``[n, components]`` by name; not-a-number at points outside.

    Example:
        >>> import numpy as np
        >>> import pyvista
        >>> from pitgeo.mesh import from_pyvista
        >>> mesh = from_pyvista(pyvista.ImageData(dimensions=(3, 3, 3)))
        >>> mesh = mesh.with_point_data("heat", mesh.points[:, 0])
        >>> from pitgeo.geometry import probe
        >>> found = probe(mesh, [[0.25, 1.0, 1.0], [5.0, 0.0, 0.0]])
        >>> found.inside.tolist(), float(found.fields["heat"][0])
        ([True, False], 0.25)
    """

    points: Floats
    inside: NDArray[np.bool_]
    fields: dict[str, Floats]


def probe(mesh: Mesh, points: ArrayLike) -> Probe:
    """The fields of a mesh at any points.

    Values at points of the mesh are interpolated by the shape functions of the cell that a point lies in, so that
    linear fields are exact; values of cells are those of that cell. Cells of the highest dimension count.

    Args:
        mesh: The mesh; fields of numbers at points and cells are taken. If both have a name, that of cells is
            ``"cell:<name>"``.
        points: Positions ``[n, D]``.

    Raises:
        ImportError: If PyVista is missing.
        ValueError: If the mesh has no cells, or the points are of another dimension, or not finite.

    Example:
        >>> points = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
        >>> mesh = Mesh(points, (("quad", np.array([[0, 1, 2, 3]])),), {"heat": points[:, 0]})
        >>> probe(mesh, [[0.25, 0.5], [2.0, 0.5]]).fields["heat"].tolist()
        [0.25, nan]
    """
    at = np.asarray(points, np.float64)
    axes = mesh.points.shape[1]
    if at.ndim != 2 or at.shape[1] != axes or not np.isfinite(at).all():
        raise ValueError(
            f"{mesh.where}Expected finite positions of shape [n, {axes}] to take values at (got shape "
            f"{list(at.shape)}, or a value that is not finite)"
        )
    found = locate(mesh, at)
    inside = found.cells >= 0
    fields = {}
    for name, values in mesh.point_data.items():
        if is_number(values):
            fields[name] = found.weights @ np.asarray(values, np.float64)
    for name, blocks in mesh.cell_data.items():
        if all(map(is_number, blocks)):
            key = f"cell:{name}" if name in mesh.point_data else name
            fields[key] = np.concatenate([np.asarray(part, np.float64) for part in blocks])[found.cells]
    for values in fields.values():
        values[~inside] = np.nan
    return Probe(at, inside, fields)


def probe_line(mesh: Mesh, start: ArrayLike, stop: ArrayLike, number: int = 100) -> Probe:
    """The fields of a mesh at evenly spaced points from one to another, both among them, as :func:`probe` has them.

    Args:
        mesh: The mesh.
        start: The first position ``[D]``.
        stop: The last position ``[D]``.
        number: How many points, at least 2.

    Raises:
        ImportError: If PyVista is missing.
        ValueError: As :func:`probe`; or if there are less than two points.

    Example:
        >>> import numpy as np
        >>> import pyvista
        >>> from pitgeo.mesh import from_pyvista
        >>> mesh = from_pyvista(pyvista.ImageData(dimensions=(3, 3, 3)))
        >>> mesh = mesh.with_point_data("heat", mesh.points[:, 0])
        >>> found = probe_line(mesh, (0, 1, 1), (3, 1, 1), 4)
        >>> found.inside.tolist(), found.fields["heat"].tolist()
        ([True, True, True, False], [0.0, 1.0, 2.0, nan])
    """
    if number < 2:
        raise ValueError(f"Expected at least 2 points along a line (got {number})")
    return probe(mesh, np.linspace(np.asarray(start, np.float64), np.asarray(stop, np.float64), number))


def cut(mesh: Mesh, origin: ArrayLike, normal: ArrayLike) -> Mesh:
    """The cut of a mesh in space by a plane: faces through bodies, lines through surfaces, with all its fields.

    Values at points are interpolated linearly along the edges of the cells that the plane meets; VTK first divides
    cells of high order at their nodes.

    Args:
        mesh: The mesh.
        origin: A point of the plane ``[3]``.
        normal: Its normal ``[3]``, of any length.

    Raises:
        ImportError: If PyVista is missing.
        ValueError: If the mesh is not in space or has no cells, or the plane does not meet it.

    Example:
        >>> import numpy as np
        >>> import pyvista
        >>> from pitgeo.mesh import from_pyvista
        >>> mesh = from_pyvista(pyvista.ImageData(dimensions=(3, 3, 3)))
        >>> mesh = mesh.with_point_data("heat", mesh.points[:, 0])
        >>> section = cut(mesh, (0.5, 0, 0), (1, 0, 0))
        >>> bool((section.points[:, 0] == 0.5).all()), bool((section.point_data["heat"] == 0.5).all())
        (True, True)
    """
    at, along = np.asarray(origin, np.float64), np.asarray(normal, np.float64)
    if mesh.points.shape[1] != 3:
        raise ValueError(
            f"{mesh.where}Expected a mesh in space to cut by a plane (got one in {mesh.points.shape[1]}D); take a line"
        )
    if at.shape != (3,) or along.shape != (3,) or not np.isfinite([at, along]).all() or not along.any():
        raise ValueError(
            f"Expected a plane by three coordinates and a normal that is not zero (got {at.tolist()} and "
            f"{along.tolist()})"
        )
    blocks = top_cells(mesh)
    vtk_to_numpy = importlib.import_module("vtkmodules.util.numpy_support").vtk_to_numpy
    grid = grid_of(Mesh(mesh.points, tuple((kind, nodes) for kind, nodes, _ in blocks)))
    grid.cell_data[CELL] = np.concatenate([np.arange(len(nodes)) + start for _, nodes, start in blocks])
    names = [name for name, values in mesh.point_data.items() if is_number(values)]
    for number, name in enumerate(names):  # two names may be one to VTK
        grid.point_data[f"{number}"] = np.asarray(mesh.point_data[name], np.float64)
    along = along / np.linalg.norm(along)
    found = grid.slice(normal=along, origin=at)
    if not found.n_cells:  # VTK takes faces on the plane from the cells behind it alone
        found = grid.slice(normal=-along, origin=at)
    if not found.n_cells:
        low, high = mesh.points.min(0), mesh.points.max(0)
        raise ValueError(
            f"{mesh.where}Expected a plane that meets the mesh, which reaches from {low.tolist()} to {high.tolist()} "
            f"(got that through {at.tolist()} with the normal {along.tolist()}); move it"
        )
    rest = found.cast_to_unstructured_grid().GetCells()
    starts, nodes = (vtk_to_numpy(part) for part in (rest.GetOffsetsArray(), rest.GetConnectivityArray()))
    sources = np.asarray(found.cell_data[CELL])
    sizes, cells, numbers = np.diff(starts), [], []
    for size in np.unique(sizes):
        own = np.flatnonzero(sizes == size)
        cells.append(
            (SIDES.get(int(size), "polygon"), np.asarray(nodes[starts[own, None] + np.arange(size)], np.int64))
        )
        numbers.append(sources[own])
    return Mesh(
        np.array(found.points, np.float64),
        tuple(cells),
        {name: np.array(found.point_data[f"{number}"]) for number, name in enumerate(names)},
        {name: tuple(values[own] for own in numbers) for name, values in joined(mesh.cell_data).items()},
        mesh.field_data,
        path=mesh.path,
    )


def is_number(values: ArrayLike) -> bool:
    """Whether values are numbers."""
    return np.asarray(values).dtype.kind in "fiub"
