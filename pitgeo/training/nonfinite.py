"""Losses and errors that are NaN or infinite."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from pitgeo.data import PointData
from pitgeo.data.fields import FieldTable
from pitgeo.data.scaling import Scaling


class NonFiniteError(ArithmeticError):
    """The loss, or a weight, is NaN or infinite; the message says where."""


def check_loss(loss: Tensor, batch: PointData, step: str) -> None:
    """Raise a :class:`NonFiniteError` that names step and samples, unless the loss of a batch is finite."""
    if not bool(torch.isfinite(loss)):
        numbers = batch.get("sample_id")
        ids = "without numbers" if numbers is None else ", ".join(str(int(number)) for number in numbers.flatten())
        raise NonFiniteError(f"the loss became {float(loss.detach())} at {step}, on the samples {ids}")


def flaw(errors: Tensor, batch: PointData, metadata: dict[str, Any], scaling: Scaling) -> str:
    """Which error ``[B, K]``, or ``[B, K, shares]``, of a batch is not finite, and why that may be.

    Args:
        errors: The errors, not all finite.
        batch: What they are of.
        metadata: That of the module, with names of the targets.
        scaling: Of the targets.
    """
    sample, channel = (int(number) for number in (~torch.isfinite(errors)).nonzero()[0, :2])
    labels = FieldTable.parse(metadata["table"]).target_labels if "table" in metadata else ()
    name = f"target {labels[channel]!r}" if channel < len(labels) else f"target channel {channel}"
    numbers = batch.get("sample_id")
    sample_name = sample if numbers is None else int(numbers.flatten()[sample])
    text = f"the error of {name} is {float(errors[sample, channel].max())} in validation sample {sample_name}"
    logs = scaling.is_log
    if bool(logs[channel % len(logs)]):
        return f"{text}; its logarithm is scaled, and the exponential of what is predicted is out of range"
    return f"{text}; what is predicted is NaN, or out of range"
