"""The experiments of the paper, each with its benchmarks and the variants that it compares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from pitgeo.workflows.compare.variants import Variants

GRIDS = ("inviscid_burgers", "shock_tube", "darcy2d", "vorticity", "naca")
BENCHMARKS = (*GRIDS, "elasticity")
RESOLUTIONS = (43, 61, 71, 85, 106, 141, 211, 421)
"""Test resolutions of the paper for models trained on Darcy2D at 43 and 85 points a side."""

_PAPER = {
    "inviscid_burgers": (2, "tan"),
    "shock_tube": (2, "square"),
    "darcy2d": (2, "tan"),
    "darcy_small": (2, "tan"),
    "vorticity": (1, "square"),
    "elasticity": (2, "square"),
    "naca": (2, "tan"),
}
"""Heads and form of lambda in the paper, but for Elasticity: the paper has 8 heads and eight times the channels."""

_FNO = {"inviscid_burgers": (19, 32), "shock_tube": (7, 32), "darcy2d": (12, 32), "vorticity": (12, 20)}
"""Modes and width of FNO++ in the paper."""

_TRAINING = ('training.optimizer="adamw"', "training.learning_rate=1e-3", "training.window=0")
"""Training of the paper's networks and FNO++: close to the paper's Adam, and on whole series."""


@dataclass(frozen=True)
class Study:
    """One experiment.

    Args:
        title: Title of the report.
        source: Place in the paper.
        benchmarks: Benchmarks that it runs on by default.
        full: All benchmarks that it can run on.
        variants: From a benchmark to its variants: a label, and changes to the quick configuration. The others are
            compared with the first.
        resolutions: Resolutions to test at besides that of training; only for grids.
        figure: ``"bars"``: errors of the variants; ``"growth"``: the error over predicted steps; ``"resolutions"``: the
            error over test resolutions; ``"lengths"``: the length scales of the first variant.
    """

    title: str
    source: str
    benchmarks: tuple[str, ...]
    full: tuple[str, ...]
    variants: Callable[[str], Variants]
    resolutions: tuple[int, ...] = ()
    figure: Literal["bars", "growth", "resolutions", "lengths"] = "bars"


def paper_pit(benchmark: str, *changes: str) -> tuple[str, ...]:
    """The paper's network with random initial length scales, at the size of the quick configuration."""
    heads, positivity = _PAPER[benchmark]
    return (
        'model.name="pit"',
        'model.pit.body="paper"',
        'model.pit.lengths="random"',
        f"model.pit.heads={heads}",
        f'model.pit.positivity="{positivity}"',
        *_TRAINING,
        *changes,
    )


def fno(benchmark: str, *changes: str) -> tuple[str, ...]:
    """FNO++ with the paper's width, and its modes as far as the quick grid allows."""
    modes, width = _FNO.get(benchmark, (12, 32))
    modes = min(modes, {"darcy_small": 7}.get(benchmark, modes))
    return (
        'model.name="fno_plus"',
        f"model.fno_plus.modes={modes}",
        f"model.fno_plus.width={width}",
        *_TRAINING,
        *changes,
    )


def _attention(*kinds: str) -> str:
    return f"model.pit.attention=[{', '.join(repr(kind) for kind in kinds)}]".replace("'", '"')


def _main(benchmark: str) -> Variants:
    variants: Variants = {"PiT": paper_pit(benchmark), "PiT, the default": ()}
    if benchmark in GRIDS:
        variants["FNO++"] = fno(benchmark)
    return variants


def _ablation(benchmark: str) -> Variants:
    everywhere = (_attention("self", "self", "self"), 'model.pit.latent={method="input"}')
    return {
        "PiT": paper_pit(benchmark),
        "SelfAtt B": paper_pit(benchmark, _attention("position", "self", "position")),
        "SelfAtt A": paper_pit(benchmark, *everywhere),
    }


def _self_pit(benchmark: str) -> Variants:
    kind = _attention("self_position", "self_position", "self_position")
    return {"PiT": paper_pit(benchmark), "Self-PiT": paper_pit(benchmark, kind, 'model.pit.latent={method="input"}')}


def _quantiles(benchmark: str) -> Variants:
    shares = (0.01, 0.02, 0.1, 0.5)
    encoder = {f"encoder {q:.0%}": paper_pit(benchmark, f"model.pit.encoder_quantile={q}") for q in shares}
    decoder = {f"decoder {q:.0%}": paper_pit(benchmark, f"model.pit.decoder_quantile={q}") for q in (0.02, 0.1, 0.5)}
    return encoder | decoder


