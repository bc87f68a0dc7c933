"""Other operator models, on the same data by the same commands: one file each, with its options."""

from pitgeo.baselines.deeponet import DeepONet, DeepONetOptions
from pitgeo.baselines.fno import FNO, FNOOptions, FNOPlusOptions
from pitgeo.baselines.galerkin import GalerkinOptions, GalerkinTransformer
from pitgeo.baselines.gnot import GNOT, GNOTOptions
from pitgeo.baselines.oformer import OFormer, OFormerOptions
from pitgeo.baselines.ono import ONO, ONOOptions
from pitgeo.baselines.sensors import Sensors
from pitgeo.baselines.shift_deeponet import ShiftDeepONet, ShiftDeepONetOptions
from pitgeo.baselines.slice_attention import SliceAttention
from pitgeo.baselines.transolver import Transolver, TransolverOptions

__all__ = [
    "FNO",
    "GNOT",
    "ONO",
    "DeepONet",
    "DeepONetOptions",
    "FNOOptions",
    "FNOPlusOptions",
    "GNOTOptions",
    "GalerkinOptions",
    "GalerkinTransformer",
    "OFormer",
    "OFormerOptions",
    "ONOOptions",
    "Sensors",
    "ShiftDeepONet",
    "ShiftDeepONetOptions",
    "SliceAttention",
    "Transolver",
    "TransolverOptions",
]
