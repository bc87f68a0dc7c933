"""Calls of tested layers, and comparison of their results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from pitgeo.data import PointData

Layer = Callable[..., Tensor]
"""A module, or any function."""

LAYER_INPUTS = ("x", "pos", "edge_index")
_TOLERANCES = {torch.float64: 1e-9, torch.float32: 1e-4}


def arguments(sample: Data, inputs: Sequence[str] | None) -> tuple[Any, ...]:
    """The arguments of a layer: the whole sample, or some of its attributes (``None`` for those it lacks)."""
    if inputs is None and isinstance(sample, PointData):
        return (sample,)
    return tuple(sample.get(name) for name in inputs or LAYER_INPUTS)


def result(layer: Layer, sample: Data, inputs: Sequence[str] | None) -> Tensor:
    """The result of a layer for a sample; an ``AssertionError`` unless it is a finite floating-point tensor."""
    with torch.no_grad():
        out = layer(*arguments(sample, inputs))
    if not isinstance(out, Tensor) or out.dim() < 2 or not out.is_floating_point():
        got = f"{list(out.shape)} of {out.dtype}" if isinstance(out, Tensor) else type(out).__name__
        raise AssertionError(f"Expected {name_of(layer)} to give a floating-point tensor [N, channels] (got {got})")
    if not bool(torch.isfinite(out).all()):
        bad = int((~torch.isfinite(out)).sum())
        raise AssertionError(f"Expected {name_of(layer)} to give finite values (got {bad} of {out.numel()} others)")
    return out


def name_of(layer: Layer) -> str:
    """The name of a layer in messages."""
    return str(getattr(layer, "__name__", type(layer).__name__))


def compare(what: str, found: Tensor, expected: Tensor, tolerance: float | None) -> None:
    """Raise an ``AssertionError`` that says where and by how much two results differ.

    Args:
        what: What was expected, to follow the word "Expected" in the message.
        found: The result.
        expected: The expected result.
        tolerance: Largest difference, relative to the largest expected value; ``None`` for that of the precision.
    """
    if found.shape != expected.shape:
        raise AssertionError(f"Expected {what} (got shape {list(found.shape)} for {list(expected.shape)})")
    if not expected.numel():
        return
    allowed = _TOLERANCES.get(expected.dtype, 0.05) if tolerance is None else tolerance
    difference, size = (found - expected).abs(), float(expected.abs().max())
    largest = float(difference.max())
    if largest <= allowed * (size or 1.0):
        return
    place = [int(number) for number in torch.unravel_index(difference.argmax(), difference.shape)]
    relative = f", {largest / size:.3g} of the largest value" if size else ""
    raise AssertionError(
        f"Expected {what} (got {float(found[tuple(place)]):.6g} for {float(expected[tuple(place)]):.6g} at {place}: a "
        f"difference of {largest:.3g}{relative}, where {allowed:.3g} is allowed)"
    )
