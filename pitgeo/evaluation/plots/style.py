"""Helpers that all pictures share. Figures do not use pyplot: no window opens, no global state changes."""

from __future__ import annotations

import math
import textwrap
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure, FigureBase
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, ScalarFormatter
from numpy.typing import NDArray

DPI = 200
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
WIDTH = 8.0
"""Width of a picture with several columns, in inches: as on paper, so that letters of 8 pt are readable."""
FIELD_COLORS, ERROR_COLORS = "viridis", "magma_r"
BLUE, ORANGE, GREY = "#2a6f97", "#d1603d", "#7a7a7a"


def cycle(count: int) -> list[str]:
    """Colours for ``count`` curves, all different up to sixteen."""
    colors = [BLUE, ORANGE, "#4f9d69", "#8e6bb0", GREY, "#c49a2c", "#1b1b1b", "#d46a9f", "#56b4d9", "#8c4b2f",
              "#a6c23a", "#2b3a8f", "#e8a27c", "#0e8f83", "#a3182f", "#c0b3e0"]  # fmt: skip
    return [colors[number % len(colors)] for number in range(count)]


def tidy(ax: Axes, grid: bool = True) -> None:
    """Remove the frame, and add a light grid."""
    ax.spines[["top", "right"]].set_visible(False)
    if grid:
        ax.grid(color="#e3e3e3", linewidth=0.6)
        ax.set_axisbelow(True)


def plain_numbers(axis: Axis) -> None:
    """Label a logarithmic axis with plain numbers, 0.3 and not 3 x 10^-1; its limits must be set."""
    low, high = sorted(axis.get_view_interval())
    decades = math.log10(high / low)
    if decades < 0.7:
        axis.set_major_locator(MaxNLocator(5))
    else:
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if decades < 2.5 else (1.0,)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def color_limits(values: NDArray[np.float64], start: float | None = None) -> tuple[float, float]:
    """Limits of a colour scale; 0.5% of the values at each end are beyond, and shown by arrows of the colour bar.

    Args:
        values: The drawn values; those that are not finite are ignored.
        start: The lower limit, if it is fixed.
    """
    finite = values[np.isfinite(values)]
    if finite.size == 0:
        return 0.0, 1.0
    low = float(np.quantile(finite, 0.005)) if start is None else start
    high = float(np.quantile(finite, 0.995))
    return (low, high) if high > low else (low, low + max(abs(low), 1.0) * 1e-6)


def color_bar(
    figure: FigureBase,
    ax: Axes,
    colors: str,
    limits: tuple[float, float],
    values: NDArray[np.float64],
    label: Callable[[str], str],
    location: Literal["right", "bottom"] = "right",
) -> None:
    """Draw a colour bar on its own axes, with arrows at ends that values lie beyond.

    Args:
        figure: The figure that has the axes.
        ax: The axes that become the bar.
        colors: Name of the colour map.
        limits: Lower and upper end of the bar.
        values: The values drawn in these colours.
        label: Makes the label from the text of the power of ten that divides the numbers, empty without one.
        location: Position of the bar relative to its pictures.
    """
    below, above = bool((values < limits[0]).any()), bool((values > limits[1]).any())
    extend = {(True, True): "both", (True, False): "min", (False, True): "max", (False, False): "neither"}
    largest = max(abs(limits[0]), abs(limits[1]))
    power = math.floor(math.log10(largest)) if largest > 0 else 0
    if -3 <= power < 5:
        power = 0
    mappable = ScalarMappable(Normalize(limits[0] / 10.0**power, limits[1] / 10.0**power), colors)
    bar = figure.colorbar(
        mappable, cax=ax, extend=extend[below, above], orientation="vertical" if location == "right" else "horizontal"
    )
    # The power of ten is part of the label; matplotlib would draw it across the label.
    bar.set_label(label(f" (\N{MULTIPLICATION SIGN}10{str(power).translate(RAISED)})" if power else ""), fontsize=8)
    bar.locator = MaxNLocator(5, steps=[1, 2, 2.5, 5, 10])
    if isinstance(bar.formatter, ScalarFormatter):
        bar.formatter.set_scientific(False)
    bar.update_ticks()
    bar.ax.tick_params(labelsize=8)
    bar.outline.set_visible(False)


def wrapped(text: str, letters: int = 26, lines: int = 2) -> str:
    """A text broken into lines, and cut after the last allowed one; lines do not break at hyphens."""
    rows = textwrap.wrap(text, letters, break_on_hyphens=False)
    return "\n".join(rows if len(rows) <= lines else [*rows[: lines - 1], f"{rows[lines - 1][: letters - 3]}..."])


def bar_label(name: str, power: str, letters: int, lines: int) -> str:
    """The label of a colour bar, broken into lines: a name that is too long is cut, the power of ten stays whole."""
    label = wrapped(name + power, letters, lines)
    if label.endswith(power.strip()):
        return label
    if lines == 1:
        return wrapped(name, max(letters - len(power), 4), 1) + power
    return f"{wrapped(name, letters, lines - 1)}\n{power.strip()}"


def row_title(ax: Axes, text: str) -> None:
    """Write the title of a row of pictures above the title of the first one, as wide as the figure."""
    width = ax.figure.get_figure(root=True).get_figwidth() if ax.figure else WIDTH
    ax.set_title(f"{wrapped(text, int(10 * width), 3)}\n", fontsize=10, fontweight="bold", loc="left")


def new_figure(width: float, height: float) -> Figure:
    """A figure without pyplot."""
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def save(figure: Figure, output: Path | str, dpi: int = DPI) -> Path:
    """Write a PNG file; make its folder if it does not exist."""
    path = Path(output)
    path.parent.mkdir(parents=True, exist_ok=True)
    with warnings.catch_warnings():  # a letter that no font has is drawn as a box
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
        figure.savefig(path, dpi=dpi)
    return path
