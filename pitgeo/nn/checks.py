"""What models and layers check alike."""

from __future__ import annotations

import torch

from pitgeo.data import PointData


def check_counts(**counts: int) -> None:
    """Raise a ``ValueError`` unless all of these, by name, are at least 1."""
    for name, value in counts.items():
        if value < 1:
            raise ValueError(f"Expected '{name}' to be at least 1 (got {value})")


def check_channels(data: PointData, channels: int) -> None:
    """Raise a ``ValueError`` unless the data has these input channels, coordinates and values together."""
    if data.input_dim != channels:
        raise ValueError(
            f"Expected {channels} input channels, coordinates and values together "
            f"(got {data.pos.shape[-1]} coordinates and {data.x.shape[-1]} values)"
        )


def check_dtype(data: PointData, dtype: torch.dtype) -> None:
    """Raise a ``ValueError`` unless positions and values are of a model's type."""
    if data.pos.dtype != dtype or data.x.dtype != dtype:
        raise ValueError(
            f"Expected positions and values of the model's type {dtype} (got {data.pos.dtype} and {data.x.dtype}); "
            f"convert the sample, as with .float(), or the model, as with .double()"
        )
