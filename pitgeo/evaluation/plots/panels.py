"""Rows of coloured pictures: truth, prediction and error on meshes in the plane and in space."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import Collection, LineCollection, PolyCollection
from matplotlib.tri import Triangulation
from numpy.typing import NDArray

from pitgeo.evaluation.plots.cells import boundary, triangles
from pitgeo.evaluation.plots.drawn import DrawnField
from pitgeo.evaluation.plots.grid import Grid
from pitgeo.evaluation.plots.sections import section
from pitgeo.evaluation.plots.space import Colors, render
from pitgeo.evaluation.plots.style import ERROR_COLORS, FIELD_COLORS
from pitgeo.mesh import Mesh
from pitgeo.mesh.cell_types import VTK_TYPES
from pitgeo.mesh.mesh import joined

EDGES_DRAWN = 2000
"""Edges of cells are drawn for at most this many cells."""


class Panels(ABC):
    """A row of three coloured pictures: truth, prediction, error.

    Attributes:
        signs: What is written behind the names of pictures.
    """

    signs: Mapping[str, str] = MappingProxyType({})

    def __init__(self, field: DrawnField, errors: tuple[float, float] | None, aspect: float) -> None:
        self.field, self.errors = field, errors
        self.aspect = aspect

    def colors(self) -> list[tuple[str, Colors]]:
        """Name, values and colours of every picture of this row."""
        field = self.field
        pictures = [("prediction", Colors(field.prediction, FIELD_COLORS, field.limits))]
        if field.truth is not None and field.error is not None and self.errors is not None:
            pictures.insert(0, ("truth", Colors(field.truth, FIELD_COLORS, field.limits)))
            pictures.append(("absolute error", Colors(field.error, ERROR_COLORS, self.errors)))
        return pictures

    def draw(self, grid: Grid, row: int, label: str) -> None:
        """Draw the row; a prediction without a truth is in the middle."""
        pictures, field = self.colors(), self.field
        axes = grid.panels(row)
        for ax in axes:
            ax.set_axis_off()
        axes = axes if len(pictures) == len(axes) else axes[len(axes) // 2 : len(axes) // 2 + 1]
        for number, (ax, (name, colors)) in enumerate(zip(axes, pictures, strict=True)):
            self.picture(ax, number, colors)
            ax.set_title(f"{name}{self.signs.get(name, '')}", fontsize=9)
        error = None if field.error is None or self.errors is None else (self.errors, field.error)
        grid.bars(row, label, (field.limits, field.shown), error)

    @abstractmethod
    def picture(self, ax: Axes, number: int, colors: Colors) -> None:
        """Draw one of the pictures."""


class Plane(Panels):
    """A mesh in the plane, with its cells; branching curves as lines, points without cells as dots."""

    def __init__(self, field: DrawnField, errors: tuple[float, float] | None) -> None:
        points, blocks = field.mesh.points, field.blocks
        used = np.unique(np.concatenate([block.corners.ravel() for block in blocks])) if blocks else slice(None)
        self.low, self.high = points[used].min(0), points[used].max(0)
        box = np.maximum(self.high - self.low, 1e-30)
        super().__init__(field, errors, float(np.clip(box[1] / box[0], 0.15, 2.0)))
        if field.dimension == 2:
            self.corners, self.owners = triangles(blocks)
            self.outline = points[boundary(blocks)]

    def picture(self, ax: Axes, number: int, colors: Colors) -> None:
        """Draw one of the pictures."""
        points, field = self.field.mesh.points, self.field
        values: NDArray[np.float64] = np.ma.masked_invalid(colors.values)
        drawn: Collection
        if field.dimension == 2:
            if field.place == "cell":  # every triangle has its own corners, with the value of the cell
                corners, at = np.arange(self.corners.size).reshape(-1, 3), points[self.corners.ravel()]
                values = np.repeat(values[self.owners], 3)
            else:
                corners, at = self.corners, points
            drawn = ax.tripcolor(Triangulation(at[:, 0], at[:, 1], corners), values, shading="gouraud")
            if sum(len(block.corners) for block in field.blocks) <= EDGES_DRAWN:
                for block in field.blocks:
                    ax.add_collection(
                        PolyCollection(
                            list(points[block.corners]), facecolors="none", edgecolors="#00000026", linewidths=0.3
                        )
                    )
            ax.add_collection(LineCollection(list(self.outline), colors="#555555", linewidths=0.5, capstyle="round"))
        elif field.dimension == 1:
            ends = field.segments
            drawn = LineCollection(list(points[ends]), linewidths=3.0, capstyle="round")
            drawn.set_array(values[ends].mean(1) if field.place == "point" else values[field.numbers])
            ax.add_collection(drawn)
        else:
            size = float(np.clip(9000 / len(points), 0.3, 20))
            drawn = ax.scatter(points[:, 0], points[:, 1], c=values, s=size, linewidths=0)
        drawn.set_cmap(colors.map)
        drawn.set_clim(*colors.limits)
        margin = 0.02 * float((self.high - self.low).max())
        ax.set_xlim(self.low[0] - margin, self.high[0] + margin)
        ax.set_ylim(self.low[1] - margin, self.high[1] + margin)
        ax.set_aspect("equal")


class Space(Panels):
    """A mesh in space, with marks where truth and prediction are largest."""

    signs = MappingProxyType({"truth": ", \N{WHITE CIRCLE} peak", "prediction": ", \N{MULTIPLICATION SIGN} peak"})

    def __init__(self, field: DrawnField, errors: tuple[float, float] | None) -> None:
        super().__init__(field, errors, 1.0)
        self.what = "prediction" if field.truth is None else "truth"
        peaks = [field.peak(values) for values in (field.truth, field.prediction) if values is not None]
        self._show(field.mesh, [colors for _, colors in self.colors()], peaks)

    def _show(self, mesh: Mesh, pictures: list[Colors], peaks: list[NDArray[np.float64]]) -> None:
        self.shown = render(mesh, self.field.place, pictures, marked=peaks)
        if self.shown is not None:
            self.aspect = self.shown.pictures[0].shape[0] / self.shown.pictures[0].shape[1]

    def picture(self, ax: Axes, number: int, colors: Colors) -> None:
        """Draw one of the pictures, with the peaks of truth and prediction."""
        if self.shown is None:
            return
        ax.imshow(self.shown.pictures[number], interpolation="antialiased")
        signs = ("o", "x") if self.what == "truth" else ("x",)
        for sign, mark in zip(signs, self.shown.marks, strict=False):
            for color, width in (("white", 2.6), ("black", 1.2)):  # on any colour
                ax.plot(
                    mark.column,
                    mark.row,
                    sign,
                    markersize=8 if sign == "o" else 6,
                    markerfacecolor="none",
                    markeredgecolor=color,
                    markeredgewidth=width,
                    alpha=0.45 if mark.is_hidden else 1.0,
                )


class Section(Space):
    """A cut through a body at the peak of the truth, or of the prediction where the truth is not known.

    Attributes:
        place: Where the plane is.
        what: Whose peak that is.
    """

    signs = MappingProxyType({"truth": ", \N{WHITE CIRCLE} peak"})

    def __init__(self, field: DrawnField, errors: tuple[float, float] | None) -> None:
        Panels.__init__(self, field, errors, 1.0)
        values = [colors for _, colors in self.colors()]
        mesh = Mesh(field.mesh.points, tuple((VTK_TYPES[block.vtk], block.corners) for block in field.blocks))
        for number, colors in enumerate(values):
            if field.place == "point":
                mesh = mesh.with_point_data(f"{number}", colors.values)
            else:
                mesh = mesh.with_cell_data(f"{number}", colors.values[field.numbers])
        peak = field.peak(field.prediction if field.truth is None else field.truth)
        self.what = "prediction" if field.truth is None else "truth"
        self.place, peak, cut = section(mesh, peak)
        drawn = []
        for number, colors in enumerate(values):
            own = cut.point_data[f"{number}"] if field.place == "point" else joined(cut.cell_data)[f"{number}"]
            drawn.append(colors._replace(values=own))
        self._show(cut, drawn, [peak])
