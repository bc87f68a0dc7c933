#!/usr/bin/env python
"""Time and memory of a training step of the paper's Elasticity network, beside its dense twins, in one run.

The twins work on full [B, H, N, N] matrices: "recompute" makes distances, quantile masks and weights anew in every
layer, as the authors' public code does; "cached" makes distances and masks once a batch. Every case runs in a fresh
process, by turns, so that memory is the growth of that process's peak resident size and slow drifts of the machine
fall on all alike. Writes a JSON file and a table.

With --predict-points, times a prediction on mesh files of so many points instead, see pitgeo/studies/large_files.py.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import statistics
import subprocess
import sys
import time
from datetime import date
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu

QUANTILE = 0.02
CASES = ("recompute", "cached", "pitgeo")


class DenseAttention(nn.Module):
    """Position-attention as the formula has it."""

    def __init__(self, channels: int, heads: int, quantile: float) -> None:
        super().__init__()
        self.quantile = quantile
        self.raw = nn.Parameter(torch.rand(heads))
        self.value = nn.Linear(channels, channels, bias=False)

    def mask(self, squared: Tensor) -> Tensor:
        return squared <= torch.quantile(squared, self.quantile, dim=-1, keepdim=True)

    def forward(self, x: Tensor, squared: Tensor, mask: Tensor | None) -> Tensor:
        logits = -self.raw.square().view(-1, 1, 1) * squared.unsqueeze(1)
        if self.quantile < 1:
            inside = self.mask(squared) if mask is None else mask
            logits = logits.masked_fill(~inside.unsqueeze(1), -torch.inf)
        value = self.value(x).unflatten(-1, (len(self.raw), -1)).transpose(1, 2)
        return (logits.softmax(-1) @ value).transpose(1, 2).flatten(2)


class DenseBlock(nn.Module):
    """The paper's block round it."""

    def __init__(self, channels: int, heads: int, quantile: float) -> None:
        super().__init__()
        self.attention = DenseAttention(channels, heads, quantile)
        self.mlp = nn.Sequential(nn.Linear(channels, channels), nn.GELU(), nn.Linear(channels, channels))
        self.linear = nn.Linear(channels, channels)

    def forward(self, x: Tensor, squared: Tensor, mask: Tensor | None) -> Tensor:
        return gelu(self.mlp(gelu(self.attention(x, squared, mask))) + self.linear(x))


class DensePiT(nn.Module):
    """The paper's Elasticity network in dense form."""

    def __init__(self, in_channels: int, channels: int, heads: int, cached: bool) -> None:
        super().__init__()
        self.cached = cached
        self.lift = nn.Linear(in_channels, channels)
        self.blocks = nn.ModuleList(DenseBlock(channels, heads, q) for q in (QUANTILE, 1, 1, 1, 1, QUANTILE))
        self.head = nn.Sequential(nn.Linear(channels, channels), nn.GELU(), nn.Linear(channels, 1))

    def forward(self, x: Tensor, pos: Tensor) -> Tensor:
        x = gelu(self.lift(x))
        squared, mask = None, None
        for block in self.blocks:
            if squared is None or not self.cached:
                squared = (pos.unsqueeze(2) - pos.unsqueeze(1)).square().sum(-1)
                mask = self.blocks[0].attention.mask(squared) if self.cached else None
            x = block(x, squared, mask)
        return self.head(x)