def _latent(benchmark: str) -> Variants:
    if benchmark in ("inviscid_burgers", "shock_tube"):
        return {str(n): paper_pit(benchmark, f"model.pit.latent.cells=[{n}]") for n in (64, 128, 256, 512)}
    if benchmark == "elasticity":
        return {str(n): paper_pit(benchmark, f"model.pit.latent.number={n}") for n in (61, 122, 243, 486)}
    grids = {"naca": ((14, 7), (28, 13), (56, 26))}.get(benchmark, ((8, 8), (12, 12), (16, 16), (24, 24)))
    return {f"{a * b}": paper_pit(benchmark, f"model.pit.latent.cells=[{a}, {b}]") for a, b in grids}


def _widths(benchmark: str) -> Variants:
    return {str(width): paper_pit(benchmark, f"model.pit.channels={width}") for width in (32, 64, 128)}


def _forms(benchmark: str) -> Variants:
    return {form: paper_pit(benchmark, f'model.pit.positivity="{form}"') for form in ("square", "tan", "sine_tan")}


def _heads(benchmark: str) -> Variants:
    return {f"{heads} heads": paper_pit(benchmark, f"model.pit.heads={heads}") for heads in (2, 1, 4, 8)}


def _zero_shot(benchmark: str) -> Variants:
    sizes = {43: (), 85: ("data.darcy2d.resolution=85",)}
    pit = {f"PiT, {size}": paper_pit(benchmark, *changes) for size, changes in sizes.items()}
    return pit | {f"FNO++, {size}": fno(benchmark, *changes) for size, changes in sizes.items()}


def _against_fno(benchmark: str) -> Variants:
    return {"PiT": paper_pit(benchmark), "FNO++": fno(benchmark)}


STUDIES: dict[str, Study] = {
    "main": Study("Test errors", "table 1", ("inviscid_burgers", "darcy2d"), BENCHMARKS, _main),
    "zero_shot": Study(
        "Darcy2D at resolutions not trained on",
        "figure on zero-shot prediction",
        ("darcy2d",),
        ("darcy2d",),
        _zero_shot,
        RESOLUTIONS,
        "resolutions",
    ),
    "ablation": Study(
        "Self-attention in the processor (B), or everywhere without a latent mesh (A)",
        "ablation table",
        ("inviscid_burgers", "darcy2d"),
        ("inviscid_burgers", "shock_tube", "darcy2d", "elasticity"),
        _ablation,
    ),
    "self_pit": Study(
        "Position and value together in the weights",
        "section on Self-PiT",
        ("inviscid_burgers", "shock_tube"),
        ("inviscid_burgers", "shock_tube"),
        _self_pit,
    ),
    "quantiles": Study(
        "Quantiles of encoder and decoder", "hyperparameters", ("darcy2d", "elasticity"), BENCHMARKS, _quantiles
    ),
    "latent": Study("Number of latent points", "hyperparameters", ("darcy2d", "elasticity"), BENCHMARKS, _latent),
    "width": Study("Encoding dimension", "hyperparameters", ("darcy2d", "elasticity"), BENCHMARKS, _widths),
    "forms": Study("Forms of lambda", "appendix C.1", ("darcy2d", "elasticity"), BENCHMARKS, _forms),
    "heads": Study("Number of heads", "appendix on heads", ("darcy2d", "elasticity"), BENCHMARKS, _heads),
    "lengths": Study(
        "Length scale of every head",
        "appendix on heads",
        ("darcy2d",),
        BENCHMARKS,
        lambda benchmark: {"PiT": paper_pit(benchmark)},
        figure="lengths",
    ),
    "growth": Study(
        "Growth of the error over 20 predicted steps",
        "figure on Vorticity",
        ("vorticity",),
        ("vorticity",),
        _against_fno,
        figure="growth",
    ),
    "external": Study(
        "Darcy flow at 16 x 16, tested at 16 and 32: files of neuraloperator",
        "not in the paper",
        ("darcy_small",),
        ("darcy_small",),
        _against_fno,
        (16, 32),
        "resolutions",
    ),
}
"""Every experiment by name; the cost of a step over the resolution has a module of its own."""
