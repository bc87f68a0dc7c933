"""Time and memory of predictions on large mesh files.

Run as a module, it takes one step in a process of its own, so that the peak memory is that of this step:
``python -m benchmarks.speed.large_files prepare|predict FOLDER POINTS``.
"""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks import environment, machine_line, origin
from benchmarks.speed.measure import peak_mb
from pitgeo.config.config import parse_config
from pitgeo.data.fields import FieldTable
from pitgeo.data.transforms import AttentionGraphs, LatentMesh
from pitgeo.evaluation.evaluation import write_json
from pitgeo.mesh import Mesh, read_mesh, write_mesh
from pitgeo.nn import PiT
from pitgeo.prediction import files as predict
from pitgeo.prediction.many import CHUNK
from pitgeo.system.atomic_files import write_atomic
from pitgeo.system.memory import keep_memory
from pitgeo.system.threads import SPINS
from pitgeo.training import fit
from pitgeo.workflows.run import new_module
from pitgeo.workflows.run_data import read_data
from pitgeo.workflows.surrogate import DEFAULTS

log = logging.getLogger(__name__)

SIZES = (100_000, 1_000_000)
STAGES: tuple[tuple[str, Any, str], ...] = (
    ("read", predict, "read_mesh"),
    ("geometry inputs", FieldTable, "read_geometry"),
    ("latent points", LatentMesh, "__call__"),
    ("encoder graph", AttentionGraphs, "__call__"),
    ("encoder and processor", PiT, "encode"),
    ("decoder", PiT, "in_chunks"),
    ("decoder", PiT, "forward"),  # for meshes that are not predicted in parts
    ("write", predict, "write_mesh"),
)
"""The stages of a prediction and their functions; the time of a stage does not include stages within it."""


def run_large_files(
    output: Path, sizes: Sequence[int] = SIZES, threads: int = 1, settings: Sequence[str] = ()
) -> dict[str, Any]:
    """Predict mesh files of hexahedra with a model of the size of ``configs/meshes.toml``, each in a fresh process.

    The model is trained for one epoch on coarse meshes of the same kind: its size matters, not its accuracy.

    Args:
        output: Folder for ``large_files.json`` and ``large_files.md``.
        sizes: Numbers of points of the files, rounded to cubes.
        threads: Threads of the prediction.
        settings: Changes to the configuration of the model, for example ``"model.pit.channels=128"``.

    Returns:
        The content of ``large_files.json``.
    """
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            for step in ("prepare", "predict"):  # in two processes: peak memory does not decrease
                log.info("%s points: %s", f"{size:,}", step)
                command = [sys.executable, "-m", __name__, step, folder, str(size), str(threads), *settings]
                variables = environment() | {"GOMP_SPINCOUNT": SPINS}  # as the command sets it
                subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=variables)
            rows.append(json.loads((Path(folder) / "measured.json").read_text(encoding="utf-8")))
    result = {
        "rows": rows, "threads": threads, "settings": list(settings), "chunk": CHUNK, **origin()
    }  # fmt: skip
    output.mkdir(parents=True, exist_ok=True)
    write_json(output / "large_files.json", result)
    write_atomic(output / "large_files.md", format_large_files(result).encode())
    return result


def box_mesh(points: int) -> Mesh:
    """A box of hexahedra with about this many points; ``u`` and the vector ``v`` are functions of the position."""
    side = max(2, round(points ** (1 / 3)))
    number = np.arange(side**3).reshape(side, side, side)
    corners = ((0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1))
    ends = [slice(start, start + side - 1) for start in (0, 1)]
    cells = np.stack([number[ends[i], ends[j], ends[k]].ravel() for i, j, k in corners], 1)
    axis = np.linspace(0, 1, side)
    place = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), -1).reshape(-1, 3)
    place = place + 0.05 * np.sin(3 * place[:, [1, 2, 0]])  # bent, as meshes are
    load = 1 + place.prod(1)
    return Mesh(
        place, (("hexahedron", cells),), {"load": load, "u": np.sin(3 * place).sum(1), "v": place * load[:, None]}
    )


def prepare(folder: Path, points: int, settings: Sequence[str] = ()) -> None:
    """Write ``mesh.vtu``, and train the model in ``run`` if it does not exist."""
    write_mesh(folder / "mesh.vtu", box_mesh(points))
    if (folder / "run" / "last.ckpt").exists():
        return
    for size in range(7, 11):
        write_mesh(folder / "meshes" / f"{size}.vtu", box_mesh(size**3))
    files = {"files": str(folder / "meshes" / "*.vtu"), "inputs": ["load"], "targets": ["u", "v"]}
    meshes = {**DEFAULTS["data"]["meshes"], **files, "cache": str(folder / "cache")}
    changes = ["training.epochs=1", *settings]
    config = parse_config({**DEFAULTS, "data": {"name": "meshes", "meshes": meshes}}, changes, "settings")
    parts = read_data(config, progress=False)
    fit(new_module(config, parts), parts.samples, parts.held_out, folder / "run", resume=False, progress=False)


