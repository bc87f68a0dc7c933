"""The models that a configuration can name, each in one file with its options, and their registry."""

from pitgeo.models.deeponet import DeepONet, DeepONetOptions
from pitgeo.models.deformation import Deformation
from pitgeo.models.fno import FNO
from pitgeo.models.fno_options import FNOOptions, FNOPlusOptions
from pitgeo.models.galerkin import GalerkinOptions, GalerkinTransformer
from pitgeo.models.geo_fno import GeoFNO, GeoFNOOptions
from pitgeo.models.gino import GINO, GINOOptions
from pitgeo.models.gnot import GNOT, GNOTOptions
from pitgeo.models.interpolated_fno import InterpolatedFNO
from pitgeo.models.oformer import OFormer, OFormerOptions
from pitgeo.models.ono import ONO, ONOOptions
from pitgeo.models.pod import POD, PODOptions
from pitgeo.models.registry import MODELS
from pitgeo.models.sensors import Sensors
from pitgeo.models.shift_deeponet import ShiftDeepONet, ShiftDeepONetOptions
from pitgeo.models.slice_attention import SliceAttention
from pitgeo.models.transolver import Transolver, TransolverOptions

__all__ = [
    "FNO",
    "GINO",
    "GNOT",
    "MODELS",
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
