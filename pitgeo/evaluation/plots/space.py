"""Meshes in space, drawn off screen by VTK: from one view, a picture for every set of colours."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pitgeo.evaluation.plots.cells import largest_cells
from pitgeo.mesh import Mesh
from pitgeo.mesh.vtk.pyvista_extra import pyvista

log = logging.getLogger(__name__)

THIN = 0.05
"""A mesh is seen from its flat side if its smallest extent is below this share of its largest."""
EDGES_DRAWN = 10_000
"""Edges of cells are drawn on surfaces of at most this many cells."""
CREASE = 40.0
"""Angle between faces, in degrees, above which their edge is drawn: without shading, edges show the shape."""
LINED = 500_000
"""Creases are searched on surfaces of at most this many cells: the search takes time and memory."""

PROBE = """
from vtkmodules.vtkRenderingCore import vtkRenderWindow, vtkRenderer
import vtkmodules.vtkRenderingOpenGL2
window = vtkRenderWindow()
window.SetOffScreenRendering(1)
window.AddRenderer(vtkRenderer())
window.Render()
"""


class View(NamedTuple):
    """A camera without perspective.

    Args:
        direction: Unit vector from the mesh to the camera.
        up: Unit vector that points up in the picture.
    """

    direction: NDArray[np.float64]
    up: NDArray[np.float64]

    @property
    def right(self) -> NDArray[np.float64]:
        """Unit vector that points to the right in the picture."""
        right: NDArray[np.float64] = np.cross(self.up, self.direction)
        return right


class Colors(NamedTuple):
    """Values on points or cells, with a colour map and its limits."""

    values: NDArray[np.float64]
    map: str
    limits: tuple[float, float]


class Mark(NamedTuple):
    """A place in a picture.

    Args:
        column: Pixels from the left.
        row: Pixels from the top.
        is_hidden: Whether something of the mesh is before it.
    """

    column: float
    row: float
    is_hidden: bool


class Rendered(NamedTuple):
    """Pictures of a mesh from one view.

    Args:
        pictures: Each ``[height, width, 3]``.
        marks: Where the marked points are in them.
    """

    pictures: list[NDArray[np.uint8]]
    marks: list[Mark]


def render(
    mesh: Mesh,
    place: Literal["point", "cell"],
    pictures: Sequence[Colors],
    width: int = 1080,
    marked: Sequence[NDArray[np.float64]] = (),
) -> Rendered | None:
    """Draw a mesh in space several times, from the same view.

    Of solids, VTK gets only the surface. High-order cells are drawn without their additional nodes.

    Args:
        mesh: A mesh whose positions have three axes; without cells its points are drawn.
        place: Whether values are at points or cells.
        pictures: Values of every point or cell of the mesh, and their colours.
        width: Width in pixels, about twice the shown width, which smooths edges; the mesh determines the height.
        marked: Positions to find in the pictures.

    Returns:
        The pictures, or ``None`` (and a warning in the log) where this machine cannot draw them.

    Raises:
        ImportError: If PyVista is not installed.
    """
    vtk = pyvista()
    if not can_render():
        log.warning("Pictures of meshes in space are left out: VTK cannot draw here (no OpenGL, EGL or OSMesa)")
        return None
    with quiet():
        surface, origin = visible_surface(grid(mesh), place)
        points = np.asarray(surface.points, dtype=float)
        view = best_view(points)
        across, up = points @ view.right, points @ view.up
        box = max(float(np.ptp(across)), 1e-30), max(float(np.ptp(up)), 1e-30)
        aspect = float(np.clip(box[1] / box[0], 0.2, 1.25))
        size = width, max(round(width * aspect), 1)
        plotter = vtk.Plotter(off_screen=True, window_size=size)
        try:
            plotter.background_color = "white"
            center = (np.ptp(across) / 2 + across.min()) * view.right + (np.ptp(up) / 2 + up.min()) * view.up
            depth = points @ view.direction
            center = center + (np.ptp(depth) / 2 + depth.min()) * view.direction
            plotter.camera.focal_point = center
            plotter.camera.position = center + view.direction * 2 * max(*box, float(np.ptp(depth)))
            plotter.camera.up = view.up
            plotter.enable_parallel_projection()
            half = 0.515 * max(box[1], box[0] * aspect)
            plotter.parallel_scale = half
            marks = []
            for at in marked:
                offset = np.array([(at - center) @ view.right, (center - at) @ view.up]) * size[1] / (2 * half)
                far = at + 2 * (max(*box) + float(np.ptp(depth))) * view.direction
                near = at + 1e-3 * max(box) * view.direction
                is_hidden = surface.GetNumberOfPolys() > 0 and len(surface.ray_trace(near, far)[0]) > 0
                marks.append(Mark(size[0] / 2 + offset[0], size[1] / 2 + offset[1], is_hidden))
            return Rendered([_draw(plotter, surface, place, colors, origin) for colors in pictures], marks)
        finally:
            plotter.close()


def best_view(points: NDArray[np.float64]) -> View:
    """The view of a mesh: onto the flat side if it is thin, else from above a corner.

    Thin meshes lie with their longer side across the picture. For others the shortest axis points up, or the third if
    no axis is clearly shortest, and the camera faces the broader side.

    Args:
        points: Positions ``[N, 3]``.
    """
    centred = points - points.mean(0)
    principal = np.linalg.eigh(centred.T @ centred)[1].T[::-1]
    for axes in (np.eye(3), principal):
        sizes = np.ptp(centred @ axes.T, axis=0)
        if sizes.min() >= THIN * sizes.max():
            continue
        normal = len(sizes) - 1 - int(sizes[::-1].argmin())
        first, second = (axis for axis in range(3) if axis != normal)
        upward, other = (first, second) if sizes[first] < 0.8 * sizes[second] else (second, first)
        direction = axes[normal]
        if np.cross(axes[upward], direction) @ axes[other] < 0:
            direction = -direction
        return View(direction, axes[upward])
    sizes = np.ptp(points, axis=0)
    order = np.argsort(sizes, kind="stable")
    upward = int(order[0]) if sizes[order[0]] < 0.9 * sizes[order[1]] else 2
    short, long = sorted((axis for axis in range(3) if axis != upward), key=lambda axis: sizes[axis])
    axes = np.eye(3)
    direction = axes[short] + 0.6 * axes[long] + 0.6 * axes[upward]
    direction /= np.linalg.norm(direction)
    up = axes[upward] - (axes[upward] @ direction) * direction
    return View(direction, up / np.linalg.norm(up))


@lru_cache(maxsize=1)
def can_render() -> bool:
    """Whether VTK can draw on this machine; tried once in a separate process, because VTK may crash."""
    try:
        tried = subprocess.run([sys.executable, "-c", PROBE], check=False, capture_output=True, timeout=120)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return tried.returncode == 0


def grid(mesh: Mesh) -> Any:
    """The cells of the highest dimension, by their corners, as a PyVista grid; the points if there are no cells.

    Raises:
        ImportError: If PyVista is not installed.
    """
    dimension, blocks = largest_cells(mesh)
    if dimension == 0:
        count = len(mesh.points)
        cells = np.stack([np.ones(count, np.int64), np.arange(count)], 1).ravel()
        return pyvista().UnstructuredGrid(cells, np.ones(count, np.uint8), mesh.points)
    rows = [
        np.concatenate([np.full((len(block.corners), 1), block.corners.shape[1]), block.corners], 1).ravel()
        for block in blocks
    ]
    kinds = np.concatenate([np.full(len(block.corners), block.vtk, np.uint8) for block in blocks])
    result = pyvista().UnstructuredGrid(np.concatenate(rows), kinds, mesh.points)
    result.cell_data["number"] = np.concatenate([block.numbers for block in blocks])
    return result


def visible_surface(cells: Any, place: Literal["point", "cell"]) -> tuple[Any, NDArray[np.int64]]:
    """The visible surface of a grid; numbers of its points in the grid, or of its cells in the mesh."""
    from vtkmodules.vtkFiltersGeometry import vtkGeometryFilter

    cells.point_data["number"] = np.arange(cells.n_points)
    extract = vtkGeometryFilter()
    extract.SetInputData(cells)
    extract.Update()
    surface = pyvista().wrap(extract.GetOutput())
    origin = np.asarray((surface.point_data if place == "point" else surface.cell_data)["number"])
    return surface, origin


def _draw(
    plotter: Any, surface: Any, place: Literal["point", "cell"], colors: Colors, origin: NDArray[np.int64]
) -> NDArray[np.uint8]:
    values = colors.values[origin]
    flat = surface.GetNumberOfPolys() > 0
    (surface.point_data if place == "point" else surface.cell_data)["drawn"] = values
    edges = flat and surface.n_cells <= EDGES_DRAWN
    actor = plotter.add_mesh(
        surface,
        scalars="drawn",
        preference=place,
        cmap=colors.map,
        clim=colors.limits,
        nan_color="#d9d9d9",
        show_scalar_bar=False,
        interpolate_before_map=True,
        lighting=False,  # shading would change the colours, which stand for values
        show_edges=edges,
        edge_color="#a0a0a0",
        edge_opacity=0.35,
        line_width=1.5 if flat else 5.0,
        point_size=float(np.clip(600 / np.sqrt(surface.n_points), 2, 14)),
        render_points_as_spheres=not flat,
        reset_camera=False,
        render=False,
    )
    creases = surface.extract_feature_edges(CREASE) if flat and surface.n_cells <= LINED else None
    outline = None
    if creases is not None and creases.n_cells:
        outline = plotter.add_mesh(
            creases, color="#333333", line_width=2, lighting=False, reset_camera=False, render=False
        )
    plotter.renderer.ResetCameraClippingRange()
    plotter.render()
    picture = np.array(plotter.screenshot(return_img=True), dtype=np.uint8)
    for drawn in (actor, outline):
        if drawn is not None:
            plotter.remove_actor(drawn, reset_camera=False, render=False)
    return picture


@contextmanager
def quiet() -> Iterator[None]:
    """Silence the messages of VTK's C++ code on the console, for example that there is no screen."""
    from vtkmodules.vtkCommonCore import vtkLogger, vtkObject

    shown, level = vtkObject.GetGlobalWarningDisplay(), vtkLogger.GetCurrentVerbosityCutoff()
    vtkObject.SetGlobalWarningDisplay(0)
    vtkLogger.SetStderrVerbosity(vtkLogger.VERBOSITY_OFF)
    try:
        yield
    finally:
        vtkObject.SetGlobalWarningDisplay(shown)
        vtkLogger.SetStderrVerbosity(level)
