"""Measure several ways to do the same work, by turns in fresh processes, and report times and memory."""

from __future__ import annotations

import contextlib
import itertools
import json
import logging
import math
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm

from benchmarks import environment, origin, run_python
from benchmarks.speed.table import GROWING, WORKS
from pitgeo.evaluation.evaluation import write_json
from pitgeo.system.atomic_files import write_atomic
from pitgeo.system.threads import SPINS

log = logging.getLogger(__name__)

_BEFORE = "before"  # the way of another checkout


@dataclass(frozen=True)
class Settings:
    """Settings of a measurement.

    Args:
        rounds: Processes of every way, by turns, so that slow drifts of the machine affect all ways equally.
        repeat: Steps of a process, after a first one to warm up.
        threads: Threads of a process.
        seed: Seed of weights and data.
        device: ``"cpu"`` or ``"cuda"``.
        keep_memory: Have every process keep the memory of freed tensors, as pitgeo's commands do.
        busy: Number of other processes that compute at the same time.
        spin: Let waiting threads of OpenMP spin; in pitgeo's commands they sleep soon.
        before: A checkout of another version, whose library does the first way of every work as well.

    Raises:
        ValueError: If a number is not positive, or there is no pitgeo in that checkout.
    """

    rounds: int = 3
    repeat: int = 3
    threads: int = 1
    seed: int = 0
    device: str = "cpu"
    keep_memory: bool = False
    busy: int = 0
    spin: bool = False
    before: str | None = None

    def __post_init__(self) -> None:
        for name in ("rounds", "repeat", "threads"):
            if getattr(self, name) < 1:
                raise ValueError(f"Expected '{name}' to be at least 1 (got {getattr(self, name)})")
        if self.before is not None and not (Path(self.before) / "pitgeo" / "__init__.py").exists():
            raise ValueError(f"Expected a checkout with a folder 'pitgeo' to compare with (got {self.before})")


def run_speed(names: Sequence[str], output: Path, settings: Settings, progress: bool = True) -> dict[str, Any]:
    """Measure works and write ``speed.json`` and ``speed.md``; results of other works in the folder are kept.

    Memory is the peak resident size of a process, and its growth over that before the first step; on a GPU, what
    torch allocated.

    Args:
        names: Names in :data:`WORKS`.
        output: Folder of the results.
        settings: Settings of the measurement.
        progress: Show a progress bar.

    Returns:
        The content of ``speed.json``.

    Raises:
        ValueError: If there is no such work.
        RuntimeError: If a process fails; the message ends with its last lines.
    """
    if wrong := [name for name in names if name not in WORKS]:
        raise ValueError(f"Expected works among {', '.join(WORKS)} (got {', '.join(wrong)})")
    path = output / "speed.json"
    known = json.loads(path.read_text(encoding="utf-8"))["works"] if path.exists() else {}
    output.mkdir(parents=True, exist_ok=True)
    ways = {name: [*WORKS[name].ways, *([_BEFORE] if settings.before else [])] for name in names}
    bar = tqdm(desc="benchmark", total=settings.rounds * sum(map(len, ways.values())), unit="process",
               disable=not progress)  # fmt: skip
    result: dict[str, Any] = {"works": known}
    with bar:
        for name in names:
            runs: dict[str, list[dict[str, Any]]] = {way: [] for way in ways[name]}
            for _ in range(settings.rounds):
                for way in runs:
                    runs[way].append(_in_process(name, way, settings))
                    bar.update()
            known[name] = {
                "title": WORKS[name].title,
                "settings": asdict(settings),
                "ways": {way: _summary(measured) for way, measured in runs.items()},
                **origin(),
            }
            result = {"works": {work: known[work] for work in WORKS if work in known}}
            write_json(path, result)  # after every work, so that finished ones are kept
            write_atomic(output / "speed.md", format_speed(result).encode())
    return result


def measure(step: Callable[[], Any], repeat: int, device: str = "cpu") -> dict[str, Any]:
    """Seconds of every step after the first, and the growth of the peak memory of this process in MB."""
    _forget_peak(device)
    before = peak_mb(device)
    seconds = []
    for _ in range(repeat + 1):
        start = time.perf_counter()
        step()
        if device == "cuda":
            torch.cuda.synchronize()
        seconds.append(time.perf_counter() - start)
    return {"seconds": seconds[1:], "growth_mb": peak_mb(device) - before, "peak_mb": peak_mb(device)}


