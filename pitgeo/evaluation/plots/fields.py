"""Pictures of fields on points: truth, prediction, error; and of the latent points."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import Collection, PolyCollection
from numpy.typing import ArrayLike, NDArray

from pitgeo.evaluation.plots.grid import Grid
from pitgeo.evaluation.plots.style import (
    BLUE,
    ERROR_COLORS,
    FIELD_COLORS,
    GREY,
    ORANGE,
    WIDTH,
    color_limits,
    new_figure,
    row_title,
    save,
    tidy,
    wrapped,
)


class FieldSample(NamedTuple):
    """One row of :func:`field_triptych`: a scalar field on 2D points and its prediction.

    Args:
        title: Title of the sample.
        polygons: Corners ``[N, 4, 2]`` of the cell around every point; ``None`` to draw dots.
        pos: Positions ``[N, 2]``.
        truth: True values ``[N]``.
        prediction: Predicted values ``[N]``.
    """

    title: str
    polygons: ArrayLike | None
    pos: ArrayLike
    truth: ArrayLike
    prediction: ArrayLike


def field_triptych(
    samples: Sequence[FieldSample | tuple[str, ArrayLike | None, ArrayLike, ArrayLike, ArrayLike]],
    output: Path | str,
    label: str = "value",
) -> Path:
    """Draw truth, prediction and absolute error of each sample, one sample a row.

    Truth and prediction have the colour limits of the truth; all rows share the limits of the error. An arrow at the
    end of a colour bar means that values lie beyond it: the limits leave out 0.5% of the values, so that a stress
    concentration does not turn the rest of the picture dark.

    Args:
        samples: A :class:`FieldSample` (or such a tuple) for each row.
        output: The PNG file to write.
        label: Name and unit of the field, for the colour bars.

    Returns:
        The file written.

    Raises:
        ValueError: If there is no sample, or shapes disagree, or positions are not 2D.
    """
    if not samples:
        raise ValueError("Expected 'samples' to hold at least one sample (got none)")
    rows = [_Field(*sample) for sample in samples]
    error_limits = color_limits(np.concatenate([row.error for row in rows]), start=0.0)
    boxes = [np.ptp(row.corners, axis=0) for row in rows]
    aspects = [float(np.clip(box[1] / max(float(box[0]), 1e-30), 0.15, 2.0)) for box in boxes]
    grid = Grid([row.title for row in rows], aspects)
    for number, row in enumerate(rows):
        grid.name(number)
        limits = color_limits(row.truth)
        for ax, name, values, colors, bounds in zip(
            grid.panels(number),
            ("truth", "prediction", "absolute error"),
            (row.truth, row.prediction, row.error),
            (FIELD_COLORS, FIELD_COLORS, ERROR_COLORS),
            (limits, limits, error_limits),
            strict=True,
        ):
            row.draw(ax, values, colors, bounds)
            ax.set_title(name, fontsize=9)
        both = np.concatenate([row.truth, row.prediction])
        grid.bars(number, label, (limits, both), (error_limits, row.error))
    return save(grid.figure, output)


def field_curves(samples: Sequence[FieldSample], output: Path | str, label: str = "value") -> Path:
    """Draw truth and prediction of each sample on a line, and the absolute error beside them, one sample a row.

    Args:
        samples: The samples; positions ``[N, 1]``.
        output: The PNG file to write.
        label: Name and unit of the field.

    Returns:
        The file written.

    Raises:
        ValueError: If there is no sample, or positions are not on a line.
    """
    if not samples:
        raise ValueError("Expected 'samples' to hold at least one sample (got none)")
    figure = new_figure(WIDTH, 2.6 * len(samples))
    axes = figure.subplots(len(samples), 2, squeeze=False, sharex=True)
    for (left, right), sample in zip(axes, samples, strict=True):
        pos = np.asarray(sample.pos, dtype=float)
        if pos.ndim != 2 or pos.shape[1] != 1:
            raise ValueError(f"Expected positions on a line, [N, 1] (got {list(pos.shape)})")
        order = pos[:, 0].argsort()
        place, truth, prediction = (np.asarray(part)[order] for part in (pos[:, 0], sample.truth, sample.prediction))
        left.plot(place, truth, color=GREY, linewidth=2.2, label="truth")
        left.plot(place, prediction, color=ORANGE, linewidth=1.1, label="prediction")
        right.plot(place, np.abs(prediction - truth), color=BLUE, linewidth=1.1)
        row_title(left, sample.title)
        left.set_ylabel(wrapped(label), fontsize=8)
        right.set_title("absolute error", fontsize=9)
        tidy(left)
        tidy(right)
    axes[0, 0].legend(frameon=False, fontsize=8)
    for axis in axes[-1]:
        axis.set_xlabel("x")
    return save(figure, output)


def latent_mesh(pos: ArrayLike, latent: ArrayLike, output: Path | str) -> Path:
    """Draw the latent points over the input points.

    Args:
        pos: Input positions ``[N, 2]``.
        latent: Latent positions ``[L, 2]``.
        output: The PNG file to write.

    Returns:
        The file written.

    Raises:
        ValueError: If positions are not 2D.
    """
    points, chosen = _positions(pos, "pos"), _positions(latent, "latent")
    figure = new_figure(5.2, 5.2)
    ax = figure.subplots()
    size = float(np.clip(6000 / len(points), 0.5, 14))
    ax.scatter(points[:, 0], points[:, 1], s=size, color="#b8c4cc", linewidths=0, label=f"{len(points)} input points")
    ax.scatter(
        chosen[:, 0], chosen[:, 1], s=1.6 * size, color=ORANGE, linewidths=0, label=f"{len(chosen)} latent points"
    )
    ax.set_aspect("equal")
    ax.set_xlabel("x")
    ax.set_ylabel("y")
    tidy(ax, grid=False)
    ax.legend(frameon=False, fontsize=8, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    return save(figure, output)


class _Field:
    """A checked row of the triptych."""

    def __init__(
        self, title: str, polygons: ArrayLike | None, pos: ArrayLike, truth: ArrayLike, prediction: ArrayLike
    ) -> None:
        self.title = title
        self.pos = _positions(pos, "pos")
        self.polygons = None if polygons is None else np.asarray(polygons, dtype=float)
        self.truth, self.prediction = np.asarray(truth, dtype=float), np.asarray(prediction, dtype=float)
        count = len(self.pos)
        for name, values in (("truth", self.truth), ("prediction", self.prediction)):
            if values.shape != (count,):
                raise ValueError(f"Expected '{name}' to have shape [{count}], one a point (got {list(values.shape)})")
        if self.polygons is not None and (self.polygons.ndim != 3 or self.polygons.shape[::2] != (count, 2)):
            raise ValueError(
                f"Expected 'polygons' to have shape [{count}, corners, 2], a cell a point "
                f"(got {list(self.polygons.shape)})"
            )
        self.error: NDArray[np.float64] = np.abs(self.prediction - self.truth)
        self.corners = self.pos if self.polygons is None else self.polygons.reshape(-1, 2)

    def draw(self, ax: Axes, values: NDArray[np.float64], colors: str, limits: tuple[float, float]) -> None:
        drawn: Collection
        if self.polygons is not None:
            drawn = PolyCollection(list(self.polygons), edgecolors="face", linewidths=0.6)
            ax.add_collection(drawn)
        else:
            size = float(np.clip(9000 / len(self.pos), 0.3, 20))
            drawn = ax.scatter(self.pos[:, 0], self.pos[:, 1], s=size, linewidths=0)
        drawn.set_array(values)
        drawn.set_cmap(colors)
        drawn.set_clim(*limits)
        low, high = self.corners.min(0), self.corners.max(0)
        margin = 0.02 * float((high - low).max())
        ax.set_xlim(low[0] - margin, high[0] + margin)
        ax.set_ylim(low[1] - margin, high[1] + margin)
        ax.set_aspect("equal")
        ax.set_axis_off()


def _positions(pos: ArrayLike, name: str) -> NDArray[np.float64]:
    points = np.asarray(pos, dtype=float)
    if points.ndim != 2 or points.shape[1] != 2 or len(points) == 0:
        raise ValueError(f"Expected '{name}' to have shape [N, 2], points of a plane (got {list(points.shape)})")
    return points
