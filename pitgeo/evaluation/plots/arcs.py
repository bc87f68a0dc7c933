"""Rows of pictures with values over a line, or over the arc length of curves in the plane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from numpy.typing import ArrayLike, NDArray

from pitgeo.evaluation.plots.drawn import DrawnField
from pitgeo.evaluation.plots.grid import PAD, Grid
from pitgeo.evaluation.plots.style import BLUE, FIELD_COLORS, GREY, ORANGE, bar_label, color_bar, tidy, wrapped

BELOW = 0.45
"""Inches below axes, for their numbers and labels."""


class Chain(NamedTuple):
    """Points one after the other, and the segments between them.

    Args:
        points: Numbers of points ``[K]``; the first is also the last of a closed curve.
        segments: Numbers of segments ``[K - 1]``.
    """

    points: NDArray[np.int64]
    segments: NDArray[np.int64]


def chains(segments: NDArray[np.int64]) -> list[Chain] | None:
    """The curves that the segments form, or ``None`` if more than two segments meet at a point.

    Open curves begin at the end with the lower number, closed curves at their point of lowest number and with its
    first segment.

    Args:
        segments: Both ends of every segment ``[S, 2]``.
    """
    neighbors: dict[int, list[tuple[int, int]]] = {}
    for number, (start, end) in enumerate(segments.tolist()):
        neighbors.setdefault(start, []).append((end, number))
        neighbors.setdefault(end, []).append((start, number))
    if any(len(ends) > 2 for ends in neighbors.values()):
        return None
    curves, used = [], np.zeros(len(segments), bool)
    for start in sorted(neighbors, key=lambda point: (len(neighbors[point]), point)):  # ends come first
        points, numbers = [start], []
        while (step := next((pair for pair in neighbors[points[-1]] if not used[pair[1]]), None)) is not None:
            used[step[1]] = True
            points.append(step[0])
            numbers.append(step[1])
        if numbers:
            curves.append(Chain(np.asarray(points), np.asarray(numbers)))
    return curves


class Curves:
    """Values over the position on a line, or over the arc length of curves in the plane."""

    aspect = 1.0

    def __init__(self, field: DrawnField, curves: Sequence[Chain] | None) -> None:
        self.field, self.curves = field, curves
        points = field.mesh.points
        if curves is None:
            places_on_line = points[:, 0] if field.place == "point" else points[field.segments, 0].mean(1)
            order = places_on_line.argsort(kind="stable")
            self.at, self.order = places_on_line[order], order if field.place == "point" else field.numbers[order]
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

    def draw(self, grid: Grid, row: int, label: str) -> None:
        """Draw the row: the curve, the values over it, the error."""
        field = self.field
        if self.curves is None:
            axes = grid.axes(row, [0.85, 4.75], [3.1, 3.1], BELOW)
        else:
            shape, *axes = grid.axes(row, [PAD, 2.65, 5.75], [1.55, 2.3, 2.1], BELOW)
            self._shape(grid, row, shape, label)
        left, right = axes
        style: Literal["default", "steps-mid"] = "default" if field.place == "point" else "steps-mid"
        if field.truth is not None and field.error is not None:
            left.plot(self.at, field.truth[self.order], color=GREY, linewidth=2.2, label="truth", drawstyle=style)
            right.plot(self.at, field.error[self.order], color=BLUE, linewidth=1.1, drawstyle=style)
            right.set_title("absolute error", fontsize=9)
            tidy(right)
        else:
            right.set_axis_off()
        values = field.prediction[self.order]
        left.plot(self.at, values, color=ORANGE, linewidth=1.1, label="prediction", drawstyle=style)
        left.legend(frameon=False, fontsize=8, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, borderaxespad=0.2)
        left.set_ylabel(wrapped(label), fontsize=8)
        tidy(left)
        for ax in (left, right):
            ax.set_xlabel("x" if self.curves is None else "arc length", fontsize=8)
            ax.tick_params(labelsize=8)

    def _shape(self, grid: Grid, row: int, ax: Axes, label: str) -> None:
        """Draw the curve itself in colours, and a dot at the start of the arc length."""
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
        ax.set_title("prediction" if field.truth is None else "truth, from the dot", fontsize=9)
        low, width = ax.get_position().y0, grid.figure.get_figwidth()
        bar = grid.figure.add_axes((2 * PAD / width, low - 0.16 / grid.figure.get_figheight(), 1.3 / width, 0.008))
        color_bar(
            grid.figure, bar, FIELD_COLORS, field.limits, values, lambda power: bar_label(label, power, 20, 1), "bottom"
        )
