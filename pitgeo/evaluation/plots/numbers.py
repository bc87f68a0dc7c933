"""Pictures of numbers: losses, errors of methods and steps, length scales."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike, NDArray

from pitgeo.evaluation.plots.style import BLUE, GREY, ORANGE, cycle, new_figure, plain_numbers, save, tidy

_NAMES = {"train_loss": "training loss", "val_error": "validation error"}
_KINDS = {"local": ORANGE, "cross": ORANGE, "global": BLUE}


def loss_curves(metrics_csv: Path | str, output: Path | str, window: int = 0) -> Path:
    """Draw every loss and error of a run's ``metrics.csv`` over the epochs, on a logarithmic axis.

    Args:
        metrics_csv: Table with a column ``epoch`` and columns named ``*loss*`` or ``*error*`` (cells may be empty).
        output: The PNG file to write.
        window: Number of steps of a series that the training loss covers; 0 for all.

    Returns:
        The file written.

    Raises:
        ValueError: If the table has no such column, or no number in them.
    """
    curves = _read_curves(Path(metrics_csv))
    figure = new_figure(6.4, 4.0)
    ax = figure.subplots()
    for (name, (epochs, values)), color in zip(curves.items(), cycle(len(curves)), strict=True):
        style = "-" if name.startswith("train") else "--"
        ax.plot(epochs, values, style, color=color, linewidth=1.4, marker="." if len(epochs) < 30 else "")
        best = int(np.argmin(values))
        of = f", {window} step{'s' if window > 1 else ''} at a time" if window and name.startswith("train") else ""
        text = f"{_NAMES.get(name, name.replace('_', ' '))}{of} (lowest {values[best]:.3g} at epoch {epochs[best]:g})"
        ax.lines[-1].set_label(text)
    ax.set_yscale("log")
    plain_numbers(ax.yaxis)
    ax.set_xlabel("epoch")
    ax.set_ylabel(" and ".join(_NAMES.get(name, name) for name in curves) if len(curves) < 3 else "loss")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    tidy(ax)
    ax.legend(frameon=False, fontsize=8)
    return save(figure, output)


def error_growth(curves: Mapping[str, ArrayLike], output: Path | str, first: int = 1) -> Path:
    """Draw errors over the steps of a prediction.

    Args:
        curves: Name of each error (or method), and its value at every step.
        output: The PNG file to write.
        first: Number of the first step.

    Returns:
        The file written.

    Raises:
        ValueError: If there is no curve.
    """
    if not curves:
        raise ValueError("Expected at least one curve (got none)")
    figure = new_figure(6.4, 4.0)
    ax = figure.subplots()
    for (name, values), color in zip(curves.items(), cycle(len(curves)), strict=True):
        errors = np.asarray(values, dtype=float)
        steps = np.arange(first, first + len(errors))
        ax.plot(steps, errors, color=color, marker=".", linewidth=1.4, label=name.replace("_", " "))
    ax.set_ylim(bottom=0)
    ax.set_xlabel("predicted step")
    ax.set_ylabel("test error")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    tidy(ax)
    ax.legend(frameon=False, fontsize=8)
    return save(figure, output)


def length_scales(
    rows: Sequence[tuple[str, str, ArrayLike]],
    output: Path | str,
    spacing: float | None = None,
    extent: float | None = None,
) -> Path:
    r"""Draw the length scale :math:`\sqrt{c / \lambda}` of every head, one attention layer a row.

    Args:
        rows: Layer name, kind (``"local"``, ``"cross"`` or ``"global"``) and length scales of the heads ``[H]``. An
            infinite one (:math:`\lambda = 0`: a plain average) is drawn as an arrow at the right edge.
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
    figure = new_figure(7.0, 0.9 + 0.33 * len(rows) + 0.5)
    ax = figure.subplots()
    for number, ((_, kind, _), values) in enumerate(zip(rows, lengths, strict=True)):
        color = _KINDS.get(kind, GREY)
        inside = np.isfinite(values) & (values > 0)
        ax.plot(values[inside], np.full(int(inside.sum()), number), "o", color=color, alpha=0.75, markersize=6, mew=0)
        beyond = int((~inside).sum())
        if beyond:
            ax.plot([high], [number], ">", color=color, markersize=7, clip_on=False)
    for mark, name in ((spacing, "point spacing"), (extent, "domain size")):
        if mark in marks:
            ax.axvline(float(mark or 0.0), color=GREY, linewidth=1.0, linestyle=":", zorder=0)
            ax.annotate(
                f"{name} {mark:.3g}",
                (float(mark or 0.0), 1.0),
                xycoords=("data", "axes fraction"),
                xytext=(0, 4),
                textcoords="offset points",
                ha="center",
                fontsize=8,
                color=GREY,
            )
    ax.set_xscale("log")
    ax.set_xlim(low, high)
    plain_numbers(ax.xaxis)
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.set_yticks(range(len(rows)), [f"{name} ({kind})" for name, kind, _ in rows], fontsize=8)
    ax.set_xlabel("length scale of each head, in the positions' unit")
    tidy(ax)
    return save(figure, output)


