"""The drawing of a page as a picture with titles and colour bars, to save."""

from __future__ import annotations

import io
from collections.abc import Sequence

import matplotlib.image
import numpy as np
from numpy.typing import NDArray

from pitgeo.evaluation.plots.style import color_bar, new_figure, wrapped
from pitgeo.view.panels import Legend

DPI = 150
LEFT, BAR, TITLE, LINE = 0.15, 0.75, 0.3, 0.2
"""Inches beside the drawing, below it, for the titles of panels, and for a line of text."""


def picture(drawing: bytes, titles: Sequence[str], legends: Sequence[Legend], texts: Sequence[str]) -> bytes:
    """A PNG file of the panels that a browser has drawn, with their titles, colour bars and lines of text above.

    Args:
        drawing: The browser's picture of all panels side by side, a PNG file.
        titles: Titles of the panels.
        legends: Colours of the panels, from left to right.
        texts: Lines above them.

    Raises:
        ValueError: If the drawing is no picture.
    """
    pixels = _pixels(drawing)
    width, height = pixels.shape[1] / DPI, pixels.shape[0] / DPI
    lines = [line for text in texts for line in wrapped(text, max(int(width * 9), 30), 4).split("\n")]
    top = 0.12 + len(lines) * LINE
    whole, high = width + 2 * LEFT, top + TITLE + height + BAR
    figure = new_figure(whole, high)
    figure.set_layout_engine("none")
    for number, line in enumerate(lines):
        weight = "bold" if number == 0 else "normal"
        figure.text(LEFT / whole, 1 - (0.1 + number * LINE) / high, line, va="top", fontsize=10, weight=weight)
    panel = width / len(titles)
    for number, title in enumerate(titles):
        center = (LEFT + (number + 0.5) * panel) / whole
        figure.text(center, 1 - (top + 0.05) / high, title, ha="center", va="top", fontsize=10)
    axes = figure.add_axes((LEFT / whole, BAR / high, width / whole, height / high))
    axes.imshow(pixels, aspect="auto", interpolation="none")
    axes.axis("off")
    start = 0
    for legend in legends:
        center = LEFT + (start + legend.panels / 2) * panel
        length = min(0.8 * legend.panels * panel, 4.0)
        ax = figure.add_axes(((center - length / 2) / whole, 0.5 / high, length / whole, 0.1 / high))
        color_bar(figure, ax, legend.map, legend.limits, legend.values, legend.named, "bottom")
        start += legend.panels
    result = io.BytesIO()
    figure.savefig(result, format="png", dpi=DPI)
    return result.getvalue()


def _pixels(drawing: bytes) -> NDArray[np.float64]:
    """The pixels of a PNG file, ``[height, width, 3 or 4]``."""
    try:
        pixels = matplotlib.image.imread(io.BytesIO(drawing), format="png")
    except (ValueError, SyntaxError, OSError, TypeError) as error:
        raise ValueError(
            f"Expected the browser's drawing to be a PNG file (got: {error}); load the page again"
        ) from error
    return np.asarray(pixels)
