"""Other operator models, on the same data by the same commands: one file each, with its options."""

from pitgeo.baselines.deeponet import DeepONet, DeepONetOptions
from pitgeo.baselines.deformation import Deformation
from pitgeo.baselines.fno import FNO
from pitgeo.baselines.fno_options import FNOOptions, FNOPlusOptions
from pitgeo.baselines.galerkin import GalerkinOptions, GalerkinTransformer
from pitgeo.baselines.geo_fno import GeoFNO, GeoFNOOptions
from pitgeo.baselines.gino import GINO, GINOOptions
from pitgeo.baselines.gnot import GNOT, GNOTOptions
from pitgeo.baselines.interpolated_fno import InterpolatedFNO
from pitgeo.baselines.oformer import OFormer, OFormerOptions
from pitgeo.baselines.ono import ONO, ONOOptions
from pitgeo.baselines.pod import POD, PODOptions
from pitgeo.baselines.sensors import Sensors
from pitgeo.baselines.shift_deeponet import ShiftDeepONet, ShiftDeepONetOptions
from pitgeo.baselines.slice_attention import SliceAttention
from pitgeo.baselines.transolver import Transolver, TransolverOptions

__all__ = [
    "FNO",
    "GINO",
    "GNOT",
    "ONO",
    "POD",
    "DeepONet",
    "DeepONetOptions",
    "Deformation",
    "FNOOptions",
    "FNOPlusOptions",
    "GINOOptions",
    "GNOTOptions",
    "GalerkinOptions",
    "GalerkinTransformer",
    "GeoFNO",
    "GeoFNOOptions",
    "InterpolatedFNO",
    "OFormer",
    "OFormerOptions",
    "ONOOptions",
    "PODOptions",
    "Sensors",
    "ShiftDeepONet",
    "ShiftDeepONetOptions",
    "SliceAttention",
    "Transolver",
    "TransolverOptions",
]
