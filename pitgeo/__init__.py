"""pitgeo: geometric graph learning on point clouds with the Position-induced Transformer."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pitgeo.data import PointData
    from pitgeo.metric import Metric
    from pitgeo.neighborhood import Neighborhood
    from pitgeo.nn import PiT, PositionAttention
    from pitgeo.predict import load
    from pitgeo.surrogate import train_surrogate

__version__ = "0.1.0"

__all__ = ["Metric", "Neighborhood", "PiT", "PointData", "PositionAttention", "load", "train_surrogate"]

_MODULES = {
    "Metric": "metric",
    "Neighborhood": "neighborhood",
    "PiT": "nn",
    "PointData": "data",
    "PositionAttention": "nn",
    "load": "predict",
    "train_surrogate": "surrogate",
}


def __getattr__(name: str) -> Any:
    """What is public comes with the first use of its name: reading a mesh needs no torch, a layer no training."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"pitgeo.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
