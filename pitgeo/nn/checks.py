"""Checks that models and layers share."""

from __future__ import annotations

from torch import nn

from pitgeo.data import PointData


def check_counts(**counts: int) -> None:
    """Raise a ``ValueError`` unless all these named counts are at least 1."""
    for name, value in counts.items():
        if value < 1:
            raise ValueError(f"Expected '{name}' to be at least 1 (got {value})")


def check_lengths(**lengths: float) -> None:
    """Raise a ``ValueError`` unless all these named lengths are positive and finite."""
    for name, value in lengths.items():
        if not 0 < value < float("inf"):
            raise ValueError(f"Expected '{name}' to be positive and finite (got {value})")


def check_input(data: PointData, channels: int, model: nn.Module) -> None:
    """Raise a ``ValueError`` unless a sample has the channels and the number type of a model.

    Args:
        data: The sample or batch.
        channels: Input channels that the model was built for, coordinates and values together.
        model: The model, or a part of it; positions and values must have the type of its weights.

    Raises:
        ValueError: If the data has other channels or another type than the model, or the model is of half precision.
    """
    if data.input_dim != channels:
        raise ValueError(
            f"Expected {channels} input channels, coordinates and values together "
            f"(got {data.pos.shape[-1]} coordinates and {data.x.shape[-1]} values)"
        )
    dtype = next((weight.dtype for weight in model.parameters() if weight.is_floating_point()), data.pos.dtype)
    if dtype.itemsize < 4:
        raise ValueError(
            f"Expected a model in single or double precision, which positions need (got {dtype}); convert its weights "
            f"with .float() and call it under torch.autocast, as training.precision = 'bf16' does"
        )
    output = data.points("output")[0].dtype
    if data.pos.dtype != dtype or data.x.dtype != dtype or output != dtype:
        others = f", output points of {output}" if output != data.pos.dtype else ""
        raise ValueError(
            f"Expected positions and values of the model's type {dtype} "
            f"(got {data.pos.dtype} and {data.x.dtype}{others}); "
            f"convert the sample, as with .float(), or the model, as with .double()"
        )
