"""A reliability diagram of the spreads of an ensemble."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from pitgeo.evaluation.plots.style import BLUE, GREY, cycle, new_figure, save, tidy

_NAMED = 6
"""Largest number of curves with their own names and colours."""


def reliability(observed: Mapping[str, ArrayLike], expected: ArrayLike, output: Path | str) -> Path:
    """Draw the observed share of errors within k spreads over the expected share, for several k.

    Above the diagonal the spread is too large, below it too small.

    Args:
        observed: Name of each target and the shares observed ``[L]``.
        expected: The shares ``[L]`` of a normal distribution.
        output: The PNG file to write.

    Returns:
        The file written.

    Raises:
        ValueError: If there is no target, or numbers of shares differ.
    """
    across = np.asarray(expected, dtype=float)
    curves = {name: np.asarray(shares, dtype=float) for name, shares in observed.items()}
    if not curves or any(shares.shape != across.shape for shares in curves.values()):
        shapes = {name: list(shares.shape) for name, shares in curves.items()}
        raise ValueError(f"Expected 'observed' to hold {list(across.shape)} shares for every target (got {shapes})")
    figure = new_figure(4.6, 4.4)
    ax = figure.subplots()
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=1.0, linestyle=":", label="normal distribution")
    if len(curves) <= _NAMED:
        for (name, shares), color in zip(curves.items(), cycle(len(curves)), strict=True):
            ax.plot(across, shares, color=color, marker=".", linewidth=1.4, label=name.replace("_", " "))
    else:
        for shares in curves.values():
            ax.plot(across, shares, color=BLUE, alpha=0.3, linewidth=1.0)
        ax.lines[-1].set_label(f"{len(curves)} targets")
    ax.set_xlim(0, 1)
    ax.set_ylim(0, 1)
    ax.set_aspect("equal")
    ax.set_xlabel("expected share of points within k spreads")
    ax.set_ylabel("observed share")
    tidy(ax)
    ax.legend(frameon=False, fontsize=8, loc="upper left")
    return save(figure, output)
