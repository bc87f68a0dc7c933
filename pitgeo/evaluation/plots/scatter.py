"""Predicted numbers against true ones, a dot for each sample."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from pitgeo.evaluation.plots.style import BLUE, GREY, new_figure, save, tidy, wrapped

_SIDE = 2.4
_ACROSS = 4
MOST = 16
"""Largest number of panels; more numbers are left out."""


def scatter(pairs: Mapping[str, tuple[ArrayLike, ArrayLike]], output: Path | str) -> Path:
    """Draw predicted over true numbers, a panel for each name; a perfect prediction is on the diagonal.

    Args:
        pairs: True and predicted numbers ``[samples]`` by name, at least one.
        output: The PNG file to write.

    Returns:
        The file written.

    Raises:
        ValueError: If there is nothing to draw, or there are not as many true as predicted numbers.
    """
    numbers = {name: tuple(np.asarray(part, float) for part in pair) for name, pair in list(pairs.items())[:MOST]}
    if not numbers or any(true.shape != found.shape or not true.size for true, found in numbers.values()):
        raise ValueError(
            "Expected as many predicted as true numbers, at least one, for each of some names (got others)"
        )
    across = min(len(numbers), _ACROSS)
    down = -(-len(numbers) // across)
    figure = new_figure(_SIDE * across, _SIDE * down)
    panels = figure.subplots(down, across, squeeze=False).ravel()
    for ax, (name, (true, found)) in zip(panels, numbers.items(), strict=False):
        both = np.concatenate([true, found])
        low, high = float(both.min()), float(both.max())
        margin = 0.08 * (high - low) or abs(high) * 0.1 or 1.0
        ends = (low - margin, high + margin)
        ax.plot(ends, ends, color=GREY, linewidth=1.0, linestyle=":")
        ax.plot(true, found, "o", color=BLUE, alpha=0.6, markersize=4, mew=0)
        ax.set_xlim(ends)
        ax.set_ylim(ends)
        ax.set_aspect("equal")
        ax.set_title(wrapped(name.replace("$", r"\$")), fontsize=8)
        ax.locator_params(nbins=4)
        ax.tick_params(labelsize=7)
        tidy(ax)
    for ax in panels[len(numbers) :]:
        ax.set_axis_off()
    figure.supxlabel("truth", fontsize=9)
    figure.supylabel("prediction", fontsize=9)
    return save(figure, output)
