"""What all pictures have in common. Figures are made without pyplot: no window opens, no global state changes."""

from __future__ import annotations

import math
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

DPI = 150
BLUE, ORANGE, GREY = "#2a6f97", "#d1603d", "#7a7a7a"


def cycle(count: int) -> list[str]:
    """Colours of that many curves."""
    colors = [BLUE, ORANGE, "#4f9d69", "#8e6bb0", GREY, "#c49a2c"]
    return [colors[number % len(colors)] for number in range(count)]


def tidy(ax: Axes, grid: bool = True) -> None:
    """No frame, a light grid."""
    ax.spines[["top", "right"]].set_visible(False)
    if grid:
        ax.grid(color="#e3e3e3", linewidth=0.6)
        ax.set_axisbelow(True)


def plain_numbers(axis: Axis) -> None:
    """Label a logarithmic axis whose limits are set: 0.3, not 3 x 10^-1."""
    low, high = sorted(axis.get_view_interval())
    decades = math.log10(high / low)
    if decades < 0.7:
        axis.set_major_locator(MaxNLocator(5))
    else:
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if decades < 2.5 else (1.0,)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def new_figure(width: float, height: float) -> Figure:
    """A figure without pyplot."""
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def save(figure: Figure, output: Path | str) -> Path:
    """Write a PNG file, and its folder if need be."""
    path = Path(output)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=DPI)
    return path
