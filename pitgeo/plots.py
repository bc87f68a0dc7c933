"""Pictures: losses, fields on cells or points, length scales, latent points, methods compared.

Every function takes plain arrays, writes one PNG and returns its path. Figures are made without pyplot, so that no
window opens and no global state changes.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cm import ScalarMappable
from matplotlib.collections import Collection, PolyCollection
from matplotlib.colors import Normalize
from matplotlib.figure import Figure, FigureBase
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter
from numpy.typing import ArrayLike, NDArray

DPI = 150
FIELD_COLORS, ERROR_COLORS = "viridis", "magma_r"
_BLUE, _ORANGE, _GREY = "#2a6f97", "#d1603d", "#7a7a7a"
_NAMES = {"train_loss": "training loss", "val_error": "validation error"}
_KINDS = {"local": _ORANGE, "cross": _ORANGE, "global": _BLUE}


class FieldSample(NamedTuple):
    """One row of :func:`field_triptych`: a scalar field on 2D points, and what was predicted for it.

    Args:
        title: What to call the sample.
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

    Truth and prediction share the colour limits of the truth; all rows share those of the error. An arrow at the end
    of a colour bar says that values lie beyond it: the top 0.5% of each is left to it, so that a stress
    concentration does not turn the rest of the picture dark.

    Args:
        samples: What to draw, a :class:`FieldSample` (or such a tuple) a row.
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
    error_limits = _limits(np.concatenate([row.error for row in rows]), start=0.0)
    box = np.ptp(rows[0].corners, axis=0)
    aspect = float(np.clip(box[1] / max(float(box[0]), 1e-30), 0.25, 2.0))
    figure = _figure(10.5, len(rows) * (2.75 * aspect + 0.55))
    for part, row in zip(figure.subfigures(len(rows), 1, squeeze=False)[:, 0], rows, strict=True):
        part.suptitle(row.title, x=0.01, ha="left", fontsize=10, fontweight="bold")
        axes = part.subplots(1, 3)
        limits = _limits(row.truth)
        for ax, name, values, colors, where in (
            (axes[0], "truth", row.truth, FIELD_COLORS, limits),
            (axes[1], "prediction", row.prediction, FIELD_COLORS, limits),
            (axes[2], "absolute error", row.error, ERROR_COLORS, error_limits),
        ):
            row.draw(ax, values, colors, where)
            ax.set_title(name, fontsize=9)
        both = np.concatenate([row.truth, row.prediction])
        _colorbar(part, list(axes[:2]), FIELD_COLORS, limits, both, label)
        _colorbar(part, [axes[2]], ERROR_COLORS, error_limits, row.error, f"absolute error, {label}")
    return _save(figure, output)


def loss_curves(metrics_csv: Path | str, output: Path | str) -> Path:
    """Draw every loss and error of a run's ``metrics.csv`` over the epochs, on a logarithmic axis.

    Args:
        metrics_csv: Table with a column ``epoch`` and columns named ``*loss*`` or ``*error*`` (cells may be empty).
        output: The PNG file to write.

    Returns:
        The file written.

    Raises:
        ValueError: If the table has no such column, or no number in them.
    """
    curves = _read_curves(Path(metrics_csv))
    figure = _figure(6.4, 4.0)
    ax = figure.subplots()
    for (name, (epochs, values)), color in zip(curves.items(), _cycle(len(curves)), strict=True):
        style = "-" if name.startswith("train") else "--"
        ax.plot(epochs, values, style, color=color, linewidth=1.4, marker="." if len(epochs) < 30 else "")
        best = int(np.argmin(values))
        text = f"{_NAMES.get(name, name.replace('_', ' '))} (lowest {values[best]:.3g} at epoch {epochs[best]:g})"
        ax.lines[-1].set_label(text)
    ax.set_yscale("log")
    _plain_numbers(ax.yaxis)
    ax.set_xlabel("epoch")
    ax.set_ylabel(" and ".join(_NAMES.get(name, name) for name in curves) if len(curves) < 3 else "loss")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    _tidy(ax)
    ax.legend(frameon=False, fontsize=8)
    return _save(figure, output)


