"""What the forms of global attention cost: the constants by which the layer chooses, fitted to times of the layer."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence

import numpy as np
import torch
from scipy.optimize import nnls

from pitgeo.nn import GlobalPositionAttention
from pitgeo.nn.kernels.expansion import terms

HEADS = 4
SIZES = ((4, 64), (4, 128), (4, 256), (2, 512), (1, 1024))
COSTS = (
    "a point and weight of the layer",
    "a pair",
    "a pair and value",
    "a point and term",
    "a point, term and value",
    "any pairs",
    "any expansion",
)


def attention_forms(
    sizes: Sequence[tuple[int, int]] = SIZES,
    channels: Sequence[int] = (16, 64),
    degrees: Sequence[int] = (4, 12),
    repeat: int = 15,
    seed: int = 0,
) -> str:
    """Nanoseconds of a head, forward and backward, by the cost, as a table in Markdown.

    Layers in the plane with first moments, of which no head is expanded, one, and all, are timed by the processor's
    clock. Relative errors of the fit have equal weights.

    Args:
        sizes: Samples, and points of each.
        channels: Values of a head, an even number; as many first moments are averaged beside them.
        degrees: Degrees of expansions.
        repeat: Calls of every layer; the fastest counts.
        seed: Seed of weights and data.
    """
    torch.manual_seed(seed)
    costs, measured = [], []
    for number, (samples, points), degree, far in itertools.product(channels, sizes, degrees, (0, 1, HEADS)):
        width = 2 * number
        pairs, products = (HEADS - far) * samples * points**2, far * samples * points * terms(degree, 2)
        weights = samples * points * (HEADS * number) ** 2
        costs.append((weights, pairs, pairs * width, products, products * width, far < HEADS, far > 0))
        measured.append(_nanoseconds(HEADS * number, samples, points, degree, far, repeat))
    table = np.array(costs, dtype=np.float64) / np.array(measured)[:, None]
    fitted, _ = nnls(table, np.ones(len(table)))
    lines = [f"| {name} | {value:,.3g} |" for name, value in zip(COSTS, fitted, strict=True)]
    error = np.abs(table @ fitted - 1).mean()
    return "\n".join(["| Cost | ns |", "|---|---|", *lines, "", f"Mean relative error of the fit: {error:.0%}"])


def _nanoseconds(channels: int, samples: int, points: int, degree: int, far: int, repeat: int) -> float:
    layer = GlobalPositionAttention(channels, channels, HEADS, moments=2)
    x, pos = torch.rand(samples, points, channels, requires_grad=True), torch.rand(samples, points, 2)
    slope, times = torch.rand(samples, points, channels), []
    layer.choose = lambda *_: None  # type: ignore[method-assign]
    layer.expanded, layer.degree = list(range(HEADS - far, HEADS)), degree
    for _ in range(repeat):
        start = time.process_time_ns()
        layer(x, pos).backward(slope)
        times.append(time.process_time_ns() - start)
    return float(min(times))