def method_errors(rows: Sequence[tuple[str, ArrayLike]], output: Path | str, label: str) -> Path:
    """Draw the errors of several methods: a dot for each seed, a bar for mean and standard deviation.

    Args:
        rows: Name of each method, and its error for each seed ``[S]``.
        output: The PNG file to write.
        label: Name of the error.

    Returns:
        The file written.

    Raises:
        ValueError: If there is no method, or an error is not positive.
    """
    errors = [np.asarray(values, dtype=float).reshape(-1) for _, values in rows]
    if not rows or any(values.size == 0 or not (values > 0).all() for values in errors):
        raise ValueError(f"Expected 'rows' to hold positive errors for every method (got {list(rows)})")
    figure = new_figure(6.6, 0.9 + 0.55 * len(rows))
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
        ax.plot(values, np.full(values.size, number), "o", color=BLUE, alpha=0.6, markersize=6, mew=0)
        ax.annotate(
            f"{mean:.3g}" + (f" ± {deviation:.1g}" if deviation else ""),
            (mean, number),
            xytext=(0, 10),
            textcoords="offset points",
            ha="center",
            fontsize=8,
        )
    ax.set_xscale("log")
    all_errors = np.concatenate(errors)
    ax.set_xlim(float(all_errors.min()) / 1.5, float(all_errors.max()) * 1.5)
    plain_numbers(ax.xaxis)
    ax.set_ylim(len(rows) - 0.4, -0.7)
    ax.set_yticks(range(len(rows)), [name for name, _ in rows])
    ax.set_xlabel(label)
    tidy(ax)
    return save(figure, output)


def trends(
    curves: Mapping[str, tuple[ArrayLike, ArrayLike]],
    output: Path | str,
    labels: tuple[str, str],
    log: Literal["none", "y", "both"] = "y",
) -> Path:
    """Draw one quantity over another for several methods.

    Args:
        curves: Name of each method, its abscissas and its ordinates.
        output: The PNG file to write.
        labels: Labels of the axes.
        log: The logarithmic axes.

    Returns:
        The file written.

    Raises:
        ValueError: If there is no curve.
    """
    if not curves:
        raise ValueError("Expected at least one curve (got none)")
    figure = new_figure(6.4, 4.2)
    ax = figure.subplots()
    for (name, (across, up)), color in zip(curves.items(), cycle(len(curves)), strict=True):
        ax.plot(
            np.asarray(across, dtype=float), np.asarray(up, dtype=float), "o-", color=color, label=name, linewidth=1.4
        )
    for axis, set_scale in (("x", ax.set_xscale), ("y", ax.set_yscale)):
        if log == "both" or log == axis:
            set_scale("log")
            plain_numbers(ax.xaxis if axis == "x" else ax.yaxis)
    ax.set_xlabel(labels[0])
    ax.set_ylabel(labels[1])
    tidy(ax)
    ax.legend(frameon=False, fontsize=8)
    return save(figure, output)


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
