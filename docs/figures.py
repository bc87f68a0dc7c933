"""The figures of the page on concepts: ``python docs/figures.py`` draws them anew into docs/concepts/."""

from __future__ import annotations

import math
from pathlib import Path

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pitgeo import PointData, PositionAttention
from pitgeo.data.transforms import UnitBox
from pitgeo.graphs.neighbors import quantile, radius
from pitgeo.graphs.sampling import farthest_points

BLUE, RED, GREY = "#2166ac", "#b2182b", "#999999"


def plate(number: int = 500) -> torch.Tensor:
    """Points of a plate with a hole, denser round the hole."""
    random = np.random.default_rng(3)
    points = random.random((8 * number, 2)) * (2, 1)
    away = np.hypot(points[:, 0] - 0.7, points[:, 1] - 0.5) - 0.2
    kept = (away > 0) & (random.random(len(points)) < 0.12 + 0.88 * np.exp(-away / 0.08))
    return torch.from_numpy(points[kept][:number])


def figure(columns: int, width: float = 9.0, height: float = 2.6) -> tuple[Figure, list[Axes]]:
    """Panels in a row, without axes where they are in the plane."""
    made, axes = plt.subplots(1, columns, figsize=(width, height), layout="constrained", squeeze=False)
    return made, list(axes[0])


def in_plane(ax: Axes, title: str) -> None:
    """A panel in the plane."""
    ax.set(title=title, aspect="equal", xticks=[], yticks=[])
    ax.title.set_fontsize(10)


def latent_mesh() -> Figure:
    """Input points, latent points, and the way of the values between them."""
    points = plate()
    latent = points[farthest_points(points, 40)]
    made, axes = figure(3)
    edges = quantile(latent, points, 0.03)
    back = quantile(points, latent, 0.08)
    for ax, title in zip(
        axes, ("encoder: to 40 latent points", "processor: among them", "decoder: to the points"), strict=True
    ):
        in_plane(ax, title)
        ax.plot(*points.T, ".", color=GREY, markersize=2)
        ax.plot(*latent.T, "o", color=BLUE, markersize=4)
    for ax, ends, graph in ((axes[0], (points, latent), edges), (axes[2], (latent, points), back)):
        chosen = torch.arange(graph.num_edges)[:: 3 if ax is axes[0] else 9]
        lines = torch.stack([ends[0][graph.source[chosen]], ends[1][graph.target[chosen]]], 1)
        for line in lines:
            ax.plot(*line.T, color=RED, linewidth=0.3)
    for one in latent[:3]:
        for other in latent:
            axes[1].plot(*torch.stack([one, other]).T, color=RED, linewidth=0.3)
    return made


def quantiles() -> Figure:
    """What a quantile takes where points are dense and where they are not, beside a radius."""
    points = plate()
    asked = torch.tensor([[0.7, 0.78], [1.7, 0.5]], dtype=points.dtype)
    made, axes = figure(2, 7.0)
    for ax, title, graph in (
        (axes[0], "quantile 0.03: 15 points each", quantile(asked, points, 0.03)),
        (axes[1], "radius 0.12: as many as there are", radius(asked, points, 0.12)),
    ):
        in_plane(ax, title)
        ax.plot(*points.T, ".", color=GREY, markersize=2)
        ax.plot(*points[graph.source].T, ".", color=RED, markersize=5)
        ax.plot(*asked.T, "*", color=BLUE, markersize=10)
    return made


def lengths() -> Figure:
    """The weights of four heads over the distance, and the averages that they give."""
    scales = (0.02, 0.08, 0.3, 1.0)
    x = np.linspace(0, 1, 400)
    value = (x > 0.5) + 0.3 * np.sin(40 * x)
    made, (left, right) = figure(2)
    right.plot(x, value, color=GREY, linewidth=1, label="values")
    for length, shade in zip(scales, plt.cm.viridis(np.linspace(0, 0.85, 4)), strict=True):
        left.plot(x, np.exp(-((x / length) ** 2)), color=shade, label=f"length {length}")
        weights = np.exp(-(((x[:, None] - x) / length) ** 2))
        right.plot(x, weights @ value / weights.sum(1), color=shade)
    left.set(xlabel="distance", title="weight before the softmax's division")
    right.set(xlabel="position", title="the average of every head")
    left.legend(fontsize=8)
    return made


