"""pitgeo: geometric graph learning on point clouds with the Position-induced Transformer."""

from pitgeo.data import PointData
from pitgeo.metric import Metric
from pitgeo.neighborhood import Neighborhood
from pitgeo.nn import PiT, PositionAttention

__version__ = "0.1.0"

__all__ = ["Metric", "Neighborhood", "PiT", "PointData", "PositionAttention", "load", "train_surrogate"]


def __getattr__(name: str) -> object:
    if name == "load":  # training comes with these: imported only when asked for
        from pitgeo.predict import load

        return load
    if name == "train_surrogate":
        from pitgeo.surrogate import train_surrogate

        return train_surrogate
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