def measure(folder: Path) -> dict[str, Any]:
    """Predict ``mesh.vtu`` in this process, whose functions stay wrapped by a clock afterwards."""
    clock, before = Clock(), peak_mb()
    for stage, owner, name in STAGES:
        setattr(owner, name, clock.timed(stage, getattr(owner, name)))
    start = _now()
    (written,) = predict.predict_files(folder / "run" / "last.ckpt", [folder / "mesh.vtu"], folder / "predicted")
    wall, cpu = (now - then for now, then in zip(_now(), start, strict=True))
    measured = {
        "total_seconds": wall,
        "total_cpu_seconds": cpu,
        "seconds": {**clock.seconds, "other": wall - sum(clock.seconds.values())},
        "cpu_seconds": {**clock.cpu_seconds, "other": cpu - sum(clock.cpu_seconds.values())},
        "imported_mb": before,
        "peak_mb": peak_mb(),
        "peak_after_mb": dict(clock.peak),
    }
    return {
        "points": len(read_mesh(written).points),
        "file_mb": (folder / "mesh.vtu").stat().st_size / 1e6,
        **measured,
    }


class Clock:
    """Seconds of stages, without those of stages within them, and the peak memory at the end of each stage.

    ``seconds`` are wall-clock time, ``cpu_seconds`` processor time of all threads together.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.cpu_seconds: dict[str, float] = {}
        self.peak: dict[str, float] = {}
        self._within: list[tuple[float, float]] = []

    def timed(self, stage: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """A function with the same result that is timed as part of a stage."""

        def timed(*arguments: Any, **options: Any) -> Any:
            self._within.append((0.0, 0.0))
            start = _now()
            try:
                return call(*arguments, **options)
            finally:
                wall, cpu = (now - then for now, then in zip(_now(), start, strict=True))
                within = self._within.pop()
                if self._within:
                    self._within[-1] = (self._within[-1][0] + wall, self._within[-1][1] + cpu)
                self.seconds[stage] = self.seconds.get(stage, 0.0) + wall - within[0]
                self.cpu_seconds[stage] = self.cpu_seconds.get(stage, 0.0) + cpu - within[1]
                self.peak[stage] = max([peak_mb(), *self.peak.values()])  # Linux counts roughly

        return timed


def format_large_files(result: dict[str, Any]) -> str:
    """The numbers as a table."""
    rows = result["rows"]
    changes = f" with {', '.join(result['settings'])}" if result.get("settings") else ""
    names = list(dict.fromkeys(stage for row in rows for stage in row["seconds"]))
    lines = [
        "# Prediction on large files",
        "",
        f"The network of configs/meshes.toml{changes}, output points in parts of {result['chunk']:,}.",
        "Seconds on the wall; in brackets those of the processor.",
        "",
        f"| Points | {' | '.join(names)} | in all | peak memory, MB | growth, MB |",
        "|---" * (len(names) + 4) + "|",
    ]
    for row in rows:
        both = [(row["seconds"].get(name, 0.0), row["cpu_seconds"].get(name, 0.0)) for name in names]
        cells = [f"{wall:.1f} ({cpu:.1f})" for wall, cpu in [*both, (row["total_seconds"], row["total_cpu_seconds"])]]
        memory = f"{row['peak_mb']:.0f} | {row['peak_mb'] - row['imported_mb']:.0f}"
        lines.append(f"| {row['points']:,} | {' | '.join(cells)} | {memory} |")
    lines += [
        "",
        machine_line(result),
        f"- Date: {result['date']}",
    ]
    return "\n".join(lines) + "\n"


def _now() -> tuple[float, float]:
    """Wall-clock time and processor time."""
    return time.perf_counter(), time.process_time()


def main(step: str, folder: str, points: str, threads: str, *settings: str) -> None:
    """Take one step in this process."""
    torch.set_num_threads(int(threads))
    keep_memory()  # as the command does
    if step == "prepare":
        prepare(Path(folder), int(points), settings)
    else:
        write_json(Path(folder) / "measured.json", measure(Path(folder)))


if __name__ == "__main__":
    main(*sys.argv[1:])
