"""Errors of runs that are compared: which number counts, paired over seeds, mean and standard deviation."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

NORM = {
    "inviscid_burgers": "relative_l1_median",
    "shock_tube": "relative_l1_median",
    "meshes": "variation_l2_pooled",
}
"""What is compared, where that is not the mean relative l2 error: what the paper reports; on meshes of one's own, an
error that is free of offsets."""


def error_key(benchmark: str) -> str:
    """The error that the paper reports on a benchmark, or that is compared on meshes of one's own."""
    return NORM.get(benchmark, "relative_l2_mean")


def paired(first: Sequence[dict[str, Any]], second: Sequence[dict[str, Any]], key: str) -> dict[str, Any] | None:
    """How a variant compares with the first one on the seeds they share.

    Args:
        first: Runs of the first one.
        second: Runs of the other; one without a seed (``None``) is compared with all of them.
        key: The error.

    Returns:
        ``seeds``: how many they share; ``ratio``: the geometric mean of the errors' ratios; ``worse``: on how many
        seeds the variant's error is larger; ``None`` without a common seed.

    Example:
        >>> paired([{"seed": 0, "e": 1.0}, {"seed": 1, "e": 2.0}], [{"seed": 0, "e": 2.0}, {"seed": 1, "e": 4.0}], "e")
        {'seeds': 2, 'ratio': 2.0, 'worse': 2}
    """
    base = {row["seed"]: row[key] for row in first}
    pairs = [
        (reference, row[key])
        for row in second
        for seed, reference in base.items()
        if (row["seed"] is None or row["seed"] == seed) and row[key] and reference
    ]
    if not pairs:
        return None
    ratio = statistics.geometric_mean(error / reference for reference, error in pairs)
    return {"seeds": len(pairs), "ratio": ratio, "worse": sum(error > reference for reference, error in pairs)}


def spread(values: Sequence[float]) -> str:
    """Mean, and standard deviation where there are several."""
    return f"{statistics.fmean(values):.4f}" + (f" ± {statistics.stdev(values):.4f}" if len(values) > 1 else "")