def measure(case: str, options: argparse.Namespace) -> dict[str, object]:
    """One case, in this process."""
    torch.manual_seed(options.seed)
    torch.set_num_threads(options.threads)
    size = (options.batch, options.points)
    pos, x, y = torch.rand(*size, 2), torch.rand(*size, 42), torch.rand(*size, 1)
    if case == "pitgeo":
        from torch_geometric.data import Batch

        from pitgeo.data import PointData
        from pitgeo.models import LatentOptions, PiTOptions, Shape

        pit = PiTOptions(
            channels=options.channels, heads=options.heads, body="paper", encoder="block", decoder="block",
            lengths="random", latent=LatentOptions(method="input"),
        )  # fmt: skip
        model = pit.build(Shape(44, 1, 2, 0.03, 1.0))
        transform = pit.transform()  # graphs are data: made once a sample, as training does
        batch = Batch.from_data_list([transform(PointData(pos=p, x=v)) for p, v in zip(pos, x, strict=True)])

        def predict() -> Tensor:
            return model(batch).view_as(y)
    else:
        model = DensePiT(44, options.channels, options.heads, case == "cached")
        both = torch.cat([pos, x], -1)

        def predict() -> Tensor:
            return model(both, pos)

    if options.largest_lambda:
        for module in model.modules():
            if hasattr(module, "raw"):
                module.raw.data.copy_(torch.linspace(1, options.largest_lambda**0.5, options.heads))
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds = []
    for _ in range(options.repeat + 1):
        start = time.perf_counter()
        optimizer.zero_grad()
        ((predict() - y).norm(dim=1) / y.norm(dim=1)).mean().backward()
        optimizer.step()
        seconds.append(time.perf_counter() - start)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    return {"case": case, "seconds": seconds[1:], "peak_growth_mb": grown,
            "parameters": sum(p.numel() for p in model.parameters())}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=972)
    parser.add_argument("--batch", type=int, default=10)
    parser.add_argument("--channels", type=int, default=256, help="encoding dimension d")
    parser.add_argument("--heads", type=int, default=2)
    parser.add_argument("--largest-lambda", type=float, help="spread lambda from 1 to this over the heads")
    parser.add_argument("--repeat", type=int, default=3, help="steps a process, after one to warm up")
    parser.add_argument("--rounds", type=int, default=3, help="processes a case, by turns")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=Path("runs/benchmark.json"))
    parser.add_argument("--predict-points", type=int, nargs="+", help="sizes of mesh files to predict on, one thread")
    parser.add_argument("--case", choices=CASES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        print(json.dumps(measure(options.case, options)))
        return
    if options.predict_points:
        from pitgeo.studies.large_files import format_large_files, run_large_files

        print(format_large_files(run_large_files(options.output.parent, options.predict_points)))
        return
    rows: dict[str, list[dict[str, object]]] = {case: [] for case in CASES}
    for turn in range(options.rounds):
        for case in CASES:
            print(f"round {turn + 1} of {options.rounds}: {case}", file=sys.stderr)
            command = [sys.executable, __file__, *sys.argv[1:], "--case", case]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            rows[case].append(json.loads(done.stdout.splitlines()[-1]))
    summary = {}
    for case, runs in rows.items():
        seconds = [second for run in runs for second in run["seconds"]]  # type: ignore[attr-defined]
        summary[case] = {
            "seconds": statistics.median(seconds), "fastest": min(seconds), "slowest": max(seconds),
            "peak_growth_mb": statistics.median(float(run["peak_growth_mb"]) for run in runs),  # type: ignore[arg-type]
            "parameters": runs[0]["parameters"],
        }  # fmt: skip
    facts = {
        **{name: value for name, value in vars(options).items() if name not in ("output", "case", "predict_points")},
        "torch": torch.__version__, "machine": platform.processor() or platform.machine(), "date": str(date.today()),
    }  # fmt: skip
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps({"settings": facts, "cases": summary, "runs": rows}, indent=2) + "\n")
    print(f"{facts}\n\n| case | s/step (fastest-slowest) | times pitgeo's | peak growth, MB | pitgeo's share |")
    print("|---|---|---|---|---|")
    ours = summary["pitgeo"]
    for case, row in summary.items():
        print(
            f"| {case} | {row['seconds']:.2f} ({row['fastest']:.2f}-{row['slowest']:.2f}) "
            f"| {row['seconds'] / ours['seconds']:.2f} | {row['peak_growth_mb']:.0f} "
            f"| {ours['peak_growth_mb'] / row['peak_growth_mb']:.0%} |"
        )


if __name__ == "__main__":
    main()
