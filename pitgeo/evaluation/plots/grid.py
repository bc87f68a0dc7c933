"""The layout of rows of pictures in inches: the same in every row, with room for titles, numbers and names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from pitgeo.evaluation.plots.style import ERROR_COLORS, FIELD_COLORS, WIDTH, bar_label, color_bar, new_figure, wrapped

PAD = 0.12
TITLE = 0.19
"""Height of one line in the title of a row."""
NAME = 0.26
"""Height of the name above a picture."""
BESIDE = 1.02
"""Width of a colour bar with its numbers and name; a bar below pictures takes about half of this in height."""
LEAST = 1.0
"""Least height of pictures with a colour bar beside them."""
ALONE = 0.45
"""Width of a figure with one column, as a share of one with three."""


class Grid:
    """Rows of pictures in a figure.

    Args:
        titles: Title of every row.
        aspects: Height of the pictures of every row, divided by their width.
        columns: Pictures in a row: three, with two colour bars, or one.
    """

    def __init__(self, titles: Sequence[str], aspects: Sequence[float], columns: int = 3) -> None:
        width = WIDTH if columns == 3 else ALONE * WIDTH
        bars = 2 if columns == 3 else 1
        self.columns, self.wide = columns, max(aspects) < 0.55  # a colour bar beside them would be too short
        self.size = (width - 2 * PAD - (columns - 1) * PAD - (0.0 if self.wide else bars * BESIDE)) / columns
        self.titles = [wrapped(title, int(10.5 * width), 3) for title in titles]
        least = 0.35 if self.wide else LEAST
        self.pictures = [max(aspect * self.size, least) for aspect in aspects]
        below = 0.6 * BESIDE if self.wide else 0.0
        heights = [
            (title.count("\n") + 1) * TITLE + NAME + picture + below + 1.5 * PAD
            for title, picture in zip(self.titles, self.pictures, strict=True)
        ]
        self.starts = [0.0, *np.cumsum(heights).tolist()]
        self.figure: Figure = new_figure(width, self.starts[-1])
        self.figure.set_layout_engine("none")

    def axes(self, row: int, lefts: Sequence[float], widths: Sequence[float], below: float = 0.0) -> list[Axes]:
        """Axes of a row at these places in inches, under its title, ``below`` inches less high than its pictures."""
        top, height = self._top(row), self.pictures[row] - below
        return [self._at(left, top, width, height) for left, width in zip(lefts, widths, strict=True)]

    def panels(self, row: int) -> list[Axes]:
        """The axes of the pictures of a row; of three, the third is that of the error, after a colour bar."""
        lefts = [PAD + number * (self.size + PAD) for number in range(self.columns)]
        if self.columns == 3 and not self.wide:
            lefts[2] += BESIDE
        return self.axes(row, lefts, [self.size] * self.columns)

    def bars(
        self,
        row: int,
        label: str,
        field: tuple[tuple[float, float], NDArray[np.float64]],
        error: tuple[tuple[float, float], NDArray[np.float64]] | None,
    ) -> None:
        """Draw the colour bars of a row: limits and values of the field, and of the error if there is one."""
        first = 2 if self.columns == 3 else 1
        right = PAD + first * (self.size + PAD)
        self._bar(row, label, FIELD_COLORS, *field, PAD, right - PAD)
        if error is not None:
            left = right + (0.0 if self.wide else BESIDE)
            self._bar(row, label, ERROR_COLORS, *error, left, left + self.size)

    def _bar(
        self,
        row: int,
        label: str,
        colors: str,
        limits: tuple[float, float],
        values: NDArray[np.float64],
        left: float,
        right: float,
    ) -> None:
        top, height = self._top(row), self.pictures[row]
        location: Literal["right", "bottom"] = "bottom" if self.wide else "right"
        if self.wide:
            width = min(right - left, 3.2)
            ax = self._at((left + right - width) / 2 + 0.1, top + height + 0.08, width - 0.2, 0.08)
            letters, lines = int(width * 12), 1
        else:
            bar = min(height, 2.4)
            ax = self._at(right + 0.08, top + (height - bar) / 2 + 0.05 * bar, 0.09, 0.9 * bar)
            letters, lines = int(bar * 13), 2
        color_bar(
            self.figure, ax, colors, limits, values, lambda power: bar_label(label, power, letters, lines), location
        )

    def name(self, row: int) -> None:
        """Write the title of a row."""
        width, height = self.figure.get_size_inches()
        self.figure.text(
            PAD / width, 1 - (self.starts[row] + 0.06) / height, self.titles[row], va="top", fontsize=10, weight="bold"
        )

    def _top(self, row: int) -> float:
        return float(self.starts[row]) + (self.titles[row].count("\n") + 1) * TITLE + NAME

    def _at(self, left: float, top: float, width: float, height: float) -> Axes:
        whole, high = self.figure.get_size_inches()
        return self.figure.add_axes((left / whole, 1 - (top + height) / high, width / whole, height / high))
