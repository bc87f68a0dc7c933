"""A profile of a training step: its time by kind of work, and its rate compared with that of the machine."""

from __future__ import annotations

import statistics
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from benchmarks import machine_line, origin
from benchmarks.speed.measure import measure
from benchmarks.speed.operations import machine_rates, training_operations
from benchmarks.speed.table import NETWORKS
from benchmarks.speed.works import network_step
from pitgeo.evaluation.evaluation import write_json
from pitgeo.system.atomic_files import write_atomic

KINDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("matrix products", ("aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm")),
    ("attention kernels", ("flash_attention", "scaled_dot_product")),
    ("sums over graphs", ("embedding_bag", "pitgeo::", "torch_scatter", "aten::sort", "searchsorted")),
    ("activations", ("gelu",)),
    ("copies and gathers", ("copy", "aten::cat", "index", "fill", "zero", "aten::pad", "gather")),
    ("optimiser", ("addcmul", "addcdiv", "lerp", "_foreach", "sqrt", "adam")),
    ("elementwise and reductions", ("mul", "add", "sub", "div", "sum", "aten::exp", "softmax", "threshold")),
)
"""Kinds of work by parts of operator names; the first match counts."""


@dataclass(frozen=True)
class _Operator:
    name: str
    seconds: float
    calls: int


def run_profile(name: str, output: Path, repeat: int = 5, seed: int = 0) -> dict[str, Any]:
    """Profile a training step with torch's current threads; write ``profile_<name>.json`` and ``.md``.

    Args:
        name: Name in :data:`benchmarks.speed.table.NETWORKS`.
        output: Folder of the results.
        repeat: Steps to time without the profiler.
        seed: Seed of weights and data.

    Returns:
        The content of the JSON file.

    Raises:
        ValueError: If there is no such network.
    """
    if name not in NETWORKS:
        raise ValueError(f"Expected a network among {', '.join(NETWORKS)} (got {name!r})")
    torch.set_flush_denormal(True)
    torch.manual_seed(seed)
    network = NETWORKS[name]
    model, data, step = network_step(network, seed)
    seconds = statistics.median(measure(step, repeat)["seconds"])
    with profile(activities=[ProfilerActivity.CPU]) as profiled:
        step()
    operators = [
        _Operator(event.key, event.self_cpu_time_total / 1e6, event.count) for event in profiled.key_averages()
    ]
    rates, operations = machine_rates(), training_operations(model, data)
    result = {
        "network": network.title,
        "step_seconds": seconds,
        "operations": operations,
        "operations_per_second": operations / seconds,
        "machine_products_per_second": rates.products,
        "machine_copied_bytes_per_second": rates.copies,
        "share_of_products": operations / seconds / rates.products,
        "kinds": _kinds(operators),
        "operators": [vars(operator) for operator in sorted(operators, key=lambda item: -item.seconds)[:15]],
        "threads": torch.get_num_threads(),
        "seed": seed,
        **origin(),
    }
    output.mkdir(parents=True, exist_ok=True)
    write_json(output / f"profile_{name}.json", result)
    write_atomic(output / f"profile_{name}.md", format_profile(result).encode())
    return result


def format_profile(result: dict[str, Any]) -> str:
    """A profile as Markdown."""
    total = sum(result["kinds"].values())
    lines = [
        f"# Profile of a training step. {result['network']}",
        "",
        f"{result['step_seconds']:.3f} s a step; {result['operations'] / 1e9:,.1f} G necessary operations: "
        f"{result['operations_per_second'] / 1e9:,.0f} G/s, {result['share_of_products']:.0%} of the machine's "
        f"{result['machine_products_per_second'] / 1e9:,.0f} G/s in matrix products (copies: "
        f"{result['machine_copied_bytes_per_second'] / 1e9:.1f} GB/s).",
        "",
        "| Kind of work | Share of the step |",
        "|---|---|",
        *(f"| {kind} | {seconds / total:.0%} |" for kind, seconds in result["kinds"].items()),
        "",
        "| Operator | Share | Calls |",
        "|---|---|---|",
        *(f"| `{row['name']}` | {row['seconds'] / total:.1%} | {row['calls']} |" for row in result["operators"]),
        "",
        machine_line(result),
        f"- Date: {result['date']}; torch {result['versions']['torch']}",
    ]
    return "\n".join(lines) + "\n"


def _kinds(operators: list[_Operator]) -> dict[str, float]:
    """Seconds of every kind of work, the largest first."""
    seconds: dict[str, float] = defaultdict(float)
    for operator in operators:
        kind = next((kind for kind, names in KINDS if any(name in operator.name for name in names)), "everything else")
        seconds[kind] += operator.seconds
    return dict(sorted(seconds.items(), key=lambda item: -item[1]))