def length_scales(
    rows: Sequence[tuple[str, str, ArrayLike]],
    output: Path | str,
    spacing: float | None = None,
    extent: float | None = None,
) -> Path:
    r"""Draw the length scale :math:`\sqrt{c / \lambda}` of every head, one attention layer a row.

    Args:
        rows: Layer name, kind (``"local"``, ``"cross"`` or ``"global"``) and the heads' length scales ``[H]``; one that
            is infinite (:math:`\lambda = 0`: a plain average) is drawn as an arrow at the right edge.
        output: The PNG file to write.
        spacing: Distance between neighbouring points, drawn for reference.
        extent: Size of the domain, drawn for reference.

    Returns:
        The file written.

    Raises:
        ValueError: If there is no layer, or no positive length.
    """
    lengths = [np.asarray(values, dtype=float).reshape(-1) for _, _, values in rows]
    marks = [mark for mark in (spacing, extent) if mark is not None and math.isfinite(mark) and mark > 0]
    finite = np.concatenate([*(values[np.isfinite(values)] for values in lengths), np.asarray(marks)])
    finite = finite[finite > 0]
    if not rows or finite.size == 0:
        raise ValueError(f"Expected 'rows' to hold at least one positive length scale (got {list(rows)})")
    low, high = float(finite.min()) / 1.6, float(finite.max()) * 1.6
    figure = _figure(7.0, 0.9 + 0.33 * len(rows) + 0.5)
    ax = figure.subplots()
    for number, ((_, kind, _), values) in enumerate(zip(rows, lengths, strict=True)):
        color = _KINDS.get(kind, _GREY)
        inside = np.isfinite(values) & (values > 0)
        ax.plot(values[inside], np.full(int(inside.sum()), number), "o", color=color, alpha=0.75, markersize=6, mew=0)
        beyond = int((~inside).sum())
        if beyond:
            ax.plot([high], [number], ">", color=color, markersize=7, clip_on=False)
    for mark, name in ((spacing, "point spacing"), (extent, "domain size")):
        if mark in marks:
            ax.axvline(float(mark or 0.0), color=_GREY, linewidth=1.0, linestyle=":", zorder=0)
            ax.annotate(
                f"{name} {mark:.3g}",
                (float(mark or 0.0), 1.0),
                xycoords=("data", "axes fraction"),
                xytext=(0, 4),
                textcoords="offset points",
                ha="center",
                fontsize=8,
                color=_GREY,
            )
    ax.set_xscale("log")
    ax.set_xlim(low, high)
    _plain_numbers(ax.xaxis)
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.set_yticks(range(len(rows)), [f"{name} ({kind})" for name, kind, _ in rows], fontsize=8)
    ax.set_xlabel("length scale of each head, in the positions' unit")
    _tidy(ax)
    return _save(figure, output)


