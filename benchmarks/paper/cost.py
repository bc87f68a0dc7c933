"""Time of a training step over the resolution of the mesh, with a fixed latent mesh."""

from __future__ import annotations

import logging
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks import machine_line, origin
from benchmarks.speed.measure import measure
from benchmarks.speed.networks import darcy2d
from benchmarks.speed.works import network_step
from pitgeo.evaluation import plots
from pitgeo.evaluation.evaluation import write_json
from pitgeo.system.atomic_files import write_atomic

log = logging.getLogger(__name__)

RESOLUTIONS = (43, 61, 85, 106, 141, 211)
BATCH, EPOCH = 8, 1024


def run_cost(output: Path, resolutions: Sequence[int] = RESOLUTIONS, repeat: int = 3) -> dict[str, Any]:
    """Time training steps of the paper's Darcy2D network at several resolutions, and fit the exponent of their growth.

    A step is forward, backward and Adam on a batch of 8 samples, with a latent grid of 32 x 32; the time is the median
    of ``repeat`` steps after a first one. An epoch has 128 steps, for 1024 samples.

    Args:
        output: Folder for ``cost.json``, ``cost.csv``, ``cost.md`` and ``cost.png``.
        resolutions: Points a side.
        repeat: Steps to time.

    Returns:
        The content of ``cost.json``.
    """
    rows = []
    for size in resolutions:
        seconds = _step(size, repeat)
        log.info("%d x %d points: %.3f s a step", size, size, seconds)
        rows.append(
            {
                "resolution": size,
                "points": size * size,
                "step_seconds": seconds,
                "epoch_seconds": seconds * EPOCH / BATCH,
            }
        )
    points, times = ([row[key] for row in rows] for key in ("points", "step_seconds"))
    exponent = float(np.polyfit(np.log(points), np.log(times), 1)[0])
    result = {
        "study": "cost", "rows": rows, "exponent": exponent, "threads": torch.get_num_threads(), **origin()
    }  # fmt: skip
    output.mkdir(parents=True, exist_ok=True)
    curves = {"PiT, Darcy2D": (points, times), "linear": (points, [times[-1] * n / points[-1] for n in points])}
    plots.trends(curves, output / "cost.png", ("points of the mesh", "seconds a training step"), "both")
    lines = [
        "points,step_seconds,epoch_seconds",
        *(f"{r['points']},{r['step_seconds']},{r['epoch_seconds']}" for r in rows),
    ]
    write_atomic(output / "cost.csv", ("\n".join(lines) + "\n").encode())
    write_atomic(output / "cost.md", _format(result).encode())
    write_json(output / "cost.json", result)
    return result


def _step(size: int, repeat: int) -> float:
    torch.manual_seed(0)
    seconds: list[float] = measure(network_step(darcy2d(size, BATCH), 0)[2], repeat)["seconds"]
    return statistics.median(seconds)


def _format(result: dict[str, Any]) -> str:
    lines = [
        "# Time of a training step against resolution",
        "",
        "The paper's Darcy2D network (d = 128, 2 heads, 32 x 32 latent points), batch 8: forward, backward, Adam.",
        "",
        "| Points | s a step | s an epoch of 1024 samples | microseconds a point and sample |",
        "|---|---|---|---|",
        *(
            f"| {row['resolution']}^2 = {row['points']:,} | {row['step_seconds']:.3f} | {row['epoch_seconds']:.0f} "
            f"| {1e6 * row['step_seconds'] / row['points'] / BATCH:.2f} |"
            for row in result["rows"]
        ),
        "",
        f"Fitted: time grows as points to the power {result['exponent']:.2f}.",
        "",
        "![Time of a training step](cost.png)",
        "",
        machine_line(result),
        f"- Date: {result['date']}",
    ]
    return "\n".join(lines) + "\n"