def format_speed(result: dict[str, Any]) -> str:
    """The numbers as tables that compare every way with the first."""
    lines = ["# Speed and memory", ""]
    for name, work in result["works"].items():
        ours = next(iter(work["ways"].values()))
        used, computer = work["settings"], work["machine"]
        cores = f"{computer['processor']}, {computer['cores']} cores"
        command = [name, *(["--keep-memory"] if used.get("keep_memory") else [])]
        command += ["--spin"] if used.get("spin") else []
        command += [f"--busy {used['busy']}"] if used.get("busy") else []
        command += ["--before CHECKOUT"] if used.get("before") else []
        lines += [
            f"## {work['title']}",
            "",
            "| | s a step (fastest - slowest) | times the first's | growth (peak) of memory, MB | the first's share |",
            "|---|---|---|---|---|",
        ]
        for number, (way, row) in enumerate(work["ways"].items()):
            times = f"{row['seconds'] / ours['seconds']:.1f}" if number else ""
            share = f"{ours['growth_mb'] / row['growth_mb']:.0%}" if number else ""
            lines.append(
                f"| {way} | {row['seconds']:.3f} ({row['fastest']:.3f} - {row['slowest']:.3f}) | {times} "
                f"| {row['growth_mb']:,.0f} ({row['peak_mb']:,.0f}) | {share} |"
            )
        lines += [
            "",
            f"`python scripts/benchmark.py {' '.join(command)}`; {used['rounds']} processes of {used['repeat']} steps "
            f"each, by turns; {used['threads']} threads, seed {used['seed']}, float32, {used['device']}; {cores}; "
            f"torch {work['versions']['torch']}; {work['date'][:10]}",
            "",
        ]
    return "\n".join([*lines, *_growth(result["works"])])


def _growth(works: dict[str, Any]) -> list[str]:
    """The growth of time with the number of points, where it was measured."""
    lines = []
    for family, what in (("growth", "a training step"), ("boundary", "distances to the boundary")):
        found = {n: works[f"{family}_{n}"]["ways"]["pitgeo"] for n in GROWING if f"{family}_{n}" in works}
        lines += [
            f"- {what}, from {low:,} to {high:,} points: to the power {_power(found, low, high):.2f}"
            for low, high in itertools.pairwise(found)
        ]
    return ["## Growth of time with the points", "", *lines, ""] if lines else []


def _power(found: dict[int, dict[str, float]], low: int, high: int) -> float:
    return math.log(found[high]["seconds"] / found[low]["seconds"], high / low)


def _summary(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    seconds = [second for run in runs for second in run["seconds"]]
    return {
        "seconds": statistics.median(seconds),
        "fastest": min(seconds),
        "slowest": max(seconds),
        **{key: statistics.median(run[key] for run in runs) for key in ("growth_mb", "peak_mb")},
        "runs": list(runs),
    }


def _in_process(name: str, way: str, settings: Settings) -> dict[str, Any]:
    numbers = (settings.repeat, settings.threads, settings.seed)
    variables = environment() | ({} if settings.spin else {"GOMP_SPINCOUNT": SPINS})
    library = settings.before if way == _BEFORE else None
    done_by = way if library is None else next(iter(WORKS[name].ways))
    command = ["-m", "benchmarks.speed", name, done_by, *map(str, numbers), settings.device]
    command += ["--keep-memory"] if settings.keep_memory else []
    with _busy(settings.busy), tempfile.TemporaryDirectory() as folder:
        if library is not None:  # Python looks in the folder that it starts in before all others
            (Path(folder) / "pitgeo").symlink_to(Path(library, "pitgeo").resolve())
        printed = run_python(command, f"{name!r} to be measured with {way!r}", variables, folder)
    result: dict[str, Any] = json.loads(printed.splitlines()[-1])
    return result


@contextlib.contextmanager
def _busy(count: int) -> Iterator[None]:
    """Run other processes that compute all the time."""
    started = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def _forget_peak(device: str) -> None:
    """Reset the peak memory: otherwise growth below an earlier peak would not be counted."""
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    with contextlib.suppress(OSError):  # Linux alone
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def peak_mb(device: str = "cpu") -> float:
    """Peak memory of this process so far, in MiB; on a GPU, the peak of torch's allocations."""
    if device == "cuda":
        return torch.cuda.max_memory_allocated() / 2**20
    status = Path("/proc/self/status")  # resource's number is inherited from the process that started this one
    if status.exists():
        return int(status.read_text(encoding="ascii").split("VmHWM:")[1].split()[0]) / 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
