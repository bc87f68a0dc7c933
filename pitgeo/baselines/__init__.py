"""Other operator models, on the same data by the same commands: one file each, with its options."""

from pitgeo.baselines.fno import FNO, FNOOptions, FNOPlusOptions
from pitgeo.baselines.galerkin import GalerkinOptions, GalerkinTransformer
from pitgeo.baselines.gnot import GNOT, GNOTOptions
from pitgeo.baselines.oformer import OFormer, OFormerOptions
from pitgeo.baselines.ono import ONO, ONOOptions

__all__ = [
    "FNO",
    "GNOT",
    "ONO",
    "FNOOptions",
    "FNOPlusOptions",
    "GNOTOptions",
    "GalerkinOptions",
    "GalerkinTransformer",
    "OFormer",
    "OFormerOptions",
    "ONOOptions",
]