def latent_mesh(pos: ArrayLike, latent: ArrayLike, output: Path | str) -> Path:
    """Draw the latent points over the input points they were chosen from.

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
    figure = _figure(5.2, 5.2)
    ax = figure.subplots()
    size = float(np.clip(6000 / len(points), 0.5, 14))
    ax.scatter(points[:, 0], points[:, 1], s=size, color="#b8c4cc", linewidths=0, label=f"{len(points)} input points")
    ax.scatter(
        chosen[:, 0], chosen[:, 1], s=1.6 * size, color=_ORANGE, linewidths=0, label=f"{len(chosen)} latent points"
    )
    ax.set_aspect("equal")
    ax.set_xlabel("x")
    ax.set_ylabel("y")
    _tidy(ax, grid=False)
    ax.legend(frameon=False, fontsize=8, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    return _save(figure, output)


def method_errors(rows: Sequence[tuple[str, ArrayLike]], output: Path | str, label: str) -> Path:
    """Draw the errors of several methods over seeds: a dot a seed, a bar for mean and standard deviation.

    Args:
        rows: Name of each method, and its error for each seed ``[S]``.
        output: The PNG file to write.
        label: What the error is.

    Returns:
        The file written.

    Raises:
        ValueError: If there is no method, or an error is not positive.
    """
    errors = [np.asarray(values, dtype=float).reshape(-1) for _, values in rows]
    if not rows or any(values.size == 0 or not (values > 0).all() for values in errors):
        raise ValueError(f"Expected 'rows' to hold positive errors for every method (got {list(rows)})")
    figure = _figure(6.6, 0.9 + 0.55 * len(rows))
    ax = figure.subplots()
    for number, values in enumerate(errors):
        mean, deviation = float(values.mean()), float(values.std(ddof=1)) if values.size > 1 else 0.0
        below = min(deviation, 0.95 * mean)
        ax.errorbar(
            [mean],
            [number],
            xerr=[[below], [deviation]] if deviation else None,
            fmt="|",
            color="black",
            markersize=14,
            capsize=4,
            linewidth=1.2,
        )
        ax.plot(values, np.full(values.size, number), "o", color=_BLUE, alpha=0.6, markersize=6, mew=0)
        ax.annotate(
            f"{mean:.3g}" + (f" ± {deviation:.1g}" if deviation else ""),
            (mean, number),
            xytext=(0, 10),
            textcoords="offset points",
            ha="center",
            fontsize=8,
        )
    ax.set_xscale("log")
    everything = np.concatenate(errors)
    ax.set_xlim(float(everything.min()) / 1.5, float(everything.max()) * 1.5)
    _plain_numbers(ax.xaxis)
    ax.set_ylim(len(rows) - 0.4, -0.7)
    ax.set_yticks(range(len(rows)), [name for name, _ in rows])
    ax.set_xlabel(label)
    _tidy(ax)
    return _save(figure, output)


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


def _limits(values: NDArray[np.float64], start: float | None = None) -> tuple[float, float]:
    finite = values[np.isfinite(values)]
    if finite.size == 0:
        return 0.0, 1.0
    low = float(np.quantile(finite, 0.005)) if start is None else start
    high = float(np.quantile(finite, 0.995))
    return (low, high) if high > low else (low, low + max(abs(low), 1.0) * 1e-6)


def _colorbar(
    figure: FigureBase,
    axes: list[Axes],
    colors: str,
    limits: tuple[float, float],
    values: NDArray[np.float64],
    label: str,
) -> None:
    below, above = bool((values < limits[0]).any()), bool((values > limits[1]).any())
    extend = {(True, True): "both", (True, False): "min", (False, True): "max", (False, False): "neither"}
    mappable = ScalarMappable(Normalize(*limits), colors)
    bar = figure.colorbar(mappable, ax=axes, extend=extend[below, above], pad=0.02, shrink=0.9, aspect=22)
    bar.set_label(label, fontsize=8)
    bar.ax.tick_params(labelsize=8)
    bar.outline.set_visible(False)


def _read_curves(path: Path) -> dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]]:
    with path.open(newline="", encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    names = [name for name in (table[0] if table else {}) if name and ("loss" in name or "error" in name)]
    curves = {}
    for name in names:
        cells = [(row.get("epoch"), row.get(name)) for row in table]
        pairs = [(float(epoch), float(value)) for epoch, value in cells if epoch and value]
        points = np.asarray([pair for pair in pairs if math.isfinite(pair[1]) and pair[1] > 0], dtype=float)
        if points.size:
            curves[name] = (points[:, 0], points[:, 1])
    if not curves:
        raise ValueError(
            f"Expected {path} to have a column 'epoch' and a positive number in a column named '*loss*' or '*error*' "
            f"(got the columns {list(table[0]) if table else []})"
        )
    return curves


def _cycle(count: int) -> list[str]:
    colors = [_BLUE, _ORANGE, "#4f9d69", "#8e6bb0", _GREY, "#c49a2c"]
    return [colors[number % len(colors)] for number in range(count)]


def _tidy(ax: Axes, grid: bool = True) -> None:
    ax.spines[["top", "right"]].set_visible(False)
    if grid:
        ax.grid(color="#e3e3e3", linewidth=0.6)
        ax.set_axisbelow(True)


def _plain_numbers(axis: Axis) -> None:
    """Label a logarithmic axis whose limits are set: 0.3, not 3 x 10^-1."""
    low, high = sorted(axis.get_view_interval())
    decades = math.log10(high / low)
    if decades < 0.7:
        axis.set_major_locator(MaxNLocator(5))
    else:
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if decades < 2.5 else (1.0,)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def _figure(width: float, height: float) -> Figure:
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _save(figure: Figure, output: Path | str) -> Path:
    path = Path(output)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=DPI)
    return path