def moments() -> Figure:
    """An average and a first moment of values on a line: the value and its slope."""
    pos = torch.linspace(0, 1, 200, dtype=torch.float64)[:, None]
    value = torch.sin(2 * math.pi * pos) + (pos > 0.7)
    layer = PositionAttention(1, 1, 1, lengths=(0.03, 0.03), moments=1).double()
    torch.nn.init.ones_(layer.value.weight)
    with torch.no_grad():
        graph = quantile(pos, pos, 0.4)
        layer.moments.weight.zero_()
        average = layer(value, pos, graph)
        layer.moments.weight.fill_(1)
        moment = layer(value, pos, graph) - average
        constant = layer(torch.ones_like(pos), pos, graph) - 1
    made, (left, right) = figure(2)
    left.plot(pos, value, color=GREY, label="values")
    left.plot(pos, average, color=BLUE, label="average")
    left.plot(pos, moment, color=RED, label="first moment")
    left.set(xlabel="position", title="the moment follows the slope")
    left.legend(fontsize=8)
    right.plot(pos, constant, color=RED)
    right.set(xlabel="position", title="of a constant: shows where the mesh ends")
    right.title.set_fontsize(10)
    return made


def roll_out() -> Figure:
    """The error of a model of one step, applied to true states and to its own predictions."""
    turn, steps = 0.35, 20
    step = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    learned = step + np.array([[0.01, 0.015], [-0.005, 0.01]])  # a model that is wrong by about a hundredth
    true, own = [np.array([1.0, 0.0])], [np.array([1.0, 0.0])]
    for _ in range(steps):
        true.append(step @ true[-1])
        own.append(learned @ own[-1])
    single = [np.linalg.norm(learned @ true[k] - true[k + 1]) for k in range(steps)]
    whole = [np.linalg.norm(own[k + 1] - true[k + 1]) for k in range(steps)]
    made, (left, right) = figure(2)
    left.plot(*np.array(true).T, "o-", color=GREY, markersize=3, label="true")
    left.plot(*np.array(own).T, "o-", color=RED, markersize=3, label="rolled out")
    left.set(aspect="equal", title="states of an oscillator")
    left.legend(fontsize=8)
    right.plot(range(1, steps + 1), single, color=BLUE, label="from the true state before")
    right.plot(range(1, steps + 1), whole, color=RED, label="from its own prediction")
    right.set(xlabel="step", title="error")
    right.legend(fontsize=8)
    return made


def scaling() -> Figure:
    """Positions before and after the unit box, values before and after their scaling."""
    points = plate(300) * 1000
    sample = PointData(pos=points.float())
    moved = UnitBox.fit([sample])(sample).pos
    made, axes = figure(3)
    axes[0].plot(*points.T, ".", color=GREY, markersize=2)
    axes[0].set(title="positions, mm", aspect="equal")
    axes[1].plot(*moved.T, ".", color=BLUE, markersize=2)
    axes[1].set(title="in the unit box", aspect="equal")
    values = 300 + 8 * np.random.default_rng(0).normal(size=4000)
    axes[2].hist((values - values.mean()) / values.std(), 50, color=BLUE)
    axes[2].set(title="300 ± 8 K, scaled", yticks=[])
    for ax in axes:
        ax.title.set_fontsize(10)
    return made


PACKAGES = (  # from the bottom: what a package may import is below it
    ("system", "graphs"),
    ("mesh", "geometry"),
    ("data",),
    ("nn", "testing"),
    ("datasets", "measures", "controls"),
    ("models", "config"),
    ("training",),
    ("prediction",),
    ("evaluation", "describe"),
    ("workflows",),
    ("cli",),
)
WAY = ("mesh file", "PointData", "transforms", "loader", "model", "loss", "checkpoint", "prediction", "mesh file")


def architecture() -> Figure:
    """The packages, each above what it imports, and the way of the data."""
    made, (left, right) = figure(2, 8.0, 4.6)
    for level, names in enumerate(PACKAGES):
        for place, name in enumerate(names):
            width = 3 / len(names)
            left.text(width * (place + 0.5), level, name, ha="center", va="center", fontsize=10, family="monospace")
        left.plot([0, 3], [level + 0.5, level + 0.5], color=GREY, linewidth=0.5)
    left.set(xlim=(0, 3), ylim=(-0.7, len(PACKAGES) - 0.3), title="packages: imports go down")
    for step, name in enumerate(WAY):
        right.text(0.5, -step, name, ha="center", va="center", fontsize=10)
        if step:
            right.annotate("", (0.5, -step + 0.3), (0.5, -step + 0.7), arrowprops={"arrowstyle": "->", "color": BLUE})
    right.set(xlim=(0, 1), ylim=(-len(WAY) + 0.3, 0.7), title="data: one way")
    for ax in (left, right):
        ax.axis("off")
    return made


FIGURES = {
    "architecture": architecture,
    "latent_mesh": latent_mesh,
    "quantile": quantiles,
    "lengths": lengths,
    "moments": moments,
    "roll_out": roll_out,
    "scaling": scaling,
}


def draw(folder: Path) -> list[Path]:
    """Draw all figures into a folder."""
    folder.mkdir(exist_ok=True)
    written = []
    for name, make in FIGURES.items():
        made = make()
        written.append(folder / f"{name}.png")
        made.savefig(written[-1], dpi=80)
        plt.close(made)
    return written


if __name__ == "__main__":
    draw(Path(__file__).parent / "concepts")
