"""Time from many small mesh files to the first training step, with and without the cache.

Run as a module, it takes one step in a process of its own: ``python -m benchmarks.speed.mesh_folder STEP FOLDER ...``.
"""

from __future__ import annotations

import json
import logging
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial import Delaunay

from benchmarks import machine_line, origin, run_python

log = logging.getLogger(__name__)

FILES, POINTS = 600, 1_000
PROCESSES = (1, 2)
STEPS = ("cold", "cached")
"""Training without anything in the cache, and once more with all of it."""


def run_mesh_folder(output: Path, files: int = FILES, points: int = POINTS) -> dict[str, Any]:
    """Measure a folder of plates with a hole, with the network of ``configs/meshes.toml``.

    Every measurement has a fresh process. Those that read have a fresh cache.

    Args:
        output: Folder for ``mesh_folder.json`` and ``mesh_folder.md``.
        files: How many files.
        points: About how many points each has.
    """
    import torch

    from pitgeo.evaluation.evaluation import write_json
    from pitgeo.system.atomic_files import write_atomic

    result: dict[str, Any] = {"files": files, "points": points, "threads": torch.get_num_threads()}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_plates(folder, files, points - points // 10)  # edges come to these
        result["reading"] = [_in_process("read", folder, str(count)) for count in PROCESSES]
        result["training"] = {step: _in_process("train", folder) for step in STEPS}
    result |= origin()
    output.mkdir(parents=True, exist_ok=True)
    write_json(output / "mesh_folder.json", result)
    write_atomic(output / "mesh_folder.md", format_mesh_folder(result).encode())
    return result


def write_plates(folder: Path, files: int, points: int = 900) -> None:
    """Write ``plate_<number>.vtu``: triangles on a square with a round hole, a load, and a field ``u`` of both."""
    from pitgeo.mesh import Mesh, write_mesh

    random = np.random.default_rng(0)
    side = np.linspace(0, 1, max(3, points // 36))
    ends = np.zeros_like(side), np.ones_like(side)
    edges = np.unique(
        np.concatenate([np.stack(pair, 1) for end in ends for pair in ((side, end), (end, side))]), axis=0
    )
    for number in range(files):
        radius, load = random.uniform(0.1, 0.3), random.uniform(1, 2)
        angle = np.linspace(0, 2 * np.pi, max(12, points // 15), endpoint=False)
        inner = random.random((points, 2))
        inner = inner[np.linalg.norm(inner - 0.5, axis=1) > 1.05 * radius]
        place = np.concatenate([inner, edges, 0.5 + radius * np.stack([np.cos(angle), np.sin(angle)], 1)])
        cells = Delaunay(place).simplices.astype(np.int64)
        cells = cells[np.linalg.norm(place[cells].mean(1) - 0.5, axis=1) > radius]
        fields = {"load": np.full(len(place), load), "u": load * radius * np.sin(3 * place).sum(1)}
        write_mesh(folder / f"plate_{number:04d}.vtu", Mesh(place, (("triangle", cells),), fields))


def read(folder: Path, processes: int) -> dict[str, Any]:
    """Read all files as training does, with geometry inputs, then find latent points and graphs."""
    import torch

    from benchmarks.speed.measure import peak_mb
    from pitgeo.workflows.run_data import fit_box_scale

    torch.set_num_threads(1)
    before = peak_mb()
    with tempfile.TemporaryDirectory() as cache:
        config = _config(folder, cache, processes)
        start = time.perf_counter()
        samples, _ = config.data.options.training_parts()
        read_at = time.perf_counter()
        transform = config.transform(fit_box_scale(config, samples))
        scaled_at = time.perf_counter()
        prepared = samples.with_transform(transform)
        end = time.perf_counter()
        for number in range(len(prepared)):
            prepared[number]
        loaded_at = time.perf_counter()
        kept = [path.stat().st_size for path in Path(cache).iterdir()]
    return {
        "processes": processes,
        "read_seconds": read_at - start,
        "transform_seconds": end - scaled_at,
        "transformed": len(samples),
        "load_seconds": loaded_at - end,
        "cache_bytes": sum(kept),
        "growth_mb": peak_mb() - before,
        "peak_mb": peak_mb(),
    }


def train(folder: Path, started: float) -> dict[str, Any]:
    """Run the command ``train`` until its first step has been taken; the cache stays in the folder."""
    from pitgeo.cli.main import main
    from pitgeo.system.memory import importing

    with importing():  # as the command does
        import pitgeo.workflows.run  # noqa: F401
        from pitgeo.training import OperatorModule

    step, found = OperatorModule.training_step, dict[str, Any]()

    def timed(*given: Any, **options: Any) -> Any:
        if "first_step" in found:  # called for the second one
            raise KeyboardInterrupt
        found["begins"] = time.time() - started
        result = step(*given, **options)
        found["first_step"] = time.time() - started
        return result

    found["imported"] = time.time() - started
    OperatorModule.training_step = timed  # type: ignore[method-assign]
    text = folder / "run.toml"
    text.write_text(_toml(folder, str(folder / "cache"), 0), encoding="utf-8")
    main(["train", str(text), "--output", str(folder / "run"), "--overwrite", "--quiet"])
    return found


def format_mesh_folder(result: dict[str, Any]) -> str:
    """The numbers as tables."""
    files, rows = result["files"], result["reading"]
    cold, cached = (result["training"][step] for step in STEPS)
    lines = [
        "# Many mesh files",
        "",
        f"{files:,} plates of about {result['points']:,} points, the network of configs/meshes.toml.",
        "",
        "| Processes, at most | files/s read, with distances to the boundary | samples/s with latent points and graphs "
        "| samples/s from the cache | cache, KB a file | growth (peak) of memory, MB |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        rates = [row["transformed"] / row[f"{step}_seconds"] for step in ("transform", "load")]
        rates.insert(0, files / row["read_seconds"])
        kept, memory = row["cache_bytes"] / files / 1e3, f"{row['growth_mb']:.0f} ({row['peak_mb']:.0f})"
        lines.append(f"| {row['processes']} | {' | '.join(f'{r:.0f}' for r in rates)} | {kept:.0f} | {memory} |")
    lines += [
        "",
        "| From the command to | s, nothing cached | s, all cached |",
        "|---|---|---|",
        f"| pitgeo, torch and Lightning loaded | {cold['imported']:.1f} | {cached['imported']:.1f} |",
        f"| the first step begun | {cold['begins']:.1f} | {cached['begins']:.1f} |",
        f"| the first step taken | {cold['first_step']:.1f} | {cached['first_step']:.1f} |",
        "",
        machine_line(result),
        f"- Date: {result['date']}",
    ]
    return "\n".join(lines) + "\n"


def _toml(folder: Path, cache: str, processes: int) -> str:
    """The text of ``configs/meshes.toml`` for these files."""
    lines = (Path(__file__).parents[2] / "configs" / "meshes.toml").read_text(encoding="utf-8").splitlines()
    own = {
        "files": json.dumps(str(folder / "plate_*.vtu")),
        "inputs": '["load"]',
        "targets": '["u"]',
        "geometry": f'"auto"\ncache = {json.dumps(cache)}\nprocesses = {processes}',
    }
    first = [line.split(" = ")[0] for line in lines]
    changed = {first.index(name): f"{name} = {text}" for name, text in own.items()}  # of [data.meshes], which is first
    return "\n".join(changed.get(number, line) for number, line in enumerate(lines))


def _config(folder: Path, cache: str, processes: int) -> Any:
    from pitgeo.config import load_config

    path = folder / f"read_{processes}.toml"
    path.write_text(_toml(folder, cache, processes), encoding="utf-8")
    return load_config(path)


def _in_process(step: str, folder: Path, *given: str) -> dict[str, Any]:
    log.info("%s %s", step, " ".join(given))
    result = folder / "measured.json"
    command = ["-m", __name__, step, str(folder), *(given or [repr(time.time())])]
    run_python(command, f"the step {step!r} on many mesh files to be measured")
    found: dict[str, Any] = json.loads(result.read_text(encoding="utf-8"))
    return found


def main(step: str, folder: str, given: str) -> None:
    """Take one step in this process."""
    found = read(Path(folder), int(given)) if step == "read" else train(Path(folder), float(given))
    (Path(folder) / "measured.json").write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
