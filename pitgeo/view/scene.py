"""What a browser draws: one mesh in one to three panels, each in its own colours, seen by one camera."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import matplotlib
import numpy as np
from numpy.typing import NDArray

from pitgeo.evaluation.plots.space import CREASE, LINED, best_view, grid, quiet, visible_surface
from pitgeo.mesh import Mesh
from pitgeo.mesh.vtk.pyvista_extra import pyvista
from pitgeo.view.camera import Camera
from pitgeo.view.panels import Panel

Floats = NDArray[np.float64]

COLORS = 64
"""Nodes of a colour map."""
HEIGHT = 0.6
"""Height of the curves of a line, as a share of its length."""
NEAR = 0.02
"""How far from the ray of a click a point may be, as a share of the extent of the mesh."""
MARK = 0.012
"""Radius of the mark of a probe, in the same way."""
HIDDEN = (0.0, 0.0, 0.001, 0.001)
"""Where a panel is that is not shown."""


@dataclass(frozen=True)
class Clip:
    """A plane that cuts a part of the mesh away.

    Args:
        axis: The axis that the plane is perpendicular to, from 0 on.
        share: Where it is, from 0 to 1 over the extent of the mesh.
        is_flipped: Whether the part before the plane is cut away, instead of the one behind it.
    """

    axis: int = 0
    share: float = 0.5
    is_flipped: bool = False


class Scene:
    """The actors of a page. The mesh is moved and scaled into a box of length 1 about the origin.

    Attributes:
        window: VTK's window, which is never drawn here: the browser gets its content.

    Raises:
        ImportError: If PyVista is not installed.
    """

    def __init__(self) -> None:
        pyvista()
        import vtkmodules.vtkRenderingOpenGL2  # noqa: F401  the classes that the browser knows
        from vtkmodules.vtkRenderingCore import vtkCamera, vtkRenderWindow

        with quiet():
            self.window: Any = vtkRenderWindow()
            self.window.SetOffScreenRendering(1)
        self.camera: Any = vtkCamera()
        self.mesh: Mesh | None = None
        self._views = [_View(self.camera) for _ in range(3)]
        for view in self._views:
            self.window.AddRenderer(view.renderer)
        self._count = 0
        self._mark: Floats | None = None

    def shows(self, mesh: Mesh, place: Literal["point", "cell"]) -> bool:
        """Whether the scene is of this mesh, with values at this place."""
        return self.mesh is mesh and self.place == place

    def open(self, mesh: Mesh, place: Literal["point", "cell"]) -> None:
        """Take another mesh, whose values are at points or cells."""
        if self.shows(mesh, place):
            return
        self.mesh, self.place = mesh, place
        points = mesh.points
        self.center, self.extent = (points.min(0) + points.max(0)) / 2, float(np.ptp(points, 0).max()) or 1.0
        self._cells = grid(replace(mesh, points=self.to_scene(points)))
        self._whole: tuple[Any, NDArray[np.int64]] | None = None
        self._creases: dict[Any, Any] = {}
        self._mark = None

    def to_scene(self, points: Floats) -> Floats:
        """Positions ``[n, D]`` as they are drawn, ``[n, 3]``."""
        drawn = np.zeros((len(points), 3))
        drawn[:, : points.shape[1]] = (points - self.center) / self.extent
        return drawn

    @property
    def dimension(self) -> int:
        """Axes of the mesh."""
        return len(self.center)

    def show(self, panels: Sequence[Panel], clip: Clip | None = None, edges: bool = False) -> None:
        """Draw these panels side by side, perhaps with the edges of cells."""
        self._count, drawn = len(panels), self._views[: len(panels)]
        for number, view in enumerate(self._views):  # all stay in the window: the browser loses those that leave it
            is_shown, count = number < len(drawn), len(drawn)
            view.renderer.SetViewport(*((number / count, 0, (number + 1) / count, 1) if is_shown else HIDDEN))
            if not is_shown:
                view.clear()
        surface, columns = self._surface([panel.values for panel in panels], clip)
        lines = self._outline(surface, clip)
        for view, panel, values in zip(drawn, panels, columns, strict=True):
            own = surface.copy(deep=self.dimension == 1)  # curves have points of their own
            if self.dimension == 1:
                own.points = self._curve(own.points, values, panel.limits)
            view.draw(own, self.place, values, panel, lines, edges)
        self.mark(self._mark)

    def mark(self, position: Floats | None) -> None:
        """Mark a position of the mesh in every panel, or none."""
        self._mark = position
        for view in self._views[: self._count]:
            if position is None:
                view.mark(None)
                continue
            place = self.to_scene(position[None])
            if self.dimension == 1:
                drawn = np.asarray(view.surface.points)
                place = drawn[np.abs(drawn[:, 0] - place[0, 0]).argmin()][None]
            view.mark(place[0])

    def pick(self, start: Floats, end: Floats) -> Floats | None:
        """The position of the mesh ``[D]`` that a ray through the drawn scene meets first; ``None`` if it misses.

        Args:
            start: A point of the ray before the mesh.
            end: A point behind it.
        """
        surface = self._views[0].surface
        found: Floats | None = None
        if surface.GetNumberOfPolys() and self.dimension > 1:
            hits = np.asarray(surface.ray_trace(start, end)[0], float).reshape(-1, 3)  # in no order
            found = hits[np.linalg.norm(hits - start, axis=1).argmin()] if len(hits) else None
        else:
            candidates = np.concatenate([np.asarray(view.surface.points) for view in self._views[: self._count]])
            along = (end - start) / np.linalg.norm(end - start)
            apart = candidates - start
            distances = np.linalg.norm(apart - (apart @ along)[:, None] * along, axis=1)
            if len(distances) and distances.min() <= NEAR:
                found = candidates[distances.argmin()]
        return None if found is None else found[: self.dimension] * self.extent + self.center

    def fit(self, aspect: float) -> Camera:
        """The camera from which the whole mesh is seen in a panel of this width divided by height."""
        points = np.asarray(self._cells.points)
        if self.dimension == 1:
            points = np.array([[-0.5, -HEIGHT / 2, 0], [0.5, HEIGHT / 2, 0]])
        if self.dimension < 3:
            return Camera.facing(points, np.array([0.0, 0, 1]), np.array([0.0, 1, 0]), aspect)
        view = best_view(points)
        return Camera.facing(points, view.direction, view.up, aspect)

    def place_camera(self, camera: Camera) -> None:
        """Look from here, in browsers that load the page from now on."""
        self.camera.SetPosition(*camera.position)
        self.camera.SetFocalPoint(*camera.target)
        self.camera.SetViewUp(*camera.up)

    def _surface(self, columns: Sequence[Floats], clip: Clip | None) -> tuple[Any, list[Floats]]:
        """What is drawn, and each column of values on it."""
        if clip is None:
            if self._whole is None:
                self._whole = visible_surface(self._cells.copy(), self.place)
            surface, origin = self._whole
            return surface, [values[origin] for values in columns]
        cells = self._cells.copy(deep=False)
        for number, values in enumerate(columns if self.place == "point" else ()):
            cells.point_data[f"values {number}"] = values
        cells = cells.clip(np.eye(3)[clip.axis], origin=self._origin(clip), invert=not clip.is_flipped)
        surface, origin = visible_surface(cells, self.place)
        if self.place == "cell":
            return surface, [values[origin] for values in columns]
        return surface, [np.asarray(surface.point_data[f"values {number}"]) for number in range(len(columns))]

    def _origin(self, clip: Clip) -> Floats:
        points = np.asarray(self._cells.points)
        low, high = points.min(0), points.max(0)
        return np.asarray(low + clip.share * (high - low))

    def _outline(self, surface: Any, clip: Clip | None) -> Any:
        """Lines that show the shape, which flat colours do not: creases, the rim of a plane mesh, the box of curves."""
        if self.dimension == 1:
            box = np.array([[-0.5, -1, 0], [0.5, -1, 0], [0.5, 1, 0], [-0.5, 1, 0], [-0.5, -1, 0]])
            return pyvista().lines_from_points(box * [1, HEIGHT / 2, 1])
        if not surface.GetNumberOfPolys() or surface.n_cells > LINED:
            return None
        if clip not in self._creases:
            self._creases = {clip: surface.extract_feature_edges(CREASE, manifold_edges=False)}
        return self._creases[clip]

    def _curve(self, points: Floats, values: Floats, limits: tuple[float, float]) -> Floats:
        """Points of a line, as high as their values."""
        low, high = limits
        heights = ((values - low) / (high - low) - 0.5) * HEIGHT
        return np.stack([points[:, 0], heights, np.zeros(len(points))], 1)


class _View:
    """One panel."""

    def __init__(self, camera: Any) -> None:
        from vtkmodules.vtkRenderingCore import vtkActor, vtkPolyDataMapper, vtkRenderer

        self.renderer: Any = vtkRenderer()
        self.renderer.SetBackground(1.0, 1.0, 1.0)
        self.renderer.SetActiveCamera(camera)
        self.surface: Any = None
        self._maps: dict[str, Any] = {}
        self._parts: Mapping[str, tuple[Any, Any]] = {
            name: (vtkActor(), vtkPolyDataMapper()) for name in ("field", "lines", "mark")
        }
        for actor, mapper in self._parts.values():
            actor.SetMapper(mapper)
            actor.GetProperty().SetLighting(False)  # shading would change the colours, which stand for values
        for name, color in (("lines", (0.2, 0.2, 0.2)), ("mark", (0.85, 0.1, 0.1))):
            actor, mapper = self._parts[name]
            mapper.SetScalarVisibility(0)
            actor.GetProperty().SetColor(*color)
        self._parts["lines"][0].GetProperty().SetLineWidth(1.5)

    def draw(self, surface: Any, place: str, values: Floats, panel: Panel, lines: Any, edges: bool) -> None:
        """Draw values on a surface."""
        self.surface = surface
        data = surface.point_data if place == "point" else surface.cell_data
        data.clear()
        low, high = panel.limits
        shares = (values - low) / (high - low)  # single precision would lose small changes of large values
        data["shares"] = shares.astype(np.float32)  # a new array: the browser knows arrays by their content
        actor, mapper = self._parts["field"]
        mapper.SetInputData(surface)
        if place == "point":
            mapper.SetScalarModeToUsePointFieldData()
        else:
            mapper.SetScalarModeToUseCellFieldData()
        mapper.SelectColorArray("shares")
        mapper.SetInterpolateScalarsBeforeMapping(place == "point")
        if panel.map not in self._maps:  # of its own: the browser forgets a shared one with the first panel that goes
            self._maps[panel.map] = _colors(panel.map)
        mapper.SetLookupTable(self._maps[panel.map])
        mapper.SetScalarRange(0.0, 1.0)
        mapper.SetUseLookupTableScalarRange(1)
        mapper.SetScalarVisibility(1)
        look = actor.GetProperty()
        look.SetEdgeVisibility(edges and surface.GetNumberOfPolys() > 0)
        look.SetEdgeColor(0.5, 0.5, 0.5)
        look.SetLineWidth(3.0 if not surface.GetNumberOfPolys() else 1.0)
        look.SetPointSize(float(np.clip(600 / np.sqrt(max(surface.n_points, 1)), 3, 12)))
        self._put("field", True)
        if lines is not None:
            self._parts["lines"][1].SetInputData(lines)
        self._put("lines", lines is not None)

    def clear(self) -> None:
        """Draw nothing."""
        for name in self._parts:
            self._put(name, False)

    def mark(self, position: Floats | None) -> None:
        """Draw a ball at a position, or none."""
        if position is not None:
            self._parts["mark"][1].SetInputData(pyvista().Sphere(radius=MARK, center=position))
        self._put("mark", position is not None)

    def _put(self, name: str, is_shown: bool) -> None:
        actor = self._parts[name][0]
        if is_shown and not self.renderer.HasViewProp(actor):
            self.renderer.AddActor(actor)
        if not is_shown and self.renderer.HasViewProp(actor):
            self.renderer.RemoveActor(actor)


def _colors(name: str) -> Any:
    """A colour map of matplotlib from 0 to 1."""
    from vtkmodules.vtkRenderingCore import vtkColorTransferFunction

    result = vtkColorTransferFunction()
    shares = np.linspace(0, 1, COLORS)
    for share, color in zip(shares, matplotlib.colormaps[name](shares), strict=True):
        result.AddRGBPoint(share, *color[:3].tolist())
    return result
