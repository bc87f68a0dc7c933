"""Pictures of fields on meshes: truth, prediction, error, on the cells as they are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import Collection, LineCollection, PolyCollection
from matplotlib.figure import SubFigure
from matplotlib.tri import Triangulation
from numpy.typing import ArrayLike, NDArray

from pitgeo.mesh import Mesh
from pitgeo.plots.cells import boundary, largest_cells, triangles
from pitgeo.plots.chains import Chain, chains
from pitgeo.plots.space import Colors, render
from pitgeo.plots.style import (
    BLUE,
    ERROR_COLORS,
    FIELD_COLORS,
    GREY,
    ORANGE,
    color_bar,
    color_limits,
    new_figure,
    save,
    tidy,
)

EDGES_DRAWN = 2000
"""Edges of cells are drawn where there are at most this many."""


@dataclass(frozen=True, eq=False)
class MeshSample:
    """One row of :func:`mesh_fields`: a scalar field on a mesh, and what was predicted for it.

    Args:
        title: What to call the sample.
        mesh: The mesh.
        place: Whether there is a value a point or a value a cell.
        truth: True values, or ``None`` where they are not known: ``[N]``, one a point; or one a cell, block after
            block, of all cells or of those of the highest dimension.
        prediction: Predicted values, as many.
    """

    title: str
    mesh: Mesh
    place: Literal["point", "cell"]
    truth: ArrayLike | None
    prediction: ArrayLike


def mesh_fields(rows: Sequence[MeshSample], output: Path | str, label: str = "value") -> Path | None:
    """Draw truth, prediction and absolute error of each sample, one sample a row.

    Meshes in the plane are drawn with their cells, those on a line and curves in the plane as values over the position
    or the arc length, meshes in space by VTK from outside; meshes without cells as dots. Truth and prediction share
    their colours; all rows share those of the error. Arrows on the colour bars are those of
    :func:`~pitgeo.plots.field_triptych`.

    Args:
        rows: What to draw.
        output: The PNG file to write.
        label: Name and unit of the field.

    Returns:
        The file written; ``None`` (and a warning in the log) if a mesh is in space and VTK cannot draw here.

    Raises:
        ValueError: If there is no row, or the number of values is not that of the points or cells.
        ImportError: If a mesh is in space and PyVista is not installed.
    """
    if not rows:
        raise ValueError("Expected 'rows' to hold at least one sample (got none)")
    fields = [_Field(row) for row in rows]
    errors = [field.error for field in fields if field.error is not None]
    limits = color_limits(np.concatenate(errors), start=0.0) if errors else None
    drawers = [_drawer(field, limits) for field in fields]
    if any(isinstance(drawer, _Space) and drawer.pictures is None for drawer in drawers):
        return None
    columns = 3 if errors or any(isinstance(drawer, _Curves) for drawer in drawers) else 1
    heights = [drawer.height for drawer in drawers]
    figure = new_figure(10.5 if columns == 3 else 4.6, sum(heights))
    parts = figure.subfigures(len(rows), 1, squeeze=False, height_ratios=heights)[:, 0]
    for part, field, drawer in zip(parts, fields, drawers, strict=True):
        part.suptitle(field.title, x=0.01, ha="left", fontsize=10, fontweight="bold")
        drawer.draw(part, label, columns)
    return save(figure, output)


class _Field:
    """A checked row: values at all points, or at all cells."""

    def __init__(self, row: MeshSample) -> None:
        self.title, self.mesh, self.place = row.title, row.mesh, row.place
        self.dimension, self.blocks = largest_cells(row.mesh)
        if row.place not in ("point", "cell"):
            raise ValueError(f"Expected 'place' to be 'point' or 'cell' (got {row.place!r})")
        if row.place == "cell" and self.dimension == 0:
            raise ValueError("Expected a mesh with cells where values are on cells (got none); pass place='point'")
        self.prediction = self._checked("prediction", row.prediction)
        self.truth = None if row.truth is None else self._checked("truth", row.truth)
        self.error = None if self.truth is None else np.abs(self.prediction - self.truth)
        known = self.prediction if self.truth is None else self.truth
        self.limits = color_limits(known)
        self.known = known if self.truth is None else np.concatenate([known, self.prediction])

    def _checked(self, name: str, values: ArrayLike) -> NDArray[np.float64]:
        found = np.asarray(values, dtype=float)
        if self.place == "point":
            count = len(self.mesh.points)
            if found.shape != (count,):
                raise ValueError(f"Expected '{name}' to have shape [{count}], one a point (got {list(found.shape)})")
            return found
        count, numbers = sum(len(nodes) for _, nodes in self.mesh.cells), self.numbers
        if found.shape == (count,):
            return found
        if found.shape != numbers.shape:
            few = f" or [{len(numbers)}]" if len(numbers) != count else ""
            raise ValueError(f"Expected '{name}' to have shape [{count}]{few}, one a cell (got {list(found.shape)})")
        full = np.full(count, np.nan)
        full[numbers] = found
        return full

    @property
    def numbers(self) -> NDArray[np.int64]:
        """The cells of the highest dimension among all."""
        return np.concatenate([block.numbers for block in self.blocks])

    @property
    def segments(self) -> NDArray[np.int64]:
        """Both ends of every line cell."""
        return np.concatenate([block.corners for block in self.blocks])


class _Panels(ABC):
    """A row of three pictures with colours: truth, prediction, error."""

    def __init__(self, field: _Field, errors: tuple[float, float] | None, aspect: float) -> None:
        self.field, self.errors = field, errors
        self.wide = aspect < 0.55  # a colour bar beside it would be too short
        self.height = 3.1 * aspect + 1.15 if self.wide else 2.75 * aspect + 0.55

    def colors(self) -> list[tuple[str, Colors]]:
        """Name, values and colours of every picture of this row."""
        field = self.field
        found = [("prediction", Colors(field.prediction, FIELD_COLORS, field.limits))]
        if field.truth is not None and field.error is not None and self.errors is not None:
            found.insert(0, ("truth", Colors(field.truth, FIELD_COLORS, field.limits)))
            found.append(("absolute error", Colors(field.error, ERROR_COLORS, self.errors)))
        return found

    def draw(self, part: SubFigure, label: str, columns: int) -> None:
        everything = list(part.subplots(1, columns, squeeze=False)[0])
        pictures = self.colors()
        axes = everything if len(pictures) == columns else everything[columns // 2 : columns // 2 + 1]
        for ax in everything:
            ax.set_axis_off()
        for number, (ax, (name, colors)) in enumerate(zip(axes, pictures, strict=True)):
            self.picture(ax, number, colors)
            ax.set_title(name, fontsize=9)
        location: Literal["right", "bottom"] = "bottom" if self.wide else "right"
        color_bar(part, axes[:2], FIELD_COLORS, self.field.limits, self.field.known, label, location)
        if self.field.error is not None and self.errors is not None:
            color_bar(
                part, [axes[2]], ERROR_COLORS, self.errors, self.field.error, f"absolute error, {label}", location
            )

    @abstractmethod
    def picture(self, ax: Axes, number: int, colors: Colors) -> None:
        """Draw one of the pictures."""


class _Plane(_Panels):
    """A mesh in the plane, with its cells; branching curves as lines, points without cells as dots."""

    def __init__(self, field: _Field, errors: tuple[float, float] | None) -> None:
        points, blocks = field.mesh.points, field.blocks
        used = np.unique(np.concatenate([block.corners.ravel() for block in blocks])) if blocks else slice(None)
        self.low, self.high = points[used].min(0), points[used].max(0)
        box = np.maximum(self.high - self.low, 1e-30)
        super().__init__(field, errors, float(np.clip(box[1] / box[0], 0.15, 2.0)))
        if field.dimension == 2:
            self.corners, self.owners = triangles(blocks)
            self.outline = points[boundary(blocks)]

    def picture(self, ax: Axes, number: int, colors: Colors) -> None:
        points, field = self.field.mesh.points, self.field
        values: NDArray[np.float64] = np.ma.masked_invalid(colors.values)
        drawn: Collection
        if field.dimension == 2:
            if field.place == "cell":  # every triangle gets corners of its own, all of the cell's value
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


class _Space(_Panels):
    """A mesh in space."""

    def __init__(self, field: _Field, errors: tuple[float, float] | None) -> None:
        super().__init__(field, errors, 1.0)
        self.pictures = render(field.mesh, field.place, [colors for _, colors in self.colors()])
        if self.pictures is not None:
            super().__init__(field, errors, self.pictures[0].shape[0] / self.pictures[0].shape[1])

    def picture(self, ax: Axes, number: int, colors: Colors) -> None:
        ax.imshow((self.pictures or [])[number], interpolation="antialiased")


class _Curves:
    """Values over the position on a line, or over the arc length of curves in the plane."""

    height = 2.8

    def __init__(self, field: _Field, curves: Sequence[Chain] | None) -> None:
        self.field, self.curves = field, curves
        points = field.mesh.points
        if curves is None:
            at = points[:, 0] if field.place == "point" else points[field.segments, 0].mean(1)
            order = at.argsort(kind="stable")
            self.at, self.order = at[order], order if field.place == "point" else field.numbers[order]
            return
        places: list[ArrayLike] = []
        orders: list[ArrayLike] = []
        start = 0.0
        for chain in curves:
            steps = np.linalg.norm(np.diff(points[chain.points], axis=0), axis=1)
            length = start + np.concatenate([[0.0], np.cumsum(steps)])
            start = length[-1]
            if field.place == "cell":
                length = (length[1:] + length[:-1]) / 2
            places += [length, [np.nan]]
            orders += [chain.points if field.place == "point" else field.numbers[chain.segments], [0]]
        self.at, self.order = np.concatenate(places), np.concatenate(orders).astype(int)

    def draw(self, part: SubFigure, label: str, columns: int) -> None:
        field = self.field
        ratios = None if self.curves is None else [0.8, 1.2, 1.2]
        axes = part.subplots(1, 2 if self.curves is None else 3, width_ratios=ratios)
        if self.curves is not None:
            self._shape(part, axes[0], label)
        left, right = axes[-2:]
        style: Literal["default", "steps-mid"] = "default" if field.place == "point" else "steps-mid"
        if field.truth is not None and field.error is not None:
            left.plot(self.at, field.truth[self.order], color=GREY, linewidth=2.2, label="truth", drawstyle=style)
            right.plot(self.at, field.error[self.order], color=BLUE, linewidth=1.1, drawstyle=style)
            right.set_title("absolute error", fontsize=9, loc="left")
            tidy(right)
        else:
            right.set_axis_off()
        values = field.prediction[self.order]
        left.plot(self.at, values, color=ORANGE, linewidth=1.1, label="prediction", drawstyle=style)
        left.legend(frameon=False, fontsize=8, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, borderaxespad=0.2)
        left.set_ylabel(label, fontsize=8)
        tidy(left)
        for ax in (left, right):
            ax.set_xlabel("x" if self.curves is None else "arc length", fontsize=8)
            ax.tick_params(labelsize=8)

    def _shape(self, part: SubFigure, ax: Axes, label: str) -> None:
        """The curve itself, coloured, and a dot where the arc length begins."""
        field = self.field
        values = field.prediction if field.truth is None else field.truth
        ends = field.segments
        points = field.mesh.points
        colors = values[ends].mean(1) if field.place == "point" else values[field.numbers]
        drawn = LineCollection(list(points[ends]), array=colors, cmap=FIELD_COLORS, linewidths=3.0, capstyle="round")
        drawn.set_clim(*field.limits)
        ax.add_collection(drawn)
        ax.autoscale_view()
        ax.set_aspect("equal")
        ax.set_axis_off()
        for chain in self.curves or ():
            ax.plot(*points[chain.points[0]], "o", color="black", markersize=4)
        ax.set_title("prediction" if field.truth is None else "truth, arc length from the dot", fontsize=9)
        color_bar(part, [ax], FIELD_COLORS, field.limits, values, label, "bottom")


def _drawer(field: _Field, errors: tuple[float, float] | None) -> _Curves | _Plane | _Space:
    axes = field.mesh.points.shape[1]
    if axes == 3:
        return _Space(field, errors)
    if axes == 1:
        return _Curves(field, None)
    if field.dimension == 1 and (curves := chains(field.segments)) is not None:
        return _Curves(field, curves)
    return _Plane(field, errors)
