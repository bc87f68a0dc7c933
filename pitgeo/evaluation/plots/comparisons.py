"""Pictures that compare methods: their errors over time and over size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter
from numpy.typing import ArrayLike

from pitgeo.evaluation.plots.style import GREY, cycle, new_figure, plain_numbers, save, tidy

_HEIGHT = 4.4
_BESIDE: Any = {"frameon": False, "fontsize": 8, "loc": "upper left", "bbox_to_anchor": (1, 1)}


def error_times(
    curves: Mapping[str, Sequence[tuple[ArrayLike, ArrayLike]]], output: Path | str, labels: tuple[str, str]
) -> Path:
    """Draw errors over the time of training: a line for the mean over seeds, a band from the lowest to the highest.

    Args:
        curves: Name of each method, and for every seed the times ``[E]`` and the errors ``[E]``.
        output: The PNG file to write.
        labels: Labels of the axes.

    Returns:
        The file written.

    Raises:
        ValueError: If there is no curve, or an error is not positive.
    """
    figure = new_figure(8.2, max(_HEIGHT, 0.5 + 0.22 * len(curves)))
    ax = figure.subplots()
    for (name, seeds), color in zip(curves.items(), cycle(len(curves)), strict=True):
        length = min((np.asarray(errors).size for _, errors in seeds), default=0)  # usually the same for all seeds
        times = np.stack([np.asarray(time, dtype=float)[:length] for time, _ in seeds]).mean(0) if length else None
        if times is None:
            raise ValueError(f"Expected 'curves' to hold errors of every method (got none of {name!r})")
        errors = np.stack([np.asarray(values, dtype=float)[:length] for _, values in seeds])
        if not (errors > 0).all():
            raise ValueError(f"Expected 'curves' to hold positive errors (got others of {name!r})")
        ax.plot(times, errors.mean(0), color=color, linewidth=1.5, marker="." if length < 25 else "", label=name)
        if len(errors) > 1:
            ax.fill_between(times, errors.min(0), errors.max(0), color=color, alpha=0.18, linewidth=0)
    if not curves:
        raise ValueError("Expected at least one curve (got none)")
    ax.set_xlim(left=0)
    ax.set_yscale("log")
    _finish(ax, labels)
    lines = {str(line.get_label()): line for line in ax.lines}
    order = sorted(lines, key=lambda name: -float(np.asarray(lines[name].get_ydata())[-1]))
    ax.legend(
        [lines[name] for name in order], order, frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1, 1)
    )
    return save(figure, output)


def error_sizes(
    rows: Mapping[str, tuple[float, ArrayLike]],
    output: Path | str,
    labels: tuple[str, str],
    controls: Mapping[str, float] | None = None,
) -> Path:
    """Draw errors over the size of each method: a dot for each seed, a bar for the mean.

    Args:
        rows: Name of each method, its size, and its error for each seed ``[S]``.
        output: The PNG file to write.
        labels: Labels of the axes.
        controls: Name and error of methods without a size, drawn as lines.

    Returns:
        The file written.

    Raises:
        ValueError: If there is no method, or an error or a size is not positive.
    """
    if not rows or any(size <= 0 or not (np.asarray(errors, dtype=float) > 0).all() for size, errors in rows.values()):
        raise ValueError(f"Expected 'rows' to hold a positive size and positive errors (got {dict(rows)})")
    figure = new_figure(8.2, max(_HEIGHT, 0.5 + 0.22 * len(rows)))
    ax = figure.subplots()
    colors = dict(zip(rows, cycle(len(rows)), strict=True))
    for name, (size, values) in sorted(rows.items(), key=lambda row: -float(np.mean(np.asarray(row[1][1])))):
        errors = np.asarray(values, dtype=float).reshape(-1)
        ax.plot(
            np.full(errors.size, size), errors, "o", color=colors[name], alpha=0.75, markersize=7, mew=0, label=name
        )
        if errors.size > 1:
            ax.plot([size], [errors.mean()], "_", color="black", markersize=14)
    for name, error in (controls or {}).items():
        ax.axhline(error, color=GREY, linewidth=1.0, linestyle=":", label=name)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.margins(0.12)
    plain_numbers(ax.xaxis)
    ax.xaxis.set_major_formatter(FuncFormatter(lambda size, _: _count(size)))
    _finish(ax, labels)
    ax.legend(**_BESIDE)
    return save(figure, output)


def _finish(ax: Axes, labels: tuple[str, str]) -> None:
    plain_numbers(ax.yaxis)
    ax.set_xlabel(labels[0])
    ax.set_ylabel(labels[1])
    tidy(ax)


def _count(number: float) -> str:
    for unit, name in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= unit:
            return f"{number / unit:g}{name}"
    return f"{number:g}"
