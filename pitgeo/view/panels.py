"""The panels of a page: truth, prediction and error side by side, and their colours."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pitgeo.evaluation.plots.style import ERROR_COLORS, FIELD_COLORS, color_limits
from pitgeo.view.probe import format_number
from pitgeo.view.session import Shown

Limits = tuple[float, float]


class Panel(NamedTuple):
    """Values at every point or cell of a mesh, with a colour map and its limits.

    Args:
        title: What they are.
        values: One for every point, or every cell ``[n]``.
        map: Name of the colour map.
        limits: Its ends.
    """

    title: str
    values: NDArray[np.float64]
    map: str
    limits: Limits


class Legend(NamedTuple):
    """The colours of some panels.

    Args:
        label: What the values are.
        map: Name of the colour map.
        limits: Its ends.
        values: The drawn values.
        panels: How many panels have them.
    """

    label: str
    map: str
    limits: Limits
    values: NDArray[np.float64]
    panels: int

    def named(self, power: str) -> str:
        """The label with the power of ten that divides the numbers beside it."""
        return f"{self.label}{power}"

    def plain(self) -> dict[str, Any]:
        """Plain texts and numbers for the browser."""
        low, high = self.limits
        return {
            "label": self.label,
            "map": self.map,
            "panels": self.panels,
            "ticks": [f"{low + share * (high - low):.3g}" for share in (0, 0.25, 0.5, 0.75, 1)],
            "least": format_number(float(self.values.min())),
            "most": format_number(float(self.values.max())),
        }


def ranges(shown: Shown) -> tuple[Limits, Limits]:
    """The limits of the colours of truth and prediction, which are the same, and those of the error."""
    errors = np.zeros(1) if shown.error is None else shown.error
    return color_limits(_known(shown)), color_limits(errors, start=0.0)


def panels_of(shown: Shown, label: str, limits: tuple[Limits, Limits]) -> tuple[list[Panel], list[Legend]]:
    """Truth, prediction and absolute error; without a truth the prediction alone.

    Args:
        shown: The values.
        label: What they are.
        limits: The limits of the colours, as :func:`ranges` finds them.
    """
    prediction = Panel("Prediction", shown.prediction, FIELD_COLORS, limits[0])
    if shown.truth is None or shown.error is None:
        return [prediction], [Legend(label, FIELD_COLORS, limits[0], shown.prediction, 1)]
    truth = Panel("Truth", shown.truth, FIELD_COLORS, limits[0])
    error = Panel("Error", shown.error, ERROR_COLORS, limits[1])
    legends = [
        Legend(label, FIELD_COLORS, limits[0], _known(shown), 2),
        Legend(f"error of {label}", ERROR_COLORS, limits[1], shown.error, 1),
    ]
    return [truth, prediction, error], legends


def bare(count: int) -> list[Panel]:
    """The mesh alone, of so many points."""
    return [Panel("Mesh", np.zeros(count), "Greys", (-1.0, 2.0))]


def _known(shown: Shown) -> NDArray[np.float64]:
    return shown.prediction if shown.truth is None else np.concatenate([shown.truth, shown.prediction])
