"""pitgeo: geometric graph learning on point clouds with the Position-induced Transformer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pitgeo.system.lazy_names import lazy_names

if TYPE_CHECKING:
    from pitgeo.data import PointData
    from pitgeo.graphs.metric import Metric
    from pitgeo.graphs.neighborhood import Neighborhood
    from pitgeo.nn import PiT, PositionAttention
    from pitgeo.prediction import load
    from pitgeo.workflows.surrogate import train_surrogate

__version__ = "0.2.0"

__all__ = ["Metric", "Neighborhood", "PiT", "PointData", "PositionAttention", "load", "train_surrogate"]

__getattr__ = lazy_names(
    __name__,
    {
        "Metric": "graphs.metric",
        "Neighborhood": "graphs.neighborhood",
        "PiT": "nn",
        "PointData": "data",
        "PositionAttention": "nn",
        "load": "prediction",
        "train_surrogate": "workflows.surrogate",
    },
)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
