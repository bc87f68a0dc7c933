"""Other operator models, on the same data by the same commands: one file each, with its options."""

from pitgeo.baselines.deformation import Deformation
from pitgeo.baselines.fno import FNO
from pitgeo.baselines.fno_options import FNOOptions, FNOPlusOptions
from pitgeo.baselines.geo_fno import GeoFNO, GeoFNOOptions
from pitgeo.baselines.gino import GINO, GINOOptions
from pitgeo.baselines.interpolated_fno import InterpolatedFNO

__all__ = [
    "FNO",
    "GINO",
    "Deformation",
    "FNOOptions",
    "FNOPlusOptions",
    "GINOOptions",
    "GeoFNO",
    "GeoFNOOptions",
    "InterpolatedFNO",
]
